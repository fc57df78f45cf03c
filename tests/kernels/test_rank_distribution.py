"""Every way to an expected discount against the enumeration of all outcomes."""

from itertools import product
from math import comb

import numpy as np
import pytest

from crowdrank.kernels.rank_distribution import (
    coins,
    expected_decided,
    expected_fair,
    expected_power,
    expected_spectrum,
    expected_with_slopes,
    fair_tables,
    losses,
    rank_distribution,
    rank_distribution_halves,
)


def enumerated(wins):
    """P(rank) by all outcomes of all contests."""
    ranks = np.zeros(len(wins) + 1)
    for outcome in product((0, 1), repeat=len(wins)):  # 1: lost
        ranks[sum(outcome)] += np.prod([1 - p if lost else p for p, lost in zip(wins, outcome, strict=True)])
    return ranks


def discounts(n):
    return 1 / np.log2(2 + np.arange(n))


@pytest.mark.parametrize("count", [0, 1, 2, 5, 8])
def test_algorithms_1_and_2_are_all_outcomes(count):
    wins = np.random.default_rng(count).random(count)
    np.testing.assert_allclose(rank_distribution(wins), enumerated(wins), atol=1e-15)
    np.testing.assert_allclose(rank_distribution_halves(wins), enumerated(wins), atol=1e-15)


@pytest.mark.parametrize("count", [63, 64, 65, 300])
def test_algorithm_2_is_algorithm_1(count):
    wins = np.random.default_rng(0).random(count)
    np.testing.assert_allclose(rank_distribution_halves(wins), rank_distribution(wins), atol=1e-14)


def test_rank_0_is_the_item_that_wins_everything():
    assert rank_distribution(np.ones(4)).tolist() == [1, 0, 0, 0, 0]
    assert rank_distribution_halves(np.zeros(4)) == pytest.approx([0, 0, 0, 0, 1], abs=1e-15)


def test_losses_of_many_rows():
    chances = np.random.default_rng(1).random((5, 6))
    for row, own in zip(losses(chances), chances, strict=True):
        np.testing.assert_allclose(row, rank_distribution(1 - own), atol=1e-15)


@pytest.mark.parametrize("count", [0, 1, 7, 40])
def test_coins_are_binomial(count):
    np.testing.assert_allclose(coins(count), rank_distribution(np.full(count, 0.5)), rtol=1e-12)


def test_coins_of_many_neither_overflow_nor_vanish():
    many = coins(100_000)
    assert many.sum() == pytest.approx(1)
    assert many[50_000] == pytest.approx(1 / np.sqrt(np.pi * 50_000), rel=1e-5)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_fair_coins_beside_judged_contests(n):
    rng = np.random.default_rng(n)
    most = min(6, n - 1)
    tables = fair_tables(discounts(n), most)
    for count in range(most + 1):
        lost = rng.random((4, count))
        found = expected_fair(lost, tables[count][None], np.zeros(4, int))
        for value, own in zip(found, lost, strict=True):
            wins = np.concatenate([1 - own, np.full(n - 1 - count, 0.5)])
            assert value == pytest.approx(rank_distribution(wins) @ discounts(n), abs=1e-14)


@pytest.mark.parametrize("chunk", [10, 1 << 21])
def test_contests_won_and_lost_with_one_quality_are_those_of_their_chances(chunk, monkeypatch):
    """Every number of wins among c contests, for three lines of quality and table, in any order of the rows."""
    from crowdrank.kernels import rank_distribution as kernel

    monkeypatch.setattr(kernel, "CHUNK", chunk)
    rng = np.random.default_rng(1)
    for count in (1, 2, 7):
        eta, tables = np.array([0.8, 0.3, 1.0]), rng.random((3, count + 1))
        line, won = (part.ravel() for part in np.meshgrid(np.arange(3), np.arange(count + 1)))
        mixed = rng.permutation(len(won))[1:]
        line, won = line[mixed], won[mixed]
        lost = np.where(np.arange(count) < won[:, None], 1 - eta[line, None], eta[line, None])
        wanted = expected_fair(lost, tables, line)
        np.testing.assert_allclose(expected_decided(won, line, eta, tables), wanted, atol=1e-14)


@pytest.mark.parametrize("n", [2, 5, 6, 31])
def test_spectrum_and_power(n):
    rng = np.random.default_rng(n)
    for count in range(min(5, n - 1) + 1):
        lost, rest = rng.random((4, count)), rng.random(4)
        wins = [
            np.concatenate([1 - own, np.full(n - 1 - count, 1 - other)])
            for own, other in zip(lost, rest, strict=True)
        ]
        wanted = np.array([rank_distribution(own) for own in wins])
        np.testing.assert_allclose(expected_spectrum(lost, rest, discounts(n)), wanted @ discounts(n), atol=1e-14)
        powers = 0.9 ** np.arange(n)
        fair = rank_distribution(np.full(n - 1, 0.5)) @ powers
        found = expected_power(lost, rest, np.full(4, n - 1 - count), 0.9)
        np.testing.assert_allclose(found, wanted @ powers / fair, rtol=1e-12)


def test_powers_of_many_items_do_not_vanish():
    """p^n is 0 to the computer where n is 100,000; one contest won is still worth 2 / (1 + p)."""
    found = expected_power(np.zeros((1, 1)), np.full(1, 0.5), np.array([99_998]), 0.95)
    assert found[0] == pytest.approx(2 / 1.95)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("k", [1, 2, 6])
def test_expected_discounts_and_their_slopes_are_all_outcomes(count, k):
    """E D is linear in each chance: its slope is what a certain loss gives less what a certain win gives."""
    chances = np.random.default_rng(count).random((3, count))
    chances[1] = 0.5
    worth = np.where(np.arange(count + 1) < k, discounts(count + 1), 0.0)
    found, slopes = expected_with_slopes(chances, worth[:k])
    for row, own in enumerate(chances):
        assert found[row] == pytest.approx(enumerated(1 - own) @ worth, abs=1e-15)
        for contest in range(count):
            rest = np.delete(own, contest)
            change = [enumerated(1 - np.insert(rest, contest, lost)) @ worth for lost in (1.0, 0.0)]
            assert slopes[row, contest] == pytest.approx(change[0] - change[1], abs=1e-15)


def test_slopes_of_long_rows_keep_their_digits(monkeypatch):
    """All chances are equal, so each slope has the others' binomial distribution, also if that is tiny."""
    from crowdrank.kernels import rank_distribution as kernel

    monkeypatch.setattr(kernel, "CHUNK", 1000)  # the rows one at a time
    chances = np.repeat([[1e-9], [0.3], [0.5], [0.999]], 200, axis=1)
    change = np.diff(discounts(201))
    _, slopes = expected_with_slopes(chances, discounts(201))
    others = [[comb(199, s) * p**s * (1 - p) ** (199 - s) for s in range(200)] for p in chances[:, 0].tolist()]
    expected = np.array(others) @ change
    np.testing.assert_allclose(slopes, np.repeat(expected[:, None], 200, axis=1), rtol=1e-11)
    _, first = expected_with_slopes(chances[2:3], np.ones(1))
    np.testing.assert_allclose(first, -(0.5**199), rtol=1e-11)
