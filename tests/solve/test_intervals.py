import numpy as np
import pytest

from crowdrank.solve import Covariance, highest_density, spread
from crowdrank.solve import intervals as module
from crowdrank.solve.draws import Draws, signs
from crowdrank.solve.intervals import merge_close

Z = 1.6448536269514722


class Given(Covariance):
    def __init__(self, matrix):
        self.matrix = np.asarray(matrix, float)

    def block(self, nodes):
        return self.matrix[np.ix_(nodes, nodes)]


def one_query(scores, variances, parts=None):
    n = len(scores)
    parts = parts or [np.arange(n)]
    return spread(np.array(scores, float), Given(np.diag(variances)), np.zeros(n, np.int32), parts)


def test_scores_are_centred_and_so_is_their_error():
    found = one_query([3.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    assert found.score.tolist() == [1.0, -1.0, 0.0]
    # var(x - mean) of three independent unit variances is 1 - 1/3
    np.testing.assert_allclose(found.stderr, np.sqrt(2 / 3))
    np.testing.assert_allclose(found.high, found.score + Z * np.sqrt(2 / 3))


def test_ranks_and_tiers_of_items_that_can_be_told_apart():
    found = one_query([10.0, 0.0, 5.0], [0.01, 0.01, 0.01])
    assert found.rank.tolist() == [1, 3, 2]
    assert found.rank_low.tolist() == found.rank_high.tolist() == [1, 3, 2]
    assert found.tier.tolist() == [1, 3, 2]


def test_items_that_cannot_be_told_apart_share_a_tier():
    found = one_query([1.0, 0.9, 0.8, -9.0], [0.25] * 4)
    assert found.tier.tolist() == [1, 1, 1, 2]
    assert found.rank_low.tolist() == [1, 1, 1, 4]
    assert found.rank_high.tolist() == [3, 3, 3, 4]


def test_a_tier_ends_below_its_leader_not_below_its_last():
    # neighbours differ by one deviation of a difference, the third by two
    deviation = np.sqrt(2 * 0.01)
    found = one_query([2 * deviation, deviation, 0.0], [0.01] * 3)
    assert found.tier.tolist() == [1, 1, 2]


def test_items_of_different_parts_are_never_told_apart():
    found = one_query([10.0, 0.0, 5.0, -5.0], [1e-4] * 4, parts=[np.array([0, 1]), np.array([2, 3])])
    assert found.score.tolist() == [5.0, -5.0, 5.0, -5.0]
    assert found.rank_low.tolist() == [1, 2, 1, 2]
    assert found.rank_high.tolist() == [3, 4, 3, 4]


def test_tiers_are_counted_within_a_part():
    # down the ranks: 8 and 6 of the second part, then 2 and 0 of the first, then -2 and -14 of the second
    scores = [2.0, 0.0, 8.0, 6.0, -2.0, -14.0]
    parts = [np.arange(2), np.arange(2, 6)]
    found = spread(np.array(scores), Given(np.diag([0.01] * 6)), np.zeros(6, np.int32), parts, centered=False)
    assert found.score.tolist() == scores
    assert found.tier.tolist() == [1, 2, 1, 2, 3, 4]
    assert found.rank_low.tolist() == [1, 2, 1, 2, 3, 4]
    assert found.rank_high.tolist() == [5, 6, 3, 4, 5, 6]


def test_an_item_alone_in_its_part_is_unknown():
    found = one_query([1.0, 0.0, 0.5], [0.01] * 3, parts=[np.array([0, 1]), np.array([2])])
    assert found.stderr[2] == np.inf
    assert (found.rank_low[2], found.rank_high[2]) == (1, 3)


def test_without_a_covariance_nothing_is_told_apart():
    n = np.zeros(2, np.int32)
    found = spread(np.array([1.0, 0.0]), None, n, [np.arange(2)])
    assert found.score.tolist() == [0.5, -0.5]
    assert found.high.tolist() == [np.inf, np.inf]
    assert found.tier.tolist() == [1, 1]


def test_ties_are_broken_by_what_is_given():
    n = np.zeros(3, np.int32)
    rank, size = module.ranks(np.array([1.0, 1.0, 2.0]), n, np.array([3.0, 7.0, 0.0]))
    assert rank.tolist() == [3, 2, 1]
    assert size.tolist() == [3, 3, 3]


def test_intervals_that_do_not_overlap_count_like_differences():
    score, stderr = np.array([0.0, 3.0, 1.0, 9.0]), np.full(4, 0.5)
    by_intervals = module._count_by_intervals(score, stderr, 0.9)
    deviation = np.hypot(stderr[:, None], stderr[None, :])
    by_differences = module._count_by_differences(score, deviation, 0.9)
    assert np.array(by_intervals).tolist() == np.array(by_differences).tolist()


def tiers_one_by_one(found, part_of, deviation):
    """Down the ranks of a part, a tier ends before the first item certainly below its leader."""
    tier = np.zeros(len(part_of), int)
    for own in np.unique(part_of):
        nodes = sorted(np.flatnonzero(part_of == own), key=lambda node: found.rank[node])
        leader, number = nodes[0], 1
        for node in nodes:
            if found.score[leader] - found.score[node] > Z * deviation[leader, node]:
                leader, number = node, number + 1
            tier[node] = number
    return tier


@pytest.mark.parametrize("pairwise", [True, False])
def test_tiers_of_long_lists_are_those_found_item_by_item(pairwise):
    rng = np.random.default_rng(5)
    scores, variances = rng.normal(0, 3, 300), rng.gamma(0.5, 0.2, 300)
    query = np.repeat([0, 1], [100, 200]).astype(np.int32)
    part_of = np.repeat([0, 1, 2], [100, 150, 50])
    given = Given(np.diag(variances))
    given.pairwise_limit = 1000 if pairwise else 10
    given.variance = lambda nodes: variances[nodes]
    found = spread(scores, given, query, [np.flatnonzero(part_of == part) for part in range(3)])
    own = variances if pairwise else found.stderr**2
    deviation = np.sqrt(own[:, None] + own)
    assert 20 < found.tier.max() < 150
    assert found.tier.tolist() == tiers_one_by_one(found, part_of, deviation).tolist()


class TestHighestDensity:
    def found(self, function, low, high):
        points = np.linspace(low, high, 49)
        return highest_density(function(points)[None], np.array([low]), np.array([high]), 0.9)

    def test_of_a_beta_density(self):
        # Beta(9, 1): density rises to 1, so the interval is [0.1^(1/9), 1]
        found = self.found(lambda eta: 8 * np.log(np.maximum(eta, 1e-9)), 0.0, 1.0)
        assert found.mean[0] == pytest.approx(9 / 10, abs=0.002)
        assert found.variance[0] == pytest.approx(9 / (100 * 11), abs=0.0005)
        assert found.low[0] == pytest.approx(0.1 ** (1 / 9), abs=0.005)
        assert found.high[0] == 1.0

    def test_of_a_narrow_normal_density(self):
        found = self.found(lambda eta: -0.5 * ((eta - 0.7) / 0.002) ** 2, 0.688, 0.712)
        assert found.mean[0] == pytest.approx(0.7, abs=1e-5)
        assert found.high[0] - found.low[0] == pytest.approx(2 * Z * 0.002, rel=0.03)

    def test_of_no_evidence(self):
        found = self.found(np.zeros_like, 0.0, 1.0)
        assert found.mean[0] == pytest.approx(0.5)
        assert found.high[0] - found.low[0] == pytest.approx(0.9, abs=0.01)


class TestDraws:
    def test_signs_are_fair_and_depend_on_the_keys_alone(self):
        keys = (np.arange(20000), np.arange(20000) % 7)
        found = signs(keys, 100, seed=3)
        assert set(np.unique(found)) == {-1, 1}
        assert abs(found.mean()) < 0.003
        correlation = np.corrcoef(found[:, :20].T.astype(float))
        assert np.abs(correlation - np.eye(20)).max() < 0.04
        some = np.array([5, 17, 3])
        assert (signs(tuple(key[some] for key in keys), 100, seed=3) == found[some]).all()
        assert (signs(keys, 100, seed=4) != found).any()

    def test_covariances_come_from_the_draws(self):
        scores = np.array([[1.0, -1.0], [2.0, -2.0]])
        draws = Draws(scores, np.array([[[3.0, -3.0]]]))
        assert draws.block(np.array([0, 1])).tolist() == [[1.0, 2.0], [2.0, 4.0]]
        assert draws.worker_variance().tolist() == [[9.0]]
        assert draws.variance(np.array([0, 1])).tolist() == [0.25, 0.25]


class TestMergeClose:
    def test_what_differs_by_rounding_is_equal(self):
        merged = merge_close(np.array([0.1 + 0.2, 0.3, 1.0, -2.0]), np.zeros(4, np.int32))
        assert merged[0] == merged[1]
        assert len(np.unique(merged)) == 3

    def test_small_steps_do_not_add_up(self):
        steps = 1 + np.arange(2000) * 0.9e-12
        assert len(np.unique(merge_close(steps, np.zeros(2000, np.int32)))) > 500

    def test_places_far_down_a_list_stay_apart(self):
        score = 1 / (1.0 + np.arange(40_000))
        assert len(np.unique(merge_close(score, np.zeros(40_000, np.int32)))) == 40_000

    def test_queries_and_infinities_stay_apart(self):
        values = np.array([np.inf, np.inf, 1.0, 1.0 + 1e-15, -np.inf])
        merged = merge_close(values, np.array([0, 1, 0, 1, 1], np.int32))
        assert merged.tolist() == values.tolist()
