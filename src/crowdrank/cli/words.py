"""Remedies for errors, as flags of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

from crowdrank.errors import Remedy, Retry

GIVEN: ContextVar[tuple[str, ...]] = ContextVar("GIVEN", default=())
"""The words of the command that is running."""


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
