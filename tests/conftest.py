"""Shared by all tests: where the real data is, and how a user runs the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from helpers import random_votes

ROOT = Path(__file__).parent.parent
settings.register_profile("steady", deadline=None)  # a busy machine is no failure
settings.load_profile("steady")

DATA = Path(os.environ.get("CROWDRANK_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture
def real():
    """The folder of real data sets; the test skips where it is not there."""
    if not DATA.exists():
        pytest.skip(f"the real data is not at {DATA}; set CROWDRANK_DATA")
    return DATA


@pytest.fixture
def votes():
    return random_votes()


class Ran:
    """A finished command."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


@pytest.fixture
def crowdrank(tmp_path):
    """Run the command as a user does, in a process of its own, in an empty folder."""

    def run(*words, stdin=None, text=True, env=None, cwd=tmp_path):
        command = [sys.executable, "-c", "from crowdrank.cli import main; main()", *map(str, words)]
        environment = {**os.environ, **(env or {})}
        return Ran(
            subprocess.run(
                command, input=stdin, capture_output=True, text=text, cwd=cwd, env=environment, check=False
            )
        )

    return run
