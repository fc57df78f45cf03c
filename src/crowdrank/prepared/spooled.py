"""Counts of votes that do not fit in memory: merged from sorted runs on disk, with shards as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from crowdrank.data.spool.folder import Spool, write_parquet
from crowdrank.prepared import plan
from crowdrank.prepared.comparisons import CodedVotes, Comparisons, Tally, join_rows, tally
from crowdrank.prepared.runs import Runs


@dataclass(frozen=True)
class FileShard:
    """A shard of a tally in a Parquet file."""

    path: Path
    nodes: int
    workers: int

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
    for shard in _recut(_merge_batches(batches, nodes, workers, spool, sided, ties), plan.SHARD_ROWS):
        path = folder / f"{len(shards):06d}.parquet"
        columns = ("worker", "i", "j", "wins", "losses", "ties")
        own = {name: value for name in columns if (value := getattr(shard, name)) is not None}
        write_parquet(pl.DataFrame(own), path)
        shards.append(FileShard(path, nodes, workers))
    return Tally(shards, nodes, workers)


def tally_batches(batches: Iterable[CodedVotes], nodes: int, spool: Spool) -> Comparisons:
    """The tally of batches of votes without distinguishing workers: distinct pairs, in memory."""
    return join_rows(list(_merge_batches(batches, nodes, 0, spool, False, False)))


def _merge_batches(
    batches: Iterable[CodedVotes], nodes: int, workers: int, spool: Spool, sided: bool, ties: bool
) -> Iterator[Comparisons]:
    runs = Runs(spool.folder("runs"), nodes, workers, ties=ties)
    for votes in batches:
        runs.add(tally(nodes, votes, workers, sided=sided, ties=ties))
    return runs.merge()


def _recut(parts: Iterable[Comparisons], rows: int) -> Iterator[Comparisons]:
    """The same rows in pieces of ``rows`` each. The last piece may be smaller."""
    rest: list[Comparisons] = []
    for part in parts:
        held = join_rows([*rest, part])
        whole = len(held) // rows * rows
        for start in range(0, whole, rows):
            yield held.take(slice(start, start + rows))
        rest = [held.take(slice(whole, None))]
    if rest and len(rest[0]):
        yield rest[0]
