"""Tests of paired differences."""

import numpy as np
import pytest
from scipy.stats import ttest_rel, wilcoxon

from crowdrank.reproduce.summaries import paired_p, signed_rank_p


@pytest.mark.parametrize("seed", range(4))
def test_the_p_values_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.3, 1.0, 12), rng.normal(size=12)
    assert paired_p(ours, theirs) == pytest.approx(ttest_rel(ours, theirs).pvalue)
    assert signed_rank_p(ours, theirs) == pytest.approx(wilcoxon(ours, theirs, mode="exact").pvalue)


def test_equal_differences_share_ranks_and_no_difference_does_not_count():
    assert signed_rank_p([1, 1, 1, 1, 5], [0, 0, 0, 0, 5]) == pytest.approx(2 / 2**4)
    assert signed_rank_p([2, 1, 0], [0, 0, 1]) == pytest.approx(2 * 3 / 2**3)
    assert signed_rank_p([1.0], [0.0]) == "-"
    assert signed_rank_p([1.0, 2.0], [1.0, 2.0]) == "-"


def test_one_wild_draw_does_not_decide():
    ours, theirs = np.arange(20) / 10 + 0.1, np.arange(20) / 10
    theirs[3] = -50.0
    assert paired_p(ours, theirs) > 0.2
    assert signed_rank_p(ours, theirs) < 1e-5
