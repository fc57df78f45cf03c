"""Rows with one outcome: the same votes as the counts they come from."""

import numpy as np
import pytest

from crowdrank.prepared.comparisons import CodedVotes, tally

N, K = 6, 4


@pytest.fixture(params=[True, False], ids=["ties apart", "ties as halves"])
def counts(request):
    rng = np.random.default_rng(3)
    left = rng.integers(0, N, 200)
    right = (left + rng.integers(1, N, 200)) % N
    outcome, worker = rng.integers(0, 3, 200).astype(np.int8), rng.integers(1, K, 200).astype(np.int32)
    votes = CodedVotes(left, right, outcome, worker, rng.uniform(0.5, 2.0, 200))
    return tally(N, votes, K, sided=True, ties=request.param)


def test_wins_and_losses_are_found_again(counts):
    rows = counts.decided
    wins, losses = np.zeros((2, K, N, N))
    np.add.at(wins, (counts.worker, counts.i, counts.j), counts.wins)
    np.add.at(losses, (counts.worker, counts.j, counts.i), counts.losses)
    for side, expected in ((1.0, wins), (-1.0, losses)):
        own, found = rows.side == side, np.zeros((K, N, N))
        np.add.at(found, (rows.worker[own], rows.first[own], rows.second[own]), rows.count[own])
        np.testing.assert_allclose(found, expected)
    assert (rows.count > 0).all()
    assert (np.diff(rows.worker) >= 0).all()


def test_ties_are_rows_of_their_own(counts):
    if counts.ties is None:
        assert counts.tied is None
    else:
        assert counts.tied.count.sum() == pytest.approx(counts.ties.sum())
        assert (counts.tied.count > 0).all()


def test_places_are_those_of_worker_and_nodes(counts):
    rows = counts.decided
    begin, height = rows.worker_range
    assert (begin, height) == (1, K - 1)
    up, down = rows.ends
    np.testing.assert_array_equal(up // N + begin, rows.worker)
    np.testing.assert_array_equal((up % N, down % N), (rows.first, rows.second))
    np.testing.assert_array_equal(np.repeat(rows.present, np.diff([*rows.starts, len(rows)])), rows.worker)
