"""crowdrank replay, as a user runs it."""

import json

import pytest


class TestReplay:
    WORDS = ("replay", "--simulate", "bt", "--budget", 40, "--seeds", 2, "--set", "items=8", "--set", "workers=3")

    def test_a_pipe_gets_a_table(self, crowdrank):
        ran = crowdrank(*self.WORDS)
        assert ran.code == 0, ran.err
        assert ran.out.splitlines()[0].split() == [
            "selector",
            "to",
            "0.90",
            "to",
            "0.95",
            "to",
            "0.98",
            "accuracy",
            "±",
            "predicted",
        ]
        assert [line.split()[0] for line in ran.out.splitlines()[1:]] == ["random", "even", "gain"]

    def test_json(self, crowdrank):
        found = json.loads(crowdrank(*self.WORDS, "--json", "--select", "gain,joint").out)
        assert [run["select"] for run in found["selectors"]] == ["gain", "joint"]

    def test_a_folder_gets_a_report(self, crowdrank, tmp_path):
        ran = crowdrank(*self.WORDS, "--out", "result")
        assert ran.code == 0, ran.err
        folder = tmp_path / "result"
        assert sorted(path.name for path in folder.iterdir()) == ["replay.json", "report.html", "report.md"]
        page = (folder / "report.html").read_text()
        assert page.count('class="way way-') == 6  # three curves and three swatches
        assert "3 ways of asking" in (folder / "report.md").read_text()

    def test_recorded_votes(self, crowdrank, file, tmp_path):
        (tmp_path / "gold.csv").write_text("item,grade\n" + "".join(f"i{code},{code}\n" for code in range(8)))
        ran = crowdrank(
            "replay", file, "--gold", "gold.csv", "--budget", 500, "--seeds", 1, "--rank", "refit", "--look", 60
        )
        assert ran.code == 0, ran.err
        assert "only 120 recorded votes" in ran.err

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            ([], "needs recorded votes"),
            (["--simulate", "saints"], "no crowd 'saints'"),
            (["--simulate", "bt", "--select", "best"], "no selector 'best'"),
            (["--simulate", "bt", "--budget", "0"], "budget"),
            (["--simulate", "bt", "--seeds", "0"], "seeds"),
            (["--simulate", "bt", "--select", ","], "no selector"),
        ],
    )
    def test_mistakes(self, crowdrank, words, problem):
        ran = crowdrank("replay", *words)
        assert ran.code == 2
        assert problem in ran.err

    def test_recorded_votes_need_gold(self, crowdrank, file):
        ran = crowdrank("replay", file)
        assert ran.code == 2
        assert "--gold" in ran.err
