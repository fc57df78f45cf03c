"""The report of a ranker that weighs and values the labels of a crowd: what it claims, and what it draws."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from crowdrank.charts.axes import BOTTOM, LEFT, RIGHT, TOP
from crowdrank.errors import Note
from crowdrank.rankers.registry import make_ranker
from crowdrank.rankers.saved import load
from crowdrank.report import build_training, training_report_files, training_to_html, training_to_markdown
from crowdrank.report.training import crowd, remap, remap_words, words
from crowdrank.report.training.picture import cloud_picture, strip_picture
from crowdrank.simulate.presets import simulate

QUICK = {"rounds": 5, "mu": 0.3, "trees": 0, "baselines": "few", "patience": 10}


@pytest.fixture(scope="module")
def given():
    made = simulate(
        "remap-real", source=24, target=8, validation=8, test=4, documents=10, workers=60, labels=5, honeypots=8
    )
    return SimpleNamespace(**made.tables())


@pytest.fixture(scope="module")
def trained(given):
    ranker = make_ranker("remap", None, QUICK)
    return ranker.fit(
        given.features,
        given.judgments,
        target=given.target,
        validation=given.validation,
        honeypots=given.honeypots,
    )


@pytest.fixture(scope="module")
def report(trained):
    return build_training(trained)


def changed(ranker, notes=None, **details):
    """The ranker with other details or notes."""
    fit = ranker.fit_
    copy = ranker.clone()
    fit = replace(fit, details={**fit.details, **details}, warnings=fit.warnings if notes is None else notes)
    copy._trained = replace(ranker.trained_, fit=fit)
    return copy


class TestClaims:
    def test_what_it_learned_from(self, trained, report):
        assert trained.fit_.judgments["labels"] == 1080
        assert report.title == "Training of remap"
        assert report.facts == (
            "trained from 1,080 labels of 60 workers", "216 documents", "24 queries", "8 target queries",
            "46 features", "seed 0",
        )  # fmt: skip
        assert report.headline[0].startswith("remap was trained from 1,080 labels of 60 workers on 216 documents")
        assert report.headline[1] == (
            "How much a label counts and what it is worth were learned from 8 other queries with experts' labels. "
            "8 further queries validate. 24 honeypots show how often a worker is right."
        )
        assert words.CHOSEN in report.headline

    def test_which_learner_is_kept(self, trained):
        details = {"chosen": "remap", "learner": "ridge"}
        processing = {"mu": 0.1, "trees": 100, "grown_on": "remap", "step": 12, "tried": []}
        report = build_training(changed(trained, notes=(), processing=processing, **details))
        assert report.headline[2] == (
            "Weights and values were learned in 12 steps, for a ridge ranker of the features and 100 trees grown "
            "on the labels of remap with the penalty 0.1 for each document. The ranker is that of ridge "
            "regression, the simplest: on the validation queries no other learner leads it by more than a "
            "standard error."
        )
        assert report.measured.rows[0].description == "remap with ridge"

    def test_a_fallback_stands_first(self, trained):
        note = Note("fallback", "The plain consensus was enough.")
        name = "soft dawid-skene, regression"
        report = build_training(changed(trained, notes=(note,), chosen=name, learner="regression"))
        assert report.verdict == "A plain consensus was enough: soft dawid-skene with regression"
        assert (report.tone, report.headline[0]) == ("doubt", note.message)
        assert report.cautions == ()  # said once
        assert name not in [row.name for row in report.measured.rows]
        assert "The ranker that is kept does not use them." in training_to_html(report)

    def test_everything_that_was_trained_is_there_and_the_best_comes_first(self, trained, report):
        found = trained.fit_.details["measured"]
        names = [name for name, own in found.items() if isinstance(own, dict)]
        kept = remap.chosen_name(trained.fit_.details)
        assert [row.name for row in report.measured.rows[:1]] == ["ranker"]
        assert sorted([row.name for row in report.measured.baselines]) == sorted(set(names) - {"ranker", kept})
        values = [row.values["DCG@10"] for row in report.measured.baselines]
        assert values == sorted(values, reverse=True)
        assert remap_words.LOOKED in training_to_html(report)

    @pytest.mark.parametrize(
        ("low", "high", "verdict"),
        [
            (0.1, 0.5, "Ahead of plain consensus and the experts alone"),
            (-0.1, 0.5, "Not shown to beat plain consensus and the experts alone"),
            (-0.5, -0.1, "Worse than plain consensus and the experts alone"),
        ],
    )
    def test_the_verdict_follows_the_intervals_of_baselines(self, trained, low, high, verdict):
        """Other learners on the same labels, and experts' labels of the source, are no baselines."""
        found = dict(trained.fit_.details["measured"])
        for name, own in found.items():
            if isinstance(own, dict) and "lead" in own:
                ends = (low, high) if remap.is_baseline(name) else (-2.0, -1.0)
                lead = {**own["lead"], "mean": sum(ends) / 2, "low": ends[0], "high": ends[1]}
                found[name] = {**own, "lead": lead}
        details = {"chosen": "remap", "learner": "ridge", "measured": found}
        report = build_training(changed(trained, notes=(), **details))
        assert report.verdict == verdict
        said = {"ahead": "ahead of", "no better": "no better within the noise than", "worse": "worse than"}
        row = remap_words.baselines_of(report.measured)[0]
        assert f"Of 6 baselines it is {said[row.verdict]} 6." in report.headline

    def test_a_ranker_without_validation_queries(self, trained):
        details = {**trained.fit_.details, "validation_queries": 0, "target_queries": 0}
        del details["measured"], details["processing"]
        copy = changed(trained)
        fit = replace(trained.fit_, details=details)
        copy._trained = replace(trained.trained_, fit=fit, validation=None, queries=None)
        report = build_training(copy)
        assert report.verdict == "The ranker was not measured"
        assert "learned before, from another crowd" in report.headline[1]
        assert "target" not in " ".join(report.facts)
        assert training_to_html(report)
        assert training_to_markdown(report)


class TestWorkers:
    def test_values_by_label_and_weights_by_quality(self, trained, report):
        people = trained.workers_.polars()
        for strip in report.weighing.strips:
            own = people[f"value_{strip.label}"].drop_nans().to_numpy()
            np.testing.assert_allclose(strip.values, np.sort(own), atol=6e-4)
            assert strip.span.median == pytest.approx(np.median(own), abs=6e-4)
        assert [strip.label for strip in report.weighing.strips] == ["0", "1"]
        assert [cloud.against for cloud in report.weighing.clouds] == ["Quality", "Share of right honeypots"]
        order = people.sort("judgments", "worker", descending=[True, False])
        points = order.select("quality", "weight").to_numpy()
        np.testing.assert_allclose(report.weighing.clouds[0].points, points, atol=6e-4)

    def test_pictures_stay_inside_their_axes(self, report):
        for picture in (strip_picture(report.weighing.strips), *map(cloud_picture, report.weighing.clouds)):
            across, up = np.array(picture.dots).T
            assert across.min() >= LEFT
            assert across.max() <= RIGHT
            assert up.min() >= TOP
            assert up.max() <= BOTTOM
        page = training_to_html(report)
        assert f'aria-label="{remap_words.describe_strips(report.weighing.strips)}"' in page
        assert page.count('class="dot faint"') == sum(
            len(one)
            for one in (*(s.values for s in report.weighing.strips), *(c.points for c in report.weighing.clouds))
        )

    def test_the_table_has_the_workers_with_the_most_labels(self, report):
        found = report.weighing.workers
        assert (found.workers, len(found.rows)) == (60, crowd.WORKERS)
        counts = [row.judgments for row in found.rows]
        assert counts == sorted(counts, reverse=True)
        assert list(found.rows[0].further) == ["weight", "value of 0", "value of 1", "honeypots right"]
        assert "These are 50 of 60 workers; the workers file has all of them." in training_to_markdown(report)

    def test_pictures_are_limited(self, trained, monkeypatch):
        monkeypatch.setattr(remap, "DOTS", 9)
        report = build_training(trained)
        assert report.weighing.drawn == len(report.weighing.clouds[0].points) == 9
        assert "The pictures show the 9 workers with the most judgments." in training_to_html(report)


def test_all_forms_have_it(trained, tmp_path):
    files = training_report_files(trained)
    content = json.loads(files["report.json"])
    assert len(content["weighing"]["workers"]["rows"]) == crowd.WORKERS
    for text in ("Weights and values of labels", "Worst queries", "Features by importance"):
        assert text in files["report.md"]
        assert text in files["report.html"]
    trained.save(tmp_path)
    loaded = build_training(load(tmp_path))  # it has no workers and no curve
    assert (loaded.weighing, loaded.curve) == (None, None)
    assert loaded.headline == build_training(trained).headline
    assert training_to_html(loaded)
