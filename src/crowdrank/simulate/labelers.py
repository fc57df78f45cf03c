"""Workers who label documents relevant or not: how rigorous and how careful they are, and what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import UsageError
from crowdrank.simulate.crowd import ids
from crowdrank.simulate.documents import Documents

SPAMMERS = ("random", "yes", "no")
CUED = "cue"


@dataclass(frozen=True, eq=False)
class Labelers:
    """Workers who label, one per place.

    ``kind``: "honest", "cue" (follows a cue of the document instead of its relevance), or a spammer: "random",
    "yes" or "no". ``rigor`` r: an honest worker means 1 if the grade is above r. ``quality`` q: an honest or cued
    worker says what was meant with probability q, and the opposite otherwise. Spammers have both to no effect.
    """

    kind: NDArray[Any]
    rigor: Integers
    quality: Floats

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def names(self) -> NDArray[Any]:
        """The ids of the workers."""
        return ids("worker", len(self))

    def frame(self) -> pl.DataFrame:
        """The workers with their true parameters."""
        true = {"kind": self.kind.astype(str), "rigor": self.rigor, "quality": self.quality}
        return pl.DataFrame({"worker": self.names, **true})

    def judge(
        self,
        documents: Documents,
        row: Integers,
        worker: Integers,
        rng: np.random.Generator,
        cue: NDArray[np.bool_] | None = None,
    ) -> pl.DataFrame:
        """The query, item, worker and label of each task: a ``row`` of the documents, and who labels it.

        ``cue``: which documents have the cue; only cued workers need it.
        """
        says = self._label(worker, documents.grade[row], False if cue is None else cue[row], rng)
        return documents.keys[row].with_columns(pl.Series("worker", self.names[worker]), pl.Series("label", says))

    def _label(
        self, worker: Integers, grade: Integers, cue: NDArray[np.bool_] | bool, rng: np.random.Generator
    ) -> Integers:
        """What each worker says, 0 or 1, about a document with this grade, and with or without the cue."""
        kind = self.kind[worker]
        meant = np.where(kind == CUED, cue, grade > self.rigor[worker])
        says = meant ^ (rng.random(len(worker)) > self.quality[worker])
        says = np.where(kind == "random", rng.random(len(worker)) < 0.5, says)
        return np.where(kind == "yes", True, (kind != "no") & says).astype(np.int64)


def draw_labelers(
    count: int,
    rigors: Integers,
    qualities: Floats,
    rng: np.random.Generator,
    *,
    spammers: float,
    cued: float = 0.0,
    slips: float = 0.0,
) -> Labelers:
    """Workers with random ``rigors`` and ``qualities``, some of them cued or spammers.

    A share ``cued`` of the workers follows the cue, each with quality 1 - ``slips``. A share of the others are
    ``spammers``: a third each labels at random, always 1, or always 0.
    """
    if max(spammers, cued, slips) > 1:
        raise UsageError(f"A share must not exceed 1. Got spammers={spammers}, cued={cued}, slips={slips}.")
    rigor, quality = rng.choice(rigors, count), rng.choice(qualities, count)
    kind = np.full(count, "honest", dtype=object)
    follow = round(cued * count)
    spam = round(spammers * (count - follow))
    kind[:spam] = np.resize(np.array(SPAMMERS, object), spam)
    kind[spam : spam + follow] = CUED
    kind = rng.permutation(kind)
    return Labelers(kind, rigor, np.where(kind == CUED, 1.0 - slips, quality))


def assign_labels(rows: int, labels: int, workers: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Row and worker of each label: ``labels`` distinct random workers label each row."""
    if not 1 <= labels <= workers:
        raise UsageError(
            "There must be at least one label per document, and as many workers as labels per document. "
            f"Got labels={labels} and workers={workers}."
        )
    chosen = rng.random((rows, workers)).argsort(axis=1)[:, :labels]
    return np.repeat(np.arange(rows), labels), chosen.ravel()
