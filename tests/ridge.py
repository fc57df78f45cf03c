"""A ridge regression of pair differences for the tests of the loops: one weight vector, summed over shards."""

from dataclasses import dataclass

import numpy as np

from crowdrank.engine import LocalEngine, Stats
from crowdrank.solve import NotPositiveError, Step, newton
from crowdrank.solve.matrices import cholesky_of

VOTES, FEATURES, STRENGTH = 300, 6, 0.7


@dataclass(frozen=True)
class PairRows:
    """The features of the winner less those of the loser, one row a vote."""

    apart: np.ndarray

    def load(self):
        return self


@dataclass(frozen=True)
class Weights:
    weights: np.ndarray


@dataclass(frozen=True)
class RidgeGradient(Stats):
    value: float
    gradient: np.ndarray


@dataclass(frozen=True)
class RidgeCurvature(RidgeGradient):
    curvature: np.ndarray


class RidgeSums:
    """sum over votes of ln F(d'w), F the logistic function."""

    def gradient(self, shard, at):
        x = shard.apart @ at.weights
        return RidgeGradient(float(-np.logaddexp(0.0, -x).sum()), shard.apart.T @ (1 / (1 + np.exp(x))))

    def curvature(self, shard, at):
        found, x = self.gradient(shard, at), shard.apart @ at.weights
        bend = 1 / (1 + np.exp(x)) / (1 + np.exp(-x))
        return RidgeCurvature(found.value, found.gradient, (shard.apart * bend[:, None]).T @ shard.apart)


@dataclass(frozen=True)
class RidgeLook:
    point: np.ndarray
    value: float
    gradient: np.ndarray
    curvature: np.ndarray

    @property
    def slope(self):
        return float(np.abs(self.gradient).max())

    def step(self, damping):
        from scipy.linalg import cho_solve

        matrix = self.curvature + damping * np.diag(np.abs(self.curvature.diagonal()))
        moved = cho_solve(cholesky_of(matrix), self.gradient)
        return Step(self.point + moved, float(np.abs(moved).max()), float(self.gradient @ moved))


@dataclass(frozen=True)
class RidgeProblem:
    """The likelihood of a session's votes less strength |w|^2 / 2."""

    session: object
    strength: float

    def look(self, point):
        sums = self.session.evaluate(RidgeSums().curvature, Weights(point))
        return RidgeLook(
            point,
            sums.value - 0.5 * self.strength * float(point @ point),
            sums.gradient - self.strength * point,
            sums.curvature + self.strength * np.eye(len(point)),
        )

    def objective(self, weights):
        sums = self.session.evaluate(RidgeSums().gradient, Weights(weights))
        value = sums.value - 0.5 * self.strength * float(weights @ weights)
        return value, sums.gradient - self.strength * weights


def rows(seed=0):
    rng = np.random.default_rng(seed)
    apart = rng.normal(size=(VOTES, FEATURES))
    truth = np.linspace(-1.5, 1.5, FEATURES)
    wins = rng.random(VOTES) < 1 / (1 + np.exp(-apart @ truth))
    return np.where(wins[:, None], apart, -apart)


def problem(shard_rows=VOTES, threads=1, seed=0):
    apart = rows(seed)
    shards = [PairRows(apart[start : start + shard_rows]) for start in range(0, VOTES, shard_rows)]
    return RidgeProblem(LocalEngine(threads).open(shards), STRENGTH)


def climb(given, **more):
    return newton(given, np.zeros(FEATURES), total_weight=VOTES, **more)


@dataclass(frozen=True)
class SaddleLook:
    """-(x^2 - 1)^2: its curvature 12 x^2 - 4 is that of a maximum only away from 0."""

    x: float

    @property
    def value(self):
        return -((self.x**2 - 1) ** 2)

    @property
    def gradient(self):
        return -4 * self.x * (self.x**2 - 1)

    @property
    def slope(self):
        return abs(self.gradient)

    def step(self, damping):
        bend = 12 * self.x**2 - 4
        bend += damping * abs(bend)
        if bend <= 1e-9:
            raise NotPositiveError
        moved = self.gradient / bend
        return Step(self.x + moved, abs(moved), self.gradient * moved)


class SaddleProblem:
    look = staticmethod(SaddleLook)
