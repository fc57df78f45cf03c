"""Fits: every model of the registry with drawn judgments, weights and parameters."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.checks import CheckError, require_finite, require_short
from benchmarks.fuzz.judgments import draw_judgments
from benchmarks.fuzz.watch import Case
from crowdrank.models.base import Model
from crowdrank.models.registry import Entry, entries

SLOW = {"auto": 0.1, "tpp": 0.3, "tpp-unidom": 0.3, "tpp-uniexp": 0.3, "tpp-unidiff": 0.3}
"""How often a model that takes long is drawn, as a share of the others."""

WORDS = (
    None, "auto", "estimated", "none", "shared", "by-worker", "by-query", "equal", "logistic", "normal", "direct",
    "indirect", "ndcg", "rbp", "copeland", "schulze", "mean", "top", "bottom", "one", "all", "grid", "gold",
    "collapsed", "quadrature", "bootstrap", "uniform", "", "nothing",
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, -1, 0.5, 1e-12, 1e12, 1e300, 1e-300, float("nan"), float("inf"), 2**70, True, False)
PAIRS: tuple[Any, ...] = ((1.0, 1.0), (0.5, 2), (0, 0), (1e9, 1e-9), [2, 1], (1,), ("a", "b"), {})

COSTLY = {"resamples": (1, 2, 5, 0, "x"), "orders": (1, 2, 0, None), "folds": (2, 3, 0), "rounds": (1, 5, 0, "x"),
          "iterations": (1, 20, 0, "x"), "sample": (5, 100, 0), "settings": (None,)}  # fmt: skip
"""Parameters whose large values only take time."""


def draw_model(rng: random.Random) -> tuple[Entry, dict[str, Any]]:
    """A model, and parameters for it: mostly the defaults, some from the vocabulary, some impossible."""
    known = entries()
    entry = rng.choices(list(known.values()), [SLOW.get(name, 1.0) for name in known])[0]
    found: dict[str, Any] = {}
    for name, default in entry.load().parameters().items():
        if name in COSTLY:
            found[name] = rng.choice(COSTLY[name]) if rng.random() < 0.3 else {"resamples": 4}.get(name, default)
        elif rng.random() < 0.06:
            found[name] = rng.choice(rng.choice((WORDS, NUMBERS, (default,), PAIRS)))
    return entry, found


def make_fit(seed: int, number: int, folder: Path) -> Case:
    """The case: fit twice, and look at everything."""
    rng = random.Random(f"fits {seed} {number}")
    entry, parameters = draw_model(rng)
    kind = rng.choice(entry.kinds)
    frame = draw_judgments(rng, kind)
    twice = rng.random() < 0.25

    def fit() -> Model:
        return entry.make(parameters).fit(frame, engine=None)

    def case() -> None:
        model = fit()
        check_fitted(model)
        if twice:
            _require_equal(model, fit())

    return case


def check_fitted(model: Model) -> None:
    """Scores are finite, notes short, and a fit that converged has a likelihood."""
    name = model.name
    table = model.ranking_.polars()
    require_finite(f"score of {name}", table["score"].to_numpy())
    for column in ("stderr", "low", "high"):
        if np.isnan(table[column].to_numpy()).any():
            raise CheckError(f"NaN ({column} of {name}): {table[column].to_list()[:6]}")
    fitted = model.fit_
    if fitted.log_likelihood is not None and not np.isfinite(fitted.log_likelihood):
        raise CheckError(
            f"not finite (likelihood of {name}, converged: {fitted.converged}): {fitted.log_likelihood}"
        )
    if model.workers_ is not None:
        for column in ("quality", "low", "high", "judgments"):
            values = model.workers_.polars()[column].to_numpy()
            if np.isnan(values.astype(float)).any():
                raise CheckError(f"NaN (worker {column} of {name}): {values[:6]}")
    require_short(fitted.warnings)


def _require_equal(one: Model, other: Model) -> None:
    for name, table in one.result_.tables.items():
        if not table.polars().equals(other.result_.tables[name].polars(), null_equal=True):
            raise CheckError(f"not deterministic ({one.name}): {name}")
