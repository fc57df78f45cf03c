"""The report of a ranker that learned from a crowd: what it claims, and what it says about the workers."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from crowdrank.rankers.crowd_training import LIKELIHOOD
from crowdrank.rankers.registry import make_ranker
from crowdrank.rankers.saved import load
from crowdrank.report import build_training, training_report_files, training_to_html, training_to_markdown
from crowdrank.report.training import crowd_words
from crowdrank.simulate.presets import simulate

HOSTILE = "<img src=x onerror=alert(1)></script> a|b"


def trained(crowd, model="ltrma-mle", scorer=None, steps=8, **given):
    """A ranker of the crowd."""
    return make_ranker(model, scorer, {"iterations": steps}).fit(crowd.features, crowd.judgments, **given)


@pytest.fixture(scope="module")
def crowd():
    return simulate("ltrma-h7", lists=12, test=0, documents=6)


@pytest.fixture(scope="module")
def predicted(crowd):
    """Measured by the likelihood of held-out lists, with a curve and enough steps for a change."""
    return trained(crowd, steps=25, validation=0.25)


@pytest.fixture(scope="module")
def unmeasured(crowd):
    return trained(crowd)


def with_lead(ranker, low, high):
    """The ranker with another lead over equal scores."""
    measured = ranker.fit_.details["measured"]
    lead = {**measured["equal_scores"]["lead"], "mean": (low + high) / 2, "low": low, "high": high}
    measured = {**measured, "equal_scores": {**measured["equal_scores"], "lead": lead}}
    copy = ranker.clone()
    fit = replace(ranker.fit_, details={**ranker.fit_.details, "measured": measured})
    copy._trained = replace(ranker.trained_, fit=fit)
    return copy


class TestClaims:
    def test_nothing_is_claimed_if_nothing_was_measured(self, unmeasured):
        report = build_training(unmeasured)
        assert (report.verdict, report.tone) == ("The ranker was not measured", "doubt")
        assert report.headline == (
            "ltrma-mle with the scorer linear was trained from 36 lists of 3 workers on 72 documents of 12 "
            "queries.",
            crowd_words.UNMEASURED,
        )
        assert (report.measured, report.curve, report.queries) == (None, None, None)
        assert "Measures</h2>" not in training_to_html(report)

    def test_gold_on_validation_queries(self, crowd):
        ranker = trained(crowd, validation=0.25, gold=crowd.gold)
        report = build_training(ranker)
        value = ranker.fit_.details["measured"]["ranker"]["nDCG@10"]
        assert report.headline[1] == f"On 3 queries kept for validation its nDCG@10 is {value:.4f}."
        assert [row.name for row in report.measured.rows] == ["ranker", "mean_feature"]
        assert report.curve.measure == "nDCG@10"
        assert report.curve.chosen is None  # the end of training is kept, whatever validation saw
        assert report.curve.sentence.startswith("Training goes on until it settles, and validation only watches")

    def test_gold_on_training_queries(self, crowd):
        ranker = trained(crowd, gold=crowd.gold)
        report = build_training(ranker)
        value = ranker.fit_.details["measured"]["ranker"]["nDCG@10"]
        assert report.verdict == "The ranker was not measured on new queries"
        assert report.headline[1] == (
            f"On the 12 training queries its nDCG@10 is {value:.4f}. The ranker saw the crowd's judgments there, "
            "but not the gold; on new queries it may do worse."
        )
        assert {row.verdict for row in report.measured.baselines} == {"unknown"}
        assert "whose judgments the ranker has seen" in training_to_markdown(report)

    @pytest.mark.parametrize(
        ("low", "high", "words", "verdict", "tone"),
        [
            (0.5, 2.0, "It is better than equal scores: ", "The ranker predicts held-out judgments", "plain"),
            (
                -0.5, 2.0, "It is no better than equal scores within the noise: ",
                "The ranker is not shown to predict held-out judgments", "doubt",
            ),
            (
                -2.0, -0.5, "It is worse than equal scores: ",
                "The ranker predicts held-out judgments worse than equal scores do", "doubt",
            ),
        ],
    )  # fmt: skip
    def test_a_claim_about_held_out_judgments_follows_the_interval(
        self, predicted, low, high, words, verdict, tone
    ):
        report = build_training(with_lead(predicted, low, high))
        assert (report.verdict, report.tone) == (verdict, tone)
        value = predicted.fit_.details["measured"]["ranker"][LIKELIHOOD]
        shown = f"{value:.2f}".replace("-", "−")
        assert report.headline[1] == (
            f"On 3 queries kept for validation, the log likelihood of a query's judgments is {shown}."
        )
        assert report.headline[2].startswith(words)
        assert report.headline[3] == crowd_words.LIKELIHOOD_MEANING

    def test_the_likelihood_is_that_of_the_held_out_lists(self, predicted):
        """The last look of validation and the measure at the end are two draws of about the same number."""
        measured = predicted.fit_.details["measured"]
        assert LIKELIHOOD == crowd_words.LIKELIHOOD == measured["measure"]
        assert measured["ranker"][LIKELIHOOD] == pytest.approx(predicted.validation_.value[-1], rel=0.05)
        assert build_training(predicted).curve.levels == {
            "equal_scores": round(measured["equal_scores"][LIKELIHOOD], 4)
        }

    def test_a_net_that_validation_stopped_is_said_to_be_chosen(self, crowd):
        ranker = trained(crowd, scorer="net", steps=10, validation=0.25)
        report = build_training(ranker)
        assert report.measured.chosen
        assert report.curve.chosen in report.curve.steps
        assert report.headline[-1].startswith("What is kept was chosen on these validation queries")


class TestWorkers:
    def test_each_has_a_quality_and_an_expertise_with_intervals(self, predicted):
        report = build_training(predicted)
        frame = predicted.workers_.polars().sort("quality")
        shown = report.crowd.workers
        assert [row.worker for row in shown.rows] == frame["worker"].to_list()
        assert [row.further["theta"] for row in shown.rows] == frame["theta"].round(3).to_list()
        ends = list(zip(frame["theta_low"].round(3), frame["theta_high"].round(3), strict=True))
        assert [row.intervals["theta"] for row in shown.rows] == ends
        assert report.crowd.meaning.endswith(
            "theta is the expertise: larger is more expert, 0 guesses, and a negative one misleads."
        )
        low, high = (f"{end:.2f}".replace("-", "−") for end in ends[0])
        assert f"({low} to {high})" in training_to_markdown(report)
        assert f"{low} to {high}</span>" in training_to_html(report)

    def test_near_duplicates_are_noted_and_weighted(self, crowd):
        copies = [crowd.judgments.with_columns(worker=pl.col("worker") + f"-{number}") for number in range(4)]
        ranker = make_ranker("ltrma-mle", None, {"iterations": 8}).fit(crowd.features, pl.concat(copies))
        report = build_training(ranker)
        assert "look-alikes" in {caution.code for caution in report.cautions}
        assert "Workers who make the same errors" in training_to_html(report)
        assert report.crowd.meaning.startswith("The workers share their errors, so they have one expertise.")
        assert report.crowd.workers.workers == 12
        assert 'class="histogram"' in training_to_html(report)  # ten workers need none

    def test_judgments_without_workers_have_no_such_section(self, crowd):
        bare = crowd.judgments.filter(pl.col("worker") == "worker-1").drop("worker")
        ranker = make_ranker("ltrma-mle", None, {"iterations": 8}).fit(crowd.features, bare)
        report = build_training(ranker)
        assert report.crowd.workers is None
        assert report.facts[0] == "trained from 12 lists"
        assert "Workers</h2>" not in training_to_html(report)


def test_orders_by_their_certainty(predicted):
    report = build_training(predicted)
    frame = predicted.orders_.polars()
    by_query = {
        query: float(np.nanmean(part["above_next"].to_numpy())) for (query,), part in frame.group_by("query")
    }
    found = report.crowd.orders
    assert found.lists == len(by_query) == 9
    assert found.median == round(float(np.median(list(by_query.values()))), 2)
    least = sorted(by_query, key=by_query.__getitem__)
    assert [row.query for row in found.rows] == least
    assert found.rows[0].certainty == round(by_query[least[0]], 2)
    assert f"The median over the 9 training queries is {found.median:.2f}." in training_to_markdown(report)


def test_convergence(predicted, unmeasured):
    report = build_training(predicted)
    changes = predicted.trained_.tables["iterations"].polars().drop_nulls("change")
    assert list(report.crowd.steps.steps) == changes["step"].to_list()
    np.testing.assert_allclose(report.crowd.steps.values, changes["change"], rtol=0.01)
    assert report.crowd.settled.startswith("Training stopped after 25 steps before it settled; the last change is")
    page = training_to_html(report)
    assert page.count('<svg class="chart"') == 2
    assert 'aria-label="Change of the expertise: ' in page
    few = build_training(unmeasured)
    assert few.crowd.steps is None
    assert "Training stopped after 8 steps before it settled." in training_to_markdown(few)


def test_three_forms_of_one_content(predicted):
    files = training_report_files(predicted)
    found = json.loads(files["report.json"])
    page = re.sub(r"(?s)<style>.*?</style>|<[^>]+>", " ", files["report.html"])
    text = re.sub(r"\\(.)", r"\1", files["report.md"])
    said = [
        found["verdict"],
        *found["headline"],
        *found["facts"],
        found["crowd"]["meaning"],
        found["crowd"]["settled"],
    ]
    said += [row["worker"] for row in found["crowd"]["workers"]["rows"]]
    said += [f"{row['certainty']:.2f}" for row in found["crowd"]["orders"]["rows"]]
    said += [value for name, value in found["method"] if name == "Judgments given"]
    said += [command for _, command in found["scoring"]]
    assert "216 rows of rankings; 27 lists learned from" in said
    assert 'crowdrank.load("FOLDER").score("FEATURES", "JUDGMENTS")' in said
    for words in said:
        assert words in text
        assert words in page.replace("&#34;", '"').replace("&#39;", "'")
    for target in re.findall(r'href="#([\w-]+)"', files["report.html"]):
        assert f'id="{target}"' in files["report.html"]


def test_names_are_only_text(crowd):
    named = [
        own.with_columns((pl.col(column) + HOSTILE).alias(column) for column in own.columns if column in hostile)
        for own, hostile in ((crowd.features, ("query",)), (crowd.judgments, ("query", "worker")))
    ]
    files = training_report_files(make_ranker("ltrma-mle", None, {"iterations": 8}).fit(*named))
    assert "<img" not in files["report.html"]
    assert not re.search(r"(?<!\\)<", files["report.md"])


def test_a_ranker_from_a_folder_has_its_figures(predicted, tmp_path):
    predicted.save(tmp_path / "ranker")
    loaded, first = build_training(load(tmp_path / "ranker")), build_training(predicted)
    assert (loaded.headline, loaded.measured) == (first.headline, first.measured)
    assert (loaded.crowd.workers, loaded.crowd.orders) == (None, None)
    assert "Convergence</h2>" in training_to_html(loaded)
    assert "Training stopped after 25 steps" in training_to_markdown(loaded)
