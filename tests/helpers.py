"""Random votes that exercise everything."""

from __future__ import annotations

import csv

import numpy as np
import polars as pl

from crowdrank.results import Queries, Skills, verdicts


def random_votes(seed=0, items=12, workers=8, votes=400, queries=0, ties=0.1):
    """A frame of votes with workers of different quality, and ties."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1.2, (max(queries, 1), items))
    quality = rng.uniform(0.6, 1.0, workers)
    query = rng.integers(0, max(queries, 1), votes)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    worker = rng.integers(0, workers, votes)
    ahead = 1 / (1 + np.exp(scores[query, right] - scores[query, left]))
    chance = quality[worker] * ahead + (1 - quality[worker]) * (1 - ahead)
    wins = rng.random(votes) < chance
    label = np.where(wins, left, right).astype(str)
    label = np.where(rng.random(votes) < ties, "tie", [f"i{name}" for name in label])
    frame = pl.DataFrame(
        {
            "worker": [f"w{code}" for code in worker],
            "left": [f"i{code}" for code in left],
            "right": [f"i{code}" for code in right],
            "label": label,
        }
    )
    return frame.with_columns(query=pl.Series([f"q{code}" for code in query])) if queries else frame


def frame_of(orders, workers=None, queries=None):
    """Lists of items from the best on, each by a worker of its own where none is named; a tuple is a tie."""
    rows = [
        (
            queries and f"q{queries[number]}",
            f"w{workers[number]}" if workers else f"w{number:03d}",
            f"l{number:03d}",
            item,
            place,
        )
        for number, order in enumerate(orders)
        for place, group in enumerate(order)
        for item in (group if isinstance(group, tuple) else (group,))
    ]
    frame = pl.DataFrame(rows, schema=["query", "worker", "list", "item", "rank"], orient="row")
    return frame if queries else frame.drop("query")


def random_lists(seed=0, items=8, workers=7, queries=0, most=6, ties=0.15, below=False):
    """A frame of ranked lists, two for each worker and query, of some of the items, with ties.

    ``below``: the items that a list does not rank are named without a rank.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(max(queries, 1)):
        scores = rng.normal(0, 1.5, items)
        for worker in range(workers):
            for number in range(2):
                seen = np.sort(rng.permutation(items)[: rng.integers(3, most + 1)])
                order = seen[np.argsort(-(scores[seen] + rng.gumbel(0, 0.5 + worker / workers, len(seen))))]
                rank = np.cumsum(np.concatenate([[1], rng.random(len(order) - 1) > ties]))
                rest = [(item, None) for item in set(range(items)) - set(seen.tolist())] if below else []
                rows += [
                    (f"q{query}", f"w{worker}", f"l{number}", f"i{item}", None if place is None else int(place))
                    for item, place in [*zip(order, rank, strict=True), *rest]
                ]
    frame = pl.DataFrame(rows, schema=["query", "worker", "list", "item", "rank"], orient="row")
    return frame if queries else frame.drop("query")


def random_labels(seed=0, items=25, workers=8, labels=400, queries=0, classes=4):
    """A frame of labels 1 to ``classes`` by workers of different quality."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, classes + 1, (max(queries, 1), items))
    quality = rng.uniform(0.5, 0.95, workers)
    query, item = rng.integers(0, max(queries, 1), labels), rng.integers(0, items, labels)
    worker = rng.integers(0, workers, labels)
    right = rng.random(labels) < quality[worker]
    label = np.where(right, truth[query, item], rng.integers(1, classes + 1, labels))
    frame = pl.DataFrame(
        {
            "worker": [f"w{code}" for code in worker],
            "item": [f"i{code:02d}" for code in item],
            "label": label,
        }
    )
    return frame.with_columns(query=pl.Series([f"q{code}" for code in query])) if queries else frame


def crowd_that_errs_together(seed=0, items=600, workers=12, fooled=0.25, classes=2):
    """On a share of the items every worker sees the same wrong label; otherwise four of five are right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, classes + 1, items)
    seen = np.where(rng.random(items) < fooled, truth % classes + 1, truth)
    rows = [
        (f"i{i:03d}", f"w{w}", int(seen[i] if rng.random() < 0.8 else rng.integers(1, classes + 1)))
        for i in range(items)
        for w in rng.choice(workers, 7, replace=False)
    ]
    labels = pl.DataFrame(rows, schema=["item", "worker", "label"], orient="row")
    return labels, pl.DataFrame({"item": [f"i{i:03d}" for i in range(items)], "gold": truth})


def random_domains(fitted, domains=3, seed=0):
    """Difficulties and domains of a fitted model's queries, and skills of its workers, drawn at random."""
    rng = np.random.default_rng(seed)
    names = fitted.ranking_.query.unique().sort()
    difficulty = rng.gamma(2.0, 0.5, len(names))
    queries = Queries(
        query=names,
        judgments=np.full(len(names), 10.0),
        difficulty=difficulty,
        low=difficulty / 2,
        high=difficulty * 2,
        domain=rng.dirichlet(np.linspace(1.0, 0.3, domains), len(names)),
    )
    workers = fitted.workers_.polars()["worker"]
    cells = len(workers) * domains
    quality, half = rng.uniform(0.05, 0.95, cells), rng.uniform(0.02, 0.3, cells)
    low, high = np.clip(quality - half, 0, 1), np.clip(quality + half, 0, 1)
    skills = Skills(
        worker=pl.Series(np.repeat(workers.to_list(), domains)),
        domain=np.tile(np.arange(1, domains + 1), len(workers)),
        judgments=rng.integers(1, 60, cells).astype(float),
        quality=quality,
        low=low,
        high=high,
        verdict=verdicts(low, high),
        tau=quality,
        tau_low=low,
        tau_high=high,
        truthful=quality,
    )
    return {"queries": queries, "skills": skills}


def read_rows(path):
    """The rows of a CSV file, by the names of its columns."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
