"""What a report says of models side by side."""

import json
import re

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.compare import Comparison, Row
from crowdrank.errors import Note
from crowdrank.report import (
    build,
    build_contest,
    contest_to_html,
    contest_to_markdown,
    to_html,
    to_json,
    to_markdown,
)
from helpers import random_votes

ROWS = (
    Row("first", 0.5, 0.01, 0.75, 0.02, 1.234, {"tau": 0.51234}, 0.0, 0.0, True),
    Row("near", 0.51, 0.01, 0.74, 0.02, 2.0, {"tau": None}, 0.01, 0.006, True),
    Row("far", 0.6, 0.01, 0.7, 0.02, 2.0, {"tau": 0.4}, 0.1, 0.02, False),
    Row("order", accuracy=0.7, accuracy_se=0.02, seconds=0.1, gold={"tau": 0.3}),
    Row("broken", error="no <b>finite</b> maximum"),
)
FOUND = Comparison(ROWS, 5, 1000, False, notes=(Note("left-out", "other is left out."),))


@pytest.fixture(scope="module")
def report():
    return build_contest(FOUND)


def test_content(report):
    contest = report.contest
    assert report.title == "5 models by held-out votes"
    assert report.facts == ("1,000 votes", "5 folds", "seed 0")
    assert [row.place for row in contest.rows] == ["best", "as good", "behind", "order only", "failed"]
    near = contest.rows[1]
    assert (near.low, near.high) == (0.01 - 2 * 0.006, 0.01 + 2 * 0.006)
    assert contest.axis.low < near.low
    assert contest.axis.high > 0.14
    assert contest.measures == ("tau",)
    assert contest.guessing == 0.6931


def test_a_page_that_needs_nothing_from_outside(report):
    page = contest_to_html(report)
    assert not re.search(r"<(script|link|img|iframe)|\ssrc\s*=|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    assert page.count('class="track"') == 3
    assert "&lt;b&gt;finite&lt;/b&gt;" in page
    assert "other is left out." in page
    places = [float(left) for left in re.findall(r"left:([\d.-]+)%", page)]
    assert 0 <= min(places) <= max(places) <= 100


def test_markdown(report):
    text = contest_to_markdown(report)
    assert "| first | best | 0.5000 ± 0.0100 | 0.0000 to 0.0000 | 0.7500 ± 0.0200 | 0.5123 | 1.23 |" in text
    assert "| near | as good | 0.5100 ± 0.0100 | −0.0020 to 0.0220 |" in text
    assert "| order | order only | – | – |" in text
    assert "- broken failed: no \\<b\\>finite" in text


def test_without_a_log_loss_there_is_no_axis():
    found = build_contest(Comparison(ROWS[3:], 5, 1000, True))
    assert found.contest.axis is None
    assert "Behind the best</span>" not in contest_to_html(found)


def report_of(model):
    return build(model.result_)


def test_the_choice_of_auto_is_in_the_report():
    found = report_of(cr.Auto(folds=2).fit(random_votes()))
    assert [row.model for row in found.choice.rows] == [
        row["model"] for row in found.fit["details"]["auto"]["candidates"]
    ]
    page = to_html(found)
    assert 'href="#choice"' in page
    assert 'id="choice"' in page
    assert "Seconds</span>" not in page
    assert "## How the model was chosen" in to_markdown(found)
    assert json.loads(to_json(found))["choice"]["rows"][0]["place"] == "best"


def test_the_calibration_is_that_of_the_model_that_ranked():
    result = cr.Auto(folds=2).fit(random_votes()).result_
    auto = result.fit.details["auto"]
    best, second = auto["candidates"][:2]
    found = build(result.with_details(auto={**auto, "chosen": second["model"]}))
    assert found.choice.trusted == second["model"] != best["model"]
    assert [row.said for row in found.choice.trust] == [round(row["said"], 3) for row in second["calibration"]]
    for page in (to_html(found), to_markdown(found)):
        assert f"the side that {second['model']} called likelier won" in page


@pytest.mark.parametrize("model", [cr.BradleyTerry(), cr.Auto(folds=2)], ids=["bt", "auto"])
def test_without_a_choice_there_is_no_section(model):
    found = report_of(model.fit(pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"]})))
    assert found.choice is None
    assert "choice" not in re.sub(r"(?s)<style>.*?</style>", "", to_html(found))
