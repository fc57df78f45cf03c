"""Groups of items that were never compared: no first place, and tiers within a group, in every form."""

import polars as pl
import pytest

import crowdrank as cr
from browsing import column
from crowdrank.cli.terminal import print_ranking
from crowdrank.report import build, to_html, to_markdown

WON = ("ab", "bc", "ac") * 20 + ("cb",) * 3 + ("xy", "yx") * 10
TIERS = ["1 of group 1", "1 of group 2", "1 of group 2", "2 of group 1", "3 of group 1"]


@pytest.fixture(scope="module")
def result():
    """Down the ranks: a, then x and y, which stay close to 0, b and c."""
    frame = pl.DataFrame(list(map(tuple, WON)), schema=["winner", "loser"], orient="row")
    return cr.BradleyTerry().fit(frame).result_


@pytest.fixture(scope="module")
def report(result):
    return build(result)


def test_no_item_is_first(report):
    said = report.queries[0].headline
    assert said == "Nobody knows which item is first: “a” leads a group that was never compared with the others."
    assert report.queries[0].first_tier == 1


def test_a_tier_of_a_group_is_not_below_one_of_another(result, report):
    page = to_html(report)
    assert [row.tier for row in report.queries[0].rows] == [1, 1, 1, 2, 3]
    assert [row.group for row in report.queries[0].rows] == [1, 2, 2, 1, 1]
    lines = [line for line in to_markdown(report).splitlines() if "of group" in line and line.startswith("|")]
    assert [line.split(" | ")[2] for line in lines] == TIERS
    assert '<tr class="tier-start' not in page
    assert "c-tint" not in result.ranking.plot().svg.split("</style>")[1]


def test_the_scripted_page_says_the_same(visit, report, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(to_html(report), encoding="utf-8")
    page = visit(file.as_uri())
    assert column(page, "#items", 3) == TIERS
    assert page.locator("#items .band, #items .tier-start").count() == 0


def test_the_table_of_the_terminal_has_the_group(result, capsys):
    print_ranking(result.ranking.polars())
    shown = capsys.readouterr().out
    assert "group" in shown.splitlines()[1]
    rows = [[cell.strip() for cell in line.split("│")[3:6]] for line in shown.splitlines() if line.startswith("│")]
    assert rows == [["1", "1", "a"], ["1", "2", "x"], ["1", "2", "y"], ["2", "1", "b"], ["3", "1", "c"]]


def test_linked_items_have_no_groups():
    ranking = cr.BradleyTerry().fit([("a", "b"), ("b", "c")]).ranking_
    assert ranking.group.tolist() == [1, 1, 1]
    assert "group" not in ranking.polars().columns


def test_groups_are_counted_within_each_query():
    rows = [("p", "a", "b"), ("q", "a", "b"), ("q", "x", "y"), ("q", "x", "y"), ("q", "x", "y")]
    frame = pl.DataFrame(rows, schema=["query", "winner", "loser"], orient="row")
    found = cr.BradleyTerry().fit(frame).ranking_.polars()
    assert found.filter(query="p")["group"].to_list() == [1, 1]
    assert dict(found.filter(query="q").select("item", "group").iter_rows()) == {"x": 1, "y": 1, "a": 2, "b": 2}
