"""Judgments cut into small shards, so that even a small input has several of them."""

from __future__ import annotations

from contextlib import contextmanager

from crowdrank.data import comparisons, tally_spooled
from crowdrank.engine import LocalEngine
from crowdrank.models import list_shards
from crowdrank.models.labels import rows as label_rows
from crowdrank.models.thurstonian import panels

PLANNERS = (comparisons.plan, tally_spooled, panels.panels, list_shards.shards, label_rows.plan_labels)
"""Everything that cuts judgments into shards; the rows of a shard are the last default of each."""


@contextmanager
def small_shards(rows):
    """Every planner cuts after about this many rows."""
    before = [planner.__defaults__ for planner in PLANNERS]
    for planner, defaults in zip(PLANNERS, before, strict=True):
        planner.__defaults__ = (*defaults[:-1], rows)
    try:
        yield
    finally:
        for planner, defaults in zip(PLANNERS, before, strict=True):
            planner.__defaults__ = defaults


class CountingEngine(LocalEngine):
    """Threads of this process; ``counts`` has the number of shards of every session."""

    def __init__(self, threads):
        super().__init__(threads)
        self.counts = []

    def open(self, shards, **options):
        self.counts.append(len(shards))
        return super().open(shards, **options)
