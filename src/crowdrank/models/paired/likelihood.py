"""The likelihood that Bradley-Terry, Thurstone and their crowd versions share.

A worker of quality eta (Crowd-BT eq. 4) says that i beats j with probability (eq. 5)

    P = eta F(d) + (1 - eta) F(-d),        d = s_i - s_j,

F the link; a perfect worker, or no worker at all, is eta = 1. A row of counts (a wins of i, b of j)
contributes a ln P + b ln Q with Q = 1 - P. With t = 2 eta - 1, f = F', and m = F(d) - F(-d):

    dP/dd = t f,     dP/d eta = m,     d2P/dd2 = t f',     d2P/dd d eta = 2 f.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Comparisons, Floats, summed
from crowdrank.engine import Stats
from crowdrank.kernels import Link
from crowdrank.solve import accumulate
from crowdrank.solve.draws import DRAWS, signs

TINY = 1e-150  # its square is still a number


@dataclass(frozen=True)
class _Rows:
    """The terms of one shard's rows at given parameters."""

    wins: Floats
    losses: Floats
    P: Floats
    Q: Floats
    slope: Floats  # dP/dd
    bend: Floats  # (d2P/dd2) / (dP/dd)
    margin: Floats  # dP/d eta
    density: Floats


def _rows(link: Link, shard: Comparisons, params: Mapping[str, Any]) -> _Rows:
    scores = params["scores"]
    win, lose, density, bend = link.values(scores[shard.i] - scores[shard.j])
    if shard.worker is None:
        return _Rows(shard.wins, shard.losses, win, lose, density, bend, win - lose, density)
    eta = params["workers"][shard.worker, 0]
    P = eta * win + (1.0 - eta) * lose
    Q = eta * lose + (1.0 - eta) * win
    return _Rows(shard.wins, shard.losses, P, Q, (2.0 * eta - 1.0) * density, bend, win - lose, density)


class Stateless:
    """Sums without a state."""

    stateful = False

    def start(self, shard: Comparisons, seed: int) -> None:
        """No state."""
        return None

    def collect(self, shard: Comparisons, params: Mapping[str, Any], state: None) -> Mapping[str, Any]:
        """Nothing that belongs to a shard."""
        return {}


@dataclass(frozen=True)
class PairedSums(Stateless):
    """Value, gradient and curvature of the log likelihood.

    ``params["order"]``: 1 for value and gradient, 2 for the observed curvature too, "expected" for
    the Fisher information in its place, with signed ``noise`` of that covariance for posterior draws.
    """

    link: Link

    def statistics(self, shard: Comparisons, params: Mapping[str, Any], state: None) -> tuple[Stats, None]:
        """The sums over one shard."""
        rows = _rows(self.link, shard, params)
        P, Q = np.maximum(rows.P, TINY), np.maximum(rows.Q, TINY)
        up, down = rows.wins / P, rows.losses / Q
        shared: dict[str, Any] = {
            "value": float(rows.wins @ np.log(P) + rows.losses @ np.log(Q)),
            "scores": _across(shard, (up - down) * rows.slope),
            "workers": _by_worker(shard, (up - down) * rows.margin),
        }
        if params["order"] == 2:
            shared |= self._observed(shard, rows, P, Q, up, down)
        elif params["order"] == "expected":
            shared |= self._expected(shard, rows, P, Q, params["seed"])
        return Stats(shared), None

    def _observed(
        self, shard: Comparisons, rows: _Rows, P: Floats, Q: Floats, up: Floats, down: Floats
    ) -> dict[str, Any]:
        """Minus the second derivatives."""
        ratio_up, ratio_down = rows.slope / P, rows.slope / Q
        by_score = rows.wins * ratio_up * (ratio_up - rows.bend)
        by_score += rows.losses * ratio_down * (ratio_down + rows.bend)
        if shard.worker is None:
            return _curvature(shard, by_score)
        square = up / P + down / Q
        by_worker = square * rows.margin**2
        mixed = square * rows.margin * rows.slope - (up - down) * 2.0 * rows.density
        return _curvature(shard, by_score, mixed, by_worker)

    def _expected(self, shard: Comparisons, rows: _Rows, P: Floats, Q: Floats, seed: int) -> dict[str, Any]:
        """The information of each row, (a + b) / (P Q) times the square of the gradient of P."""
        weight = (rows.wins + rows.losses) / (P * Q)
        worker = np.zeros_like(shard.i) if shard.worker is None else shard.worker
        keys = tuple(key.astype(np.int64) for key in (shard.i, shard.j, worker))
        noise = np.sqrt(weight)[:, None] * signs(keys, DRAWS, seed)
        by_score, by_worker = weight * rows.slope**2, weight * rows.margin**2
        return {
            **_curvature(shard, by_score, weight * rows.slope * rows.margin, by_worker),
            "noise": _incidence(shard, rows.slope, rows.margin).T @ noise,
        }


def _across(shard: Comparisons, values: Floats) -> Floats:
    """Sum of values over rows, plus at i and minus at j."""
    n = shard.nodes
    return summed(shard.i, values, n) - summed(shard.j, values, n)


def _by_worker(shard: Comparisons, values: Floats) -> Floats:
    if shard.worker is None:
        return np.zeros((0, 1))
    return summed(shard.worker, values, shard.workers)[:, None]


def _curvature(
    shard: Comparisons, by_score: Floats, mixed: Floats | None = None, by_worker: Floats | None = None
) -> dict[str, Any]:
    """The arrow matrix of rows whose curvature in d, in (d, eta) and in eta is given."""
    n, i, j = shard.nodes, shard.i, shard.j
    # Sum over pairs once, then mirror: half the work of four sums.
    upper = accumulate(i, j, by_score, (n, n))
    diagonal = summed(i, by_score, n) + summed(j, by_score, n)
    items = -(upper + upper.T)
    if isinstance(items, np.ndarray):
        items[np.diag_indices(n)] += diagonal
    else:
        from scipy.sparse import diags_array

        items = (items + diags_array(diagonal)).tocsr()
    if shard.worker is None or mixed is None or by_worker is None:
        return {"items": items, "coupling": np.zeros((n, 0)), "workers_curvature": np.zeros((0, 1, 1))}
    ends, both = np.concatenate([i, j]), np.concatenate([mixed, -mixed])
    coupling = accumulate(np.concatenate([shard.worker] * 2), ends, both, (shard.workers, n)).T
    return {
        "items": items,
        "coupling": coupling,
        "workers_curvature": summed(shard.worker, by_worker, shard.workers)[:, None, None],
    }


def _incidence(shard: Comparisons, slope: Floats, margin: Floats) -> Any:
    """Rows by parameters: the gradient of P of each row."""
    from scipy.sparse import coo_array

    row = np.arange(len(shard))
    parts = [(row, shard.i, slope), (row, shard.j, -slope)]
    if shard.worker is not None:
        parts.append((row, shard.nodes + shard.worker, margin))
    rows, columns, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return coo_array((values, (rows, columns)), shape=(len(shard), shard.nodes + shard.workers)).tocsr()


@dataclass(frozen=True)
class QualitySums(Stateless):
    """For each worker the log likelihood at ``params["grid"]`` (workers, points), the scores being
    given; and how often a perfect worker would agree with the fitted order, over all votes.

    Rows of workers beyond the grid (the perfect worker of gold pairs) do not count.
    """

    link: Link

    def statistics(self, shard: Comparisons, params: Mapping[str, Any], state: None) -> tuple[Stats, None]:
        """The sums over one shard."""
        scores, grid = params["scores"], params["grid"]
        assert shard.worker is not None
        people = shard.take(slice(0, int(np.searchsorted(shard.worker, len(grid)))))  # rows are sorted by worker
        assert people.worker is not None
        win, lose, _, _ = self.link.values(scores[people.i] - scores[people.j])
        votes = people.wins + people.losses
        # One entry for each way that a row was voted: a row is seldom voted both ways.
        up, down = people.wins > 0, people.losses > 0
        worker = np.concatenate([people.worker[up], people.worker[down]])
        said = np.concatenate([win[up], lose[down]])  # what a perfect worker's probability is
        unsaid = np.concatenate([lose[up], win[down]])
        count = np.concatenate([people.wins[up], people.losses[down]])
        table = np.empty(grid.shape)
        for place in range(grid.shape[1]):
            eta = grid[worker, place]
            value = np.log(np.maximum(eta * said + (1.0 - eta) * unsaid, TINY)) * count
            table[:, place] = summed(worker, value, len(grid))
        agree = float(votes @ np.maximum(win, lose))
        return Stats({"agree": agree, "votes": float(votes.sum()), "table": table}), None
