"""Shards of whole queries."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.prepared.panels import panels
from crowdrank.prepared.votes import Votes
from shards import cut_small


@pytest.fixture(scope="module")
def votes() -> Votes:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 6, 400), rng.integers(0, 5, 400)
    frame = pl.DataFrame(
        {
            "query": [f"q{number}" for number in rng.integers(0, 9, 400)],
            "worker": [f"w{number}" for number in rng.integers(0, 7, 400)],
            "left": [f"i{number}" for number in left],
            "right": [f"i{number}" for number in right + (right >= left)],
            "label": rng.choice(["left", "right", "tie"], 400),
        }
    ).rename({"label": "winner"})
    return Votes(cr.read(frame))


@pytest.mark.parametrize("rows", [1, 50, 100_000])
def test_every_vote_is_in_the_shard_of_its_query(votes: Votes, rows: int) -> None:
    found = cut_small(panels, rows, votes)
    assert sum(len(shard) for shard in found) == len(votes.count_votes("worker").shards[0].load())
    assert [shard.first for shard in found] == [0, *np.cumsum([len(shard.query) for shard in found])[:-1]]
    assert sum(shard.queries for shard in found) == 9
    for shard in found:
        own = votes.nodes.query[shard.nodes] - shard.first_query
        assert np.array_equal(own, shard.query)
        assert np.array_equal(shard.query[shard.i], shard.query[shard.j])
        assert np.array_equal(shard.cells.query[shard.cell], shard.query[shard.i])
        assert np.array_equal(shard.cells.worker[shard.cell], shard.worker)
        assert len(set(zip(shard.cells.query, shard.cells.worker, strict=True))) == len(shard.cells.query)
    wins = sum(shard.wins.sum() + shard.losses.sum() for shard in found)
    assert wins == votes.pairs.rows
    assert len(found) == {1: 9, 50: len(found), 100_000: 1}[rows]
