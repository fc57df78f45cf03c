"""Charts: what they draw, how they are shown and saved."""

import re
import sys
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.charts import MOST_WORKERS, Cell, Dot, Interval, draw_heatmap, draw_intervals, draw_workers
from crowdrank.charts.heatmap import short_share
from helpers import random_labels, random_votes

HOSTILE = '<script>alert("1")</script> & a name that is much longer than there is room for'
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def fitted():
    return cr.CrowdBT().fit(random_votes())


@pytest.fixture(scope="module")
def labelled():
    return cr.DawidSkene().fit(random_labels(queries=2))


def elements(chart, tag, kind=""):
    """The elements of a chart with this class. Parsing fails unless everything is escaped."""
    root = ElementTree.fromstring(chart.svg)
    return [own for own in root.iter(f"{SVG}{tag}") if kind in own.get("class", "").split() or not kind]


class TestPlots:
    def test_the_ranking_has_a_bar_for_each_item_in_order(self, fitted):
        chart = fitted.ranking_.plot()
        rows = fitted.ranking_.polars()
        assert [own.text for own in elements(chart, "title")] == rows["item"].to_list()
        bars = [(float(own.get("x")), float(own.get("width"))) for own in elements(chart, "rect", "c-bar")]
        widths = (rows["high"] - rows["low"]).to_numpy()
        assert [width for _, width in bars] == pytest.approx(widths * bars[0][1] / widths[0], abs=0.3)
        assert len(elements(fitted.ranking_.plot(most=5), "rect", "c-bar")) == 5
        assert "and 7 more items" in fitted.ranking_.plot(most=5).svg

    def test_workers_are_marked_by_verdict(self, fitted):
        chart, people = fitted.workers_.plot(), fitted.workers_.polars()
        for verdict, count in people["verdict"].value_counts().iter_rows():
            assert len(elements(chart, "path", f"c-{verdict}")) == count + 1  # and the legend
        assert re.search(r"w0: \w+, quality 0\.\d\d \(0\.\d\d to 0\.\d\d\), judgments: \d+", chart.svg)

    def test_chances_are_those_of_the_posterior(self, fitted):
        posterior = fitted.posterior_
        names = fitted.ranking_.polars()["item"].to_list()
        words = [own.text for own in elements(posterior.plot(), "title")]
        first = posterior.difference(names[0], names[1]).probability
        assert f"P({names[0]} is better than {names[1]}) = {first:.2f}" in words
        assert f"P({names[1]} is better than {names[0]}) = {1 - first:.2f}" in words

    def test_labels_have_a_cell_for_each_label(self, labelled):
        chart = labelled.labels_.plot(query="q1", most=4)
        rows = labelled.labels_.polars().filter(query="q1").sort("probability").head(4)
        words = [own.text for own in elements(chart, "title")]
        for row in rows.iter_rows(named=True):
            assert f"{row['item']}: label {row['label']:g} with {row['probability']:.2f}" in words
        assert len(elements(chart, "rect", "c-ahead")) == 4 * 4

    def test_an_unknown_query_is_an_error(self, labelled):
        with pytest.raises(cr.UsageError, match="no query 'q7'") as caught:
            labelled.ranking_.plot(query="q7")
        assert "The queries are q0, q1." in caught.value.wording()
        with pytest.raises(cr.UsageError, match="At least one row"):
            labelled.ranking_.plot(most=0)


class TestAhead:
    def test_every_pair_is_as_the_difference_says(self, fitted):
        posterior = fitted.posterior_
        found = posterior.ahead(np.array([3, 0, 7]))
        names = posterior.item.gather([3, 0, 7]).to_list()
        for i, one in enumerate(names):
            for j, other in enumerate(names):
                assert found[i, j] == pytest.approx(posterior.difference(one, other).probability)

    def test_unlinked_items_are_even(self):
        votes = pl.DataFrame({"winner": ["a", "b", "x", "y"], "loser": ["b", "a", "y", "x"]})
        assert cr.BradleyTerry().fit(votes).posterior_.ahead(np.array([0, 2])).tolist() == [[0.5, 0.5], [0.5, 0.5]]

    def test_large_parts_leave_covariances_out(self, fitted, monkeypatch):
        exact = fitted.posterior_.ahead(np.array([0, 1]))
        monkeypatch.setattr("crowdrank.results.posterior.PAIRWISE", 3)
        assert fitted.posterior_.ahead(np.array([0, 1])) == pytest.approx(exact, abs=0.05)


class TestDrawing:
    def test_names_are_only_text_and_whole_in_the_hint(self):
        chart = draw_intervals([Interval(HOSTILE, 0.0, -np.inf, 1.0, 1)], 1)
        assert [own.text for own in elements(chart, "title")] == [HOSTILE]
        assert len(elements(chart, "path", "c-open")) == 1  # an end that is not bounded
        (shown,) = [own.text for own in elements(chart, "text", "c-name")]
        assert shown.endswith("…")
        assert len(shown) == 26

    @pytest.mark.parametrize("most", [1, 1.5, 40])
    def test_the_axis_of_judgments_has_two_numbers_or_more(self, most):
        for least in (1.0, 9.5, 11.0, 12.0, 34.0, 150.0, 1010.0):
            dots = [Dot("w", count, 0.7, 0.6, 0.8, "unsure") for count in (least, least * most)]
            below = [own for own in elements(draw_workers(dots), "text") if own.get("text-anchor") == "middle"]
            assert len(below) >= 2

    def test_of_many_workers_those_with_most_judgments_are_drawn(self):
        dots = [Dot(f"w{k}", k + 1.0, 0.7, 0.6, 0.8, "unsure") for k in range(MOST_WORKERS + 5)]
        chart = draw_workers(dots)
        assert len(elements(chart, "title")) == MOST_WORKERS
        assert ">w4:" not in chart.svg
        assert ">w5:" in chart.svg

    def test_no_mark_can_cover_the_word_for_guessing(self):
        """It ends left of the axis, where every mark begins."""
        chart = draw_workers([Dot("w1", 1.0, 0.5, 0.4, 0.6, "unsure"), Dot("w2", 400.0, 0.5, 0.4, 0.6, "spammer")])
        (word,) = [own for own in elements(chart, "text") if own.text == "guessing"]
        assert word.get("text-anchor") == "end"
        assert float(word.get("x")) < min(
            float(re.match(r"M([\d.]+)", own.get("d"))[1]) for own in elements(chart, "path", "c-grid")
        )

    def test_the_color_is_the_distance_from_none(self):
        cells = [[Cell(0.5, ".5", "half"), None, Cell(-1.0, "0", "none")]]
        chart = draw_heatmap(cells, ["a"], ["x", "y", "z"], beside="b", above="c", description="d")
        (ahead,), (behind,) = elements(chart, "rect", "c-ahead"), elements(chart, "rect", "c-behind")
        assert (ahead.get("fill-opacity"), behind.get("fill-opacity")) == ("0.50", "1.00")

    def test_shares_are_short(self):
        assert [short_share(value) for value in (0.0, 0.004, 0.07, 0.5, 0.996, 1.0)] == [
            "0",
            "0",
            ".07",
            ".50",
            "1",
            "1",
        ]


class TestSaving:
    def test_a_notebook_shows_the_svg(self, fitted):
        chart = fitted.workers_.plot()
        assert chart._repr_svg_() == chart.svg
        assert chart.svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
        assert "prefers-color-scheme:dark" in chart.svg
        assert repr(chart).startswith("Chart('Quality of 8 of 8 workers")

    def test_the_end_of_the_name_is_the_form(self, fitted, tmp_path):
        chart = fitted.ranking_.plot()
        assert chart.save(f"{tmp_path}/chart.svg") == tmp_path / "chart.svg"
        assert (tmp_path / "chart.svg").read_text() == chart.svg
        with pytest.raises(cr.UsageError, match=r"saved as \.svg or \.png\. Got .*chart\.pdf"):
            chart.save(tmp_path / "chart.pdf")

    def test_png(self, fitted, tmp_path):
        pytest.importorskip("resvg_py")
        fitted.workers_.plot().save(tmp_path / "chart.PNG")
        content = (tmp_path / "chart.PNG").read_bytes()
        assert content.startswith(b"\x89PNG")
        assert int.from_bytes(content[16:20]) == 2 * 560  # twice the width of the drawing

    def test_png_without_its_package_names_the_extra(self, fitted, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "resvg_py", None)
        with pytest.raises(cr.UsageError, match="resvg-py is needed") as caught:
            fitted.workers_.plot().save(tmp_path / "chart.png")
        assert "pip install 'crowdrank[png]'" in caught.value.wording()
        assert not (tmp_path / "chart.png").exists()


def test_a_file_in_the_place_of_a_query():
    ranking = cr.BradleyTerry().fit([("a", "b"), ("b", "a")]).ranking_
    with pytest.raises(cr.UsageError, match=r"(?s)is a query, not a file.*plot\(\)\.save\(\"x\.svg\"\)"):
        ranking.plot("x.svg")
    with pytest.raises(cr.UsageError, match="the judgments have no queries"):
        ranking.plot("q1")
