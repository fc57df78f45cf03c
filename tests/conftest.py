"""Shared by all tests: where the real data is, and how a user runs the command."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

from crowdrank.cli import main
from helpers import random_votes

ROOT = Path(__file__).parent.parent
settings.register_profile("steady", deadline=None)  # a busy machine is no failure
settings.load_profile("steady")

DATA = Path(os.environ.get("CROWDRANK_DATA", ROOT.parent / "shared" / "data"))


TOGETHER = ("engine/test_dask.py", "report/test_browser_", "compare/test_auto.py")
"""Parts of the names of files whose tests share a cluster, pages in a browser, or fits."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests that share something run in one process: those of the files above, and those that name the same model.

    By the names of the tests and not by marks, since pytest 9.2 does not let xdist see its ``xdist_group``.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file, model = nodeid.partition("::")[0], re.search(r"model=[\w-]+", nodeid)
            shared = next((name for name in TOGETHER if name in file), None)
            return shared or (model[0] if model else nodeid)

    return Together(config, log)


def pytest_collection_modifyitems(items):
    """Tests of trees skip if LightGBM cannot be loaded; it needs a library of the system."""
    wanting = [item for item in items if "trees" in item.nodeid or item.get_closest_marker("lightgbm")]
    if wanting and (problem := lightgbm_problem()):
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason=problem))


@cache
def lightgbm_problem():
    """Why LightGBM cannot be loaded; None if it can."""
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        return "lightgbm is not installed"
    except OSError as error:
        return f"LightGBM cannot be loaded (Debian: apt-get install libgomp1): {error}"
    return None


@pytest.fixture
def real():
    """The folder of real data sets; the test skips where it is not there."""
    if not DATA.exists():
        pytest.skip(f"the real data is not at {DATA}; set CROWDRANK_DATA")
    return DATA


@pytest.fixture
def votes():
    return random_votes()


class Ran(NamedTuple):
    """A finished command."""

    code: int
    out: str | bytes
    err: str | bytes


@pytest.fixture
def crowdrank(tmp_path, monkeypatch):
    """Run the command in this process, in an empty folder, as ``crowdrank_process`` does in one of its own.

    ``stdin``: what standard input holds; False if it is closed.
    """

    def run(*words, stdin=None, text=True, env=None, cwd=tmp_path):
        given = stdin.encode() if isinstance(stdin, str) else stdin or b""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with monkeypatch.context() as patch, same_signals():
            patch.chdir(cwd)
            patch.setattr(sys, "argv", ["crowdrank", *map(str, words)])
            read = io.TextIOWrapper(io.BufferedReader(io.BytesIO(given)), encoding="utf-8")
            patch.setattr(sys, "stdin", None if stdin is False else read)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        return Ran(ended.value.code or 0, *(written(stream, text) for stream in (out, err)))

    return run


@contextmanager
def same_signals():
    """What the command does about signals ends with it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    hook = sys.unraisablehook
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def written(stream, text):
    stream.flush()
    content = stream.buffer.getvalue()
    return content.decode() if text else content


COMMAND = [sys.executable, "-c", "from crowdrank.cli import main; main()"]


@pytest.fixture
def crowdrank_process(tmp_path):
    """Run the command as a user does, in a process of its own, in an empty folder."""

    def run(*words, cwd=tmp_path):
        done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
