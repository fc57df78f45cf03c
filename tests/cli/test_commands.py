"""The other commands, the help, and what is loaded for them."""

import json
import re
import subprocess
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from crowdrank.cli import COMMANDS
from crowdrank.cli.options import parse_settings
from crowdrank.models import entries
from crowdrank.rankers.registry import ranker_entries
from crowdrank.rankers.supervised import ListMLE
from helpers import random_votes
from rankers.made import labeled_frame

HEAVY = ("numpy", "scipy", "polars", "narwhals", "jinja2", "pandas", "matplotlib")


@pytest.mark.parametrize("code", ["import crowdrank", "import sys; sys.argv = ['crowdrank', '--help']"])
def test_nothing_heavy_is_loaded_for_a_look(code):
    if "argv" in code:
        code += "\nfrom crowdrank.cli import run\nrun(sys.argv[1:])"
    code += f"\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_version_and_help(crowdrank):
    import crowdrank as package

    assert crowdrank("--version").out == f"crowdrank {package.__version__}\n"
    shown = crowdrank("--help")
    assert shown.code == 0
    for name in COMMANDS:
        assert name in shown.out
    assert crowdrank("nonsense").code == 2


def test_as_a_module(crowdrank):
    command = [sys.executable, "-m", "crowdrank", "models"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == crowdrank("models").out


WORDS = {
    "rank": ["votes.csv", "--model", "crowd-bt", "--out", "result"],
    "models": ["--json"],
    "compare": ["votes.csv", "--models", "win-rate,bt"],
    "evaluate": ["votes.csv", "votes.csv"],
    "train": ["features.csv", "--out", "result"],
    "score": ["ranker", "features.csv"],
    "export": ["ranker", "--onnx", "ranker.onnx"],
    "next": ["votes.csv", "--count", "3"],
    "ask": ["votes.csv", "--judge", "echo left", "--budget", "2", "--out", "answers.csv"],
    "replay": ["--simulate", "bt", "--budget", "20", "--seeds", "1", "--set", "items=5"],
    "report": ["ranker", "ranker"],
    "simulate": ["bt-crowd", "--out", "result"],
    "reproduce": [],
    "demo": ["--out", "result"],
    "completion": ["bash"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_process_of_its_own_does_what_the_other_tests_see(name, crowdrank, crowdrank_process, tmp_path):
    found = []
    for place, run in (("here", crowdrank), ("away", crowdrank_process)):
        folder = tmp_path / place
        folder.mkdir()
        random_votes(votes=100).write_csv(folder / "votes.csv")
        labeled_frame().write_csv(folder / "features.csv")
        ListMLE().fit(labeled_frame()).save(folder / "ranker")
        ran = run(name, *WORDS[name], cwd=folder)
        seconds = re.compile(r"\b\d+\.\d\d\b")
        files = sorted(path.name for path in folder.glob("result/*"))
        found.append((ran.code, seconds.sub("", ran.out), seconds.sub("", ran.err), files))
    assert found[0] == found[1]


class TestModels:
    def test_as_a_table(self, crowdrank):
        models, rankers = ([line.split("\t") for line in part.splitlines()] for part in self.parts(crowdrank))
        assert models[0] == ["model", "kinds", "workers", "what", "paper", "varies with"]
        assert [row[0] for row in models[1:]] == list(entries())
        assert rankers[0] == ["ranker", "learns from", "what", "paper", "varies with"]
        assert [row[0] for row in rankers[1:]] == list(ranker_entries())
        assert {len(row) for row in rankers} == {5}

    @staticmethod
    def parts(crowdrank):
        return crowdrank("models").out.split("\n\n")

    def test_as_json(self, crowdrank):
        rows = json.loads(crowdrank("models", "--json").out)
        assert [row["model"] for row in rows] == [*entries(), *ranker_entries()]
        assert [row["model"] for row in rows if row["kinds"] == "features"] == list(ranker_entries())

    @pytest.mark.parametrize("name", ["crowd-bt", "ltrma-mle", "ltrma-d", "listmle"])
    def test_one_of_them(self, crowdrank, name):
        entry = {**entries(), **ranker_entries()}[name]
        what, facts, parameters, meaning = crowdrank("models", name).out.split("\n\n", 3)
        assert what == f"{name}: {entry.summary}"
        assert facts.startswith(f"paper: {entry.paper}\n")
        assert facts.endswith(f"\ncost: {entry.cost}")
        cells = [line.split("\t") for line in parameters.splitlines()[1:]]
        assert all(means for _, _, means in cells)
        rows = {key: value for key, value, _ in cells}
        own = {**entry.load().parameters(), **entry.preset}
        assert parse_settings([f"{key}={value}" for key, value in rows.items()]) == own  # they can be typed
        assert entry.load().__doc__.splitlines()[0] in meaning
        assert ">>>" in entry.load().__doc__
        assert ">>>" not in meaning
        found = json.loads(crowdrank("models", name, "--json").out)
        assert set(found["parameters"]) == set(found["meanings"]) == set(rows)

    @pytest.mark.parametrize("entry", [*entries().values(), *ranker_entries().values()], ids=lambda own: own.name)
    def test_every_parameter_has_a_meaning_and_every_model_a_cost(self, entry):
        assert entry.cost
        assert [name for name, text in entry.load().meanings().items() if not text] == []

    @pytest.mark.parametrize("entry", [*entries().values(), *ranker_entries().values()], ids=lambda own: own.name)
    def test_every_parameter_has_a_meaning_of_its_own(self, entry):
        meanings = entry.load().meanings()
        assert len(set(meanings.values())) == len(meanings)
        for text in meanings.values():  # whole sentences about this parameter alone
            assert text.endswith(".")
            assert text.count("(") == text.count(")")
            assert "other parameters" not in text

    def test_none_of_them(self, crowdrank):
        ran = crowdrank("models", "magic")
        assert ran.code == 2
        assert ran.err.startswith("crowdrank: There is no model 'magic'.\nHint: The models and rankers are ")


class TestEvaluate:
    @pytest.fixture
    def files(self, tmp_path):
        pl.DataFrame({"item": list("abc"), "score": [3.0, 2.0, 1.0]}).write_csv(tmp_path / "ranking.csv")
        pl.DataFrame({"item": list("abc"), "grade": [2, 0, 1]}).write_csv(tmp_path / "gold.csv")
        return "ranking.csv", "gold.csv"

    def test_as_text(self, crowdrank, files):
        ran = crowdrank("evaluate", *files)
        assert ran.code == 0
        assert [line.split()[0] for line in ran.out.splitlines()] == [
            "nDCG@10",
            "RBP(p=0.95)",
            "AP",
            "tau",
            "acc",
        ]

    def test_as_json(self, crowdrank, files):
        found = json.loads(crowdrank("evaluate", *files, "--measures", "acc AP P@2", "--json").out)
        assert found == pytest.approx({"acc": 2 / 3, "AP": (1 + 2 / 3) / 2, "P@2": 1 / 2})

    def test_what_the_gold_covers_goes_to_stderr(self, crowdrank, files, tmp_path):
        (tmp_path / "part.csv").write_text("item,grade\na,2\nb,1\nc,-1\nz,0\n")
        for more in ([], ["--json"]):
            ran = crowdrank("evaluate", files[0], "part.csv", "--measures", "acc", *more)
            assert "gold has grades for 2 of 3 ranked items; 1 graded item is not ranked\n" in ran.err
            assert "warning: 1 grade of the gold is below 0 (-1)" in ran.err
        assert json.loads(ran.out) == {"acc": 1.0}

    def test_what_is_undefined_is_null(self, crowdrank, files, tmp_path):
        (tmp_path / "flat.csv").write_text("item,grade\na,1\nb,1\n")
        ran = crowdrank("evaluate", files[0], "flat.csv", "--measures", "acc", "--json")
        assert json.loads(ran.out) == {"acc": None}
        assert "undefined" in crowdrank("evaluate", files[0], "flat.csv", "--measures", "acc").out

    def test_a_run_against_qrels(self, crowdrank, tmp_path):
        (tmp_path / "run.txt").write_text("1 Q0 d1 1 2.5 s\n1 Q0 d2 2 1.5 s\n2 Q0 d1 1 9 s\n")
        (tmp_path / "qrels.txt").write_text("1 0 d1 0\n1 0 d2 1\n2 0 d1 1\n")
        found = json.loads(crowdrank("evaluate", "run.txt", "qrels.txt", "--measures", "RR", "--json").out)
        assert found == {"RR": (1 / 2 + 1) / 2}

    def test_a_run_whose_scores_contradict_its_ranks(self, crowdrank, tmp_path):
        (tmp_path / "run.txt").write_text("1 Q0 d1 1 1 s\n1 Q0 d2 2 2 s\n2 Q0 d2 2 4 s\n2 Q0 d1 1 4 s\n")
        (tmp_path / "qrels.txt").write_text("1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n")
        words = "run.txt: 1 row has a larger score than the row that is ranked just above, such as row 2 (rank 2,"
        for command in (["evaluate", "run.txt", "qrels.txt"], ["rank", "run.txt"]):
            assert words in crowdrank(*command).err
        (tmp_path / "run.txt").write_text("1 Q0 d1 1 2 s\n1 Q0 d2 2 1 s\n1 Q0 d3 3 1 s\n")
        assert "larger score" not in crowdrank("evaluate", "run.txt", "qrels.txt").err

    @pytest.fixture
    def systems(self, tmp_path):
        runs = {"bm25": ("1 d1 d2", "2 d1"), "dense": ("1 d2 d3", "2 d1")}
        lines = [
            f"{query} Q0 {item} {place} {-place} {tag}\n"
            for tag, lists in runs.items()
            for query, *items in map(str.split, lists)
            for place, item in enumerate(items, 1)
        ]
        (tmp_path / "run.txt").write_text("".join(lines))
        (tmp_path / "qrels.txt").write_text("1 0 d1 0\n1 0 d2 1\n2 0 d1 1\n")
        return "run.txt", "qrels.txt"

    def test_each_system_of_a_run(self, crowdrank, systems):
        ran = crowdrank("evaluate", *systems, "--measures", "RR P@1")
        assert [line.split() for line in ran.out.splitlines()] == [
            ["system", "RR", "P@1"],
            ["bm25", f"{(1 / 2 + 1) / 2:.4f}", f"{1 / 2:.4f}"],
            ["dense", "1.0000", "1.0000"],
        ]
        assert "bm25: gold has grades for 3 of 3 ranked items, in 2 of 2 queries\n" in ran.err
        assert "dense: gold has grades for 2 of 3 ranked items, in 2 of 2 queries; 1 graded" in ran.err
        found = json.loads(crowdrank("evaluate", *systems, "--measures", "RR", "--json").out)
        assert found == {"bm25": {"RR": (1 / 2 + 1) / 2}, "dense": {"RR": 1.0}}

    def test_an_item_twice_in_one_system_names_its_row(self, crowdrank, systems, tmp_path):
        with (tmp_path / "run.txt").open("a") as file:
            file.write("2 Q0 d1 2 1 dense\n")
        assert "run.txt, row 7, column 'item': the item appears twice" in crowdrank("evaluate", *systems).err

    def test_what_is_noted_of_one_system_names_it(self, crowdrank, systems, tmp_path):
        (tmp_path / "qrels.txt").write_text("1 0 d1 1\n1 0 d2 0\n2 0 d1 -1\n")
        ran = crowdrank("evaluate", *systems, "--measures", "acc")
        assert ran.err.count("1 grade of the gold is below 0") == 1
        assert "warning: dense: acc is undefined" in ran.err

    def test_mistakes(self, crowdrank, files):
        assert crowdrank("evaluate", *files, "--measures", "magic").code == 2
        assert crowdrank("evaluate", "none.csv", files[1]).code == 2
        assert "not a ranking" in crowdrank("evaluate", files[1], files[1]).err

    def test_our_own_ranking(self, crowdrank, tmp_path):
        assert crowdrank("simulate", "bt-crowd", "--out", ".").code == 0
        assert crowdrank("rank", "judgments.csv", "--out", "result").code == 0
        found = json.loads(crowdrank("evaluate", "result/ranking.csv", "gold.csv", "--json").out)
        assert found["acc"] > 0.9


class TestSimulate:
    def test_writes_the_truth_beside_the_votes(self, crowdrank, tmp_path):
        ran = crowdrank("simulate", "crowd-bt-quality", "--out", "crowd", "--seed", 3, "--set", "pairs=50")
        assert ran.code == 0
        names = {path.name for path in (tmp_path / "crowd").iterdir()}
        assert names == {"judgments.csv", "gold.csv", "workers.csv", "gold_pairs.csv"}
        assert len(pl.read_csv(tmp_path / "crowd" / "judgments.csv")) == 50 * 10 + 5 * 100

    def test_mistakes(self, crowdrank, tmp_path):
        ran = crowdrank("simulate", "nope", "--out", "crowd")
        assert ran.code == 2
        assert "The presets are bt-crowd" in ran.err
        assert not (tmp_path / "crowd").exists()
        assert crowdrank("simulate", "bt-crowd").code == 2


class TestReproduce:
    def test_lists_its_targets(self, crowdrank):
        assert "crowd-bt-table3" in crowdrank("reproduce").out

    def test_a_table(self, crowdrank):
        ran = crowdrank("reproduce", "crowd-bt-table1", "--seeds", "1", "--json")
        found = json.loads(ran.out)
        assert "table 1" in found["title"]
        assert all(0 <= row["ours"] <= 1 for row in found["rows"])

    def test_mistakes(self, crowdrank, tmp_path):
        assert crowdrank("reproduce", "table9").code == 2
        ran = crowdrank("reproduce", "crowd-bt-table3", "--data", tmp_path)
        assert ran.code == 2
        assert "--data DIR, or set CROWDRANK_DATA" in ran.err


def test_demo(crowdrank, tmp_path):
    ran = crowdrank("demo")
    assert ran.code == 0
    assert (tmp_path / "crowdrank-demo" / "report.html").exists()
    assert "crowd-bt" in ran.out
    again = crowdrank("rank", "crowdrank-demo/judgments.csv", "--model", "crowd-bt", "--out", "again")
    assert again.code == 0
    ours, shown = (pl.read_csv(tmp_path / name / "ranking.csv") for name in ("again", "crowdrank-demo"))
    assert_frame_equal(ours, shown, abs_tol=1e-9)
