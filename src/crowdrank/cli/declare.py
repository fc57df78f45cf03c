"""What commands declare: their arguments and options stand in the signature of a plain function.

    def command(files: Annotated[list[str], Argument(help="...")], seed: Annotated[int, Option(help="...")] = 0)

``to_click`` makes a command of it: the type says how a word is read, the default whether it may be left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import click

from crowdrank.cli.complete_names import completer
from crowdrank.errors import UsageError

SETTINGS: dict[str, Any] = {"help_option_names": ("-h", "--help"), "max_content_width": 100}
"""What the help of all commands has in common."""


@dataclass(frozen=True)
class Argument:
    """A word without a flag. ``names``: what a shell completes it with; by default files."""

    help: str
    names: str = ""


class Option:
    """A word with a flag: the one given, or ``--`` and the name of the parameter.

    ``names``: the kind of names that a shell completes. ``min``: the least number. ``envvar``: the variable of the
    environment that gives it.
    """

    flags: tuple[str, ...]
    help: str
    names: str
    min: int | None
    envvar: str | None

    def __init__(
        self, *flags: str, help: str, names: str = "", min: int | None = None, envvar: str | None = None
    ) -> None:
        self.flags, self.help, self.names, self.min, self.envvar = flags, help, names, min, envvar


def to_click(
    name: str, function: Callable[..., None], more: list[click.Option], make: type[click.Command] = click.Command
) -> click.Command:
    """The function as a command, with further options that all commands have."""
    hints = get_type_hints(function, include_extras=True)
    own = [_parameter(parameter, hints[key]) for key, parameter in inspect.signature(function).parameters.items()]
    several = {made.name for made in own if made.multiple or made.nargs == -1}

    def call(**values: Any) -> None:
        _refuse_two_standard_inputs(values.values())
        function(**{key: (list(value) or None) if key in several else value for key, value in values.items()})

    text = inspect.getdoc(function) or ""
    return make(
        name, params=[*own, *more], callback=call, help=text, short_help=text.splitlines()[0],
        context_settings=dict(SETTINGS),
    )  # fmt: skip


def _parameter(parameter: inspect.Parameter, hint: Any) -> click.Parameter:
    """One argument or option. A list may be given several times; a truth value is a flag."""
    kind, spec = get_args(hint) if get_origin(hint) is Annotated else (hint, None)
    kind = _without_none(kind)
    several = get_origin(kind) is list
    word = get_args(kind)[0] if several else kind
    required = parameter.default is inspect.Parameter.empty
    shared: dict[str, Any] = {"required": required, "shell_complete": completer(spec.names)}
    if not several and not required:
        shared["default"] = parameter.default
    if parameter.default != "":
        shared["callback"] = _check_words
    if isinstance(spec, Argument):
        shared |= {"help": spec.help, "nargs": -1 if several else 1}
        return click.Argument([parameter.name], type=_type(word), **shared)
    flags = spec.flags or (f"--{parameter.name.replace('_', '-')}",)
    shared |= {"help": spec.help, "envvar": spec.envvar, "show_envvar": True, "multiple": several}
    if word is bool:
        return click.Option([parameter.name, *flags], is_flag=True, **shared)
    shown = None if required or several else parameter.default
    return click.Option(
        [parameter.name, *flags], type=_type(word, spec.min), show_default=shown not in (None, ""), **shared
    )


def _type(word: Any, least: int | None = None) -> Any:
    """How a word is read."""
    if word is Path:
        return _Place(path_type=Path)
    if word is int:
        return _Whole(least)
    return _Decimal() if word is float else word


class _Place(click.Path):
    """The name of a folder, or of a file to write."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Standard input and output have no name here."""
        if value == "-":
            hint = "Leave it out to write to stdout." if _may_be_stdout(param) else None
            raise UsageError(f"{_name(param)} must be the name of a file or folder. Got '-'.", hint=hint)
        _refuse_empty(param, value)
        return super().convert(value, param, ctx)


def _may_be_stdout(param: click.Parameter | None) -> bool:
    return param is not None and param.name == "out" and not param.required and param.default is None


class _Whole(click.types.IntParamType):
    """A whole number, if need be with a least one."""

    def __init__(self, least: int | None) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        try:
            found = super().convert(value, param, ctx)
        except click.BadParameter:
            found = None
        if found is None or (self.least is not None and found < self.least):
            least = "" if self.least is None else f" of at least {self.least}"
            raise UsageError(f"{_name(param)} must be a whole number{least}. Got {value!r}.")
        return found


class _Decimal(click.types.FloatParamType):
    """A number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise UsageError(f"{_name(param)} must be a number. Got {value!r}.") from None


def _name(param: click.Parameter | None) -> str:
    """What a parameter is called on the command line."""
    if param is None:
        return "The value"
    return param.opts[-1] if isinstance(param, click.Option) else (param.name or "").upper()


def _refuse_empty(param: click.Parameter | None, value: Any) -> None:
    if value == "":
        without = "" if param is None or param.required else " Or leave it out."
        hint = f"Give it a value. In a script, a variable may not be set.{without}"
        raise UsageError(f"{_name(param)} is empty.", hint=hint)


def _check_words(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """The value of a parameter that has no use for an empty word."""
    for word in value if isinstance(value, tuple) else (value,):
        _refuse_empty(param, word)
    return value


def _refuse_two_standard_inputs(values: Iterable[Any]) -> None:
    """Standard input can be one of the files only."""
    words = [word for value in values for word in (value if isinstance(value, tuple) else (value,))]
    if words.count("-") > 1:
        raise UsageError("Only one of the files can be standard input.", hint="Name the others.")


def _without_none(hint: Any) -> Any:
    """``X`` of ``X | None``."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return next(one for one in get_args(hint) if one is not type(None))


def option_names(command: click.Command) -> Mapping[str, click.Option]:
    """The options of a command by their long names, without the dashes."""
    return {
        flag[2:]: own
        for own in command.params
        if isinstance(own, click.Option)
        for flag in own.opts
        if flag.startswith("--")
    }
