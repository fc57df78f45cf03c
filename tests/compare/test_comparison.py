"""Models side by side, against fits and sums made by hand."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.compare import comparison
from crowdrank.compare.comparison import Trial, score_trials
from crowdrank.compare.folds import deal
from crowdrank.compare.predictions import Predictions
from crowdrank.compare.split import Split
from crowdrank.errors import FitError
from crowdrank.models import entries, find
from helpers import random_votes


def row(found, model):
    return next(row for row in found.rows if row.model == model)


def test_a_model_whose_package_is_missing_is_left_out(monkeypatch):
    from crowdrank.models import registry

    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    found = cr.compare_models(random_votes(), ["bt", "trueskill"])
    assert [row.model for row in found.rows] == ["bt"]
    assert any("Needs the package trueskillthroughtime: trueskill" in note.message for note in found.notes)


def test_a_wrong_parameter_names_the_model():
    with pytest.raises(cr.UsageError, match="bt: The parameter 'regularization'"):
        cr.compare_models(random_votes(), ["bt"], settings={"regularization": "x"})


def test_predictions_need_no_resamples(monkeypatch):
    from crowdrank.models.pairs import estimator

    calls = []
    plain = estimator.bootstrap_scores
    monkeypatch.setattr(estimator, "bootstrap_scores", lambda *words: calls.append(1) or plain(*words))
    cr.compare_models(random_votes(), ["bt"], settings={"intervals": "bootstrap", "resamples": 20})
    assert len(calls) == 1  # the fit to all votes


@pytest.mark.parametrize("ties", [0.0, 0.2])
def test_log_loss_by_hand(ties):
    """Each vote's probability from a fit to the frame without its fold, row by row."""
    frame = random_votes(items=4, workers=3, votes=60, ties=ties)
    fold = deal(cr.read(frame), 3)
    losses, right = [], []
    for place, vote in enumerate(frame.iter_rows(named=True)):
        model = cr.BradleyTerry().fit(frame.filter(pl.Series(fold != fold[place])))
        left, tie, other = model.predict_proba(frame[place : place + 1])[0]
        said = {"tie": tie, vote["left"]: left, vote["right"]: other}[vote["label"]]
        losses.append(-math.log(said if ties else said / (left + other)))
        if vote["label"] != "tie":
            right.append((vote["label"] == vote["left"]) == (left > other))
    found = cr.compare_models(frame, ["bt"], folds=3).rows[0]
    assert found.log_loss == pytest.approx(np.mean(losses), abs=1e-9)
    assert found.log_loss_se == pytest.approx(np.std(losses, ddof=1) / math.sqrt(60), abs=1e-9)
    assert found.accuracy == pytest.approx(np.mean(right))
    assert found.accuracy_se == pytest.approx(np.std(right, ddof=1) / math.sqrt(len(right)))


def test_a_model_that_only_orders_is_scored_by_its_scores():
    frame = random_votes(items=5, votes=120, ties=0.1, queries=2)
    fold = deal(cr.read(frame), 4)
    hit = []
    for number in range(4):
        ranking = cr.WinRate().fit(frame.filter(pl.Series(fold != number))).ranking_.polars()
        score = {
            (query, item): value for query, item, value in ranking.select("query", "item", "score").iter_rows()
        }
        for vote in frame.filter(pl.Series(fold == number)).iter_rows(named=True):
            left, right = (score.get((vote["query"], vote[side])) for side in ("left", "right"))
            if vote["label"] != "tie":
                ahead = 0 if left is None or right is None else np.sign(left - right)
                hit.append((1 + ahead * (1 if vote["label"] == vote["left"] else -1)) / 2)
    found = cr.compare_models(frame, ["win-rate"], folds=4).rows[0]
    assert found.log_loss is None
    assert found.accuracy == pytest.approx(np.mean(hit))


def test_an_unseen_worker_is_an_average_one():
    """A worker whose only vote is held out is not in the fit that predicts it."""
    frame = random_votes(workers=4, votes=200, ties=0)
    lone = pl.DataFrame([("new", "i0", "i1", "i0")], schema=frame.columns, orient="row")
    whole = pl.concat([frame, lone])
    fold = deal(cr.read(whole), 5)
    model = cr.CrowdBT().fit(whole.filter(pl.Series(fold != fold[-1])))
    assert "new" not in model.workers_.worker.to_list()
    found = cr.compare_models(whole, ["crowd-bt"]).rows[0]
    assert found.error is None
    assert math.isfinite(found.log_loss)


def test_weights_count_as_votes():
    frame = random_votes(votes=300)
    some = pl.Series(np.random.default_rng(2).random(300) < 0.4)
    doubled = cr.compare_models(pl.concat([frame, frame.filter(some)]), ["bt", "crowd-bt"])
    weighted = cr.compare_models(frame.with_columns(weight=some.cast(pl.Float64) + 1), ["bt", "crowd-bt"])
    for one, other in zip(doubled.rows, weighted.rows, strict=True):
        for name in ("log_loss", "log_loss_se", "accuracy", "accuracy_se", "behind", "behind_se"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-8), name


def trial(model, left, rows=100):
    said = np.tile([left, 0.0, 1 - left], (rows, 1))
    return Trial(model, Predictions(said, np.sign(said[:, 0] - said[:, 2])))


class TestMarks:
    """100 votes, 60 of them for the left side; models that always give it the same probability."""

    @pytest.fixture
    def dealt(self):
        rows = {"left": ["a"] * 100, "right": ["b"] * 100, "label": ["a"] * 60 + ["b"] * 40}
        pairs = cr.read(pl.DataFrame(rows))
        fold = np.arange(100) % 5
        return Split(pairs, fold, pairs, fold)

    def test_best_first_and_who_is_as_good(self, dealt):
        found = score_trials([trial("far", 0.9), trial("near", 0.62), trial("best", 0.6)], dealt)
        assert [row.model for row in found.rows] == ["best", "near", "far"]
        assert [row.tied_with_best for row in found.rows] == [True, True, False]
        assert found.best.model == "best"

    def test_the_difference_is_taken_vote_by_vote(self, dealt):
        found = score_trials([trial("best", 0.6), trial("far", 0.9)], dealt)
        each = np.r_[[math.log(0.6 / 0.9)] * 60, [math.log(0.4 / 0.1)] * 40]
        far = found.rows[1]
        assert far.behind == pytest.approx(each.mean())
        assert far.behind_se == pytest.approx(np.std(each, ddof=1) / 10)
        assert far.behind > 2 * far.behind_se

    def test_failures_come_last_and_orders_before_them(self, dealt):
        order = Trial("order", Predictions(None, np.ones(100)))
        failed = Trial("failed", error="no")
        found = score_trials([failed, order, trial("best", 0.6)], dealt)
        assert [row.model for row in found.rows] == ["best", "order", "failed"]
        assert found.rows[1].accuracy == 0.6
        assert score_trials([order, failed], dealt).best is None


def test_a_model_that_fails_is_reported(monkeypatch):
    def fails(self, votes, run):
        raise FitError("no finite maximum")

    monkeypatch.setattr(cr.Thurstone, "_fit", fails)
    found = cr.compare_models(random_votes(), ["bt", "thurstone"])
    assert [row.error for row in found.rows] == [None, "no finite maximum"]


def test_models_that_cannot_run_are_left_out_and_said():
    found = cr.compare_models(random_votes().drop("worker"))
    names = {row.model for row in found.rows}
    assert names == {
        name for name, entry in entries().items() if entry.workers != "needed" and "pairs" in entry.kinds
    }
    said = [note.message for note in found.notes if note.code == "left-out"]
    assert len(said) == 1
    assert "crowd-bt" in said[0]
    with pytest.raises(cr.InputError, match="No model can be compared"):
        cr.compare_models(random_votes().drop("worker"), ["crowd-bt"])


def test_models_that_follow_the_order_of_the_rows_are_named():
    votes = random_votes(items=4, votes=40)
    (note,) = cr.compare_models(votes, ["elo", "bt", "trueskill"], folds=2).notes
    assert note.code == "row-order"
    assert note.message.startswith("elo, trueskill: There are no timestamps")
    assert cr.compare_models(votes.with_row_index("timestamp"), ["elo", "bt"], folds=2).notes == ()


def test_a_slow_model_is_left_out_unless_it_is_named(monkeypatch):
    monkeypatch.setattr(comparison, "TRIAL", 50)
    monkeypatch.setattr(comparison, "PATIENCE", 0.0)
    with pytest.raises(cr.InputError, match="Name it to wait for it"):
        cr.compare_models(random_votes())
    assert cr.compare_models(random_votes(), ["bt"]).rows


def test_gold_scores_the_fit_to_all_votes():
    gold = pl.DataFrame({"item": [f"i{k}" for k in range(12)], "grade": range(12)})
    found = cr.compare_models(random_votes(), ["bt"], gold=gold).rows[0]
    assert set(found.gold) == {"acc", "tau", "nDCG@10"}
    assert found.seconds > 0


def test_settings_go_to_the_models_that_have_them():
    frame = random_votes()
    found = cr.compare_models(frame, ["bt", "crowd-bt"], settings={"prior": (4, 1.5), "regularization": 2.0})
    strong = cr.compare_models(frame, ["bt"], settings={"regularization": 2.0})
    assert row(found, "bt").log_loss == strong.rows[0].log_loss
    assert row(found, "crowd-bt").log_loss != cr.compare_models(frame, ["crowd-bt"]).rows[0].log_loss
    with pytest.raises(cr.UsageError, match=r"(?s)'power'.*prior, regularization"):
        cr.compare_models(frame, ["bt", "crowd-bt"], settings={"power": 1})
    with pytest.raises(cr.UsageError, match="'regularization' must be"):
        cr.compare_models(frame, ["bt"], settings={"regularization": -1})


def test_ties_are_kept_or_dropped():
    frame = random_votes(ties=0.3)
    kept, dropped = cr.compare_models(frame, ["bt"]), cr.compare_models(frame, ["bt"], ties="drop")
    assert kept.ties
    assert not dropped.ties
    assert dropped.votes == frame.filter(pl.col("label") != "tie").height
    assert dropped.rows[0].log_loss < math.log(2) < kept.rows[0].log_loss
    assert "ties-dropped" in {note.code for note in dropped.notes}


def test_rankings_are_compared_as_pairs():
    frame = pl.DataFrame(
        {"worker": list("xxxyyyzzz"), "item": list("abc") * 3, "rank": [1, 2, 3, 1, 3, 2, 1, 2, 3]}
    )
    found = cr.compare_models(frame, ["bt", "median-rank"], folds=3)
    assert found.votes == 9
    assert {row.model for row in found.rows} == {"bt", "median-rank"}


def test_votes_on_disk_are_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "MANY", 1000)
    random_votes(votes=3000).write_csv(tmp_path / "votes.csv")
    found = cr.compare_models(cr.read(tmp_path / "votes.csv", memory="1KB", spool=tmp_path), ["bt"])
    assert 700 < found.votes < 1300
    assert "sampled" in {note.code for note in found.notes}


def test_a_sample_of_the_votes():
    found = cr.compare_models(random_votes(votes=3000), ["bt"], sample=1000)
    assert 700 < found.votes < 1300
    with pytest.raises(cr.InputError, match="No vote is left"):
        cr.compare_models(random_votes(), ["bt"], sample=0)
    with pytest.raises(cr.UsageError, match="'sample' must be"):
        cr.compare_models(random_votes(), ["bt"], sample=-1)


def test_too_few_votes_are_an_error():
    with pytest.raises(cr.InputError, match="too few votes"):
        cr.compare_models(pl.DataFrame({"worker": ["w", "w"], "winner": ["a", "b"], "loser": ["b", "a"]}), ["bt"])


def test_as_plain_data():
    status = []
    found = cr.compare_models(random_votes(), ["bt", "borda"], folds=2, status=status.append)
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["folds"] == 2
    assert data["votes"] == 400
    assert [one["model"] for one in data["models"]] == ["bt", "borda"]
    assert {"log_loss", "log_loss_se", "accuracy", "seconds", "gold", "tied_with_best"} <= set(data["models"][0])
    assert status == [
        f"{name}: {what}" for name in ("bt", "borda") for what in ("fold 1 of 2", "fold 2 of 2", "all judgments")
    ]


def test_names():
    assert "auto" in entries()
    with pytest.raises(cr.UsageError, match=r"(?s)no model 'magic'.*crowd-bt.*auto"):
        find("magic")
    with pytest.raises(cr.UsageError, match="No model was named"):
        cr.compare_models(random_votes(), [])


class TestModelsAsObjects:
    VOTES = random_votes(items=4, workers=3, votes=60)

    def test_names_models_and_classes_side_by_side(self):
        fitted = cr.BradleyTerry(regularization=3).fit(self.VOTES)
        before = fitted.ranking_.polars()
        found = cr.compare_models(self.VOTES, ["bt", fitted, cr.Borda, cr.BradleyTerry()], folds=2)
        assert {one.model for one in found.rows} == {"bt", "bt (regularization=3)", "borda"}
        named = cr.compare_models(self.VOTES, ["bt"], folds=2, settings={"regularization": 3})
        assert row(found, "bt (regularization=3)").log_loss == row(named, "bt").log_loss
        assert row(found, "bt").log_loss != row(named, "bt").log_loss
        assert (fitted.name, fitted.ranking_.polars().equals(before)) == ("bt", True)

    def test_parameters_are_shown_only_if_a_name_occurs_twice(self):
        one = cr.compare_models(self.VOTES, cr.CrowdBT(prior=None), folds=2)
        assert [own.model for own in one.rows] == ["crowd-bt"]
        two = cr.compare_models(self.VOTES, [cr.CrowdBT(prior=None), cr.CrowdBT(ties="half")], folds=2)
        assert {own.model for own in two.rows} == {"crowd-bt (prior=null)", "crowd-bt (ties=half)"}

    def test_a_model_that_cannot_run_is_left_out_by_its_shown_name(self):
        found = cr.compare_models(
            self.VOTES, ["bt", cr.PlackettLuce(), cr.PlackettLuce(regularization=2)], folds=2
        )
        said = "Not for pairs: plackett-luce, plackett-luce (regularization=2)"
        assert any(said in note.message for note in found.notes)

    def test_mistakes(self):
        with pytest.raises(cr.UsageError, match=r"name, a model or its class. Got 3"):
            cr.compare_models(self.VOTES, ["bt", 3])
        with pytest.raises(cr.UsageError, match=r"given by name or class. Got regularization"):
            cr.compare_models(self.VOTES, [cr.BradleyTerry()], settings={"regularization": 1})

    def test_the_frame_is_of_the_kind_that_came_in(self):
        found = cr.compare_models(self.VOTES.to_pandas(), "bt", folds=2)
        assert isinstance(found.frame(), pd.DataFrame)
        assert found.frame()["model"].tolist() == found.polars()["model"].to_list() == ["bt"]
        assert "backend" not in found.as_dict()


def test_the_room_and_its_verb_have_one_name():
    import crowdrank.compare

    assert crowdrank.compare.compare_models is cr.compare_models
    assert cr.compare_models(random_votes(votes=60), ["bt"]).votes == 60


def test_the_figures_of_real_votes(real):
    """The log losses that an independent prototype saw, within the noise of other folds."""
    table = cr.read(real / "llmfao" / "crowd-comparisons.csv")
    found = cr.compare_models(table, ["bt", "crowd-bt"], settings={"regularization": 1.0}, ties="drop")
    assert row(found, "bt").log_loss == pytest.approx(0.5756, abs=0.01)
    assert row(found, "crowd-bt").log_loss == pytest.approx(0.5342, abs=0.01)
