"""The label features of table 1, by hand on a crowd of three workers."""

import numpy as np
import polars as pl
import pytest

from crowdrank.data import Scored, read
from crowdrank.engine import LocalEngine
from crowdrank.errors import InputError, UsageError
from crowdrank.rankers.remap.consensus import EXTRA, Consensus
from crowdrank.rankers.remap.label_columns import read_label_columns
from crowdrank.rankers.remap.label_features import choose_names, cross, raw_features
from crowdrank.rankers.remap.samples import read_labels

ROWS = [
    ("q", "a", "u", 1), ("q", "a", "v", 1), ("q", "a", "w", 0), ("q", "b", "u", 0), ("q", "b", "v", 0),
    ("q", "b", "w", 1), ("q", "c", "u", 1), ("q", "c", "v", 0), ("q", "h", "u", 1), ("q", "h", "v", 0),
    ("q", "i", "u", 0), ("q", "i", "v", 0),
]  # fmt: skip
HONEYPOTS = pl.DataFrame({"query": ["q", "q"], "item": ["h", "i"], "value": [1.0, 0.0]})


def made(rows=ROWS, honeypots=HONEYPOTS):
    frame = pl.DataFrame(rows, schema=["query", "item", "worker", "label"], orient="row")
    labels = read_labels([read(frame)], None if honeypots is None else Scored(honeypots))
    return labels, Consensus(labels, LocalEngine(1))


@pytest.fixture(scope="module")
def binary():
    labels, consensus = made()
    return labels, consensus, raw_features(labels, consensus, labels.samples, "posterior")


def test_two_labels_give_29_label_features(binary):
    labels, _, raw = binary
    names, values = cross(raw, labels, labels.samples, list(raw.columns))
    assert len(raw.columns) == 15
    assert values.shape == (8, 29)
    assert names[0] == "label"
    assert set(raw.group.values()) == {"basic", "ds", "glad"}
    said = labels.samples["label"].to_numpy()
    for place, name in enumerate(names[1:], 1):
        own, _, value = name.partition("|")
        np.testing.assert_array_equal(values[:, place], raw.columns[own] * (said == float(value)))


def test_three_labels_are_crossed_with_each():
    rows = [(*row[:3], row[3] + (row[1] == "a")) for row in ROWS]
    labels, consensus = made(rows, None)
    raw = raw_features(labels, consensus, labels.samples, "posterior")
    # 9 confusions, 1 ability, 2 correct, 3 + 3 probabilities, 1 count, 3 shares, each with 3 labels, and the label
    assert len(cross(raw, labels, labels.samples, list(raw.columns))[0]) == 1 + 3 * 22
    np.testing.assert_allclose(raw.columns["label"], labels.samples["label"] / 2)


def test_honeypots_are_no_samples_but_count_for_the_worker(binary):
    labels, _, raw = binary
    samples = labels.samples
    assert set(samples["item"]) == {"a", "b", "c"}
    by_worker = dict(zip(samples["worker"], raw.columns["honeypots_right"], strict=True))
    # w saw no honeypot, and takes the share of all: 3 of 4
    assert by_worker == {"u": 1.0, "v": 0.5, "w": 0.75}
    counts = dict(zip(samples["worker"], np.exp(raw.columns["log_labels"]), strict=True))
    assert counts == pytest.approx({"u": 5, "v": 5, "w": 2})
    zeros = dict(zip(samples["worker"], raw.columns["share_0"], strict=True))
    assert zeros == pytest.approx({"u": 2 / 5, "v": 4 / 5, "w": 1 / 2})
    assert {note.code for note in labels.notes} >= {"honeypots"}


def test_probabilities_are_those_of_the_models(binary):
    labels, consensus, raw = binary
    samples, said = labels.samples, labels.samples["label"].to_numpy().astype(int)
    model = consensus.dawid_skene
    table = {row["item"]: (row["p_0"], row["p_1"]) for row in model.labels_.polars().to_dicts()}
    posterior = np.array([table[item] for item in samples["item"]])
    np.testing.assert_allclose(raw.columns["ds_says_1"], posterior[:, 1])
    np.testing.assert_allclose(raw.columns["ds_correct"], posterior[np.arange(8), said])
    confusion = {
        (row["worker"], row["true"], row["said"]): row["probability"]
        for row in model.confusion_.polars().to_dicts()
    }
    np.testing.assert_allclose(
        raw.columns["ds_confusion_0_1"], [confusion[worker, 0.0, 1.0] for worker in samples["worker"]]
    )
    predictive = raw_features(labels, consensus, samples, "predictive")
    wanted = [
        p[0] * confusion[worker, 0.0, 1.0] + p[1] * confusion[worker, 1.0, 1.0]
        for p, worker in zip(posterior, samples["worker"], strict=True)
    ]
    np.testing.assert_allclose(predictive.columns["ds_says_1"], wanted)
    for own in (raw, predictive):
        np.testing.assert_allclose(own.columns["glad_says_0"] + own.columns["glad_says_1"], 1.0)


def test_consensus_labels_of_documents(binary):
    _, consensus, _ = binary
    documents = pl.DataFrame({"query": ["q"] * 3, "item": ["a", "b", "c"]})
    found = consensus.documents(documents)
    np.testing.assert_allclose(found["average"], [2 / 3, 1 / 3, 1 / 2])
    np.testing.assert_allclose(found["majority"], [1, 0, 0.5])
    assert set(found) == {"majority", "average", "dawid-skene", "soft dawid-skene", "glad", "naive bayes"}
    # naive Bayes: of 2 honeypots with label 1, u says 1 and v says 0; both say 0 of the other one
    pooled = np.array([[2 + 0.5 + 0.5, 0.5], [1 + 0.5, 1 + 0.5 + 0.5]])
    pooled /= pooled.sum(axis=1, keepdims=True)
    counts = {"u": np.eye(2), "v": np.array([[1.0, 0.0], [1.0, 0.0]]), "w": np.zeros((2, 2))}
    t = {
        worker: (own + EXTRA * pooled) / (own + EXTRA * pooled).sum(axis=1, keepdims=True)
        for worker, own in counts.items()
    }
    odds = [0.5 * t["u"][true, 1] * t["v"][true, 1] * t["w"][true, 0] for true in (0, 1)]
    assert found["naive bayes"][0] == pytest.approx(odds[1] / sum(odds))


def test_columns_of_ones_own(binary, tmp_path):
    labels, _, raw = binary
    frame = pl.DataFrame([(*row, number) for number, row in enumerate(ROWS)], orient="row",
                         schema=["query", "item", "worker", "label", "seconds"])  # fmt: skip
    found, notes = read_label_columns(frame, labels.samples)
    assert [note.message for note in notes] == ["frame: label features seconds."]
    assert list(found) == ["seconds"]
    wanted = {row[1:3]: number for number, row in enumerate(ROWS)}
    own = [wanted[pair] for pair in zip(labels.samples["item"], labels.samples["worker"], strict=True)]
    np.testing.assert_array_equal(found["seconds"], own)
    more = raw.with_columns("own", found)
    assert choose_names(more, "own", "weight_features") == ["seconds"]
    blank = frame.with_columns(seconds=pl.when(pl.col("item") == "a").then(None).otherwise(4.0))
    np.testing.assert_array_equal(read_label_columns(blank, labels.samples)[0]["seconds"], 4.0)
    assert "seconds (for 5 of 8 labels" in read_label_columns(blank, labels.samples)[1][0].message
    named = frame.rename({"item": "doc", "worker": "judge"}).with_columns(device=pl.lit("phone"))
    again, notes = read_label_columns(named, labels.samples, "item=doc,label=label")
    np.testing.assert_array_equal(again["seconds"], own)
    assert "'device'" in notes[1].message
    with pytest.raises(InputError, match="no column of numbers besides"):
        read_label_columns(frame.drop("seconds"), labels.samples)
    with pytest.raises(InputError, match="no column 'worker'"):
        read_label_columns(frame.drop("worker"), labels.samples)
    path = tmp_path / "own.csv"
    path.write_text("item,worker,query,seconds\na,u,q,4\nb,u,q,soon\n")
    with pytest.raises(InputError, match="soon") as caught:
        read_label_columns(str(path), labels.samples)
    assert "row 2" in str(caught.value)
    assert "seconds" in str(caught.value)


def test_names_and_groups(binary):
    _, _, raw = binary
    assert choose_names(raw, "all", "x") == list(raw.columns)
    basic = ["label", "log_labels", "share_0", "honeypots_right"]
    assert choose_names(raw, "basic", "x") == basic
    assert choose_names(raw, ["honeypots_right", "label"], "x") == ["label", "honeypots_right"]
    assert len(choose_names(raw, "basic,ds", "x")) == 4 + 7
    with pytest.raises(UsageError, match="'speed', which is no label feature"):
        choose_names(raw, "speed", "x")


def test_input_that_cannot_be_learned_from():
    frame = pl.DataFrame(ROWS, schema=["query", "item", "worker", "label"], orient="row")
    with pytest.raises(InputError, match="which worker"):
        read_labels([read(frame.drop("worker"))], None)
    with pytest.raises(InputError, match="every label of the crowd is 1"):
        read_labels([read(frame.with_columns(label=1))], None)
    with pytest.raises(InputError, match="has the label 3"):
        made(honeypots=HONEYPOTS.with_columns(value=3.0))
    with pytest.raises(InputError, match="nobody labeled a honeypot"):
        made(honeypots=HONEYPOTS.with_columns(item=pl.lit("z")))
    with pytest.raises(InputError, match="pairs"):
        read_labels([read(pl.DataFrame({"winner": ["a"], "loser": ["b"], "worker": ["w"]}))], None)
