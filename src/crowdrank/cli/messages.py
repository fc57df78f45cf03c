"""What commands say on stderr: notes, warnings, what was done, and errors, as text or as lines of JSON."""

from __future__ import annotations

import errno
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from crowdrank.cli.words import as_typed, flag
from crowdrank.errors import CrowdrankError, Note, UsageError, shorten, word_hint

CHOICES = ("auto", "from-folds", "linear-gain", "many-votes", "conversion")
"""Notes that say what was chosen: a model, parameters, or the form of a measure."""
WRONG_NAMES = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EACCES,
    errno.EEXIST,
)
"""Errors of the system that are due to the name of a file."""


@dataclass(frozen=True)
class Voice:
    """How much is said, and how. ``started``: when the command began."""

    quiet: int = 0
    verbose: bool = False
    log_json: bool = False
    started: float = field(default_factory=time.perf_counter)
    kept: str = ""

    @property
    def notes(self) -> bool:
        """Whether notes, progress and the last line are wanted."""
        return self.log_json or not self.quiet


VOICE: ContextVar[Voice] = ContextVar("VOICE", default=Voice())  # noqa: B039 - it is frozen
CLEAR: ContextVar[Callable[[], None]] = ContextVar("CLEAR", default=lambda: None)
"""Takes a progress bar off the terminal before a line is printed there."""


def change_voice(**changes: Any) -> None:
    """Say more, less, or in another form from now on."""
    VOICE.set(replace(VOICE.get(), **changes))


def warn(notes: Iterable[Note]) -> None:
    """Print each note on its own line; a choice that was made for the user is no warning."""
    for note in notes:
        event = "note" if note.code in CHOICES else "warning"
        if VOICE.get().log_json or VOICE.get().quiet < (1 if event == "note" else 2):
            _print(event, note.wording(flag), prefix=f"{event}: ", code=note.code)


def warn_about(message: str) -> None:
    """Print a warning that belongs to no result."""
    if VOICE.get().log_json or VOICE.get().quiet < 2:
        _print("warning", message, prefix="warning: ")


def inform(message: str, **fields: Any) -> None:
    """Print what is good to know, unless the user wants quiet."""
    if VOICE.get().notes:
        _print("info", message, **fields)


def explain(message: str, **fields: Any) -> None:
    """Print what only a user who asks for more wants to know."""
    if VOICE.get().verbose:
        _print("detail", message, **fields)


def log_progress(message: str, **fields: Any) -> None:
    """Print a step of the work, for machines."""
    _print("progress", message, **fields)


def keep(what: str) -> None:
    """Remember what stays if the command is interrupted from now on, as a sentence."""
    change_voice(kept=what)


def finish(message: str, **fields: Any) -> None:
    """Print the last line: what was done, and where it is."""
    if VOICE.get().notes:
        seconds = time.perf_counter() - VOICE.get().started
        _print("done", message, **fields, seconds=round(seconds, 3))


def fail(error: CrowdrankError | str, code: int) -> int:
    """Print why the command ends, and return the exit code."""
    if isinstance(error, str):
        _print("error", error, prefix="crowdrank: ", exit_code=code)
    elif VOICE.get().log_json:
        _print("error", _worded(error, error.message), hint=word_hint(error.hint, flag) or None, exit_code=code)
    else:
        _print("error", _worded(error, error.wording(flag)), prefix="crowdrank: ")
    return code


def os_reason(error: Exception) -> str | None:
    """The system's own words in an error: No space left on device. None if the error is of another kind.

    Polars passes them on at the end of its message.
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    found = re.search(r"([^:(]+) \(os error \d+\)", str(error))
    return found[1].strip() if found else None


def describe_os_error(error: OSError) -> tuple[str, int]:
    """The words for an error of the system, and the exit code: 2 if a name was wrong, 1 if the work failed.

    Only standard output has no name of a file: every other file is opened by its name.
    """
    if error.filename is None:
        return f"standard output: cannot be written to ({error.strerror or error}).", 1
    return f"{shorten(str(error.filename))}: {error.strerror}.", 2 if error.errno in WRONG_NAMES else 1


def _worded(error: CrowdrankError, text: str) -> str:
    """The text of an error. Values of parameters are shown as one types them; a file may hold any word."""
    return as_typed(text) if isinstance(error, UsageError) else text


def _print(event: str, message: str, prefix: str = "", **fields: Any) -> None:
    CLEAR.get()()
    if VOICE.get().log_json:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"event": event, "time": now, "message": message, **fields}
        print(json.dumps(line, default=str), file=sys.stderr, flush=True)
    else:
        print(f"{prefix}{message}", file=sys.stderr, flush=True)
