"""The likelihood that the pairwise models share.

Worker k is shown item i on the left and j on the right. The vote depends on the advantage

    x = a_k (s_i - s_j) + b_k          a: slope, b: position (0 if sides are not known)

The link and the tie model (kernels.ties, with the worker's threshold e^theta_k) turn x into the probabilities of
win, loss and tie. A worker who repeats the outcome only with probability eta_k (Crowd-BT eq. 4, 5) mixes win with
loss. A model names the *columns* that its workers have. Parameters that are not columns are a = 1, b = 0, eta = 1.
A row of counts c contributes the sum over outcomes o of c_o ln P_o:

    d/du = sum c_o P_o' / P_o          minus d2/du dv = sum c_o (P_o' P_o' / P_o^2 - P_o'' / P_o)

for u, v among x, theta and eta. The chain rule then gives the derivatives by scores and columns.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.kernels import Chance, Link, chances, flip_outcomes
from crowdrank.kernels.links import TINY
from crowdrank.models.eta import OnGrid, QualityTable
from crowdrank.models.worker_parameters import ETA, ColumnTerms, WorkerParameter, drive
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.random import signs
from crowdrank.solve import At, Curvature, Draw, Gradient, Information, accumulate
from crowdrank.solve.draws import DRAWS
from crowdrank.solve.matrices import Matrix

G = TypeVar("G", bound=Gradient)
CHANNELS = ("x", "theta", "eta")


@dataclass(frozen=True, eq=False)
class Judge:
    """The worker's natural parameters, one entry per row (or per worker)."""

    slope: Floats | float = 1.0
    position: Floats | float = 0.0
    theta: Floats | None = None
    eta: Floats | None = None

    @classmethod
    def of(cls, columns: tuple[WorkerParameter, ...], values: Floats) -> Judge:
        """From columns of values (rows, columns)."""
        own = drive(columns, values)
        return cls(own.get("slope", 1.0), own.get("position", 0.0), own.get("theta"), own.get("eta"))

    def outcomes(self, link: Link, ties: str, d: Floats) -> list[Chance]:
        """Win, loss and tie at a difference d of scores."""
        found = chances(link, ties, self.slope * d + self.position, self.theta)
        return found if self.eta is None else flip_outcomes(found, self.eta)


@dataclass(frozen=True, eq=False)
class _RowTerms:
    """A shard at given parameters: the judges, the terms of the columns, counts, outcomes and gradient."""

    judge: Judge
    columns: list[ColumnTerms]
    counts: list[Floats]
    outcomes: list[Chance]
    gradient: dict[str, Floats]

    def curvature(self, one: str, other: str) -> Floats:
        """Minus the second derivative of each row's log likelihood by two channels."""
        return curvature(self.counts, self.outcomes, one, other)


def slopes(counts: list[Floats], outcomes: list[Chance]) -> dict[str, Floats]:
    """The derivative of each row's log likelihood by each channel."""
    found: dict[str, Floats] = {}
    for count, chance in zip(counts, outcomes, strict=True):
        ratio = count / np.maximum(chance.p, TINY)
        for channel, first in chance.first.items():
            found[channel] = found.get(channel, 0.0) + ratio * first
    return found


def curvature(counts: list[Floats], outcomes: list[Chance], one: str, other: str) -> Floats:
    """Minus the second derivative of each row's log likelihood by two channels."""
    key = (one, other) if CHANNELS.index(one) <= CHANNELS.index(other) else (other, one)
    total = np.zeros_like(counts[0])
    for count, chance in zip(counts, outcomes, strict=True):
        p = np.maximum(chance.p, TINY)
        if one in chance.first and other in chance.first:
            total += count * (chance.first[one] / p) * (chance.first[other] / p)
        if key in chance.second:
            total -= count * (chance.second[key] / p)
    return total


@dataclass(frozen=True)
class PairedSums:
    """Value, gradient and curvature of the log likelihood.

    ``columns``: the parameters that workers have; see ``worker_parameters``.
    """

    link: Link
    ties: str = "half"
    columns: tuple[WorkerParameter, ...] = ()

    def gradient(self, shard: Comparisons, at: At) -> Gradient:
        """Value and gradient."""
        return _average([Gradient(*_gradient(shard, self._rows(shard, node))) for node in at.nodes()])

    def curvature(self, shard: Comparisons, at: At) -> Curvature:
        """Value, gradient and observed curvature."""
        return _average([self._curvature_at(shard, node) for node in at.nodes()])

    def _curvature_at(self, shard: Comparisons, at: At) -> Curvature:
        rows = self._rows(shard, at)
        return Curvature(*_gradient(shard, rows), *_observed_curvature(shard, rows))

    def information(self, shard: Comparisons, draw: Draw) -> Information:
        """Value, gradient, Fisher information, and noise with that covariance for posterior draws."""
        rows = self._rows(shard, draw)
        return Information(*_gradient(shard, rows), *_expected_information(shard, rows, draw.seed))

    def _rows(self, shard: Comparisons, at: At) -> _RowTerms:
        d = at.scores[shard.i] - at.scores[shard.j]
        judge, columns = Judge(), []
        if shard.worker is not None:
            own = at.workers[shard.worker]
            judge = Judge.of(self.columns, own)
            columns = [column.terms(own[:, place], d) for place, column in enumerate(self.columns)]
        outcomes = judge.outcomes(self.link, self.ties, d)
        counts = [shard.wins, shard.losses, *([shard.ties] if shard.ties is not None else [])]
        return _RowTerms(judge, columns, counts, outcomes, slopes(counts, outcomes))


def _average(parts: list[G]) -> G:
    """The mean of the sums at each node."""
    first, *others = parts
    if not others:
        return first
    return type(first)(
        *(
            sum((getattr(part, own.name) for part in others), getattr(first, own.name)) / len(parts)
            for own in fields(first)
        )
    )


def _gradient(shard: Comparisons, rows: _RowTerms) -> tuple[float, Floats, Floats]:
    """Value, and gradient by scores and workers."""
    value = sum(
        float(count @ np.log(np.maximum(chance.p, TINY)))
        for count, chance in zip(rows.counts, rows.outcomes, strict=True)
    )
    by_column = [rows.gradient[column.channel] * column.first for column in rows.columns]
    return value, _across(shard, rows.gradient["x"] * rows.judge.slope), _by_worker(shard, by_column)


def _observed_curvature(shard: Comparisons, rows: _RowTerms) -> tuple[Matrix, Matrix, Floats]:
    """Minus the second derivatives."""
    slope, columns = rows.judge.slope, rows.columns
    known = {("x", "x"): rows.curvature("x", "x")}

    def by(one: str, other: str) -> Floats:
        if (one, other) not in known:
            known[one, other] = known[other, one] = rows.curvature(one, other)
        return known[one, other]

    cross = [slope * by("x", column.channel) * column.first for column in columns]
    for place, column in enumerate(columns):
        if column.slope is not None:
            cross[place] = cross[place] - rows.gradient["x"] * column.slope
    blocks = {}
    for one, column in enumerate(columns):
        for other in range(one, len(columns)):
            partner = columns[other]
            block = by(column.channel, partner.channel) * column.first * partner.first
            if one == other and column.second is not None:
                block = block - rows.gradient[column.channel] * column.second
            blocks[one, other] = block
    return _curvature(shard, slope**2 * known["x", "x"], cross, blocks)


def _expected_information(shard: Comparisons, rows: _RowTerms, seed: int) -> tuple[Matrix, Matrix, Floats, Floats]:
    """The information of each row: its weight times the sum over outcomes of P_o' P_o' / P_o."""
    slope, columns, weight = rows.judge.slope, rows.columns, shard.weight
    worker = np.zeros_like(shard.i) if shard.worker is None else shard.worker
    keys = tuple(key.astype(np.int64) for key in (shard.i, shard.j, worker))
    by_score: Floats = np.zeros(len(shard))
    cross = [np.zeros(len(shard)) for _ in columns]
    blocks = {
        (one, other): np.zeros(len(shard)) for one in range(len(columns)) for other in range(one, len(columns))
    }
    noise: Any = 0.0
    for number, chance in enumerate(rows.outcomes):
        root = np.sqrt(weight / np.maximum(chance.p, TINY))
        score = root * chance.first["x"] * slope
        own = [root * chance.first.get(column.channel, 0.0) * column.first for column in columns]
        by_score = by_score + score**2
        for one, value in enumerate(own):
            cross[one] = cross[one] + score * value
            for other in range(one, len(columns)):
                blocks[one, other] = blocks[one, other] + value * own[other]
        drawn = signs((*keys, np.full(len(shard), number)), DRAWS, seed)
        noise = noise + _incidence(shard, score, own).T @ drawn
    return *_curvature(shard, by_score, cross, blocks), noise


def _across(shard: Comparisons, values: Floats) -> Floats:
    """Sum of values over rows: added at i, subtracted at j."""
    n = shard.nodes
    return summed(shard.i, values, n) - summed(shard.j, values, n)


def _by_worker(shard: Comparisons, columns: list[Floats]) -> Floats:
    if shard.worker is None:
        return np.zeros((0, 1))
    return np.stack([summed(shard.worker, values, shard.workers) for values in columns], axis=1)


def _curvature(
    shard: Comparisons, by_score: Floats, cross: list[Floats], blocks: dict[tuple[int, int], Floats]
) -> tuple[Matrix, Matrix, Floats]:
    """The arrow matrix from each row's curvature in d, in (d, columns) and in the columns."""
    n, i, j = shard.nodes, shard.i, shard.j
    # Sum over pairs once, then mirror. That is half the work of four sums.
    upper = accumulate(i, j, by_score, (n, n))
    diagonal = summed(i, by_score, n) + summed(j, by_score, n)
    items = -(upper + upper.T)
    if isinstance(items, np.ndarray):
        items[np.diag_indices(n)] += diagonal
    else:
        from scipy.sparse import diags_array

        items = (items + diags_array(diagonal)).tocsr()
    if shard.worker is None:
        return items, np.zeros((n, 0)), np.zeros((0, 1, 1))
    width, worker = len(cross), shard.worker.astype(np.int64)
    places = np.concatenate([worker * width + column for column in range(width)] * 2)
    ends = np.concatenate([i] * width + [j] * width)
    both = np.concatenate([*cross, *(-values for values in cross)])
    own = np.empty((shard.workers, width, width))
    for (one, other), values in blocks.items():
        own[:, one, other] = own[:, other, one] = summed(worker, values, shard.workers)
    coupling = accumulate(places, ends, both, (shard.workers * width, n)).T
    return items, coupling, own


def _incidence(shard: Comparisons, score: Floats, columns: list[Floats]) -> Any:
    """Rows by parameters: the gradient of each row."""
    from scipy.sparse import coo_array

    row, width = np.arange(len(shard)), len(columns)
    parts: list[tuple[NDArray[Any], NDArray[Any], Floats]] = [(row, shard.i, score), (row, shard.j, -score)]
    if shard.worker is not None:
        parts += [(row, shard.nodes + shard.worker * width + c, values) for c, values in enumerate(columns)]
    rows, places, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    size = shard.nodes + shard.workers * max(width, shard.worker is None)
    return coo_array((values, (rows, places)), shape=(len(shard), size)).tocsr()


@dataclass(frozen=True)
class QualitySums:
    """The likelihood of each worker's eta, with all other parameters fixed.

    Rows of workers beyond the grid (the perfect worker of gold pairs) do not count.
    """

    link: Link
    ties: str = "half"
    columns: tuple[WorkerParameter, ...] = (ETA,)

    def table(self, shard: Comparisons, at: OnGrid) -> QualityTable:
        """The sums over one shard."""
        scores, grid = at.scores, at.grid
        assert shard.worker is not None
        people = shard.take(slice(0, int(np.searchsorted(shard.worker, len(grid)))))  # rows are sorted by worker
        assert people.worker is not None
        d = scores[people.i] - scores[people.j]
        judge = Judge.of(self.columns, at.workers[people.worker])
        win, loss = (chance.p for chance in chances(self.link, self.ties, d + judge.position, judge.theta)[:2])
        # One entry for each direction that has votes in a row: few rows have votes in both.
        up, down = people.wins > 0, people.losses > 0
        worker = np.concatenate([people.worker[up], people.worker[down]])
        said = np.concatenate([win[up], loss[down]])  # the probability under a perfect worker
        unsaid = np.concatenate([loss[up], win[down]])
        count = np.concatenate([people.wins[up], people.losses[down]])
        table = np.empty(grid.shape)
        for place in range(grid.shape[1]):
            eta = grid[worker, place]
            value = np.log(np.maximum(eta * said + (1.0 - eta) * unsaid, TINY)) * count
            table[:, place] = summed(worker, value, len(grid))
        ahead = self.link.values(np.abs(d)).win
        agree = float(people.weight @ ahead)
        return QualityTable(agree, float(people.weight.sum()), table)
