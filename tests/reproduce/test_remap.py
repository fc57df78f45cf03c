"""Remap's tables and figures on tiny crowds, and the tables' arithmetic."""

import numpy as np
import pytest

from crowdrank.reproduce import TARGETS, remap, remap_figures, remap_labels, remap_moved
from crowdrank.reproduce.ledger import Ledger
from crowdrank.reproduce.remap_targets import REMAP_TARGETS

pytestmark = pytest.mark.lightgbm
TINY = {
    "source": 30, "target": 8, "validation": 8, "test": 12, "documents": 6, "features": 20, "workers": 12,
    "honeypots": 5,
}  # fmt: skip


@pytest.fixture(scope="module")
def ledger():
    return Ledger("remap", None)


def test_table4_has_every_method_with_every_learner(ledger):
    table = remap.table4(1, None, ledger=ledger, crowd="heur40", options=TINY)
    rows = {row[:2]: row for row in table.rows}
    learners = ("ridge", "regression", "lambdamart")
    for labels in (
        "remap",
        "majority",
        "average",
        "soft dawid-skene",
        "naive bayes",
        "target alone",
        "oracle",
        "rw",
    ):
        assert all((labels, learner) in rows for learner in learners), labels
    assert ("placebo", "ridge") in rows
    assert ("reweighting by deviations", "lambdamart") in rows
    means = [row[4] for row in table.rows]
    assert means == sorted(means, reverse=True)
    assert rows["majority", "regression"][6] == "+0.0 %"
    assert rows["dawid-skene", "lambdamart"][7] == "+5.32 %"
    full = rows["remap", "chosen"]
    assert full[8] == 0.0
    other = rows["average", "ridge"]
    assert other[8] == pytest.approx(full[4] - other[4])
    assert sum("naive bayes" in own.lower() for own in table.remarks) >= 1


def test_figures_2_and_3(ledger):
    for figure, levels in ((2, ["0", "1", "2", "3"]), (3, ["0", "0.5", "0.75", "1"])):
        options = {name: TINY[name] for name in ("source", "test", "documents", "features")}
        table = remap_figures.figure_learned(
            1, None, ledger=ledger, figure=figure, options={**options, "target": 10}
        )
        assert [row[0] for row in table.rows] == levels
        assert all(0 <= row[1] <= 1 for row in table.rows)


@pytest.mark.long
def test_trees_additions_and_groups(ledger):
    table = remap_figures.figure4(1, None, ledger=ledger, crowds=("real",), trees=(0, 10), options=TINY)
    assert [row[:2] for row in table.rows] == [("real", 0), ("real", 10)]
    table = remap_figures.additions(1, None, ledger=ledger, crowds=("real",), options=TINY)
    assert [row[1] for row in table.rows] == list(remap_figures.FORMS)
    found = [row[2] for row in table.rows]
    np.testing.assert_allclose(table.rows[2][4], found[2] - found[1])
    table = remap.table5(1, None, ledger=ledger, options=TINY)
    assert [row[:2] for row in table.rows] == [(name, own) for name in remap.GROUPS for own in remap.METHODS]
    assert table.rows[-1][5] == "+5.97 %"


def test_transfer(ledger):
    table = remap_moved.transfer(1, None, ledger=ledger, crowds=("heur40",), options=TINY)
    labels = {row[1] for row in table.rows}
    assert {"P of another source", "remap", "average", "oracle" if "oracle" in labels else "placebo"} <= labels


@pytest.mark.long
def test_on_mq2008(ledger, real):
    few = {"workers": 20, "source": 60, "target": 10, "validation": 10, "test": 20, "honeypots": 5}
    seen = {}

    def make(seeds, data, *, ledger, options):
        seen.update(options)
        return remap_figures.additions(1, data, ledger=ledger, crowds=("real",), options={**options, **few})

    table = remap_moved.on_mq2008(make, 1, real, ledger=ledger)
    assert "MQ2008" in table.title
    assert seen["workers"] == 80
    assert all(np.isfinite(row[2]) for row in table.rows)


def test_real_labels(real):
    table = remap_labels.real_labels(1, real)
    found = {row[:3]: row[3] for row in table.rows}
    assert found["websearch5", "consensus, accuracy", "dawid-skene"] > 0.8
    assert found["trec2010", "label feature, AUC", "ds_correct"] > 0.65


def test_targets_are_registered():
    assert {target.name for target in REMAP_TARGETS} <= set(TARGETS)
