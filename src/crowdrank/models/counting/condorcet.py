"""Condorcet fusion: who beats whom by majority (Montague & Aslam 2002).

The majority graph has an edge from i to j if most votes on the pair are for i, and both edges if neither has
more, or nobody judged the pair. Its strongly connected components have a total order: all items of one beat all
items of the next. The paper sorts the items with the majority as the comparator. The result is a Hamiltonian path
of this graph: the components come in their order, but within a component, in which the majority runs in cycles,
the order depends on the order of the items before the sort.

Here the order depends on the votes alone. Copeland's score

    c_i = pairs won by i - pairs lost by i

orders the components as every Hamiltonian path does (``components`` says why), and the items of a cycle by
how many of all items they beat. Neighbors in this order need not share an edge of the graph. Items of
equal c are ordered by their net votes, which enter the score as a fraction:

    score_i = c_i + (votes for i - votes against i) / (2 max_k votes on k),    k in i's connected part.

If there is an order in which each item beats all items below it, this is that order. The top component is the
Smith set. If it has one item, that item is the Condorcet winner.

Uncertainty: the majority of a pair with w wins and l losses is the true one with probability q = P(p > 1/2),
p ~ Beta(w + 1/2, l + 1/2). Its sign then has the variance 4 q (1 - q), independently over the pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.errors import Note
from crowdrank.kernels.majority import components
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import ContestCovariance, majority, net_gains, sign_variance
from crowdrank.prepared.votes import Votes


class Condorcet(VotesModel):
    """Pairs won minus pairs lost by majority, with the components of the majority graph in their order.

    This form of Condorcet fusion (Montague & Aslam 2002) does not depend on the order of the input. A tie or a
    pair that nobody judged is a win for neither. Among items with equally many net wins the order is that of
    their net votes, which add a fraction of at most 1/2 to the score.
    """

    name = "condorcet"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        rows, part = votes.comparisons, votes.graph.part
        net = net_gains(rows, majority(rows)).astype(np.int64)
        games = votes.graph.wins + votes.graph.losses
        most = np.zeros(votes.graph.parts)
        np.maximum.at(most, part, games)
        score = net + net_gains(rows, rows.wins - rows.losses) / np.maximum(2 * most[part], 1e-300)
        result = votes.spread_scores(score, ContestCovariance(rows, part, sign_variance(rows)))
        smith = np.flatnonzero(components(net, votes.nodes.query) == 0)
        return Outcome(
            result,
            votes.agreement(result.score),
            notes=(*votes.notes(regularized=False), *_no_winner_notes(votes, smith)),
            details=_details(votes, smith),
        )


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
