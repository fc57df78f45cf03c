"""All commands as one program. A command's module is imported only if the command is used."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click
from click.core import ParameterSource

from crowdrank.cli import COMMANDS
from crowdrank.cli.config import SET, read_config, to_defaults
from crowdrank.cli.declare import SETTINGS, option_names, to_click
from crowdrank.cli.messages import change_voice
from crowdrank.errors import UsageError, name_hint, nearest

CONFIG = "crowdrank.config"


class _Command(click.Command):
    """A command whose options may also stand in a file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the section of a file that was named before the command."""
        if CONFIG in ctx.meta:
            _take_section(ctx)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:  # so that the hint names this command
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Join the parameters (``--set``) of the file and of the command line; the latter come last, and win."""
        filed = (ctx.default_map or {}).get(SET)
        if filed and ctx.get_parameter_source(SET) is ParameterSource.COMMANDLINE:
            ctx.params[SET] = (*filed, *ctx.params[SET])
        return super().invoke(ctx)


class _Commands(click.Group):
    """The commands, in the order of ``COMMANDS``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command with this name, if there is one."""
        return load_command(name) if name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that is named; an unknown one is an error with the nearest name."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing and not args[0].startswith("-"):
            hint = name_hint(args[0], COMMANDS, "The commands are")
            raise UsageError(f"There is no command {args[0]!r}.", hint=hint)
        return super().resolve_command(ctx, args)


def load_command(name: str) -> click.Command:
    """Import a command's module and make a command of its function."""
    module = import_module(f"crowdrank.cli.{name}")
    return to_click(name, module.command, _shared_options(), _Command)


def _speak(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    if value:
        change_voice(**{str(option.name): value})


def _configure(ctx: click.Context, option: click.Parameter, path: str | None) -> None:
    """Read the file; its section becomes the defaults of this command, or of the one that follows."""
    if path is None or ctx.resilient_parsing:
        return
    ctx.meta[CONFIG] = (path, read_config(path, COMMANDS))
    if ctx.command is not app:
        _take_section(ctx)


def _take_section(ctx: click.Context) -> None:
    path, sections = ctx.meta[CONFIG]
    ctx.default_map = to_defaults(sections.get(ctx.command.name, {}), ctx.command, path)


def _print_version(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from crowdrank import __version__

        print(f"crowdrank {__version__}")
        ctx.exit()


def _shared_options() -> list[click.Option]:
    """The options that all commands have. They take effect before the others are read."""

    def option(*flags: str, **more: Any) -> click.Option:
        return click.Option([*flags], **{"callback": _speak, "expose_value": False, "is_eager": True, **more})

    return [
        option("--config", help="File of options: TOML with a section for each command.", metavar="FILE",
               callback=_configure, envvar="CROWDRANK_CONFIG", show_envvar=True),
        option("--log-json", is_flag=True, help="Write messages as JSON, one object per line."),
        option("-q", "--quiet", count=True, help="No notes, progress or last line; -qq: no warnings either."),
        option("-v", "--verbose", is_flag=True, help="Say how long each step takes."),
        option("--version", is_flag=True, help="Print the version and stop.", callback=_print_version),
    ]  # fmt: skip


app: click.Group = _Commands(
    "crowdrank",
    help="Trustworthy rankings from the noisy judgments of a crowd.",
    params=_shared_options(),
    context_settings=dict(SETTINGS),
    no_args_is_help=False,
)


def start(words: Sequence[str]) -> None:
    """Run the command that these words name. Mistakes in them are errors of ours, with the nearest name."""
    try:
        with app.make_context("crowdrank", list(words) or ["--help"]) as ctx:
            app.invoke(ctx)
    except click.exceptions.Exit:
        return
    except click.UsageError as error:
        raise _as_usage_error(error) from None


def _as_usage_error(error: click.UsageError) -> UsageError:
    ctx = error.ctx
    command = ctx.command_path if ctx is not None else "crowdrank"
    shown = f"`{command} -h` shows how it is used."
    if isinstance(error, click.NoSuchOption) and ctx is not None:
        close = nearest(error.option_name.lstrip("-"), option_names(ctx.command))
        meant = f"Did you mean --{close}? " if close else ""
        return UsageError(f"There is no option {error.option_name} of {command}.", hint=f"{meant}{shown}")
    return UsageError(error.format_message(), hint=shown)
