"""Documents of a search engine: features, true grades, and a crowd that labels them relevant or not."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import UsageError
from crowdrank.simulate.crowd import Crowd, ids

CUTS = (0.50, 0.75, 0.89, 0.97)
"""Quantiles of the relevance that divide the grades 0 to 4."""
SHARED = 8
"""So many of the first features have an effect of the query."""
LINEAR = 10
"""So many features have a linear effect on the relevance; as many further terms are not linear."""
QUALITIES = (0.75, 0.85, 0.95)


def search_crowd(
    *,
    seed: int = 0,
    world: int = 0,
    queries: int = 100,
    documents: int = 15,
    features: int = 46,
    workers: int = 60,
    labels: int = 3,
    spammers: float = 0.3,
) -> Crowd:
    """Documents with normal features and nonlinear relevance, labeled by workers of unequal rigor.

    The relevance of a document is linear in 10 features, plus ten steps, sines and products of features, plus
    noise (sd .5) and an effect of the query (sd .4). Its quantiles .50 .75 .89 .97 divide the grades 0 to 4.
    ``world`` seeds how the relevance depends on the features, and ``seed`` everything else: two seeds of one
    world are two samples of the same search engine. Each document has ``labels`` labels. A worker of rigor r, 0
    to 3, labels 1 if the grade is above r, and errs with probability .25, .15 or .05. A third each of the
    ``spammers`` labels at random, always 1, or always 0.
    """
    if features < LINEAR or labels > workers:
        raise UsageError(
            f"There must be at least {LINEAR} features, and as many workers as labels per document. "
            f"Got features={features}, workers={workers}, labels={labels}."
        )
    rng = np.random.default_rng([seed, 1])
    rows, query = queries * documents, np.repeat(np.arange(queries), documents)
    x = rng.normal(size=(rows, features))
    x[:, :SHARED] += 0.7 * rng.normal(size=(queries, SHARED))[query]
    relevance = _relevance(x, np.random.default_rng([world, 2]))
    relevance += 0.5 * rng.normal(size=rows) + 0.4 * rng.normal(size=queries)[query]
    grade = np.searchsorted(np.quantile(relevance, CUTS), relevance)
    names = {"query": ids("query", queries)[query], "item": ids("doc", rows)}
    judgments, people = _label(grade, workers, labels, spammers, rng)
    columns = {f"f{number:02d}": x[:, number].astype(np.float32) for number in range(features)}
    return Crowd(
        judgments=pl.DataFrame({name: own[judgments["row"]] for name, own in names.items()}).hstack(
            judgments.select("worker", "label")
        ),
        gold=pl.DataFrame({**names, "grade": grade}),
        workers=people,
        features=pl.DataFrame({**names, **columns}),
    )


def _relevance(x: Floats, rng: np.random.Generator) -> Floats:
    """The relevance without noise: a linear part, and steps, sines and products of features in turn."""
    linear = rng.choice(x.shape[1], LINEAR, replace=False)
    total = x[:, linear] @ rng.normal(size=LINEAR)
    for term in range(LINEAR):
        one, other = rng.choice(x.shape[1], 2, replace=False)
        forms = (np.where(x[:, one] > rng.normal(), 1.0, -1.0), np.sin(2.0 * x[:, one]), x[:, one] * x[:, other])
        total += rng.normal() * forms[term % len(forms)]
    return np.asarray(total / total.std())


def _label(
    grade: Integers, workers: int, labels: int, spammers: float, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels of documents by row, and the workers with their true parameters."""
    rigor, quality = rng.integers(0, 4, workers), rng.choice(QUALITIES, workers)
    kind = np.full(workers, "honest", dtype=object)
    kind[: round(spammers * workers)] = np.resize(
        np.array(["random", "yes", "no"], object), round(spammers * workers)
    )
    kind = rng.permutation(kind)
    judge = rng.random((len(grade), workers)).argsort(axis=1)[:, :labels].ravel()
    row = np.repeat(np.arange(len(grade)), labels)
    says = (grade[row] > rigor[judge]) ^ (rng.random(len(row)) > quality[judge])
    says = np.where(kind[judge] == "random", rng.random(len(row)) < 0.5, says)
    says = np.where(kind[judge] == "yes", True, np.where(kind[judge] == "no", False, says))
    names = ids("worker", workers)
    people = pl.DataFrame({"worker": names, "kind": kind.astype(str), "rigor": rigor, "quality": quality})
    return pl.DataFrame({"row": row, "worker": names[judge], "label": says.astype(np.int64)}), people
