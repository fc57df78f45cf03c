"""Odd votes: an answer with a warning, or a clear error; never a silent wrong number."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from answers import codes, finite, fit, same
from cases import every_model, of_votes, representative


def read_before(entry):
    """One model of each family, for what is said of the judgments before a model gets them."""
    return of_votes(entry) and representative(entry)


def votes_of(rows, worker=True):
    frame = pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
    return frame if worker else frame.drop("worker")


@every_model(of_votes)
def test_find_the_order(entry):
    from crowdrank.measures import kendall_tau
    from crowdrank.simulate import bt_crowd

    crowd = bt_crowd(seed=0, items=15, workers=10, votes=4000, spammers=0)
    steady = {"orders": 8} if entry.sequential else {}  # the noise of a single order does not vanish
    joined = entry.load()(**steady).fit(crowd.judgments).ranking_.polars().join(crowd.gold, on="item")
    assert kendall_tau(joined["score"].to_numpy(), joined["grade"].to_numpy()) > 0.85


@every_model(of_votes)
def test_winless_and_unbeaten_items(entry):
    model = fit(entry, votes_of([("w", "a", "b"), ("v", "a", "b"), ("w", "b", "c"), ("v", "a", "c")]))
    assert {"winless", "unbeaten"} <= codes(model)
    finite(model)
    assert model.ranking_.polars()["item"].to_list() == ["a", "b", "c"]


@every_model(of_votes)
def test_a_disconnected_graph(entry):
    rows = [
        ("w", "a", "b"),
        ("w", "b", "a"),
        ("v", "a", "b"),
        ("w", "c", "d"),
        ("v", "c", "d"),
        ("v", "d", "c"),
    ]
    model = fit(entry, votes_of(rows))
    assert "disconnected" in codes(model)
    finite(model)
    table = model.ranking_.polars()
    assert table["rank_high"].max() == 4
    assert (table.filter(pl.col("item").is_in(["a", "c"]))["rank_low"] == 1).all()
    if entry.centered:  # other scores, such as shares, stay as they are
        assert table.filter(pl.col("item").is_in(["a", "b"]))["score"].sum() == pytest.approx(0, abs=1e-12)


@every_model(of_votes)
def test_tiers_are_counted_within_a_group(entry):
    # the groups interleave: a, then x, b and y in some order, then c
    rows = [(f"w{k // 2 % 4}", *pair) for k in range(40) for pair in ("ab", "bc", "ac", ("xy", "yx")[k % 2])]
    table = fit(entry, votes_of(rows)).ranking_.polars()
    assert dict(table.select("item", "group").iter_rows()) == {"a": 1, "b": 1, "c": 1, "x": 2, "y": 2}
    assert table.filter(group=2)["tier"].to_list() == [1, 1]
    assert table.filter(group=1)["tier"].is_sorted()
    assert table.filter(group=1)["tier"][0] == 1


@every_model(of_votes)
def test_one_worker(entry):
    model = fit(entry, votes_of([("w", "a", "b"), ("w", "b", "c"), ("w", "a", "c"), ("w", "c", "b")]))
    finite(model)
    assert len(model.workers_) == 1
    assert "one-worker" in codes(model)


@every_model(read_before)
def test_unknown_workers_are_not_one_worker(entry):
    model = fit(entry, votes_of([(None, "a", "b"), (None, "b", "c"), (None, "a", "c"), (None, "c", "b")]))
    assert model.workers_.worker.to_list() == ["(unknown)"]
    assert "one-worker" not in codes(model)


@every_model(of_votes)
def test_one_pair(entry):
    model = fit(entry, votes_of([("w", "a", "b")]))
    finite(model)
    assert "few-judgments" in codes(model)


@every_model(read_before)
def test_one_item_is_an_error(entry):
    with pytest.raises(cr.InputError, match="no usable rows"):
        fit(entry, votes_of([("w", "a", "a")]))


@every_model(of_votes)
def test_only_ties(entry):
    frame = pl.DataFrame({"worker": ["w", "v"], "left": ["a", "b"], "right": ["b", "c"], "label": ["tie", "tie"]})
    model = fit(entry, frame)
    finite(model)
    assert np.ptp(model.ranking_.score) == pytest.approx(0, abs=1e-12)
    assert (model.ranking_.tier == 1).all()


@every_model(of_votes)
def test_both_answers_to_one_pair_are_data(entry):
    model = fit(entry, votes_of([("w", "a", "b"), ("w", "b", "a")]))
    if entry.sequential:  # the later answer counts for more
        assert model.ranking_.polars()["item"].to_list() == ["b", "a"]
    else:
        assert np.ptp(model.ranking_.score) == pytest.approx(0, abs=1e-12)


@every_model(of_votes)
def test_no_workers(entry):
    frame = votes_of([("w", "a", "b"), ("w", "b", "c"), ("w", "c", "a")], worker=False)
    if entry.workers == "needed":
        with pytest.raises(cr.InputError, match="do not say who judged"):
            fit(entry, frame)
    else:
        model = fit(entry, frame)
        assert model.workers_ is None
        assert "one-worker" not in codes(model)


@every_model(read_before)
def test_no_rows_is_an_error(entry):
    with pytest.raises(cr.InputError, match="no rows"):
        fit(entry, votes_of([]))


@every_model(read_before)
def test_missing_values_are_errors(entry):
    with pytest.raises(cr.InputError, match="row 2, column 'winner'"):
        fit(entry, votes_of([("w", "a", "b"), ("w", None, "b")]))


@every_model(read_before)
@pytest.mark.parametrize("weight", [float("nan"), -1.0, float("inf")])
def test_bad_weights_are_errors(entry, weight):
    frame = votes_of([("w", "a", "b"), ("w", "b", "a")]).with_columns(weight=pl.Series([1.0, weight]))
    with pytest.raises(cr.InputError, match="row 2, column 'weight'"):
        fit(entry, frame)


@every_model(read_before)
def test_a_weight_of_nothing_leaves_the_row_out(entry):
    frame = votes_of([("w", "a", "b"), ("w", "b", "a"), ("w", "b", "a")])
    model = fit(entry, frame.with_columns(weight=pl.Series([1.0, 1.0, 0.0])))
    same(fit(entry, frame.head(2)), model)


@every_model(of_votes)
def test_ratings_and_rankings_are_converted_and_said(entry):
    ratings = pl.DataFrame({"worker": list("xxyy"), "item": list("abab"), "label": [3, 1, 2, 1]})
    rankings = ratings.select("worker", "item", rank=4 - pl.col("label"))
    for frame in (ratings, rankings):
        model = fit(entry, frame)
        assert "conversion" in codes(model)
        assert model.ranking_.polars()["item"].to_list() == ["a", "b"]


@every_model(of_votes)
def test_an_item_that_was_compared_with_nothing_stays_and_is_said(entry):
    ratings = pl.DataFrame(
        {"worker": list("xxyyx"), "query": list("ppppq"), "item": list("ababc"), "label": [3, 1, 2, 1, 5]}
    )
    model = fit(entry, ratings)
    assert model.ranking_.polars()["item"].to_list() == ["a", "b", "c"]
    assert np.isfinite(model.ranking_.score).all()
    assert "unjudged" in codes(model)
