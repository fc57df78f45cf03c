"""Greedy order: the item with the largest potential is taken first (Cohen, Schapire & Singer 1999).

PREF(i, j) is the share of the pair's votes that are for i, and 1/2 where nobody judged it. Among the items
that are left, each has the potential

    pi(i) = sum_j PREF(i, j) - sum_j PREF(j, i);

the largest is taken, and the others' potentials lose their term with it. The agreement of the order with
the votes, the sum of PREF(i, j) over all i above j, is at least half of the best possible; to find the best
itself is NP-hard. The cost reported is the disagreement over the judged pairs, sum of PREF(j, i) over i above j;
no order's is below the sum of min(PREF(i, j), PREF(j, i)).

Equal potentials are told apart by the potential at the start, then by the potential among the equal ones
alone; what is still equal is taken at once and tied. ``components``: the strongly connected components of
the majority graph first, each ordered for itself (the print's refinement, with an unjudged pair as a tie; the
best order has the components in this order, too).

The score is the potential at the start, P, made to fall along the order found: the closest falling
sequence (isotonic regression), minus 1e-6 times the place so that the order is kept. Each share of a pair varies
as Beta(wins + 1/2, losses + 1/2), independently over the pairs, and enters P twice over: var = 4 sum_j v_ij.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import UsageError
from crowdrank.kernels.majority import components
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import ContestCovariance, gained, majority, share_variance
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.prepared.votes import EQUAL, Votes

STEP = 1e-6
"""How much of the score a place is worth where the potentials do not fall along the order."""


class GreedyOrder(VotesModel):
    """Again and again the item with the largest net share of votes among those left (Cohen et al. 1999).

    ``components``: order the strongly connected components of the majority graph first, and each for itself.
    """

    name = "greedy-order"

    def __init__(self, *, components: bool = False, seed: int = 0) -> None:
        self.components = components
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        if not isinstance(self.components, bool):
            raise UsageError(f"The parameter 'components' must be true or false. Got {self.components!r}.")
        rows, part = votes.comparisons, votes.graph.part
        net_share = (rows.wins - rows.losses) / (rows.wins + rows.losses)
        potential = gained(rows, net_share)
        group = part.astype(np.int64)
        if self.components:
            own = components(gained(rows, majority(rows)).astype(np.int64), votes.nodes.query)
            group = group * len(part) + own
        place = _places(rows, net_share, potential, group)
        score = np.empty(rows.nodes)
        for nodes in votes.graph.members():
            score[nodes] = _falling(potential[nodes], place[nodes])
        result = votes.spread_scores(score, ContestCovariance(rows, part, 4 * share_variance(rows)))
        least = np.minimum(rows.wins, rows.losses) / (rows.wins + rows.losses)
        return Outcome(
            result,
            votes.agreement(result.score),
            notes=tuple(votes.notes(regularized=False)),
            details={"cost": _cost(rows, net_share, place), "lower_bound": float(least.sum()), "pairs": len(rows)},
        )


def _places(rows: Comparisons, net_share: Floats, start: Floats, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """When each item is taken, counted over all groups, which come in the order of their numbers."""
    from scipy.sparse import coo_array

    same = group[rows.i] == group[rows.j]
    i, j, x = rows.i[same], rows.j[same], net_share[same]
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    flow = coo_array((np.concatenate([x, -x]), both), shape=(rows.nodes, rows.nodes)).tocsr()
    potential = np.asarray(flow.sum(axis=1), float)
    place, taken = np.empty(rows.nodes, np.int64), 0
    order = np.argsort(group, kind="stable")
    for left in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        while len(left):
            first = _largest(_largest(left, potential), start)
            if len(first) > 1:
                among = _among(flow, first)
                first = first[among >= among.max() - EQUAL]
            place[first], taken = taken, taken + 1
            for node in first:
                own = slice(flow.indptr[node], flow.indptr[node + 1])
                potential[flow.indices[own]] += flow.data[own]
            potential[first] = -np.inf
            left = left[potential[left] > -np.inf]
    return place


def _largest(nodes: NDArray[np.int64], values: Floats) -> NDArray[np.int64]:
    """Those of the nodes that have the largest value."""
    if len(nodes) == 1:
        return nodes
    own = values[nodes]
    return nodes[own >= own.max() - EQUAL]


def _among(flow: Any, nodes: NDArray[np.int64]) -> Floats:
    """The potential of each of the nodes among these alone."""
    chosen = np.zeros(flow.shape[0], bool)
    chosen[nodes] = True
    rows = [slice(flow.indptr[node], flow.indptr[node + 1]) for node in nodes]
    return np.array([flow.data[own] @ chosen[flow.indices[own]] for own in rows])


def _falling(potential: Floats, place: NDArray[np.int64]) -> Floats:
    """The closest sequence to the potentials that falls along the order, and by a step at each place."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(place, kind="stable")
    score = np.empty(len(place))
    score[order] = isotonic_regression(potential[order], increasing=False).x
    return score - STEP * (place - place.min())


def _cost(rows: Comparisons, net_share: Floats, place: NDArray[np.int64]) -> float:
    """The shares of votes against the order, over the judged pairs; half of a pair that is tied in it."""
    ahead = np.sign(place[rows.j] - place[rows.i])
    return float(((1 - ahead * net_share) / 2).sum())
