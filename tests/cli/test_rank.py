"""crowdrank rank, as a user runs it: files, pipes, mistakes, interruptions."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from crowdrank.cli.terminal import print_ranking
from crowdrank.compare.auto import CANDIDATES
from helpers import random_votes

HEADER = "query,item,rank,tier,score,stderr,low,high,rank_low,rank_high"


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    """auto chooses in nearly every test here, and has tests of its own with all candidates."""
    monkeypatch.setitem(CANDIDATES, "pairs", ("bt", "crowd-bt"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "votes.csv"
    random_votes().write_csv(path)
    return path


class TestOutput:
    def test_a_pipe_gets_csv(self, crowdrank, file):
        ran = crowdrank("rank", file)
        assert ran.code == 0
        lines = ran.out.splitlines()
        assert lines[0] == HEADER
        assert len(lines) == 13

    def test_json(self, crowdrank, file):
        rows = json.loads(crowdrank("rank", file, "--format", "json").out)
        assert [row["rank"] for row in rows] == list(range(1, 13))

    def test_parquet(self, crowdrank, file):
        ran = crowdrank("rank", file, "--format", "parquet", text=False)
        assert pl.read_parquet(io.BytesIO(ran.out)).columns == HEADER.split(",")

    def test_a_folder_gets_all_files(self, crowdrank, file, tmp_path):
        ran = crowdrank("rank", file, "--out", "result", "--seed", 5)
        assert ran.code == 0
        assert ran.out == ""
        folder = tmp_path / "result"
        assert sorted(path.name for path in folder.iterdir()) == [
            "fit.json", "ranking.csv", "report.html", "report.json", "report.md", "workers.csv"
        ]  # fmt: skip
        assert (folder / "ranking.csv").read_text().startswith(HEADER)
        assert (folder / "workers.csv").read_text().startswith("worker,judgments,quality,low,high,verdict")
        fit = json.loads((folder / "fit.json").read_text())
        assert {
            "model", "parameters", "converged", "iterations", "log_likelihood", "warnings", "seconds", "seed",
            "engine", "versions", "judgments",
        } <= set(fit)  # fmt: skip
        assert fit["model"] == fit["details"]["auto"]["chosen"]  # without --model
        assert "note: auto chose" in ran.err
        assert fit["seed"] == 5
        assert set(fit["seconds"]) == {"read", "fit", "write"}
        assert fit["judgments"] == {"kind": "pairs", "rows": 400, "workers": 8, "items": 12, "queries": 1}
        assert "<!doctype html>" in (folder / "report.html").read_text()

    @pytest.mark.parametrize("form", ["parquet", "json"])
    def test_a_folder_of_another_format(self, crowdrank, file, tmp_path, form):
        assert crowdrank("rank", file, "--out", "result").code == 0
        assert crowdrank("rank", file, "--out", "result", "--format", form).code == 0
        assert not (tmp_path / "result" / "ranking.csv").exists()  # it would be taken for this result
        gold = pl.DataFrame({"item": [f"i{k}" for k in range(12)], "grade": range(12)})
        gold.write_csv(tmp_path / "gold.csv")
        assert crowdrank("evaluate", f"result/ranking.{form}", "gold.csv").code == 0
        assert (tmp_path / "result" / f"ranking.{form}").exists()
        assert (tmp_path / "result" / f"workers.{form}").exists()

    def test_gold_scores_the_ranking(self, crowdrank, file, tmp_path):
        gold = pl.DataFrame({"item": [f"i{k}" for k in range(12)], "grade": range(12)})
        gold.write_csv(tmp_path / "gold.csv")
        ran = crowdrank("rank", file, "--gold", "gold.csv", "--out", "result")
        assert "acc by gold: 0." in ran.err
        assert "gold has grades for 12 of 12 ranked items\n" in ran.err
        assert "note: Grades go up to 11, so the gains of nDCG@10 are the grades themselves." in ran.err
        found = json.loads((tmp_path / "result" / "fit.json").read_text())
        assert set(found["gold"]) == {"acc", "tau", "nDCG@10"}
        assert found["gold_coverage"]["items"] == 12
        assert "linear-gain" in {note["code"] for note in found["warnings"]}
        assert "grades for 12 of 12 ranked items" in (tmp_path / "result" / "report.html").read_text()

    def test_what_looks_wrong_is_said(self, crowdrank, file, tmp_path):
        frame = pl.read_csv(file).with_columns(worker=pl.int_range(pl.len()))
        frame.write_csv(tmp_path / "rows.csv")
        ran = crowdrank("rank", "rows.csv", "--model", "bt", "--out", "result")
        assert "has a worker of its own" in ran.err
        assert "--columns worker=NAME" in ran.err
        found = json.loads((tmp_path / "result" / "fit.json").read_text())["warnings"]
        assert "worker-per-row" in {note["code"] for note in found}
        assert "A worker for every row" in (tmp_path / "result" / "report.html").read_text()
        assert "has a worker of its own" in crowdrank("compare", "rows.csv", "--models", "bt", "--folds", 2).err
        assert "has a worker of its own" in crowdrank("next", "rows.csv", "--count", 2).err

    def test_an_undefined_measure_is_null(self, crowdrank, file, tmp_path):
        pl.DataFrame({"item": [f"i{k}" for k in range(12)], "grade": [1] * 12}).write_csv(tmp_path / "gold.csv")
        assert crowdrank("rank", file, "--gold", "gold.csv", "--out", "result").code == 0
        assert json.loads((tmp_path / "result" / "fit.json").read_text())["gold"]["acc"] is None

    def test_a_closed_stdout_is_no_traceback(self, file):
        command = f"{sys.executable} -c 'from crowdrank.cli import main; main()' rank {file} >&-"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr

    def test_a_table_has_no_minus_before_zero(self, capsys):
        row = {"query": None, "item": "a", "rank": 1, "tier": 1, "rank_low": 1, "rank_high": 1}
        print_ranking(pl.DataFrame([{**row, "score": -1e-17, "low": -1e-4, "high": 1.0}]))
        assert "0.000 to 1.000" in (shown := capsys.readouterr().out)
        assert "-0.000" not in shown

    def test_a_terminal_gets_a_table_and_progress(self, file):
        import pty

        parent, child = pty.openpty()
        command = [sys.executable, "-c", "from crowdrank.cli import main; main()", "rank", str(file)]
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
        assert "90 % interval" in seen.decode()
        assert HEADER not in seen.decode()

    def test_a_reader_that_stops_early(self, file):
        command = f"{sys.executable} -c 'from crowdrank.cli import main; main()' rank {file} | head -1"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
        )
        assert done.stdout.strip() == HEADER
        assert "Traceback" not in done.stderr


class TestInput:
    def test_standard_input(self, crowdrank, file):
        direct = crowdrank("rank", file).out
        assert crowdrank("rank", "-", stdin=file.read_text()).out == direct
        zipped = crowdrank("rank", "-", stdin=gzip.compress(file.read_bytes()), text=False)
        assert zipped.out.decode() == direct

    def test_several_files(self, crowdrank, file, tmp_path):
        frame = pl.read_csv(file)
        frame.head(150).write_csv(tmp_path / "1.csv")
        frame.tail(250).write_csv(tmp_path / "2.csv")
        assert crowdrank("rank", "1.csv", "2.csv").out == crowdrank("rank", file).out

    def test_columns(self, crowdrank, file, tmp_path):
        frame = pl.read_csv(file)
        frame.rename({"worker": "who", "left": "a", "right": "b", "label": "choice"}).write_csv(
            tmp_path / "own.csv"
        )
        mapping = "worker=who,left=a,right=b,label=choice"
        assert crowdrank("rank", "own.csv", "--columns", mapping).out == crowdrank("rank", file).out

    def test_models_and_settings(self, crowdrank, file, tmp_path):
        settings = ["--set", "prior=[4,1.5]", "--set", "regularization=1"]
        assert crowdrank("rank", file, "--model", "crowd-bt", *settings, "--out", "result").code == 0
        parameters = json.loads((tmp_path / "result" / "fit.json").read_text())["parameters"]
        assert parameters["prior"] == [4, 1.5]
        assert parameters["regularization"] == 1

    def test_auto_gives_settings_to_the_candidates_that_have_them(self, crowdrank, file, tmp_path):
        words = ["--model", "auto", "--set", "prior=[4,1.5]", "--set", "folds=3", "--set", "regularization=1"]
        assert crowdrank("rank", file, *words, "--out", "result").code == 0
        fit = json.loads((tmp_path / "result" / "fit.json").read_text())
        assert fit["details"]["auto"]["folds"] == 3
        assert fit["parameters"]["regularization"] == 1

    @pytest.mark.parametrize(
        ("rows", "model"),
        [
            ("worker,item,label\nx,a,3\nx,b,1\ny,a,3\ny,b,1\n", "dawid-skene"),
            ("item,label\na,3\nb,1\na,2\nb,1\n", "average"),
            ("worker,item,label\n" + "".join(f"x,i{k},{k}\ny,i{k},{k + 0.5}\n" for k in range(30)), "average"),
            ("worker,item,rank\nx,a,1\nx,b,2\ny,a,1\ny,b,2\n", "plackett-luce"),
        ],
    )
    def test_ratings_and_rankings_have_defaults_of_their_own(self, crowdrank, tmp_path, rows, model):
        assert crowdrank("rank", "-", "--out", "result", stdin=rows).code == 0
        assert json.loads((tmp_path / "result" / "fit.json").read_text())["model"] == model

    def test_labels_have_a_file_and_their_accuracy_by_gold(self, crowdrank, tmp_path):
        ratings = "worker,item,label\n" + "".join(f"{w},{i},{v}\n" for w in "xyz" for i, v in (("a", 3), ("b", 1)))
        (tmp_path / "gold.csv").write_text("item,grade\na,3\nb,2\n")
        ran = crowdrank("rank", "-", "--out", "result", "--gold", "gold.csv", stdin=ratings)
        assert "labels by gold: 0.5000" in ran.err
        labels = pl.read_csv(tmp_path / "result" / "labels.csv")
        assert labels.columns == ["query", "item", "label", "probability", "p_1", "p_3"]
        assert labels["label"].to_list() == [3.0, 1.0]
        confusion = pl.read_csv(tmp_path / "result" / "confusion.csv")
        assert confusion.columns == ["worker", "true", "said", "probability"]
        assert confusion["said"].to_list() == [1.0, 3.0] * 6
        crowdrank("rank", "-", "--model", "glad", "--out", "result", stdin=ratings)
        easiness = pl.read_csv(tmp_path / "result" / "easiness.csv")
        assert easiness.columns == ["query", "item", "easiness"]
        crowdrank("rank", "-", "--model", "bt", "--out", "result", stdin=ratings)
        left = {path.name for path in (tmp_path / "result").iterdir()}
        assert not {"labels.csv", "confusion.csv", "easiness.csv"} & left

    def test_what_a_missing_item_means(self, crowdrank, tmp_path):
        rows = "worker,item,rank\nx,a,1\nx,b,2\ny,a,1\ny,b,2\nz,c,1\nz,b,2\n"
        last = {}
        for missing in ("below", "unknown"):
            ran = crowdrank("rank", "-", "--missing", missing, "--out", "result", stdin=rows)
            assert ran.code == 0
            fit = json.loads((tmp_path / "result" / "fit.json").read_text())
            assert fit["judgments"]["missing"] == missing
            last[missing] = pl.read_csv(tmp_path / "result" / "ranking.csv")["item"].to_list()[-1]
        assert last == {"below": "c", "unknown": "b"}
        ran = crowdrank("rank", "-", "--missing", "above", stdin=rows)
        assert (ran.code, "'below' or 'unknown'" in ran.err) == (2, True)
        ran = crowdrank("rank", "-", "--missing", "below", stdin="winner,loser\na,b\n")
        assert (ran.code, "applies only to rankings" in ran.err) == (2, True)

    def test_which_pairs_of_a_list_count(self, crowdrank, tmp_path):
        rows = "worker,item,rank\nx,a,1\nx,b,2\nx,c,3\n"
        ran = crowdrank("rank", "-", "--model", "bt", "--pairs", "adjacent", "--out", "result", stdin=rows)
        assert "read as 2 adjacent pairs" in ran.err
        assert json.loads((tmp_path / "result" / "fit.json").read_text())["judgments"]["pairs"] == "adjacent"
        ran = crowdrank("rank", "-", "--model", "bt", "--set", "pairs=adjacent", stdin=rows)
        assert (ran.code, "--pairs adjacent" in ran.err) == (2, True)

    def test_gold_in_the_judgments_themselves(self, crowdrank, tmp_path):
        text = "2 qid:1 1:1 2:2 #docid = a\n0 qid:1 1:2 2:NULL #docid = b\n0 qid:1 1:NULL 2:1 #docid = c\n"
        (tmp_path / "one.txt").write_text(text)
        (tmp_path / "two.txt").write_text(text.replace("qid:1", "qid:2"))
        own = crowdrank("rank", "one.txt", "two.txt", "--gold", "judgments", "--measures", "AP P@1")
        named = crowdrank(
            "rank", "one.txt", "two.txt", "--gold", "one.txt", "--gold", "two.txt", "--measures", "AP P@1"
        )
        assert own.code == named.code == 0
        assert "AP by gold: " in own.err
        assert own.err == named.err
        twice = crowdrank("rank", "one.txt", "--gold", "one.txt", "--gold", "one.txt")
        assert (twice.code, "graded in more than one of 2 files" in twice.err) == (2, True)

    def test_votes_of_unknown_people_are_ranked_without_workers(self, crowdrank, file, tmp_path):
        pl.read_csv(file).drop("worker").write_csv(tmp_path / "anonymous.csv")
        assert crowdrank("rank", "anonymous.csv", "--out", "result").code == 0
        assert json.loads((tmp_path / "result" / "fit.json").read_text())["model"] == "bt"
        assert not (tmp_path / "result" / "workers.csv").exists()
        ran = crowdrank("rank", "anonymous.csv", "--model", "crowd-bt")
        assert ran.code == 2
        assert "do not say who judged" in ran.err

    def test_anchors(self, crowdrank, tmp_path):
        assert (
            crowdrank("simulate", "crowd-bt-quality", "--out", ".", "--set", "alpha=1", "--set", "beta=5").code
            == 0
        )
        accuracies = []
        for extra in ([], ["--anchors", "gold_pairs.csv"]):
            ran = crowdrank("rank", "judgments.csv", "--model", "crowd-bt", "--gold", "gold.csv", *extra)
            accuracies.append(float(ran.err.split("acc by gold: ")[1].split()[0]))
        assert accuracies[0] < 0.3 < 0.7 < accuracies[1]

    def test_warnings_go_to_stderr(self, crowdrank):
        votes = "worker,winner,loser\nx,a,b\nx,a,a\nx,c,d\n"
        ran = crowdrank("rank", "-", "--allow-dropped", stdin=votes)
        assert ran.code == 0
        assert ran.out.startswith(HEADER)
        for words in (
            "1 row compares an item with itself",
            "never won",
            "never lost",
            "fewer than 3",
            "groups of items",
        ):
            assert words in ran.err

    def test_a_one_sided_judge_is_named(self, crowdrank):
        frame = random_votes(votes=300, ties=0).with_columns(
            label=pl.when(pl.col("worker") == "w3").then("left").otherwise("label")
        )
        ran = crowdrank("rank", "-", stdin=frame.write_csv())
        assert "One-sided: worker w3 chose left in" in ran.err
        assert ran.err.count("One-sided") == 1


class TestMistakes:
    @pytest.mark.parametrize(
        ("words", "stdin", "expected"),
        [
            (
                ["-"],
                "left,right,label\na,b,c\n",
                ["standard input, row 1, column 'label'", "Got 'c'", "Hint:"],
            ),
            (["-"], "", ["standard input: the file is empty"]),
            (["nothing.csv"], None, ["nothing.csv: there is no such file"]),
            (
                ["-", "--model", "magic"],
                "winner,loser\na,b\n",
                ["no model 'magic'", "The models are win-rate"],
            ),
            (["-", "--set", "power=9"], "winner,loser\na,b\n", ["no parameter 'power'", "its candidates"]),
            (["-", "--set", "power"], "winner,loser\na,b\n", ["--set takes name=value"]),
            (["-", "--columns", "x"], "winner,loser\na,b\n", ["role=name pairs", "--columns worker=judge"]),
            (["-", "--format", "xml"], "winner,loser\na,b\n", ["csv, parquet, json"]),
            (["-", "--engine", "moon"], "winner,loser\na,b\n", ["no engine 'moon'"]),
            (["-", "--nonsense"], "winner,loser\na,b\n", ["There is no option --nonsense"]),
            ([], None, ["Missing argument"]),
        ],
    )
    def test_exit_2_and_a_reason(self, crowdrank, words, stdin, expected):
        ran = crowdrank("rank", *words, stdin=stdin)
        assert ran.code == 2
        assert ran.out == ""
        assert "Traceback" not in ran.err
        for word in expected:
            assert word in ran.err

    def test_exit_1_where_there_is_no_answer(self, crowdrank):
        ran = crowdrank("rank", "-", "--set", "regularization=0", stdin="winner,loser\na,b\nb,c\n")
        assert ran.code == 1
        assert "no finite maximum" in ran.err

    def test_a_file_is_no_folder(self, crowdrank, file):
        ran = crowdrank("rank", file, "--out", file)
        assert ran.code == 2
        assert "it is a file" in ran.err

    def test_folders_made_for_a_failed_run_are_removed(self, crowdrank, file, tmp_path):
        assert crowdrank("rank", file, "--out", "x/y/z", "--set", "regularization=-1").code == 2
        assert not (tmp_path / "x").exists()

    def test_gold_that_cannot_score_is_said_before_the_fit(self, crowdrank, file, tmp_path):
        (tmp_path / "gold.csv").write_text("item,grade\nother,1\n")
        ran = crowdrank("rank", file, "--gold", "gold.csv")
        assert ran.code == 2
        assert "no item in common" in ran.err

    def test_an_unwritable_folder_is_said_before_the_work(self, crowdrank, file):
        ran = crowdrank("rank", file, "--out", f"{file}/inside")
        assert ran.code == 2
        assert "cannot be written to" in ran.err

    def test_nothing_half_written_stays(self, crowdrank, file, tmp_path):
        ran = crowdrank("rank", file, "--out", "result", "--set", "regularization=-1")
        assert ran.code == 2
        assert not (tmp_path / "result").exists()

    def test_an_old_result_survives_a_failure(self, crowdrank, file, tmp_path):
        assert crowdrank("rank", file, "--out", "result").code == 0
        before = {path.name: path.read_bytes() for path in (tmp_path / "result").iterdir()}
        assert crowdrank("rank", file, "--out", "result", "--set", "regularization=-1").code == 2
        assert {path.name: path.read_bytes() for path in (tmp_path / "result").iterdir()} == before

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_an_interrupted_run_leaves_nothing(self, tmp_path, number, code):
        """Interrupted in the middle of the fit: the slow model tells when it has begun."""
        slow = (
            "import time\n"
            "from crowdrank.models.pairs.bradley_terry import BradleyTerry\n"
            "def slow(self, votes, run):\n"
            "    print('fitting', flush=True)\n"
            "    time.sleep(60)\n"
            "BradleyTerry._fit = slow\n"
            "from crowdrank.cli import main\n"
            "main()\n"
        )
        (tmp_path / "votes.csv").write_text("winner,loser\na,b\nb,a\n")
        command = [sys.executable, "-c", slow, "rank", "votes.csv", "--out", "result"]
        run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert run.stdout.readline().strip() == "fitting"
        time.sleep(0.1)
        run.send_signal(number)
        out, err = run.communicate(timeout=30)
        assert run.returncode == code
        assert "Traceback" not in err
        assert out == ""
        assert not (tmp_path / "result").exists()


def test_the_parameter_order_of_condorcet_is_its_own(crowdrank, tmp_path):
    """For other models, ``--set order`` is the order of labels that are text."""
    (tmp_path / "lists.csv").write_text("worker,item,rank\nw1,a,1\nw1,b,2\nw1,c,3\nw2,b,1\nw2,a,2\nw2,c,3\n")
    ran = crowdrank("rank", "lists.csv", "--model", "condorcet", "--set", "order=majority-sort")
    assert ran.code == 0, ran.err
    assert ran.out.count("\n") == 4
    ran = crowdrank("rank", "lists.csv", "--model", "borda", "--set", "order=majority-sort")
    assert ran.code == 2
    assert "'order' applies only to ratings" in ran.err
