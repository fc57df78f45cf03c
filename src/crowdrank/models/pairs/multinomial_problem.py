"""The maximum of the multinomial likelihood under a fixed mean adherence, and the inverse information there.

H is a covariance, so the blocks of the scores and of the adherences are positive definite under any prior. The
Schur complement of one block need not be. (v, theta) and (c v, theta / c) give the same votes, so the sum of the
adherences is fixed at the number of workers, in every step and in the inverse information.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.models.pairs.multinomial import Ballot, MultinomialPoint, QueryTerms, Strengths
from crowdrank.results import Covariance
from crowdrank.solve import Step
from crowdrank.solve.matrices import cholesky_of, inverse_from
from crowdrank.solve.part_blocks import draw_inverse

Nodes = NDArray[np.int64]
FEW_SCORES = 4000
"""With more scores than this, the scores are eliminated query by query instead of the workers."""


@dataclass(frozen=True, eq=False)
class MultinomialProblem:
    """The likelihood under these priors; the sum of the adherences is fixed."""

    strengths: Strengths

    def look(self, point: MultinomialPoint) -> MultinomialLook:
        """Value, gradient and curvature at a point."""
        return MultinomialLook(point, self.strengths)


@dataclass(frozen=True, eq=False)
class MultinomialLook:
    """Everything known at a point: the penalized value, its gradient and curvature."""

    point: MultinomialPoint
    strengths: Strengths

    @property
    def ballots(self) -> Sequence[Ballot]:
        """The queries."""
        return self.point.ballots

    @property
    def scores(self) -> Floats:
        """The scores of the point."""
        return self.point.scores

    @property
    def theta(self) -> Floats:
        """The adherences of the point."""
        return self.point.theta

    @property
    def parts(self) -> list[QueryTerms]:
        """The terms of each query."""
        return self.point.parts

    @property
    def log_likelihood(self) -> float:
        """The log likelihood of the votes."""
        return self.point.log_likelihood

    @cached_property
    def value(self) -> float:
        """The log likelihood plus the log priors."""
        away = self.strengths.workers * ((self.theta - 1.0) ** 2).sum()
        return float(self.log_likelihood - 0.5 * (away + self.strengths.scores * (self.scores**2).sum()))

    @cached_property
    def by_score(self) -> Floats:
        """The gradient by the scores."""
        total = -self.strengths.scores * self.scores
        for ballot, part in zip(self.ballots, self.parts, strict=True):
            total[ballot.nodes] += part.scores
        return total

    @cached_property
    def by_worker(self) -> Floats:
        """The gradient by the adherences."""
        total = -self.strengths.workers * (self.theta - 1.0)
        for ballot, part in zip(self.ballots, self.parts, strict=True):
            total[ballot.workers] += part.workers
        return total

    @cached_property
    def own(self) -> Floats:
        """The curvature of each adherence."""
        total = np.full(len(self.theta), self.strengths.workers)
        for ballot, part in zip(self.ballots, self.parts, strict=True):
            total[ballot.workers] += part.workers_curvature
        return total

    @property
    def slope(self) -> float:
        """The steepest slope that keeps the sum of the adherences."""
        free = self.by_worker - self.by_worker.mean()
        return float(max(np.abs(self.by_score).max(), np.abs(free).max()))

    def step(self, damping: float) -> Step[MultinomialPoint]:
        """The damped Newton step."""
        scores, theta = HeldInverse.of(self, damping).solve(self.by_score, self.by_worker)
        return Step(
            MultinomialPoint(self.ballots, self.scores + scores, self.theta + theta),
            size=float(max(np.abs(scores).max(), np.abs(theta).max())),
            gain=float(self.by_score @ scores + self.by_worker @ theta),
        )


class HeldInverse(Covariance):
    """The inverse information with the sum of the adherences fixed."""

    @abstractmethod
    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """The Newton step for this gradient (N,), (K,)."""

    @abstractmethod
    def score_variance(self) -> Floats:
        """Variance of each score."""

    saved: SavedMultinomial

    def with_combination(self, weights: Floats) -> tuple[Floats, float]:
        """A column of the inverse, weighted."""
        scores, workers = self.solve(np.zeros(len(self.saved.scores)), weights[:, 0])
        return scores, float(weights[:, 0] @ workers)

    def storable(self) -> SavedMultinomial:
        """The votes and the point, from which the inverse is computed again."""
        return self.saved

    @staticmethod
    def of(here: MultinomialLook, damping: float = 0.0) -> HeldInverse:
        """By the smaller of two eliminations; NotPositiveError if this is not near a maximum."""
        few = len(here.theta) >= len(here.scores) and len(here.scores) <= FEW_SCORES
        return WorkersOut(here, damping) if few else ScoresOut(here, damping)


class WorkersOut(HeldInverse):
    """S = items - coupling P coupling'; P is the inverse of the workers' diagonal with the sum fixed."""

    saved: SavedMultinomial
    inverse: Floats
    coupling: Floats
    weighted: Floats
    cholesky: tuple[Floats, bool]

    def __init__(self, here: MultinomialLook, damping: float) -> None:
        self.saved = SavedMultinomial.of(here)
        count, self.inverse = len(here.scores), 1.0 / (here.own * (1.0 + damping))
        self.coupling = np.zeros((count, len(here.theta)))
        items = np.zeros((count, count))
        items[np.diag_indices(count)] = here.strengths.scores * (1.0 + damping)
        for ballot, part in zip(here.ballots, here.parts, strict=True):
            items[np.ix_(ballot.nodes, ballot.nodes)] += part.items + damping * np.diag(part.items.diagonal())
            self.coupling[np.ix_(ballot.nodes, ballot.workers)] += part.coupling
        self.weighted = self._project(self.coupling)
        self.cholesky = cholesky_of(items - self.weighted @ self.coupling.T)

    def _project(self, rows: Floats) -> Floats:
        """Rows times P = D^-1 - D^-1 e e' D^-1 / e' D^-1 e."""
        scaled = rows * self.inverse
        share = self.inverse / self.inverse.sum()
        return np.asarray(scaled - np.multiply.outer(scaled.sum(axis=-1), share))

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """The Newton step for this gradient."""
        from scipy.linalg import cho_solve

        step = cho_solve(self.cholesky, scores - self.weighted @ workers)
        return step, self._project(workers - step @ self.coupling)

    @cached_property
    def _scores(self) -> Floats:
        return inverse_from(self.cholesky)

    def block(self, nodes: Nodes) -> Floats:
        """Covariance of the scores of these nodes."""
        return self._scores[np.ix_(nodes, nodes)]

    def score_variance(self) -> Floats:
        """Variance of each score."""
        return self._scores.diagonal()

    def worker_variance(self) -> Floats:
        """Variance of each adherence (K, 1)."""
        own = self.inverse * (1.0 - self.inverse / self.inverse.sum())
        return (own + np.einsum("nk,nk->k", self.weighted, self._scores @ self.weighted))[:, None]

    def sample(self, parts: Sequence[Nodes], count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Scores by the Cholesky factor, then adherences given the scores, with their sum fixed."""
        scores = draw_inverse(self.cholesky, count, generator).T
        noise = generator.standard_normal((count, len(self.inverse))) / np.sqrt(self.inverse)
        return scores, self._project(noise - scores @ self.coupling)[:, :, None]

    def release(self) -> None:
        """Free the memory of the inverse."""
        vars(self).pop("_scores", None)


class ScoresOut(HeldInverse):
    """T = workers - coupling' items^-1 coupling, query by query. rho e e' is added; it affects no step."""

    saved: SavedMultinomial
    ballots: Sequence[Ballot]
    prior: float
    factors: list[Any]
    weighted: list[Any]
    workers: Any

    def __init__(self, here: MultinomialLook, damping: float) -> None:
        from scipy.linalg import cho_solve

        self.saved = SavedMultinomial.of(here)
        self.ballots, self.prior = here.ballots, here.strengths.scores * (1.0 + damping)
        own = here.own * (1.0 + damping)
        schur, taken = np.diag(own), 0.0
        self.factors, self.weighted = [], []
        for ballot, part in zip(here.ballots, here.parts, strict=True):
            items = part.items + np.diag(damping * part.items.diagonal() + self.prior)
            factor = cholesky_of(items)
            weighted = cho_solve(factor, part.coupling)
            away = part.coupling.T @ weighted
            schur[np.ix_(ballot.workers, ballot.workers)] -= away
            taken += float(away.trace())
            self.factors.append(factor)
            self.weighted.append(weighted)
        schur += (own.sum() + taken) / len(own)
        whole = inverse_from(cholesky_of(schur))
        held = whole.sum(axis=1)
        self.workers = whole - np.outer(held, held) / held.sum()

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """The Newton step for this gradient."""
        from scipy.linalg import cho_solve

        rest, step = workers.copy(), scores / self.prior
        for ballot, weighted in zip(self.ballots, self.weighted, strict=True):
            rest[ballot.workers] -= weighted.T @ scores[ballot.nodes]
        own = self.workers @ rest
        for ballot, factor, weighted in zip(self.ballots, self.factors, self.weighted, strict=True):
            step[ballot.nodes] = cho_solve(factor, scores[ballot.nodes]) - weighted @ own[ballot.workers]
        return step, own

    @cached_property
    def _home(self) -> dict[int, tuple[int, int]]:
        return {
            int(node): (number, place)
            for number, ballot in enumerate(self.ballots)
            for place, node in enumerate(ballot.nodes)
        }

    def _query(self, number: int) -> Floats:
        workers = self.ballots[number].workers
        weighted = self.weighted[number]
        own = inverse_from(self.factors[number])
        return own + weighted @ self.workers[np.ix_(workers, workers)] @ weighted.T

    def block(self, nodes: Nodes) -> Floats:
        """Covariance of the scores of these nodes of one query."""
        homes = [self._home.get(int(node)) for node in nodes]
        if homes[0] is None:  # nobody judged it, so it is alone
            return np.full((1, 1), 1.0 / self.prior)
        number, place = homes[0][0], [home[1] for home in homes if home is not None]
        return self._query(number)[np.ix_(place, place)]

    def score_variance(self) -> Floats:
        """Variance of each judged score, in the order of the queries."""
        return np.concatenate([self._query(number).diagonal() for number in range(len(self.ballots))])

    def worker_variance(self) -> Floats:
        """Variance of each adherence (K, 1)."""
        return self.workers.diagonal()[:, None]

    def sample(self, parts: Sequence[Nodes], count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Adherences first, then the scores of each query given the adherences."""
        values, vectors = np.linalg.eigh(self.workers)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        workers = generator.standard_normal((count, len(root))) @ root.T
        scores = generator.standard_normal((count, len(self.saved.scores))) / np.sqrt(self.prior)
        for ballot, factor, weighted in zip(self.ballots, self.factors, self.weighted, strict=True):
            own = draw_inverse(factor, count, generator).T
            scores[:, ballot.nodes] = own - workers[:, ballot.workers] @ weighted.T
        return scores, workers[:, :, None]


@dataclass(frozen=True, eq=False)
class SavedMultinomial:
    """The votes, the point and the priors in a form that can be saved."""

    ballots: list[Ballot]
    scores: Floats
    theta: Floats
    strengths: Strengths

    @classmethod
    def of(cls, here: MultinomialLook) -> SavedMultinomial:
        """From a look, without what was computed there."""
        return cls(list(here.ballots), here.scores, here.theta, here.strengths)

    def restore(self) -> HeldInverse:
        """The inverse information at the point."""
        point = MultinomialPoint(self.ballots, self.scores, self.theta)
        return HeldInverse.of(MultinomialLook(point, self.strengths))
