"""Workers of lists against the order of the others: brute force, and a system that guesses."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models.lists.crowd_lists import savage_scores
from crowdrank.models.lists.order_of_others import agreement_with_others
from crowdrank.prepared.lists import Lists


def systems(seed, missing, queries=60, docs=20, top=5):
    """Six systems that know something, one that guesses and one that lies, each with its first documents."""
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(queries):
        truth = rng.normal(size=docs)
        said = {f"s{k}": truth + rng.normal(size=docs) for k in range(6)}
        said |= {"guess": rng.normal(size=docs), "lie": -truth}
        for worker, scores in said.items():
            best = np.argsort(-scores)[:top]
            rows += [(f"q{query}", worker, f"d{item}", place) for place, item in enumerate(best, 1)]
    frame = pl.DataFrame(rows, schema=["query", "worker", "item", "rank"], orient="row")
    return cr.read(frame, missing=missing)


class Row(NamedTuple):
    number: int
    worker: int
    item: int
    level: int
    ranked: bool
    value: float


def mean_of(item, rows, weight):
    """The weighted mean of the values that these rows give an item."""
    own = [row for row in rows if row.item == item]
    return np.average([row.value for row in own], weights=[weight[row.worker] for row in own])


def share_and_count(rows, others, weight):
    """The share of the pairs of a list that the others order in the same way, and how many judgments it counts."""
    kept = [row for row in rows if any(own.ranked and own.item == row.item for own in others)]
    mean = {row.item: mean_of(row.item, others, weight) for row in kept}
    pairs = [(one, other) for one, other in combinations(kept, 2) if one.level < other.level]
    right = [0.5 + 0.5 * np.sign(round(mean[one.item] - mean[other.item], 9)) for one, other in pairs]
    return (np.mean(right), min(sum(row.ranked for row in kept), len(kept) - 1)) if pairs else (0.0, 0)


@pytest.mark.parametrize("missing", ["below", "unknown"])
def test_pair_by_pair(missing):
    lists = Lists(systems(3, missing, queries=3, docs=8, top=4))
    value, weight = savage_scores(lists), np.linspace(0.2, 1.0, lists.n_workers)
    found = agreement_with_others(lists, value, weight)
    columns = (lists.list, lists.worker[lists.list], lists.node, lists.level, ~lists.bottom, value)
    rows = [Row(*cells) for cells in zip(*columns, strict=True)]
    for worker in range(lists.n_workers):
        others = [row for row in rows if row.worker != worker]
        own = [[row for row in rows if row.number == number] for number in np.flatnonzero(lists.worker == worker)]
        share, count = zip(*(share_and_count(each, others, weight) for each in own), strict=True)
        assert found.quality[worker] == pytest.approx(np.average(share, weights=count))


def test_a_system_that_guesses_is_not_malicious_but_one_that_lies_is():
    for seed in range(5):
        workers = cr.CrowdLists().fit(systems(seed, "below")).workers_.polars()
        verdict = dict(workers.select("worker", "verdict").iter_rows())
        assert verdict["guess"] in {"spammer", "unsure"}
        assert verdict["lie"] == "malicious"
        assert {verdict[f"s{k}"] for k in range(6)} == {"reliable"}


def test_one_worker_proves_nothing():
    rows = {"worker": list("www"), "item": list("abc"), "rank": [1, 2, 3]}
    workers = cr.CrowdLists().fit(rows).workers_.polars()
    assert workers.select("quality", "verdict", "judgments").row(0) == (0.5, "unsure", 2.0)
