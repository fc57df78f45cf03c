"""Reports as files, from Python."""

import json

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.report import build, to_html, to_markdown
from helpers import random_votes


@pytest.fixture(scope="module")
def model():
    return cr.BradleyTerry().fit(random_votes(seed=1, votes=100))


def test_the_ending_says_the_form(model, tmp_path):
    report = build(model.result_)
    assert model.report(tmp_path / "a.html").read_text() == to_html(report)
    assert model.report(str(tmp_path / "a.MD")).read_text() == to_markdown(report)
    assert json.loads(model.report(tmp_path / "a.json").read_text())["fit"]["model"] == "bt"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.MD", "a.html", "a.json"]


def test_a_ranker_has_a_report_too(tmp_path):
    rows = {"query": ["q"] * 4, "item": list("abcd"), "label": [0, 1, 0, 1], "x": [0.1, 0.9, 0.2, 0.7]}
    ranker = cr.ListMLE().fit(pl.DataFrame(rows))
    for ending in ("html", "md", "json"):
        assert "listmle" in ranker.report(tmp_path / f"report.{ending}").read_text()


def test_mistakes(model, tmp_path):
    with pytest.raises(cr.UsageError, match=r"ends with \.html, \.md, \.json\. Got 'report.pdf'"):
        model.report("report.pdf")
    with pytest.raises(cr.InputError, match="cannot be written: No such file or directory"):
        model.report(tmp_path / "none" / "report.html")
    with pytest.raises(cr.NotFittedError):
        cr.BradleyTerry().report(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
