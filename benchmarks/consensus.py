"""Consensus of real labels against gold: right labels, pairs in the right order, correlation of the scores."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

from crowdrank.measures import pairwise_accuracy
from crowdrank.models import entries

DATA = Path(os.environ.get("CROWDRANK_DATA", Path(__file__).parents[2] / "shared" / "data"))
FINE = 20
"""Labels of more distinct values are numbers: the models of classes do not take them."""
CLASSES = ("dawid-skene", "glad")


def figures(name: str, labels: pl.DataFrame, gold: pl.DataFrame) -> tuple[float, float, float]:
    """The share of right labels, of pairs in the right order, and the correlation with gold."""
    fitted = entries()[name].load()().fit(labels)
    both = fitted.ranking_.polars().join(gold, on="item")
    score, grade = both["score"].to_numpy(), both["gold"].to_numpy()
    said = fitted.labels_.polars().join(gold, on="item")
    correlation = float(np.corrcoef(score, grade)[0, 1])
    return float((said["label"] == said["gold"]).mean()), pairwise_accuracy(score, grade), correlation


def tasks() -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """Labels and gold by the name of the task."""
    found = {}
    for name in ("websearch5", "trec2010"):
        gold = pl.read_csv(DATA / name / "gold.csv", schema_overrides={"item": pl.String, "gold": pl.Float64})
        found[name] = (pl.read_csv(DATA / name / "labels.csv", infer_schema=False), gold)
    snow = pl.read_csv(DATA / "snow2008" / "labels.csv", infer_schema=False)
    for (task,), rows in snow.group_by(["task"], maintain_order=True):
        gold = rows.select("item", pl.col("gold").cast(pl.Float64)).unique("item")
        found[f"snow2008 {task}"] = (rows.select("worker", "item", label="response"), gold)
    return found


def main() -> None:
    """Print the table."""
    names = [entry.name for entry in entries().values() if entry.kinds == ("ratings",)]
    print(f"{'task':20} {'model':14} {'labels':>7} {'pairs':>7} {'correlation':>12}")
    for task, (labels, gold) in tasks().items():
        fine = labels["label"].n_unique() > FINE
        for name in names:
            if fine and name in CLASSES:
                continue
            right, pairs, correlation = figures(name, labels, gold)
            print(f"{task:20} {name:14} {right:7.4f} {pairs:7.4f} {correlation:12.4f}")


if __name__ == "__main__":
    if not DATA.exists():
        raise SystemExit(f"The real data is not at {DATA}; set CROWDRANK_DATA.")
    main()
