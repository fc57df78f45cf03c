"""Statements against direct sums: what is said about pairs, distances, normalizers, and blocks of lists."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest

from crowdrank.kernels.chains import count_above
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.prepared import statements as module
from crowdrank.prepared.statements import cut_blocks
from rankers.annotated import corpus, join, mallows_normalizer, says


def odd_tables():
    """Ties, a top-k list, a partial list, pairs; queries of three to six documents."""
    features, lists, _ = corpus(seed=3, queries=6, sizes=(3, 6, 4), thetas=(0.5, 0.2))
    lists = lists.with_columns(
        rank=pl.when(pl.col("worker") == "w1").then((pl.col("rank") / 2).ceil()).otherwise("rank"),
        weight=pl.when(pl.col("worker") == "w1").then(2.5).otherwise(1.0),
    )
    partial = lists.filter(pl.col("query") == "q01", pl.col("worker") == "w0", pl.col("rank") > 3)
    top = lists.filter(pl.col("worker") == "w0", pl.col("rank") <= 2).with_columns(worker=pl.lit("top"))
    named = top.with_columns(rank=pl.when(pl.col("rank") <= 2).then("rank"))
    unranked = lists.filter(pl.col("worker") == "w0", pl.col("rank") == 3).with_columns(
        worker=pl.lit("top"), rank=pl.lit(None, pl.Float64)
    )
    pairs = pl.DataFrame(
        {
            "query": ["q00", "q01", "q01"],
            "left": ["d0", "d1", "d1"],
            "right": ["d1", "d5", "d5"],
            "label": ["d1", "d1", "d1"],
            "worker": ["w0", "p", "p"],
        }
    )
    whole = lists.filter((pl.col("query") != "q01") | (pl.col("worker") != "w0"))
    return features, whole, partial.drop("weight"), pl.concat([named, unranked]), pairs


@pytest.fixture(scope="module")
def judged():
    features, *tables = odd_tables()
    return join(features, *tables)


@pytest.fixture(params=[1 << 19, 200], ids=["one block", "several blocks"])
def blocks(judged, request, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_CELLS", request.param)
    every = (0, len(judged.keys))
    return cut_blocks(judged.statements, every, judged.documents.start, judged.judged, judged.keys)


def theta_of(judged):
    return np.append(np.linspace(-0.7, 1.1, len(judged.voices)), [3.0, 0.0])


def wanted_odds(judged, number, theta):
    """A of a list, summed over its statements pair by pair, by document."""
    said, n = judged.statements, judged.sizes[number]
    found = np.zeros((n, n))
    for statement in np.flatnonzero(said.list == number):
        for x, y in says(said, statement, n)[0]:
            found[x, y] += theta[said.voice[statement]] * said.weight[statement]
    for pair in np.flatnonzero(said.pair_list == number):
        found[said.better[pair], said.worse[pair]] += theta[said.pair_voice[pair]] * said.pair_weight[pair]
    return found - found.T


def test_log_odds_are_the_sum_over_statements(judged, blocks):
    theta = theta_of(judged)
    for block in blocks:
        for place, number in enumerate(block.list):
            wanted = wanted_odds(judged, number, theta)
            slot = np.minimum(np.arange(len(wanted)), judged.judged[number])
            found = block.log_odds(theta)[place][np.ix_(slot, slot)]
            np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert sum(len(block.list) for block in blocks) == len(judged.keys)


def test_distances_from_an_order_are_the_discordant_pairs(judged, blocks):
    rng = np.random.default_rng(0)
    for block in blocks:
        places = np.argsort(rng.random((len(block.list), block.places)) + 10 * ~block.real(), axis=1).argsort(
            axis=1
        )
        above = count_above(places[:, None], block.judged, block.size, block.side)
        found = block.distances(above)
        for row, statement in enumerate(np.flatnonzero(np.isin(judged.statements.list, block.list))):
            own = int(np.flatnonzero(block.list == judged.statements.list[statement])[0])
            pairs, _ = says(judged.statements, statement, block.size[own])
            wanted = sum(places[own, x] > places[own, y] for x, y in pairs)
            assert found[row] == pytest.approx(wanted)
        theta = theta_of(judged)
        odds = block.log_odds(theta)
        slots = np.minimum(np.arange(block.places), block.judged[:, None])
        for own in range(len(block.list)):
            n = block.size[own]
            half = sum(
                0.5 * odds[own][slots[own, x], slots[own, y]] * (1 if places[own, x] < places[own, y] else -1)
                for x, y in permutations(range(n), 2)
                if x < y
            )
            other = sum(0.5 * abs_weight for abs_weight in _all_weights(judged, block.list[own], theta))
            assert block.energy(theta, above)[own] == pytest.approx(other - half)


def _all_weights(judged, number, theta):
    """theta times weight of every ordered pair that is said in a list."""
    said, n = judged.statements, judged.sizes[number]
    for statement in np.flatnonzero(said.list == number):
        for _ in says(said, statement, n)[0]:
            yield theta[said.voice[statement]] * said.weight[statement]
    for pair in np.flatnonzero(said.pair_list == number):
        yield theta[said.pair_voice[pair]] * said.pair_weight[pair]


def test_normalizers_are_sums_over_all_statements_of_a_shape(judged):
    theta = theta_of(judged)
    theta[-2:] = 0.0
    found = judged.statements.log_normalizers(theta, judged.sizes)
    wanted, said = np.zeros(len(judged.keys)), judged.statements
    for statement, number in enumerate(said.list):
        _, level = says(said, statement, judged.sizes[number])
        own = mallows_normalizer(theta[said.voice[statement]], level)
        wanted[number] += said.weight[statement] * np.log(own)
    for pair, number in enumerate(said.pair_list):
        wanted[number] += said.pair_weight[pair] * np.log1p(np.exp(-theta[said.pair_voice[pair]]))
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    counts = said.shapes(judged.sizes)
    table = log_normalizers(theta[: said.voices], counts.shape[1] - 1)[0]
    assert (counts * table).sum() == pytest.approx(wanted.sum())


def test_what_was_said_in_a_part_of_the_lists(judged):
    kept = np.arange(len(judged.keys)) % 2 == 0
    part = judged.take(np.flatnonzero(kept))
    theta = np.append(theta_of(judged)[:-2], [0.0, 0.0])
    np.testing.assert_allclose(
        part.statements.log_normalizers(theta, part.sizes),
        judged.statements.log_normalizers(theta, judged.sizes)[kept],
    )
    assert (part.keys == judged.keys[kept]).all()


def test_ordered_pairs_and_comparisons(judged):
    said = judged.statements
    pairs, chains = np.zeros(said.voices), np.zeros(said.voices)
    for statement, voice in enumerate(said.voice):
        ordered, level = says(said, statement, judged.sizes[said.list[statement]])
        pairs[voice] += said.weight[statement] * len(ordered)
        chains[voice] += said.weight[statement] * (len(level) - 1)
    np.add.at(pairs, said.pair_voice, said.pair_weight)
    np.add.at(chains, said.pair_voice, said.pair_weight)
    np.testing.assert_allclose(said.ordered_pairs(judged.sizes), pairs)
    np.testing.assert_allclose(said.comparisons(judged.sizes), chains)
