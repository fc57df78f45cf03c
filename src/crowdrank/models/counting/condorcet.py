"""Condorcet fusion: who beats whom by majority (Montague & Aslam 2002).

The majority graph has an edge from i to j if most votes on the pair are for i, and both edges if neither has
more, or nobody judged the pair. Its strongly connected components have a total order: all items of one beat all
items of the next. The paper sorts the items with the majority as the comparator. The result is a Hamiltonian path
of this graph: no item is beaten by the one right below it. The components come in their order, but within a
component, in which the majority runs in cycles, the path depends on the order of the items before the sort.

``order="copeland"`` needs no order before it. Copeland's score

    c_i = pairs won by i - pairs lost by i

orders the components as every Hamiltonian path does (``components`` says why), and the items of a cycle by
how many of all items they beat. Neighbors in this order need not share an edge of the graph. Items of
equal c are ordered by their net votes, which enter the score as a fraction:

    score_i = c_i + (votes for i - votes against i) / (2 max_k votes on k),    k in i's connected part.

``order="majority-sort"`` is the paper's sort, from this order: the items are inserted from the best score on, and
each rises while it beats the item above. The paper does not say in which order it begins. Items of equal score
begin in the order of their net wins against each other. Items that are equal in this too are inserted as one, by
the sum of their majorities, and end tied. So names decide nothing, but one member of a tied group may be beaten by
the item below. The scores are those above, made to fall along the path (``falling_scores``).

If there is an order in which each item beats all items below it, both give that order. The top component is the
Smith set. If it has one item, that item is the Condorcet winner.

Uncertainty: the majority of a pair with w wins and l losses is the true one with probability q = P(p > 1/2),
p ~ Beta(w + 1/2, l + 1/2). Its sign then has the variance 4 q (1 - q), independently over the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import Note, UsageError
from crowdrank.kernels.majority import components
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import (
    ContestCovariance,
    falling_scores,
    majority,
    net_gains,
    sign_variance,
)
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.prepared.votes import Votes

ORDERS = ("copeland", "majority-sort")


class Condorcet(VotesModel):
    """Pairs won minus pairs lost by majority, with the components of the majority graph in their order.

        score_i = pairs won by i - pairs lost by i + (votes for i - votes against i) / (2 max_k votes on k)

    A tie or a pair that nobody judged is a win for neither. Among items with equally many net wins the order is
    that of their net votes, which add a fraction of at most 1/2 to the score. Montague & Aslam 2002.

    ``order``: ``"copeland"`` ranks by this score; ``"majority-sort"`` sorts the items by majority from this order
    on, as in the paper, so that no item is beaten by the one right below it.

    >>> import crowdrank as cr
    >>> votes = [("a", "b")] * 2 + [("b", "a")] + [("a", "c")] * 2 + [("c", "a")] + [("b", "c")] * 9
    >>> for model in (cr.Condorcet(), cr.WinRate()):  # a beats everyone by majority, b only wins more often
    ...     model.fit(votes).ranking_.frame()["item"].to_list()
    ['a', 'b', 'c']
    ['b', 'a', 'c']
    """

    name = "condorcet"
    needs_every_pair = True

    def __init__(self, *, order: str = "copeland", seed: int = 0) -> None:
        self.order = order
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        if self.order not in ORDERS:
            raise UsageError(f"The parameter 'order' must be one of {', '.join(ORDERS)}. Got {self.order!r}.")
        rows, part = votes.comparisons, votes.graph.part
        net = net_gains(rows, majority(rows)).astype(np.int64)
        games = votes.graph.wins + votes.graph.losses
        most = np.zeros(votes.graph.parts)
        np.maximum.at(most, part, games)
        score = net + net_gains(rows, rows.wins - rows.losses) / np.maximum(2 * most[part], 1e-300)
        if self.order == "majority-sort":
            score = _sorted_scores(votes, score)
        result = votes.spread_scores(score, ContestCovariance(rows, part, sign_variance(rows)))
        smith = np.flatnonzero(components(net, votes.nodes.query) == 0)
        return Outcome(
            result,
            votes.agreement(result.score),
            notes=(*votes.notes(regularized=False), *_no_winner_notes(votes, smith)),
            details=_details(votes, smith),
        )


def _sorted_scores(votes: Votes, score: Floats) -> Floats:
    """The scores, made to fall along the path that the majority sort finds in each connected part."""
    rows = votes.comparisons
    group = _starting_groups(rows, score, votes.graph.part)
    decided = dict(zip(rows.pair.tolist(), majority(rows).tolist(), strict=True))

    def lead(upper: list[int], lower: list[int]) -> int:
        """How many more pairs these win than lose against those."""
        return sum(
            decided.get(a * rows.nodes + b, 0) - decided.get(b * rows.nodes + a, 0) for a in upper for b in lower
        )

    found, place = np.empty(len(score)), np.empty(len(score), np.int64)
    for nodes in votes.graph.members():
        order = nodes[np.argsort(group[nodes], kind="stable")]
        blocks = [block.tolist() for block in np.split(order, np.flatnonzero(np.diff(group[order])) + 1)]
        for number, block in enumerate(_insert(blocks, lead)):
            place[block] = number
        found[nodes] = falling_scores(score[nodes], place[nodes])
    return found


def _starting_groups(rows: Comparisons, score: Floats, part: NDArray[np.int32]) -> NDArray[np.int64]:
    """The place of each item of a part before the sort: by score, then by net wins among items of equal score.

    Items with the same number begin together.
    """
    group = np.unique(np.stack([part, np.round(-score, 9)]), axis=1, return_inverse=True)[1]
    among = rows.take(group[rows.i] == group[rows.j])
    own = net_gains(among, majority(among))
    return np.asarray(np.unique(np.stack([group, -own]), axis=1, return_inverse=True)[1])


def _insert(blocks: list[list[int]], lead: Callable[[list[int], list[int]], int]) -> list[list[int]]:
    """The blocks sorted by insertion: each rises while it beats the one above."""
    path: list[list[int]] = []
    for block in blocks:
        place = len(path)
        while place and lead(block, path[place - 1]) > 0:
            place -= 1
        path.insert(place, block)
    return path


def _no_winner_notes(votes: Votes, smith: NDArray[np.int64]) -> list[Note]:
    """A note if no item beats all others."""
    sizes = np.bincount(votes.nodes.query[smith])
    without = int((sizes > 1).sum())
    if not without:
        return []
    if len(sizes) > 1:
        message = f"In {without} of {len(sizes)} queries no item beats every other by majority."
    else:
        message = (
            "No item beats every other by majority. The smallest group that beats all outside it (Smith set) "
            f"has {len(smith)} items: {votes.item_names(smith)}."
        )
    return [Note("no-winner", f"{message} A pair that nobody judged counts as a tie.")]


def _details(votes: Votes, smith: NDArray[np.int64]) -> dict[str, Any]:
    """How many queries have a Condorcet winner, and how large the Smith sets are."""
    sizes = np.bincount(votes.nodes.query[smith])
    known = {
        "queries": len(sizes),
        "condorcet_winners": int((sizes == 1).sum()),
        "largest_smith_set": int(sizes.max()),
        "mean_smith_set": float(sizes.mean()),
    }
    if len(sizes) > 1:
        return known
    return {**known, "condorcet_winner": votes.item_names(smith) if len(smith) == 1 else None}
