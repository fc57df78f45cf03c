"""Labels against crowd-kit: seconds, likelihood by one function for both, and accuracy, ratios within one run.

The crowd is drawn from GLAD's own model: abilities and log easiness N(1, 1), four labels, ten for each item.
A peer's data is brought into its own form before the clock starts; ours is read from string columns within it.
Peers do not calibrate, so ours do not either; with --calibration, what that costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

import crowdrank as cr
from benchmarks.timing import best
from crowdrank.models.labels.dawid_skene import ConfusionAt, ConfusionSums
from crowdrank.models.labels.glad import AbilityAt, AbilitySums
from crowdrank.prepared.label_rows import plan_labels
from crowdrank.prepared.labels import Labels

LABELS, ITEMS, WORKERS, CLASSES = 100_000, 10_000, 500, 4


def crowd(seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The labels, and the true ones."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, CLASSES, ITEMS)
    ability, beta = rng.normal(1, 1, WORKERS), np.exp(rng.normal(1, 1, ITEMS))
    item, worker = np.arange(LABELS) % ITEMS, rng.integers(0, WORKERS, LABELS)
    right = rng.random(LABELS) < 1 / (1 + np.exp(-ability[worker] * beta[item]))
    other = (truth[item] + rng.integers(1, CLASSES, LABELS)) % CLASSES
    labels = pl.DataFrame({"worker": worker, "item": item, "label": np.where(right, truth[item], other) + 1})
    names = [pl.format("w{}", "worker").alias("worker"), pl.format("i{}", "item").alias("item")]
    gold = pl.DataFrame({"item": [f"i{code}" for code in range(ITEMS)], "gold": truth + 1})
    return labels.with_columns(names), gold


def likelihood(labels: Labels, function: Any, at: Any) -> float:
    """The log likelihood of the labels at these parameters."""
    return float(cr.LocalEngine(1).open(plan_labels(labels)).evaluate(function, at).value)


def of_dawid_skene(labels: Labels, model: Any) -> float:
    """crowd-kit's errors are indexed by (worker, said), one column for each true label."""
    workers, values = labels.index.workers.to_list(), labels.values.astype(int)
    table = model.errors_.reindex(columns=values)
    said = np.stack([table.xs(value, level=1).reindex(workers).to_numpy() for value in values], axis=2)
    at = ConfusionAt(np.nan_to_num(said), model.priors_.reindex(values).to_numpy())
    return likelihood(labels, ConfusionSums().counts, at)


def of_glad(labels: Labels, model: Any) -> tuple[float, float]:
    """The log likelihood, and with the log priors of abilities and easiness, but for a constant."""
    alpha = model.alphas_.reindex(labels.index.workers.to_list()).to_numpy()
    easiness = model.betas_.reindex(labels.items().to_list()).to_numpy()
    shares = np.full(len(labels.values), 1 / len(labels.values))
    found = likelihood(labels, AbilitySums().slopes, AbilityAt(alpha, easiness, shares))
    return found, found - 0.5 * ((alpha - 1) ** 2).sum() - 0.5 * ((easiness - 1) ** 2).sum()


def ours(model: Callable[[], Any], frame: pl.DataFrame, gold: pl.DataFrame) -> tuple[float, Any, float]:
    """Seconds, the fitted model, accuracy."""
    seconds, fitted = best(lambda: model().fit(frame))
    table = fitted.labels_.polars().join(gold, on="item")
    return seconds, fitted, float((table["label"] == table["gold"]).mean())


def row(name: str, *figures: float | str) -> None:
    """One row of the table."""
    cells = (f"{own:,.3f}" if isinstance(own, float) else own for own in figures)
    print(f"| {' | '.join([name, *cells])} |", flush=True)


def main() -> None:
    """Both tables."""
    against_crowdkit()
    print("\nSeconds of processor time of a fit alone, without calibration and with it:\n")
    calibration_cost()


def against_crowdkit() -> None:
    """Seconds, likelihood and accuracy, without calibration."""
    from crowdkit.aggregation import GLAD, DawidSkene

    frame, gold = crowd()
    labels = Labels(cr.read(frame))
    theirs = frame.rename({"item": "task"}).to_pandas()
    truth = gold.to_pandas().set_index("item")["gold"]
    package = f"crowd-kit {version('crowd-kit')}"
    print("| model | seconds | ratio | log likelihood | log posterior | accuracy |")
    print("|---|---|---|---|---|---|")
    for name, model, peer, repeats in (
        (
            "dawid-skene, shrinkage 0",
            lambda: cr.DawidSkene(shrinkage=0, calibrate=False),
            lambda: DawidSkene(n_iter=100),
            3,
        ),
        ("glad", lambda: cr.GLAD(calibrate=False), lambda: GLAD(silent=True), 1),
    ):
        seconds, fitted, right = ours(model, frame, gold)
        took, other = best(lambda peer=peer: peer().fit(theirs), repeats)
        correct = float((other.labels_.reindex(truth.index) == truth).mean())
        posterior = fitted.fit_.details.get("log_posterior", "-")
        row(name, seconds, took / seconds, fitted.fit_.log_likelihood, posterior, right)
        value = (of_dawid_skene(labels, other), "-") if repeats > 1 else of_glad(labels, other)
        row(f"{package} {type(other).__name__}", took, 1.0, *value, correct)
    for name, model in (("dawid-skene", cr.DawidSkene), ("ordinal", cr.OrdinalLabels)):
        seconds, fitted, right = ours(lambda model=model: model(calibrate=False), frame, gold)
        row(name, seconds, "-", fitted.fit_.log_likelihood, "-", right)


def processor_time(run: Callable[[], Any]) -> float:
    """Seconds of processor time, which other programs do not add to."""
    began = time.process_time()
    run()
    return time.process_time() - began


def calibration_cost() -> None:
    """Seconds of processor time of a fit, without calibration and with it."""
    frame, _ = crowd()
    table = cr.read(frame)
    print("| model | not calibrated | calibrated |\n|---|---|---|")
    for model in (cr.DawidSkene, cr.GLAD, cr.OrdinalLabels):
        taken = []
        for calibrate in (False, True):
            runs = [processor_time(lambda on=calibrate, own=model: own(calibrate=on).fit(table)) for _ in range(5)]
            taken.append(min(runs))
        row(model.name, *taken)


if __name__ == "__main__":
    main()
