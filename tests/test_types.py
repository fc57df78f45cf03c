"""Type checkers know the type of every public symbol."""

import subprocess
import sys

import pytest


@pytest.mark.long
def test_types_are_complete():
    pytest.importorskip("pyright", reason="`make types` installs it")
    words = ["--verifytypes", "crowdrank", "--ignoreexternal"]
    done = subprocess.run([sys.executable, "-m", "pyright", *words], capture_output=True, text=True, check=False)
    assert "Type completeness score: 100%" in done.stdout, done.stdout[-3000:]
