"""What repr and a notebook show of results."""

from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from cases import cases_of, every_model
from crowdrank.results.overview import Interval, Overview, draw_intervals, shown_values
from crowdrank.results.tables import Table
from helpers import random_votes

NASTY = '<script>alert("x")</script> & \' "quoted"'
VOID = {"br", "line", "circle", "hr"}


class Page(HTMLParser):
    """The tags and the text of a page; a tag that is not closed is an error."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@every_model()
def test_every_result_is_shown(entry):
    model = cases_of(entry)[0].model
    shown = [*model.result_.tables.values(), model.result_, model.fit_, model.evidence_]
    shown += [] if model.posterior_ is None else [model.posterior_]
    for own in (*shown, model):
        assert "_repr_html_" in dir(own)
        assert Page(own._repr_html_()).text
    for own in shown:
        text = repr(own)
        assert "array(" not in text
        assert len(text.splitlines()) < 40


def subclasses(kind):
    return {kind, *(own for direct in kind.__subclasses__() for own in subclasses(direct))}


def test_no_table_has_the_repr_of_a_dataclass():
    for kind in subclasses(Table):
        if kind.__module__.startswith("crowdrank."):
            assert kind.__repr__ is Table.__repr__, f"{kind.__name__} needs repr=False"


class TestEscaping:
    def test_ids_are_text(self):
        votes = random_votes(seed=1, votes=80)
        names = {"i0": NASTY, "w0": NASTY}
        model = cr.CrowdBT().fit(votes.with_columns(pl.all().replace(names)))
        for own in (model, model.ranking_, model.workers_, model.posterior_):
            html = own._repr_html_()
            page = Page(html)
            assert "script" not in page.tags
            assert NASTY in page.text
            assert "http" not in html  # nothing is loaded

    def test_titles_facts_notes_and_columns_too(self):
        page = Page(Overview(NASTY, [NASTY], pl.DataFrame({NASTY: [NASTY]}), notes=[NASTY]).to_html())
        assert "script" not in page.tags
        assert page.text.count(NASTY) == 5


class TestIntervals:
    def test_all_rows_share_an_axis(self):
        table = pl.DataFrame({"score": [1.0, 3.0], "low": [0.0, 2.0], "high": [2.0, 4.0]})
        first, second = draw_intervals(table, Interval("score"))
        assert 'x1="5.0" x2="80.0"' in first
        assert 'x1="80.0" x2="155.0"' in second
        assert 'cx="42.5"' in first
        assert "1.000, from 0.000 to 2.000" in first

    def test_what_is_not_finite_is_a_dash(self):
        table = pl.DataFrame({"score": [1.0, 1.0], "low": [-np.inf, 0.0], "high": [np.inf, 2.0]})
        assert draw_intervals(table, Interval("score"))[0] == "–"

    def test_bars_begin_at_zero(self):
        bars = draw_intervals(pl.DataFrame({"share": [0.5, 1.0]}), Interval("share", None))
        assert 'x1="5.0" x2="80.0"' in bars[0]

    def test_a_given_span_holds(self):
        table = pl.DataFrame({"quality": [0.5], "low": [0.5], "high": [0.5]})
        assert 'cx="80.0"' in draw_intervals(table, Interval("quality", span=(0.0, 1.0)))[0]


def test_only_the_first_rows_are_shown():
    table = pl.DataFrame({"item": [f"item {number}" for number in range(25)]})
    for shown in (Overview("x", table=table).to_text(), Overview("x", table=table).to_html()):
        assert "item 9" in shown
        assert "item 10" not in shown
        assert "... and 15 more rows" in shown


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 2000.0], ["1", "2,000"]),
        ([0.12345, 1516.24], ["0.123", "1516.2"]),
        ([-1e-17, -0.0006], ["0.000", "-0.001"]),
        ([1.5, None], ["1.500", "–"]),
        ([3, 4], ["3", "4"]),
    ],
)
def test_few_digits(values, shown):
    assert shown_values(pl.Series(values)) == shown


def test_models_and_tables_of_judgments():
    assert repr(cr.CrowdBT(prior=(1, 1), seed=2)) == "CrowdBT(prior=(1, 1), seed=2)"
    assert repr(cr.CrowdBT()) == "CrowdBT()"
    assert "not fitted yet" in cr.CrowdBT()._repr_html_()
    assert "not fitted yet" in cr.ListMLE()._repr_html_()
    assert repr(cr.read([("a", "b"), ("b", "c")])) == "Pairs(rows=2, items=3, queries=1)"
    assert repr(cr.read_features({"item": ["a", "b"], "x": [1, 2]})) == "Features(rows=2, queries=1, features=1)"


def test_rankers_questions_and_comparisons():
    rows = {"query": ["q"] * 4, "item": list("abcd"), "label": [0, 1, 0, 1], "size": [0.1, 0.9, 0.2, 0.7]}
    ranker = cr.ListMLE().fit(pl.DataFrame(rows))
    votes = random_votes(seed=1, votes=80)
    found = cr.compare_models(votes, ["bt", "win-rate"], folds=2)
    crowd = {"items": 5, "workers": 3}
    study = cr.replay(simulate="bt", budget=60, seeds=1, selects=["random"], settings=crowd)
    shown = {
        "size": ranker,
        "Trained listmle": ranker.trained_,
        "4 documents with 1 feature": ranker.fit_,
        "Questions: 3, best first": cr.next_questions(votes, 3),
        "Comparison of 2 models": found,
        "votes to 0.90": study,
    }
    for words, own in shown.items():
        assert words in " ".join(Page(own._repr_html_()).text)
        assert own is ranker or words in repr(own)


def test_a_comparison_by_gold_alone_shows_the_gold_measures():
    gold = {"item": list("abc"), "grade": [2, 1, 0]}
    votes = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "c"), ("c", "b")] * 3
    found = cr.compare_models(votes, ["bt", "win-rate"], folds=0, gold=gold, measures="acc tau")
    assert found.polars().columns == ["model", "log_loss", "low", "high", "accuracy", "acc", "tau", "seconds"]
    assert found.polars()["acc"].to_list() == [1.0, 1.0]
    title, fact, columns, *_ = repr(found).splitlines()
    assert (title, fact) == ("Comparison of 2 models", "by gold; no votes were held out")
    assert columns.split() == ["model", "acc", "tau", "seconds"]
    assert "log_loss" not in " ".join(Page(found._repr_html_()).text)
