"""The threads that a process may use: by its affinity, its control groups and the environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from crowdrank.engine import LocalEngine, available_threads, one_blas_thread, thread_pool
from crowdrank.engine.threads import MOST_THREADS, blas_threads, cpu_quotas, engine_threads
from crowdrank.solve.matrices import MANY_ROWS, _blas_threads

FOUND = """
import json, polars
from threadpoolctl import threadpool_info
from crowdrank.engine import LocalEngine, available_threads, one_blas_thread
from crowdrank.solve.matrices import MANY_ROWS, _blas_threads

def blas():
    return sorted({own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"})

with one_blas_thread(), _blas_threads(MANY_ROWS):
    inside = blas()
print(json.dumps([available_threads(), LocalEngine().threads, inside, polars.thread_pool_size()]))
"""

needs_two = pytest.mark.skipif(available_threads() < 2, reason="one CPU: nothing can be more than 1")


def found(*before, **environ):
    """What a process of its own finds: available, of the engine, of BLAS within a large solve, of Polars."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_THREADS")}
    command = [*before, sys.executable, "-c", FOUND]
    done = subprocess.run(command, env=kept | environ, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def write(root, files):
    """Files below a root, by their paths."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def blas():
    from threadpoolctl import threadpool_info

    return {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}


class TestProcess:
    @pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset (util-linux)")
    def test_one_cpu_is_one_thread_everywhere(self):
        cpu = min(os.sched_getaffinity(0))
        assert found("taskset", "-c", str(cpu)) == [1, 1, [1], 1]

    @needs_two
    @pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"])
    def test_the_environment_holds_blas_back_and_not_the_engine(self, name):
        available, engine, inside, _ = found(**{name: "1"})
        assert inside == [1]
        assert available == available_threads()
        assert engine == min(MOST_THREADS, available)

    @needs_two
    def test_a_large_solve_has_all_threads(self):
        with one_blas_thread():
            with _blas_threads(MANY_ROWS):
                assert blas() == {blas_threads()}
            with _blas_threads(MANY_ROWS - 1):
                assert blas() == {1}

    def test_a_thread_of_a_pool_leaves_blas_alone(self):
        def inside():
            with _blas_threads(MANY_ROWS):
                return blas()

        with one_blas_thread(), thread_pool(2) as pool:
            assert pool.submit(inside).result() == {1}

    def test_an_engine_takes_what_it_is_given(self):
        assert LocalEngine(3).threads == 3
        assert LocalEngine().threads == engine_threads()


class TestEnvironment:
    @pytest.mark.parametrize("text", ["", "0", "-1", "many", "1000000"])
    def test_what_is_no_limit(self, text):
        assert blas_threads({"OMP_NUM_THREADS": text}) == available_threads()

    @needs_two
    def test_the_smallest_counts_and_of_a_list_the_first(self):
        assert blas_threads({"OMP_NUM_THREADS": "64", "MKL_NUM_THREADS": "1,4"}) == 1


class TestControlGroups:
    @pytest.mark.parametrize(
        ("own", "quotas"),
        [("150000 100000", [1.5]), ("max 100000", []), ("20000 100000\n", [0.2]), ("nonsense", [])],
    )
    def test_version_2(self, tmp_path, own, quotas):
        root = write(tmp_path, {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": own})
        assert list(cpu_quotas(root)) == quotas

    def test_parents_count_too(self, tmp_path):
        files = {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "400000 100000"}
        root = write(tmp_path, files | {"sys/fs/cgroup/a/cpu.max": "50000 100000"})
        assert list(cpu_quotas(root)) == [4.0, 0.5]
        assert available_threads(root) == 1

    @pytest.mark.parametrize("path", ["/", "/docker/of-the-host", "/../../above"])
    def test_the_mount_itself_is_the_group_of_a_container(self, tmp_path, path):
        files = {"proc/self/cgroup": f"0::{path}\n", "sys/fs/cgroup/cpu.max": "100000 100000"}
        assert list(cpu_quotas(write(tmp_path, files))) == [1.0]

    @pytest.mark.parametrize("mount", ["cpu", "cpu,cpuacct"])
    @pytest.mark.parametrize(("quota", "quotas"), [("250000", [2.5]), ("-1", [])])
    def test_version_1(self, tmp_path, mount, quota, quotas):
        lines = "5:memory:/elsewhere\n4:cpu,cpuacct:/jobs:one\n1:name=systemd:/\n0::/\n"
        files = {
            "proc/self/cgroup": lines,
            f"sys/fs/cgroup/{mount}/jobs:one/cpu.cfs_quota_us": quota,
            f"sys/fs/cgroup/{mount}/jobs:one/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/elsewhere/cpu.cfs_quota_us": "1",
            "sys/fs/cgroup/memory/elsewhere/cpu.cfs_period_us": "1",
        }
        assert list(cpu_quotas(write(tmp_path, files))) == quotas

    @needs_two
    def test_a_quota_is_rounded_up_and_no_more_than_the_affinity(self, tmp_path):
        root = write(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "110000 100000"})
        assert available_threads(root) == 2
        write(root, {"sys/fs/cgroup/cpu.max": "100000000 100000"})
        assert available_threads(root) == len(os.sched_getaffinity(0))

    def test_no_control_groups_at_all(self, tmp_path):
        assert list(cpu_quotas(tmp_path)) == []
        assert available_threads(tmp_path) >= 1
