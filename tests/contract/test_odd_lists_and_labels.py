"""Odd lists and labels: an answer with a warning, or a clear error; never a silent wrong number."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from answers import codes, finite, fit, same
from cases import every_model, of_lists, of_lists_or_labels, representative


def read_before(entry):
    """One model of each family, for what is said of the judgments before a model gets them."""
    return of_lists_or_labels(entry) and representative(entry)


def given(entry, rows):
    """Rows of (worker, item, place), as rankings or as labels."""
    frame = pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row")
    return frame if of_lists(entry) else frame.select("worker", "item", label=9 - pl.col("rank"))


@every_model(of_lists_or_labels)
def test_find_the_order(entry):
    rng = np.random.default_rng(3)
    scores = np.linspace(3, -3, 7)
    rows = []
    for worker in range(40):
        seen = scores + rng.gumbel(0, 0.7, 7)
        order = np.argsort(-seen)
        label = np.clip(np.round(seen / 2) + 3, 1, 5)
        rows += [(f"w{worker}", f"i{item}", place + 1, label[item]) for place, item in enumerate(order)]
    frame = pl.DataFrame(rows, schema=["worker", "item", "rank", "label"], orient="row")
    given = frame.drop("label" if of_lists(entry) else "rank")
    assert fit(entry, given).ranking_.polars()["item"].to_list() == [f"i{k}" for k in range(7)]


@every_model(of_lists_or_labels)
def test_one_worker(entry):
    model = fit(entry, given(entry, [("w", "a", 1), ("w", "b", 2), ("w", "c", 3)]))
    finite(model)
    assert model.ranking_.polars()["item"].to_list() == ["a", "b", "c"]
    assert {"few-judgments", "one-worker"} <= codes(model)


@every_model(of_lists_or_labels)
def test_all_tied(entry):
    rows = [(worker, item, 1) for worker in "vw" for item in "abc"]
    frame = given(entry, rows)
    if of_lists(entry):
        with pytest.raises(cr.InputError, match="No list orders two items"):
            fit(entry, frame)
        return
    model = fit(entry, frame)
    assert "one-label" in codes(model)
    assert np.ptp(model.ranking_.score) == pytest.approx(0, abs=1e-9)
    assert (model.ranking_.tier == 1).all()


@every_model(of_lists_or_labels)
def test_one_item(entry):
    frame = given(entry, [("v", "a", 1), ("w", "a", 2)])
    if of_lists(entry):
        with pytest.raises(cr.InputError, match="No list orders two items"):
            fit(entry, frame)
    else:
        assert len(fit(entry, frame).ranking_) == 1


@every_model(of_lists_or_labels)
def test_no_workers(entry):
    frame = given(entry, [("w", "a", 1), ("w", "b", 2), ("w", "c", 3)]).drop("worker")
    if entry.workers == "needed":
        with pytest.raises(cr.InputError, match="do not say who judged"):
            fit(entry, frame)
    else:
        assert fit(entry, frame).workers_ is None


@every_model(read_before)
def test_pairs_are_refused(entry):
    frame = pl.DataFrame({"worker": ["w"], "winner": ["a"], "loser": ["b"]})
    with pytest.raises(cr.InputError, match="these judgments are pairs"):
        fit(entry, frame)


@every_model(read_before)
def test_no_rows_is_an_error(entry):
    with pytest.raises(cr.InputError, match="no rows"):
        fit(entry, given(entry, [("w", "a", 1)]).clear())


@every_model(read_before)
def test_a_missing_item_is_an_error(entry):
    with pytest.raises(cr.InputError, match="row 2, column 'item'"):
        fit(entry, given(entry, [("w", "a", 1), ("w", None, 2)]))


@every_model(of_lists_or_labels)
def test_two_labels_or_lists_prove_nothing_of_a_worker(entry):
    rows = [("w", "a", 1), ("w", "b", 2), ("v", "a", 2), ("v", "b", 1)]
    people = fit(entry, given(entry, rows)).workers_.polars()
    assert set(people["verdict"]) == {"unsure"}


@every_model(of_lists)
def test_lists_that_share_nothing(entry):
    rows = [("v", "a", 1), ("v", "b", 2), ("w", "a", 1), ("w", "b", 2), ("x", "c", 1), ("x", "d", 2)]
    model = fit(entry, pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row"))
    assert "disconnected" in codes(model)
    finite(model)


@every_model(of_lists)
def test_missing_items(entry):
    rows = [(f"w{k}", item, place) for k in range(4) for place, item in enumerate("ab", 1)]
    rows += [("x", "c", 1), ("x", "b", 2)]
    table = cr.read(pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row"))
    assert table.missing == "unknown"
    order = {}
    for missing in ("below", "unknown"):
        model = fit(entry, cr.read(table, missing=missing))
        order[missing] = model.ranking_.polars()["item"].to_list()
        assert model.fit_.judgments["missing"] == missing
        assert ("missing" in codes(model)) == (missing == "below")
    assert order["below"][-1] == "c"  # four lists do not rank it, and so put it below
    assert order["unknown"][-1] == "b"


@every_model(of_lists)
def test_rows_of_other_weights_in_any_order(entry):
    rows = [("w", "a", 1, 1.0), ("w", "b", 2, 9.0), ("v", "b", 1, 1.0), ("v", "c", 2, 2.0)]
    rows += [("v", "a", None, 5.0), ("u", "c", 1, 1.0), ("u", "a", 2, 1.0)]
    frame = pl.DataFrame(rows, schema=["worker", "item", "rank", "weight"], orient="row")
    one = fit(entry, frame)
    for seed in range(5):
        same(one, fit(entry, frame.sample(fraction=1, shuffle=True, seed=seed)))
