"""What must hold for every input: only errors of the project, short messages, finite numbers, within seconds."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crowdrank.cli.words import flag
from crowdrank.errors import CrowdrankError, Note

LONGEST_MESSAGE = 1000
MOST_SECONDS = 10.0


@dataclass(frozen=True)
class Finding:
    """Something that must not happen, and the task, seed and number that bring it back."""

    task: str
    seed: int
    number: int
    kind: str  # what is wrong, in a form that is equal for equal causes
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        again = f"python -m benchmarks.fuzz {self.task} --seed {self.seed} --first {self.number} --count 1"
        return f"{self.kind}\n    {again}\n    {self.detail}"


class CheckError(Exception):
    """An answer that must not be given."""


def inspect_case(case: Callable[[], None], most_seconds: float = MOST_SECONDS) -> tuple[str, str, str]:
    """Run a case: how it ended ("answered", "refused" or "finding"), and for a finding its kind and detail."""
    began = time.process_time()  # the time of a busy machine is not ours; who waits forever is seen by ``watch``
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            case()
        ended = ("answered", "", "")
    except CrowdrankError as error:
        message = error.wording(flag)
        ended = ("refused", "", "")
        if len(message) > LONGEST_MESSAGE:
            ended = ("finding", f"a message of over {LONGEST_MESSAGE} characters", message[:300])
    except CheckError as error:
        kind, _, detail = str(error).partition(": ")
        ended = ("finding", kind, detail)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        ended = ("finding", _cause(error), f"{type(error).__name__}: {error}"[:300])
    seconds = time.process_time() - began
    if seconds > most_seconds and ended[0] != "finding":
        return "finding", f"over {most_seconds:g} s", f"{seconds:.1f} s"
    return ended


def _cause(error: BaseException) -> str:
    """The type of an error and the last line of ours that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/crowdrank/" in frame.filename]
    place = f"{frames[-1].filename.rpartition('/crowdrank/')[2]}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}"


def require_short(notes: Iterable[Note]) -> None:
    """Raise an error if a note is too long."""
    for note in notes:
        if len(note.wording(flag)) > LONGEST_MESSAGE:
            raise CheckError(f"a note of over {LONGEST_MESSAGE} characters ({note.code}): {note.message[:200]}")


def require_finite(what: str, *arrays: Any) -> None:
    """Raise an error if a number is not finite."""
    for values in arrays:
        if values is not None and not np.isfinite(np.asarray(values, float)).all():
            raise CheckError(f"not finite ({what}): {np.asarray(values, float)[:8]}")
