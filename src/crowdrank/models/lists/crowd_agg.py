"""CrowdAgg: the ranking against which the workers' own lists score best (Niu et al., CIKM 2015).

Worker i's judgments make the rank r_ij of every item j a random variable: the number of contests that j loses,
each won with probability eta_i P + (1 - eta_i)(1 - P) (eq. 9; for P see judge_contests.py, for the distribution
kernels/rank_distribution.py). The ranking pi to find is taken as the truth, in which rank r, from 0, has the
label kappa(r) = (n - r) / n. Every worker's list is measured against it (eq. 13 and 14):

    L(eta, pi) = sum_i sum_j h(pi(j)) f_ij,                     f_ij = E D(r_ij)

    nDCG:  h(r) = (2^kappa(r) - 1) / DCG_max,    D(r) = 1 / log2(2 + r)
    RBP:   h(r) = (1 - p) kappa(r),              D(r) = p^r

For a given eta the best pi sorts the items by F_j = sum_i f_ij, largest first, because h falls with the rank
(the rearrangement inequality; algorithm 3). For a given pi, equation 17 has as eta_i the share of i's votes that
agree with it (half a vote if F is tied). But a worker who judged much agrees with a ranking that is mostly the
worker's own, and the thousands of pairs of one list of labels are no thousands of independent votes. So we count
the votes that agree with the ranking by the others, F_j - f_ij, as the number N_i of independent votes with the
same variance (``ExpectedLists.independent_votes``), and shrink their share by a Beta(a, b) prior,

    eta_i = (a + N_i share of agreeing votes) / (a + b + N_i),

over all queries together, or separately in each query (``pool``). So few votes leave all workers near a / (a + b),
which is equality. The prior may also be the crowd's own ("estimated"): its mean is that of the workers' shares, at
least 0.6, and a + b = m (1 - m) / tau^2 - 1, at least 10, with m the share of all votes, and tau^2 the variance of
the shares beyond that of N_i tosses (Paule and Mandel 1982). If tau = 0, all have the same eta. Without a prior
(None), eta_i is that of equation 17.

The ranking step never lowers L; the eta step may. The search begins at eta = 1 and ends when the qualities repeat
(by equation 17, the ranking). If they repeat those just before, they are the answer; if they repeat earlier ones,
the answer is the round of the cycle with the largest L. eta_i is a step function of the ranking, so in large
crowds the qualities may go on changing in the fourth digit for hundreds of rounds. If they stayed within 0.001 for
30 rounds, the answer is the round among these with the largest L, and a note says so.

Qualities may refine the ranking of equal workers, but not overturn it (equality.py): then all count the same.

Scores. An item that a worker left alone has f = E_0 D, by fair coins. The score is the mean over the query's
workers of a_ij = (f_ij - f of such an item) / E_0 D. So an item that nobody judged has score 0, and the order is
that of F. The variance is that between workers, with one extra worker who says nothing and one extra vote that is
a coin toss, v = ((D of a win - D of a loss) / 2 E_0 D)^2. With m workers, and b the mean of a over the m + 1:

    cov(j, k) = (sum_i (a_ij - b_j)(a_ik - b_k) + b_j b_k + v [j = k]) / m^2
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, summed
from crowdrank.errors import Note, UsageError
from crowdrank.models.agreement import quality_notes, variance_between
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.lists.equality import overturned_queries
from crowdrank.models.lists.expected import NDCG, RBP, ExpectedLists, ExpectedMeasure, ListValues
from crowdrank.models.lists.judge_contests import PAIRS, JudgeContests
from crowdrank.models.lists.search_notes import alike_note, calm_note, cycle_note, overturned_note, unfinished_note
from crowdrank.models.parameters import number
from crowdrank.prepared.votes import Votes
from crowdrank.results import LEVEL, Workers, verdicts
from crowdrank.solve import Covariance, Spread, spread

ROUNDS = 500
DIGITS = 12
"""Qualities repeat if they are equal to this many digits."""
CALM_ROUNDS, CALM_BAND = 30, 1e-3
"""The search also ends if no quality left a band of this width for so many rounds."""
QUALITIES = ("estimated", "equal")
LEAST_MEAN, LEAST_STRENGTH = 0.6, 10.0
"""The crowd's prior has at least this mean, so that a crowd that hardly agrees is not reversed, and this a + b."""
Prior = tuple[float, float] | str | None


# -------------------------------------------------------------------------------------- the model


class CrowdAgg(VotesModel):
    """The ranking against which the workers' own lists score best; a subclass gives the measure."""

    needs_workers = True
    needs_every_pair = True

    pair: str
    quality: str
    prior: Prior
    pool: bool

    @abstractmethod
    def _measure(self, most: dict[int, int]) -> ExpectedMeasure:
        """The measure; ``most``: for each number of items, the largest number of contests of a cell."""

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        for name, value, choices in (("pair", self.pair, PAIRS), ("quality", self.quality, QUALITIES)):
            if not isinstance(value, str) or value not in choices:
                raise UsageError(f"The parameter {name!r} must be {' or '.join(choices)}. Got {value!r}.")
        if not isinstance(self.pool, bool):
            raise UsageError(f"The parameter 'pool' must be true or false. Got {self.pool!r}.")
        equal, prior = self.quality == "equal", _beta_prior(self.prior)
        contests = JudgeContests.of(votes, self.pair, pool=self.pool)
        lists = ExpectedLists(contests, self._measure(most_contests(contests, votes)), votes)
        found = search(lists, prior, pool=self.pool, limit=1 if equal else ROUNDS, run=run)
        same = np.zeros(len(lists.sizes), bool)
        if prior is not None and not equal:
            same = overturned_queries(lists, found.eta, pool=self.pool)
        eta, alike = np.where(same[contests.query], 1.0, found.eta), equal or bool(same.all())
        own = lists.values(eta)
        objective = float(lists.objective(own, lists.ranks(own)).sum())
        return Outcome(
            spread=_score_spread(votes, lists, own),
            workers=_workers(
                votes,
                lists,
                own,
                (0.0, 0.0) if alike and prior else prior,
                eta if self.pool and not alike else None,
            ),
            converged=alike or found.converged,
            iterations=found.rounds,
            notes=(
                *votes.notes(regularized=False),
                *quality_notes(votes, 1.0),
                *overturned_note(same, pool=self.pool),
                *([] if alike else found.notes),
                *(alike_note(eta, votes.n_workers) if prior == "estimated" and not alike else ()),
            ),
            details={"objective": objective, "objectives": found.path, "cycle": found.cycle},
        )


class CrowdAggNDCG(CrowdAgg):
    """CrowdAgg for nDCG: the ranking against which the workers' lists have the largest expected nDCG.

        max over pi, eta  sum_i sum_j h(pi(j)) E D(r_ij)
        h(r) = (2^((n - r) / n) - 1) / DCG_max,    D(r) = 1 / log2(2 + r)

    r_ij is the rank, from 0, that worker i gives item j: a random variable that depends on the quality eta_i.
    Niu et al. 2015, eq. 9, 13, 14 and 17.

    ``pair``: how a judgment becomes a probability, ``direct``, ``logistic``, ``centred`` or ``printed``.
    ``quality``: ``estimated`` for each worker, or ``equal``. ``prior``: Beta(a, b) on each quality, which is the
    share of independent votes that agree with the others; ``estimated``: a and b follow from how much the workers
    differ; None is equation 17 as printed, by all votes and the ranking by all. ``pool``: whether a worker has one
    quality in all queries, or one in each.

    >>> import crowdrank as cr
    >>> lists = {"worker": [*"uuuuvvvvwwww"], "item": [*"abcdabdcdcba"], "rank": [1, 2, 3, 4] * 3}
    >>> model = cr.CrowdAggNDCG().fit(lists)  # w ranks in reverse
    >>> model.ranking_.frame()["item"].to_list()
    ['a', 'b', 'd', 'c']
    >>> model.workers_.frame()["quality"].round(2).to_list()
    [0.78, 0.8, 0.71]
    """

    name = "crowdagg-ndcg"

    def __init__(
        self,
        *,
        pair: str = "direct",
        quality: str = "estimated",
        prior: Prior = (20.0, 5.0),
        pool: bool = True,
        seed: int = 0,
    ) -> None:
        self.pair = pair
        self.quality = quality
        self.prior = prior
        self.pool = pool
        self.seed = seed

    def _measure(self, most: dict[int, int]) -> ExpectedMeasure:
        return NDCG(most)


class CrowdAggRBP(CrowdAgg):
    """CrowdAgg for RBP: the ranking against which the workers' lists have the largest expected RBP.

        max over pi, eta  sum_i sum_j h(pi(j)) E D(r_ij),    h(r) = (1 - p) (n - r) / n,    D(r) = p^r

    Niu et al. 2015, eq. 9, 13, 14 and 17.

    ``p``: the persistence of RBP, between 0 and 1. ``pair``: how a judgment becomes a probability, ``direct``,
    ``logistic``, ``centred`` or ``printed``. ``quality``: ``estimated`` for each worker, or ``equal``. ``prior``:
    Beta(a, b) on each quality, ``estimated`` or None, as for ``CrowdAggNDCG``. ``pool``: whether a worker has one
    quality in all queries, or one in each.

    >>> import crowdrank as cr
    >>> lists = {"worker": [*"uuuuvvvvwwww"], "item": [*"abcdabcdbcda"], "rank": [1, 2, 3, 4] * 3}
    >>> for p in (0.5, 0.95):  # with 0.5 first places count most, with 0.95 the last place of a counts too
    ...     cr.CrowdAggRBP(p=p).fit(lists).ranking_.frame()["item"].to_list()
    ['a', 'b', 'c', 'd']
    ['b', 'a', 'c', 'd']
    """

    name = "crowdagg-rbp"

    def __init__(
        self,
        *,
        p: float = 0.95,
        pair: str = "direct",
        quality: str = "estimated",
        prior: Prior = (20.0, 5.0),
        pool: bool = True,
        seed: int = 0,
    ) -> None:
        self.p = p
        self.pair = pair
        self.quality = quality
        self.prior = prior
        self.pool = pool
        self.seed = seed

    def _measure(self, most: dict[int, int]) -> ExpectedMeasure:
        p = number("p", self.p, low=0, high=1)
        if p in (0.0, 1.0):
            raise UsageError(f"The parameter 'p' must be above 0 and below 1. Got {self.p!r}.")
        return RBP(p)


def _beta_prior(prior: Any) -> Prior:
    if prior is None or (isinstance(prior, str) and prior == "estimated"):
        return prior
    try:
        a, b = prior
    except (TypeError, ValueError):
        message = f"The parameter 'prior' must be two numbers, 'estimated', or None. Got {prior!r}."
        raise UsageError(message) from None
    return number("prior", a, low=0), number("prior", b, low=0)


def most_contests(contests: JudgeContests, votes: Votes) -> dict[int, int]:
    """For each number of items, the largest number of contests of a cell that are not fair coins, at least 1."""
    most = {int(n): 1 for n in np.unique(np.bincount(votes.nodes.query))}
    for cells in contests.groups if contests.fair else ():
        most |= {n: max(most[n], cells.contests) for n in np.unique(cells.size).tolist()}
    return most


# ----------------------------------------------------------------------------------- the two steps


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of the two steps: eta of each judge, L after each round, the longest cycle's length."""

    eta: Floats
    path: list[float]
    rounds: int
    cycle: int
    converged: bool
    notes: list[Note]


def search(lists: ExpectedLists, prior: Prior, *, pool: bool, limit: int, run: Run) -> SearchResult:
    """Alternate ranking and eta, from eta = 1, until each unit's qualities repeat (without a prior, its ranking).

    A unit shares its qualities: it is one query, or all queries.
    """
    judges = len(lists.contests.worker)
    unit, judge_unit = (own.astype(np.int64) * (not pool) for own in (lists.query, lists.contests.query))
    of = lists.contests.worker if pool else np.arange(judges)
    units, size = int(unit.max()) + 1, lists.workers if pool else judges
    eta, etas, objectives = np.ones(judges), [], []
    seen: list[dict[bytes, int]] = [{} for _ in range(units)]
    first, last, calm = np.full(units, -1), np.full(units, -1), np.zeros(units, bool)
    for turn in range(limit):
        values = lists.values(eta)
        own = lists.objective(values, lists.ranks(values))
        etas.append(eta)
        objectives.append(np.array([own.sum()]) if pool else own)
        state, whose = (values.level, unit) if prior is None else (np.round(eta, DIGITS), judge_unit)
        for place in np.flatnonzero(last < 0):
            key = (state if pool else state[whose == place]).tobytes()
            if key in seen[place]:
                first[place], last[place] = seen[place][key], turn
            seen[place][key] = turn
        now = (last < 0) & _calm_units(etas, judge_unit, units)
        first[now], last[now], calm = turn - CALM_ROUNDS, turn, calm | now
        if run.progress is not None:
            run.progress(turn + 1, float(own.sum()), float((last < 0).mean()))
        if (last >= 0).all():
            break
        eta = shrink(*agreement(lists, values, prior, of, size), prior, None if pool else judge_unit)[of]
    length = np.where(last >= 0, last - first, 0)
    path = np.array(objectives)
    chosen = np.array([_turn_to_keep(path[:, place], first[place], last[place]) for place in range(units)])
    cycles, longest = int(((length > 1) & ~calm).sum()), int((length * ~calm).max())
    return SearchResult(
        eta=np.array(etas)[chosen[judge_unit], np.arange(judges)],
        path=path.sum(axis=1).tolist(),
        rounds=len(path),
        cycle=longest if cycles else 0,
        converged=bool((last >= 0).all()),
        notes=[
            *cycle_note(cycles, units, longest),
            *calm_note(int(calm.sum()), units, CALM_BAND, CALM_ROUNDS),
            *unfinished_note(int((last < 0).sum()), len(path)),
        ],
    )


def _calm_units(etas: list[Floats], judge_unit: Integers, units: int) -> NDArray[np.bool_]:
    """Whether all qualities of each unit stayed within a narrow band in the last rounds."""
    if len(etas) <= CALM_ROUNDS:
        return np.zeros(units, bool)
    moved = np.ptp(etas[-CALM_ROUNDS:], axis=0) > CALM_BAND
    return np.bincount(judge_unit[moved], minlength=units) == 0


def agreement(
    lists: ExpectedLists, values: ListValues, prior: Prior, of: Integers, size: int
) -> tuple[Floats, Floats]:
    """The agreeing and all votes of each of ``size`` judges or workers: independent votes and the order of the
    others, or, without a prior, all votes and the order of all (eq. 17)."""
    if prior is None:
        return lists.agreeing_votes(values.level, of, size)
    return lists.agreement_with_others(values, of, size)


def shrink(right: Floats, count: Floats, prior: Prior, unit: Integers | None = None) -> Floats:
    """(a + right) / (a + b + count); 1/2 if there are neither votes nor a prior.

    ``unit``: judges of the same unit share the crowd's prior; all if None.
    """
    if prior == "estimated":
        eta = np.empty(len(right))
        for own in [slice(None)] if unit is None else [unit == place for place in np.unique(unit)]:
            mean, strength = crowd_prior(right[own], count[own])
            share = right[own] / np.maximum(count[own], 1e-300)
            eta[own] = mean + count[own] / (strength + count[own]) * (share - mean)
        return eta
    a, b = prior if isinstance(prior, tuple) else (0.0, 0.0)
    total = a + b + count
    return np.where(total > 0, (a + right) / np.where(total > 0, total, 1.0), 0.5)


def crowd_prior(right: Floats, count: Floats) -> tuple[float, float]:
    """The mean and the strength a + b of the Beta prior that the crowd's own shares show; the strength is infinite
    if they vary by no more than tosses do."""
    known = count > 0
    if not known.any():
        return LEAST_MEAN, np.inf
    middle = float(right.sum() / count.sum())
    spread = max(middle * (1.0 - middle), 1.0 / (4.0 + float(count.sum())))
    between, mean = variance_between(right[known] / count[known], spread / count[known])
    strength = max(spread / between - 1.0, LEAST_STRENGTH) if between > 0.0 else np.inf
    return max(mean, LEAST_MEAN), strength


def _turn_to_keep(path: Floats, first: int, last: int) -> int:
    """The turn to keep: the last one, or the one with the largest L within the cycle."""
    if last - first <= 1:
        return len(path) - 1 if last < 0 else int(last)
    own = path[first + 1 : last + 1]
    return int(first) + 1 + int(np.argmax(own >= own.max() - 1e-12 * abs(own.max())))


# ---------------------------------------------------------------------------------------- results


class BetweenWorkers(Covariance):
    """The covariance of the mean over workers, from how much they differ (the module's last equation)."""

    a: Any
    m: NDArray[Any]
    v: NDArray[Any]
    squares: Floats
    total: Floats

    pairwise_limit = 2000

    def __init__(self, lists: ExpectedLists, values: ListValues) -> None:
        from scipy.sparse import csc_array

        judge, node = lists.contests.cell_judge, lists.contests.cell_node
        shape = (len(lists.contests.worker), len(lists.query))
        self.a = csc_array((values.cells, (judge, node)), shape=shape)
        self.m = np.maximum(lists.judges, 1)[lists.query].astype(float)
        self.v = np.array([lists.measure.toss(int(n)) ** 2 for n in lists.sizes])[lists.query]
        self.squares = summed(node, values.cells**2, shape[1])
        self.total = values.total

    def block(self, nodes: Integers) -> Floats:
        """The covariance of the items of one query."""
        a, m, total = self.a[:, nodes], self.m[nodes[0]], self.total[nodes]
        products = (a.T @ a).toarray() - np.outer(total, total) / (m + 1.0)
        return np.asarray((products + np.diag(self.v[nodes])) / m**2)

    def variance(self, nodes: Integers) -> Floats:
        """The diagonal alone: in a query with many items their mean varies little."""
        m = self.m[nodes]
        between = self.squares[nodes] - self.total[nodes] ** 2 / (m + 1.0)  # below 0 by rounding alone
        return np.asarray((np.maximum(between, 0.0) + self.v[nodes]) / m**2)


def _score_spread(votes: Votes, lists: ExpectedLists, values: ListValues) -> Spread:
    score = values.total / np.maximum(lists.judges, 1)[lists.query]
    covariance = BetweenWorkers(lists, values)
    graph = votes.graph
    placed = spread(
        score, covariance, lists.query, graph.members(), level=LEVEL, tie_break=graph.wins, centered=False
    )
    stderr = np.sqrt(covariance.variance(np.arange(len(score))))
    return placed.with_scores(score, stderr)


def _workers(votes: Votes, lists: ExpectedLists, values: ListValues, prior: Prior, eta: Floats | None) -> Workers:
    """Quality is the ``eta`` that made the ranking or, if a worker has one in each query, eta at that ranking.

    The interval is Jeffreys', from the worker's own votes alone, so that nobody is called reliable because of the
    prior.
    """
    from scipy.special import betaincinv

    right, count = agreement(lists, values, prior, lists.contests.worker, lists.workers)
    quality = shrink(right, count, prior)
    if eta is not None:
        quality[lists.contests.worker] = eta
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    low, high = (np.asarray(betaincinv(right + 0.5, count - right + 0.5, tail), float) for tail in tails)
    low, high = np.minimum(low, quality), np.maximum(high, quality)
    assert votes.pairs.index.workers is not None
    return Workers(
        worker=votes.pairs.index.workers,
        judgments=votes.judgments_of_workers,
        quality=quality,
        low=low,
        high=high,
        verdict=verdicts(low, high),
        backend=votes.pairs.backend,
    )
