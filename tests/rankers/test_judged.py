"""Features joined with judgments: which documents count, who says what, and what is left out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdrank.data import Anchors, read_features, read_gold
from crowdrank.errors import InputError
from crowdrank.rankers.judged import LISTS, PAIRS, join_judgments, read_judgments
from rankers.annotated import corpus, join, says


def small():
    """Two queries of four documents."""
    return corpus(seed=1, queries=2, documents=4, thetas=(0.5, 0.5))


def ids(judged):
    own = judged.documents
    return own.features.take(own.rows).ids()


def test_lists_of_some_documents_keep_only_these_unless_the_others_are_below():
    features, lists, _ = small()
    top = lists.filter(pl.col("rank") <= 2, pl.col("worker") == "w0")
    assert join(features, top).sizes.tolist() == [2, 2]
    judged = join_judgments(read_features(features), read_judgments(top, unranked="below"))
    assert judged.sizes.tolist() == [4, 4]
    assert judged.judged.tolist() == [2, 2]
    pairs, _ = says(judged.statements, 0, 4)
    assert len(pairs) == 1 + 2 * 2, "the two ranked ones, and each above the other two"


def test_a_judged_document_without_features():
    features, lists, _ = small()
    fewer = features.filter((pl.col("query") != "q00") | (pl.col("item") != "d1"))
    with pytest.raises(InputError, match=r"1 judged item has no features: \('q00', 'd1'\)"):
        join(fewer, lists)
    judged = join(fewer, lists, missing="drop")
    assert sorted(judged.sizes.tolist()) == [3, 4]
    assert "no-features" in {note.code for note in judged.notes}


def test_nothing_in_common_and_nothing_ordered_are_errors():
    features, lists, _ = small()
    with pytest.raises(InputError, match="no item in common"):
        join(features, lists.with_columns(item=pl.lit("x") + pl.col("item")))
    with pytest.raises(InputError, match="no judgment orders two documents"):
        join(features, lists.with_columns(rank=pl.lit(1.0)))
    with pytest.raises(InputError, match="No judgments were given"):
        read_judgments([])


def test_lists_that_order_nothing_are_counted():
    features, lists, _ = small()
    tied = lists.with_columns(
        rank=pl.when((pl.col("query") == "q00") & (pl.col("worker") == "w0")).then(1.0).otherwise("rank")
    )
    judged = join(features, tied)
    assert len(judged.statements.list) == 3
    assert "1 list orders no two documents and is left out." in {note.message for note in judged.notes}


def test_features_without_queries_are_joined_by_item():
    """The same document may be in the lists of several queries."""
    features, lists, _ = small()
    shared = features.filter(pl.col("query") == "q00").drop("query")
    judged = join(shared, lists)
    assert judged.sizes.tolist() == [4, 4]
    assert sorted(judged.documents.query.to_list()) == ["q00", "q01"]
    assert len(np.unique(judged.documents.rows)) == 4


def test_judgments_without_queries_take_those_of_the_features():
    features, lists, _ = small()
    named = features.with_columns(item=pl.col("query") + pl.col("item"))
    spread = lists.with_columns(item=pl.col("query") + pl.col("item")).drop("query")
    with pytest.raises(InputError):  # ranks repeat within a worker's only list, which is fine, but items do not
        join(named, pl.concat([spread, spread]))
    judged = join(named, spread)
    assert len(judged.statements.list) == 4, "a list of documents of two queries is a statement about each"


def test_voices_of_lists_and_pairs():
    features, lists, _ = small()
    pairs = pl.DataFrame(
        {
            "query": ["q00", "q00", "q00"],
            "winner": ["d0", "d0", "d1"],
            "loser": ["d1", "d1", "d2"],
            "worker": ["w1", "w1", "x"],
        }
    )
    judged = join(features, lists, pairs)
    assert judged.voices.names() == [("w0", LISTS), ("w1", LISTS), ("w1", PAIRS), ("x", PAIRS)]
    assert judged.statements.pair_weight.tolist() == [2.0, 1.0], "the same pair twice has weight 2"
    assert judged.kinds == {"rankings": 16, "pairs": 3}
    assert judged.statements.weights().tolist() == [2, 2, 2, 1]


def test_ties_of_pairs_and_pairs_across_queries_say_nothing():
    features, lists, _ = small()
    pairs = pl.DataFrame(
        {
            "query": ["q00", "q00"],
            "left": ["d0", "d1"],
            "right": ["d1", "d2"],
            "label": ["tie", "d1"],
            "worker": ["x", "x"],
        }
    )
    assert len(join(features, lists, pairs).statements.pair_list) == 1


def test_anchors_and_the_observer_are_voices_of_their_own():
    features, lists, gold = small()
    truth = Anchors.read(gold.filter(pl.col("query") == "q00").rename({"grade": "label"}))
    judged = join(features, lists, anchors=truth, observed=read_gold(gold))
    said = judged.statements
    assert np.bincount(said.voice).tolist() == [2, 2, 1, 2]
    assert len(judged.voices) == 2
    assert said.shapes(judged.sizes).shape[0] == 2, "neither truth nor observer has an expertise"


def test_what_is_judged_elsewhere_is_passed_over():
    features, lists, _ = small()
    here, there = (read_features(features.filter(pl.col("query") == own)) for own in ("q00", "q01"))
    judged = join_judgments(here, read_judgments(lists), elsewhere=there)
    assert judged.documents.query.to_list() == ["q00"]
    with pytest.raises(InputError, match="no features"):
        join_judgments(here, read_judgments(lists))


def test_documents_and_keys_depend_on_content_only():
    features, lists, _ = corpus(seed=2, queries=5, sizes=(4, 3))
    renamed = [
        own.with_columns(
            query=pl.col("query").replace({f"q{n:02d}": f"z{9 - n}" for n in range(5)}),
            item=pl.col("item").str.replace("d", "x"),
        ).sample(fraction=1.0, shuffle=True, seed=3)
        for own in (features, lists)
    ]
    renamed[1] = renamed[1].with_columns(worker=pl.col("worker").replace({"w0": "k", "w1": "b", "w2": "a"}))
    one, two = join(features, lists), join(*renamed)
    assert (one.keys == two.keys).all()
    for judged in (one, two):
        assert (np.diff(judged.documents.start) == judged.judged).all()
    dense = [own.documents.features.dense(own.documents.rows) for own in (one, two)]
    assert (dense[0] == dense[1]).all()


def test_validation_lists_take_the_voices_of_training():
    features, lists, _ = small()
    one = join(features, lists)
    other = join(features, lists.filter(pl.col("worker") == "w1").with_columns(worker=pl.lit("w1")))
    again = other.with_voices(one.voices)
    assert again.statements.voice.tolist() == [1, 1]
    strangers = join(features, lists.with_columns(worker=pl.lit("s") + pl.col("worker"))).with_voices(one.voices)
    assert len(strangers.statements.list) == 0
