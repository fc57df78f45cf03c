"""Signals: Ctrl-C or a request to end stops a command at any moment, but never between two moves of files."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NoReturn

NUMBERS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
WORDS = {signal.SIGINT: "interrupted"}
AGAIN = 0.01
"""Seconds until a signal is sent again."""


class Interrupted(KeyboardInterrupt):
    """The command was asked to end."""

    number: int
    exit_code: int
    words: str

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.exit_code = number, 128 + number
        self.words = WORDS.get(signal.Signals(number), "terminated")


def catch_signals() -> None:
    """Turn signals into ``Interrupted``. Those that are ignored, as by nohup, stay ignored."""
    for number in NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = partial(_send_again, sys.unraisablehook)


def ignore_signals() -> None:
    """The command has ended; what remains is short, and must not be stopped in the middle."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_IGN)


def _send_again(otherwise: Callable[[Any], Any], lost: sys.UnraisableHookArgs) -> None:
    """Send a signal again whose error was lost.

    A signal may come while an object is finalized, or in a callback of a library: Python drops errors there.
    """
    if not isinstance(lost.exc_value, Interrupted):
        otherwise(lost)
        return
    again = threading.Timer(AGAIN, os.kill, (os.getpid(), lost.exc_value.number))
    again.daemon = True
    again.start()


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
