"""How far the work is: a bar on a terminal after two seconds, lines of JSON for machines, seconds with -v."""

from __future__ import annotations

import math
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context

from crowdrank.cli.messages import CLEAR, VOICE, explain, log_progress
from crowdrank.errors import count_noun
from crowdrank.progress import Progress, Step, watching

WAIT, EVERY, LOG_EVERY = 2.0, 0.2, 1.0
"""Seconds before a bar appears, between its drawings, and between two lines of JSON on the same step."""
WIDTH = 12
"""The signs in a bar."""
TOLERANCE = 1e-8
"""The slope at which most fits end."""


class Tracker:
    """What is known about the work: the step, how much of how much is done, and the steps of a fit."""

    words: str
    began: float
    iteration: int
    objective: float
    step: Step
    first: float
    since: float

    def __init__(self, what: str) -> None:
        self.words, self.began = what, time.perf_counter()
        self.iteration, self.objective = 0, math.nan
        self.slopes: deque[tuple[float, float]] = deque(maxlen=10)
        self._start(Step(what))

    def _start(self, step: Step) -> None:
        self.step, self.first, self.since = step, step.done, time.perf_counter()

    def announced(self, step: Step) -> None:
        """Take the next step of the work. With another total, the clock starts again."""
        self.words = str(step)
        if step.total != self.step.total or step.done < self.step.done:
            self._start(step)
        self.step = step
        self.iteration = 0
        self.slopes.clear()
        self.log(step=None)

    def fitted(self, iteration: int, objective: float, slope: float) -> None:
        """Take the next step of a fit."""
        if iteration <= self.iteration:
            self.slopes.clear()
        self.iteration, self.objective = iteration, objective
        if slope > 0 and math.isfinite(slope):
            self.slopes.append((time.perf_counter(), math.log(slope)))
        self.log(step=iteration, objective=objective if math.isfinite(objective) else None)

    def log(self, **fields: object) -> None:
        """Nothing: only machines read a log."""

    def line(self) -> str:
        """The words, and if known a bar, the rate and the remaining time."""
        now = time.perf_counter()
        steps = f"step {self.iteration}" if self.iteration else ""
        parts = [self.words, steps, *self._shares(now)]
        return "  ".join(part for part in parts if part)

    def _shares(self, now: float) -> Iterator[str]:
        """The bar, the rate, and the time that remains or, if that is not known, the time so far."""
        rate, left = 0.0, None
        if self.step.total:
            share = min(self.step.done / self.step.total, 1.0)
            yield f"[{'#' * round(WIDTH * share):.<{WIDTH}}] {share:.0%}"
            rate = (self.step.done - self.first) / max(now - self.since, 1e-9)
            left = (self.step.total - self.step.done) / rate if rate > 0 else None
        elif self.iteration > 1:
            rate, left = self._fit_rate(now)
        if rate > 0:
            yield f"{rate:,.1f}/s" if rate >= 1 else f"{1 / rate:,.0f} s each"
        yield f"about {clock(left)} left" if left is not None else clock(now - VOICE.get().started)

    def _fit_rate(self, now: float) -> tuple[float, float | None]:
        """Steps a second, and the seconds until the slope vanishes if it goes on falling as in the last steps."""
        rate = self.iteration / max(now - self.since, 1e-9)
        if len(self.slopes) < self.slopes.maxlen:  # type: ignore[operator]
            return rate, None
        (start, high), (end, low) = self.slopes[0], self.slopes[-1]
        fall = (high - low) / max(end - start, 1e-9)
        return rate, max(low - math.log(TOLERANCE), 0.0) / fall - (now - end) if fall > 0 else None


class _Log(Tracker):
    """A tracker that writes its steps as lines of JSON, at most one a second for each step of the work."""

    last = ("", -math.inf)

    def log(self, **fields: object) -> None:
        """Write a line, unless one on the same step was just written."""
        now = time.perf_counter()
        if self.last[0] == self.words and now - self.last[1] < LOG_EVERY:
            return
        self.last = (self.words, now)
        known = {name: value for name, value in fields.items() if value is not None}
        total = {} if self.step.total is None else {"done": self.step.done, "total": self.step.total}
        log_progress(self.words, **known, **total, seconds=round(now - self.began, 3))


@contextmanager
def track(what: str) -> Iterator[Progress | None]:
    """Show how far the work in this block is, to whoever is there to see it; yields the progress of a fit."""
    voice = VOICE.get()
    shown = voice.notes and not voice.log_json and sys.stderr.isatty()
    if not (shown or voice.log_json or voice.verbose):
        yield None
        return
    tracker = _Log(what) if voice.log_json else Tracker(what)
    with watching(tracker.announced), _bar(tracker, shown):
        yield tracker.fitted
    seconds = time.perf_counter() - tracker.began
    steps = f", {count_noun(tracker.iteration, 'step')}" if tracker.iteration else ""
    explain(f"{what}: {seconds:.2f} s{steps}", what=what, seconds=round(seconds, 3))


@contextmanager
def _bar(tracker: Tracker, shown: bool) -> Iterator[None]:
    """Draw the tracker's line again and again from another thread, and take it off at the end."""
    if not shown:
        yield
        return
    over, lock = threading.Event(), threading.Lock()
    width = 0

    def clear() -> None:
        nonlocal width
        with lock:
            if width:
                print("\r" + " " * width + "\r", end="", file=sys.stderr, flush=True)
            width = 0

    def draw() -> None:
        nonlocal width
        started = VOICE.get().started
        while not over.wait(EVERY):
            if time.perf_counter() - started < WAIT:
                continue
            line = tracker.line()[: shutil.get_terminal_size().columns - 1]
            with lock:
                print("\r" + line.ljust(width), end="", file=sys.stderr, flush=True)
                width = max(width, len(line))

    thread = threading.Thread(target=copy_context().run, args=(draw,), daemon=True)
    before = CLEAR.set(clear)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        clear()
        CLEAR.reset(before)


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds, or as hours, minutes and seconds.

    >>> clock(75), clock(3700)
    ('1:15', '1:01:40')
    """
    whole = max(round(seconds), 0)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
