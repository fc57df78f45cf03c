"""crowdrank score and crowdrank export, as a user runs them."""

import gzip
import io
import json
import subprocess
import sys
from itertools import islice

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from rankers.made import labeled_frame


@pytest.fixture
def frame(tmp_path):
    """Features, and a ranker of them in the folder ``ranker``."""
    frame = labeled_frame()
    frame.write_csv(tmp_path / "features.csv")
    cr.ListMLE().fit(frame).save(tmp_path / "ranker")
    return frame


class TestTable:
    def test_every_digit_of_every_score(self, crowdrank, frame, tmp_path):
        ran = crowdrank("score", "ranker", "features.csv")
        assert ran.code == 0
        scores = pl.read_csv(io.StringIO(ran.out))
        direct = cr.load(tmp_path / "ranker").score(frame)
        np.testing.assert_array_equal(scores["score"], direct.score)
        assert scores.select("query", "item").equals(frame.select("query", "item"))
        assert ran.err == ""

    def test_a_file(self, crowdrank, frame, tmp_path):
        printed = crowdrank("score", "ranker", "features.csv").out
        ran = crowdrank("score", "ranker", "features.csv", "--out", "scores.csv")
        assert (ran.code, ran.out) == (0, "")
        assert ran.err == "The scores of 160 documents are in scores.csv\n"
        assert (tmp_path / "scores.csv").read_text() == printed
        assert sorted(path.name for path in tmp_path.iterdir()) == ["features.csv", "ranker", "scores.csv"]

    def test_large_tables_are_printed_in_slices(self, crowdrank, frame, monkeypatch):
        whole = {
            form: crowdrank("score", "ranker", "features.csv", "--format", form).out for form in ("csv", "trec")
        }
        monkeypatch.setattr("crowdrank.cli.score.SLICE", 7)
        for form, text in whole.items():
            assert crowdrank("score", "ranker", "features.csv", "--format", form).out == text

    def test_without_queries_there_is_no_such_column(self, crowdrank, frame, tmp_path):
        one = frame.filter(pl.col("query") == "q003").drop("query", "label")
        one.write_csv(tmp_path / "one.csv")
        ran = crowdrank("score", "ranker", "one.csv")
        assert ran.out.splitlines()[0] == "item,score"
        frame.filter(pl.col("query") == "q003").select("item", "label").write_csv(tmp_path / "gold.csv")
        (tmp_path / "scores.csv").write_text(ran.out)
        assert crowdrank("evaluate", "scores.csv", "gold.csv").code == 0

    def test_columns_and_standard_input(self, crowdrank, frame):
        usual = crowdrank("score", "ranker", "features.csv").out
        named = frame.rename({"item": "doc"}).with_columns(url=pl.lit("x")).write_csv()
        assert crowdrank("score", "ranker", "-", "--columns", "item=doc,ignore=url", stdin=named).out == usual

    def test_order_of_columns_changes_nothing(self, crowdrank, frame, tmp_path):
        frame.select("f3", "f1", "query", "f0", "item", "f2").write_csv(tmp_path / "other.csv")
        assert crowdrank("score", "ranker", "other.csv").out == crowdrank("score", "ranker", "features.csv").out

    def test_a_failure_leaves_the_old_file(self, crowdrank, frame, tmp_path):
        (tmp_path / "scores.csv").write_text("mine")
        frame.drop("f1").write_csv(tmp_path / "other.csv")
        assert crowdrank("score", "ranker", "other.csv", "--out", "scores.csv").code == 2
        assert (tmp_path / "scores.csv").read_text() == "mine"
        assert not list(tmp_path.glob(".crowdrank*"))

    @pytest.mark.parametrize(
        ("out", "expected"),
        [
            ("ranker", "--out ranker: cannot be written to (it is a folder)."),
            ("no/scores.csv", "--out no/scores.csv: cannot be written to (No such file or directory)."),
        ],
    )
    def test_a_place_that_cannot_be_written_to(self, crowdrank, frame, out, expected):
        ran = crowdrank("score", "ranker", "features.csv", "--out", out)
        assert (ran.code, ran.err) == (2, f"crowdrank: {expected}\n")

    def test_a_reader_that_stops_early(self, frame, tmp_path):
        pl.concat([frame.with_columns(query=pl.col("query") + str(copy)) for copy in range(200)]).write_csv(
            tmp_path / "many.csv"
        )
        command = f"{sys.executable} -c 'from crowdrank.cli import main; main()' score ranker many.csv | head -1"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.stdout == "query,item,score\n"
        assert done.stderr == ""


class TestRun:
    def test_ranks_are_those_of_the_scores(self, crowdrank, frame, tmp_path):
        ran = crowdrank("score", "ranker", "features.csv", "--format", "trec")
        rows = [line.split(" ") for line in ran.out.splitlines()]
        direct = cr.load(tmp_path / "ranker").score(frame).polars()
        expected = []
        for query in direct["query"].unique(maintain_order=True):
            best_first = direct.filter(pl.col("query") == query).sort("score", descending=True)
            expected += [
                [query, "Q0", item, str(place), repr(score), "crowdrank"]
                for place, (_, item, score) in enumerate(best_first.rows(), 1)
            ]
        assert rows == expected

    def test_ties_follow_the_rule_of_trec_tools_and_are_said(self, crowdrank, frame, tmp_path):
        """Equal scores: the last id first, as trec_eval sorts them."""
        tied = pl.concat([frame.head(3), frame.head(1).with_columns(item=pl.lit("d000b"))])
        tied.write_csv(tmp_path / "tied.csv")
        ran = crowdrank("score", "ranker", "tied.csv", "--format", "trec")
        rows = [line.split() for line in ran.out.splitlines()]
        twins = [row for row in rows if row[2].startswith("d000")]
        assert [row[2] for row in twins] == ["d000b", "d000"]
        assert twins[0][4] == twins[1][4]
        assert int(twins[1][3]) == int(twins[0][3]) + 1
        assert ran.err.startswith("warning: 2 documents have the same score as another one of their query.")

    def test_it_scores_like_ir_measures(self, crowdrank, frame, tmp_path):
        self.compare(crowdrank, tmp_path, "features.csv", frame)

    def test_a_slice_of_real_documents_scores_like_ir_measures(self, crowdrank, tmp_path, real):
        """Without queries that have tied documents: ir-measures decides by id there, and we take the mean."""
        with gzip.open(real / "MQ2008" / "S1.txt.gz", "rt") as file:
            lines = list(islice(file, 600))
        (tmp_path / "slice.txt").write_text("".join(lines))
        assert crowdrank("train", "slice.txt", "--out", "ranker").code == 0
        scores = cr.load(tmp_path / "ranker").score(tmp_path / "slice.txt").polars()
        tied = scores.filter(pl.struct("query", pl.col("score").cast(pl.Float32)).is_duplicated())[
            "query"
        ].unique()
        assert 0 < len(tied) < 5
        (tmp_path / "slice.txt").write_text(
            "".join(line for line in lines if line.split()[1][4:] not in tied.to_list())
        )
        table = cr.read_features(tmp_path / "slice.txt")
        labels = table.ids().with_columns(label=pl.Series(table.label).cast(pl.Int64))
        self.compare(crowdrank, tmp_path, "slice.txt", labels)

    @staticmethod
    def compare(crowdrank, tmp_path, features, labels):
        import ir_measures

        ran = crowdrank("score", "ranker", features, "--format", "trec", "--out", "run.txt")
        assert "same score" not in ran.err
        labels.select("query", pl.lit(0), "item", "label").write_csv(
            tmp_path / "qrels.txt", separator=" ", include_header=False
        )
        same = {
            "nDCG@10": ir_measures.nDCG(gains={0: 0, 1: 1, 2: 3, 3: 7}) @ 10,
            "AP": ir_measures.AP,
            "AP(rel=2)": ir_measures.AP(rel=2),
            "RR": ir_measures.RR,
            "P@5": ir_measures.P @ 5,
        }
        ran = crowdrank("evaluate", "run.txt", "qrels.txt", "--measures", " ".join(same), "--json")
        theirs = ir_measures.calc_aggregate(
            same.values(),
            ir_measures.read_trec_qrels(str(tmp_path / "qrels.txt")),
            ir_measures.read_trec_run(str(tmp_path / "run.txt")),
        )
        assert json.loads(ran.out) == pytest.approx(
            {name: theirs[measure] for name, measure in same.items()}, abs=1e-9
        )

    def test_a_run_needs_queries_and_ids_without_spaces(self, crowdrank, frame, tmp_path):
        one = frame.filter(pl.col("query") == "q003")
        one.drop("query").with_columns(topic=pl.lit("q003")).write_csv(tmp_path / "one.csv")
        ran = crowdrank("score", "ranker", "one.csv", "--format", "trec", "--columns", "ignore=topic")
        assert (ran.code, ran.err) == (
            2,
            "crowdrank: a TREC run needs queries, and these features have none.\n"
            "Hint: Name their column: --columns query=NAME, or write a table: --format csv\n",
        )
        assert crowdrank("score", "ranker", "one.csv", "--format", "trec", "--columns", "query=topic").code == 0
        one.with_columns(item=pl.col("item") + " x").write_csv(tmp_path / "one.csv")
        ran = crowdrank("score", "ranker", "one.csv", "--format", "trec")
        assert (ran.code, ran.err) == (
            2,
            "crowdrank: a TREC run has spaces between its fields, so an id cannot have one. "
            "Got the item 'd000 x'.\n"
            "Hint: Write a table: --format csv\n",
        )
        assert crowdrank("score", "ranker", "one.csv", "--format", "csv").code == 0

    def test_an_unknown_format(self, crowdrank, frame):
        ran = crowdrank("score", "ranker", "features.csv", "--format", "xml")
        assert (ran.code, ran.err) == (2, "crowdrank: --format must be one of csv, trec. Got 'xml'.\n")


def test_loading_a_linear_ranker_loads_only_what_it_needs(frame, tmp_path):
    code = (
        "import sys, crowdrank as cr\n"
        "cr.load('ranker').score('features.csv')\n"
        "print([name for name in ('lightgbm', 'onnx', 'scipy', 'pandas', 'distributed', 'jinja2', 'rich',"
        " 'crowdrank.report', 'crowdrank.compare') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "[]"


class TestExport:
    @pytest.mark.parametrize("scorer", ["linear", "trees"])
    def test_another_program_gives_the_same_scores(self, crowdrank, frame, tmp_path, scorer):
        runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
        kind = cr.Trees(rounds=10, min_rows=5) if scorer == "trees" else scorer
        cr.ListMLE(scorer=kind).fit(frame).save(tmp_path / "ranker")
        ran = crowdrank("export", "ranker", "--onnx", "ranker.onnx")
        assert (ran.code, ran.out, ran.err) == (0, "", "The ranker is in ranker.onnx\n")
        session = runtime.InferenceSession(tmp_path / "ranker.onnx")
        one = frame.filter(pl.col("query") == "q003")
        values = one.select(f"f{place}" for place in range(4)).to_numpy().astype(np.float32)
        (found,) = session.run(None, {"features": values})
        np.testing.assert_allclose(found, cr.load(tmp_path / "ranker").score(one).score, atol=1e-5)

    def test_mistakes(self, crowdrank, frame, tmp_path):
        cr.ListMLE(scorer=cr.Net(limit=2)).fit(frame).save(tmp_path / "net")
        ran = crowdrank("export", "net", "--onnx", "net.onnx")
        assert ran.code == 2
        assert "Hint: The scorers linear and trees can be exported." in ran.err
        assert not (tmp_path / "net.onnx").exists()
        assert crowdrank("export", "features.csv", "--onnx", "x.onnx").code == 2
        assert crowdrank("export", "ranker", "--onnx", "no/x.onnx").err == (
            "crowdrank: --onnx no/x.onnx: cannot be written to (No such file or directory).\n"
        )
        assert not list(tmp_path.glob(".crowdrank*"))
