"""What a fit knows about scores and worker parameters jointly: means and covariances of a normal posterior.

The posterior keeps the factored information matrix of the fit, or draws above the exact limit. From these it
computes on demand the difference of two items, the covariance of a connected part, and joint samples.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from crowdrank.data.arrays import Floats, Integers, Ints
from crowdrank.data.ids import TEXT_IDS, Backend, id_text
from crowdrank.errors import UsageError, count_noun
from crowdrank.results.levels import Z
from crowdrank.results.overview import HasOverview, Interval, Overview
from crowdrank.results.pack import load_file, pack, save_file, unpack
from crowdrank.results.tables import without_nulls

if TYPE_CHECKING:
    from crowdrank.charts import Chart

MOST_SHOWN = 2000
"""An overview of more items has no standard errors: they would take long."""
EXACT_LIMIT = 8000
"""Above this many parameters, posterior draws replace the inverse of the information."""
PAIRWISE = 2000
"""In connected parts of more items, ``Posterior.ahead`` leaves covariances out."""


class Covariance(ABC):
    """The covariance of the scores, and of worker parameters if the model has any."""

    pairwise_limit: ClassVar[int] = EXACT_LIMIT
    """In larger connected parts, items are compared by their variances, not by every difference."""

    @abstractmethod
    def block(self, nodes: Integers) -> Floats:
        """Covariance of the scores of these nodes, which form one connected part."""

    def variance(self, nodes: Integers) -> Floats:
        """Variances of the centered scores of a connected part."""
        return center(self.block(nodes)).diagonal()

    def worker_variance(self) -> Floats:
        """Variance of each worker parameter (K, b), with all else uncertain too. Empty if there are none."""
        return np.zeros((0, 1))

    def free_worker_variance(self) -> Floats:
        """The same, 0 for a parameter that is held."""
        return self.worker_variance()

    def common_covariance(self) -> Floats:
        """Covariance of the common parameters (G, G). Empty if there are none."""
        return np.zeros((0, 0))

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draws about 0 of the scores (count, N) and of the worker parameters (count, K, b).

        By default, each part is drawn from its own block, and parts above ``pairwise_limit`` from their variances.
        """
        scores = np.zeros((count, sum(map(len, parts))))
        for nodes in parts:
            normal = generator.standard_normal((count, len(nodes)))
            if len(nodes) > self.pairwise_limit:
                scores[:, nodes] = normal * np.sqrt(self.variance(nodes))
            else:
                scores[:, nodes] = normal @ _root(self.block(nodes)).T
        return scores, np.zeros((count, 0, 1))

    def with_combination(self, weights: Floats) -> tuple[Floats | float, float]:
        """Covariance of the scores with a combination of worker parameters (K, b), and its variance.

        By default, they are independent.
        """
        return 0.0, float((weights**2 * self.worker_variance()).sum())

    def release(self) -> None:  # noqa: B027 - most have nothing to free
        """Free what can be computed again."""


def center(block: Floats) -> Floats:
    """Covariance of x - mean(x), from the covariance of x."""
    rows = block.mean(axis=0)
    return block - rows[:, None] - rows[None, :] + rows.mean()


def _root(block: Floats) -> Floats:
    """A matrix R with R R' = block, which may be singular."""
    values, vectors = np.linalg.eigh(block)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


class Difference(NamedTuple):
    """How far the first of two items is ahead of the second.

    ``stderr`` is infinite if no chain of judgments links them. ``probability``: that the first is the better one.
    """

    mean: float
    stderr: float
    probability: float


class Sample(NamedTuple):
    """Joint draws: ``scores`` (draws, N), centered in each part, and parameters of ``workers`` (draws, K, b)."""

    scores: Floats
    workers: Floats


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    """A posterior by codes, as a model returns it: the covariance of the scores and of worker parameters.

    ``workers`` (K, b): the fitted value of each of the ``parameters`` (b names), in the units of the likelihood,
    for example ln of a tie threshold. ``kind``
    describes the covariance in words.
    """

    covariance: Covariance
    kind: str
    parameters: tuple[str, ...] = ()
    workers: Floats = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(HasOverview):
    """Scores and worker parameters as jointly normal variables.

    ``query`` and ``item`` name the N scores. ``part`` is the connected part of each, and ``score`` its posterior
    mean, centered within each part as in the ranking. ``worker`` names the K workers (None if they are unknown).
    What the model knows about them is in ``normal``.

    Worker parameters are on the scale of the likelihood, not of the workers table: thresholds are logarithms,
    lapses are logits. They are normal there, so draws of a quality may leave [0, 1].

    >>> import crowdrank as cr
    >>> posterior = cr.BradleyTerry().fit([("a", "b"), ("a", "b"), ("b", "c"), ("a", "c"), ("c", "b")]).posterior_
    >>> ahead = posterior.difference("a", "b")
    >>> round(ahead.mean, 2), round(ahead.stderr, 2), round(ahead.probability, 2)
    (1.85, 1.42, 0.9)
    >>> posterior.sample(1000).scores.shape
    (1000, 3)
    """

    query: pl.Series
    item: pl.Series
    worker: pl.Series | None
    part: Ints
    score: Floats
    normal: NormalPosterior
    backend: Backend = TEXT_IDS

    @property
    def kind(self) -> str:
        """What the covariance is, in words."""
        return self.normal.kind

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the worker parameters."""
        return self.normal.parameters

    @cached_property
    def parts(self) -> list[Integers]:
        """The positions of the scores of each connected part."""
        order = np.argsort(self.part, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.part))[:-1])

    @cached_property
    def _places(self) -> dict[tuple[str | None, str], int]:
        return {name: place for place, name in enumerate(zip(self.query, self.item, strict=True))}

    def place(self, item: Any, query: Any = None) -> int:
        """The position of an item among the scores. Raises an error if the fit has not seen it."""
        item, query = id_text(item), None if query is None else id_text(query)
        found = self._places.get((query, item))
        if found is None:
            inside = "" if query is None else f" in query {query!r}"
            elsewhere = query is None and item in self.item
            hint = "Name its query: this fit has queries." if elsewhere else None
            raise UsageError(f"The fit has no item {item!r}{inside}.", hint=hint)
        return found

    def difference(self, one: Any, other: Any, query: Any = None) -> Difference:
        """How far one item is ahead of another of the same query."""
        i, j = self.place(one, query), self.place(other, query)
        mean = float(self.score[i] - self.score[j])
        if self.part[i] != self.part[j]:
            return Difference(mean, math.inf, 0.5)
        nodes = self.parts[self.part[i]]
        a, b = np.searchsorted(nodes, [i, j])
        block = self.covariance(int(self.part[i]))
        stderr = math.sqrt(max(float(block[a, a] + block[b, b] - 2.0 * block[a, b]), 0.0))
        certain = 0.5 * (1.0 + math.copysign(1.0, mean)) if mean else 0.5
        return Difference(mean, stderr, 0.5 * math.erfc(-mean / stderr / math.sqrt(2.0)) if stderr else certain)

    def ahead(self, places: Integers) -> Floats:
        """P(row is better than column) for the scores at these positions: Phi of their difference over its error.

        1/2 on the diagonal, and if no chain of judgments links two items. In parts of more than ``PAIRWISE`` items
        the scores count as independent.
        """
        from scipy.special import ndtr

        mean = np.subtract.outer(self.score[places], self.score[places])
        variance = np.full(mean.shape, np.inf)
        for part in np.unique(self.part[places]):
            own = np.flatnonzero(self.part[places] == part)
            variance[np.ix_(own, own)] = self._difference_variances(int(part), places[own])
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.where(mean == 0.0, 0.0, mean / np.sqrt(variance))
        return np.asarray(ndtr(away))

    def _difference_variances(self, part: int, places: Integers) -> Floats:
        nodes = self.parts[part]
        if len(nodes) > PAIRWISE:
            alone = self.stderr[places] ** 2
            return np.add.outer(alone, alone)
        own = np.searchsorted(nodes, places)
        block = self.normal.covariance.block(nodes)[np.ix_(own, own)]
        return np.maximum(np.add.outer(block.diagonal(), block.diagonal()) - 2.0 * block, 0.0)

    def plot(self, query: str | None = None, most: int = 30) -> Chart:
        """P(row is better than column) among the first ``most`` items of a query, as a chart that can be saved.

        ``query``: its name; the first one if there are several and none is named.
        """
        from crowdrank.results.plots import plot_ahead

        return plot_ahead(self, query, most)

    def covariance(self, part: int) -> Floats:
        """Covariance of the centered scores of a connected part, in the order of ``parts``."""
        return center(self.normal.covariance.block(self.parts[part]))

    @cached_property
    def stderr(self) -> Floats:
        """Standard error of each centered score. Infinite for an item that is alone in its part."""
        found, own = np.full(len(self.score), np.inf), self.normal.covariance
        for nodes in self.parts:
            if len(nodes) > own.pairwise_limit:
                found[nodes] = own.variance(nodes)
            elif len(nodes) > 1:
                found[nodes] = center(own.block(nodes)).diagonal()
        own.release()
        return np.sqrt(np.maximum(found, 0.0))

    @property
    def worker_mean(self) -> Floats:
        """The fitted worker parameters (K, b)."""
        return self.normal.workers

    @cached_property
    def worker_stderr(self) -> Floats:
        """Standard error of each worker parameter (K, b). 0 for a held parameter."""
        members = len(self.normal.workers)
        variance = self.normal.covariance.free_worker_variance()[:members]
        self.normal.covariance.release()
        return np.sqrt(np.maximum(variance, 0.0)).reshape(self.normal.workers.shape)

    def with_worker(self, worker: Any, parameter: str) -> Floats:
        """Covariance of every score, centered in its part, with one of the ``parameters`` of one worker."""
        worker = id_text(worker)
        names = [] if self.worker is None else self.worker.to_list()
        if worker not in names or parameter not in self.parameters:
            known = ", ".join(self.parameters) or "none"
            problem = f"The fit has no parameter {parameter!r} of a worker {worker!r}."
            raise UsageError(problem, hint=f"The worker parameters are: {known}.")
        place, code = self.parameters.index(parameter), names.index(worker)
        weights = np.zeros_like(self.normal.covariance.worker_variance())
        weights[code, place] = 1.0
        across = np.broadcast_to(self.normal.covariance.with_combination(weights)[0], len(self.score)).copy()
        for nodes in self.parts:
            across[nodes] -= across[nodes].mean()
        return across

    def sample(self, count: int, seed: int = 0) -> Sample:
        """Joint draws of the scores and of the worker parameters."""
        scores, workers = self.normal.covariance.sample(self.parts, count, np.random.default_rng(seed))
        for nodes in self.parts:
            scores[:, nodes] -= scores[:, nodes].mean(axis=1, keepdims=True)
        mean = self.normal.workers
        return Sample(self.score + scores, mean + workers[:, : len(mean)].reshape(count, *mean.shape))

    def overview(self) -> Overview:
        """What it holds; up to a few thousand items also the first scores with their intervals."""
        people = 0 if self.worker is None else len(self.worker)
        title = f"Posterior: {count_noun(len(self.score), 'item')}" + (
            f", {count_noun(people, 'worker')}" if people else ""
        )
        facts = [self.kind, *([f"worker parameters: {', '.join(self.parameters)}"] if self.parameters else [])]
        if len(self.score) > MOST_SHOWN:
            return Overview(title, facts)
        ends = {"low": self.score - Z * self.stderr, "high": self.score + Z * self.stderr}
        table = without_nulls(self.polars().drop("stderr").with_columns(**ends)).sort("score", descending=True)
        return Overview(title, facts, table, Interval("score"))

    def polars(self) -> pl.DataFrame:
        """query, item, score and stderr of every item."""
        return pl.DataFrame({"query": self.query, "item": self.item, "score": self.score, "stderr": self.stderr})

    def frame(self) -> Any:
        """The same as the kind of frame that the judgments came in, with ids as given."""
        return self.backend.native(self.polars())

    def save(self, path: str | Path) -> None:
        """Write to a file (NumPy's npz, no pickle) that ``load`` can read back."""
        save_file(Path(path), "posterior", *pack(self))

    @staticmethod
    def load(path: str | Path) -> Posterior:
        """Read a posterior that was saved to a file."""
        found = unpack(*load_file(Path(path), "posterior"))
        assert isinstance(found, Posterior)
        return found
