"""Consensus of real labels against gold: right labels, pairs in the right order, correlation of the scores.

With --calibration: what the probabilities say against how often they are right, and how many intervals hold the
gold, without known labels and with some of the gold as known labels, on the rest of the gold.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from benchmarks.page import DATA, DOCS, fill_marks
from crowdrank.measures import pairwise_accuracy
from crowdrank.models import entries

FINE = 20
"""Labels of more distinct values are numbers: the models of classes do not take them."""
CLASSES = ("dawid-skene", "glad")
CALIBRATED = (*CLASSES, "ordinal")
KNOWN = (0, 20, 50, 100, "half")
DRAWS = 20


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


def trust(fitted: Any, gold: pl.DataFrame) -> list[float]:
    """The mean probability of the most probable label, how often it is right, held intervals and their width."""
    labels = fitted.labels_.polars().join(gold, on="item")
    scores = fitted.ranking_.polars().join(gold, on="item")
    held = (scores["low"] <= scores["gold"]) & (scores["gold"] <= scores["high"])
    right, width = (labels["label"] == labels["gold"]).mean(), (scores["high"] - scores["low"]).mean()
    return [float(own) for own in (labels["probability"].mean(), right, held.mean(), width)]


def known_of(gold: pl.DataFrame, known: int | str, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Some of the gold as known labels, and the rest."""
    size = len(gold) // 2 if known == "half" else int(known)
    mixed = gold.sort("item").sample(fraction=1, shuffle=True, seed=seed)
    return mixed.head(size), mixed.tail(len(gold) - size)


def calibration_row(name: str, labels: pl.DataFrame, gold: pl.DataFrame, known: int | str) -> str:
    """One row of the table: the model as it is, and calibrated, on the same rest of the gold."""
    found = []
    for seed in range(DRAWS if known else 1):
        given, rest = known_of(gold, known, seed)
        anchors = given if known else None
        make = entries()[name].load()
        found.append([trust(make(calibrate=on).fit(labels, anchors=anchors), rest) for on in (False, True)])
    own = np.array(found)
    gap = own[:, :, 0] - own[:, :, 1]
    before, after = own.mean(axis=0)
    typical, largest = np.sqrt((gap[:, 1] ** 2).mean()), np.abs(gap[:, 1]).max()
    figures = f"{known} | {after[1]:.3f} | {before[0]:.3f} | {after[0]:.3f} | {typical:.3f} | {largest:.3f}"
    return f"| {name} | {figures} | {before[2]:.3f} ({before[3]:.2f}) | {after[2]:.3f} ({after[3]:.2f}) |"


def scale_of(labels: pl.DataFrame, gold: pl.DataFrame) -> str:
    """The gold as a line of the scores of ordinal, and T by held-out labels."""
    fitted = entries()["ordinal"].load()().fit(labels)
    both = fitted.ranking_.polars().join(gold, on="item")
    slope, shift = np.polyfit(both["score"].to_numpy(), both["gold"].to_numpy(), 1)
    heat = fitted.fit_.details["calibration"]["held_out_temperature"]
    return f"ordinal: the gold is {shift:.2f} + {slope:.2f} times the score; T by held-out labels is {heat:.2f}"


def calibration(names: list[str], write: bool) -> None:
    """Print the table of each task, or put it into its page."""
    print(f"Over {DRAWS} draws of the known labels.")
    for task in names:
        labels, gold = tasks()[task]
        print(f"\n{task}\n", flush=True)
        lines = []
        for line in calibration_table(labels, gold):
            print(line, flush=True)
            lines.append(line)
        if write:
            fill_marks(DOCS / "calibration.md", f"calibration of {task}", "\n".join(lines))
        print(f"\n{scale_of(labels, gold)}", flush=True)


def calibration_table(labels: pl.DataFrame, gold: pl.DataFrame) -> Iterator[str]:
    """The table of one task."""
    head = ("model", "known", "right", "said", "calibrated", "gap, rms", "largest", "held before", "held after")
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for name in CALIBRATED:
        if name in CLASSES and labels["label"].n_unique() > FINE:
            continue
        for known in KNOWN:
            if known == "half" or int(known) < len(gold) // 2:
                yield calibration_row(name, labels, gold, known)


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calibration", nargs="*", metavar="TASK", help="websearch5, trec2010, snow2008 rte, ...")
    parser.add_argument("--write", action="store_true", help="put the tables of calibration into their page")
    given = parser.parse_args()
    chosen = given.calibration
    if chosen is None:
        main()
    else:
        calibration(chosen or ["websearch5", "trec2010"], given.write)
