"""Signals: Ctrl-C or a request to end stops a command at any moment, but never between two moves of files."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

NUMBERS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
WORDS = {signal.SIGINT: "interrupted"}


class Interrupted(KeyboardInterrupt):
    """The command was asked to end."""

    exit_code: int
    words: str

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code, self.words = 128 + number, WORDS.get(signal.Signals(number), "terminated")


def catch_signals() -> None:
    """Turn signals into ``Interrupted``. Those that are ignored, as by nohup, stay ignored."""
    for number in NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    if "logging" in sys.modules:  # a cluster that is stopped in the middle complains
        sys.modules["logging"].disable()
    raise Interrupted(number)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """What is in this block is done as a whole: a signal takes effect at its end."""
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in NUMBERS}
    ours = [number for number, handler in before.items() if handler is _interrupt]
    for number in ours:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _interrupt)
    if came:
        raise Interrupted(came[0])
