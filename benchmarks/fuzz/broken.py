"""Tasks that break on their fourth input, to see that the fuzzers see it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.fuzz.watch import Case

FOURTH = 3


def maker(task: str) -> Callable[[int, int, Path], Case]:
    """Cases that do nothing but for one, which raises an error or ends the process."""

    def make(seed: int, number: int, folder: Path) -> Case:
        def case() -> None:
            if number == FOURTH and task == "broken-raised":
                raise ZeroDivisionError
            if number == FOURTH:
                os.abort()

        return case

    return make
