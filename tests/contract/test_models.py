"""The contract: every registered model of votes passes by being registered.

A model gives the same answer to 1e-9 whatever the names, the order of the rows, the shards and the
threads are, and for a doubled row as for a weight of 2; but for those of them which its entry says that
it varies with, and there it must really do so.
"""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from answers import codes, finite, fit, held_to, same
from crowdrank.data import comparisons
from crowdrank.models import entries
from crowdrank.models.thurstonian import panels
from helpers import random_votes

ENTRIES = [entry for entry in entries().values() if "pairs" in entry.kinds]

pytestmark = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


@pytest.fixture(params=[0, 3], ids=["one query", "three queries"])
def frame(request):
    return random_votes(seed=11, votes=700, queries=request.param)


class TestSameAnswer:
    def test_under_other_names(self, entry, frame):
        rng = np.random.default_rng(0)

        def renamed(*columns):
            names = sorted(set().union(*(frame[column] for column in columns)) - {"tie"})
            return dict(zip(names, [f"x{k:03d}" for k in rng.permutation(len(names))], strict=True))

        items, workers = renamed("left", "right"), renamed("worker")
        queries = renamed("query") if "query" in frame.columns else None
        other = frame.with_columns(
            pl.col("left", "right", "label").replace(items), pl.col("worker").replace(workers)
        )
        if queries:
            other = other.with_columns(pl.col("query").replace(queries))

        def back(names):
            return {new: old for old, new in names.items()} if names else None

        held_to(entry, "names", fit(entry, frame), fit(entry, other), back(items), back(workers), back(queries))

    def test_under_shuffled_rows(self, entry, frame):
        held_to(entry, "rows", fit(entry, frame), fit(entry, frame.sample(fraction=1, shuffle=True, seed=1)))

    def test_under_shuffled_rows_with_timestamps(self, entry, frame):
        times = np.random.default_rng(4).permutation(len(frame)).astype(float)
        timed = frame.with_columns(timestamp=pl.Series(times))
        same(fit(entry, timed), fit(entry, timed.sample(fraction=1, shuffle=True, seed=1)))

    def test_under_swapped_sides(self, entry, frame):
        swapped = frame.rename({"left": "right", "right": "left"})
        held_to(entry, "sides", fit(entry, frame), fit(entry, swapped))

    @pytest.mark.parametrize("rows", [7, 100])
    def test_under_other_shards(self, entry, frame, rows, monkeypatch):
        whole = fit(entry, frame)
        monkeypatch.setattr(comparisons.plan, "__defaults__", (rows,))
        monkeypatch.setattr(panels.panels, "__defaults__", (rows,))
        held_to(entry, "shards", whole, fit(entry, frame))

    def test_on_other_threads_to_the_bit(self, entry, frame, monkeypatch):
        monkeypatch.setattr(comparisons.plan, "__defaults__", (50,))
        monkeypatch.setattr(panels.panels, "__defaults__", (50,))
        one, two = (fit(entry, frame, engine=cr.LocalEngine(threads)) for threads in (1, 3))
        held_to(entry, "threads", one, two, tolerance=0)

    def test_for_a_doubled_row_and_a_weight_of_two(self, entry, frame):
        some = pl.Series(np.random.default_rng(2).random(len(frame)) < 0.4)
        doubled = pl.concat([frame, frame.filter(some)])
        weighted = frame.with_columns(weight=some.cast(pl.Float64) + 1)
        held_to(entry, "weights", fit(entry, doubled), fit(entry, weighted))


class TestResults:
    def test_the_evidence_stands_beside_the_ranking(self, entry, frame):
        fitted = fit(entry, frame)
        ranking, evidence = fitted.ranking_, fitted.evidence_
        assert len(evidence.comparisons) == len(evidence.opponents) == len(evidence.part) == len(ranking)
        assert evidence.comparisons.sum() == 2 * len(frame)
        assert sum(evidence.matrix(query).sum() for query in range(len(evidence.side))) == len(frame)

    def test_are_in_shape(self, entry, frame):
        model = fit(entry, frame)
        table = model.ranking_.polars()
        assert table.columns == [
            "query", "item", "rank", "tier", "score", "stderr", "low", "high", "rank_low", "rank_high"
        ]  # fmt: skip
        assert (table["low"] <= table["score"]).all()
        assert (table["score"] <= table["high"]).all()
        assert (table["rank_low"] <= table["rank"]).all()
        assert (table["rank"] <= table["rank_high"]).all()
        for _, part in table.group_by("query"):
            assert sorted(part["rank"]) == list(range(1, len(part) + 1))
            assert part.sort("rank")["score"].is_sorted(descending=True)
            assert part.sort("rank")["tier"].is_sorted()
        people = model.workers_.polars()
        assert people.columns[:6] == ["worker", "judgments", "quality", "low", "high", "verdict"]
        assert people.select(pl.col("quality", "low", "high").is_between(0, 1).all()).row(0) == (True,) * 3
        assert set(people["verdict"]) <= {"reliable", "malicious", "spammer", "unsure"}
        assert people["judgments"].sum() == pytest.approx(len(frame))

    def test_find_the_order(self, entry):
        from crowdrank.measures import kendall_tau
        from crowdrank.simulate import bt_crowd

        crowd = bt_crowd(seed=0, items=15, workers=10, votes=4000, spammers=0)
        steady = {"orders": 20} if entry.sequential else {}  # the noise of a single order does not vanish
        joined = entry.load()(**steady).fit(crowd.judgments).ranking_.polars().join(crowd.gold, on="item")
        assert kendall_tau(joined["score"].to_numpy(), joined["grade"].to_numpy()) > 0.85

    def test_nothing_given_is_written_to(self, entry, frame):
        table = cr.read(frame)
        before = [table.left.copy(), table.right.copy(), table.outcome.copy(), table.worker.copy()]
        fit(entry, table)
        after = [table.left, table.right, table.outcome, table.worker]
        assert all((a == b).all() for a, b in zip(before, after, strict=True))
        with pytest.raises(ValueError, match="read-only"):
            table.left[0] = 5

    def test_fit_is_plain_data(self, entry, frame):
        import json

        fitted = fit(entry, frame).fit_.as_dict()
        assert json.loads(json.dumps(fitted, allow_nan=False)) == fitted
        assert fitted["converged"] is True
        assert fitted["judgments"]["rows"] == len(frame)


class TestParameters:
    def test_are_kept_as_given(self, entry):
        assert entry.make().get_params() == {**entry.load().parameters(), **entry.preset}


def votes_of(rows, worker=True):
    frame = pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
    return frame if worker else frame.drop("worker")


class TestOddData:
    """An answer with a warning, or a clear error; never a silent wrong number."""

    def test_winless_and_unbeaten_items(self, entry):
        model = fit(entry, votes_of([("w", "a", "b"), ("v", "a", "b"), ("w", "b", "c"), ("v", "a", "c")]))
        assert {"winless", "unbeaten"} <= codes(model)
        finite(model)
        assert model.ranking_.polars()["item"].to_list() == ["a", "b", "c"]

    def test_a_disconnected_graph(self, entry):
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
        if entry.name not in ("win-rate", "borda", "crowdagg-ndcg", "crowdagg-rbp"):
            # shares and expected discounts are not centred, and compare across groups
            assert table["rank_high"].max() == 4
            assert (table.filter(pl.col("item").is_in(["a", "c"]))["rank_low"] == 1).all()
            assert table.filter(pl.col("item").is_in(["a", "b"]))["score"].sum() == pytest.approx(0, abs=1e-12)

    def test_one_worker(self, entry):
        model = fit(entry, votes_of([("w", "a", "b"), ("w", "b", "c"), ("w", "a", "c"), ("w", "c", "b")]))
        finite(model)
        assert len(model.workers_) == 1
        assert ("one-worker" in codes(model)) == (entry.workers == "needed")

    def test_one_pair(self, entry):
        model = fit(entry, votes_of([("w", "a", "b")]))
        finite(model)
        assert "few-judgments" in codes(model)

    def test_one_item_is_an_error(self, entry):
        with pytest.raises(cr.InputError, match="no row is left"):
            fit(entry, votes_of([("w", "a", "a")]))

    def test_only_ties(self, entry):
        frame = pl.DataFrame(
            {"worker": ["w", "v"], "left": ["a", "b"], "right": ["b", "c"], "label": ["tie", "tie"]}
        )
        model = fit(entry, frame)
        finite(model)
        assert np.ptp(model.ranking_.score) == pytest.approx(0, abs=1e-12)
        assert (model.ranking_.tier == 1).all()

    def test_both_answers_to_one_pair_are_data(self, entry):
        model = fit(entry, votes_of([("w", "a", "b"), ("w", "b", "a")]))
        if entry.sequential:  # the later answer counts for more
            assert model.ranking_.polars()["item"].to_list() == ["b", "a"]
        else:
            assert np.ptp(model.ranking_.score) == pytest.approx(0, abs=1e-12)

    def test_no_workers(self, entry):
        frame = votes_of([("w", "a", "b"), ("w", "b", "c"), ("w", "c", "a")], worker=False)
        if entry.workers == "needed":
            with pytest.raises(cr.InputError, match="do not say who judged"):
                fit(entry, frame)
        else:
            assert fit(entry, frame).workers_ is None

    def test_no_rows_is_an_error(self, entry):
        with pytest.raises(cr.InputError, match="no rows"):
            fit(entry, votes_of([]))

    def test_missing_values_are_errors(self, entry):
        with pytest.raises(cr.InputError, match="row 2, column 'winner'"):
            fit(entry, votes_of([("w", "a", "b"), ("w", None, "b")]))

    @pytest.mark.parametrize("weight", [float("nan"), -1.0, float("inf")])
    def test_bad_weights_are_errors(self, entry, weight):
        frame = votes_of([("w", "a", "b"), ("w", "b", "a")]).with_columns(weight=pl.Series([1.0, weight]))
        with pytest.raises(cr.InputError, match="row 2, column 'weight'"):
            fit(entry, frame)

    def test_a_weight_of_nothing_leaves_the_row_out(self, entry):
        frame = votes_of([("w", "a", "b"), ("w", "b", "a"), ("w", "b", "a")])
        model = fit(entry, frame.with_columns(weight=pl.Series([1.0, 1.0, 0.0])))
        same(fit(entry, frame.head(2)), model)

    def test_ratings_and_rankings_are_converted_and_said(self, entry):
        ratings = pl.DataFrame({"worker": list("xxyy"), "item": list("abab"), "label": [3, 1, 2, 1]})
        rankings = ratings.select("worker", "item", rank=4 - pl.col("label"))
        for frame in (ratings, rankings):
            model = fit(entry, frame)
            assert "conversion" in codes(model)
            assert model.ranking_.polars()["item"].to_list() == ["a", "b"]

    def test_an_item_that_was_compared_with_nothing_stays_and_is_said(self, entry):
        ratings = pl.DataFrame(
            {"worker": list("xxyyx"), "query": list("ppppq"), "item": list("ababc"), "label": [3, 1, 2, 1, 5]}
        )
        model = fit(entry, ratings)
        assert model.ranking_.polars()["item"].to_list() == ["a", "b", "c"]
        assert np.isfinite(model.ranking_.score).all()
        assert "unjudged" in codes(model)
