"""Every model with every input of the contract, each fitted once for all tests that only look at the fit.

The ids of these tests name their model, by which ``conftest`` keeps the tests of one model in one process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from crowdrank.models import entries
from helpers import random_labels, random_lists, random_votes
from shards import CountingEngine, small_shards

ROWS = 50
"""The rows of a shard that the fits on several threads have."""
INPUTS = {
    "votes": ("pairs", lambda queries: random_votes(seed=11, votes=500, queries=queries)),
    "lists": ("rankings", lambda queries: random_lists(seed=5, queries=queries)),
    "lists with items below": ("rankings", lambda queries: random_lists(seed=6, queries=queries, below=True)),
    "labels": ("ratings", lambda queries: random_labels(seed=7, items=12, labels=160, queries=queries)),
}
"""The kind of judgments of each input, and how it is drawn. A model of pairs gets pairs alone: it converts all
others to them."""


@dataclass(frozen=True)
class Case:
    """A model by its name, and the input that it is fitted to."""

    name: str
    given: str
    queries: int

    @property
    def entry(self):
        return entries()[self.name]

    @property
    def frame(self):
        return drawn(self.given, self.queries)

    @property
    def model(self):
        """The model, fitted; nobody may change it."""
        return fitted(self)

    @property
    def model_in_shards(self):
        """The same in shards of ``ROWS`` rows, on one thread."""
        return fitted_in_shards(self, 1)[0]

    def __str__(self):
        return f"model={self.name}, {self.given}, {self.queries or 'no'} queries"


def single_models():
    """Every model but those that choose among others, whose answer is that of the chosen one."""
    return [entry for entry in entries().values() if not entry.chooses]


@cache
def drawn(given, queries):
    return INPUTS[given][1](queries)


@cache
def fitted(case):
    return case.entry.make().fit(case.frame)


@cache
def fitted_in_shards(case, threads):
    """The model, and the number of shards of every session that it opened."""
    engine = CountingEngine(threads)
    with small_shards(ROWS):
        return case.entry.make().fit(case.frame, engine=engine), engine.counts


def cases_of(entry, queries=(0, 3)):
    kinds = ("pairs",) if "pairs" in entry.kinds else entry.kinds
    return [
        Case(entry.name, given, count) for given, (kind, _) in INPUTS.items() if kind in kinds for count in queries
    ]


def every_case(chosen=lambda entry: True, **options):
    """A parameter ``case``: the models chosen, with each of their inputs."""
    found = [case for entry in single_models() if chosen(entry) for case in cases_of(entry, **options)]
    return pytest.mark.parametrize("case", found, ids=str)


def every_model(chosen=lambda entry: True):
    """A parameter ``entry``: the models chosen."""
    found = [entry for entry in single_models() if chosen(entry)]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: f"model={entry.name}")


def of_votes(entry):
    return "pairs" in entry.kinds


def of_lists(entry):
    return entry.kinds[0] == "rankings"


def of_lists_or_labels(entry):
    return not of_votes(entry)


def representative(entry):
    """The first model of its family that takes these kinds: for what is decided before a model is asked."""

    def family(own):
        return own.path.split(".")[2], own.kinds

    return entry == next(own for own in single_models() if family(own) == family(entry))
