"""Documents and their labels."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.errors import InputError, UsageError
from crowdrank.rankers.labeled import label_documents, split_by_query
from crowdrank.rankers.validation import one_measure
from rankers.made import labeled_frame, scores_by_id


def test_documents_without_a_label_are_candidates_all_the_same():
    """Their features take part in the standardization within the query, as they will when documents are scored."""
    frame = labeled_frame()
    judged = frame.with_columns(label=pl.when(pl.col("item") < "d004").then("label"))
    ranker = cr.Regression().fit(judged)
    z = [(pl.col(name) - pl.col(name).mean()) / pl.col(name).std(ddof=0) for name in ("f0", "f1", "f2", "f3")]
    standardized = frame.with_columns(own.over("query") for own in z)
    by_hand = cr.Regression(standardize=None).fit(standardized.filter(pl.col("item") < "d004"))
    np.testing.assert_allclose(
        ranker.trained_.scoring.function.weights, by_hand.trained_.scoring.function.weights, atol=1e-5
    )
    np.testing.assert_allclose(scores_by_id(ranker, frame), scores_by_id(by_hand, standardized), atol=1e-5)


def test_other_features_of_the_same_queries_are_split_alike():
    frame = labeled_frame()
    with_more = frame.with_columns(f9=pl.lit(1.0) + pl.col("f0") ** 2)
    held = [
        sorted(split_by_query(label_documents(cr.read_features(own), None), 0.3, seed=4)[1].query.to_list())
        for own in (frame, with_more)
    ]
    assert held[0] == held[1]
    assert len(held[0]) == 6


@pytest.mark.parametrize("scorer", ["linear", "net"])
def test_features_in_a_file_are_validated_too(scorer, tmp_path):
    frame = labeled_frame()
    stored = cr.read_features(frame, memory=1, spool=tmp_path)
    assert stored.summary()["storage"] == "file"
    settings = {"scorer": scorer, "patience": 5}
    here, there = (cr.ListMLE(**settings).fit(own, validation=0.3) for own in (frame, stored))
    assert len(there.validation_) > 0
    tolerance = 1e-9 if scorer == "linear" else 0.1
    np.testing.assert_allclose(scores_by_id(there, frame), scores_by_id(here, frame), atol=tolerance)


def test_err_has_one_scale_for_all_parts():
    """The largest label of all queries, not of those at hand."""
    frame = labeled_frame().with_columns(label=pl.when(pl.col("query") == "q000").then(4).otherwise("label"))
    labeled = label_documents(cr.read_features(frame), None)
    part = labeled.take(np.flatnonzero((labeled.query != "q000").to_numpy()))
    scores = np.arange(len(part.rows), dtype=float)
    whole = part.queries.mean(one_measure("ERR@5"), scores)
    assert whole < type(part.queries)(part.start, part.label).mean(one_measure("ERR@5"), scores) / 1.5


@pytest.mark.parametrize(("value", "words"), [("false", "tune"), (1, "tune"), ("nope", "tune")])
def test_a_flag_is_true_or_false(value, words):
    with pytest.raises(UsageError, match=f"The parameter '{words}' must be true or false"):
        cr.ListMLE(tune=value).fit(labeled_frame(), validation=0.3)


def test_a_measure_that_falls_is_refused():
    with pytest.raises(UsageError, match="smaller for better rankings"):
        cr.ListMLE(measure="distance").fit(labeled_frame())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weight": pl.lit(0.0)}, "every weight is 0"),
        ({"label": pl.lit(-1)}, "every label is below 0"),
        ({"label": pl.lit(1e200)}, "is too large to learn from"),
    ],
)
def test_nothing_to_learn_from(change, words):
    with pytest.raises(InputError, match=words):
        cr.ListMLE().fit(labeled_frame().with_columns(**change))


def test_columns_by_name_and_columns_that_the_ranker_does_not_know():
    frame = labeled_frame().rename({"item": "doc"})
    ranker = cr.ListMLE().fit(frame, columns="item=doc")
    more = frame.with_columns(title=pl.lit("red shoes"))
    found = ranker.score(more, columns="item=doc")
    assert [note.code for note in found.notes] == ["extra-features"]
    assert (found.score == ranker.score(frame, columns="item=doc").score).all()


def test_what_the_user_is_told_about_weights_and_queries():
    frame = labeled_frame()
    weighted = frame.with_columns(weight=pl.col("f0").abs() + 0.1)
    assert "weights" in {note.code for note in cr.ListMLE().fit(weighted).fit_.warnings}
    alone = frame.filter(pl.col("query") == "q001").drop("query")
    assert "one-query" in {note.code for note in cr.ListMLE().fit(alone).fit_.warnings}
    assert "one-query" in {note.code for note in cr.ListMLE().fit(frame).score(alone).notes}
    assert "no-validation" not in {note.code for note in cr.ListMLE().fit(frame).fit_.warnings}
    assert "no-validation" in {note.code for note in cr.ListMLE(scorer="net").fit(frame).fit_.warnings}


def test_query_id_is_a_query():
    frame = labeled_frame().rename({"query": "query_id"})
    assert len(cr.read_features(frame).index.queries) == 20
