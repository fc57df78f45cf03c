"""The page, the Markdown and the JSON of a report."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl

import crowdrank as cr
from crowdrank.report import build, html, to_html, to_json, to_markdown
from helpers import random_labels, random_lists, random_votes

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "a|b `c` *d* [e](javascript:f)\nnew line",
    "\u202eright to left & \u2028",
]


def report(frame, model=None, gold=None):
    fitted = (model or cr.CrowdBT()).fit(frame)
    return build(fitted.result_, gold)


def hostile_votes():
    pairs = [(a, b) for a in HOSTILE for b in HOSTILE if a != b]
    rows = [{"worker": HOSTILE[k % 5], "winner": a, "loser": b} for k, (a, b) in enumerate(pairs)]
    return pl.DataFrame(rows)


def embedded(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])


def told(html):
    """The page without its style and its scripts."""
    return re.sub(r"(?s)<(style|script)\b.*?</\1>", "", html)


class TestPage:
    def test_every_item_worker_and_warning_is_there(self):
        one_more = pl.DataFrame([["w1", "new", "i1", "new"]], schema=random_votes().schema, orient="row")
        html = to_html(report(pl.concat([random_votes(), one_more])))
        for number in range(12):
            assert f">i{number}<" in html
        for number in range(8):
            assert f">w{number}<" in html
        assert html.index("never lost: new") < html.index("<table")  # what to know stands above the ranking

    def test_the_sections_are_in_order(self):
        html = to_html(report(random_votes(), gold={"tau": 0.5}))
        headings = re.findall(r"<h2 [^>]*>([^<]+)", html)
        assert headings == [
            "Ranking", "Workers", "How the comparisons connect", "What would make the ranking more certain",
            "How it was computed",
        ]  # fmt: skip
        assert "<dt>tau by gold</dt><dd>0.5000</dd>" in html

    def test_the_title_counts_the_items(self):
        html = to_html(report(random_votes()))
        assert "<title>crowd-bt: 12 items ranked by crowdrank</title>" in html
        assert "<h1>Ranking of 12 items by crowd-bt</h1>" in html

    def test_without_workers_and_without_warnings(self):
        html = to_html(report(random_votes(votes=2000).drop("worker"), cr.BradleyTerry()))
        assert 'id="workers"' not in html
        assert "No warnings: the fit converged, all items are connected, and each has won and lost." in html

    def test_lists_are_told_in_their_words(self):
        html = to_html(report(random_lists(workers=20), cr.PlackettLuce()))
        assert "No warnings: the fit converged, and the lists link all items." in html
        assert "How the lists connect</h2>" in html
        assert 'data-key="comparisons" class="num wide" title="Lists that hold the item"' in html
        assert 'data-key="label"' not in html
        assert "votes" not in told(html).lower()

    def test_labels_are_told_in_their_words(self):
        html = to_html(
            report(cr.read(random_labels(queries=2, labels=2000), columns="query=query"), cr.MajorityVote())
        )
        assert "No warnings: the fit converged, and every item has labels." in html
        assert "connect" not in told(html).lower()
        assert re.search(r'<td class="num wide">\d \(\d\.\d\d\)</td></tr>', html)
        for other in ("votes", "linked groups", "pairs", ">met<"):
            assert other not in told(html).lower()

    def test_it_needs_nothing_from_outside(self):
        html = to_html(report(random_votes(queries=2)))
        assert not re.search(r"<(link|img|iframe)|\ssrc\s*=|@import|https?://(?!www\.w3\.org/2000/svg)", html)
        assert set(re.findall(r'href="(.)', html)) == {"#"}
        assert set(re.findall(r"url\((.)", html)) == {"#"}

    def test_names_cannot_bring_markup(self):
        html = to_html(report(hostile_votes()))
        assert html.count("<script") == 2
        assert html.count("</script>") == 2
        assert "<img" not in html
        assert sorted(embedded(html)["queries"][0]["item"]) == sorted(HOSTILE)

    def test_all_rows_are_embedded(self):
        data = embedded(to_html(report(random_votes(queries=40, votes=4000))))
        assert len(data["queries"]) == 40
        assert sum(len(query["item"]) for query in data["queries"]) == 480
        assert len(data["workers"]["quality"]) == 8

    def test_intervals_stay_on_their_axis(self):
        places = [float(left) for left in re.findall(r"left:([\d.-]+)%", to_html(report(random_votes())))]
        assert places
        assert min(places) >= 0
        assert max(places) <= 100

    def test_a_thousand_items_and_300_workers_are_under_a_megabyte(self):
        html = to_html(report(random_votes(items=1000, workers=300, votes=20_000), cr.BradleyTerry()))
        assert len(html.encode()) < 300_000

    def test_thousands_of_queries_are_sane(self):
        found = report(thousands_of_queries(), cr.WinRate())
        html = to_html(found)
        assert found.queries_total == 3000
        assert len(found.queries) == 3000
        assert "only the first 6 items of each query" in html
        assert len(html.encode()) < 3_000_000


def thousands_of_queries():
    rng = np.random.default_rng(0)
    query, left = np.repeat(np.arange(3000), 30), np.tile(np.repeat(np.arange(10), 3), 3000)
    right = (left + rng.integers(1, 10, len(left))) % 10
    names = {"query": query, "winner": left, "loser": right}
    return pl.DataFrame({name: pl.Series(values).cast(pl.String) for name, values in names.items()})


class TestMarkdown:
    def test_it_has_every_section_and_row(self):
        text = to_markdown(report(random_votes(), gold={"tau": 0.5}))
        assert re.findall(r"^#+ .*", text, re.M) == [
            "# Ranking of 12 items by crowd-bt", "## Ranking", "## Warnings", "## Workers",
            "## How the comparisons connect", "## What would make the ranking more certain",
            "## How it was computed",
        ]  # fmt: skip
        assert len(re.findall(r"^\| \d", text, re.M)) == 12
        assert "- tau by gold: 0.5000" in text

    def test_lists(self):
        text = to_markdown(report(random_lists(), cr.PlackettLuce()))
        assert "| Score | 90 % interval | Lists |\n" in text
        assert "## How the lists connect" in text
        assert "vote" not in text

    def test_labels(self):
        found = report(random_labels(), cr.DawidSkene())
        text = to_markdown(found)
        first = found.queries[0].rows[0]
        assert "| Score | 90 % interval | Labels | Label |\n" in text
        assert re.search(rf"^\| 1 \|.*\| {first.label} \({first.probability:.2f}\) \|$", text, re.M)
        assert "connect" not in text
        assert "vote" not in text

    def test_of_a_long_table_the_first_rows_are_shown(self):
        found = report(random_labels(items=60, labels=1000), cr.GLAD())
        text, page = to_markdown(found), to_html(found)
        assert "## Easiness" in text
        assert "The first 50 of 60 rows; the easiness file has all of them." in text
        assert "The first 20 of 60 rows. The easiness file next to this page has all of them." in page
        assert len(re.findall(r"<tr>", page[page.index('id="table-easiness"') :])) < 100

    def test_where_nothing_is_open_that_is_said(self):
        rows = [("a", "b"), ("b", "a")] + [("a", "b")] * 200
        text = to_markdown(report(pl.DataFrame(rows, schema=["winner", "loser"], orient="row"), cr.BradleyTerry()))
        assert "Nothing stands out: all neighbors in rank can be told apart, and no worker needs checking." in text

    def test_names_cannot_bring_markup(self):
        text = to_markdown(report(hostile_votes()))
        assert not re.search(r"(?<!\\)<", text)
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {8, 6}

    def test_long_ones_are_cut_and_that_is_said(self):
        text = to_markdown(report(random_votes(items=60, queries=30, votes=20_000), cr.WinRate()))
        assert text.count("### Query") == 20
        assert text.count("The ranking file has all 60 items.") == 20
        assert "The first 20 of 30 queries;" in text


class TestJson:
    def test_it_is_the_content(self):
        found = report(random_votes(queries=2), gold={"tau": float("nan")})
        data = json.loads(to_json(found))
        assert set(data) == set(vars(found))
        assert data["gold"] == {"tau": None}
        assert data["queries"][0]["rows"][0] == vars(found.queries[0].rows[0])
        assert data["crowd"]["verdicts"] == found.crowd.verdicts
        assert data["suggestions"][0]["sentence"] == found.suggestions[0].sentence

    def test_labels(self):
        data = json.loads(to_json(report(random_labels(), cr.DawidSkene())))
        assert data["unit"] == "labels"
        assert data["connections"] is None
        assert data["queries"][0]["connections"] is None
        assert set(data["queries"][0]["rows"][0]) >= {"label", "probability", "comparisons", "opponents"}

    def test_votes_have_no_label(self):
        data = json.loads(to_json(report(random_votes())))
        assert data["unit"] == "votes"
        assert {row["label"] for row in data["queries"][0]["rows"]} == {None}

    def test_names_stay_as_they_are(self):
        data = json.loads(to_json(report(hostile_votes())))
        assert sorted(row["item"] for row in data["queries"][0]["rows"]) == sorted(HOSTILE)


CLOSING = re.compile(r"$|</|{% (end|else)")


def test_templates_share_their_passages():
    """No four lines in a row, but for closing ones, are in two templates: base.html and parts.html have them."""
    folder = Path(html.__file__).parent / "templates"
    found = {}
    for file in sorted(folder.glob("*.html")):
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not CLOSING.match(line)]
        for place in range(len(lines) - 3):
            found.setdefault(tuple(lines[place : place + 4]), set()).add(file.name)
    assert [passage for passage, files in found.items() if len(files) > 1] == []
