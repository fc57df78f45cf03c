"""Losses, accuracies and their standard errors, worked out by hand."""

import math

import numpy as np
import pytest

from crowdrank.measures.votes import figure, hits, likelier_side, log_losses

SAID = np.array([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.3, 0.4, 0.3], [1.0, 0.0, 0.0]])
LEFT, RIGHT, TIE = 0, 1, 2


def test_three_outcomes():
    found = log_losses(SAID, np.array([LEFT, TIE, RIGHT, LEFT], np.int8), ties=True)
    assert found == pytest.approx([-math.log(0.5), -math.log(0.6), -math.log(0.3), 0.0])


def test_two_outcomes_are_all_there_is():
    found = log_losses(SAID, np.array([LEFT, RIGHT, LEFT, LEFT], np.int8), ties=False)
    assert found == pytest.approx([-math.log(0.5 / 0.8), -math.log(0.3 / 0.4), -math.log(0.5), 0.0])


def test_no_loss_is_infinite():
    sure = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert log_losses(sure, np.array([RIGHT, LEFT], np.int8), ties=True) == pytest.approx([-math.log(1e-15)] * 2)
    assert log_losses(sure[1:], np.array([LEFT], np.int8), ties=False) == pytest.approx([math.log(2)])


def test_a_tie_in_the_prediction_is_half_a_hit():
    ahead = likelier_side(np.array([[0.5, 0.2, 0.3], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]]))
    assert ahead.tolist() == [1, 0, -1]
    assert hits(ahead, np.array([LEFT, LEFT, LEFT], np.int8)).tolist() == [1, 0.5, 0]
    assert hits(ahead, np.array([RIGHT, RIGHT, RIGHT], np.int8)).tolist() == [0, 0.5, 1]


def test_the_standard_error_is_the_textbooks():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    found = figure(values, None)
    assert found.mean == 4
    assert found.error == pytest.approx(np.std(values, ddof=1) / math.sqrt(4))


def test_a_weight_of_two_is_two_votes():
    doubled, weighted = figure(np.array([1.0, 1.0, 3.0]), None), figure(np.array([1.0, 3.0]), np.array([2.0, 1.0]))
    assert weighted == pytest.approx(doubled)


def test_nothing_is_not_a_number():
    assert all(math.isnan(value) for value in figure(np.empty(0), None))
    assert math.isnan(figure(np.array([3.0]), None).error)
