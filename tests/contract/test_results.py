"""The results of every model: their shape, their kind, and what its entry says of them."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdrank as cr
from answers import fit, same
from cases import cases_of, every_case, every_model, of_votes, representative
from crowdrank.models.registry import INVARIANCES


@every_model()
def test_registration_is_complete(entry):
    model = entry.make()
    assert model.name == entry.name
    assert model.__doc__
    assert entry.varies <= set(INVARIANCES)


@every_model()
def test_parameters_are_kept_as_given_cloned_and_set(entry):
    assert entry.make().get_params() == {**entry.load().parameters(), **entry.preset}
    model = entry.make({"seed": 3})
    assert model.get_params()["seed"] == 3
    assert model.clone().get_params() == model.get_params()
    with pytest.raises(cr.UsageError, match="no parameter 'nonsense'"):
        model.set_params(nonsense=1)


@every_model()
def test_results_come_out_as_the_kind_that_came_in(entry):
    case = cases_of(entry)[0]
    given = {"pandas": (case.frame.to_pandas(), pd.DataFrame)}
    if representative(entry):
        given["pyarrow"] = (case.frame.to_arrow(), pa.Table)
    for frame, kind in given.values():
        model = fit(entry, frame)
        assert all(isinstance(table.frame(), kind) for table in model.result_.tables.values())
        same(case.model, model)
    assert isinstance(case.model.ranking_.frame(), pl.DataFrame)


@every_model()
def test_nothing_given_is_written_to(entry):
    table = cr.read(cases_of(entry)[0].frame)
    arrays = {name: own for name, own in vars(table).items() if isinstance(own, np.ndarray)}
    before = {name: own.copy() for name, own in arrays.items()}
    fit(entry, table)
    assert len(arrays) >= 3
    for name, own in arrays.items():
        np.testing.assert_array_equal(own, before[name])
        assert not own.flags.writeable


@every_case()
def test_the_ranking_is_in_shape(case):
    table = case.model.ranking_.polars()
    assert table.columns == [
        "query", "item", "rank", "tier", "score", "stderr", "low", "high", "rank_low", "rank_high"
    ]  # fmt: skip
    items = {"left", "right", "item"} & set(case.frame.columns)
    keys = ["query"] if case.queries else []
    named = pl.concat([case.frame.select(*keys, item=column) for column in items])
    assert len(table) == named.n_unique()
    assert (table["low"] <= table["score"]).all()
    assert (table["score"] <= table["high"]).all()
    assert (table["rank_low"] <= table["rank"]).all()
    assert (table["rank"] <= table["rank_high"]).all()
    for _, part in table.group_by("query"):
        assert sorted(part["rank"]) == list(range(1, len(part) + 1))
        assert part.sort("rank")["score"].is_sorted(descending=True)
        assert part.sort("rank")["tier"].is_sorted()


@every_case()
def test_workers_are_in_shape(case):
    people = case.model.workers_.polars()
    assert people.columns[:6] == ["worker", "judgments", "quality", "low", "high", "verdict"]
    assert people.select(pl.col("quality", "low", "high").is_between(0, 1).all()).row(0) == (True,) * 3
    assert set(people["verdict"]) <= {"reliable", "malicious", "spammer", "unsure"}
    if of_votes(case.entry):
        assert people["judgments"].sum() == pytest.approx(len(case.frame))


@every_model()
def test_scores_are_centered_if_the_entry_says_so(entry):
    models = [case.model for case in cases_of(entry)]
    sums = [np.bincount(model.evidence_.part, weights=model.ranking_.score) for model in models]
    assert (np.abs(np.concatenate(sums)).max() < 1e-9) == entry.centered


@every_case()
def test_labels_have_a_posterior(case):
    labels = case.model.labels_
    assert (labels is not None) == (case.entry.kinds == ("ratings",))
    if labels is None:
        return
    table = labels.polars()
    assert table["label"].is_in(labels.values).all()
    np.testing.assert_allclose(labels.probability.sum(axis=1), 1.0)
    assert len(table) == len(case.model.ranking_)


@every_case()
def test_the_evidence_stands_beside_the_ranking(case):
    evidence, ranking = case.model.evidence_, case.model.ranking_
    assert len(evidence.comparisons) == len(evidence.opponents) == len(evidence.part) == len(ranking)
    if of_votes(case.entry):
        assert evidence.comparisons.sum() == 2 * len(case.frame)
        assert sum(evidence.matrix(query).sum() for query in range(len(evidence.side))) == len(case.frame)


@every_case()
def test_fit_is_plain_data(case):
    found = case.model.fit_.as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["converged"] is True
    assert found["judgments"]["rows"] == len(case.frame.drop_nulls())


@every_case(of_votes)
def test_probabilities_sum_to_one_and_follow_the_scores(case):
    model, frame = case.model, case.frame
    if not model.predicts:
        with pytest.raises(cr.UsageError, match="no probabilities"):
            model.predict_proba(frame)
        return
    table = model.predict_proba(frame)
    assert table.shape == (len(frame), 3)
    assert (table >= 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
    votes = cr.read(frame)
    chosen = table[np.arange(votes.rows), np.array([0, 2, 1])[votes.outcome]]
    assert np.log(chosen).mean() > -np.log(3)
    some = frame.slice(5, 3)  # ids matter, codes do not
    np.testing.assert_allclose(model.predict_proba(some), table[5:8], atol=1e-12)


@every_case(of_votes, queries=(0,))
def test_what_was_not_seen_is_average(case):
    if not case.model.predicts:
        return
    new = pl.DataFrame({"worker": ["nobody"], "left": ["x"], "right": ["y"], "label": ["x"]})
    left, tie, right = case.model.predict_proba(new)[0]
    assert left + tie + right == pytest.approx(1.0)


@every_case()
def test_the_posterior_is_what_the_fit_says(case):
    """A normal one that agrees with the ranking, the probabilities of labels, or none."""
    fitted, kind = case.model, case.model.fit_.details["posterior"]
    if kind == "none":
        assert fitted.posterior_ is None
    elif kind == "probabilities of the labels":
        assert fitted.posterior_ is fitted.labels_
    else:
        assert fitted.posterior_.kind == kind
        np.testing.assert_allclose(fitted.posterior_.score, fitted.ranking_.score)
        np.testing.assert_allclose(fitted.posterior_.stderr, fitted.ranking_.stderr)
