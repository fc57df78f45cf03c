"""What moved between two results: the statistics, the pages, and the command."""

import json
import re

import numpy as np
import polars as pl
import pytest

from crowdrank.errors import InputError
from crowdrank.report import build_changes, changes_to_html, changes_to_markdown, read_result, to_json
from crowdrank.report.changes import step_up
from crowdrank.report.saved_result import SavedResult
from helpers import random_votes

HOSTILE = "<img src=x onerror=alert(1)>"


def result(scores, stderr=0.1, model="bt", name="one", query=None, workers=None):
    """A result from scores by item, best first."""
    order = sorted(scores, key=scores.get, reverse=True)
    ranking = pl.DataFrame(
        {
            "query": [query] * len(order), "item": order, "rank": range(1, len(order) + 1), "tier": 1,
            "score": [float(scores[item]) for item in order], "stderr": stderr, "rank_low": 1, "rank_high": 9,
        },
        schema_overrides={"query": pl.String},
    )  # fmt: skip
    judged = {"rows": 9, "kind": "pairs"}
    return SavedResult(name, {"model": model, "judgments": judged, "tables": []}, ranking, workers)


FLAT = {"a": 1.0, "b": 0.5, "c": -0.5, "d": -1.0}


class TestStatistics:
    def test_a_move_far_beyond_its_error_is_found(self):
        found = build_changes(result(FLAT), result({**FLAT, "d": 3.0}))
        first = found.rows[0]
        assert (first.item, first.before, first.after, first.verdict) == ("d", 4, 1, "up")
        assert first.change == pytest.approx(3.0)  # centered: 4 - 4 / 4
        assert first.high - first.low == pytest.approx(2 * 1.645 * np.hypot(0.1, 0.1), abs=0.02)
        assert found.headline[1] == "The first place went from “a” to “d”."
        assert {row.verdict for row in found.rows[1:]} == {"down"}  # by the center, which moved

    def test_the_same_result_twice_has_no_moves(self):
        found = build_changes(result(FLAT), result(FLAT))
        assert found.counts == {"noise": 4}
        assert found.tau == 1.0
        assert found.headline[0] == "Nothing moved beyond the noise, of 4 items that both rank."
        assert found.headline[1] == "“a” is first in both."

    def test_noise_is_seldom_called_a_move(self):
        """Of 60 pairs of results that differ by their errors alone, about a tenth has any move."""
        rng = np.random.default_rng(0)
        truth = rng.normal(size=20)
        any_move = 0
        for _ in range(60):
            one, other = (truth + rng.normal(0, 0.3, 20) for _ in range(2))
            before, after = (
                result({f"i{k}": value for k, value in enumerate(own)}, stderr=0.3) for own in (one, other)
            )
            any_move += build_changes(before, after).rows[0].verdict in ("up", "down")
        assert any_move <= 13  # 6 expected; the 99.5 % quantile of a binomial

    def test_other_models_are_compared_in_standard_deviations(self):
        twice = result({item: 2 * score + 5 for item, score in FLAT.items()}, stderr=0.2, model="thurstone")
        found = build_changes(result(FLAT), twice)
        assert all(row.change == pytest.approx(0.0, abs=1e-9) for row in found.rows)
        assert "standard deviations" in found.explanation
        assert found.headline[-1].startswith("The models differ, bt before and thurstone after")

    def test_ranks_are_among_the_items_of_both(self):
        found = build_changes(result({**FLAT, "old": 9.0}), result({**FLAT, "new": 0.0}))
        assert {row.item: (row.before, row.after) for row in found.rows}["a"] == (1, 1)
        assert (found.gone, found.new) == (((None, "old"),), ((None, "new"),))
        assert "Only the ranking after has 1 item: “new”." in found.headline

    def test_without_errors_noise_is_not_known(self):
        found = build_changes(result(FLAT, stderr=float("nan")), result({**FLAT, "d": 9.0}))
        assert {row.verdict for row in found.rows} == {"unknown"}
        assert found.rows[0].change is None
        assert found.cautions[0].title == "Noise is not known for some items"
        assert json.loads(to_json(found))["counts"] == {"unknown": 4}

    def test_groups_that_nothing_links_have_no_common_level(self):
        apart = result({**FLAT, "c": 2.0, "d": 1.5})
        apart.fit["warnings"] = [{"code": "disconnected", "message": "..."}]
        found = build_changes(apart, result(FLAT))
        assert found.counts == {"unknown": 4}
        assert found.cautions[0].code == "disconnected"

    def test_nothing_in_common(self):
        found = build_changes(result({"a": 1.0}), result({"b": 1.0}))
        assert found.headline == ("The two rankings have no item in common, so nothing can be compared.",)
        assert "<table" not in changes_to_html(found)
        assert "## Items" not in changes_to_markdown(found)

    def test_workers_whose_verdict_or_interval_moved(self):
        def people(*rows):
            schema = ["worker", "judgments", "quality", "low", "high", "verdict"]
            return pl.DataFrame(rows, schema=schema, orient="row")

        before = people(("a", 9.0, 0.8, 0.7, 0.9, "reliable"), ("b", 9.0, 0.7, 0.65, 0.75, "reliable"))
        after = people(("a", 9.0, 0.3, 0.2, 0.4, "malicious"), ("b", 9.0, 0.71, 0.66, 0.76, "reliable"))
        found = build_changes(result(FLAT, workers=before), result(FLAT, workers=after))
        assert [(row.worker, row.verdict_after, row.apart) for row in found.workers] == [("a", "malicious", True)]
        assert "intervals apart" in changes_to_markdown(found)

    def test_the_step_up_test_keeps_everything_below_the_last_that_passes(self):
        assert step_up(np.array([0.024, 0.03, 0.06, 0.075]), 0.1).tolist() == [True] * 4
        assert not step_up(np.array([0.2, 0.3]), 0.1).any()
        assert step_up(np.zeros(0), 0.1).tolist() == []


def test_names_are_only_text():
    found = build_changes(
        result({HOSTILE: 1.0, "b": 0.0}, query="<b>"), result({HOSTILE: 0.0, "b": 9.0}, query="<b>")
    )
    page, text = changes_to_html(found), changes_to_markdown(found)
    assert "<img" not in page
    assert "&lt;img" in page
    assert not re.search(r"(?<!\\)<", text)
    assert not re.search(r"https?://", page.replace("http://www.w3.org/2000/svg", ""))


class TestCommand:
    @pytest.fixture
    def folders(self, crowdrank, tmp_path):
        votes = random_votes(votes=300)
        votes.write_csv(tmp_path / "votes.csv")
        votes.head(150).write_csv(tmp_path / "some.csv")
        assert crowdrank("rank", "some.csv", "--model", "bt", "--out", "A").code == 0
        assert crowdrank("rank", "votes.csv", "--model", "bt", "--format", "parquet", "--out", "B").code == 0
        return tmp_path

    def test_it_prints_and_writes(self, crowdrank, folders):
        ran = crowdrank("report", "A", "B", "--out", "AB")
        assert ran.code == 0
        assert "of 12 items that both rank." in ran.out.splitlines()[0]
        assert re.search(r"^item +rank +change +90 % interval +moved$", ran.out, re.M)
        assert sorted(path.name for path in (folders / "AB").iterdir()) == [
            "report.html",
            "report.json",
            "report.md",
        ]
        shown = json.loads(crowdrank("report", "A", "B", "--json").out)
        assert shown == json.loads((folders / "AB" / "report.json").read_text())
        ranking = pl.read_csv(folders / "A" / "ranking.csv")
        ranks = dict(ranking.select("item", "rank").iter_rows())
        assert {row["item"]: row["before"] for row in shown["rows"]} == ranks

    def test_it_says_that_the_models_differ(self, crowdrank, folders):
        assert crowdrank("rank", "votes.csv", "--model", "crowd-bt", "--out", "C").code == 0
        assert "The models differ, bt before and crowd-bt after" in crowdrank("report", "A", "C").out
        assert "models differ" not in crowdrank("report", "A", "B").out

    def test_mistakes(self, crowdrank, folders):
        for words, problem in {
            ("A", "nope"): "nope: there is no such folder.",
            ("A", "votes.csv"): "votes.csv: this is not a folder.",
            ("A", "."): ".: the folder has no fit.json.",
        }.items():
            ran = crowdrank("report", *words)
            assert ran.code == 2
            assert problem in ran.err
            assert "wrote with --out DIR" in ran.err
        ran = crowdrank("report", "A", "B", "--out", "A")
        assert ran.code == 2
        assert "this folder is compared, so it is kept" in ran.err

    def test_broken_folders(self, folders):
        (folders / "B" / "fit.json").write_text("{}")
        with pytest.raises(InputError, match="does not describe a ranking"):
            read_result(folders / "B")
        (folders / "A" / "ranking.csv").write_text("item,score\na,1\n")
        with pytest.raises(InputError, match="there is no column 'query'"):
            read_result(folders / "A")
        (folders / "A" / "ranking.csv").unlink()
        with pytest.raises(InputError, match="the folder has no ranking"):
            read_result(folders / "A")
