"""The cells of long tables: kept at once, found again, computed only once."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from crowdrank.reproduce.ledger import Ledger, canonical


def keys(count, method="m"):
    return [{"experiment": "tiny", "seed": seed, "method": method} for seed in range(count)]


class Counted:
    """Computes 10 times the seed, and counts how often."""

    def __init__(self):
        self.asked = []

    def __call__(self, key):
        self.asked.append(key["seed"])
        return {"value": 10 * key["seed"]}


def test_the_order_of_a_key_does_not_matter():
    assert canonical({"b": 1, "a": "x"}) == canonical({"a": "x", "b": 1}) == '{"a":"x","b":1}'


def test_only_missing_cells_are_computed(tmp_path):
    first, second = Counted(), Counted()
    Ledger("tiny", tmp_path).fill(keys(3), first)
    again = Ledger("tiny", tmp_path)
    again.fill(keys(5), second)
    assert first.asked == [0, 1, 2]
    assert second.asked == [3, 4]
    assert [again[key]["value"] for key in keys(5)] == [0, 10, 20, 30, 40]
    assert all(again.seconds(key) >= 0 for key in keys(5))
    assert len((tmp_path / "tiny.jsonl").read_text().splitlines()) == 5


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compute = Counted()
    ledger = Ledger("tiny")
    ledger.fill([*keys(2), *keys(2)], compute)
    assert compute.asked == [0, 1]
    assert ledger[keys(2)[1]] == {"value": 10}
    assert not list(tmp_path.iterdir())


def test_tables_in_one_folder_share_their_cells(tmp_path):
    Ledger("one", tmp_path).fill(keys(3), Counted())
    compute = Counted()
    Ledger("two", tmp_path).fill(keys(4), compute)
    assert compute.asked == [3]
    assert len((tmp_path / "two.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("cut", [1, 20, "all but the end of the line"])
def test_a_line_that_was_cut_is_ignored(tmp_path, cut):
    Ledger("tiny", tmp_path).fill(keys(3), Counted())
    file = tmp_path / "tiny.jsonl"
    whole = file.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    file.write_bytes(whole[: -len(last)] + (last[:-1] if isinstance(cut, str) else last[:cut]))
    compute = Counted()
    Ledger("tiny", tmp_path).fill(keys(4), compute)
    assert compute.asked == ([3] if isinstance(cut, str) else [2, 3])
    compute = Counted()
    Ledger("tiny", tmp_path).fill(keys(4), compute)
    assert compute.asked == []


def test_cells_of_another_version_are_computed_anew(tmp_path):
    Ledger("tiny", tmp_path).fill(keys(2), Counted())
    file = tmp_path / "tiny.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**line, "version": "0.0.0"}) + "\n" for line in lines))
    compute, ledger = Counted(), Ledger("tiny", tmp_path)
    ledger.fill(keys(1), compute)
    assert compute.asked == [0]
    assert ledger.outdated == 1


def test_progress_names_the_cell(tmp_path):
    said = []
    Ledger("tiny", tmp_path).fill(keys(1), Counted())
    Ledger("tiny", tmp_path, progress=said.append).fill(keys(3), Counted())
    assert said[0] == "tiny, cell 1 of 2: experiment tiny, seed 1, method m"
    assert len(said) == 2


SLOW = """
import sys, time
from pathlib import Path
from crowdrank.reproduce.ledger import Ledger

def compute(key):
    time.sleep(0.05)
    return {"value": 10 * key["seed"], "text": "x" * 100_000}

keys = [{"experiment": "tiny", "seed": seed, "method": "m"} for seed in range(1000)]
Ledger("tiny", Path(sys.argv[1])).fill(keys, compute)
"""


def test_a_killed_run_goes_on(tmp_path):
    running = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path)])
    file = tmp_path / "tiny.jsonl"
    until = time.monotonic() + 30
    while (not file.exists() or file.stat().st_size < 400_000) and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    done = file.read_text().count("\n")
    assert 3 <= done < 1000
    compute = Counted()
    ledger = Ledger("tiny", tmp_path)
    ledger.fill(keys(done + 3), compute)
    assert compute.asked == [done, done + 1, done + 2]
    assert [ledger[key]["value"] for key in keys(done + 3)] == [10 * seed for seed in range(done + 3)]
