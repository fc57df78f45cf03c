"""ListMLE on drawn orders: the same as ListMLE for one order, and derivatives by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from crowdrank.rankers.objectives import DrawnOrders, ListLikelihood, Targets
from crowdrank.rankers.objectives.drawn_orders import DrawnBlock, Draws

SIZES = (5, 3, 4, 2)
START = np.append(0, np.cumsum(SIZES))


def random_draws(count, seed=0):
    """Orders of four lists in two padded blocks, and each order as labels."""
    rng = np.random.default_rng(seed)
    orders = [[rng.permutation(size) for _ in range(count)] for size in SIZES]
    blocks = []
    for lists in ((0, 2), (1, 3)):
        n = max(SIZES[own] for own in lists)
        rows = np.stack(
            [
                [np.append(START[own] + order, np.repeat(START[own], n - SIZES[own])) for order in orders[own]]
                for own in lists
            ]
        )
        blocks.append(DrawnBlock(rows.astype(np.int32), np.stack([np.arange(n) < SIZES[own] for own in lists])))
    labels = [
        np.concatenate([-np.argsort(orders[own][draw]).astype(float) for own in range(4)]) for draw in range(count)
    ]
    return Draws(tuple(blocks)), labels


@pytest.mark.parametrize("k", [None, 1, 2, 4])
def test_is_the_mean_of_listmle(k):
    draws, labels = random_draws(3)
    scores = np.random.default_rng(1).normal(size=START[-1])
    found = DrawnOrders(k).derivatives(scores, draws, scores)
    single, weight = ListLikelihood(k), np.ones(START[-1])
    each = [single.derivatives(scores, single.plan(Targets(START, own, weight)), scores) for own in labels]
    assert found.value.sum() == pytest.approx(np.mean([own.value.sum() for own in each]), abs=1e-12)
    for part in ("gradient", "curvature"):
        np.testing.assert_allclose(
            getattr(found, part), np.mean([getattr(own, part) for own in each], axis=0), atol=1e-12
        )


@pytest.mark.parametrize("k", [None, 2])
def test_derivatives_by_finite_differences(k):
    """The curvature by columns is that of the first two draws."""
    draws, _ = random_draws(2)
    objective, step = DrawnOrders(k), 1e-5
    scores = np.random.default_rng(2).normal(size=START[-1])

    def gradient(x):
        return objective.derivatives(x, draws, x).gradient

    def value(x):
        return objective.derivatives(x, draws, x).value.sum()

    moves = step * np.eye(len(scores))
    slopes = [(value(scores + move) - value(scores - move)) / (2 * step) for move in moves]
    np.testing.assert_allclose(gradient(scores), slopes, atol=1e-8)
    bends = np.array([(gradient(scores - move) - gradient(scores + move)) / (2 * step) for move in moves])
    np.testing.assert_allclose(
        objective.curvature_times(scores, draws, scores, np.eye(len(scores))), bends, atol=1e-8
    )
    np.testing.assert_allclose(objective.derivatives(scores, draws, scores).curvature, np.diag(bends), atol=1e-8)


def test_far_scores_give_finite_derivatives():
    draws, _ = random_draws(2)
    scores = np.linspace(-2000.0, 2000.0, START[-1])
    found = DrawnOrders().derivatives(scores, draws, scores)
    assert np.isfinite(found.value).all()
    assert np.isfinite(found.gradient).all()
    assert (found.curvature >= -1e-9).all()


def test_a_pool_keeps_the_newest_draws():
    new, _ = random_draws(2, seed=5)
    old, _ = random_draws(4, seed=6)
    pooled = new.after(old, 3)
    for own, first, second in zip(pooled.blocks, new.blocks, old.blocks, strict=True):
        assert (own.rows[:, :2] == first.rows).all()
        assert (own.rows[:, 2] == second.rows[:, 0]).all()
        assert own.rows.shape[1] == 3
    assert new.after(old, 1).blocks[0].rows.shape[1] == 2, "all new draws count"
