"""Documents of a search engine with features and true grades: simulated, or read from files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import Features, read_features
from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import InputError, UsageError, parameter
from crowdrank.simulate.crowd import ids

CUTS = (0.50, 0.75, 0.89, 0.97)
"""Quantiles of the relevance that divide the grades 0 to 4."""
SHARED = 8
"""So many of the first features have an effect of the query."""
LINEAR = 10
"""So many features have a linear effect on the relevance; as many further terms are not linear."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents with their features and grades, one per row.

    ``keys`` has query, item. ``x`` is (rows, features), and ``names`` are those of its columns. ``grade`` is a
    whole number of at least 0. ``idle`` are the columns that may serve as a misleading cue: those without an
    effect on the grades, or all of them if the effects are unknown.
    """

    keys: pl.DataFrame
    x: NDArray[np.float32]
    names: tuple[str, ...]
    grade: Integers
    idle: Integers

    @property
    def queries(self) -> pl.Series:
        """The queries, in the order of their first documents."""
        return self.keys["query"].unique(maintain_order=True)

    def gold(self) -> pl.DataFrame:
        """The query, item and grade of each document."""
        return self.keys.with_columns(grade=self.grade)

    def features(self) -> pl.DataFrame:
        """The query, item and features of each document."""
        return self.keys.with_columns(pl.Series(name, self.x[:, column]) for column, name in enumerate(self.names))

    def of_queries(self, queries: pl.Series) -> Documents:
        """The documents of these queries."""
        held = self.keys["query"].is_in(queries.implode()).to_numpy()
        return replace(self, keys=self.keys.filter(held), x=self.x[held], grade=self.grade[held])


def draw_documents(queries: int, documents: int, features: int, world: int, rng: np.random.Generator) -> Documents:
    """Documents with normal features and nonlinear relevance, as many for each query.

    The relevance of a document is linear in 10 features, plus ten steps, sines and products of features, plus
    noise (sd .5) and an effect of the query (sd .4). Its quantiles .50 .75 .89 .97 divide the grades 0 to 4.
    ``world`` seeds how the relevance depends on the features, and ``rng`` draws everything else.
    """
    if features < LINEAR or not queries or not documents:
        raise UsageError(
            f"There must be at least {LINEAR} features, a query, and a document per query. "
            f"Got features={features}, queries={queries}, documents={documents}."
        )
    rows, query = queries * documents, np.repeat(np.arange(queries), documents)
    x = rng.normal(size=(rows, features))
    x[:, :SHARED] += 0.7 * rng.normal(size=(queries, SHARED))[query]
    relevance, used = _relevance(x, np.random.default_rng([world, 2]))
    relevance += 0.5 * rng.normal(size=rows) + 0.4 * rng.normal(size=queries)[query]
    return Documents(
        keys=pl.DataFrame({"query": ids("query", queries)[query], "item": ids("doc", rows)}),
        x=x.astype(np.float32),
        names=tuple(f"f{number:02d}" for number in range(features)),
        grade=np.searchsorted(np.quantile(relevance, CUTS), relevance),
        idle=np.setdiff1d(np.arange(features), used),
    )


def read_documents(file: str) -> Documents:
    """The documents of a file of features with labels, their grades. Those without a label are left out."""
    features, label, _ = read_labeled(file)
    known = np.flatnonzero(~np.isnan(label))
    grade = label[known].astype(np.int64)
    if (grade != label[known]).any() or grade.min() < 0 or grade.max() < 1:
        raise InputError(
            "the labels must be grades: whole numbers of at least 0, and not all of them 0.",
            source=features.source,
        )
    return Documents(
        keys=features.ids()[known],
        x=features.dense(known),
        names=features.names,
        grade=grade,
        idle=np.arange(len(features.names)),
    )


def read_labeled(file: str) -> tuple[Features, Floats, Integers]:
    """The features of a file, the label of each row and the number of its query.

    ``file`` names one file that ``read_features`` takes, or several separated by commas.
    """
    if not file.strip():
        raise UsageError("No file was named.", hint=("Name a file of features: ", parameter("file", "PATH")))
    paths = [file] if Path(file).exists() else [path.strip() for path in file.split(",")]
    features = _read(paths)
    if features.label is None or np.isnan(features.label).all():
        raise InputError(
            "the features have no labels, so the true order is unknown.",
            source=features.source,
            hint="A table needs a column label; a row of LETOR text begins with it.",
        )
    if features.query is None:
        raise InputError(
            "the features have no queries.",
            source=features.source,
            hint="A table needs a column query; a row of LETOR text has qid:Q after the label.",
        )
    return features, features.label, features.query.astype(np.int64)


def _read(paths: list[str]) -> Features:
    try:
        return read_features(paths)
    except InputError as error:
        if not isinstance(error.hint, str | None):  # it would name arguments of read_features
            error.hint = "A table needs the columns query, item and label; every other column is a feature."
        raise


def _relevance(x: Floats, rng: np.random.Generator) -> tuple[Floats, list[int]]:
    """The relevance without noise, and the features that it depends on.

    It has a linear part, and steps, sines and products of features in turn.
    """
    linear = rng.choice(x.shape[1], LINEAR, replace=False)
    total, used = x[:, linear] @ rng.normal(size=LINEAR), linear.tolist()
    for term in range(LINEAR):
        one, other = rng.choice(x.shape[1], 2, replace=False)
        forms = (
            (np.where(x[:, one] > rng.normal(), 1.0, -1.0), [one]),
            (np.sin(2.0 * x[:, one]), [one]),
            (x[:, one] * x[:, other], [one, other]),
        )
        values, own = forms[term % len(forms)]
        total += rng.normal() * values
        used += own
    return np.asarray(total / total.std()), used
