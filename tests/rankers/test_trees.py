"""Boosted trees: the same to the byte wherever they are trained, and a text that LightGBM would not survive."""

import copy
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from conftest import ROOT
from crowdrank.engine import LocalEngine, open_engine
from crowdrank.errors import FitError, UsageError
from crowdrank.prepared.documents import Documents
from crowdrank.rankers.objectives import LambdaRank, ListLikelihood, SquaredError, Targets
from crowdrank.rankers.scorers.base import RowDerivatives, RowScores, Task, Watch
from crowdrank.rankers.scorers.trees import Trees, TreesFunction, round_sums
from shards import small_shards

pytestmark = pytest.mark.lightgbm

LISTS, LENGTH, WIDTH = 150, 12, 4


def make_documents(seed=0, missing=0.1, lists=LISTS):
    """Labels rise with the first feature and with the distance of the second from 0; the others are noise."""
    rng = np.random.default_rng(seed)
    rows = lists * LENGTH
    values = rng.normal(size=(rows, WIDTH)).astype(np.float32)
    label = np.clip(np.round(values[:, 0] + 0.7 * values[:, 1] ** 2 + 0.3 * rng.normal(size=rows)), 0, 4)
    values[rng.random(values.shape) < missing] = np.nan
    weight = rng.uniform(0.5, 2.0, rows)
    return Documents(values, np.arange(0, rows + 1, LENGTH), label, weight, np.arange(rows))


def make_task(documents, objective=None, engine=None, threads=1, **other):
    objective = objective or ListLikelihood()
    with small_shards(200):
        shards = documents.shards(lambda *own: objective.plan(Targets(*own)))
    assert len(shards) > 2
    session = (engine or LocalEngine(threads)).open(shards)
    rows, width = documents.values.shape
    total = float(documents.weight.sum())
    given = {"values": documents.values, "threads": threads, **other}
    return Task(session, objective, rows, width, total, **given)


def train(documents=None, start=None, watch=None, task=None, **parameters):
    scorer = Trees(**{"rounds": 20, "learning_rate": 0.2, **parameters})
    return scorer.improve(task or make_task(documents or make_documents()), start, watch)


def make_watch(documents, objective=None, patience=5):
    """The objective itself on other lists, and all that it reported."""
    reported = []
    task = make_task(documents, objective)

    def measure(scores):
        return task.session.evaluate(RowDerivatives(task.objective), RowScores(scores)).value

    return Watch(documents.values, measure, lambda *own: reported.append(own), patience), reported


@pytest.mark.parametrize(
    "objective", [ListLikelihood(), ListLikelihood(k=3), LambdaRank(), SquaredError()], ids=repr
)
def test_trees_improve_each_objective(objective):
    documents, seen = make_documents(), []
    task = make_task(documents, objective, progress=lambda *own: seen.append(own))
    trained = train(task=task)
    scores = trained.function.scores(documents.values)
    found = task.session.evaluate(RowDerivatives(objective), RowScores(scores))
    assert trained.value == found.value
    assert [step for step, _, _ in seen] == list(range(1, 21))
    if not objective.positions:  # the places of an objective that has them change from round to round
        values = [value for _, value, _ in seen] + [found.value]
        assert np.all(np.diff(values) > 0)
    own = trained.function.importance()
    assert own[:2].min() > 10 * own[2:].max() >= 0
    assert trained.converged
    assert trained.iterations == 20
    assert not trained.notes


def test_one_leaf_step_by_hand():
    """One split of a feature with two values: the leaves are learning_rate * sum g / (sum h + penalty)."""
    values = np.tile(np.array([[0.0], [1.0]], np.float32), (10, 1))
    label, weight = np.tile([1.0, 3.0], 10), np.full(20, 0.75)
    documents = Documents(values, np.arange(0, 21, 2), label, weight, np.arange(20))
    objective = SquaredError()
    session = LocalEngine(1).open(documents.shards(lambda *own: objective.plan(Targets(*own))))
    task = Task(session, objective, 20, 1, 15.0, values)
    found = Trees(rounds=1, leaves=2, learning_rate=0.5, min_rows=1, penalty=2.0).improve(task).function
    leaf = 0.5 * (10 * 0.75 * 1.0) / (10 * 0.75 * (1 - 0.75 / 1.5) + 2.0)
    np.testing.assert_allclose(found.scores(values[:2]), [-leaf, leaf], rtol=1e-6)


@pytest.mark.parametrize("objective", [ListLikelihood(), LambdaRank()], ids=repr)
def test_threads_change_no_byte(objective, monkeypatch):
    monkeypatch.setattr("crowdrank.rankers.scorers.trees.SMALL", 0)
    documents = make_documents(lists=500)
    weight = 10.0 ** np.random.default_rng(5).uniform(-6, 3, len(documents.weight))  # sums of these must round
    documents = replace(documents, weight=weight)
    texts = {
        train(task=make_task(documents, objective, threads=threads), feature_share=0.5, rounds=5).function.text
        for threads in (1, 2)
    }
    assert len(texts) == 1


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_cluster_changes_no_byte():
    pytest.importorskip("distributed", reason="dask and distributed are not installed")
    documents = make_documents()
    with open_engine("dask") as engine:
        there = train(task=make_task(documents, engine=engine))
    assert there.function.text == train(documents).function.text


def test_sums_of_rounded_derivatives_are_exact():
    rng = np.random.default_rng(1)
    values = rng.normal(size=10_000) * 10.0 ** rng.uniform(-12, 3, 10_000)
    rounded = round_sums(values)
    assert np.abs(rounded - values).max() <= np.abs(values).max() * 2.0**-24
    forward = np.cumsum(rounded, dtype=np.float64)[-1]
    assert forward == np.cumsum(np.sort(rounded), dtype=np.float64)[-1]
    assert np.cumsum(values)[-1] != np.cumsum(np.sort(values))[-1]  # which plain sums are not
    assert round_sums(np.abs(values), least=1).min() > 0
    assert round_sums(np.zeros(3), least=1).tolist() == [1, 1, 1]


def test_scores_are_the_same_on_any_number_of_threads(monkeypatch):
    documents = make_documents(lists=2000)
    function = train(documents).function
    found = []
    for few, threads in ((1 << 30, 1), (1, 2), (1, 3)):
        monkeypatch.setattr("crowdrank.rankers.scorers.trees.FEW", few)
        monkeypatch.setattr("crowdrank.rankers.scorers.trees.available_threads", lambda own=threads: own)
        found.append(function.scores(documents.values))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(function.scores(documents.values[7:8]), found[0][7:8])


def test_it_survives_bytes_pickles_and_copies():
    documents = make_documents()
    function = train(documents).function
    scores = function.scores(documents.values)
    for other in (
        TreesFunction.from_bytes(function.to_bytes(), WIDTH),
        pickle.loads(pickle.dumps(function)),
        copy.deepcopy(function),
    ):
        np.testing.assert_array_equal(other.scores(documents.values), scores)
        assert other.to_bytes() == function.to_bytes()
    assert function.scores(documents.values[:0]).shape == (0,)


def test_a_broken_text_is_an_error_and_not_the_end_of_the_process():
    content = train(rounds=3).function.to_bytes()
    for cut in range(0, len(content), 97):
        with pytest.raises(ValueError, match="not complete"):
            TreesFunction.from_bytes(content[:cut], WIDTH)
    middle = len(content) // 2
    with pytest.raises(ValueError, match="not complete"):
        TreesFunction.from_bytes(content[:middle] + content[middle + 10 :], WIDTH)
    with pytest.raises(ValueError, match="trees of 4 features for 5"):
        TreesFunction.from_bytes(content, 5)
    with pytest.raises(ValueError, match="3 features for trees of 4"):
        TreesFunction.from_bytes(content, WIDTH).scores(np.zeros((2, 3), np.float32))


def test_validation_keeps_the_best_round():
    watch, reported = make_watch(make_documents(seed=1, lists=50), patience=4)
    documents = make_documents(lists=60)
    trained = train(documents, watch=watch, rounds=300, learning_rate=0.5, min_rows=2)
    values = [value for _, value in reported]
    best = int(np.argmax(values)) + 1
    assert [step for step, _ in reported] == list(range(1, best + 4 + 1))
    assert trained.converged
    assert trained.iterations == best + 4
    assert trained.function.booster.num_trees() == best
    assert watch.measure(trained.function.scores(watch.values)) == pytest.approx(max(values), rel=1e-12)


def test_too_few_rounds_are_said():
    watch, _ = make_watch(make_documents(seed=1, lists=50))
    trained = train(watch=watch, rounds=3)
    assert not trained.converged
    assert [note.code for note in trained.notes] == ["not-converged"]
    assert "rounds=6" in trained.notes[0].wording()


def test_a_warm_start_goes_on_where_it_stands():
    documents = make_documents()
    whole, half = train(documents, rounds=20), train(documents, rounds=10)
    again = train(documents, start=half.function, rounds=10)
    assert again.iterations == 10
    np.testing.assert_allclose(
        again.function.scores(documents.values), whole.function.scores(documents.values), rtol=1e-6, atol=1e-6
    )
    watch, _ = make_watch(make_documents(seed=1, lists=50), patience=3)
    watched = train(documents, start=half.function, rounds=200, watch=watch, learning_rate=0.5)
    assert half.function.booster.num_trees() < watched.function.booster.num_trees() < 10 + watched.iterations


@pytest.mark.parametrize("direction", [1, -1])
def test_monotone_trees(direction):
    documents = make_documents(missing=0)
    constrained = train(documents, monotone=(0, direction, 0, 0), rounds=40).function
    free = train(documents, rounds=40).function
    rng = np.random.default_rng(3)
    grid = np.linspace(-3, 3, 61, dtype=np.float32)

    def steps(function):
        rows = np.repeat(rng.normal(size=(50, WIDTH)).astype(np.float32), len(grid), axis=0)
        rows[:, 1] = np.tile(grid, 50)
        return direction * np.diff(function.scores(rows).reshape(50, -1), axis=1)

    assert steps(constrained).min() >= 0
    assert steps(constrained).max() > 0
    assert steps(free).min() < 0


def test_monotone_by_name():
    names = ["a", "b", "c", "d"]
    assert Trees(monotone={"c": -1, "a": 1}).by_position(names).monotone == (1, 0, -1, 0)
    assert Trees(monotone=(1, 0, 0, 0)).by_position(names).monotone == (1, 0, 0, 0)
    with pytest.raises(UsageError, match="a feature that does not exist: 'e'"):
        Trees(monotone={"e": 1}).by_position(names)
    for wrong in ({"a": 1}, (1, 0), (1, 0, 0, 2)):
        with pytest.raises(UsageError, match="-1, 0 or 1 for each of the 4 features"):
            train(monotone=wrong)


def test_sparse_features_give_the_same_trees():
    documents = make_documents(missing=0)
    dense = np.where(np.abs(documents.values) < 0.8, 0, documents.values).astype(np.float32)
    matrix = sparse.csr_array(dense)
    own = [
        Documents(values, documents.start, documents.label, documents.weight, documents.rows)
        for values in (dense, matrix)
    ]
    functions = [train(one).function for one in own]
    assert functions[0].text == functions[1].text
    np.testing.assert_array_equal(functions[0].scores(dense), functions[0].scores(matrix))


def test_missing_values_go_to_the_better_side():
    documents = make_documents(missing=0)
    values = documents.values.copy()
    values[documents.label > 2, 0] = np.nan  # missing says "very good"
    own = Documents(values, documents.start, documents.label, documents.weight, documents.rows)
    function = train(own).function
    rows = np.zeros((3, WIDTH), np.float32)
    rows[:, 0] = -2, 2, np.nan
    low, high, missing = function.scores(rows)
    assert low < high < missing


def test_features_that_do_not_fit_in_memory_are_an_error():
    with pytest.raises(UsageError, match=r"in memory[^\n]*\n.*scorer=linear"):
        train(task=make_task(make_documents(), values=None))


@pytest.mark.parametrize(
    "wrong",
    [{"rounds": 0}, {"leaves": 1}, {"learning_rate": 0}, {"min_rows": 0.5}, {"penalty": -1}, {"feature_share": 2}],
)
def test_wrong_parameters(wrong):
    name = next(iter(wrong))
    with pytest.raises(UsageError, match=f"The parameter '{name}' must be"):
        train(**wrong)


def test_features_that_do_not_vary_are_an_error():
    documents = make_documents()
    for constant in (np.zeros, lambda shape: np.full(shape, np.nan)):
        with pytest.raises(FitError, match="Every feature has the same value"):
            train(task=make_task(documents, values=constant(documents.values.shape)))
        with pytest.raises(FitError, match="Every feature has the same value"):
            train(task=make_task(documents, values=sparse.csr_array(constant(documents.values.shape))))


def test_nothing_to_split_is_said():
    documents = make_documents()
    trained = train(documents, min_rows=documents.values.shape[0])
    assert [note.code for note in trained.notes] == ["no-splits"]
    assert np.ptp(trained.function.scores(documents.values)) == 0
    assert trained.iterations < 20


def test_lightgbm_says_nothing_and_its_logger_stays(capfd):
    from lightgbm import basic

    before = basic._LOGGER
    documents = make_documents()
    watch, _ = make_watch(make_documents(seed=1, lists=50), patience=2)
    function = train(documents, watch=watch).function
    function.scores(documents.values)
    train(documents, start=function, min_rows=documents.values.shape[0])
    assert basic._LOGGER is before
    assert capfd.readouterr() == ("", "")


SCRIPT = """
from crowdrank.errors import CrowdrankError
from crowdrank.rankers.scorers.trees import load_lightgbm
try:
    load_lightgbm()
except CrowdrankError as error:
    print(error)
"""


def load_with(folder):
    """What ``load_lightgbm`` says in a process that finds this folder first."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "src")])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="a Linux library is changed")
def test_a_machine_without_libgomp(tmp_path):
    """A copy of LightGBM whose library asks the system's loader for a libgomp that does not exist."""
    package = Path(find_spec("lightgbm").origin).parent
    shutil.copytree(package, tmp_path / "lightgbm", ignore=shutil.ignore_patterns("__pycache__"))
    library = next((tmp_path / "lightgbm").rglob("lib_lightgbm.so"))
    content = library.read_bytes()
    assert b"libgomp.so.1" in content
    library.write_bytes(content.replace(b"libgomp.so.1", b"libgomp.so.9"))
    said = load_with(tmp_path)
    assert "installed, but it cannot be loaded: libgomp.so.9: cannot open shared object file" in said
    assert "apt-get install libgomp1" in said


def test_a_machine_without_lightgbm(tmp_path):
    (tmp_path / "lightgbm.py").write_text("raise ModuleNotFoundError('No module named lightgbm')")
    said = load_with(tmp_path)
    assert "needs the package lightgbm" in said
    assert "pip install 'crowdrank[rankers]'" in said
