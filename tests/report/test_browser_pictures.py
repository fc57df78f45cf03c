"""Pictures of the page in Chromium: what they draw, and what their hints say."""

import re
from itertools import combinations

import polars as pl
import pytest

import crowdrank as cr
from browsing import column, heading
from crowdrank.report import build, to_html


def test_the_picture_has_a_square_for_each_pair(visit, many):
    page = visit(many)
    assert page.locator("#picture rect:not(.asked)").count() == 2 * 15 * 14  # votes, and who beats whom
    label = page.locator("#picture svg").first.get_attribute("aria-label")
    assert re.search(r"\d+ of 105 possible pairs were compared", label)


def test_where_the_next_votes_go_is_outlined(visit, one):
    page = visit(one)
    hint = page.locator("#picture .asked title").first.text_content()
    assert re.fullmatch(r"Ask about ranks \d+ and \d+: 1 of (\d+) next votes", hint)
    assert page.locator("#picture .asked").count() == int(hint.split()[-3])


def test_the_chances_of_both_sides_add_up(visit, many):
    page = visit(many)
    words = page.locator("#picture figure").nth(1).locator("title").all_text_contents()
    found = {}
    for text in words:
        row, column, chance = re.fullmatch(r"P\(rank (\d+) is better than rank (\d+)\) = ([\d.]+)", text).groups()
        found[int(row), int(column)] = float(chance)
    assert len(found) == 15 * 14
    assert all(found[i, j] + found[j, i] == pytest.approx(1.0) for i, j in found)
    assert found[1, 15] > 0.9


@pytest.fixture
def every_verdict(tmp_path):
    """A page with workers of each verdict."""
    pairs = list(combinations("abcdef", 2)) * 12
    rows = [(worker, *pair) for worker in ("ann", "bob", "cem") for pair in pairs] + [("new", "a", "b")]
    rows += [("liar", *reversed(pair)) for pair in pairs]
    rows += [("coin", *pair[:: 1 if k % 2 else -1]) for k, pair in enumerate(pairs)]
    frame = pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
    file = tmp_path / "report.html"
    file.write_text(to_html(build(cr.BradleyTerry().fit(frame).result_)), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("width", [1400, 390, 320])
def test_words_around_the_workers_are_whole_and_apart(visit, every_verdict, width):
    page = visit(every_verdict, {"width": width, "height": 700})
    (left, right), *texts = (
        page.locator("figure.roomy")
        .first.locator("svg, svg text, svg path.c-malicious")
        .evaluate_all(
            """(all) => all.map((own) => {
            const box = own.getBoundingClientRect();
            return own.matches("svg") ? [box.left, box.right] : [box.left, box.right, box.top, box.bottom];
        })"""
        )
    )
    assert len(texts) > 15
    assert min(box[0] for box in texts) >= left
    assert max(box[1] for box in texts) <= right
    for one, other in combinations(texts, 2):
        beside = one[1] <= other[0] + 1 or other[1] <= one[0] + 1
        assert beside or one[3] <= other[2] + 4 or other[3] <= one[2] + 4  # boxes of letters have room above


def test_lists_have_their_own_words(visit, ranked):
    page = visit(ranked)
    heading(page, "#ranking", "Lists").click()
    counts = [int(text) for text in column(page, "#items", 7)]
    assert counts == sorted(counts)
    label = page.locator("#picture svg").first.get_attribute("aria-label")
    assert re.fullmatch(r"Who shares a list .*: For \d+ of 28 possible pairs some list holds both items\.", label)
    assert re.search(r" An item is in \d+ to \d+ \(median \d+\) lists\.$", page.locator(".links").inner_text())
    assert page.locator("#agreement svg text").first.text_content() == "Worker"
    assert re.search(r": \d+ lists?$", page.locator("#picture rect title").first.text_content())
    assert "vote" not in page.locator("main").inner_text()


def test_colours_of_skills_fade_with_the_interval(visit, domains):
    page = visit(domains)
    shown = page.evaluate(r"""[...document.querySelectorAll(".skill")].map((cell) => {
        const [low, high] = cell.querySelector(".between").textContent.split(" to ").map(Number);
        const [light, a, b] = getComputedStyle(cell).backgroundColor.match(/[\d.e-]+/g).map(Number);  // oklab
        return [high - low, Math.hypot(a, b)];
    })""")
    shown.sort()
    colours = [colour for _, colour in shown]
    assert sum(colours[:40]) > 1.5 * sum(colours[-40:]) > 0
