"""St.Agg: ranks as random variables, and the expectation of a measure (Niu et al., UAI 2013).

Each input (a worker's votes, list or ratings) makes the rank r_ij of every item j a random variable: the number of
its contests that j loses, each won with a probability that comes from the input alone. Everything that depends on
ranks is replaced by its expectation. The answer is the ranking pi against which the inputs have the largest
expected measure,

    L(pi) = sum_i sum_j h(pi(j)) E D(r_ij),

with a falling h, so it sorts the items by sum_i E D(r_ij), largest first (the rearrangement inequality).

    ndcg    D(r) = 1 / log2(2 + r)       rbp    D(r) = p^r       rank    D(r) = 1 - r / n

with r from 0. The last is the mean rank, which is Borda's count if the lists are complete. The model is CrowdAgg
(see ``crowd_agg``) with all workers equally good, and uses the same code: contests in ``judge_contests``,
expectations in ``expected``.

What is certain from the papers: ranks are random variables, measures are replaced by expectations, and a pair's
probability depends on the relative difference of the two ranks (section 4.1.1 of CrowdAgg says so; its equation 6
has it backwards). The exact form of that probability, and which other measures St.Agg uses, are not certain.
``centred`` is the plain reading: 1/2 plus half the difference in contests won over n, which in a complete list is
the relative difference of the two ranks. ``direct``, 1 or 0 for a judged pair, did better in our tests, and is the
default.

If the judgments do not say who judged, all votes of a query are one input, and a pair is won with the share of
its votes (with ``direct``). A score is the mean over the inputs of E D(r_ij), minus that of an item that the input
does not judge, over that of an item whose contests are all fair coins. Scores are centered in each connected part.
Their variance is that between workers, as in CrowdAgg. With one input, each share varies as Beta(wins + 1/2,
losses + 1/2) does, times the slope E D(r) - E D(r + 1) of the item, over E D of the fair coins.
"""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats
from crowdrank.errors import UsageError
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import ContestCovariance, share_variance
from crowdrank.models.lists.crowd_agg import BetweenWorkers, most_contests
from crowdrank.models.lists.expected import NDCG, RBP, ExpectedLists, ExpectedMeasure
from crowdrank.models.lists.judge_contests import PAIRS, JudgeContests
from crowdrank.models.parameters import number
from crowdrank.prepared.votes import Votes
from crowdrank.solve import Covariance, Independent

MEASURES = ("ndcg", "rbp", "rank")


class StAgg(VotesModel):
    """The ranking against which the inputs have the largest expected measure (Niu et al. 2013).

        max over pi  sum_i sum_j h(pi(j)) E D(r_ij),    r_ij the rank of item j in input i, a random variable

    D(r) is 1 / log2(2 + r) for nDCG, p^r for RBP and 1 - r / n for the mean rank, and h falls with the rank.

    ``measure``: ``"ndcg"``, ``"rbp"`` or ``"rank"``, the mean rank.
    ``p``: the persistence of RBP, between 0 and 1.
    ``pair``: how a
    judgment becomes the probability of a contest, ``direct`` (the votes on the pair), ``centred`` (by the
    difference in contests won), ``logistic`` or ``printed``, as for ``crowdagg-ndcg``. Also works without workers.

    >>> import crowdrank as cr
    >>> lists = {"list": [1, 1, 1, 2, 2, 2, 3, 3, 3], "item": [*"abcbcaacb"], "rank": [1, 2, 3] * 3}
    >>> ranking = cr.StAgg().fit(lists).ranking_
    >>> dict(zip(ranking.item, ranking.score.round(2).tolist()))
    {'a': 0.13, 'b': -0.01, 'c': -0.11}
    """

    name = "st-agg"
    needs_every_pair = True

    def __init__(self, *, measure: str = "ndcg", pair: str = "direct", p: float = 0.95, seed: int = 0) -> None:
        self.measure = measure
        self.pair = pair
        self.p = p
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        for name, value, choices in (("measure", self.measure, MEASURES), ("pair", self.pair, PAIRS)):
            if value not in tuple(choices):
                raise UsageError(f"The parameter {name!r} must be {' or '.join(choices)}. Got {value!r}.")
        p = number("p", self.p, low=1e-6, high=1 - 1e-6)
        contests = JudgeContests.of(votes, self.pair, pool=True)
        most = most_contests(contests, votes)
        measure = RBP(p) if self.measure == "rbp" else NDCG(most) if self.measure == "ndcg" else MeanRank(most)
        lists = ExpectedLists(contests, measure, votes)
        everyone = np.ones(len(contests.worker))
        values = lists.values(everyone)
        covariance: Covariance
        if votes.n_workers:
            covariance = BetweenWorkers(lists, values)
        else:
            slope = _slope(lists, measure, most, everyone, votes)
            own = ContestCovariance(votes.comparisons, votes.graph.part, share_variance(votes.comparisons)).own
            covariance = Independent(slope**2 * own)
        result = votes.spread_scores(values.total / np.maximum(lists.judges, 1)[lists.query], covariance)
        return Outcome(
            result,
            votes.agreement(result.score),
            notes=tuple(votes.notes(regularized=False)),
            details={"objective": float(lists.objective(values, lists.ranks(values)).sum())},
        )


class MeanRank(NDCG):
    """D(r) = 1 - r / n, with the same gains, normalized."""

    def discounts(self, n: int) -> Floats:
        """1 - r / n."""
        return 1.0 - np.arange(n) / n

    def gains(self, n: int) -> Floats:
        """1 - r / n, over the sum of the products with the discounts."""
        gains = self.discounts(n)
        return gains / float(gains @ gains)


class DiscountSlope(NDCG):
    """D(r) - D(r + 1) of a measure instead of D: how far a lost contest moves it."""

    def __init__(self, measure: ExpectedMeasure, most: dict[int, int]) -> None:
        self.measure = measure
        super().__init__(most)

    def discounts(self, n: int) -> Floats:
        """D(r) - D(r + 1)."""
        return -np.diff(self.measure.discounts(n + 1))


def _slope(
    lists: ExpectedLists, measure: ExpectedMeasure, most: dict[int, int], everyone: Floats, votes: Votes
) -> Floats:
    """E D(r) - E D(r + 1) of each item, over E_0 D, if all votes are one input."""
    if isinstance(measure, RBP):
        return (1.0 - measure.p) * (1.0 + lists.values(everyone).total)
    slope = DiscountSlope(measure, most)
    over = np.array([slope.level(int(n)) / measure.level(int(n)) for n in lists.sizes])[lists.query]
    return over * (1.0 + ExpectedLists(lists.contests, slope, votes).values(everyone).total)
