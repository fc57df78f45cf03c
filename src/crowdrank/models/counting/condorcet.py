"""Condorcet fusion: who beats whom by majority (Montague & Aslam 2002).

The majority graph has an edge from i to j where most votes of the pair are for i, and both edges where
neither has more, or nobody judged the pair. Its strongly connected components stand in a total order: all
of one beat all of the next. The print sorts the items with the majority as the comparator, which ends in
a Hamiltonian path of this graph: the components in their order, and within one, where the majority runs
in cycles, an order that depends on how the items stood before the sort.

Here the order depends on the votes alone. Copeland's score

    c_i = pairs won by i - pairs lost by i

orders the components as every Hamiltonian path does (``components`` says why), and the items of a cycle by
how many of all items they beat; the neighbours of this order need not be an edge of the graph. Items of
equal c are ordered by their net votes, which enter the score as a fraction:

    score_i = c_i + (votes for i - votes against i) / (2 max_k votes on k),    k in i's connected part.

Where each item beats all below it in some order, this is that order. The top component is the Smith set;
where it has one item, that is the Condorcet winner.

How sure a score is: the majority of a pair with w wins and l losses is the true one with probability
q = P(p > 1/2), p ~ Beta(w + 1/2, l + 1/2); its sign then varies with 4 q (1 - q), independently over the pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.errors import Note
from crowdrank.kernels.majority import components
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import ContestCovariance, gained, majority, sign_variance
from crowdrank.prepared.votes import Votes


class Condorcet(VotesModel):
    """Pairs won minus pairs lost by majority, components of the majority graph in their order.

    The form of Condorcet fusion (Montague & Aslam 2002) that does not depend on the order of the input.
    A tie or a pair that nobody judged is no win for either. Items of equal score are ordered by their net votes,
    a fraction of the score that is never more than 1/2.
    """

    name = "condorcet"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        rows, part = votes.comparisons, votes.graph.part
        net = gained(rows, majority(rows)).astype(np.int64)
        games = votes.graph.wins + votes.graph.losses
        most = np.zeros(votes.graph.parts)
        np.maximum.at(most, part, games)
        score = net + gained(rows, rows.wins - rows.losses) / np.maximum(2 * most[part], 1e-300)
        result = votes.spread_scores(score, ContestCovariance(rows, part, sign_variance(rows)))
        smith = np.flatnonzero(components(net, votes.nodes.query) == 0)
        return Outcome(
            result,
            votes.agreement(result.score),
            notes=(*votes.notes(regularized=False), *_no_winner(votes, smith)),
            details=_details(votes, smith),
        )


def _no_winner(votes: Votes, smith: NDArray[np.int64]) -> list[Note]:
    """That no item beats all others, where it is so."""
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
