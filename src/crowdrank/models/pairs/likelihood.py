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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any, TypeVar

import numpy as np

from crowdrank.data import Floats, summed
from crowdrank.data.arrays import Integers
from crowdrank.engine import Stats
from crowdrank.kernels import Chance, Link, chances, decided_chances, flip_outcomes
from crowdrank.kernels.links import TINY
from crowdrank.models.eta import OnGrid, QualityTable
from crowdrank.models.pairs.compiled_sums import CompiledSums, compiled_quality_logs, compiled_sums, compiled_terms
from crowdrank.models.pairs.row_terms import Outcome, RowTerms, Second, blocks, row_terms
from crowdrank.models.worker_parameters import ETA, WorkerParameter, drive
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.prepared.directed import DirectedRows, all_rows
from crowdrank.random import signs
from crowdrank.solve import At, Curvature, Draw, Gradient, Information
from crowdrank.solve.assembly import PairSums, WorkerRows
from crowdrank.solve.draws import DRAWS
from crowdrank.solve.matrices import Matrix, fits_strip, is_small

S = TypeVar("S", bound=Stats)


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


@dataclass(frozen=True)
class PairedSums:
    """Value, gradient and curvature of the log likelihood.

    ``columns``: the parameters that workers have; see ``worker_parameters``. ``compiled``: by compiled loops,
    which know no tie model and only the logistic link.
    """

    link: Link
    ties: str = "half"
    columns: tuple[WorkerParameter, ...] = ()
    compiled: bool = False

    def gradient(self, shard: Comparisons, at: At) -> Gradient:
        """Value and gradient."""
        if self.compiled:
            value, scores, workers, *_ = self._compiled_sums(shard.decided, at, "none")
            return Gradient(value, scores, workers)
        return _added([Gradient(*_gradient(rows, terms)) for rows, terms in self._terms(shard, at, "none")])

    def curvature(self, shard: Comparisons, at: At) -> Curvature:
        """Value, gradient and observed curvature."""
        return self._curvature(shard, at, "observed")

    def outer_products(self, shard: Comparisons, at: At) -> Curvature:
        """Value, gradient and, as a curvature that is never negative, the products of the rows' gradients."""
        return self._curvature(shard, at, "outer")

    def _curvature(self, shard: Comparisons, at: At, second: Second) -> Curvature:
        if self.compiled and _fits_tables(shard.decided, len(self.columns)):
            value, scores, workers, pairs, strip, own = self._compiled_sums(shard.decided, at, second)
            coupling, blocks = _place_coupling(shard.decided, strip), _square_blocks(own, workers.shape)
            return Curvature(value, scores, workers, PairSums(pairs), coupling, blocks)
        return _added(
            [
                Curvature(*_gradient(rows, terms), *arrow_parts(rows, terms.curvature, terms.cross, terms.blocks))
                for rows, terms in self._terms(shard, at, second)
            ]
        )

    def _terms(self, shard: Comparisons, at: At, second: Second) -> Iterator[tuple[DirectedRows, RowTerms]]:
        """The terms of wins and losses, then those of ties."""
        nodes = [node.workers for node in at.nodes()]
        if self.compiled:
            values = compiled_terms(self.columns, shard.decided, at.scores, nodes, second)
            yield shard.decided, RowTerms(values, len(self.columns))
            return
        for rows, tied in ((shard.decided, False), (shard.tied, True)):
            if rows is not None:
                outcome = Outcome(self.link, self.ties, self.columns, tied)
                yield rows, row_terms(outcome, rows, at.scores, nodes, second)

    def _compiled_sums(self, rows: DirectedRows, at: At, second: Second) -> CompiledSums:
        return compiled_sums(self.columns, rows, at.scores, [node.workers for node in at.nodes()], second)

    def information(self, shard: Comparisons, draw: Draw) -> Information:
        """Value, gradient, Fisher information, and noise with that covariance for posterior draws.

        The information of a row is its weight times the sum over outcomes of P_o' P_o' / P_o.
        """
        found, rows, width = (
            self.gradient(shard, At(draw.scores, draw.workers)),
            all_rows(shard),
            len(self.columns),
        )
        d = draw.scores[rows.first] - draw.scores[rows.second]
        judge, reach = Judge(), []
        if rows.worker is not None:
            own = draw.workers[rows.worker]
            judge = Judge.of(self.columns, own)
            terms = [column.terms(own[:, place], d) for place, column in enumerate(self.columns)]
            reach = [(column.channel, column.first) for column in terms]
        judged_by = np.zeros_like(rows.first) if rows.worker is None else rows.worker
        squares, noise = np.zeros(((1 + width) * (2 + width) // 2, len(rows))), np.zeros(1)
        for number, chance in enumerate(judge.outcomes(self.link, self.ties, d)):
            root = np.sqrt(rows.count / np.maximum(chance.p, TINY))
            slopes = [root * chance.first["x"] * judge.slope]
            slopes += [root * chance.first.get(channel, 0.0) * far for channel, far in reach]
            by_columns = [
                slopes[1 + one] * slopes[1 + other] for one, other in zip(*np.triu_indices(width), strict=True)
            ]
            squares += [slopes[0] ** 2, *(slopes[0] * own for own in slopes[1:]), *by_columns]
            drawn = signs((rows.first, rows.second, judged_by, np.full(len(rows), number)), DRAWS, draw.seed)
            noise = noise + _incidence(rows, slopes[0], slopes[1:]).T @ drawn
        parts = arrow_parts(rows, squares[0], squares[1 : 1 + width], squares[1 + width :])
        return Information(found.value, found.scores, found.workers, *parts, noise)


def _added(parts: list[S]) -> S:
    """The sum of the parts."""
    return reduce(lambda one, other: one.join(other), parts)


def _gradient(rows: DirectedRows, terms: RowTerms) -> tuple[float, Floats, Floats]:
    """Value, and gradient by scores and workers."""
    n, by = rows.nodes, terms.by_difference
    scores = summed(rows.first, by, n) - summed(rows.second, by, n)
    return float(terms.values[0].sum()), scores, _by_worker(rows, terms.by_column)


def _by_worker(rows: DirectedRows, values: Floats) -> Floats:
    """The sums of each row of ``values`` for each worker (workers, rows of values)."""
    found = np.zeros((rows.workers, len(values) if rows.worker is not None else 1))
    if rows.worker is not None and len(rows):
        found[rows.present] = np.add.reduceat(values, rows.starts, axis=1).T
    return found


def arrow_parts(
    rows: DirectedRows, by_score: Floats, cross: Floats, blocks: Floats
) -> tuple[Matrix, Matrix, Floats]:
    """The arrow matrix from each row's curvature in d, in (d, columns), and in pairs of columns."""
    n, width = rows.nodes, len(cross)
    if is_small((n, n)):
        items = PairSums(np.bincount(rows.pair, by_score, n * n).reshape(n, n))
    else:
        items = PairSums(rows.pair_layout.fill(by_score[None]))
    if rows.worker is None:
        return items, np.zeros((n, 0)), np.zeros((0, 1, 1))
    return items, _coupling(rows, cross), _square_blocks(_by_worker(rows, blocks), (rows.workers, width))


def _square_blocks(sums: Floats, shape: tuple[int, ...]) -> Floats:
    """Blocks (workers, columns, columns) from their upper triangles. ``shape``: (workers, columns)."""
    own = np.empty((*shape, shape[1]))
    for place, (one, other) in enumerate(combinations_with_replacement(range(shape[1]), 2)):
        own[:, one, other] = own[:, other, one] = sums[:, place]
    return own


def _fits_tables(rows: DirectedRows, width: int) -> bool:
    """Whether the second derivatives of a shard are counted into dense tables."""
    shape = (rows.workers * width, rows.nodes)
    strip = rows.worker_range[1] * width
    return is_small((rows.nodes, rows.nodes)) and (is_small(shape) or fits_strip(strip, shape, len(rows)))


def _place_coupling(rows: DirectedRows, strip: Floats) -> Matrix:
    """Scores by worker parameters, from a strip (workers of the rows, columns, nodes)."""
    height, width, n = strip.shape
    shape, begin, flat = (rows.workers * width, n), rows.worker_range[0] * width, strip.reshape(-1, n)
    if not is_small(shape):
        from scipy.sparse import csr_array

        return WorkerRows(((begin, csr_array(flat)),), shape[0])
    matrix = np.zeros(shape)
    matrix[begin : begin + height * width] = flat
    return matrix.T


def _coupling(rows: DirectedRows, cross: Floats) -> Matrix:
    """Scores by worker parameters: each value is added at the first node and subtracted at the second."""
    n, width, (begin, height) = rows.nodes, len(cross), rows.worker_range
    if is_small((rows.workers * width, n)):
        up, down = rows.ends
        strips = [np.bincount(up, own, height * n) - np.bincount(down, own, height * n) for own in cross]
        return _place_coupling(rows, np.stack(strips, axis=0).reshape(width, height, n).transpose(1, 0, 2))
    both = np.concatenate([cross, -cross], axis=1)
    return WorkerRows(((begin * width, rows.worker_layout.fill(both)),), rows.workers * width)


def _incidence(rows: DirectedRows, score: Floats, columns: list[Floats]) -> Any:
    """Rows by parameters: the gradient of each row."""
    from scipy.sparse import coo_array

    row, width = np.arange(len(rows)), len(columns)
    parts = [(row, rows.first, score), (row, rows.second, -score)]
    if rows.worker is not None:
        parts += [(row, rows.nodes + rows.worker * width + c, values) for c, values in enumerate(columns)]
    numbers, places, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    size = rows.nodes + rows.workers * max(width, rows.worker is None)
    return coo_array((values, (numbers, places)), shape=(len(rows), size)).tocsr()


@dataclass(frozen=True)
class QualitySums:
    """The likelihood of each worker's eta, with all other parameters fixed.

    Rows of workers beyond the grid (the perfect worker of gold pairs) do not count.
    """

    link: Link
    ties: str = "half"
    columns: tuple[WorkerParameter, ...] = (ETA,)
    compiled: bool = False

    def table(self, shard: Comparisons, at: OnGrid) -> QualityTable:
        """The sums over one shard."""
        table, agree, votes = np.zeros(at.grid.shape), 0.0, 0.0
        if self.compiled:
            position = Judge.of(self.columns, at.workers).position + np.zeros(len(at.workers))
            return QualityTable(*compiled_quality_logs(shard.decided, at.scores, position, at.grid, table), table)
        for rows in (shard.decided, shard.tied):
            if rows is None:
                continue
            assert rows.worker is not None
            for block in blocks(int(np.searchsorted(rows.worker, len(at.grid)))):  # rows are sorted by worker
                d, weight = at.scores[rows.first[block]] - at.scores[rows.second[block]], rows.count[block]
                agree += float(weight @ self.link.values(np.abs(d)).win)
                votes += float(weight.sum())
                if rows is shard.decided:
                    self._add_decided(table, rows.worker[block], d, rows.side[block], weight, at)
        return QualityTable(agree, votes, table)

    def _add_decided(
        self, table: Floats, worker: Integers, d: Floats, side: Floats, weight: Floats, at: OnGrid
    ) -> None:
        """Add the log likelihood of decided votes."""
        judge = Judge.of(self.columns, at.workers[worker])
        x = d + side * judge.position
        said, unsaid = (chance.p for chance in decided_chances(self.link, self.ties, x, judge.theta))
        starts = np.flatnonzero(np.diff(worker, prepend=-1))
        for place in range(at.grid.shape[1]):
            eta = at.grid[:, place][worker]
            value = np.log(np.maximum(eta * said + (1.0 - eta) * unsaid, TINY)) * weight
            table[worker[starts], place] += np.add.reduceat(value, starts)
