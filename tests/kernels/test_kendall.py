"""Pairs that two orders order alike."""

import itertools

import numpy as np

from crowdrank.kernels.kendall import agreements


def test_agreements_by_counting_pairs():
    rng = np.random.default_rng(4)
    sizes = [1, 2, 5, 7, 12]
    start = np.concatenate([[0], np.cumsum(sizes)])
    one, other = rng.integers(0, 4, start[-1]), rng.integers(0, 4, start[-1]).astype(float)
    ordered, alike = agreements(one, other, start)
    for place, (first, last) in enumerate(itertools.pairwise(start)):
        pairs = [(i, j) for i, j in itertools.permutations(range(first, last), 2) if one[i] < one[j]]
        assert ordered[place] == len(pairs)
        assert alike[place] == sum((1 + np.sign(other[j] - other[i])) / 2 for i, j in pairs)
