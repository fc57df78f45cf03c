"""The best pair, found without looking at every pair, against looking at every pair."""

import numpy as np
import pytest

from crowdrank.kernels.pair_keys import pair_key
from crowdrank.select.boxes import Boxes, Judge, Taken, counts
from crowdrank.select.gains import KINDS, eq10_gain, information_gain, joint_gain, judge_gain, pair_gain

JUDGES = ((10.0, 1.0), (4.0, 1.5), (1.0, 3.0), (200.0, 1.0), (0.3, 2.0), (5.0, 5.0))


def random_state(rng):
    count = int(rng.integers(2, 50))
    mean = rng.normal(0, rng.choice([0.1, 1, 4]), count)
    variance = rng.uniform(0, rng.choice([0.5, 4, 25]), count) + 1e-6
    if rng.random() < 0.2:
        mean[:], variance[:] = 0.0, 1.0
    boxes = Boxes(
        mean,
        variance,
        weight=rng.random(count) if rng.random() < 0.3 else None,
        group=rng.integers(0, 3, count) if rng.random() < 0.3 else None,
        apart=rng.integers(0, 3, (count, 2)) if rng.random() < 0.3 else None,
        floor=rng.choice([0.0, 0.0, 0.5]),
        by_variance=rng.random() < 0.7,
        generator=rng,
    )
    for _ in range(rng.integers(0, 6)):  # answers came in since the tree was sorted
        boxes.move(int(rng.integers(count)), rng.normal(), rng.uniform(0, 4), rng.uniform(0, 2))
    keys = pair_key(*rng.integers(0, count, (2, 40)))
    leases, own = np.unique(keys[:20]), np.unique(keys[20:])
    taken = Taken(leases, own) if rng.random() < 0.6 else Taken()
    blocked = rng.random(count) < 0.2 if rng.random() < 0.4 else None
    return boxes, taken, blocked


def best_of_all(boxes, kind, judge, gamma, taken, blocked):
    i, j = np.triu_indices(len(boxes), 1)
    gains = pair_gain(
        kind, boxes.mean[i] - boxes.mean[j], boxes.variance[i], boxes.variance[j],
        np.maximum(boxes.weight[i], boxes.weight[j]), *judge, gamma if counts(judge, gamma) else 0.0,
    )  # fmt: skip
    fine = (boxes.group[i] == boxes.group[j]) & ~np.isin(pair_key(i, j), np.concatenate(taken))
    fine &= (boxes.apart[i] != boxes.apart[j]).all(axis=1)
    fine &= (boxes.mean[i] - boxes.mean[j]) ** 2 + boxes.variance[i] + boxes.variance[j] >= boxes.floor**2
    if blocked is not None:
        fine &= ~blocked[i] & ~blocked[j]
    return gains[fine].max() if fine.any() else -np.inf


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_pair_is_that_of_brute_force(kind, monkeypatch):
    """Variances to 25, leases, caps, exclusions, groups, a floor, weights, items that moved."""
    compare_with_brute_force(kind, 150, list(KINDS).index(kind), monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_pair_in_a_thousand_states(kind, monkeypatch):
    compare_with_brute_force(kind, 1000, 10 + list(KINDS).index(kind), monkeypatch)


def compare_with_brute_force(kind, states, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    for number in range(states):
        boxes, taken, blocked = random_state(rng)
        judge = Judge(rng.choice([1.0, 0.5, 2.0]), *JUDGES[rng.integers(len(JUDGES))])
        gamma = float(rng.choice([0, 1, 5, 10]))
        asked = (KINDS[kind], judge, gamma, taken, blocked)
        best = best_of_all(boxes, *asked)
        if number % 10 == 0:
            monkeypatch.setattr("crowdrank.select.boxes.FEW", 0)  # item by item
        else:
            monkeypatch.undo()
        for found in (look(*asked) for look in (boxes.best, boxes.scan)):
            assert found.gain == best or found.gain == pytest.approx(best, abs=1e-12)
            assert (found.left >= 0) == np.isfinite(best)
        assert best <= boxes.bound(KINDS[kind], judge, gamma) + 1e-12


def test_a_search_for_more_than_the_best_finds_nothing():
    boxes = Boxes(np.zeros(20), np.ones(20))
    best = boxes.best(0, Judge(), 0.0, Taken())
    for look in (boxes.best, boxes.scan):
        assert look(0, Judge(), 0.0, Taken(), None, best.gain).left == -1


def test_the_search_looks_at_few_pairs():
    rng = np.random.default_rng(3)
    boxes = Boxes(rng.normal(0, 1.5, 5000), 1 / (1 + 0.2 * rng.poisson(8, 5000)))
    for kind in ("gain", "joint", "information"):
        assert boxes.best(KINDS[kind], Judge(1.0, 10.0, 1.0), 1.0, Taken()).looked < 0.001 * 5000**2 / 2


def test_the_bounds_rest_on_gains_that_fall_in_t_and_rise_in_the_variances():
    t, x = np.linspace(0, 1, 201), np.linspace(0, 8 / np.pi, 101)
    for q in (0.05, 0.3, 0.7, 0.9, 0.99, 1.0):
        for one in x[::10]:
            for other in x[::10]:
                if one + other < 8 / np.pi:
                    assert np.diff(eq10_gain(t[:-1], one, other, q)).max() < 1e-14
                    assert np.diff(joint_gain(t[:-1], one, other, q)).max() < 1e-14
        for at in t[:-1:20]:
            assert np.diff(eq10_gain(at, x[:-1], 0.0, q)).min() > -1e-14
        for variance in (0.01, 1.0, 9.0, 60.0, 900.0):
            assert np.diff(information_gain(np.linspace(0, 20, 101), variance, q)).max() < 1e-12
        for d in (0.0, 0.5, 3.0, 10.0):
            assert np.diff(information_gain(d, np.geomspace(0.01, 60, 101), q)).min() > -1e-12


@pytest.mark.parametrize(("alpha", "beta"), [(10.0, 1.0), (0.5, 0.5), (1.0, 9.0), (300.0, 20.0), (3.0, 3.0)])
def test_what_is_learned_about_a_judge_rises_with_t_and_is_convex(alpha, beta):
    gain = judge_gain(np.linspace(0, 1, 201), alpha, beta)
    assert np.diff(gain).min() > 0
    assert np.diff(gain, 2).min() > -1e-12
