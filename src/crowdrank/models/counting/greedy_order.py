"""Greedy order: take the item with the largest potential first (Cohen, Schapire & Singer 1999).

PREF(i, j) is the share of the pair's votes that are for i, or 1/2 if nobody judged it. Among the remaining items,
each has the potential

    pi(i) = sum_j PREF(i, j) - sum_j PREF(j, i)

The item with the largest potential is taken, and the other potentials lose their term with it. The agreement of
the order with the votes, the sum of PREF(i, j) over all i above j, is at least half of the best possible; finding
the best is NP-hard. The reported cost is the disagreement over the judged pairs, the sum of PREF(j, i) over i
above j. No order has a cost below the sum of min(PREF(i, j), PREF(j, i)).

Ties between potentials are broken by the potential at the start, then by the potential among the tied items
alone. Items that are still equal are taken together and tied. ``components``: first order the strongly connected
components of the majority graph, then each component on its own. This is the paper's refinement, with an unjudged
pair as a tie; the best order also has the components in this order.

The score is the potential at the start, P, made to fall along the order: the closest falling sequence (isotonic
regression), minus 1e-6 times the place, which keeps the order. The share of each pair has the variance v_ij of
Beta(wins + 1/2, losses + 1/2), independently over the pairs, and enters P twice: var = 4 sum_j v_ij.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import UsageError
from crowdrank.kernels.majority import components
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import (
    ContestCovariance,
    falling_scores,
    majority,
    net_gains,
    share_variance,
)
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.prepared.votes import EQUAL, Votes


class GreedyOrder(VotesModel):
    """Repeatedly takes the item with the largest net share of votes among the rest (Cohen et al. 1999).

        pi(i) = sum_j PREF(i, j) - sum_j PREF(j, i),    PREF(i, j) the share of the votes on i and j for i

    ``components``: first order the strongly connected components of the majority graph, then each on its own.

    >>> import crowdrank as cr
    >>> votes = [("a", "b"), ("a", "b"), ("b", "c"), ("b", "c"), ("b", "c"), ("c", "b"), ("a", "c"), ("c", "a")]
    >>> model = cr.GreedyOrder().fit(votes)
    >>> model.ranking_.frame()["item"].to_list()
    ['a', 'b', 'c']
    >>> model.fit_.details["cost"]  # a quarter of the votes on b and c, half of those on a and c
    0.75
    """

    name = "greedy-order"
    needs_every_pair = True

    def __init__(self, *, components: bool = False, seed: int = 0) -> None:
        self.components = components
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        if not isinstance(self.components, bool):
            raise UsageError(f"The parameter 'components' must be true or false. Got {self.components!r}.")
        rows, part = votes.comparisons, votes.graph.part
        net_share = (rows.wins - rows.losses) / (rows.wins + rows.losses)
        potential = net_gains(rows, net_share)
        group = part.astype(np.int64)
        if self.components:
            own = components(net_gains(rows, majority(rows)).astype(np.int64), votes.nodes.query)
            group = group * len(part) + own
        place = _places(rows, net_share, potential, group)
        score = np.empty(rows.nodes)
        for nodes in votes.graph.members():
            score[nodes] = falling_scores(potential[nodes], place[nodes])
        result = votes.spread_scores(score, ContestCovariance(rows, part, 4 * share_variance(rows)))
        least = np.minimum(rows.wins, rows.losses) / (rows.wins + rows.losses)
        return Outcome(
            result,
            votes.agreement(result.score),
            notes=tuple(votes.notes(regularized=False)),
            details={"cost": _cost(rows, net_share, place), "lower_bound": float(least.sum()), "pairs": len(rows)},
        )


def _places(rows: Comparisons, net_share: Floats, start: Floats, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The turn in which each item is taken. Groups come in the order of their numbers."""
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
                among = _potential_among(flow, first)
                first = first[among >= among.max() - EQUAL]
            place[first], taken = taken, taken + 1
            for node in first:
                own = slice(flow.indptr[node], flow.indptr[node + 1])
                potential[flow.indices[own]] += flow.data[own]
            potential[first] = -np.inf
            left = left[potential[left] > -np.inf]
    return place


def _largest(nodes: NDArray[np.int64], values: Floats) -> NDArray[np.int64]:
    """The nodes that have the largest value."""
    if len(nodes) == 1:
        return nodes
    own = values[nodes]
    return nodes[own >= own.max() - EQUAL]


def _potential_among(flow: Any, nodes: NDArray[np.int64]) -> Floats:
    """The potential of each of these nodes among these nodes alone."""
    chosen = np.zeros(flow.shape[0], bool)
    chosen[nodes] = True
    rows = [slice(flow.indptr[node], flow.indptr[node + 1]) for node in nodes]
    return np.array([flow.data[own] @ chosen[flow.indices[own]] for own in rows])


def _cost(rows: Comparisons, net_share: Floats, place: NDArray[np.int64]) -> float:
    """The sum over the judged pairs of the share of votes against the order; 1/2 for a tied pair."""
    ahead = np.sign(place[rows.j] - place[rows.i])
    return float(((1 - ahead * net_share) / 2).sum())
