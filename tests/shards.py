"""Judgments cut into small shards, so that even a small input has several of them."""

from __future__ import annotations

from contextlib import contextmanager

from crowdrank.engine import LocalEngine
from crowdrank.prepared import plan


@contextmanager
def small_shards(rows):
    """The planner cuts after about this many rows."""
    before = plan.SHARD_ROWS
    plan.SHARD_ROWS = rows
    try:
        yield
    finally:
        plan.SHARD_ROWS = before


class CountingEngine(LocalEngine):
    """Threads of this process; ``counts`` has the number of shards of every session."""

    def __init__(self, threads):
        super().__init__(threads)
        self.counts = []

    def open(self, shards, **options):
        self.counts.append(len(shards))
        return super().open(shards, **options)


def cut_small(planner, rows, *given):
    """What a planner makes with so few rows in a shard."""
    with small_shards(rows):
        return planner(*given)
