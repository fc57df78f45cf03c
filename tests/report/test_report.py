import re

import polars as pl

import crowdrank as cr
from crowdrank.report import build, to_html
from helpers import random_votes


def page(frame, model=None):
    fitted = (model or cr.CrowdBT()).fit(frame)
    return to_html(build(fitted.ranking_, fitted.workers_, fitted.fit_))


def test_every_item_worker_and_warning_is_there():
    frame = pl.concat(
        [
            random_votes(),
            pl.DataFrame([["w1", "new", "i1", "new"]], schema=random_votes().schema, orient="row"),
        ]
    )
    html = page(frame)
    for number in range(12):
        assert f">i{number}<" in html
    for number in range(8):
        assert f">w{number}<" in html
    assert "never lost: new" in html
    assert html.index("never lost") < html.index("<table>")  # warnings first


def test_the_title_counts_the_items():
    html = page(random_votes())
    assert "<title>crowd-bt: 12 items ranked by crowdrank</title>" in html
    assert "<h1>Ranking of 12 items by crowd-bt</h1>" in html
    assert "built-in method" not in html


def test_names_cannot_bring_markup():
    frame = pl.DataFrame({"worker": ["<b>w"], "winner": ["<script>alert(1)</script>"], "loser": ["b"]})
    html = page(frame)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_it_needs_nothing_from_outside():
    html = page(random_votes())
    assert not re.search(r"(src|href)\s*=|@import|url\(", html)


def test_queries_stand_apart():
    html = page(random_votes(queries=2))
    assert "Query q0" in html
    assert "Query q1" in html


def test_without_workers_and_without_warnings():
    frame = random_votes(votes=2000).drop("worker")
    html = page(frame, cr.BradleyTerry())
    assert "<h2>Workers</h2>" not in html
    assert "Nothing to warn of" in html


def test_intervals_stay_on_their_axis():
    places = [float(left) for left in re.findall(r"left:([\d.-]+)%", page(random_votes()))]
    assert places
    assert min(places) >= 0
    assert max(places) <= 100
