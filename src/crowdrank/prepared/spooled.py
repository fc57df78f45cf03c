"""Counts of votes that do not fit in memory: merged from sorted runs on disk, with shards as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from crowdrank.data.arrays import recut
from crowdrank.data.spool.folder import Spool, write_parquet
from crowdrank.prepared import plan
from crowdrank.prepared.comparisons import CodedVotes, Comparisons, Tally, add_tallies, join_rows, tally
from crowdrank.prepared.runs import TallyRuns


@dataclass(frozen=True)
class FileShard:
    """A shard of a tally in a Parquet file."""

    path: Path
    rows: int
    nodes: int
    workers: int

    def __len__(self) -> int:
        return self.rows

    def load(self) -> Comparisons:
        """The shard, read from its file."""
        columns: dict[str, Any] = {column.name: column.to_numpy() for column in pl.read_parquet(self.path)}
        return Comparisons(**{"worker": None, **columns}, nodes=self.nodes, workers=self.workers)


def tally_spooled(
    batches: Iterable[CodedVotes],
    nodes: int,
    workers: int,
    spool: Spool,
    *,
    sided: bool = False,
    ties: bool = False,
) -> Tally:
    """The tally of batches of votes, in shards on disk. Rows and shards are the same as in memory."""
    shards: list[FileShard] = []
    folder = spool.folder("shards")
    for shard in recut(
        _merge_batches(batches, nodes, workers, spool, sided, ties), plan.SHARD_ROWS, join_rows, len
    ):
        path = folder / f"{len(shards):06d}.parquet"
        columns = ("worker", "i", "j", "wins", "losses", "ties")
        own = {name: value for name in columns if (value := getattr(shard, name)) is not None}
        write_parquet(pl.DataFrame(own), path)
        shards.append(FileShard(path, len(shard), nodes, workers))
    return Tally(shards, nodes, workers)


def tally_in_memory(
    batches: Iterable[CodedVotes], nodes: int, workers: int, *, sided: bool = False, ties: bool = False
) -> Comparisons:
    """The tally of batches of votes in memory. Batches are added up when they have as many rows as the sum."""
    held: list[Comparisons] = []
    waiting = 0
    for votes in batches:
        held.append(tally(nodes, votes, workers, sided=sided, ties=ties))
        waiting += len(held[-1])
        if len(held) > 1 and waiting >= len(held[0]):
            held, waiting = [add_tallies(held)], 0
    return add_tallies(held)


def tally_batches(batches: Iterable[CodedVotes], nodes: int, spool: Spool) -> Comparisons:
    """The tally of batches of votes without distinguishing workers: distinct pairs, in memory."""
    return join_rows(list(_merge_batches(batches, nodes, 0, spool, False, False)))


def _merge_batches(
    batches: Iterable[CodedVotes], nodes: int, workers: int, spool: Spool, sided: bool, ties: bool
) -> Iterator[Comparisons]:
    runs = TallyRuns(spool.folder("runs"), nodes, workers, ties=ties)
    for votes in batches:
        runs.add(tally(nodes, votes, workers, sided=sided, ties=ties))
    return runs.merge()
