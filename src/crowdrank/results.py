"""What models hand on: a ranking, the workers, and how the fit went. Frozen, and frames on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.errors import Note

LEVEL = 0.9
"""Level of every interval."""
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
"""How many standard errors an interval of a normal estimate reaches to either side."""


def _native(frame: pl.DataFrame, backend: str) -> Any:
    """The frame as the kind that the judgments came in."""
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame({name: column.to_numpy() for name, column in frame.to_dict().items()})
    if backend == "pyarrow":
        return frame.to_arrow()
    return frame


@dataclass(frozen=True, eq=False)
class Ranking:
    """The items of each query, best first.

    ``rank`` is strict; ``tier`` is shared by items that cannot be told apart; ``rank_low`` to
    ``rank_high`` holds the true rank with probability 0.9; ``low`` to ``high`` likewise the score.
    Scores of likelihood models are centred within each connected part of a query.
    """

    query: pl.Series
    item: pl.Series
    rank: NDArray[np.int64]
    tier: NDArray[np.int64]
    score: Floats
    stderr: Floats
    low: Floats
    high: Floats
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    backend: str = "polars"

    def __len__(self) -> int:
        return len(self.item)

    def frame(self) -> Any:
        """query, item, rank, tier, score, stderr, low, high, rank_low, rank_high; best first.

        A frame of the kind that the judgments came in; ``query`` is null where there is one query.
        """
        return _native(self.polars(), self.backend)

    def polars(self) -> pl.DataFrame:
        """The same as a Polars frame."""
        names = ("rank", "tier", "score", "stderr", "low", "high", "rank_low", "rank_high")
        columns = {"query": self.query, "item": self.item, **{name: getattr(self, name) for name in names}}
        return pl.DataFrame(columns).sort("query", "rank")


@dataclass(frozen=True, eq=False)
class Workers:
    """The workers: how many judgments, and how good.

    ``quality`` is the probability of agreeing with the fitted order on an average pair. ``further``
    holds the model's own parameters as more columns.
    """

    worker: pl.Series
    judgments: Floats
    quality: Floats
    low: Floats
    high: Floats
    verdict: pl.Series
    further: Mapping[str, Floats] = field(default_factory=dict)
    backend: str = "polars"

    def __len__(self) -> int:
        return len(self.worker)

    def frame(self) -> Any:
        """worker, judgments, quality, low, high, verdict, and the model's own parameters."""
        return _native(self.polars(), self.backend)

    def polars(self) -> pl.DataFrame:
        """The same as a Polars frame, sorted by worker."""
        names = ("worker", "judgments", "quality", "low", "high", "verdict")
        return pl.DataFrame({**{name: getattr(self, name) for name in names}, **self.further}).sort("worker")


@dataclass(frozen=True, eq=False)
class LabelPosterior:
    """What label each item has: ``probability`` (N, K) of each of ``values`` (K), the distinct labels."""

    query: pl.Series
    item: pl.Series
    values: Floats
    probability: Floats
    backend: str = "polars"

    def __len__(self) -> int:
        return len(self.item)

    @property
    def label(self) -> Floats:
        """The most probable label of each item, the smaller one of equals."""
        return np.asarray(self.values[self.probability.argmax(axis=1)])

    def frame(self) -> Any:
        """query, item, label, probability, and a column p_V for the probability of each label V."""
        return _native(self.polars(), self.backend)

    def polars(self) -> pl.DataFrame:
        """The same as a Polars frame, sorted by query and item."""
        each = {f"p_{value:g}": self.probability[:, place] for place, value in enumerate(self.values)}
        columns = {"label": self.label, "probability": self.probability.max(axis=1), **each}
        return pl.DataFrame({"query": self.query, "item": self.item, **columns}).sort("query", "item")


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries: how difficult each is, and to which domain it belongs.

    ``difficulty`` is the variance of what workers perceive of an item's score. ``domain`` (Q, M) holds the
    probability of each domain; domains are numbered from 1, the largest first.
    """

    query: pl.Series
    judgments: Floats
    difficulty: Floats
    low: Floats
    high: Floats
    domain: Floats
    backend: str = "polars"

    def __len__(self) -> int:
        return len(self.query)

    def frame(self) -> Any:
        """query, judgments, difficulty, low, high, domain, probability, and a column p_M for each domain M."""
        return _native(self.polars(), self.backend)

    def polars(self) -> pl.DataFrame:
        """The same as a Polars frame, sorted by query."""
        names = ("query", "judgments", "difficulty", "low", "high")
        likely = {"domain": 1 + self.domain.argmax(axis=1), "probability": self.domain.max(axis=1)}
        each = {f"p_{1 + place}": self.domain[:, place] for place in range(self.domain.shape[1])}
        return pl.DataFrame({**{name: getattr(self, name) for name in names}, **likely, **each}).sort("query")


@dataclass(frozen=True, eq=False)
class Skills:
    """What each worker knows of each domain, one row for each of the two.

    ``tau`` is the signed expertise: its size is the worker's precision, its sign says whether the worker
    tells the truth there, and ``truthful`` is the probability of that. ``quality`` and ``verdict`` are as
    those of a worker, on the pairs of the domain; ``judgments`` is the weight of the votes that tell of it.
    """

    worker: pl.Series
    domain: NDArray[np.int64]
    judgments: Floats
    quality: Floats
    low: Floats
    high: Floats
    verdict: pl.Series
    tau: Floats
    tau_low: Floats
    tau_high: Floats
    truthful: Floats
    backend: str = "polars"

    def __len__(self) -> int:
        return len(self.worker)

    def frame(self) -> Any:
        """worker, domain, judgments, quality, low, high, verdict, tau, tau_low, tau_high, truthful."""
        return _native(self.polars(), self.backend)

    def polars(self) -> pl.DataFrame:
        """The same as a Polars frame, sorted by worker and domain."""
        names = [column.name for column in fields(self) if column.name != "backend"]
        return pl.DataFrame({name: getattr(self, name) for name in names}).sort("worker", "domain")


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the judgments say of each row of a ranking, in the ranking's own order, and who met whom.

    ``comparisons`` is the weight of the judgments on an item, ``opponents`` the number of items that it was
    compared with, ``part`` the number of its connected part. ``side`` and ``cells`` hold a square matrix
    for each query (in the order of their ids), items in the order of their ranks: see ``matrix``.
    ``unit`` says what is counted: "votes", "lists" or "labels".
    """

    comparisons: Floats
    opponents: NDArray[np.int64]
    part: NDArray[np.int32]
    side: NDArray[np.int64]
    cells: Floats
    unit: str = "votes"

    def matrix(self, query: int) -> Floats | None:
        """The votes between the items of a query, or the lists that hold both, from the best to the worst.

        What is below the diagonal is zero. Row and column are an item each, or a run of neighbours in rank
        where there are many items. None where it was not counted: only the first queries' are, so that
        memory stays bounded.
        """
        side = int(self.side[query])
        start = int((self.side[:query] ** 2).sum())
        cells = self.cells[start : start + side * side]
        return cells.reshape(side, side) if len(cells) == side * side else None


def verdicts(low: Floats, high: Floats, *, tellable: bool = True) -> pl.Series:
    """reliable (low > .6), malicious (high < .5), spammer (inside .4 to .6), else unsure.

    Where the items are so close that even a perfect worker would agree with less than .6 of an
    average pair (``tellable`` False), nobody is called a spammer.
    """
    spammer = (low >= 0.4) & (high <= 0.6) & tellable
    words = np.select([low > 0.6, high < 0.5, spammer], ["reliable", "malicious", "spammer"], "unsure")
    return pl.Series("verdict", words, dtype=pl.String)


@dataclass(frozen=True)
class Fit:
    """How the fit went; ``details`` are the model's own figures."""

    model: str
    parameters: dict[str, Any]
    converged: bool
    iterations: int
    log_likelihood: float | None
    warnings: tuple[Note, ...]
    seconds: dict[str, float]
    seed: int
    engine: str
    versions: dict[str, str]
    judgments: dict[str, Any]
    details: dict[str, Any] = field(default_factory=dict)

    def timed(self, **seconds: float) -> Fit:
        """The same with more timings."""
        return replace(self, seconds={**self.seconds, **seconds})

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as fit.json has them; what is not a number is null."""
        values = asdict(self)
        return {name: plain(value) for name, value in values.items()}


def plain(value: Any) -> Any:
    """Values that JSON has: what is not a finite number is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
