"""Remedies and values as they are typed on the command line."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from crowdrank.errors import Remedy, Retry

GIVEN: ContextVar[tuple[str, ...]] = ContextVar("GIVEN", default=())
"""The words of the command that is running."""

_TYPED = {"None": "null", "True": "true", "False": "false"}
_PYTHON = re.compile(r"(?<![\w'\"])(?:None|True|False)(?![\w'\"])(?! of\b)")
"""The words outside of quotation marks; None of ... is plain English."""


def read_value(text: str) -> Any:
    """A value as typed: JSON if it parses, or Python's word for it; otherwise text."""
    typed = text.strip()
    try:
        return json.loads(_TYPED.get(typed, typed))
    except json.JSONDecodeError:
        return text


def show_value(value: Any) -> str:
    """A value as one would type it."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def as_typed(text: str) -> str:
    """A text of the library with its values as one would type them: null, true and false."""
    return _PYTHON.sub(lambda word: _TYPED[word[0]], text)


def flag(remedy: Remedy | Retry) -> str:
    """A remedy as a flag: ``--set regularization=0.5`` for a parameter, otherwise ``--model bt``.

    A retry is the whole command, ready to be copied.
    """
    if isinstance(remedy, Retry):
        names = {_words(own)[0] for own in remedy.remedies}
        again = [*_without(GIVEN.get(), names), *(word for own in remedy.remedies for word in _words(own))]
        return shlex.join(["crowdrank", *again])
    return shlex.join(_words(remedy))


def _words(remedy: Remedy) -> list[str]:
    """The words of a flag. A remedy that is simply true needs no value."""
    if remedy.parameter:
        return ["--set", f"{remedy.argument}={remedy.value}"]
    name = f"--{remedy.argument.replace('_', '-')}"
    return [name, remedy.value] if remedy.value not in ("", "True") else [name]


def _without(words: Sequence[str], names: set[str]) -> Iterator[str]:
    """The words without these options and their values."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in names:
            skip = True
        elif word.partition("=")[0] not in names:
            yield word
