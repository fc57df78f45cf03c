"""crowdrank train, as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from rankers.made import labeled_frame

FILES = ["fit.json", "importance.csv", "model.json", "queries.csv", "weights.npz"]
REPORT = ["report.html", "report.json", "report.md"]


def names_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in REPORT)


def letor(frame):
    """The frame as LETOR text."""
    lines = (
        f"{row['label']} qid:{row['query']} "
        + " ".join(f"{place}:{row[f'f{place - 1}']!r}" for place in range(1, 5))
        + f" #docid = {row['item']}\n"
        for row in frame.to_dicts()
    )
    return "".join(lines)


@pytest.fixture
def frame(tmp_path):
    frame = labeled_frame()
    frame.write_csv(tmp_path / "features.csv")
    return frame


class TestOutput:
    def test_a_folder_gets_all_files(self, crowdrank, frame, tmp_path):
        ran = crowdrank("train", "features.csv", "--out", "ranker", "--seed", 5)
        assert ran.code == 0, ran.err
        assert ran.out == ""
        assert names_in(tmp_path / "ranker") == FILES
        fit = json.loads((tmp_path / "ranker" / "fit.json").read_text())
        assert (fit["model"], fit["seed"], fit["converged"]) == ("listmle", 5, True)
        assert set(fit["seconds"]) == {"read", "fit", "write"}
        assert fit["tables"] == ["importance", "queries"]
        importance = pl.read_csv(tmp_path / "ranker" / "importance.csv")
        assert importance["feature"].to_list()[0] == "f0"
        assert pl.read_csv(tmp_path / "ranker" / "queries.csv").columns == [
            "query", "documents", "relevant", "nDCG@10", "AP"
        ]  # fmt: skip

    def test_the_summary_says_what_was_trained_and_how_good_it_is(self, crowdrank, frame, tmp_path):
        ran = crowdrank("train", "features.csv", "--out", "ranker", "--validation", 0.2)
        measured = cr.ListMLE().fit(frame, validation=0.2).fit_.details["measured"]
        ours, feature = measured["ranker"]["nDCG@10"], measured["best_feature"]
        assert ran.err.splitlines()[-3:-1] == [
            "listmle (linear) was trained on 128 documents of 16 queries, with 4 features.",
            f"nDCG@10 on 4 validation queries: {ours:.4f} ({feature['description']}: {feature['nDCG@10']:.4f})",
        ]
        assert "validation.csv" in names_in(tmp_path / "ranker")
        assert "step" not in ran.err  # no progress without a terminal

    def test_it_is_the_librarys_ranker(self, crowdrank, frame, tmp_path):
        assert crowdrank("train", "features.csv", "--out", "ranker").code == 0
        ours, direct = cr.load(tmp_path / "ranker").score(frame), cr.ListMLE().fit(frame).score(frame)
        np.testing.assert_allclose(ours.score, direct.score, atol=1e-12)

    @pytest.mark.lightgbm
    def test_parts_and_tables_of_an_earlier_ranker_are_removed(self, crowdrank, frame, tmp_path):
        quick = ("--set", "rounds=3", "--set", "min_rows=5")
        words = ("train", "features.csv", "--out", "ranker")
        assert crowdrank(*words, "--scorer", "trees", *quick, "--folds", 3).code == 0
        first = names_in(tmp_path / "ranker")
        assert {"trees.txt", "folds.csv", "scores.csv"} <= set(first)
        (tmp_path / "ranker" / "notes.txt").write_text("mine")
        assert crowdrank(*words, "--format", "parquet").code == 0
        assert names_in(tmp_path / "ranker") == [
            "fit.json", "importance.parquet", "model.json", "notes.txt", "queries.parquet", "weights.npz"
        ]  # fmt: skip
        assert cr.load(tmp_path / "ranker").trained_.scorer == "linear"

    def test_the_same_words_give_the_same_ranker(self, crowdrank, frame, tmp_path):
        words = ("--scorer", "net", "--set", "hidden=[3,2]", "--set", "limit=10", "--validation", "0.2")
        for out in ("one", "two"):
            assert crowdrank("train", "features.csv", "--out", out, *words, "--seed", 3).code == 0
        one, two = ((tmp_path / out / "net.npz").read_bytes() for out in ("one", "two"))
        assert one == two


class TestInput:
    def test_letor_from_standard_input(self, crowdrank, frame, tmp_path):
        assert crowdrank("train", "-", "--out", "ranker", stdin=letor(frame)).code == 0
        named = frame.rename({f"f{place}": str(place + 1) for place in range(4)})
        direct = cr.ListMLE().fit(named).score(named).score
        np.testing.assert_allclose(cr.load(tmp_path / "ranker").score(named).score, direct, atol=1e-9)

    def test_several_files_are_one_table(self, crowdrank, frame, tmp_path):
        frame.head(80).write_csv(tmp_path / "1.csv")
        frame.tail(80).write_csv(tmp_path / "2.csv")
        assert crowdrank("train", "1.csv", "2.csv", "--out", "two").code == 0
        assert crowdrank("train", "features.csv", "--out", "one").code == 0
        one, two = ((tmp_path / out / "weights.npz").read_bytes() for out in ("one", "two"))
        assert one == two

    def test_validation_files(self, crowdrank, frame, tmp_path):
        frame.head(96).write_csv(tmp_path / "train.csv")
        frame[96:128].write_csv(tmp_path / "v1.csv")
        frame[128:].write_csv(tmp_path / "v2.csv")
        ran = crowdrank(
            "train", "train.csv", "--validation", "v1.csv", "--validation", "v2.csv", "--out", "ranker"
        )
        assert ran.code == 0, ran.err
        assert "on 8 validation queries" in ran.err

    def test_labels_in_a_file_of_their_own(self, crowdrank, frame, tmp_path):
        frame.drop("label").rename({"item": "doc"}).write_csv(tmp_path / "bare.csv")
        frame.select("query", doc="item", rel="label").write_csv(tmp_path / "gold.csv")
        columns = ("--columns", "item=doc", "--gold-columns", "item=doc,grade=rel")
        ran = crowdrank("train", "bare.csv", "--gold", "gold.csv", *columns, "--out", "two")
        assert ran.code == 0, ran.err
        assert crowdrank("train", "features.csv", "--out", "one").code == 0
        one, two = ((tmp_path / out / "weights.npz").read_bytes() for out in ("one", "two"))
        assert one == two

    def test_settings_go_to_the_ranker_and_to_its_scorer(self, crowdrank, frame, tmp_path):
        words = ("--set", "k=3", "--set", "penalty=2.5", "--measure", "AP", "--set", "standardize=all")
        assert crowdrank("train", "features.csv", "--out", "ranker", *words).code == 0
        fit = json.loads((tmp_path / "ranker" / "fit.json").read_text())
        assert fit["parameters"]["k"] == 3
        assert fit["details"]["scorer_parameters"]["penalty"] == 2.5
        assert fit["details"]["measured"]["measure"] == "AP"
        assert fit["details"]["standardize"] == "all"

    @pytest.mark.parametrize(
        ("words", "scorer"),
        [
            (["--model", "lambdamart", "--set", "rounds=3"], "trees"),
            (["--model", "lambdamart", "--scorer", "linear"], "linear"),
            (["--model", "regression"], "linear"),
            (["--scorer", "net", "--set", "limit=5"], "net"),
        ],
    )
    def test_models_and_scorers(self, crowdrank, frame, tmp_path, words, scorer):
        assert crowdrank("train", "features.csv", "--out", "ranker", *words).code == 0
        assert json.loads((tmp_path / "ranker" / "model.json").read_text())["scorer"] == scorer

    def test_features_that_spill_to_disk(self, crowdrank, frame, tmp_path):
        (tmp_path / "spool").mkdir()
        words = ("--memory", "1KB", "--spool", "spool")
        ran = crowdrank("train", "features.csv", "--out", "small", *words)
        assert ran.code == 0, ran.err
        fit = json.loads((tmp_path / "small" / "fit.json").read_text())
        assert fit["judgments"]["storage"] == "file"
        assert crowdrank("train", "features.csv", "--out", "large").code == 0
        small, large = (cr.load(tmp_path / out).score(frame).score for out in ("small", "large"))
        np.testing.assert_allclose(small, large, atol=1e-9)
        assert not list((tmp_path / "spool").iterdir())


class TestFolds:
    def test_files_are_parts(self, crowdrank, frame, tmp_path):
        files = [f"S{number}.csv" for number in range(1, 5)]
        for number, file in enumerate(files):
            frame[40 * number : 40 * (number + 1)].write_csv(tmp_path / file)
        ran = crowdrank("train", *files, "--folds", "files", "--out", "ranker")
        assert ran.code == 0, ran.err
        folds = pl.read_csv(tmp_path / "ranker" / "folds.csv")
        assert folds.columns[:6] == [
            "fold", "training_queries", "validation_queries", "test_queries", "step", "nDCG@10"
        ]  # fmt: skip
        assert folds["test_queries"].to_list() == [5, 5, 5, 5]
        scores = pl.read_csv(tmp_path / "ranker" / "scores.csv")
        assert scores.columns == ["query", "item", "score"]
        assert len(scores) == len(frame)
        direct = cr.ListMLE().fit(pl.concat([frame[40:80], frame[80:120]]), validation=frame[120:])
        np.testing.assert_allclose(scores["score"][:40], direct.score(frame[:40]).score, atol=1e-12)
        lines = ran.err.splitlines()
        assert "listmle (linear) was trained on 160 documents of 20 queries, with 4 features." in lines
        assert lines[-3].startswith("nDCG@10 over 4 folds: 0.")
        assert "; over 20 queries: 0." in lines[-3]
        assert json.loads((tmp_path / "ranker" / "fit.json").read_text())["details"]["folds"]["measures"]

    def test_parts_by_the_seed(self, crowdrank, frame, tmp_path):
        words = ("train", "features.csv", "--folds", 5, "--out", "ranker", "--validation", "0.25")
        ran = crowdrank(*words)
        assert ran.code == 0, ran.err
        folds = pl.read_csv(tmp_path / "ranker" / "folds.csv")
        assert folds["validation_queries"].to_list() == [4] * 5
        assert "on 5 validation queries" in ran.err.splitlines()[-2]
        direct = cr.cross_validate(cr.ListMLE(), frame, 5, validation=0.25)
        scores = pl.read_csv(tmp_path / "ranker" / "scores.csv")["score"].to_numpy()
        np.testing.assert_allclose(scores, direct.scores.score, atol=1e-12)
        assert crowdrank("evaluate", "ranker/scores.csv", "features.csv").code == 0

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["features.csv", "--folds", "files"], "--folds files needs a file for each part."),
            (
                ["features.csv", "--folds", "many"],
                "--folds takes a number of parts, or the word files. Got 'many'.",
            ),
            (["features.csv", "--folds", "1"], "Cross-validation needs at least 2 parts. Got 1."),
            (["features.csv", "--folds", "30"], "features.csv: 20 queries cannot be dealt into 30 parts."),
            (["features.csv", "copy.csv", "--folds", "files"], "copy.csv"),
        ],
    )
    def test_mistakes(self, crowdrank, frame, tmp_path, words, expected):
        frame.write_csv(tmp_path / "copy.csv")
        ran = crowdrank("train", *words, "--out", "ranker")
        assert ran.code == 2
        assert expected in ran.err
        assert not (tmp_path / "ranker").exists()

    def test_a_query_in_two_files(self, crowdrank, frame, tmp_path):
        for number in range(3):
            frame[40 * number : 40 * number + 40].write_csv(tmp_path / f"{number}.csv")
        extra = frame[:1].with_columns(item=pl.lit("another"))
        pl.concat([frame[80:], extra]).write_csv(tmp_path / "2.csv")
        ran = crowdrank("train", "0.csv", "1.csv", "2.csv", "--folds", "files", "--out", "ranker")
        assert ran.code == 2
        assert "the query 'q000' is in part 1 and in part 3." in ran.err


class TestProcesses:
    def test_a_terminal_gets_progress(self, frame, tmp_path):
        import pty

        parent, child = pty.openpty()
        code = "from crowdrank.cli import main; main()"
        command = [sys.executable, "-c", code, "train", "features.csv", "--out", "ranker", "--folds", "3"]
        done = subprocess.Popen(command, cwd=tmp_path, stdin=child, stdout=child, stderr=child, close_fds=True)
        os.close(child)
        seen = b""
        try:
            while chunk := os.read(parent, 65536):
                seen += chunk
        except OSError:  # the terminal closes with the program
            pass
        assert done.wait() == 0
        os.close(parent)
        assert "listmle" in seen.decode()

    @pytest.mark.parametrize(
        ("scorer", "number", "code"), [("linear", signal.SIGTERM, 143), ("trees", signal.SIGINT, 130)]
    )
    @pytest.mark.lightgbm
    def test_an_interrupted_training_leaves_nothing(self, frame, tmp_path, scorer, number, code):
        """Interrupted within a step: the slow objective tells when it has begun."""
        slow = (
            "import os, time\n"
            "from crowdrank.rankers.objectives import ListLikelihood\n"
            "def slow(self, *given):\n"
            "    os.write(1, b'training\\n')\n"  # at once: several threads come here
            "    time.sleep(60)\n"
            "ListLikelihood.derivatives = slow\n"
            "from crowdrank.cli import main\n"
            "main()\n"
        )
        command = [sys.executable, "-c", slow, "train", "features.csv", "--scorer", scorer, "--out", "ranker"]
        run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        begun = run.stdout.readline().strip()
        assert begun == "training", run.communicate(timeout=90)[1]
        time.sleep(0.1)
        run.send_signal(number)
        _, err = run.communicate(timeout=30)
        assert run.returncode == code
        assert "Traceback" not in err
        assert not (tmp_path / "ranker").exists()

    def test_an_old_ranker_survives_a_failure(self, crowdrank, frame, tmp_path):
        assert crowdrank("train", "features.csv", "--out", "ranker").code == 0
        before = {path.name: path.read_bytes() for path in (tmp_path / "ranker").iterdir()}
        ran = crowdrank("train", "features.csv", "--out", "ranker", "--set", "penalty=none")
        assert ran.code == 2
        assert "The parameter 'penalty' must be a number of at least 0. Got 'none'." in ran.err
        assert {path.name: path.read_bytes() for path in (tmp_path / "ranker").iterdir()} == before


def test_columns_of_repeated_options_add_up(crowdrank, frame, tmp_path):
    """Whoever follows one hint after the other adds one option after the other."""
    more = frame.rename({"item": "doc"}).with_columns(title=pl.lit("red"), stock=pl.lit("yes"))
    more.write_csv(tmp_path / "shop.csv")
    words = ["--columns", "item=doc", "--columns", "ignore=title", "--columns", "ignore=stock"]
    assert crowdrank("train", "shop.csv", *words, "--out", "shop").code == 0
    scored = crowdrank("score", "shop", "shop.csv", "--columns", "item=doc")
    assert scored.code == 0
    assert "2 features that the ranker does not know are ignored: 'title', 'stock'." in scored.err


def test_a_share_in_percent(crowdrank, frame):
    ran = crowdrank("train", "features.csv", "--validation", "25%", "--out", "ranker")
    assert ran.code == 0
    assert "validation quer" in ran.err
