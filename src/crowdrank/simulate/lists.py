"""Crowds whose annotators rank the documents of a query, for rankers that learn from several annotators.

The documents have features, and a score that depends on these gives the true order. ``ltrma_crowd`` is the
generator of LTRMA (Wu et al. 2016, section 6.1.1); the others make harder crowds. The annotators rank only the
training queries, but all queries have features and grades. The seed draws the documents and the annotators
separately, so that different annotators can rank the same documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import UsageError, parameter
from crowdrank.kernels import mallows
from crowdrank.simulate.crowd import Crowd, ids
from crowdrank.simulate.orders import Draw, draw_lists, find_draw

PAPER_WEIGHTS = (1.0, 10.0)
PAPER_NOISE = 0.005
WEIGHT_SD = 3.0
EXPERT = (0.3, 1.0)
MALICIOUS = (-0.6, -0.2)
"""The range of theta of the experts and of the malicious annotators of ``mixed_crowd``."""


def ltrma_crowd(
    *,
    seed: int = 0,
    lists: int = 100,
    validation: int = 100,
    test: int = 500,
    documents: int = 15,
    annotators: int = 10,
    low: float = 0.5,
    high: float = 2.5,
    distances: str = "mallows",
) -> Crowd:
    """The generator of LTRMA's section 6.1.1, in which every annotator ranks every training list.

    A document has two features U[0, 1] and the score x1 + 10 x2 + N(0, .005^2). The grade of the i-th best of n
    documents is n + 1 - i. The first annotator has theta = ``high``, and the others U[``low``, ``high``].
    ``distances``: "mallows", or "paper" for the lists of equation 56 (see ``orders.sample_by_distance``).
    """
    parts = _parts(lists, validation, test, documents, annotators)
    if high < low:
        raise UsageError(f"The lowest theta must not be above the highest. Got low={low} and high={high}.")
    draw = find_draw(distances, documents)
    made, rng = _generators(seed)
    theta = np.append(high, rng.uniform(low, high, annotators - 1))
    corpus = _paper_documents(sum(parts.values()), documents, made)
    return _rank(corpus, parts, theta, rng, labels=annotators, draw=draw)


def weighted_crowd(
    *,
    seed: int = 0,
    lists: int = 50,
    validation: int = 0,
    test: int = 500,
    documents: int = 15,
    features: int = 10,
    noise: float = 1.0,
    errors: str = "normal",
    thetas: str = "0.3,0.05,-0.1",
    top: int = 0,
) -> Crowd:
    """Few and poor annotators, and documents whose features explain only part of the truth.

    A document has ``features`` features U[0, 1] and the score w'x + N(0, ``noise``^2), with weights w from
    N(0, 3^2) that the seed draws afresh. With ``errors`` "gumbel" instead of "normal" the true order is drawn from
    Plackett-Luce, the model of LTRMA itself. The grade of the i-th best of n documents is n - i. Annotators have
    these ``thetas``, and each ranks every training list. ``top``: a list has only its first so many documents; 0:
    all.
    """
    if errors not in ("normal", "gumbel"):
        raise UsageError(f"errors must be normal or gumbel. Got {errors!r}.")
    theta = parse_numbers("thetas", thetas)
    parts = _parts(lists, validation, test, documents, len(theta))
    if features < 1:
        raise UsageError(f"features must be at least 1. Got features={features}.")
    made, rng = _generators(seed)
    corpus = _weighted_documents(sum(parts.values()), documents, features, noise, errors, made)
    return _rank(corpus, parts, theta, rng, labels=len(theta), top=top)


def mixed_crowd(
    *,
    seed: int = 0,
    lists: int = 100,
    validation: int = 0,
    test: int = 500,
    documents: int = 15,
    annotators: int = 20,
    spammers: float = 0.3,
    malicious: float = 0.2,
    labels: int = 1,
) -> Crowd:
    """Experts, spammers and malicious annotators, of whom only a few rank each training list.

    Documents and grades are those of ``ltrma_crowd``. A share of ``spammers`` has theta = 0, a share of
    ``malicious`` annotators U[-.6, -.2], and the rest U[.3, 1]. ``labels`` random annotators rank each list.
    """
    parts = _parts(lists, validation, test, documents, annotators)
    if not 1 <= labels <= annotators:
        raise UsageError(
            f"labels must be from 1 to the number of annotators. Got labels={labels} and annotators={annotators}."
        )
    made, rng = _generators(seed)
    theta = _mixed_thetas(annotators, spammers, malicious, rng)
    corpus = _paper_documents(sum(parts.values()), documents, made)
    return _rank(corpus, parts, theta, rng, labels=labels)


def parse_numbers(name: str, text: str, example: str = "0.3,0.05,-0.1") -> Floats:
    """Numbers separated by commas. The error shows the example."""
    try:
        found = np.array([float(word) for word in text.split(",")])
    except ValueError:
        found = np.array([np.nan])
    if not np.isfinite(found).all():
        raise UsageError(
            f"{name} must be numbers separated by commas. Got {text!r}.",
            hint=("For example ", parameter(name, example)),
        )
    return found


def assign(queries: int, annotators: int, labels: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Query and annotator of each list: ``labels`` distinct random annotators rank each query."""
    chosen = np.sort(rng.random((queries, annotators)).argsort(axis=1)[:, :labels], axis=1)
    return np.repeat(np.arange(queries), labels), chosen.ravel()


@dataclass(frozen=True, eq=False)
class _Corpus:
    """Documents in random order: ``x`` (queries, documents, features), true ``score`` (queries, documents).

    ``least``: the grade of the worst document of a query.
    """

    x: Floats
    score: Floats
    least: int

    def true_order(self) -> Integers:
        """The documents of each query, the best first."""
        return np.argsort(-self.score, axis=1, kind="stable")

    def grade(self) -> Integers:
        """One more for each document that is worse."""
        return self.least + self.score.shape[1] - 1 - np.argsort(self.true_order(), axis=1)


def _paper_documents(queries: int, documents: int, rng: np.random.Generator) -> _Corpus:
    x = rng.random((queries, documents, len(PAPER_WEIGHTS)))
    return _Corpus(x, x @ PAPER_WEIGHTS + rng.normal(0.0, PAPER_NOISE, (queries, documents)), least=1)


def _weighted_documents(
    queries: int, documents: int, features: int, noise: float, errors: str, rng: np.random.Generator
) -> _Corpus:
    weights = rng.normal(0.0, WEIGHT_SD, features)
    x = rng.random((queries, documents, features))
    drawn = (rng.normal if errors == "normal" else rng.gumbel)(0.0, noise, (queries, documents))
    return _Corpus(x, x @ weights + drawn, least=0)


def _mixed_thetas(annotators: int, spammers: float, malicious: float, rng: np.random.Generator) -> Floats:
    """The thetas of experts, spammers and malicious annotators, in random order."""
    if spammers + malicious > 1:
        raise UsageError(
            f"The shares of spammers and malicious annotators must not exceed 1 together. "
            f"Got {spammers} and {malicious}."
        )
    theta = rng.uniform(*EXPERT, annotators)
    idle, bad = round(spammers * annotators), round(malicious * annotators)
    theta[:idle] = 0.0
    theta[idle : idle + bad] = rng.uniform(*MALICIOUS, len(theta[idle : idle + bad]))
    return rng.permutation(theta)


def _rank(
    corpus: _Corpus,
    parts: Mapping[str, int],
    theta: Floats,
    rng: np.random.Generator,
    *,
    labels: int,
    draw: Draw = mallows.sample,
    top: int = 0,
) -> Crowd:
    """The tables of a crowd whose annotators rank the training queries."""
    queries, documents, _ = corpus.x.shape
    query, worker = assign(parts["train"], len(theta), labels, rng)
    rows = draw_lists(np.full(len(query), documents), theta[worker], rng, draw=draw, top=top)
    searches, people = ids("query", queries), ids("worker", len(theta))
    names = ids("doc", queries * documents).reshape(queries, documents)
    own = query[rows.list]
    judgments = {
        "query": searches[own],
        "worker": people[worker[rows.list]],
        "item": names[own, corpus.true_order()[own, rows.place]],
        "rank": rows.rank,
    }
    keys = {"query": np.repeat(searches, documents), "item": names.ravel()}
    values = corpus.x.reshape(queries * documents, -1).astype(np.float32)
    width = len(str(values.shape[1]))
    columns = {f"f{number + 1:0{width}d}": values[:, number] for number in range(values.shape[1])}
    return Crowd(
        judgments=pl.DataFrame(judgments),
        gold=pl.DataFrame({**keys, "grade": corpus.grade().ravel()}),
        workers=pl.DataFrame({"worker": people, "theta": theta}),
        queries=pl.DataFrame({"query": searches, "part": np.repeat(list(parts), list(parts.values()))}),
        features=pl.DataFrame({**keys, **columns}),
    )


def _parts(lists: int, validation: int, test: int, documents: int, annotators: int) -> dict[str, int]:
    """How many queries each part has. Too few lists, documents or annotators are an error."""
    for name, count, least in (("lists", lists, 1), ("documents", documents, 2), ("annotators", annotators, 1)):
        if count < least:
            raise UsageError(f"{name} must be at least {least}. Got {name}={count}.")
    return {"train": lists, "validation": validation, "test": test}


def _generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """The random numbers of the documents, and those of the annotators."""
    return np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
