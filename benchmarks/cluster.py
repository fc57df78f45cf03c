"""A long fit on a cluster: the scheduler's memory against the number of iterations.

The scheduler and two workers are processes of their own. Crowd-BT is fitted by rounds of EM alone, as
many as are asked for, and the scheduler's memory is read after every tenth of them.
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

VOTES, ITEMS, WORKERS = 200_000, 300, 1000


@contextmanager
def cluster(workers: int = 2):
    """A scheduler and its workers; the address, and the scheduler's process id."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port = own.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"

    def start(*words):
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    running = [start("scheduler", "--host", "127.0.0.1", "--port", str(port))]
    try:
        time.sleep(3)
        running += [start("worker", address, "--nthreads", "1") for _ in range(workers)]
        time.sleep(5)
        yield address, running[0].pid
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


def memory(process: int) -> float:
    """MB that a process holds now."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024


def main(iterations: int = 1000) -> None:
    """A row for every tenth of the iterations."""
    import crowdrank as cr
    from crowdrank.models.pairs import crowd_bt
    from crowdrank.simulate import bt_crowd

    crowd = bt_crowd(seed=0, items=ITEMS, workers=WORKERS, votes=VOTES, spammers=0.3)
    table = cr.read(crowd.judgments)
    with cluster() as (address, scheduler):
        engine = cr.DaskEngine(address)
        rounds, plain = 0, crowd_bt.until

        def until(step, start, *, tol, limit):
            def counted(params):
                nonlocal rounds
                rounds += 1
                if rounds % (iterations // 10) == 0:
                    print(f"{rounds:>10} {memory(scheduler):14.1f} {time.perf_counter() - began:9.1f}", flush=True)
                return step(params)[0], 1.0  # never close enough

            return plain(counted, start, tol=0.0, limit=iterations)

        crowd_bt.until = until
        try:
            print(f"crowd-bt, {VOTES} votes, {ITEMS} items, {WORKERS} workers, two Dask workers")
            print(f"iterations  scheduler, MB   seconds   (before: {memory(scheduler):.1f} MB)")
            began = time.perf_counter()
            there = cr.CrowdBT().fit(table, engine=engine)
        finally:
            crowd_bt.until = plain
            engine.close()
    here = cr.CrowdBT().fit(table)
    gap = abs(here.ranking_.score - there.ranking_.score).max()
    print(f"the scores differ from those of the usual local fit by at most {gap:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=1000)
    main(parser.parse_args().iterations)
