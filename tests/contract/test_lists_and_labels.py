"""The contract of the models that take ranked lists or labels as they are."""

import json

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from answers import codes, finite, fit, held_to
from crowdrank.data import comparisons
from crowdrank.models import entries
from helpers import random_frames

ENTRIES = [entry for entry in entries().values() if "pairs" not in entry.kinds]

pytestmark = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


@pytest.fixture(params=[0, 3], ids=["one query", "three queries"])
def frames(entry, request):
    return random_frames(entry, request.param)


class TestSameAnswer:
    def test_under_other_names(self, entry, frames):
        for frame in frames:
            rng = np.random.default_rng(0)
            names = {
                column: dict(
                    zip(
                        distinct := sorted(set(frame[column])),
                        [f"x{k:03d}" for k in rng.permutation(len(distinct))],
                        strict=True,
                    )
                )
                for column in ("item", "worker", "query")
                if column in frame.columns
            }
            other = frame.with_columns(pl.col(column).replace(own) for column, own in names.items())
            back = {column: {new: old for old, new in own.items()} for column, own in names.items()}
            maps = [back.get(column) for column in ("item", "worker", "query")]
            held_to(entry, "names", fit(entry, frame), fit(entry, other), *maps)

    def test_under_shuffled_rows(self, entry, frames):
        for frame in frames:
            held_to(entry, "rows", fit(entry, frame), fit(entry, frame.sample(fraction=1, shuffle=True, seed=1)))

    def test_on_other_threads_to_the_bit(self, entry, frames, monkeypatch):
        monkeypatch.setattr(comparisons.plan, "__defaults__", (50,))
        for frame in frames:
            one, two = (fit(entry, frame, engine=cr.LocalEngine(threads)) for threads in (1, 3))
            held_to(entry, "threads", one, two, tolerance=0)

    def test_for_a_doubled_list_or_label_and_a_weight_of_two(self, entry, frames):
        for frame in frames:
            if "rank" in frame.columns:
                some = frame["list"] == "l0"
                again = frame.filter(some).with_columns(list=pl.lit("l9"))
            else:
                some = pl.Series(np.random.default_rng(2).random(len(frame)) < 0.4)
                again = frame.filter(some)
            weighted = frame.with_columns(weight=some.cast(pl.Float64) + 1)
            if entry.kinds[0] == "rankings" and "label" in frame.columns:
                continue  # the labels of a worker are one list, which has one weight
            held_to(entry, "weights", fit(entry, pl.concat([frame, again])), fit(entry, weighted))


class TestResults:
    def test_are_in_shape(self, entry, frames):
        for frame in frames:
            model = fit(entry, frame)
            table = model.ranking_.polars()
            assert (table["low"] <= table["score"]).all()
            assert (table["score"] <= table["high"]).all()
            assert (table["rank_low"] <= table["rank"]).all()
            assert (table["rank"] <= table["rank_high"]).all()
            for _, part in table.group_by("query"):
                assert sorted(part["rank"]) == list(range(1, len(part) + 1))
                assert part.sort("rank")["score"].is_sorted(descending=True)
                assert part.sort("rank")["tier"].is_sorted()
            people = model.workers_.polars()
            assert people.select(pl.col("quality", "low", "high").is_between(0, 1).all()).row(0) == (True,) * 3
            assert set(people["verdict"]) <= {"reliable", "malicious", "spammer", "unsure"}
            evidence = model.evidence_
            assert len(evidence.comparisons) == len(evidence.opponents) == len(evidence.part) == len(table)
            fitted = model.fit_.as_dict()
            assert json.loads(json.dumps(fitted, allow_nan=False)) == fitted
            assert fitted["converged"] is True

    def test_every_item_is_ranked(self, entry, frames):
        for frame in frames:
            keys = [column for column in ("query", "item") if column in frame.columns]
            assert len(fit(entry, frame).ranking_) == frame.select(keys).n_unique()

    def test_labels_have_a_posterior(self, entry, frames):
        for frame in frames:
            model = fit(entry, frame)
            if entry.kinds != ("ratings",):
                assert model.labels_ is None
                continue
            table = model.labels_.polars()
            assert table["label"].is_in(model.labels_.values).all()
            np.testing.assert_allclose(model.labels_.probability.sum(axis=1), 1.0)
            assert len(table) == len(model.ranking_)

    def test_find_the_order(self, entry):
        rng = np.random.default_rng(3)
        scores = np.linspace(3, -3, 7)
        rows = []
        for worker in range(40):
            seen = scores + rng.gumbel(0, 0.7, 7)
            order = np.argsort(-seen)
            label = np.clip(np.round(seen / 2) + 3, 1, 5)
            rows += [(f"w{worker}", f"i{item}", place + 1, label[item]) for place, item in enumerate(order)]
        frame = pl.DataFrame(rows, schema=["worker", "item", "rank", "label"], orient="row")
        given = frame.drop("label" if entry.kinds[0] == "rankings" else "rank")
        assert fit(entry, given).ranking_.polars()["item"].to_list() == [f"i{k}" for k in range(7)]


class TestOddData:
    """An answer with a warning, or a clear error; never a silent wrong number."""

    def given(self, entry, rows):
        """Rows of (worker, item, place), as rankings or as labels."""
        frame = pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row")
        return frame if entry.kinds[0] == "rankings" else frame.select("worker", "item", label=9 - pl.col("rank"))

    def test_one_worker(self, entry):
        model = fit(entry, self.given(entry, [("w", "a", 1), ("w", "b", 2), ("w", "c", 3)]))
        finite(model)
        assert model.ranking_.polars()["item"].to_list() == ["a", "b", "c"]
        assert "few-judgments" in codes(model)

    def test_all_tied(self, entry):
        rows = [(worker, item, 1) for worker in "vw" for item in "abc"]
        frame = self.given(entry, rows)
        if entry.kinds[0] == "rankings":
            with pytest.raises(cr.InputError, match="No list orders two items"):
                fit(entry, frame)
            return
        model = fit(entry, frame)
        assert "one-label" in codes(model)
        assert np.ptp(model.ranking_.score) == pytest.approx(0, abs=1e-9)
        assert (model.ranking_.tier == 1).all()

    def test_one_item(self, entry):
        frame = self.given(entry, [("v", "a", 1), ("w", "a", 2)])
        if entry.kinds[0] == "rankings":
            with pytest.raises(cr.InputError, match="No list orders two items"):
                fit(entry, frame)
        else:
            assert len(fit(entry, frame).ranking_) == 1

    def test_no_workers(self, entry):
        frame = self.given(entry, [("w", "a", 1), ("w", "b", 2), ("w", "c", 3)]).drop("worker")
        if entry.workers == "needed":
            with pytest.raises(cr.InputError, match="do not say who judged"):
                fit(entry, frame)
        else:
            assert fit(entry, frame).workers_ is None

    def test_pairs_are_refused(self, entry):
        frame = pl.DataFrame({"worker": ["w"], "winner": ["a"], "loser": ["b"]})
        with pytest.raises(cr.InputError, match="these judgments are pairs"):
            fit(entry, frame)

    def test_no_rows_is_an_error(self, entry):
        with pytest.raises(cr.InputError, match="no rows"):
            fit(entry, self.given(entry, [("w", "a", 1)]).clear())

    def test_a_missing_item_is_an_error(self, entry):
        with pytest.raises(cr.InputError, match="row 2, column 'item'"):
            fit(entry, self.given(entry, [("w", "a", 1), ("w", None, 2)]))

    def test_two_labels_or_lists_prove_nothing_of_a_worker(self, entry):
        rows = [("w", "a", 1), ("w", "b", 2), ("v", "a", 2), ("v", "b", 1)]
        people = fit(entry, self.given(entry, rows)).workers_.polars()
        assert set(people["verdict"]) == {"unsure"}
