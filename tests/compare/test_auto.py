"""auto: what it chooses, what it says of it, and that it is a model as the others are."""

import json
from functools import cache

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from answers import same
from cases import drawn
from crowdrank.compare.auto import CANDIDATES, _prefer
from crowdrank.compare.figures import Comparison, Row
from crowdrank.models import registry
from crowdrank.simulate import bt_crowd
from helpers import random_labels, random_lists, random_votes
from shards import small_shards


def chosen(model):
    return model.fit_.details["auto"]["chosen"]


def note(model):
    (found,) = [note.message for note in model.fit_.warnings if note.code == "auto"]
    return found


@pytest.fixture(scope="module")
def perfect():
    return bt_crowd(
        seed=0, items=15, workers=40, votes=1200, spammers=0, malicious=0, alpha=1e6, beta=1e-6
    ).judgments


@pytest.fixture(scope="module")
def spammed():
    return bt_crowd(seed=0, items=15, workers=40, votes=4000, spammers=0.5).judgments


@pytest.fixture(scope="module")
def of_spammed(spammed):
    return cr.Auto().fit(spammed)


@pytest.fixture
def three_candidates(monkeypatch):
    monkeypatch.setitem(CANDIDATES, "pairs", ("bt", "crowd-bt", "judge-bt"))


class TestChoice:
    def test_progress_is_shown_while_it_chooses(self, perfect):
        steps = []
        cr.Auto(folds=2).fit(perfect.head(300), progress=lambda *step: steps.append(step[0]))
        assert steps.count(1) > 1 + 2 * 2  # candidates and folds, and the final fit

    def test_bt_where_everybody_is_perfect(self, perfect):
        model = cr.Auto().fit(perfect)
        assert chosen(model) == model.fit_.model == "bt"

    def test_not_bt_where_half_are_spammers(self, of_spammed):
        figures = of_spammed.fit_.details["auto"]
        losses = {row["model"]: row["log_loss"] for row in figures["candidates"]}
        assert set(losses) == set(CANDIDATES["pairs"])
        assert max(losses, key=losses.get) == "bt"
        own = of_spammed.fit_.model
        assert chosen(of_spammed) == own != "bt"
        assert figures["folds"] == 5
        assert figures["votes"] == 4000
        listed = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items() if name != own)
        assert f"{losses[own]:.4f} (against {listed}), over 4,000 votes in 5 folds." in note(of_spammed)

    @pytest.mark.parametrize(("behind", "expected"), [(True, "judge-bt"), (False, "tpp-unidom")])
    def test_a_challenger_must_be_better_beyond_the_noise(self, behind, expected):
        rows = (
            Row("tpp-unidom", log_loss=0.5, tied_with_best=True),
            Row("judge-bt", log_loss=0.51, tied_with_best=behind),
            Row("bt", log_loss=0.6),
        )
        found = _prefer(Comparison(rows, folds=5, votes=100, ties=False))
        assert found.model == expected

    def test_the_figures_are_those_of_compare(self, spammed, of_spammed):
        inner = {row["model"]: row for row in of_spammed.fit_.details["auto"]["candidates"]}
        outer = cr.compare_models(spammed, ["bt", "variance-bt"])
        assert outer.folds == of_spammed.fit_.details["auto"]["folds"]
        for row in outer.rows:
            assert row.log_loss == pytest.approx(inner[row.model]["log_loss"], abs=1e-12)

    def test_the_result_is_the_chosen_models(self, spammed, of_spammed):
        auto, direct = of_spammed, registry.make(chosen(of_spammed), {}).fit(spammed)
        same(direct, auto, tolerance=0)
        assert (auto.predict_proba(spammed.head(9)) == direct.predict_proba(spammed.head(9))).all()
        assert auto.predicts
        assert (auto.evidence_.comparisons == direct.evidence_.comparisons).all()
        assert auto.fit_.parameters == direct.fit_.parameters

    def test_few_votes(self):
        model = cr.Auto().fit(random_votes(votes=19))
        assert chosen(model) == "bt"
        assert "with 19 votes nothing can be held out" in note(model)
        assert model.fit_.details["auto"]["candidates"] == []

    def test_one_candidate(self):
        model = cr.Auto().fit(random_votes().drop("worker"))
        assert chosen(model) == "bt"
        assert "no other candidate can run" in note(model)
        assert model.workers_ is None

    def test_one_worker_on_one_pair(self):
        frame = pl.DataFrame({"worker": ["w"] * 30, "winner": list("ab") * 15, "loser": list("ba") * 15})
        assert "nothing could be held out" in note(cr.Auto().fit(frame))

    def test_candidates_that_all_fail(self, monkeypatch):
        monkeypatch.setitem(CANDIDATES, "pairs", ("bt", "crowd-bt"))
        model = cr.Auto(settings={"regularization": 0})
        with pytest.raises(cr.FitError, match="no finite maximum"):
            model.fit(
                pl.DataFrame({"worker": list("uv") * 20, "winner": list("ab") * 20, "loser": list("bc") * 20})
            )

    def test_a_sample_is_enough(self, spammed):
        model = cr.Auto(sample=1500, folds=2).fit(spammed)
        used = model.fit_.details["auto"]["votes"]
        assert 1200 < used < 1800
        assert f"over {used:,} votes chosen from 4,000 by a hash in 2 folds" in note(model)
        assert model.fit_.judgments["rows"] == 4000

    def test_votes_on_disk(self, spammed, tmp_path):
        spammed.write_csv(tmp_path / "votes.csv")
        spooled = cr.read(tmp_path / "votes.csv", memory="1KB", spool=tmp_path)
        one, two = (cr.Auto(sample=1500, folds=2).fit(votes) for votes in (spooled, spammed))
        assert one.fit_.details["auto"] == two.fit_.details["auto"]
        same(two, one)

    @pytest.mark.long
    def test_it_stands_in_a_comparison_with_inner_folds(self, spammed, monkeypatch):
        monkeypatch.setitem(CANDIDATES, "pairs", ("bt", "crowd-bt", "variance-bt"))
        compared = cr.compare_models(spammed.head(500), ["auto", *CANDIDATES["pairs"]], folds=3)
        found = {row.model: row for row in compared.rows}
        losses = [found[name].log_loss for name in CANDIDATES["pairs"]]
        assert min(losses) <= found["auto"].log_loss <= max(losses)


class TestSettings:
    def test_a_setting_goes_to_the_candidates_that_have_it(self, spammed, monkeypatch):
        monkeypatch.setitem(CANDIDATES, "pairs", ("bt", "crowd-bt"))
        model = cr.Auto().set_params(prior=(4, 1.5), regularization=1.0, folds=3)
        assert model.get_params()["settings"] == {"prior": (4, 1.5), "regularization": 1.0}
        assert model.clone().get_params() == model.get_params()
        fitted = model.fit(spammed)
        assert fitted.fit_.parameters["prior"] == (4, 1.5)
        assert fitted.fit_.details["auto"]["folds"] == 3

    def test_an_unknown_one_is_an_error(self):
        with pytest.raises(cr.UsageError, match=r"(?s)auto has no parameter 'power'.*folds.*candidates"):
            cr.Auto().set_params(power=1)

    def test_one_of_a_candidate_that_cannot_run_here_is_of_no_use_and_no_error(self):
        assert chosen(cr.Auto(settings={"prior": (4, 1.5)}).fit(random_votes().drop("worker"))) == "bt"

    def test_a_wrong_value_is_an_error(self):
        with pytest.raises(cr.UsageError, match="'regularization' must be"):
            cr.Auto(settings={"regularization": -1}).fit(random_votes())


@cache
def fitted_to(queries):
    return cr.Auto(folds=2).fit(drawn("votes", queries))


@pytest.mark.parametrize("queries", [0, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.usefixtures("three_candidates")
class TestContract:
    """As every model. Other names deal other folds: then only the answer given the same choice is the same."""

    @pytest.fixture
    def frame(self, queries):
        return drawn("votes", queries)

    @pytest.fixture
    def whole(self, queries):
        return fitted_to(queries)

    def both(self, one, other, **options):
        assert chosen(one) == chosen(other)
        for a, b in zip(*(model.fit_.details["auto"]["candidates"] for model in (one, other)), strict=True):
            assert a["log_loss"] == pytest.approx(b["log_loss"], abs=1e-8)
        same(one, other, **options)

    def test_under_shuffled_rows(self, frame, whole):
        self.both(whole, cr.Auto(folds=2).fit(frame.sample(fraction=1, shuffle=True, seed=1)))

    def test_under_swapped_sides(self, frame, whole):
        self.both(whole, cr.Auto(folds=2).fit(frame.rename({"left": "right", "right": "left"})), swapped=True)

    def test_under_other_shards_and_on_other_threads_to_the_bit(self, frame, whole):
        with small_shards(50):
            one, two = (cr.Auto(folds=2).fit(frame, engine=cr.LocalEngine(threads)) for threads in (1, 3))
        self.both(whole, one)
        assert one.fit_.details["auto"] == two.fit_.details["auto"]
        self.both(one, two, tolerance=0)

    def test_for_a_doubled_row_and_a_weight_of_two(self, frame):
        some = pl.Series(np.random.default_rng(2).random(len(frame)) < 0.4)
        doubled = pl.concat([frame, frame.filter(some)])
        weighted = frame.with_columns(weight=some.cast(pl.Float64) + 1)
        self.both(cr.Auto(folds=2).fit(doubled), cr.Auto(folds=2).fit(weighted))

    def test_under_other_names_given_the_same_choice(self, frame):
        items = {f"i{k}": f"x{(k * 5) % 12:02d}" for k in range(12)}
        other = cr.Auto(folds=2).fit(frame.with_columns(pl.col("left", "right", "label").replace(items)))
        direct = registry.make(chosen(other), {}).fit(frame)
        same(direct, other, names={"item": items})

    def test_fit_is_plain_data(self, whole):
        fitted = whole.fit_.as_dict()
        assert json.loads(json.dumps(fitted, allow_nan=False)) == fitted


@pytest.mark.parametrize(("frame", "kind"), [(random_lists(queries=3), "rankings"), (random_labels(), "ratings")])
def test_lists_and_labels_have_candidates_of_their_own(frame, kind):
    model = cr.Auto(folds=2).fit(frame)
    assert chosen(model) in CANDIDATES[kind]
    tried = model.fit_.details["auto"]["candidates"]
    assert {row["model"] for row in tried} == set(CANDIDATES[kind])
    assert all(row["error"] is None for row in tried)


def test_labels_are_compared_with_auto_among_the_models():
    from helpers import random_labels

    found = cr.compare_models(random_labels(labels=300), ["average", "auto"])
    assert {row.model for row in found.rows if row.error is None} == {"average", "auto"}


def test_settings_that_are_no_mapping_are_an_error(votes):
    with pytest.raises(cr.UsageError, match="'settings' must map names to values"):
        cr.Auto(settings=1).fit(votes)
