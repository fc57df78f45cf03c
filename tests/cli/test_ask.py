"""crowdrank ask, as a user runs it: judges that are commands, interruptions, reports, mistakes."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from helpers import read_rows


class TestAsk:
    def test_a_command_for_each_question(self, crowdrank, items, judge, tmp_path):
        ran = crowdrank("ask", "--judge", judge, "--items", items, "--budget", 5, "--out", "answers.csv")
        assert ran.code == 0, ran.err
        found = read_rows(tmp_path / "answers.csv")
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
        found = read_rows(tmp_path / "answers.csv")
        assert [row["worker"] for row in found] == ["one", "two"] * 27
        ranked = crowdrank("rank", "answers.csv", "--model", "bt")
        assert [line.split(",")[1] for line in ranked.out.splitlines()[1:]] == [
            f"i{code}" for code in range(7, -1, -1)
        ]

    def test_a_report_at_the_end(self, crowdrank, items, judge, tmp_path):
        words = ["ask", "--judge", judge, "--keep", "--items", items, "--out", "a.csv", "--report", "a.json"]
        ran = crowdrank(*words, "--budget", 6)
        assert "6 answers are in a.csv, 6 of them new; the report is in a.json" in ran.err
        report = json.loads((tmp_path / "a.json").read_text())
        assert [count for count, _ in report["curve"]] == list(range(7))
        assert report["questions"] == len(read_rows(tmp_path / "a.csv")) == 6
        assert sum(item["votes"] for item in report["queries"][0]["items"]) == 2 * 6
        crowdrank(*words, "--budget", 8)
        again = json.loads((tmp_path / "a.json").read_text())
        assert [count for count, _ in again["curve"]] == [6, 7, 8]
        assert again["questions"] == 8
        assert crowdrank(*words[:-1], "a.csv", "--budget", 9).code == 2

    def test_no_judge_is_asked_a_pair_twice(self, crowdrank, items, judge, tmp_path):
        words = ("ask", "--judge", judge, "--keep", "--items", items, "--budget", 30, "--out", "answers.csv")
        ran = crowdrank(*words)
        assert ran.code == 0
        assert "No judge can be asked anything else" in ran.err
        assert len({frozenset((row["left"], row["right"])) for row in read_rows(tmp_path / "answers.csv")}) == 28
        assert crowdrank(*words, "--set", "repeats=true").code == 0
        assert len(read_rows(tmp_path / "answers.csv")) == 30

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
        assert len(read_rows(tmp_path / "answers.csv")) == 4

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
        assert [row["question"] for row in read_rows(out)] == [str(number) for number in range(1, complete + 4)]

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
        assert len(read_rows(out)) >= 2

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
        assert {row["label"] for row in read_rows(tmp_path / "0.csv")} == {"tie"}
        assert all(row["label"] == row["left"] for row in read_rows(tmp_path / "1.csv"))

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
        assert len(read_rows(tmp_path / "answers.csv")) == 6

    def test_queries_are_written(self, crowdrank, judge, tmp_path):
        (tmp_path / "items.csv").write_text(
            "query,item\n" + "".join(f"q{q},i{i}\n" for q in range(2) for i in range(4))
        )
        ran = crowdrank(
            "ask", "--judge", judge, "--keep", "--items", "items.csv", "--budget", 12, "--out", "a.csv"
        )
        assert ran.code == 0, ran.err
        assert {row["query"] for row in read_rows(tmp_path / "a.csv")} == {"q0", "q1"}
        assert crowdrank("rank", "a.csv", "--model", "bt").code == 0

    def test_names_for_judges(self, crowdrank, items, judge):
        ran = crowdrank("ask", "--judge", judge, "--name", "a", "--name", "b", "--items", items, "--out", "a.csv")
        assert ran.code == 2
        assert "different name" in ran.err
