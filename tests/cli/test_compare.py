"""crowdrank compare, as a user runs it."""

import json
import os
import re
import subprocess
import sys

import polars as pl
import pytest

from helpers import random_lists, random_votes


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "votes.csv"
    random_votes().write_csv(path)
    return path


def test_a_pipe_gets_aligned_text(crowdrank, file):
    ran = crowdrank("compare", file, "--models", "win-rate, bt,crowd-bt")
    assert ran.code == 0
    head, *lines = ran.out.splitlines()
    assert head.split() == ["model", "log", "loss", "±", "accuracy", "±", "seconds"]
    assert {line.split()[0] for line in lines} == {"win-rate", "bt", "crowd-bt"}
    assert lines[0].endswith("best")
    assert len({line.index(".") for line in lines[:2]}) == 1
    _, last = ran.err.splitlines()  # no progress without a terminal
    assert last == "Compared 3 models; the figures are on stdout"


def test_a_line_says_what_as_good_means(crowdrank, file):
    words = "as good: vote by vote, the mean difference from the best is within two standard errors"
    alike = crowdrank("compare", file, "--models", "bt,thurstone", "--folds", "3")
    assert "as good" in alike.out
    assert words in alike.err
    assert words not in crowdrank("compare", file, "--models", "bt", "--folds", "3").err


def test_json(crowdrank, file, tmp_path):
    pl.DataFrame({"item": [f"i{k}" for k in range(12)], "grade": range(12)}).write_csv(tmp_path / "gold.csv")
    ran = crowdrank("compare", file, "--models", "bt,borda", "--folds", 3, "--gold", "gold.csv", "--json")
    found = json.loads(ran.out)
    assert [row["model"] for row in found["models"]] == ["bt", "borda"]
    first, last = found["models"]
    assert {"model", "log_loss", "log_loss_se", "accuracy", "accuracy_se", "seconds", "gold"} <= set(first)
    assert set(first["gold"]) == {"acc", "tau", "nDCG@10"}
    assert found["gold_coverage"]["items"] == found["gold_coverage"]["ranked_items"] == 12
    assert "gold has grades for 12 of 12 ranked items\n" in ran.err
    assert [note["code"] for note in found["notes"]] == ["linear-gain"]
    assert last["log_loss"] is None
    assert found["folds"] == 3
    assert found["votes"] == 400
    assert found["ties"] is True


def test_without_names_every_model_that_can_run_and_auto(crowdrank, file, tmp_path):
    random_votes(votes=100).drop("worker").write_csv(tmp_path / "anonymous.csv")
    ran = crowdrank("compare", "anonymous.csv", "--json")
    names = {row["model"] for row in json.loads(ran.out)["models"]}
    assert {"auto", "bt", "win-rate"} <= names
    assert "crowd-bt" not in names
    assert re.search(r"Must know who judged: .*crowd-bt", ran.err)


def test_ties_are_dropped_on_request(crowdrank, file):
    found = json.loads(crowdrank("compare", file, "--models", "bt", "--ties", "drop", "--json").out)
    assert found["ties"] is False
    assert found["votes"] < 400


def test_a_folder_gets_the_figures_and_a_page(crowdrank, file, tmp_path):
    ran = crowdrank("compare", file, "--models", "bt,crowd-bt", "--out", "result")
    assert ran.code == 0
    folder = tmp_path / "result"
    assert sorted(path.name for path in folder.iterdir()) == ["compare.json", "report.html", "report.md"]
    names = [row["model"] for row in json.loads((folder / "compare.json").read_text())["models"]]
    page = (folder / "report.html").read_text()
    assert page.index(f"<bdi>{names[0]}</bdi>") < page.index(f"<bdi>{names[1]}</bdi>")
    assert "| bt |" in (folder / "report.md").read_text()


def test_a_model_that_fails_is_said(crowdrank):
    votes = "winner,loser\n" + "a,b\nb,c\n" * 20
    ran = crowdrank("compare", "-", "--models", "bt,win-rate", "--set", "regularization=0", stdin=votes)
    assert ran.code == 0
    assert ran.out.splitlines()[-1].split()[-1] == "failed"
    assert "warning: bt failed: " in ran.err


def test_a_terminal_gets_a_table(file):
    import pty

    parent, child = pty.openpty()
    command = [
        sys.executable,
        "-c",
        "from crowdrank.cli import main; main()",
        "compare",
        str(file),
        "--models",
        "bt",
    ]
    done = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, close_fds=True)
    os.close(child)
    seen = b""
    try:
        while chunk := os.read(parent, 65536):
            seen += chunk
    except OSError:  # the terminal closes with the program
        pass
    assert done.wait() == 0
    os.close(parent)
    assert "│ bt" in seen.decode()


@pytest.mark.parametrize(
    ("words", "stdin", "expected"),
    [
        (["--models", "bt,magic"], "winner,loser\na,b\n", ["no model 'magic'", "crowd-bt", "auto"]),
        ([], "worker,left,right,label\nw1,a,b,c\n", ["row 1, column 'label'", "Got 'c'"]),
        (["--set", "strength=9"], "winner,loser\na,b\n", ["'strength'", "regularization"]),
        (
            ["--models", "bt", "--set", "regularization=-1"],
            "winner,loser\na,b\nb,a\n",
            ["'regularization' must be"],
        ),
        (["--folds", "1"], "winner,loser\na,b\nb,a\n", ["folds must be at least 2"]),
        (["--models", "bt"], "winner,loser\na,b\n", ["too few votes"]),
        (["--ties", "burn"], "winner,loser\na,b\n", ["'keep' or 'drop'"]),
        (["--models", "crowd-bt"], "winner,loser\na,b\n", ["Must know who judged"]),
        (["--gold", "none.csv"], "winner,loser\na,b\n", ["none.csv: there is no such file"]),
    ],
)
def test_exit_2_and_a_reason(crowdrank, tmp_path, words, stdin, expected):
    ran = crowdrank("compare", "-", *words, "--out", "result", stdin=stdin)
    assert ran.code == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err
    for word in expected:
        assert word in ran.err
    assert not (tmp_path / "result").exists()


def test_lists_by_gold_and_time_alone(crowdrank, tmp_path):
    random_lists(queries=3).write_csv(tmp_path / "lists.csv")
    gold = random_lists(queries=3).select("query", "item").unique()
    gold.with_columns(grade=pl.col("item").str.slice(1)).write_csv(tmp_path / "gold.csv")
    words = ("--gold", "gold.csv", "--folds", "0", "--measures", "tau AP", "--models", "rrf,plackett-luce,borda")
    ran = crowdrank("compare", "lists.csv", *words, "--json", "--out", "result")
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)["models"]
    assert {row["model"] for row in rows} == {"rrf", "plackett-luce", "borda"}
    assert all(set(row["gold"]) == {"tau", "AP"} and row["log_loss"] is None for row in rows)
    page = (tmp_path / "result" / "report.md").read_text()
    assert "0 folds" not in page
    assert "held-out" not in page
