"""EM-Elo: the direction of each pair by EM, then Elo ratings (Bashir et al. 2013; Wu 2013).

Which item of a pair is truly the better one is not known; worker k says it rightly with probability
q_k, whatever the pair. It is the model of Dawid & Skene 1979 with one accuracy for each worker. For the
pair (i, j), k having said a_k times i and b_k times j (a tie is half of either), both directions
being as likely before,

    P(i better) = 1 / (1 + e^-L),        L = sum_k (a_k - b_k) ln(q_k / (1 - q_k))              (E)

and with t = 2 P - 1 = tanh(L / 2) the expected number of right votes of k, and from it with a prior
Beta(a, b) the accuracy

    right_k = (n_k + sum over pairs (a_k - b_k) t) / 2,
    q_k     = (right_k + a - 1) / (n_k + a + b - 2).                                            (M)

Neither step lowers the log likelihood of the votes plus the log prior,

    sum_k n_k ln(q_k (1 - q_k)) / 2 + sum over pairs ln cosh(L / 2)
        + sum_k [(a - 1) ln q_k + (b - 1) ln(1 - q_k)].

(P, q) and (1 - P, 1 - q) differ in the prior alone: which of the two is reported is decided by the
larger mean accuracy.

The ratings. Each pair is then one game whose outcome is P. Elo's step r_i <- r_i + k (P - E) with
E = 1 / (1 + base^((r_j - r_i) / scale)) depends on the order of the games, and on how long one plays.
Here the ratings are where the steps come to rest, the games being played again and again with ever
smaller k: where each item is owed as much as it is given,

    sum over opponents j (P_ij - E_ij) + 2 lambda (1/2 - E_i0) = 0.

The last term is lambda wins and lambda losses against an item 0 that keeps the first rating; without it
an item that always wins would rise for ever. The sum is the gradient of the Bradley-Terry likelihood of
these games, so the ratings are unique, and no order enters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats
from crowdrank.errors import Note
from crowdrank.kernels import LOGISTIC
from crowdrank.models.agreement import TELLABLE, quality_notes
from crowdrank.models.ascent import convergence_notes
from crowdrank.models.base import Outcome, Run, VotesModel
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
EDGE = 1e-9  # how near to 0 or 1 an accuracy may come


class EMElo(VotesModel):
    """EM-Elo: accuracies of workers and directions of pairs by EM, then Elo ratings of the directions.

    ``prior``: the Beta(a, b) prior on each accuracy, a and b at least 1; (4, 2) is as if each worker had
    been right three times and wrong once. ``regularization``: lambda, the wins and losses that each item
    has against an item of the first rating. ``scale`` and ``base``: ``scale`` points are odds of
    ``base`` to 1. Equations (E) and (M) of the module (Bashir et al. 2013; Dawid & Skene 1979).
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
    """For each pair the log odds L of its direction."""

    log_odds: Floats


@dataclass(frozen=True, eq=False)
class Rightness(Stats):
    """For each worker the sums of (a - b) t, ``towards``, and of (a - b)^2 (1 - t^2) / 4, ``doubt``."""

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
    """What EM ended with; ``right`` and ``doubt`` are sums by worker, ``direction`` is t of each pair."""

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
    """The loop of EM, and the mirror."""

    def __init__(self, prior: BetaPrior, votes: Votes, run: Run) -> None:
        self.prior, self.votes, self.progress = prior, votes, run.progress
        self.rows = votes.count_votes("worker")
        self.count = self.rows.weights
        pairs = votes.comparisons.pair
        self.session, self.sums = run.engine.open(self.rows.shards), DirectionSums(pairs)
        self.rounds = 0

    def run(self) -> _DirectionFit:
        """From equal accuracies to the end; turned round and on to the end where the mirror is better."""
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
            notes=(*self._direction_notes(flips, quality), *self._convergence(converged)),
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
        """For each worker the number of the group whose members share pairs: between groups nothing
        relates the directions."""
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
        reason = "was decided by the mean quality of the workers; the votes alone do not tell it."
        if flips.any():
            subject = "the ranking" if len(np.unique(self.groups)) == 1 else f"{flips.sum()} groups of pairs"
            return [Note("mirror", f"The direction of {subject} {reason}")]
        mean = float(np.average(quality, weights=self.count))
        if mean >= 0.6:
            return []
        message = f"The mean quality of the workers is {mean:.2f}: the whole ranking may stand on its head."
        return [Note("mirror", message)]

    def _convergence(self, converged: bool) -> list[Note]:
        if converged:
            return []
        message = f"EM did not converge in {self.rounds} rounds. Scores and intervals are provisional."
        return [Note("not-converged", message)]


def _ratings(
    votes: Votes, direction: Floats, strength: float | None, run: Run
) -> tuple[Maximum, Spread, Covariance | None, list[Note], dict[str, Any]]:
    """Where Elo's steps come to rest, in the unit of the logistic function: each pair is one game."""
    games = replace(votes.comparisons, wins=0.5 * (1.0 + direction), losses=0.5 * (1.0 - direction))
    if strength == 0:
        require_finite(votes, graph(games))
    climb = PairedClimb(LOGISTIC, PLAIN, votes, run, strength=strength, games=games)
    top = climb.fit()
    covariance, notes, details = climb.uncertainty(top)
    return top, votes.spread_scores(top.point.scores, covariance), covariance, notes, details


def _agreement(votes: Votes, direction: Floats, scores: Floats) -> float:
    """How often a worker who is always right agrees with the order of the ratings, over the votes."""
    rows = votes.comparisons
    count = rows.wins + rows.losses
    agrees = 0.5 * (1.0 + direction * np.sign(scores[rows.i] - scores[rows.j]))
    return float(count @ agrees / count.sum())


def _workers(votes: Votes, found: _DirectionFit, perfect: float) -> Workers:
    """Qualities with intervals: those of a Beta posterior of as many votes as their directions are known.

    The information of q is n / (q (1 - q)) less what the unknown directions hide, the sum of
    (a - b)^2 P (1 - P) / (q (1 - q))^2 (Louis 1982): a share of the votes counts.
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
