"""How far the probabilities of labels can be trusted, in every form of the report."""

import json
import re

import pytest

import crowdrank as cr
from crowdrank.charts.axes import BOTTOM, LEFT, RIGHT, TOP
from crowdrank.report import build, to_html, to_json, to_markdown
from crowdrank.report.reliability import reliability_picture
from helpers import crowd_that_errs_together

TITLE = "How far the probabilities of labels can be trusted"


@pytest.fixture(scope="module")
def fitted():
    labels, gold = crowd_that_errs_together(items=200)
    return cr.DawidSkene().fit(labels, anchors=gold.head(100))


@pytest.fixture(scope="module")
def report(fitted):
    return build(fitted.result_)


def test_the_content_is_the_table(fitted, report):
    table = fitted.reliability_.polars()
    assert report.trust.known == 100
    assert [row.items for row in report.trust.rows] == table["items"].to_list()
    assert [row.right for row in report.trust.rows] == pytest.approx(table["right"].to_list(), abs=5e-4)
    assert report.trust.said > report.trust.right
    assert report.tables == ()  # it is not shown twice


def test_every_form_shows_it(report):
    page, text, data = to_html(report), to_markdown(report), json.loads(to_json(report))
    assert TITLE in page
    assert f"## {TITLE}" in text
    section = page[page.index('<section id="trust"') :]
    section = section[: section.index("</section>")]
    assert len(re.findall(r"<tr>", section)) == 1 + len(report.trust.rows)
    assert data["trust"]["rows"][0]["items"] == report.trust.rows[0].items
    for row in report.trust.rows:
        assert f"| {row.start:g} to {row.end:g} | {row.items} | {row.said:.2f} | {row.calibrated:.2f} |" in text


def test_the_picture_stays_in_its_box(report):
    picture = reliability_picture(report.trust)
    places = [*picture.said, *picture.calibrated]
    places += [(x, y) for x, *both in picture.intervals for y in both]
    assert all(LEFT <= x <= RIGHT and TOP <= y <= BOTTOM for x, y in places)


def test_without_known_labels_a_caution_says_what_the_probability_is(fitted):
    labels, _ = crowd_that_errs_together(items=60)
    report = build(cr.DawidSkene().fit(labels).result_)
    assert report.trust is None
    (caution,) = [own for own in report.cautions if own.code == "uncalibrated"]
    assert "how well workers agree" in caution.messages[0]
    assert TITLE not in to_html(report)
    assert "how well workers agree" in to_markdown(report)
