"""crowdrank next, as a user runs it: files, pipes, reports, mistakes."""

import os
import subprocess

import polars as pl
import pytest

from helpers import read_rows


class TestNext:
    def test_a_pipe_gets_csv(self, crowdrank, file):
        ran = crowdrank("next", file, "--count", 5)
        assert ran.code == 0
        lines = ran.out.splitlines()
        assert lines[0] == "question,query,left,right"
        assert len(lines) == 6

    def test_a_file_with_judges_and_texts(self, crowdrank, file, items, tmp_path):
        (tmp_path / "judges.csv").write_text("worker\nw1\nnew\n")
        ran = crowdrank(
            "next",
            file,
            "--count",
            4,
            "--judges",
            "judges.csv",
            "--items",
            items,
            "--show",
            "text",
            "--out",
            "q.csv",
        )
        assert ran.code == 0, ran.err
        assert "4 questions are in q.csv" in ran.err
        found = read_rows(tmp_path / "q.csv")
        assert list(found[0]) == ["question", "query", "left", "right", "worker", "left_text", "right_text"]
        assert all(row["left_text"] == f"text {row['left'][1:]}" for row in found)

    def test_a_report_beside_the_questions(self, crowdrank, file, tmp_path):
        ran = crowdrank("next", file, "--count", 4, "--out", "q.csv", "--report", "q.html")
        assert "4 questions are in q.csv, the report is in q.html" in ran.err
        html = (tmp_path / "q.html").read_text()
        assert "<h1>4 questions to ask next</h1>" in html
        for row in read_rows(tmp_path / "q.csv"):
            assert f'<td class="num">{row["question"]}</td><td class="name"><bdi>{row["left"]}</bdi>' in html

    @pytest.mark.parametrize("ending", ["md", "json"])
    def test_a_report_alone_in_another_form(self, crowdrank, file, tmp_path, ending):
        ran = crowdrank("next", file, "--count", 4, "--report", f"q.{ending}")
        assert ran.code == 0, ran.err
        assert len(ran.out.splitlines()) == 5
        assert f"The report is in q.{ending}" in ran.err
        assert "4 questions to ask next" in (tmp_path / f"q.{ending}").read_text()

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            (["--report", "q.pdf"], "The name of a report ends with .html, .md, .json. Got 'q.pdf'."),
            (["--out", "q.md", "--report", "q.md"], "--out is the same file"),
            (["--report", "none/q.html"], "--report none/q.html: cannot be written to"),
        ],
    )
    def test_a_report_that_cannot_be_written(self, crowdrank, file, tmp_path, words, problem):
        before = sorted(tmp_path.iterdir())
        ran = crowdrank("next", file, *words)
        assert ran.code == 2
        assert problem in ran.err
        assert ran.out == ""
        assert sorted(tmp_path.iterdir()) == before

    def test_before_the_first_vote(self, crowdrank, items):
        ran = crowdrank("next", "--items", items, "--count", 3)
        assert len(ran.out.splitlines()) == 4

    def test_answers_can_be_appended_and_asked_about_again(self, crowdrank, file, tmp_path):
        crowdrank("next", file, "--count", 6, "--out", "q.csv")
        asked = pl.read_csv(tmp_path / "q.csv", infer_schema=False)
        answers = asked.select(worker=pl.lit("w9"), left="left", right="right", label="left")
        answers.write_csv(tmp_path / "more.csv")
        again = crowdrank("next", file, "more.csv", "--count", 6)
        assert again.code == 0, again.err
        assert again.out.splitlines()[1].startswith("127,")

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            (["--select", "clever"], "no selector 'clever'"),
            (["--set", "gama=1"], "no setting 'gama'"),
            (["--count", "0"], "at least 1"),
            (["--model", "win-rate"], "no posterior"),
            (["--model", "nothing"], "no model"),
            (["--show", "text"], "--items"),
            (["--items", "missing.csv"], "missing.csv"),
            (["--set", "own=team"], "judges"),
            (["--set", "differ=team"], "items"),
        ],
    )
    def test_mistakes(self, crowdrank, file, words, problem):
        ran = crowdrank("next", file, *words)
        assert ran.code == 2
        assert problem in ran.err
        assert ran.out == ""

    def test_a_setting_of_the_model(self, crowdrank, file):
        ran = crowdrank(
            "next", file, "--model", "online-crowd-bt", "--set", "variance=2", "--set", "cold=0", "--count", 2
        )
        assert ran.code == 0, ran.err
        ran = crowdrank("next", file, "--set", "variance=2", "--count", 2)
        assert ran.code == 2
        assert "There is no setting 'variance' of the selection." in ran.err
        assert "For one of a model, add --model NAME" in ran.err
        assert "Give it a value: --set gamma=VALUE" in crowdrank("next", file, "--set", "gamma").err

    def test_it_never_writes_over_what_it_reads(self, crowdrank, file, items, tmp_path):
        before = (tmp_path / "votes.csv").read_bytes(), (tmp_path / "items.csv").read_bytes()
        for name in ("votes.csv", "items.csv"):
            ran = crowdrank("next", file, "--items", items, "--out", name)
            assert ran.code == 2
            assert "this file is read, so it is kept" in ran.err
        assert ((tmp_path / "votes.csv").read_bytes(), (tmp_path / "items.csv").read_bytes()) == before

    def test_a_link_and_a_pipe_are_written_to(self, crowdrank, file, tmp_path):
        (tmp_path / "target.csv").touch()
        (tmp_path / "link.csv").symlink_to("target.csv")
        assert crowdrank("next", file, "--count", 2, "--out", "link.csv").code == 0
        assert (tmp_path / "link.csv").is_symlink()
        assert len(read_rows(tmp_path / "target.csv")) == 2
        os.mkfifo(tmp_path / "pipe")
        with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
            assert crowdrank("next", file, "--count", 2, "--out", "pipe").code == 0
            assert reader.stdout.read() == (tmp_path / "target.csv").read_bytes()
        assert (tmp_path / "pipe").is_fifo()
