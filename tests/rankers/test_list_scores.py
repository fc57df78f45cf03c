"""Lists as scores, and the squared error from them against direct sums and finite differences."""

import numpy as np
import pytest

from crowdrank.prepared.statements import Statements
from crowdrank.rankers.objectives import WeightedScores, score_lists


def statements():
    """A ranking with a tie, a top-1 list, a partial list and a pair; lists of 4 and of 3 documents."""
    given = {
        "voices": 2,
        "list": [0, 0, 1, 1],
        "voice": [0, 1, 0, 3],
        "weight": [1.0, 2.0, 1.0, 1.0],
        "below": [False, True, False, False],
        "start": [0, 4, 5, 7, 10],
        "document": [2, 0, 1, 3, 1, 2, 0, 0, 1, 2],
        "level": [0, 1, 1, 2, 0, 0, 1, 0, 1, 2],
        "pair_list": [0, 1],
        "better": [3, 1],
        "worse": [0, 2],
        "pair_voice": [1, 2],
        "pair_weight": [0.5, 3.0],
    }
    return Statements(**{name: own if name == "voices" else np.array(own) for name, own in given.items()})


def test_lists_as_scores():
    found = score_lists(statements(), (0, 2), np.array([0, 4, 7]))
    rows = [found.row[low:high].tolist() for low, high in zip(found.start[:-1], found.start[1:], strict=True)]
    score = [found.score[low:high] for low, high in zip(found.start[:-1], found.start[1:], strict=True)]
    assert rows == [[2, 0, 1, 3], [0, 1, 2, 3], [6, 4], [3, 0], [5, 6]]  # without the observer's list
    np.testing.assert_allclose(score[0], [1.5 / 4, 0.0, 0.0, -1.5 / 4])  # the places 1 and 2 are tied
    np.testing.assert_allclose(score[1], [-0.5 / 4, 1.5 / 4, -0.5 / 4, -0.5 / 4])  # 1, 2 and 3 are left
    np.testing.assert_allclose(score[2], [1 / 4, -1 / 4])
    np.testing.assert_allclose(np.concatenate(score[3:]), [1 / 4, -1 / 4, 1 / 4, -1 / 4])
    assert found.voice.tolist() == [0, 1, 0, 1, 2]
    assert found.group.tolist() == [0, 0, 1, 2, 3]
    second = score_lists(statements(), (1, 2), np.array([0, 4, 7]))
    assert second.row.tolist() == [2, 0, 1, 2]


class TestDerivatives:
    STEP = 1e-5

    def both(self):
        plan = score_lists(statements(), (0, 2), np.array([0, 4, 7]))
        return WeightedScores(np.array([2.0, 0.7, 5.0])), plan, np.random.default_rng(0).normal(size=7)

    def test_the_value_is_a_direct_sum_up_to_a_constant(self):
        objective, plan, scores = self.both()
        lists = [
            (2.0, [2, 0, 1, 3], [1.5 / 4, 0.0, 0.0, -1.5 / 4]),
            (2 * 0.7, [0, 1, 2, 3], [-0.5 / 4, 1.5 / 4, -0.5 / 4, -0.5 / 4]),
            (2.0, [6, 4], [1 / 4, -1 / 4]),
            (0.5 * 0.7, [3, 0], [1 / 4, -1 / 4]),
            (3 * 5.0, [5, 6], [1 / 4, -1 / 4]),
        ]

        def direct(s):
            return -0.5 * sum(w * ((np.array(y) - s[rows] + s[rows].mean()) ** 2).sum() for w, rows, y in lists)

        other = np.random.default_rng(1).normal(size=7)
        ours = [objective.derivatives(own, plan, own).value.sum() for own in (scores, other)]
        assert ours[0] - ours[1] == pytest.approx(direct(scores) - direct(other))

    def test_gradient_and_curvature_by_finite_differences(self):
        objective, plan, scores = self.both()
        found = objective.derivatives(scores, plan, scores)
        steps = self.STEP * np.eye(7)
        ends = [[objective.derivatives(scores + sign * own, plan, scores) for sign in (1, -1)] for own in steps]
        slopes = [(up.value.sum() - down.value.sum()) / (2 * self.STEP) for up, down in ends]
        bends = np.array([(down.gradient - up.gradient) / (2 * self.STEP) for up, down in ends])
        np.testing.assert_allclose(found.gradient, slopes, atol=1e-8)
        np.testing.assert_allclose(found.curvature, np.diag(bends), atol=1e-8)
        columns = np.random.default_rng(2).normal(size=(7, 3))
        np.testing.assert_allclose(
            objective.curvature_times(scores, plan, scores, columns), bends @ columns, atol=1e-7
        )
