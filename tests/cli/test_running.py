"""What all commands share: messages, progress, options from files, signals, and no terminal at all."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import combinations

import polars as pl
import pytest

from conftest import COMMAND
from crowdrank.cli import COMMANDS
from crowdrank.cli.messages import VOICE, Voice
from crowdrank.cli.track import Tracker, clock
from crowdrank.progress import Step, announce, part, watching
from helpers import random_votes


@pytest.fixture
def votes_file(tmp_path):
    random_votes(votes=120).write_csv(tmp_path / "votes.csv")
    return "votes.csv"


class TestMessages:
    def test_the_last_line_says_what_was_done_and_where_it_is(self, crowdrank, votes_file):
        rank = ("rank", votes_file, "--model", "bt")
        assert re.fullmatch(
            r"Ranked \d+ items by 120 pairs of \d+ workers with bt; the ranking is on stdout",
            crowdrank(*rank).err.splitlines()[-1],
        )
        alone = crowdrank("rank", "-", "--model", "bt", stdin="worker,winner,loser\nann,a,b\n").err
        assert "Ranked 2 items by 1 pair of 1 worker with bt" in alone
        last = crowdrank(*rank, "--out", "result").err.splitlines()[-1]
        assert last.startswith("Ranked ")
        assert last.endswith("fit.json are in result")

    def test_the_last_line_counts_workers_who_cannot_be_relied_on(self, crowdrank, tmp_path):
        pairs = list(combinations("abcdef", 2)) * 12
        rows = [(worker, one, other) for worker in ("ann", "bob", "cem") for one, other in pairs]
        rows += [("liar", other, one) for one, other in pairs]
        rows += [(name, *pair[:: 1 if k % 2 else -1]) for name in ("coin", "dice") for k, pair in enumerate(pairs)]
        pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row").write_csv(tmp_path / "votes.csv")
        last = crowdrank("rank", "votes.csv", "--model", "bt").err.splitlines()[-1]
        assert " of 6 workers (1 malicious, 2 spammers) with bt; " in last

    def test_one_is_not_a_plural(self, crowdrank):
        ran = crowdrank("rank", "-", "--model", "bt", stdin="worker,left,right,label\nw,a,b,a\n")
        assert ran.err.endswith("Ranked 2 items by 1 pair of 1 worker with bt; the ranking is on stdout\n")

    @pytest.mark.parametrize(
        ("setting", "expected"),
        [
            ("calibrate=maybe", "'calibrate' must be true or false. Got 'maybe'."),
            ("calibrate=None", "'calibrate' must be true or false. Got null."),
            ("shrinkage=True", "'shrinkage' must be a number of at least 0. Got true."),
            ("shrinkage='None'", "'shrinkage' must be a number of at least 0. Got \"'None'\"."),
        ],
    )
    def test_values_are_shown_as_they_are_typed(self, crowdrank, setting, expected):
        labels = "worker,item,label\nv,a,1\nv,b,2\nw,a,1\nw,b,2\n"
        ran = crowdrank("rank", "-", "--model", "dawid-skene", "--set", setting, stdin=labels)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == f"crowdrank: The parameter {expected}\n"

    def test_quiet(self, crowdrank, votes_file):
        """-q leaves out notes and the last line, -qq warnings too; errors stay."""
        few = {"stdin": "winner,loser\na,b\nb,c\n"}  # too few for auto, which says so
        plain, quiet, mute = (crowdrank("rank", "-", *more, **few).err for more in ([], ["-q"], ["-qq"]))
        assert "note: auto" in plain
        assert "warning: " in quiet
        assert "note: " not in quiet
        assert "Ranked" not in quiet
        assert mute == ""
        assert crowdrank("-qq", "rank", "none.csv").err.startswith("crowdrank: none.csv")

    def test_verbose_says_how_long_each_step_takes(self, crowdrank, votes_file):
        said = crowdrank("rank", votes_file, "--model", "bt", "-v").err
        assert re.search(r"^reading: \d+\.\d\d s$", said, re.M)
        assert re.search(r"^bt: \d+\.\d\d s, \d+ steps$", said, re.M)

    def test_lines_for_machines(self, crowdrank, tmp_path):
        random_votes(votes=40, items=4, workers=3).write_csv(tmp_path / "few.csv")
        ran = crowdrank("rank", "few.csv", "--log-json", "--out", "result", "--set", "folds=2")
        lines = [json.loads(line) for line in ran.err.splitlines()]
        assert {"event", "time", "message"} <= set.intersection(*map(set, lines))
        assert {"note", "progress", "done"} <= {line["event"] for line in lines}
        assert [line["code"] for line in lines if line["event"] == "note"] == ["auto"]
        assert lines[-1]["event"] == "done"
        assert lines[-1]["folder"] == "result"
        assert "ranking.csv" in lines[-1]["files"]
        assert lines[-1]["seconds"] > 0
        tried = {line["message"] for line in lines if line["event"] == "progress" and line.get("total")}
        assert "crowd-bt: fold 1 of 2" in tried  # auto names the candidate that it fits

    def test_errors_for_machines(self, crowdrank, votes_file):
        for words in (["--model", "btt"], ["--modle", "bt"]):
            ran = crowdrank("rank", votes_file, *words, "--log-json")
            found = json.loads(ran.err)
            assert (ran.code, found["event"], found["exit_code"]) == (2, "error", 2)
            assert "Did you mean" in found["hint"]


class TestHelp:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_short_and_long(self, crowdrank, name):
        short = crowdrank(name, "-h")
        assert (short.code, short.err) == (0, "")
        assert short.out == crowdrank(name, "--help").out
        for option in ("--config", "--log-json", "-q, --quiet", "-v, --verbose", "--version"):
            assert option in short.out

    def test_the_version_is_known_everywhere(self, crowdrank):
        assert crowdrank("rank", "--version").out == crowdrank("--version").out

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["rnak"], "There is no command 'rnak'.\nHint: Did you mean 'rank'?"),
            (["rank", "x", "--modle", "bt"], "no option --modle of crowdrank rank.\nHint: Did you mean --model?"),
            (["rank", "x", "--model", "crowdbt"], "no model 'crowdbt'.\nHint: Did you mean 'crowd-bt'?"),
            (["rank", "x", "--model", "bt", "--set", "tie=half"], "Did you mean 'ties'?"),
            (["rank", "x", "--model", "auto", "--set", "regularisation=1"], "Did you mean 'regularization'?"),
            (["simulate", "btcrowd", "--out", "x"], "Did you mean 'bt-crowd'?"),
            (["reproduce", "tpp-tabel2"], "Did you mean 'tpp-table2'?"),
            (["evaluate", "x", "y", "--measures", "ndgc@10"], "Did you mean 'nDCG'?"),
            (["models", "lambda-mart"], "Did you mean 'lambdamart'?"),
            (["completion", "fisch"], "Did you mean 'fish'?"),
        ],
    )
    def test_did_you_mean(self, crowdrank, words, expected):
        ran = crowdrank(*words)
        assert ran.code == 2
        assert expected in ran.err
        assert len(ran.err) < 400


class TestConfig:
    def test_the_command_line_wins(self, crowdrank, votes_file, tmp_path):
        (tmp_path / "my.toml").write_text(
            '[rank]\nmodel = "bt"\nformat = "json"\nset = { regularization = 2, ties = "half" }\nquiet = 1\n'
            '[compare]\nmodels = "bt"\n'
        )
        for words in (["--config", "my.toml", "rank", votes_file], ["rank", votes_file, "--config", "my.toml"]):
            ran = crowdrank(*words, "--out", "result", "--set", "regularization=1")
            assert ran.code == 0, ran.err
            assert "Ranked" not in ran.err
            fit = json.loads((tmp_path / "result" / "fit.json").read_text())
            assert fit["model"] == "bt"
            assert fit["parameters"]["regularization"] == 1
            assert fit["parameters"]["ties"] == "half"
            assert (tmp_path / "result" / "ranking.json").exists()
        ran = crowdrank("rank", votes_file, "--format", "csv", env={"CROWDRANK_CONFIG": "my.toml"})
        assert ran.out.startswith("query,item,")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('[rank]\nmodle = "bt"\n', "[rank] has no option 'modle'.\nHint: Did you mean 'model'?"),
            ('[rnak]\nmodel = "bt"\n', "no command 'rnak' for the section [rnak].\nHint: Did you mean 'rank'?"),
            ('model = "bt"\n', "'model' stands outside of a section."),
            ("[rank\n", "this is not TOML"),
            ("[rank]\nallow-dropped = 3\n", "[rank] allow-dropped must be true or false. Got 3."),
            ('[rank]\nmodel = ["bt", "borda"]\n', "[rank] model must be one text or number."),
            ('[rank]\nseed = "one"\n', "--seed must be a whole number. Got 'one'."),
        ],
    )
    def test_mistakes(self, crowdrank, votes_file, tmp_path, text, expected):
        (tmp_path / "my.toml").write_text(text)
        ran = crowdrank("rank", votes_file, "--config", "my.toml")
        assert (ran.code, ran.out) == (2, "")
        assert expected in ran.err
        assert crowdrank("rank", votes_file, "--config", "none.toml").code == 2


class TestProgress:
    def test_parts_of_parts(self):
        seen = []
        with watching(seen.append), part(1, 2, 4):
            announce("whole")
            announce("half", 1, 2)
            with part(1, 2, 2):
                announce("end", 3, 4)
        assert [(str(step), step.done, step.total) for step in seen] == [
            ("whole", 1, 4), ("half", 1.5, 4), ("end", 1.875, 4),
        ]  # fmt: skip
        announce("nobody watches")

    def test_the_line_has_a_bar_a_rate_and_the_remaining_time(self, monkeypatch):
        VOICE.set(Voice())
        now = [100.0]
        monkeypatch.setattr("crowdrank.cli.track.time.perf_counter", lambda: now[0])
        tracker = Tracker("asking")
        tracker.announced(Step("asking: 10 of 50 answers", 10, 50))
        now[0] += 5
        tracker.announced(Step("asking: 20 of 50 answers", 20, 50))
        assert tracker.line() == "asking: 20 of 50 answers  [#####.......] 40%  2.0/s  about 0:15 left"
        for step in range(1, 12):
            now[0] += 1
            tracker.fitted(step, -1.0, 10.0**-step)
        assert tracker._fit_rate(now[0])[1] == 0.0
        assert clock(3700.4) == "1:01:40"

    def test_a_terminal_gets_a_bar_after_a_while(self, tmp_path, votes_file):
        """Only on a terminal, never on stdout, and the line is taken off in the end."""
        import pty

        quick = "import crowdrank.cli.track as track; track.WAIT = 0.0; track.EVERY = 0.01; "
        command = [sys.executable, "-c", quick + COMMAND[-1], "compare", votes_file, "--models", "bt,crowd-bt"]
        parent, child = pty.openpty()
        done = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=child, text=True)
        os.close(child)
        seen = b""
        try:
            while chunk := os.read(parent, 65536):
                seen += chunk
        except OSError:  # the terminal closes with the program
            pass
        os.close(parent)
        out = done.communicate(timeout=60)[0]
        assert done.returncode == 0
        assert "fold" not in out
        *_, last = seen.decode().split("\r\n")[:-1]
        assert re.search(r"\rcrowd-bt: (fold \d of 5|all judgments)  \[#*\.*\] \d+%", seen.decode())
        assert last.split("\r")[-1].startswith("Compared 2 models")


SLOW = {
    "reading": "import crowdrank.data.io.read as at; name = 'check_all'",
    "fitting": "from crowdrank.models.pairs.bradley_terry import BradleyTerry as at; name = '_fit'",
    "writing": "import crowdrank.cli.output as at; name = 'write_frame'",
    "comparing": "import crowdrank.compare.comparison as at; name = 'predict'",
    "moving": "import os as at; name = 'replace'",
    "finalizing": "from crowdrank.models.pairs.bradley_terry import BradleyTerry as at; name = '_fit'",
}
"""What is made slow so that a signal comes while it runs."""
SAY = "os.write(1, b'now\\n')"
STARTED = [*COMMAND[:-1], f"print('now', flush=True); {COMMAND[-1]}"]
"""The command, which says when Python has started: before that, a signal ends Python in ways of its own."""


@pytest.mark.long
class TestSignals:
    def interrupt(self, tmp_path, where, number, *words):
        """Send the signal as soon as the slow function runs; what it ends with."""
        slow = (
            f"{SLOW[where]}\nimport os, time\nown = getattr(at, name)\n"
            "class Finalized:\n"
            "    def __del__(self):\n"
            "        os.write(1, b'now\\n')\n"
            "        time.sleep(60)\n"
            "def slow(*given, **named):\n"
            f"    {'Finalized()' if where == 'finalizing' else SAY}\n"
            f"    time.sleep({0.3 if where == 'moving' else 60})\n"
            "    return own(*given, **named)\n"
            "setattr(at, name, slow)\n"
        )
        command = [sys.executable, "-c", slow + COMMAND[-1], *words, "--out", "new/result"]
        begun = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert begun.stdout.readline() == "now\n", begun.communicate(timeout=60)[1]
        begun.send_signal(number)
        err = begun.communicate(timeout=30)[1]
        return begun.returncode, err.splitlines()[-1]

    @pytest.mark.parametrize(
        ("where", "number"),
        [("reading", signal.SIGINT), ("fitting", signal.SIGTERM), ("writing", signal.SIGINT)],
    )
    def test_nothing_half_written(self, tmp_path, votes_file, where, number):
        ended = self.interrupt(tmp_path, where, number, "rank", votes_file, "--model", "bt")
        word = "interrupted" if number == signal.SIGINT else "terminated"
        assert ended == (128 + number, f"crowdrank: {word}; nothing was written.")
        assert not (tmp_path / "new").exists()

    def test_in_a_comparison(self, tmp_path, votes_file):
        ended = self.interrupt(tmp_path, "comparing", signal.SIGINT, "compare", votes_file, "--models", "bt")
        assert ended == (130, "crowdrank: interrupted; nothing was written.")
        assert not (tmp_path / "new").exists()

    def test_all_files_or_none_are_moved_into_place(self, tmp_path, votes_file):
        ended = self.interrupt(tmp_path, "moving", signal.SIGINT, "rank", votes_file, "--model", "bt")
        assert ended == (130, "crowdrank: interrupted; all files are in new/result.")
        assert {path.name for path in (tmp_path / "new" / "result").iterdir()} == {
            "ranking.csv", "workers.csv", "report.html", "report.md", "report.json", "fit.json",
        }  # fmt: skip

    def test_where_errors_are_lost(self, tmp_path, votes_file):
        """Python drops an error in a finalizer. The signal is sent again until it takes effect."""
        ended = self.interrupt(tmp_path, "finalizing", signal.SIGTERM, "rank", votes_file, "--model", "bt")
        assert ended == (143, "crowdrank: terminated; nothing was written.")
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize("seconds", [0.6, 1.2, 2.0])
    def test_a_cluster_of_processes_is_silent(self, tmp_path, votes_file, seconds):
        """A terminal sends Ctrl-C to the workers too, whether they start, wait or compute."""
        command = [*STARTED, "rank", votes_file, "--model", "judge-bt", "--engine", "dask", "--out", "new/result"]
        command += ["--set", "intervals=bootstrap"]
        begun = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert begun.stdout.readline() == "now\n"
        time.sleep(seconds)
        os.killpg(begun.pid, signal.SIGINT)
        err = begun.communicate(timeout=60)[1]
        assert (begun.returncode, err) == (130, "crowdrank: interrupted; nothing was written.\n")
        assert not (tmp_path / "new").exists()

    def test_before_anything_is_loaded(self, tmp_path, votes_file):
        command = [*STARTED, "rank", votes_file]
        begun = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
        assert begun.stdout.readline() == "now\n"
        begun.send_signal(signal.SIGINT)
        err = begun.communicate(timeout=30)[1]
        assert begun.returncode in (130, -2)  # -2: the command itself had not started
        assert "Traceback" not in err or begun.returncode == -2


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin a process")
def test_one_core_no_terminal_and_a_reader_that_leaves(tmp_path, votes_file):
    run = f"{sys.executable} -c '{COMMAND[-1]}' rank {votes_file} --model bt </dev/null 2>&1 | head -c 1"
    first = min(os.sched_getaffinity(0))
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {run}"], cwd=tmp_path, capture_output=True, text=True, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, {first}), start_new_session=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout) == 1
