"""A short run of the fuzzers: whatever is drawn, only errors of the project come out."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fuzz import fits, invariances, readers
from benchmarks.fuzz.checks import inspect_case
from benchmarks.fuzz.watch import run_watched


@pytest.mark.parametrize("task", readers.READERS)
def test_drawn_files_and_frames_are_read_or_refused(task, tmp_path):
    make = readers.maker(task)
    ended = [inspect_case(make(7, number, tmp_path)) for number in range(25)]
    assert [one for one in ended if one[0] == "finding"] == []
    assert {"answered", "refused"} == {one[0] for one in ended}


@pytest.mark.parametrize(("make", "count"), [(fits.make_fit, 25), (invariances.make_pair, 10)])
def test_drawn_fits(make, count, tmp_path):
    ended = [inspect_case(make(7, number, tmp_path), most_seconds=60) for number in range(count)]
    assert [one for one in ended if one[0] == "finding"] == []
    assert "answered" in {one[0] for one in ended}


@pytest.mark.parametrize(
    ("task", "kind"), [("broken-raised", "ZeroDivisionError"), ("broken-aborted", "the process ended (-6)")]
)
def test_a_finding_is_found(task, kind):
    """A task that breaks on its fourth input: an error that is not the project's, or the end of the process."""
    found = run_watched(task, 0, 0, 6)
    assert [(one.number, one.kind.split(" at ")[0]) for one in found.findings] == [(3, kind)]
    assert f"python -m benchmarks.fuzz {task} --seed 0 --first 3 --count 1" in str(found.findings[0])
    assert found.counts["finding"] == 1
