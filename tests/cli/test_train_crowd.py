"""crowdrank train and score with the judgments of a crowd, as a user runs them; every hint is followed."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.rankers.registry import make_ranker, ranker_entries

STEPS = 8
QUICK = ("--set", f"iterations={STEPS}")
TRAIN = ("train", "features.csv", *QUICK, "--out", "ranker")
JUDGED = (*TRAIN, "--judgments", "judgments.csv")
REPORT = ["report.html", "report.json", "report.md"]
NOTHING = [
    "Nothing was measured.",
    "Hint: Keep some queries: --validation 0.2, or give labels, which only measure: --gold FILE",
]
GIVE = "Hint: Give them: --judgments FILE"


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def pairs_frame():
    return pl.DataFrame(
        {
            "query": ["query-01", "query-01"],
            "worker": ["ann", "ann"],
            "left": ["doc-01", "doc-02"],
            "right": ["doc-02", "doc-03"],
            "label": ["doc-01", "doc-03"],
        }
    )


class TestPlaceholderLabels:
    """A 0 in the column of labels because the format needs one: nDCG would be 0, whatever the scores are."""

    def test_equal_labels_measure_nothing(self, run, judged, tmp_path):
        judged.features.with_columns(label=pl.lit(0)).write_csv(tmp_path / "features.csv")
        code, said = run(*JUDGED)
        assert (code, said[-2:]) == (0, NOTHING)
        assert "nDCG" not in " ".join(said)
        note = "Every document has the label 0 in the features, so nothing is measured by these labels."
        assert note in " ".join(said)

    def test_other_labels_measure(self, run, judged, tmp_path):
        judged.features.with_columns(label=pl.int_range(pl.len()) % 2).write_csv(tmp_path / "features.csv")
        assert "nDCG@10 on " in " ".join(run(*JUDGED)[1])


class TestOutput:
    def test_a_folder_gets_all_files(self, crowdrank, judged, tmp_path):
        ran = crowdrank(*JUDGED, "--seed", 3)
        assert (ran.code, ran.out) == (0, "")
        assert names_in(tmp_path / "ranker") == [
            "fit.json", "importance.csv", "iterations.csv", "model.json", "orders.csv", *REPORT, "weights.npz",
            "workers.csv",
        ]  # fmt: skip
        fit = json.loads((tmp_path / "ranker" / "fit.json").read_text())
        assert (fit["model"], fit["seed"]) == ("ltrma-mle", 3)
        assert fit["tables"] == ["importance", "workers", "orders", "iterations"]
        given = {name: fit["judgments"][name] for name in ("kind", "rows", "workers", "lists", "pairs")}
        assert given == {"kind": "features+rankings", "rows": 96, "workers": 3, "lists": 36, "pairs": 0}
        assert ran.err.splitlines()[-4:-1] == [
            "ltrma-mle (linear) was trained from 36 lists of 3 workers on 72 documents of 12 queries, with 10 "
            "features.",
            *NOTHING,
        ]
        workers = pl.read_csv(tmp_path / "ranker" / "workers.csv")
        assert workers["worker"].to_list() == ["worker-1", "worker-2", "worker-3"]
        assert {"quality", "verdict", "theta", "theta_low", "theta_high"} <= set(workers.columns)

    def test_what_measures_is_said(self, run, judged, tmp_path):
        """Each of the two hints, and both of them."""
        _, said = run(*JUDGED, "--validation", 0.25, "--gold", "gold.csv")
        assert said[-1].startswith("nDCG@10 on 3 validation queries: 0.")
        assert {"queries.csv", "validation.csv"} <= set(names_in(tmp_path / "ranker"))
        _, said = run(*JUDGED, "--gold", "gold.csv")
        assert said[-1].startswith("nDCG@10 on 12 training queries: 0.")
        assert "(mean of the features, each standardized within the query: 0." in said[-1]
        assert "validation.csv" not in names_in(tmp_path / "ranker")
        _, said = run(*JUDGED, "--validation", 0.25)
        assert said[-1].startswith("list likelihood on 3 validation queries: -")
        assert "(all scores equal: -" in said[-1]
        assert "queries.csv" not in names_in(tmp_path / "ranker")

    def test_the_likelihood_is_measured_without_a_curve_too(self, run, judged):
        """ltrma-d has no ranker before its last step."""
        _, said = run(*JUDGED, "--validation", 0.25, "--model", "ltrma-d")
        assert said[-1].startswith("list likelihood on 3 validation queries: -")

    def test_gold_of_other_queries_measures_nothing(self, run, judged, tmp_path):
        judged.gold.filter(pl.col("query") == "query-16").write_csv(tmp_path / "other.csv")
        _, said = run(*JUDGED, "--gold", "other.csv")
        assert said[-2:] == [
            "Nothing was measured: the gold grades no document of the training queries.",
            NOTHING[1],
        ]

    def test_validation_features(self, run, judged, tmp_path):
        judged.features.filter(pl.col("query") > "query-12").write_csv(tmp_path / "new.csv")
        judged.features.filter(pl.col("query") <= "query-12").write_csv(tmp_path / "features.csv")
        _, said = run(*JUDGED, "--validation", "new.csv", "--gold", "gold.csv")
        assert said[-1].startswith("nDCG@10 on 4 validation queries: 0.")

    def test_it_is_the_librarys_ranker(self, crowdrank, judged, tmp_path):
        assert crowdrank(*JUDGED, "--model", "ltrma-d", "--measure", "AP").code == 0
        ours = cr.load(tmp_path / "ranker")
        direct = make_ranker("ltrma-d", None, {"iterations": STEPS}).fit(judged.features, judged.judgments)
        np.testing.assert_allclose(
            ours.score(judged.features).score, direct.score(judged.features).score, atol=1e-12
        )
        assert ours.measure == "AP"

    def test_a_ranker_from_labels_removes_its_tables(self, crowdrank, judged, tmp_path):
        assert crowdrank(*JUDGED).code == 0
        assert crowdrank("train", "features.csv", "--gold", "gold.csv", "--out", "ranker").code == 0
        assert not {"workers.csv", "orders.csv", "iterations.csv"} & set(names_in(tmp_path / "ranker"))

    def test_steps_are_logged(self, crowdrank, judged, monkeypatch):
        monkeypatch.setattr("crowdrank.cli.track.LOG_EVERY", 0.0)
        ran = crowdrank(*JUDGED, "--set", "iterations=20", "--log-json")
        lines = map(json.loads, ran.err.splitlines())
        assert [line["step"] for line in lines if line["message"] == "ltrma-mle" and "step" in line] == [
            *range(1, 21)
        ]

    def test_an_interrupted_training_leaves_nothing(self, judged, tmp_path):
        slow = (
            "import os, time\n"
            "from crowdrank.rankers.ltrma.em import EM\n"
            "def slow(self, start):\n"
            "    os.write(1, b'training\\n')\n"
            "    time.sleep(60)\n"
            "EM.run = slow\n"
            "from crowdrank.cli import main\n"
            "main()\n"
        )
        command = [sys.executable, "-c", slow, *JUDGED]
        begun = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert begun.stdout.readline().strip() == "training", begun.communicate(timeout=90)[1]
        time.sleep(0.1)
        begun.send_signal(signal.SIGINT)
        _, err = begun.communicate(timeout=30)
        assert (begun.returncode, err) == (130, "crowdrank: interrupted; nothing was written.\n")
        assert not (tmp_path / "ranker").exists()


class TestInput:
    def test_several_kinds_with_columns_of_their_own(self, crowdrank, judged, tmp_path):
        """Each file takes the names that it has; the result is that of the usual names."""
        pairs = pairs_frame()
        pairs.write_csv(tmp_path / "pairs.csv")
        judged.judgments.rename({"item": "doc", "worker": "person"}).write_csv(tmp_path / "lists.csv")
        pairs.rename({"left": "a", "right": "b"}).write_csv(tmp_path / "ab.csv")
        two = ("--judgments", "lists.csv", "--judgments", "ab.csv")
        ran = crowdrank(*TRAIN, *two)
        assert ran.code == 2
        assert ran.err.endswith("--judgments ab.csv --judgment-columns item=doc,worker=person\n")
        columns = ("--judgment-columns", "item=doc,worker=person", "--judgment-columns", "left=a,right=b")
        ran = crowdrank(*TRAIN, *two, *columns)
        assert ran.code == 0, ran.err
        assert "was trained from 36 lists and 2 pairs of 4 workers on 72 documents" in ran.err
        fit = json.loads((tmp_path / "ranker" / "fit.json").read_text())
        assert fit["judgments"]["kind"] == "features+pairs+rankings"
        named = (tmp_path / "ranker" / "weights.npz").read_bytes()
        assert crowdrank(*JUDGED, "--judgments", "pairs.csv").code == 0
        assert (tmp_path / "ranker" / "weights.npz").read_bytes() == named

    def test_a_name_that_no_file_has(self, run, judged, tmp_path):
        pairs_frame().write_csv(tmp_path / "pairs.csv")
        code, said = run(*JUDGED, "--judgments", "pairs.csv", "--judgment-columns", "query=topic")
        assert (code, said[0]) == (2, "judgments.csv: there is no column 'topic', which was given for 'query'.")

    def test_standard_input(self, crowdrank, judged):
        given = judged.judgments.write_csv()
        assert crowdrank(*TRAIN, "--judgments", "-", stdin=given).code == 0
        ran = crowdrank("train", "-", *QUICK, "--out", "two", "--judgments", "-", stdin=given)
        assert (ran.code, ran.err) == (
            2, "crowdrank: Only one of the files can be standard input.\nHint: Name the others.\n"
        )  # fmt: skip

    def test_side_information_and_anchors_have_an_effect(self, crowdrank, judged, tmp_path):
        def thetas():
            return pl.read_csv(tmp_path / "ranker" / "workers.csv")["theta"].to_list()

        (tmp_path / "side.csv").write_text("worker,kind,value\nworker-2,known,0.7\n")
        assert crowdrank(*JUDGED, "--side-info", "side.csv").code == 0
        assert thetas()[1] == pytest.approx(0.7)
        assert crowdrank(*JUDGED).code == 0
        free = thetas()
        judged.gold.filter(pl.col("query") < "query-07").write_csv(tmp_path / "truth.csv")
        assert crowdrank(*JUDGED, "--anchors", "truth.csv").code == 0
        assert thetas() != free

    @pytest.mark.parametrize("words", [["drop", "below"], ["below,drop"]])
    def test_both_meanings_of_missing(self, run, judged, tmp_path, words):
        """Without the lists' last ranks all 6 documents of a query are learned from, as they are below."""
        extra = pl.DataFrame([["query-01", "worker-1", "nope", 2]], schema=judged.judgments.schema, orient="row")
        top = pl.concat([judged.judgments.filter(pl.col("rank") <= 2), extra])
        top.write_csv(tmp_path / "top.csv")
        code, said = run(
            *TRAIN, "--judgments", "top.csv", *(part for word in words for part in ("--missing", word))
        )
        assert code == 0
        assert "1 judged item has no features and is left out: ('query-01', 'nope')." in said[0]
        assert "on 72 documents of 12 queries" in said[-3]
        _, said = run(*TRAIN, "--judgments", "top.csv", "--missing", "drop,unknown")
        assert "on 72 documents" not in said[-3]

    def test_judgments_without_workers(self, run, judged, tmp_path):
        judged.judgments.filter(pl.col("worker") == "worker-1").drop("worker").write_csv(tmp_path / "bare.csv")
        code, said = run(*TRAIN, "--judgments", "bare.csv")
        assert code == 0
        assert "warning: The judgments name no worker, so they share one expertise." in said
        assert "was trained from 12 lists on 72 documents of 12 queries" in said[-3]

    def test_the_quality_of_workers_is_no_anchor(self, run, judged, tmp_path):
        (tmp_path / "known.csv").write_text("worker,eta\nworker-1,0.9\n")
        _, said = run(*JUDGED, "--anchors", "known.csv")
        assert (
            "warning: ltrma-mle does not use the quality of workers in the anchors. Say what is known about "
            "workers as --side-info FILE."
        ) in said


LEARNERS = ", ".join(entry.name for entry in ranker_entries().values() if entry.learns_from == "judgments")


@pytest.mark.parametrize(
    ("words", "lines", "works"),
    [
        (
            ["--model", "ltrma-d"],
            ["ltrma-d learns from the judgments of a crowd, and there are none.", GIVE],
            ["--model", "ltrma-d", "--judgments", "judgments.csv"],
        ),
        (
            ["--model", "listmle", "--judgments", "judgments.csv"],
            [
                "listmle learns from labels, not from judgments.",
                f"Hint: The rankers {LEARNERS} learn from judgments. Use --model ltrma-mle",
            ],
            ["--model", "ltrma-mle", "--judgments", "judgments.csv"],
        ),
        (
            ["--anchors", "gold.csv"],
            ["--anchors needs judgments.", GIVE],
            ["--anchors", "gold.csv", "--judgments", "judgments.csv"],
        ),
        (
            ["--side-info", "side.csv"],
            ["--side-info needs judgments.", GIVE],
            ["--side-info", "side.csv", "--judgments", "judgments.csv"],
        ),
        (
            ["--judgment-columns", "item=item"],
            ["--judgment-columns needs judgments.", GIVE],
            ["--judgment-columns", "item=item", "--judgments", "judgments.csv"],
        ),
        (
            ["--missing", "below"],
            ["--missing below applies only to rankings.", GIVE],
            ["--missing", "below", "--judgments", "judgments.csv"],
        ),
        (
            ["--missing", "drop,error", "--judgments", "judgments.csv"],
            ["--missing takes error or drop, and below or unknown. Got 'drop,error'."],
            ["--missing", "drop", "--judgments", "judgments.csv"],
        ),
        (
            ["--missing", "below", "--judgments", "pairs.csv"],
            ["'below' applies only to rankings. These judgments are pairs."],
            ["--missing", "below", "--judgments", "judgments.csv"],
        ),
        (
            ["--folds", "5", "--judgments", "judgments.csv"],
            [
                "--folds does not work with judgments yet.",
                "Hint: Keep a share of the queries: --validation 0.2, or give labels, which only measure: --gold "
                "FILE",
            ],
            ["--validation", "0.2", "--gold", "gold.csv", "--judgments", "judgments.csv"],
        ),
        (
            ["--validation", "0.01", "--judgments", "judgments.csv"],
            ["12 queries cannot be split with a share of 0.01 for validation."],
            ["--validation", "0.2", "--judgments", "judgments.csv"],
        ),
    ],
)
def test_options(run, judged, tmp_path, words, lines, works):
    (tmp_path / "side.csv").write_text("worker,kind,low\nworker-1,range,0\n")
    pairs_frame().write_csv(tmp_path / "pairs.csv")
    assert run(*TRAIN, *words) == (2, lines)
    assert run(*TRAIN, *works)[0] == 0


class TestMistakes:
    """In the judged. What the hint says is done, and helps."""

    def test_other_queries(self, run, judged, tmp_path):
        judged.judgments.with_columns(pl.col("query") + "x").write_csv(tmp_path / "other.csv")
        code, said = run(*TRAIN, "--judgments", "other.csv")
        assert code == 2
        assert said[0].startswith("features.csv: the features have no item in common with what is judged: ")
        assert said[1] == "Hint: Ids are text: '01' is not '1'. Queries are compared too if both sides have them."
        assert run(*JUDGED)[0] == 0

    def test_an_item_without_features(self, run, judged, tmp_path):
        extra = pl.DataFrame([["query-01", "worker-1", "nope", 7]], schema=judged.judgments.schema, orient="row")
        pl.concat([judged.judgments, extra]).write_csv(tmp_path / "more.csv")
        words = (*TRAIN, "--judgments", "more.csv")
        assert run(*words) == (
            2,
            [
                "features.csv: 1 judged item has no features: ('query-01', 'nope').",
                "Hint: To leave them out: --missing drop",
            ],
        )
        assert run(*words, "--missing", "drop")[0] == 0

    def test_anchors_of_other_queries(self, run, judged, tmp_path):
        judged.gold.with_columns(pl.col("query") + "x").write_csv(tmp_path / "other.csv")
        code, said = run(*JUDGED, "--anchors", "other.csv")
        assert code == 2
        assert said[0].startswith("features.csv: the features have no item in common with what is anchored: ")
        extra = pl.DataFrame([["query-01", "nope", 3]], schema=judged.gold.schema, orient="row")
        pl.concat([judged.gold.filter(pl.col("query") == "query-01"), extra]).write_csv(tmp_path / "some.csv")
        code, said = run(*JUDGED, "--anchors", "some.csv")
        assert (code, said[0]) == (2, "features.csv: 1 anchored item has no features: ('query-01', 'nope').")
        assert run(*JUDGED, "--anchors", "some.csv", "--missing", "drop")[0] == 0

    def test_gold_of_nothing(self, run, judged, tmp_path):
        judged.gold.with_columns(pl.col("query") + "x").write_csv(tmp_path / "other.csv")
        code, said = run(*JUDGED, "--gold", "other.csv")
        assert code == 2
        assert said[0].startswith("features.csv: the features have no item in common with what is graded: ")

    def test_queries_that_are_not_named(self, run, judged, tmp_path):
        """The same documents in two queries: the hint names the option of what lacks the query."""
        one = judged.features.filter(pl.col("query") == "query-01")
        pl.concat([one, one.with_columns(query=pl.lit("again"))]).write_csv(tmp_path / "features.csv")
        own = judged.judgments.filter(pl.col("query") == "query-01")
        own.rename({"query": "topic"}).write_csv(tmp_path / "lists.csv")
        gold = judged.gold.filter(pl.col("query") == "query-01").rename({"query": "topic"})
        gold.write_csv(tmp_path / "grades.csv")
        hint = "Hint: Name the column of queries: --{} query=NAME"
        words = (*TRAIN, "--judgments", "lists.csv")
        labels = ("train", "features.csv", "--gold", "grades.csv", "--out", "ranker")
        assert run(*words)[1][1] == hint.format("judgment-columns")
        assert run(*labels)[1][1] == hint.format("gold-columns")
        assert run(*words, "--judgment-columns", "query=topic")[0] == 0
        assert run(*labels, "--gold-columns", "query=topic")[0] == 0

    def test_gold_and_anchors_that_name_no_query(self, run, judged, tmp_path):
        one = judged.features.filter(pl.col("query") == "query-01")
        pl.concat([one, one.with_columns(query=pl.lit("again"))]).write_csv(tmp_path / "features.csv")
        judged.judgments.filter(pl.col("query") == "query-01").write_csv(tmp_path / "judgments.csv")
        gold = judged.gold.filter(pl.col("query") == "query-01").rename({"query": "topic"})
        gold.write_csv(tmp_path / "grades.csv")
        code, said = run(*JUDGED, "--gold", "grades.csv")
        assert (code, said[1]) == (2, "Hint: Name the column of queries: --gold-columns query=NAME")
        code, said = run(*JUDGED, "--anchors", "grades.csv")
        assert (code, said[1]) == (2, "Hint: Give the anchors a column named query.")
        gold.rename({"topic": "query"}).write_csv(tmp_path / "grades.csv")
        assert run(*JUDGED, "--anchors", "grades.csv")[0] == 0

    def test_no_rows(self, run, judged, tmp_path):
        hint = "Hint: Write a header line and at least one row."
        (tmp_path / "empty.csv").write_text("")
        assert run(*TRAIN, "--judgments", "empty.csv") == (2, ["empty.csv: the file is empty.", hint])
        (tmp_path / "empty.csv").write_text("query,worker,item,rank\n")
        assert run(*TRAIN, "--judgments", "empty.csv") == (2, ["empty.csv: there are no rows.", hint])

    def test_every_list_is_tied(self, run, judged, tmp_path):
        judged.judgments.with_columns(rank=1).write_csv(tmp_path / "tied.csv")
        assert run(*TRAIN, "--judgments", "tied.csv") == (
            2,
            [
                "features.csv: no judgment orders two documents that have features.",
                "Hint: A list needs at least two documents of one query that are not tied.",
            ],
        )

    @pytest.mark.parametrize(
        ("rows", "problem"),
        [
            (
                "worker-1,range,1,\nworker-1,range,,0",
                "side.csv: rows 1 and 2 contradict each other: the expertise of 'worker-1' cannot be at least 1 "
                "(row 1) and at most 0 (row 2).",
            ),
            (
                "worker-1,rnage,0,1",
                "side.csv, row 1, column 'kind': the kind is known, range or order. Got 'rnage'.",
            ),
        ],
    )
    def test_side_information(self, run, judged, tmp_path, rows, problem):
        side = tmp_path / "side.csv"
        side.write_text(f"worker,kind,low,high\n{rows}\n")
        code, said = run(*JUDGED, "--side-info", "side.csv")
        assert (code, said[0]) == (2, problem)
        side.write_text("worker,kind,low,high\nworker-1,range,0,1\n")
        assert run(*JUDGED, "--side-info", "side.csv")[0] == 0

    def test_side_information_on_a_stranger(self, run, judged, tmp_path):
        (tmp_path / "side.csv").write_text("worker,kind,low\nworker-1,range,0\nbob,range,0\n")
        code, said = run(*JUDGED, "--side-info", "side.csv")
        assert code == 0
        assert "warning: 1 of 2 workers in the side information judged nothing: 'bob'." in said
