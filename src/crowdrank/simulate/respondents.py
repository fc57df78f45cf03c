"""Simulated judges who answer any question, for trying out ways of asking.

The scores of the items are normal with standard deviation ``spread``. Judge k is asked about left and right, and
says left with probability

    eta_k F + (1 - eta_k) (1 - F),      F = sigma(s_left - s_right + b_k)

or, if errors ignore the distance, with F = 1 if left is the better item, otherwise 0. The crowds differ in this:

    bt              eta = 1, b = 0: votes as in Bradley-Terry
    beta-5-1        eta ~ Beta(5, 1), errors ignore the distance (Crowd-BT section 5.1)
    spammers        as bt, but three judges in ten toss a coin (eta = 1/2)
    distance-free   eta = 0.8 for every judge, errors ignore the distance
    position        as bt, but judges favor the left: b ~ N(0.5, 0.5^2)
    drift           as bt, but eta falls from 0.98 to 0.6 over a judge's first 100 answers
    coin            eta = 1/2: nothing can be learned
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.errors import UsageError, name_hint
from crowdrank.random import generator
from crowdrank.simulate.crowd import Crowd, ids

CROWDS = ("bt", "beta-5-1", "spammers", "distance-free", "position", "drift", "coin")
FRESH, TIRED, TIRING = 0.98, 0.6, 100.0
"""eta of a drifting judge at the first answer, at the end, and after how many answers the end is reached."""


@dataclass(eq=False)
class Respondents:
    """Judges with known truth. ``quality`` and ``bias`` (K) of the judges; ``answered`` (K) counts their answers.

    ``blind``: whether errors ignore the distance. ``drifts``: whether judges get worse.
    """

    scores: Floats
    quality: Floats
    bias: Floats
    blind: bool
    drifts: bool
    random: np.random.Generator

    def __post_init__(self) -> None:
        self.answered: NDArray[np.int64] = np.zeros(len(self.quality), np.int64)

    @classmethod
    def make(
        cls, name: str, *, seed: int = 0, items: int = 40, workers: int = 20, spread: float = 1.5,
        alpha: float = 5.0, beta: float = 1.0,
    ) -> Respondents:  # fmt: skip
        """The crowd with this name. ``alpha`` and ``beta`` are those of beta-5-1."""
        if name not in CROWDS:
            raise UsageError(f"There is no crowd {name!r}.", hint=name_hint(name, CROWDS, "The crowds are"))
        if items < 2 or workers < 1 or spread <= 0 or alpha <= 0 or beta <= 0:
            raise UsageError(
                "A crowd needs two items, a worker, and a spread, alpha and beta above 0. "
                f"Got items={items}, workers={workers}, spread={spread}, alpha={alpha}, beta={beta}."
            )
        rng = generator(seed, 1)
        scores, quality, bias = rng.normal(0.0, spread, items), np.ones(workers), np.zeros(workers)
        if name == "beta-5-1":
            quality = rng.beta(alpha, beta, workers)
        elif name == "spammers":
            quality[rng.permutation(workers)[: round(0.3 * workers)]] = 0.5
        elif name == "distance-free":
            quality[:] = 0.8
        elif name == "position":
            bias = rng.normal(0.5, 0.5, workers)
        elif name == "coin":
            quality[:] = 0.5
        return cls(
            scores, quality, bias, name in ("beta-5-1", "distance-free"), name == "drift", generator(seed, 2)
        )

    def answer(self, judge: int, left: int, right: int) -> int:
        """1 if the judge says left, -1 if right."""
        ahead = self.scores[left] - self.scores[right]
        wins = float(ahead > 0) if self.blind else 1.0 / (1.0 + np.exp(-(ahead + self.bias[judge])))
        eta = self.quality[judge]
        if self.drifts:
            eta = FRESH + (TIRED - FRESH) * min(self.answered[judge] / TIRING, 1.0)
        self.answered[judge] += 1
        return 1 if self.random.random() < eta * wins + (1.0 - eta) * (1.0 - wins) else -1


def asked_crowd(
    *, seed: int = 0, kind: str = "bt", items: int = 40, workers: int = 20, votes: int = 800, spread: float = 1.5,
    alpha: float = 5.0, beta: float = 1.0,
) -> Crowd:  # fmt: skip
    """The answers of a crowd of this module to random questions, each to a random judge."""
    people = Respondents.make(kind, seed=seed, items=items, workers=workers, spread=spread, alpha=alpha, beta=beta)
    if votes < 1:
        raise UsageError(f"There must be at least one vote. Got votes={votes}.")
    rng = generator(seed, 3)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    judge = rng.integers(0, workers, votes)
    rows = zip(judge.tolist(), left.tolist(), right.tolist(), strict=True)
    wins = np.array([people.answer(*row) > 0 for row in rows])
    names, who = rng.permutation(ids("item", items)), ids("worker", workers)
    judgments = pl.DataFrame(
        {
            "worker": who[judge],
            "left": names[left],
            "right": names[right],
            "label": names[np.where(wins, left, right)],
        }
    )
    gold = pl.DataFrame({"item": names, "grade": people.scores}).sort("item")
    truth = pl.DataFrame({"worker": who, "quality": people.quality, "bias": people.bias})
    return Crowd(judgments, gold, truth)
