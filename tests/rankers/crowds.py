"""The crowd and the rankers of the contract suites of rankers that learn from judgments."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.rankers.registry import make_ranker, ranker_entries
from crowdrank.rankers.scorers import SCORERS
from rankers.made import judged_frames

QUICK = {"linear": {}, "trees": {"rounds": 12, "min_rows": 3}, "net": {"hidden": [4, 2], "limit": 15}}
"""Parameters of the scorers that keep the suite quick."""
NAMES = [entry.name for entry in ranker_entries().values() if entry.learns_from == "judgments"]
BOTH = [(name, scorer) for name in NAMES for scorer in SCORERS]

each = pytest.mark.parametrize(("name", "scorer"), BOTH, ids=[f"{name}, {scorer}" for name, scorer in BOTH])
each_ranker = pytest.mark.parametrize("name", NAMES)


@cache
def frames():
    return judged_frames(seed=5, queries=8)


def features():
    return frames()[0]


def tables(change=lambda frame: frame):
    """The usual lists, each kind as a table: full, partial, and those whose other documents are below."""
    missing = {"full": "unknown", "partial": "unknown", "top": "below"}
    return [cr.read(change(frame), missing=missing[kind]) for kind, frame in frames()[1].items()]


def make(name, scorer, **settings):
    return make_ranker(name, scorer, {**QUICK[scorer], "iterations": 6, **settings})


def as_pairs(lists):
    """All pairs that these lists order."""
    both = lists.join(lists, on=["query", "worker"], suffix="_b").filter(pl.col("rank") < pl.col("rank_b"))
    return both.select("query", "worker", left="item", right="item_b", label="item")
