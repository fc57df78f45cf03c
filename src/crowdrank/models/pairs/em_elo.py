"""EM-Elo: the direction of each pair by EM, then Elo ratings (Bashir et al. 2013; Wu 2013).

The truly better item of a pair is unknown. Worker k names it with probability q_k, whatever the pair. This is the
model of Dawid & Skene 1979 with one accuracy for each worker. For the pair (i, j), worker k chose i a_k times and
j b_k times (a tie is half of each), and both directions are equally likely a priori. Then

    P(i better) = 1 / (1 + e^-L),        L = sum_k (a_k - b_k) ln(q_k / (1 - q_k))              (E)

With t = 2 P - 1 = tanh(L / 2), the expected number of right votes of k, and the accuracy under a prior Beta(a, b),
are

    right_k = (n_k + sum over pairs (a_k - b_k) t) / 2,
    q_k     = (right_k + a - 1) / (n_k + a + b - 2).                                            (M)

Neither step lowers the log likelihood of the votes plus the log prior,

    sum_k n_k ln(q_k (1 - q_k)) / 2 + sum over pairs ln cosh(L / 2)
        + sum_k [(a - 1) ln q_k + (b - 1) ln(1 - q_k)].

(P, q) and (1 - P, 1 - q) differ only in the prior. The one with the larger mean accuracy is reported.

The ratings. Each pair is then one game whose outcome is P. Elo's step r_i <- r_i + k (P - E) with
E = 1 / (1 + base^((r_j - r_i) / scale)) depends on the order and the number of the games. Here the ratings are the
limit of the steps when the games are repeated with ever smaller k. At that limit the steps of each item cancel:

    sum over opponents j (P_ij - E_ij) + 2 lambda (1/2 - E_i0) = 0.

The last term is lambda wins and lambda losses against an item 0 that keeps the initial rating. Without it, an item
that always wins would rise forever. The sum is the gradient of the Bradley-Terry likelihood of these games, so the
ratings are unique and do not depend on the order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats
from crowdrank.errors import Note, count_noun
from crowdrank.kernels import LOGISTIC
from crowdrank.models.agreement import TELLABLE, quality_notes
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.climb_notes import convergence_notes
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.pairs.design import PLAIN
from crowdrank.models.pairs.elo import elo_unit
from crowdrank.models.pairs.estimator import require_finite
from crowdrank.models.pairs.predict import Judged
from crowdrank.models.parameters import virtual_votes
from crowdrank.models.priors import BetaPrior
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.prepared.graph import graph
from crowdrank.prepared.votes import Votes
from crowdrank.results import LEVEL, Covariance, NormalPosterior, Workers, verdicts
from crowdrank.solve import Maximum, Scaled, Spread, until

TOLERANCE = 1e-11
ROUNDS = 2000
START = 0.75
EDGE = 1e-9  # how close an accuracy may get to 0 or 1


class EMElo(VotesModel):
    """EM-Elo: accuracies of workers and directions of pairs by EM, then Elo ratings of the directions.

        P(i better than j) = 1 / (1 + e^-L),    L = sum_k (votes of k for i - for j) ln(q_k / (1 - q_k))
        0 = sum over opponents j (P_ij - E_ij) + 2 lambda (1/2 - E_i0)
        E_ij = 1 / (1 + base^((r_j - r_i) / scale))

    q_k is the accuracy of worker k and r_i the rating of item i. Bashir et al. 2013; Dawid & Skene 1979.

    ``prior``: (a, b) of a Beta prior on each accuracy, both at least 1, or None for a flat prior; the default is
    (4, 2), as if each worker had been right three times and wrong once.
    ``regularization``: lambda, the virtual wins and losses of every item. A number, ``"estimated"`` or None for
    none of it; the default is 0.5.
    ``scale``: how many points are odds of ``base`` to 1.
    ``base``: the odds at a difference of ``scale`` points.

    >>> import crowdrank as cr
    >>> votes = [(w, i, j) for w in ("ann", "bob") for i, j in ("ab", "bc", "ac")] + [("eve", "c", "a")]
    >>> model = cr.EMElo().fit(votes)
    >>> round(model.posterior_.difference("a", "c").mean)  # 400 points are odds of 10 to 1
    388
    >>> model.workers_.frame()["quality"].round(2).to_list()
    [0.81, 0.81, 0.6]
    """

    name = "em-elo"
    needs_workers = True

    def __init__(
        self,
        *,
        prior: tuple[float, float] | None = (4.0, 2.0),
        regularization: float | str | None = 0.5,
        scale: float = 400.0,
        base: float = 10.0,
        seed: int = 0,
    ) -> None:
        self.prior = prior
        self.regularization = regularization
        self.scale = scale
        self.base = base
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        unit = elo_unit(self.scale, self.base)
        strength = virtual_votes(self.regularization)
        found = _DirectionEM(BetaPrior.parse(self.prior), votes, run).run()
        top, result, covariance, more, details = _ratings(votes, found.direction, strength, run)
        perfect = _agreement(votes, found.direction, result.score)
        return Outcome(
            spread=result.times(unit),
            workers=_workers(votes, found, perfect),
            converged=top.converged and found.converged,
            iterations=found.rounds + top.iterations,
            log_likelihood=found.log_likelihood,
            notes=(
                *votes.notes(regularized=strength != 0),
                *found.notes,
                *convergence_notes(top),
                *more,
                *quality_notes(votes, perfect),
            ),
            details={**details, "mirror": found.mirror, "perfect_quality": perfect},
            predictor=Judged.of_scores(LOGISTIC, result.score, votes.tie_share, found.quality),
            posterior=(
                None
                if covariance is None
                else NormalPosterior(Scaled(covariance, unit), "normal, exact information")
            ),
        )


@dataclass(frozen=True, eq=False)
class Accuracies:
    """The ``quality`` of each worker, q."""

    quality: Floats


@dataclass(frozen=True, eq=False)
class Directions:
    """The ``direction`` of each pair, t."""

    direction: Floats


@dataclass(frozen=True, eq=False)
class LogOdds(Stats):
    """The log odds L of the direction of each pair."""

    log_odds: Floats


@dataclass(frozen=True, eq=False)
class Rightness(Stats):
    """For each worker, the sums of (a - b) t, ``towards``, and of (a - b)^2 (1 - t^2) / 4, ``doubt``."""

    towards: Floats
    doubt: Floats


@dataclass(frozen=True, eq=False)
class DirectionSums:
    """The sums of both steps; ``pairs``: the keys of all pairs."""

    pairs: NDArray[np.int64]

    def log_odds(self, shard: Comparisons, at: Accuracies) -> LogOdds:
        """What (E) sums over one shard."""
        evidence = np.log(at.quality) - np.log1p(-at.quality)
        place = np.searchsorted(self.pairs, shard.pair)
        votes = (shard.wins - shard.losses) * evidence[shard.worker]
        return LogOdds(summed(place, votes, len(self.pairs)))

    def rightness(self, shard: Comparisons, at: Directions) -> Rightness:
        """What (M) sums over one shard."""
        assert shard.worker is not None
        direction = at.direction[np.searchsorted(self.pairs, shard.pair)]
        votes = shard.wins - shard.losses
        return Rightness(
            towards=summed(shard.worker, votes * direction, shard.workers),
            doubt=summed(shard.worker, votes**2 * (1.0 - direction**2) / 4.0, shard.workers),
        )


@dataclass(frozen=True, eq=False)
class _DirectionFit:
    """The result of EM; ``right`` and ``doubt`` are sums by worker, ``direction`` is t of each pair."""

    quality: Floats
    direction: Floats
    right: Floats
    doubt: Floats
    prior: BetaPrior
    log_likelihood: float
    rounds: int
    converged: bool
    mirror: dict[str, Any]
    notes: tuple[Note, ...]


class _DirectionEM:
    """The EM loop, and the choice between a solution and its mirror."""

    def __init__(self, prior: BetaPrior, votes: Votes, run: Run) -> None:
        self.prior, self.votes, self.progress = prior, votes, run.progress
        self.rows = votes.count_votes("worker")
        self.count = self.rows.weights
        pairs = votes.comparisons.pair
        self.session, self.sums = run.engine.open(self.rows.shards), DirectionSums(pairs)
        self.rounds = 0

    def run(self) -> _DirectionFit:
        """Climb from equal accuracies. If the mirror is better, reverse and climb again."""
        quality, converged = self._climb(np.full(self.rows.workers, START))
        flips = self._flips(quality)
        if flips.any():
            quality, converged = self._climb(np.where(flips[self.groups], 1.0 - quality, quality))
        log_odds = self._log_odds(quality)
        direction = np.tanh(0.5 * log_odds)
        sums = self.session.evaluate(self.sums.rightness, Directions(direction))
        return _DirectionFit(
            quality=quality,
            direction=direction,
            right=0.5 * (self.count + sums.towards),
            doubt=sums.doubt,
            prior=self.prior,
            log_likelihood=self._log_likelihood(quality, log_odds),
            rounds=self.rounds,
            converged=converged,
            mirror={"by": "mean quality", "turned": int(flips.sum())},
            notes=(
                *self._direction_notes(flips, quality),
                *self._bound_notes(quality),
                *self._convergence(converged),
            ),
        )

    def _climb(self, quality: Floats) -> tuple[Floats, bool]:
        quality, rounds, converged = until(self._step, quality, tol=TOLERANCE, limit=ROUNDS)
        self.rounds += rounds
        return quality, converged

    def _log_odds(self, quality: Floats) -> Floats:
        return self.session.evaluate(self.sums.log_odds, Accuracies(quality)).log_odds

    def _step(self, old: Floats) -> tuple[Floats, float]:
        """The directions (E), the sums of the workers, the accuracies (M)."""
        log_odds = self._log_odds(old)
        sums = self.session.evaluate(self.sums.rightness, Directions(np.tanh(0.5 * log_odds)))
        right = 0.5 * (self.count + sums.towards)
        a, b = self.prior.a - 1.0, self.prior.b - 1.0
        quality = np.clip((right + a) / (self.count + a + b), EDGE, 1.0 - EDGE)
        change = float(np.abs(quality - old).max(initial=0.0))
        if self.progress is not None:
            self.progress(self.rounds, self._log_likelihood(old, log_odds), change)
        return quality, change

    def _log_likelihood(self, quality: Floats, log_odds: Floats) -> float:
        half = 0.5 * np.abs(log_odds)
        cosh = half + np.log1p(np.exp(-2.0 * half)) - np.log(2.0)
        return float(0.5 * self.count @ (np.log(quality) + np.log1p(-quality)) + cosh.sum())

    @cached_property
    def groups(self) -> NDArray[np.int32]:
        """The group number of each worker. Workers who share pairs form a group; nothing relates the directions of
        different groups."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        workers, pairs = self.rows.workers, self.votes.comparisons.pair
        size = workers + len(pairs)
        people = np.concatenate([shard.worker for shard in self.rows])
        judged = np.concatenate([workers + np.searchsorted(pairs, shard.pair) for shard in self.rows])
        links = coo_array((np.ones(len(people), np.int8), (people, judged)), shape=(size, size))
        return connected_components(links, directed=False)[1][:workers]

    def _flips(self, quality: Floats) -> NDArray[np.bool_]:
        """The groups whose mean accuracy is below one half."""
        if (quality >= 0.5).all():
            return np.zeros(1, bool)
        size = int(self.groups.max()) + 1
        above = summed(self.groups, self.count * (quality - 0.5), size)
        return above < -1e-9 * summed(self.groups, self.count, size)

    def _direction_notes(self, flips: NDArray[np.bool_], quality: Floats) -> list[Note]:
        reason = "was decided by the mean quality of the workers; the votes alone do not show it."
        if flips.any():
            subject = (
                "the ranking"
                if len(np.unique(self.groups)) == 1
                else count_noun(int(flips.sum()), "group of pairs", "groups of pairs")
            )
            return [Note("mirror", f"The direction of {subject} {reason}")]
        mean = float(np.average(quality, weights=self.count))
        if mean >= 0.6:
            return []
        message = f"The mean quality of the workers is {mean:.2f}: the ranking may be reversed."
        return [Note("mirror", message)]

    def _bound_notes(self, quality: Floats) -> list[Note]:
        count = int(((quality <= EDGE) | (quality >= 1.0 - EDGE)).sum())
        if not count:
            return []
        message = (
            f"The accuracies of {count} of {len(quality)} workers reached the limit, 0 or 1 to within {EDGE:g}. "
            "A prior keeps them away from it."
        )
        return [Note("bound", message)]

    def _convergence(self, converged: bool) -> list[Note]:
        if converged:
            return []
        message = f"EM did not converge in {self.rounds} rounds. Scores and intervals are provisional."
        return [Note("not-converged", message)]


def _ratings(
    votes: Votes, direction: Floats, strength: float | None, run: Run
) -> tuple[Maximum, Spread, Covariance | None, list[Note], dict[str, Any]]:
    """The limit of Elo's steps in the unit of the logistic function. Each pair is one game."""
    games = replace(votes.comparisons, wins=0.5 * (1.0 + direction), losses=0.5 * (1.0 - direction))
    if strength == 0:
        require_finite(votes, graph(games))
    climb = PairedClimb(LOGISTIC, PLAIN, votes, run, strength=strength, games=games)
    top = climb.fit()
    covariance, notes, details = climb.uncertainty(top)
    return top, votes.spread_scores(top.point.scores, covariance), covariance, notes, details


def _agreement(votes: Votes, direction: Floats, scores: Floats) -> float:
    """How often, over the votes, a worker who is always right agrees with the order of the ratings."""
    rows = votes.comparisons
    count = rows.wins + rows.losses
    agrees = 0.5 * (1.0 + direction * np.sign(scores[rows.i] - scores[rows.j]))
    return float(count @ agrees / count.sum())


def _workers(votes: Votes, found: _DirectionFit, perfect: float) -> Workers:
    """Qualities with the intervals of a Beta posterior that counts a share of the votes.

    The information of q is n / (q (1 - q)) minus what the unknown directions hide, the sum of
    (a - b)^2 P (1 - P) / (q (1 - q))^2 (Louis 1982). The share is the ratio of this to n / (q (1 - q)).
    """
    from scipy.special import betaincinv

    quality, count, prior = found.quality, votes.judgments_of_workers, found.prior
    share = np.clip(1.0 - found.doubt / (quality * (1.0 - quality) * np.maximum(count, 1e-300)), 0.0, 1.0)
    alpha, beta = prior.a + share * found.right, prior.b + share * (count - found.right)
    low, high = (betaincinv(alpha, beta, tail) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    low, high = np.minimum(low, quality), np.maximum(high, quality)
    scale = max(2.0 * perfect - 1.0, 0.0)
    own, own_low, own_high = (0.5 + (value - 0.5) * scale for value in (quality, low, high))
    pairs = votes.pairs
    assert pairs.index.workers is not None
    return Workers(
        worker=pairs.index.workers,
        judgments=count,
        quality=own,
        low=own_low,
        high=own_high,
        verdict=verdicts(own_low, own_high, tellable=perfect > TELLABLE),
        further={"accuracy": quality, "accuracy_low": low, "accuracy_high": high},
        backend=pairs.backend,
    )
