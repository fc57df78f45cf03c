"""How work that takes long says where it is.

A fit calls its ``progress`` with numbers. All other work announces its steps in words. Whoever watches, such as
the command line, shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, float, float], None]
"""Called after each step of a fit with its number, the objective, and the slope or the change."""


class Step(str):
    """A few words on the current step. ``done`` of ``total`` steps are behind it; None: it is not known how many.

    >>> step = Step("crowd-bt: fold 2 of 5", 1, 5)
    >>> f"{step} ({step.done} of {step.total})"
    'crowd-bt: fold 2 of 5 (1 of 5)'
    """

    __slots__ = ("done", "total")
    done: float
    total: float | None

    def __new__(cls, words: str, done: float = 0, total: float | None = None) -> Step:
        """The words with their numbers."""
        made = super().__new__(cls, words)
        made.done, made.total = done, total
        return made


Status = Callable[[Step], None]
"""Called before each step of work."""
_WATCHER: ContextVar[Status | None] = ContextVar("_WATCHER", default=None)


@contextmanager
def watching(status: Status | None) -> Iterator[None]:
    """Steps that are announced in this block go to ``status``; None leaves them to whoever watches already."""
    if status is None:
        yield
        return
    before = _WATCHER.set(status)
    try:
        yield
    finally:
        _WATCHER.reset(before)


def announce(words: str, done: float = 0, total: float | None = None) -> None:
    """Say what is done next, and how much of how much is behind it."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(Step(words, done, total))


@contextmanager
def part(start: float, stop: float, total: float, within: str = "") -> Iterator[None]:
    """Steps that are announced in this block lead from ``start`` to ``stop`` of ``total``.

    ``within``: the words of the larger step, which come before theirs.
    """
    watcher = _WATCHER.get()

    def place(step: Step) -> None:
        assert watcher is not None
        share = step.done / step.total if step.total else 0.0
        words = f"{within}: {step}" if within else str(step)
        watcher(Step(words, start + (stop - start) * share, total))

    with watching(None if watcher is None else place):
        yield


def in_steps(items: Iterable[T], work: Callable[[T], R], words: Callable[[T], str] = str) -> list[R]:
    """The results of the work on each item. Each is a step, which is announced in ``words``.

    >>> with watching(lambda step: print(step, step.done, step.total)):
    ...     in_steps(["bt", "mpm"], str.upper)
    bt 0 2
    mpm 1 2
    ['BT', 'MPM']
    """
    every, found = list(items), []
    for number, item in enumerate(every):
        announce(words(item), number, len(every))
        with part(number, number + 1, len(every), within=words(item)):
            found.append(work(item))
    return found
