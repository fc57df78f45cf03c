"""Random numbers by their keys: neighbors share nothing."""

import numpy as np
import pytest

from crowdrank.random import generator, signs, uniforms

ROWS = np.arange(2000)


def keys(step):
    return np.full(len(ROWS), step), ROWS


@pytest.mark.parametrize(("seed", "step"), [(0, 1), (1, 0), (1, -1), (1, 1)])
def test_neighboring_seeds_and_steps_are_unrelated(seed, step):
    one, two = uniforms(keys(5), 3), uniforms(keys(5 + step), 3 + seed)
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.1
    assert abs((signs(keys(5), 8, 3) * signs(keys(5 + step), 8, 3 + seed)).mean()) < 0.05
    drawn = [generator(*place).random(2000) for place in ((3, 5), (3 + seed, 5 + step))]
    assert abs(np.corrcoef(*drawn)[0, 1]) < 0.1


def test_the_same_keys_give_the_same_numbers_in_any_order():
    shuffled = np.random.default_rng(0).permutation(ROWS)
    np.testing.assert_array_equal(uniforms(keys(2), 1)[shuffled], uniforms((keys(2)[0], shuffled), 1))
    np.testing.assert_array_equal(generator(1, 2, 3).random(5), generator(1, 2, 3).random(5))


def test_they_are_uniform():
    drawn = uniforms((np.arange(100_000),), 0)
    assert 0.0 <= drawn.min() < drawn.max() < 1.0
    assert np.histogram(drawn, 10, (0, 1))[0] == pytest.approx(np.full(10, 10_000), rel=0.05)
