"""What tests of several commands share."""

import sys

import pytest

from crowdrank.simulate.presets import simulate
from helpers import random_votes

JUDGE = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    left, right = question["left"]["item"], question["right"]["item"]
    print("left" if int(left[1:]) > int(right[1:]) else "right", flush=True)
"""


@pytest.fixture(scope="session")
def judged_crowd():
    """Three annotators rank 12 queries; 4 further queries have features and gold."""
    return simulate("ltrma-h7", lists=12, test=4, documents=6)


@pytest.fixture
def judged(judged_crowd, tmp_path):
    for name in ("features", "judgments", "gold"):
        getattr(judged_crowd, name).write_csv(tmp_path / f"{name}.csv")
    return judged_crowd


@pytest.fixture
def run(crowdrank, tmp_path):
    """The exit code and the lines on stderr but for the last; after a mistake nothing is printed or written."""

    def run(*words):
        ran = crowdrank(*words)
        if ran.code:
            assert ran.out == ""
            assert not (tmp_path / "ranker").exists()
            return ran.code, ran.err.removeprefix("crowdrank: ").splitlines()
        *said, last = ran.err.splitlines()
        assert last.startswith("Trained ")
        assert last.endswith(" are in ranker")
        return ran.code, said

    return run


@pytest.fixture
def file(tmp_path):
    """120 votes of 4 workers on 8 items."""
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
    """The 8 items, with texts."""
    path = tmp_path / "items.csv"
    path.write_text("item,text\n" + "".join(f"i{code},text {code}\n" for code in range(8)))
    return path
