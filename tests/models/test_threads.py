"""The same bits whether the libraries were loaded before the fit or by it."""

import subprocess
import sys

from helpers import random_votes

CODE = """
import hashlib
{first}
import crowdrank as cr
table = cr.read("votes.csv")
print(*(hashlib.md5(cr.CrowdBT().fit(table).ranking_.polars().write_csv().encode()).hexdigest() for _ in range(2)))
"""


def test_the_first_fit_of_a_process_is_like_all_others(tmp_path):
    random_votes(seed=1, items=300, workers=60, votes=20_000).write_csv(tmp_path / "votes.csv")
    found = set()
    for first in ("", "import scipy.linalg"):
        command = [sys.executable, "-c", CODE.format(first=first)]
        found |= set(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout.split())
    assert len(found) == 1
