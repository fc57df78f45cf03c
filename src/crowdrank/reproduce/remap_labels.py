"""The label features of remap on real labels: trec2010 and websearch5, whose documents have no ranking features.

Half of the documents with a known label are honeypots. On the other half we see how often each consensus is right,
and how well each label feature tells right labels from wrong ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Floats, Scored, read, read_gold
from crowdrank.engine import LocalEngine
from crowdrank.errors import InputError, Remedy
from crowdrank.measures.order import roc_auc
from crowdrank.progress import in_steps
from crowdrank.rankers.remap.consensus import Consensus
from crowdrank.rankers.remap.label_features import raw_features
from crowdrank.rankers.remap.samples import CrowdLabels, read_labels
from crowdrank.reproduce.result import PaperTable

SETS = ("trec2010", "websearch5")
SHOWN = ("ds_correct", "glad_correct", "glad_ability", "log_labels", "honeypots_right")


def load(data: Path | None, name: str) -> tuple[Any, Scored]:
    """The labels and the gold of a set."""
    folder = (data or Path("../shared/data")) / name
    if not folder.exists():
        hint = ("Name the folder that holds it: ", Remedy("data", "DIR"), ", or set CROWDRANK_DATA.")
        raise InputError(f"The {name} data was not found.", source=str(folder), hint=hint)
    files = sorted(file for file in folder.iterdir() if "gold" not in file.name and file.suffix in (".csv", ".gz"))
    gold = next(file for file in sorted(folder.iterdir()) if file.name.startswith("gold"))
    return read(str(files[0])), read_gold(str(gold))


def accuracy(found: Floats, truth: Floats, values: Floats) -> float:
    """The share of documents whose consensus label, rounded to the scale, is the true one."""
    scale = (values - values[0]) / (values[-1] - values[0])
    nearest = values[np.abs(found[:, None] - scale).argmin(axis=1)]
    return float((nearest == truth).mean())


def judge(labels: CrowdLabels, test: pl.DataFrame) -> list[tuple[str, str, float]]:
    """(kind, name, value): accuracy of each consensus, AUC of label features, on the test documents."""
    consensus = Consensus(labels, LocalEngine())
    documents = test.join(labels.frame.select("query", "item").unique(), on="item").select(
        "query", "item", "value"
    )
    truth = documents["value"].to_numpy()
    rows = [
        ("consensus, accuracy", name, accuracy(own, truth, labels.values))
        for name, own in consensus.documents(documents.select("query", "item")).items()
    ]
    samples = labels.samples.join(documents.select("item", "value"), on="item", maintain_order="left")
    right = (samples["label"] == samples["value"]).to_numpy()
    raw = raw_features(labels, consensus, samples.drop("value"), "posterior")
    for name in SHOWN:
        column = raw.columns[name]
        if not np.isfinite(column).all():
            raise AssertionError(name)
        rows.append(("label feature, AUC", name, roc_auc(column, right)))
    return rows


def real_labels(seeds: int, data: Path | None) -> PaperTable:
    """Consensus and label features on real labels."""

    def judged(name: str) -> tuple[list[tuple[object, ...]], str]:
        ratings, gold = load(data, name)
        order = np.random.default_rng(seeds).permutation(gold.frame.height)
        half = gold.frame.height // 2
        known, test = gold.frame[np.sort(order[:half])], gold.frame[np.sort(order[half:])]
        labels = read_labels([ratings], Scored(known))
        assert labels.honeypots is not None
        size = f"{name} {labels.frame.height} labels, {labels.honeypots.height} honeypots"
        return [(name, *row) for row in judge(labels, test)], size

    found = in_steps(SETS, judged)
    rows, sizes = [row for own, _ in found for row in own], [size for _, size in found]
    remarks = [
        "Half of the gold labels are honeypots. On the other half: how often the consensus is right, and how well "
        "a label feature tells right labels from wrong ones (area under the ROC curve).",
        f"{'; '.join(sizes)}. There are no ranking features, so no ranker is trained.",
    ]
    return PaperTable(
        "Remap: label features on real labels", ("labels", "what", "name", "value"), 3, rows, remarks
    )
