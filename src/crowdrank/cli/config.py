"""Options from a file: what is typed again and again stands in a TOML file, with a section for each command.

    [rank]
    model = "crowd-bt"
    columns = "worker=judge,left=a,right=b"
    set = { regularization = 1 }

The command line wins over the file. Parameters (`set`) of both are joined, name by name.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from crowdrank.cli.declare import option_names
from crowdrank.errors import InputError, UsageError, name_hint

SET = "settings"
"""The parameter of commands that holds ``--set``."""
NOT_IN_FILES = ("config", "help", "version")


def read_config(path: str, commands: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The sections of a file. A section that is no command is an error with the nearest name."""
    try:
        sections = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text.", source=path, hint="Save the file as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"this is not TOML: {error}.", source=path) from error
    for name, section in sections.items():
        if not isinstance(section, dict):
            raise InputError(
                f"{name!r} stands outside of a section.", source=path,
                hint=f"Write it below the name of a command, for example [rank]. {_list(commands)}",
            )  # fmt: skip
        if name not in commands:
            hint = name_hint(name, commands, "The commands are")
            raise InputError(f"there is no command {name!r} for the section [{name}].", source=path, hint=hint)
    return sections


def _list(commands: Sequence[str]) -> str:
    return f"The commands are {', '.join(commands)}."


def to_defaults(section: Mapping[str, Any], command: click.Command, path: str) -> dict[str, Any]:
    """The values of a section by the names of the command's parameters. An unknown key is an error."""
    known = {name: own for name, own in option_names(command).items() if name not in NOT_IN_FILES}
    found = {}
    for key, value in section.items():
        name = key.replace("_", "-")
        if name not in known:
            hint = name_hint(name, sorted(known), "The keys are the options without their dashes:")
            raise InputError(f"[{command.name}] has no option {key!r}.", source=path, hint=hint)
        found[known[name].name or name] = _value(known[name], value, f"[{command.name}] {key}", path)
    return found


def _value(option: click.Option, value: Any, place: str, path: str) -> Any:
    """A value as the command line would give it: texts, and a list of them if the option may be repeated."""
    if option.name == SET and isinstance(value, dict):
        return [f"{name}={_text(own)}" for name, own in value.items()]
    if option.is_flag != isinstance(value, bool):
        wanted = "true or false" if option.is_flag else "a text or a number"
        raise InputError(f"{place} must be {wanted}.", source=path, value=value)
    if isinstance(value, dict) or (isinstance(value, list) and not option.multiple):
        raise InputError(f"{place} must be one text or number.", source=path, value=value)
    if option.is_flag or option.count:
        return value
    return [_text(own) for own in (value if isinstance(value, list) else [value])] if option.multiple else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
