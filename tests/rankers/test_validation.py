"""Measures of all queries at once against those of one list."""

from itertools import pairwise

import numpy as np
import pytest

from crowdrank.errors import UsageError
from crowdrank.measures import ap, dcg, err, ndcg
from crowdrank.rankers.validation import LabeledQueries, one_measure

START = np.array([0, 6, 7, 12, 15])
DIRECT = {
    "nDCG@3": lambda s, y: ndcg(s, y, cut=3),
    "nDCG": lambda s, y: ndcg(s, y),
    "nDCG(gain=linear)@2": lambda s, y: ndcg(s, y, cut=2, gain="linear"),
    "DCG@4": lambda s, y: dcg(s, y, cut=4),
    "AP": lambda s, y: ap(s, y),
    "AP@4": lambda s, y: ap(s, y, cut=4),
    "AP(rel=2)@5": lambda s, y: ap(s, y, cut=5, rel=2.0),
    "ERR@5": lambda s, y: err(s, y, cut=5, most=4.0),
}


def random_lists(seed=0):
    """Labels and scores with ties, and a list without a relevant document."""
    rng = np.random.default_rng(seed)
    label, scores = rng.integers(0, 5, 15).astype(float), rng.integers(0, 4, 15) / 2
    label[:3], label[12:] = (4.0, 2.5, 0.0), 0.0
    return label, scores


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("text", DIRECT)
def test_by_query(text, seed):
    label, scores = random_lists(seed)
    found = LabeledQueries(START, label).by_query(one_measure(text), scores)
    expected = [DIRECT[text](scores[low:high], label[low:high]) for low, high in pairwise(START)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert LabeledQueries(START, label).mean(one_measure(text), scores) == pytest.approx(np.mean(expected))


def test_missing_scores_are_equal():
    label = np.array([2.0, 0.0, 0.0])
    measure = one_measure("nDCG")
    found = LabeledQueries(np.array([0, 3]), label).by_query(measure, np.array([-np.inf, 1.0, -np.inf]))
    equal = LabeledQueries(np.array([0, 3]), label).by_query(measure, np.array([0.0, 1.0, 0.0]))
    assert found == equal == pytest.approx((1 / np.log2(3) + 1 / 2) / 2)


def test_large_labels_do_not_overflow():
    label = np.array([3000.0, 2999.0, 0.0])
    found = LabeledQueries(np.array([0, 3]), label).by_query(one_measure("nDCG"), np.array([1.0, 2.0, 3.0]))
    best = 1 + 0.5 / np.log2(3)
    assert found[0] == pytest.approx((1 / 2 + 0.5 / np.log2(3)) / best)


def test_one_measure_is_needed():
    with pytest.raises(UsageError, match="One measure is needed"):
        one_measure("nDCG@10 AP")
