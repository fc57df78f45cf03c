"""crowdrank next, ask and replay, as a user runs them: files, pipes, interruptions, mistakes."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from helpers import random_votes

JUDGE = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    left, right = question["left"]["item"], question["right"]["item"]
    print("left" if int(left[1:]) > int(right[1:]) else "right", flush=True)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "votes.csv"
    random_votes(5, items=8, workers=4, votes=120).write_csv(path)
    return path


@pytest.fixture
def judge(tmp_path):
    """A command that prefers the item with the larger number."""
    path = tmp_path / "judge.py"
    path.write_text(JUDGE)
    return f"{sys.executable} {path}"


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("item,text\n" + "".join(f"i{code},text {code}\n" for code in range(8)))
    return path


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


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
        found = rows(tmp_path / "q.csv")
        assert list(found[0]) == ["question", "query", "left", "right", "worker", "left_text", "right_text"]
        assert all(row["left_text"] == f"text {row['left'][1:]}" for row in found)

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
        assert len(rows(tmp_path / "target.csv")) == 2
        os.mkfifo(tmp_path / "pipe")
        with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
            assert crowdrank("next", file, "--count", 2, "--out", "pipe").code == 0
            assert reader.stdout.read() == (tmp_path / "target.csv").read_bytes()
        assert (tmp_path / "pipe").is_fifo()


class TestAsk:
    def test_a_command_for_each_question(self, crowdrank, items, judge, tmp_path):
        ran = crowdrank("ask", "--judge", judge, "--items", items, "--budget", 5, "--out", "answers.csv")
        assert ran.code == 0, ran.err
        found = rows(tmp_path / "answers.csv")
        assert [row["question"] for row in found] == ["1", "2", "3", "4", "5"]
        for row in found:
            assert row["label"] == max(row["left"], row["right"])
            assert row["worker"] == "judge"

    def test_one_process_for_all_questions_and_two_judges(self, crowdrank, items, judge, tmp_path):
        ran = crowdrank(
            "ask", "--judge", judge, "--name", "one", "--judge", judge, "--name", "two", "--keep",
            "--items", items, "--budget", 54, "--out", "answers.csv",
        )  # fmt: skip
        assert ran.code == 0, ran.err
        found = rows(tmp_path / "answers.csv")
        assert [row["worker"] for row in found] == ["one", "two"] * 27
        ranked = crowdrank("rank", "answers.csv", "--model", "bt")
        assert [line.split(",")[1] for line in ranked.out.splitlines()[1:]] == [
            f"i{code}" for code in range(7, -1, -1)
        ]

    def test_no_judge_is_asked_a_pair_twice(self, crowdrank, items, judge, tmp_path):
        words = ("ask", "--judge", judge, "--keep", "--items", items, "--budget", 30, "--out", "answers.csv")
        ran = crowdrank(*words)
        assert ran.code == 0
        assert "No judge can be asked anything else" in ran.err
        assert len({frozenset((row["left"], row["right"])) for row in rows(tmp_path / "answers.csv")}) == 28
        assert crowdrank(*words, "--set", "repeats=true").code == 0
        assert len(rows(tmp_path / "answers.csv")) == 30

    def test_a_question_that_is_skipped_is_not_asked_again(self, crowdrank, items):
        (items.parent / "two.csv").write_text("item\na\nb\n")
        ran = crowdrank("ask", "--judge", "echo skip", "--items", "two.csv", "--out", "answers.csv")
        assert ran.code == 2
        assert "No question is allowed" in ran.err

    def test_two_lines_for_a_question_are_an_error(self, crowdrank, items, tmp_path):
        (tmp_path / "two.py").write_text("import sys\nfor line in sys.stdin: print('left\\nright', flush=True)\n")
        judge = f"{sys.executable} {tmp_path / 'two.py'}"
        ran = crowdrank("ask", "--judge", judge, "--keep", "--items", items, "--out", "answers.csv")
        assert ran.code == 1
        assert "printed more than one line for a question: 'right'" in ran.err

    @pytest.mark.parametrize("name", ["tie", "Left", "skip"])
    def test_an_item_that_is_called_like_an_answer(self, crowdrank, judge, tmp_path, name):
        (tmp_path / "odd.csv").write_text(f"item\na\n{name}\n")
        ran = crowdrank("ask", "--judge", judge, "--items", "odd.csv", "--out", "answers.csv")
        assert ran.code == 2
        assert "is called like an answer" in ran.err
        assert not (tmp_path / "answers.csv").exists()

    def test_a_last_line_without_its_end(self, crowdrank, items, judge, tmp_path):
        words = ("ask", "--judge", judge, "--keep", "--items", items, "--budget", 4, "--out", "answers.csv")
        crowdrank(*words)
        whole = (tmp_path / "answers.csv").read_bytes()
        (tmp_path / "answers.csv").write_bytes(whole.rstrip(b"\n"))  # as an editor may save it
        ran = crowdrank(*words)
        assert "0 of them new" in ran.err
        assert (tmp_path / "answers.csv").read_bytes() == whole
        (tmp_path / "answers.csv").write_bytes(whole[:-2])
        ran = crowdrank(*words)
        assert "the last line was cut off, and is removed" in ran.err
        assert "1 of them new" in ran.err
        assert len(rows(tmp_path / "answers.csv")) == 4

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            (["answers.csv"], "the file of --out is read anyway"),
            (["--set", "own=team"], "commands have no attributes"),
            (["--timeout", "0"], "above 0"),
        ],
    )
    def test_what_makes_no_sense(self, crowdrank, items, judge, tmp_path, words, problem):
        (tmp_path / "answers.csv").write_text("question,worker,left,right,label\n1,judge,i1,i2,i1\n")
        ran = crowdrank("ask", *words, "--judge", judge, "--items", items, "--out", "answers.csv")
        assert ran.code == 2
        assert problem in ran.err

    def test_another_file_is_no_file_of_answers(self, crowdrank, items, judge):
        before = items.read_text()
        ran = crowdrank("ask", "--judge", judge, "--items", items, "--out", items)
        assert ran.code == 2
        assert "this is not a file of answers" in ran.err
        assert items.read_text() == before

    def test_it_goes_on_where_it_stopped(self, crowdrank, items, judge, tmp_path):
        words = ("ask", "--judge", judge, "--keep", "--items", items, "--out", "answers.csv", "--budget")
        crowdrank(*words, 12)
        first = (tmp_path / "answers.csv").read_text()
        ran = crowdrank(*words, 20)
        assert "20 answers are in answers.csv, 8 of them new" in ran.err
        after = (tmp_path / "answers.csv").read_text()
        assert after.startswith(first)
        assert len(after.splitlines()) == 21
        assert crowdrank(*words, 20).code == 0
        assert (tmp_path / "answers.csv").read_text() == after

    def test_a_killed_run_loses_and_doubles_nothing(self, items, judge, tmp_path, crowdrank):
        slow = f"{judge.split()[0]} -c \"import time,sys; time.sleep(0.05); print('left')\""
        out = tmp_path / "answers.csv"
        words = ["ask", "--judge", slow, "--items", str(items), "--budget", "500", "--out", str(out)]
        process = subprocess.Popen([sys.executable, "-m", "crowdrank", *words], stderr=subprocess.DEVNULL)
        deadline = time.time() + 60
        while (not out.exists() or out.read_bytes().count(b"\n") < 4) and time.time() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        complete = out.read_bytes().count(b"\n") - 1
        with open(out, "ab") as file:
            file.write(b"99,judge,i1,i")  # as if the power had failed in the middle of a line
        ran = crowdrank(
            "ask", "--judge", judge, "--items", items, "--budget", complete + 3, "--out", "answers.csv"
        )
        assert ran.code == 0, ran.err
        assert [row["question"] for row in rows(out)] == [str(number) for number in range(1, complete + 4)]

    def test_an_interrupt_keeps_the_answers(self, items, judge, tmp_path):
        out = tmp_path / "answers.csv"
        slow = f"{judge.split()[0]} -c \"import time; time.sleep(0.05); print('right')\""
        words = ["ask", "--judge", slow, "--items", str(items), "--budget", "500", "--out", str(out)]
        process = subprocess.Popen(
            [sys.executable, "-m", "crowdrank", *words], stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        deadline = time.time() + 60
        while (not out.exists() or out.read_bytes().count(b"\n") < 3) and time.time() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "answers" in error
        assert len(rows(out)) >= 2

    def test_two_runs_cannot_append_at_once(self, crowdrank, items, judge, tmp_path):
        import fcntl

        out = tmp_path / "answers.csv"
        out.write_text("")
        with open(out) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            ran = crowdrank("ask", "--judge", judge, "--items", items, "--budget", 2, "--out", "answers.csv")
        assert ran.code == 2
        assert "another run" in ran.err

    def test_skips_are_not_asked_again_and_do_not_loop(self, crowdrank, items, tmp_path):
        ran = crowdrank("ask", "--judge", "echo skip", "--items", items, "--budget", 5, "--out", "answers.csv")
        assert ran.code == 1
        assert "skipped 20 questions in a row" in ran.err
        assert not (tmp_path / "answers.csv").exists()

    @pytest.mark.parametrize(
        ("command", "problem"),
        [
            ("echo maybe", "must answer left, right, tie or skip, or JSON with an answer. Got 'maybe'"),
            ("echo '{\"best\": 5}'", "Got '{\"best\": 5}'"),
            ("printf '\\377\\n'", "must answer left"),
            ("exit 3", "exit code 3"),
            ("true", "printed nothing"),
            ("sleep 5", "no answer within 0.3 seconds"),
        ],
    )
    def test_judges_that_do_not_answer(self, crowdrank, items, tmp_path, command, problem):
        ran = crowdrank(
            "ask", "--judge", command, "--items", items, "--budget", 5, "--out", "answers.csv", "--timeout", 0.3
        )
        assert ran.code == 1
        assert problem in ran.err
        assert not (tmp_path / "answers.csv").exists()

    def test_a_kept_judge_that_ends_or_hangs(self, crowdrank, items):
        for command, problem in (("exit 4", "exit code 4"), ("sleep 5", "no answer within 0.3")):
            ran = crowdrank(
                "ask", "--judge", command, "--keep", "--items", items, "--out", "a.csv", "--timeout", 0.3
            )
            assert ran.code == 1
            assert problem in ran.err

    def test_answers_in_other_words(self, crowdrank, items, tmp_path):
        for place, answer in enumerate(("TIE", '{"answer": "left", "why": "x"}')):
            ran = crowdrank(
                "ask", "--judge", f"echo '{answer}'", "--items", items, "--budget", 2, "--out", f"{place}.csv"
            )
            assert ran.code == 0, ran.err
        assert {row["label"] for row in rows(tmp_path / "0.csv")} == {"tie"}
        assert all(row["label"] == row["left"] for row in rows(tmp_path / "1.csv"))

    def test_the_file_of_something_else_is_left_alone(self, crowdrank, items, judge, tmp_path):
        (tmp_path / "answers.csv").write_text("a,b\n1,2\n")
        ran = crowdrank("ask", "--judge", judge, "--items", items, "--budget", 2, "--out", "answers.csv")
        assert ran.code == 2
        assert (tmp_path / "answers.csv").read_text() == "a,b\n1,2\n"

    def test_votes_from_elsewhere_count(self, crowdrank, file, judge, tmp_path):
        ran = crowdrank("ask", file, "--judge", judge, "--keep", "--budget", 3, "--out", "answers.csv")
        assert ran.code == 0, ran.err
        again = crowdrank("ask", file, "--judge", judge, "--keep", "--budget", 6, "--out", "answers.csv")
        assert again.code == 0, again.err
        assert len(rows(tmp_path / "answers.csv")) == 6

    def test_queries_are_written(self, crowdrank, judge, tmp_path):
        (tmp_path / "items.csv").write_text(
            "query,item\n" + "".join(f"q{q},i{i}\n" for q in range(2) for i in range(4))
        )
        ran = crowdrank(
            "ask", "--judge", judge, "--keep", "--items", "items.csv", "--budget", 12, "--out", "a.csv"
        )
        assert ran.code == 0, ran.err
        assert {row["query"] for row in rows(tmp_path / "a.csv")} == {"q0", "q1"}
        assert crowdrank("rank", "a.csv", "--model", "bt").code == 0

    def test_names_for_judges(self, crowdrank, items, judge):
        ran = crowdrank("ask", "--judge", judge, "--name", "a", "--name", "b", "--items", items, "--out", "a.csv")
        assert ran.code == 2
        assert "different name" in ran.err


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
