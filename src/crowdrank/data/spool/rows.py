"""Ratings and rankings that do not fit in memory, as coded Parquet files that are sorted on disk if needed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.data.coded import code_columns, label_numbers
from crowdrank.data.index import Nodes
from crowdrank.data.spool.folder import Spool, writing
from crowdrank.data.spool.sort import RunRows, Runs
from crowdrank.data.tables import (
    GradedJudgments,
    Judgments,
    NamedNodes,
    Rankings,
    Ratings,
    join_tables,
)

T = TypeVar("T", Ratings, Rankings)

IDS = {"query": "queries", "worker": "workers"}


class Appearances(NamedTuple):
    """The distinct codes of a column, sorted, with the first row of each."""

    code: Integers
    first: Integers

    @property
    def place(self) -> Integers:
        """The position of each code in the order of first appearance."""
        found = np.empty(len(self.code), np.int64)
        found[np.argsort(self.first)] = np.arange(len(self.code))
        return found


def find_appearances(parts: Iterable[NDArray[Any]]) -> Appearances:
    """The distinct codes of a column that comes in parts."""
    code, first, done = np.empty(0, np.int64), np.empty(0, np.int64), 0
    for part in parts:
        own, at = np.unique(part, return_index=True)
        code, kept = np.unique(np.concatenate([code, own]), return_index=True)  # those known before come first
        first = np.concatenate([first, at + done])[kept]
        done += len(part)
    return Appearances(code, first)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SpooledRows(Judgments, Generic[T]):
    """A table in Parquet files, read a batch at a time. ``codes``: see ``SpooledPairs``."""

    files: tuple[Path, ...]
    codes: Mapping[str, NDArray[np.int32]]
    count: int
    spool: Spool

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.count

    @abstractmethod
    def _table(self, frame: pl.DataFrame) -> T:
        """The rows of a file."""

    def batches(self) -> Iterator[T]:
        """The rows, a file at a time, in the order in which they were read."""
        for path in self.files:
            yield self._table(pl.read_parquet(path))

    def load(self) -> T:
        """All rows in memory."""
        return replace(join_tables(list(self.batches())), notes=self.notes)

    def groups(self) -> Iterator[T]:
        """The rows by list, or by (query, worker) of ratings, some whole ones at a time.

        These are in the order of their first rows, and so are the rows within them.
        """
        return self.read_sorted(self._files_by_appearance)

    def named(self) -> NamedNodes:
        """The nodes that the rows name, and the first row of each."""
        width = len(self.index.items)
        found = find_appearances(
            batch.item if batch.query is None else batch.query.astype(np.int64) * width + batch.item
            for batch in self.batches()
        )
        if self.index.queries is None:  # all items, even if only rows that were left out name them
            first = np.full(width, self.count, np.int64)
            first[found.code] = found.first
            every = np.arange(width, dtype=np.int32)
            return NamedNodes(Nodes(np.zeros_like(every), every), first)
        return NamedNodes(
            Nodes((found.code // width).astype(np.int32), (found.code % width).astype(np.int32)), found.first
        )

    @cached_property
    def _files_by_appearance(self) -> tuple[Path, ...]:
        found = find_appearances(batch.groups() for batch in self.batches())
        place = found.place
        return self.sort_files("appearance", lambda part: place[np.searchsorted(found.code, part.groups())])

    def sort_files(self, name: str, key: Callable[[T], NDArray[Any]]) -> tuple[Path, ...]:
        """Files of the rows sorted by key. Rows of equal keys keep their order and are in one file."""
        runs, folder = Runs(self.spool.folder("runs")), self.spool.folder(name)
        for batch in self.batches():
            runs.add(_records(batch, key(batch)))
        files = []
        for number, rows in enumerate(runs.merge()):
            files.append(folder / f"{number:06d}.npy")
            with writing(files[-1]):
                np.save(files[-1], rows)
        return tuple(files)

    def read_sorted(self, files: Iterable[Path]) -> Iterator[T]:
        """The rows of sorted files, a file at a time."""
        shape = next(iter(self.batches()))
        for path in files:
            rows: RunRows = np.load(path)
            names = [name for name in rows.dtype.names or () if name != "key"]
            columns: dict[str, Any] = {name: np.ascontiguousarray(rows[name]) for name in names}
            yield replace(shape, **columns)


def _records(table: Ratings | Rankings, key: NDArray[Any]) -> RunRows:
    """The rows of a table as records with a key."""
    columns = {
        column.name: value
        for column in fields(table)
        if isinstance(value := getattr(table, column.name), np.ndarray)
    }
    records = np.empty(len(key), [("key", np.int64), *((name, own.dtype) for name, own in columns.items())])
    records["key"] = key
    for name, own in columns.items():
        records[name] = own
    return records


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SpooledRatings(SpooledRows[Ratings], GradedJudgments):
    """Ratings in Parquet files; models accept them in the same way as Ratings.

    Files have a column ``name`` instead of ``label`` if the labels are text without an order.

    >>> import crowdrank as cr
    >>> labels = cr.read({"worker": [*"uuvv"], "item": [*"abab"], "label": [5, 1, 4, 2]}, memory=1)
    >>> labels
    SpooledRatings(rows=4, workers=2, items=2, queries=1)
    >>> [batch.label.tolist() for batch in labels.batches()]
    [[5.0, 1.0, 4.0, 2.0]]
    """

    @cached_property
    def values(self) -> Floats:
        """The different labels, sorted."""
        found = np.empty(0)
        for batch in self.batches():
            found = np.union1d(found, batch.label)
        return found

    @property
    def classes(self) -> int:
        """How many different labels there are."""
        return len(self.values)

    def _table(self, frame: pl.DataFrame) -> Ratings:
        columns: dict[str, Any] = code_columns(frame, self.codes, "item")
        return Ratings(
            index=self.index,
            label=label_numbers(frame, self.names),
            names=self.names,
            ordered=self.ordered,
            pairs=self.pairs,
            backend=self.backend,
            **columns,
        )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SpooledRankings(SpooledRows[Rankings]):
    """Rankings in Parquet files; models accept them in the same way as Rankings.

    ``ranked`` is the number of rows that rank their item. ``list_ids`` are the ids of the column "list", if there
    is one. ``missing`` and ``pairs``: see ``Rankings``.

    >>> import crowdrank as cr
    >>> lists = cr.read({"list": [1, 1, 2, 2], "item": [*"abab"], "rank": [1, 2, 1, 2]}, memory=1)
    >>> lists
    SpooledRankings(rows=4, items=2, queries=1, lists=2)
    >>> cr.PlackettLuce().fit(lists).ranking_.frame()["item"].to_list()
    ['a', 'b']
    """

    kind = "rankings"

    ranked: int
    list_ids: pl.Series | None = None
    missing: str = "unknown"
    pairs: str | int = "auto"

    @property
    def rows(self) -> int:
        """Number of ranked items over all lists."""
        return self.ranked

    @property
    def lists(self) -> int:
        """Number of lists."""
        return len(self._list_keys)

    def summary(self) -> dict[str, Any]:
        """Kind and sizes, what a missing item means, and which pairs count."""
        return {**super().summary(), "lists": self.lists, "missing": self.missing, "pairs": self.pairs}

    def by_list(self) -> Iterator[Rankings]:
        """The rows by list, in the order of the lists' numbers, some whole lists at a time."""
        return self.read_sorted(self._files_by_list)

    def find_repeat(self) -> dict[str, str] | None:
        """The ids of an item that a list ranks twice, with the ids of that list; None if there is none."""
        width = len(self.index.items)
        for part in self.by_list():
            key = part.list.astype(np.int64) * width + part.item
            distinct, counts = np.unique(key, return_counts=True)
            if len(distinct) < len(key):
                number, item = divmod(int(distinct[counts > 1][0]), width)
                return {"item": self.index.items[item], **self._list_ids(int(self._list_keys[number]))}
        return None

    def _list_ids(self, key: int) -> dict[str, str]:
        """The query, the worker and the list id of a list, as far as there are any."""
        found = {}
        for sort in reversed([sort for sort in ("query", "worker", "list") if sort in self.codes]):
            key, code = divmod(key, int(self.codes[sort].max()) + 1)
            ids: Any = self.list_ids if sort == "list" else getattr(self.index, IDS[sort])
            found[sort] = str(ids[code])
        return found

    @cached_property
    def _files_by_list(self) -> tuple[Path, ...]:
        return self.sort_files("lists", lambda part: part.list)

    @cached_property
    def _list_keys(self) -> Integers:
        """The distinct (query, worker, list id), each as one number; their order is that of the lists."""
        return find_appearances(
            self._keys(code_columns(pl.read_parquet(path), self.codes, "item")) for path in self.files
        ).code

    def _keys(self, columns: Mapping[str, NDArray[Any]]) -> Integers:
        key = np.zeros(len(columns["item"]), np.int64)
        for sort in ("query", "worker", "list"):
            if sort in columns:
                key = key * (int(self.codes[sort].max()) + 1) + columns[sort]
        return key

    def _table(self, frame: pl.DataFrame) -> Rankings:
        columns: dict[str, Any] = code_columns(frame, self.codes, "item")
        columns["list"] = np.searchsorted(self._list_keys, self._keys(columns)).astype(np.int32)
        return Rankings(
            index=self.index,
            rank=frame["rank"].to_numpy(),
            lists=self.lists,
            missing=self.missing,
            pairs=self.pairs,
            backend=self.backend,
            **columns,
        )
