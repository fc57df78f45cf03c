"""A real cluster of processes on this machine: the same results to the bit, whatever happens to a worker."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import crowdrank as cr
from answers import same
from cases import cases_of, of_votes, single_models
from conftest import ROOT
from crowdrank.engine import LocalEngine, open_engine
from crowdrank.engine import dask as dask_engine
from crowdrank.errors import CrowdrankError, UsageError
from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs import em_elo
from crowdrank.models.pairs.likelihood import PairedSums
from crowdrank.models.registry import find
from crowdrank.prepared.votes import Votes
from crowdrank.rankers.registry import make_ranker
from crowdrank.solve import At
from helpers import random_votes
from rankers.made import judged_frames, labeled_frame, scores_by_id
from shards import small_shards
from sums import COUNTING, PLAIN, SHARDS, Scale, Shard

versions = pytest.importorskip("distributed.versions", reason="dask and distributed are not installed")

# of distributed's own sockets at the end
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def engine():
    with open_engine("dask") as started:
        yield started


@pytest.fixture
def own_engine():
    """A cluster that the test may hurt."""
    started = cr.DaskEngine(workers=2)
    yield started
    started.close()


def test_the_verbs_of_a_session(engine):
    session = engine.open(SHARDS, start=COUNTING.start, seed=7)
    found = session.evaluate(COUNTING.counted, Scale(2.0))
    assert found.total == 2 * (1 + 2 + 3 + 4 + 5 + 6)
    assert found.values.tolist() == [1, 2, 3, 4, 5, 6]
    assert session.collect(COUNTING.first, None) == [1, 3, 4]
    assert session.evaluate(COUNTING.counted, Scale(1.0)).state == 3 * 7
    assert session.advance(COUNTING.advance, Scale(1.0)).state == 3 * 7
    assert session.evaluate(COUNTING.counted, Scale(1.0)).state == 3 * 8


def test_more_workers_than_shards(engine):
    assert engine.open(SHARDS[:1]).evaluate(PLAIN.total, Scale(1.0)).total == 3


def test_workers_keep_their_memory(engine):
    for name, size in dask_engine.ALLOCATOR.items():
        assert set(engine.client.run(os.environ.get, name).values()) == {str(size)}


@pytest.mark.parametrize("count", [1, 2, 7, 37])
def test_sums_equal_the_local_ones_to_the_bit(engine, count):
    rng = np.random.default_rng(count)
    shards = [Shard(rng.normal(size=1000)) for _ in range(count)]
    there, here = (place.open(shards) for place in (engine, LocalEngine()))
    for scale in (1.0, 1 / 3):
        assert there.evaluate(PLAIN.total, Scale(scale)).total == here.evaluate(PLAIN.total, Scale(scale)).total


@pytest.mark.parametrize(
    ("entry", "memory"),
    [
        pytest.param(entry, memory, id=f"{entry.name}-{where}", marks=marks)
        for entry in single_models()
        for memory, where, marks in (
            (
                None,
                "in memory",
                pytest.mark.long if entry.preset else (),
            ),  # a preset is a model with other settings
            (0, "on disk", pytest.mark.long),
        )
        if memory is None or of_votes(entry)  # only votes are kept on disk
    ],
)
def test_every_model_gives_the_local_result_to_the_bit(engine, entry, memory, monkeypatch):
    check_to_the_bit(engine, entry, memory, monkeypatch)


def test_votes_on_disk_give_the_local_result_to_the_bit(engine, monkeypatch):
    for name in ("bt", "crowd-bt"):
        check_to_the_bit(engine, find(name), 0, monkeypatch)


def check_to_the_bit(engine, entry, memory, monkeypatch):
    monkeypatch.setattr(em_elo, "ROUNDS", 20)  # a round is a trip to the cluster, and this model takes hundreds
    frame = cases_of(entry)[-1].frame
    with small_shards(50):
        here, there = entry.make().fit(frame), entry.make().fit(cr.read(frame, memory=memory), engine=engine)
    assert there.fit_.engine == "dask"
    same(here, there, tolerance=0)


@pytest.mark.long
def test_chains_of_a_sampler_stay_with_their_shards(engine):
    frame = random_votes(seed=11, queries=3)
    with small_shards(50):
        here, there = (cr.TPP(domains=2, inference="gibbs").fit(frame, engine=place) for place in (None, engine))
    same(here, there, tolerance=0)


def test_a_worker_killed_in_the_middle_costs_time_not_the_result(own_engine):
    frame, killed = random_votes(seed=2, votes=900), []

    def kill(iteration, objective, slope):
        if iteration == 3 and not killed:
            killed.append(min(own_engine.client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    with small_shards(50):
        there = cr.CrowdBT().fit(frame, engine=own_engine, progress=kill)
        here = cr.CrowdBT().fit(frame)
    assert killed
    same(here, there, tolerance=0)
    assert killed[0] not in own_engine.client.run(os.getpid).values()


def test_states_survive_a_killed_worker(own_engine):
    """The chain of states is made again from the last checkpoint."""
    session = own_engine.open(SHARDS, start=COUNTING.start, checkpoint_every=4)
    for step in range(15):
        if step == 6:
            os.kill(min(own_engine.client.run(os.getpid).values()), signal.SIGKILL)
        assert session.advance(COUNTING.advance, Scale(1.0)).state == 3 * step
    assert session.collect(COUNTING.state, None) == [15, 15, 15]


def test_the_scheduler_forgets_what_is_done(engine):
    """Iterations with states: no more tasks are remembered at the end than early on."""
    scheduler = engine._cluster.scheduler
    session = engine.open(SHARDS, start=COUNTING.start)
    most = 0
    for step in range(110):
        session.advance(COUNTING.advance, Scale(1.0))
        if step == 40:
            most = len(scheduler.tasks) + 60  # a chain between two checkpoints, and what is on its way out
        if step > 40:
            assert len(scheduler.tasks) <= most
    assert session.evaluate(COUNTING.counted, Scale(1.0)).state == 3 * 110


def test_other_versions_on_the_workers_are_named(monkeypatch):
    real = versions._version_cached  # as it is in the processes of the workers

    def other(package):
        return "0.0.7" if package == "crowdrank" else real(package)

    monkeypatch.setattr(versions, "_version_cached", other)
    with pytest.raises(CrowdrankError, match=r"The worker tcp://.* has crowdrank .*, but here it is 0.0.7"):
        cr.DaskEngine(workers=1)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "tcp://nowhere", "tcp://nowhere.invalid:8786", "http://"]
)
def test_nobody_at_the_address(address, crowdrank, tmp_path):
    random_votes().write_csv(tmp_path / "votes.csv")
    done = crowdrank("rank", "votes.csv", "--engine", address)
    assert done.code == 2
    assert "no Dask scheduler" in done.err
    assert "Traceback" not in done.err


def test_shards_are_sent_once(engine):
    first, second = (engine.open(SHARDS) for _ in range(2))
    assert first.blocks is second.blocks


def test_large_parameters_are_sent_once(engine, monkeypatch):
    monkeypatch.setattr(dask_engine, "CHUNK_BYTES", 8)
    session = engine.open(SHARDS)
    assert session.evaluate(PLAIN.total, Scale(2.0, np.zeros(100))).total == 42


@pytest.mark.parametrize("lost", ["workers", "scheduler"])
def test_a_cluster_that_is_gone_ends_the_fit(lost, monkeypatch, tmp_path):
    monkeypatch.setattr(dask_engine, "PATIENCE", 2.0)
    monkeypatch.setattr(dask_engine, "_LOOK", 0.5)
    address, processes = f"tcp://127.0.0.1:{_free_port()}", []
    try:
        port = address.rpartition(":")[2]
        processes.append(_dask("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"))
        processes.append(_dask("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"))
        for _ in range(60):
            try:
                away = cr.DaskEngine(address)
                break
            except CrowdrankError:
                time.sleep(0.5)
        session = away.open(SHARDS)
        assert session.evaluate(PLAIN.total, Scale(1.0)).total == 21
        processes[0 if lost == "scheduler" else 1].kill()
        with pytest.raises(CrowdrankError, match="cluster is gone"):
            [session.evaluate(PLAIN.total, Scale(1.0)) for _ in range(3)]
        away.close()
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_without_the_packages(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"crowdrank\[cluster\]"):
        cr.DaskEngine()


def test_files_that_the_workers_cannot_read(engine, tmp_path):
    table = cr.read(random_votes(), memory=0, spool=tmp_path)
    shards = Votes(table).count_votes("worker").shards
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    at = At(np.zeros(12), np.ones((8, 1)))
    with pytest.raises(CrowdrankError, match=r"cannot read .*\n.*spool=DIR"):
        engine.open(shards).evaluate(PairedSums(LOGISTIC).gradient, at)


def test_the_command_on_a_cluster_of_its_own_and_on_one_that_is_there(crowdrank, crowdrank_process, tmp_path):
    random_votes().write_csv(tmp_path / "votes.csv")
    words = ("rank", "votes.csv", "--model", "crowd-bt")
    address, processes = f"tcp://127.0.0.1:{_free_port()}", []
    try:
        port = address.rpartition(":")[2]
        processes.append(_dask("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"))
        processes += [_dask("worker", address, "--nthreads", "1", "--no-dashboard") for _ in range(2)]
        here = crowdrank(*words)
        assert crowdrank_process(*words, "--engine", "dask").out == here.out
        for _ in range(60):
            there = crowdrank(*words, "--engine", address, "--memory", "0")
            if there.code == 0:
                break
            time.sleep(0.5)  # the workers are still on their way
        assert there.out == here.out
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def _dask(*words):
    command = [sys.executable, "-m", "dask", *words]
    # the code under test, and the sums of these tests
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / place) for place in ("src", "tests"))}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def _free_port():
    import socket

    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


@pytest.mark.parametrize("scorer", ["linear", "trees", "net"])
def test_rankers_are_trained_to_the_bit(engine, scorer):
    settings = {"linear": {}, "trees": {"rounds": 5, "min_rows": 5}, "net": {"hidden": [4, 2], "limit": 5}}[scorer]
    frame = labeled_frame(seed=3)
    with small_shards(60):
        rankers = [
            make_ranker("listmle", scorer, settings).fit(frame, engine=own) for own in (cr.LocalEngine(2), engine)
        ]
    here, there = (scores_by_id(ranker, frame) for ranker in rankers)
    assert (here == there).all()


def test_rankers_learn_from_a_crowd_to_the_bit(engine):
    frame, kinds = judged_frames(seed=3)
    with small_shards(32 * 12):
        here, there = (
            make_ranker("ltrma-mle", "linear", {"iterations": 6}).fit(frame, kinds["full"], engine=own)
            for own in (cr.LocalEngine(2), engine)
        )
    assert (scores_by_id(here, frame) == scores_by_id(there, frame)).all()
    assert here.workers_.polars().equals(there.workers_.polars())
    assert here.orders_.polars().equals(there.orders_.polars())
    assert here.fit_.log_likelihood == there.fit_.log_likelihood
