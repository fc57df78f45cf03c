"""What only a process of its own can show, for every command: a reader that leaves, a full disk, signals."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from cli.mistake_rows import make_world
from conftest import COMMAND
from crowdrank.cli import COMMANDS

pytestmark = pytest.mark.long
resource = pytest.importorskip("resource")

PRINTED = {
    "rank": ["votes.csv --model bt", "votes.csv --model bt --format parquet"],
    "models": ["", "bt"],
    "compare": ["votes.csv --models win-rate"],
    "evaluate": ["ranking.csv gold.csv"],
    "train": [],
    "score": ["ranker bare.csv"],
    "export": [],
    "next": ["votes.csv --select random --count 20"],
    "ask": [],
    "replay": ["--simulate coin --budget 5 --seeds 1 --select random --set items=4"],
    "report": ["result other"],
    "simulate": [],
    "reproduce": ["", "crowd-bt-table1 --seeds 1"],
    "demo": ["--out new"],
    "completion": ["bash"],
}
"""The calls of each command that print on stdout."""

WRITTEN = {
    "rank": "votes.csv --model bt --out new",
    "compare": "votes.csv --models win-rate --out new",
    "train": "features.csv --out new",
    "replay": "--simulate coin --budget 5 --seeds 1 --select random --set items=4 --out new",
    "report": "result other --out new",
    "simulate": "bt-crowd --out new",
    "demo": "--out new",
    "score": "ranker features.csv --out new",
    "export": "ranker --onnx new",
    "next": "votes.csv --select random --report new.html",
    "ask": "--items items.csv --judge 'echo left' --budget 20 --select random --out new",
}
"""A call of each command that writes files."""

SLOW = {
    "rank": "from crowdrank.models.pairs.bradley_terry import BradleyTerry as at; name = '_fit'",
    "compare": "import crowdrank.compare.comparison as at; name = 'predict'",
    "train": "import crowdrank.rankers.label_training as at; name = 'learn_preparation'",
    "replay": "import crowdrank.select.study as at; name = 'replay_simulated'",
    "report": "import crowdrank.report as at; name = 'build_changes'",
    "simulate": "import crowdrank.simulate as at; name = 'simulate'",
    "demo": "import crowdrank.simulate as at; name = 'simulate'",
    "score": "import crowdrank.rankers.saved as at; name = 'load'",
    "export": "import crowdrank.rankers.saved as at; name = 'load'",
    "next": "import crowdrank.select.questions as at; name = 'next_questions'",
    "ask": "from crowdrank.select.campaign import Campaign as at; name = 'start'",
}
"""What is made slow in each command, so that a signal comes while it runs."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    make_world(folder)
    return folder


@pytest.fixture
def world(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "world", symlinks=True)


def test_every_command_has_its_rows():
    assert set(PRINTED) == set(COMMANDS)
    assert set(WRITTEN) == set(SLOW)
    assert all(PRINTED[name] or name in WRITTEN for name in COMMANDS)


def names_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def calls():
    return [(command, call) for command, own in PRINTED.items() for call in own]


@pytest.mark.parametrize(("command", "call"), calls())
def test_a_reader_that_leaves(world, command, call):
    line = shlex.join([*COMMAND, command, *shlex.split(call)])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} | head -c 1"], cwd=world, capture_output=True, check=False
    )  # fmt: skip
    assert (done.returncode, len(done.stdout)) == (0, 1), done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Broken pipe" not in done.stderr


@pytest.mark.parametrize(("command", "call"), calls())
def test_standard_output_on_a_full_disk(world, command, call):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, command, *shlex.split(call)], cwd=world, stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.endswith("crowdrank: standard output: cannot be written to (No space left on device).\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "call"), WRITTEN.items())
def test_files_on_a_full_disk(world, command, call):
    """A file may have 200 bytes. What was there stays, and nothing else is left but answers that are complete."""
    before = names_in(world)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    done = subprocess.run(
        [*COMMAND, command, *shlex.split(call)], cwd=world, capture_output=True, text=True, check=False,
        preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert re.search(r"crowdrank: --\w+ new\S*: cannot be written to \([A-Z][a-z ]+\)\.\n$", done.stderr)
    assert "Traceback" not in done.stderr
    assert names_in(world) - before == ({"new"} if command == "ask" else set())
    if command == "ask":
        assert (world / "new").read_text().endswith("\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("command", "call"), WRITTEN.items())
def test_signals(world, command, call, number):
    before = names_in(world)
    slow = (
        f"{SLOW[command]}\nimport os, time\n"
        "def slow(*given, **named):\n"
        "    os.write(1, b'now\\n')\n"
        "    time.sleep(60)\n"
        "setattr(at, name, slow)\n"
    )
    begun = subprocess.Popen(
        [sys.executable, "-c", slow + COMMAND[-1], command, *shlex.split(call)], cwd=world, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert begun.stdout.readline() == "now\n", begun.communicate(timeout=60)[1]
    begun.send_signal(number)
    err = begun.communicate(timeout=30)[1]
    word = "interrupted" if number == signal.SIGINT else "terminated"
    kept = "nothing was asked" if command == "ask" else "nothing was written"
    assert (begun.returncode, err) == (128 + number, f"crowdrank: {word}; {kept}.\n")
    assert names_in(world) == before
