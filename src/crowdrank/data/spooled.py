"""Pairs and tallies that do not fit in memory, as coded Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.comparisons import SHARD_ROWS, CodedVotes, Comparisons, Tally, joined, tally
from crowdrank.data.runs import Runs
from crowdrank.data.spool import Spool, write_parquet
from crowdrank.data.tables import Judgments, Pairs


@dataclass(frozen=True, eq=False, kw_only=True)
class SpooledPairs(Judgments):
    """Pairs in Parquet files, read a batch at a time; the models take them as they take Pairs.

    A file holds numbers in the order in which the ids were met; ``codes`` turns them into the codes of
    the index, which are in the order of the ids.
    """

    kind = "pairs"

    files: tuple[Path, ...]
    codes: Mapping[str, NDArray[np.int32]]
    count: int
    spool: Spool
    sided: bool = True

    @property
    def rows(self) -> int:
        """Number of comparisons."""
        return self.count

    def batches(self) -> Iterator[Pairs]:
        """The pairs, a file at a time, in the order of the rows."""
        for path in self.files:
            frame = pl.read_parquet(path)
            columns: dict[str, Any] = coded_columns(frame, self.codes, "left", "right")
            outcome = frame["outcome"].to_numpy()
            yield Pairs(index=self.index, outcome=outcome, sided=self.sided, backend=self.backend, **columns)


def coded_columns(
    frame: pl.DataFrame, codes: Mapping[str, NDArray[np.int32]], *items: str
) -> dict[str, NDArray[Any]]:
    """The columns of ids as codes, and the optional numbers, as a table of judgments is made with them.

    ``items`` are the columns that hold items; ``codes`` has for each sort of id the code of each number.
    """
    sorts = {**dict.fromkeys(items, "item"), **{sort: sort for sort in codes if sort != "item"}}
    coded = {column: codes[sort][frame[column].to_physical().to_numpy()] for column, sort in sorts.items()}
    numbers = [name for name in ("weight", "timestamp") if name in frame.columns]
    return {**coded, **{name: frame[name].to_numpy() for name in numbers}}


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
    rows: int = SHARD_ROWS,
    *,
    sided: bool = False,
    ties: bool = False,
) -> Tally:
    """The tally of batches of votes, in shards on disk: the same rows and shards as in memory."""
    shards: list[FileShard] = []
    folder = spool.folder("shards")
    for shard in _recut(_merged(batches, nodes, workers, spool, sided, ties), rows):
        path = folder / f"{len(shards):06d}.parquet"
        columns = ("worker", "i", "j", "wins", "losses", "ties")
        own = {name: value for name in columns if (value := getattr(shard, name)) is not None}
        write_parquet(pl.DataFrame(own), path)
        shards.append(FileShard(path, nodes, workers))
    return Tally(shards, nodes, workers)


def tally_batches(batches: Iterable[CodedVotes], nodes: int, spool: Spool) -> Comparisons:
    """The tally of batches of votes, workers not told apart: distinct pairs, in memory."""
    return joined(list(_merged(batches, nodes, 0, spool, False, False)))


def _merged(
    batches: Iterable[CodedVotes], nodes: int, workers: int, spool: Spool, sided: bool, ties: bool
) -> Iterator[Comparisons]:
    runs = Runs(spool.folder("runs"), nodes, workers, ties=ties)
    for votes in batches:
        runs.add(tally(nodes, votes, workers, sided=sided, ties=ties))
    return runs.merged()


def _recut(parts: Iterable[Comparisons], rows: int) -> Iterator[Comparisons]:
    """The same rows in pieces of ``rows`` each, but for the last."""
    rest: list[Comparisons] = []
    for part in parts:
        held = joined([*rest, part])
        whole = len(held) // rows * rows
        for start in range(0, whole, rows):
            yield held.take(slice(start, start + rows))
        rest = [held.take(slice(whole, None))]
    if rest and len(rest[0]):
        yield rest[0]
