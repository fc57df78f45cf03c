"""The judgments of a crowd as frozen, integer-coded tables with an index back to the ids.

Ids are text. A code is the position of its id in the sorted index, so the coding depends
only on the set of ids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, Ints
from crowdrank.data.ids import TEXT_IDS, Backend
from crowdrank.data.index import Index, Nodes, named_nodes, node_codes, translate_ids
from crowdrank.data.label_order import ORDER, missing_order
from crowdrank.data.numbered import Numbered
from crowdrank.errors import InputError, Note, Remedy

LEFT, RIGHT, TIE = 0, 1, 2
"""Codes of a pair's outcome."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Judgments(ABC):
    """What the three kinds share. ``None`` means that an optional column is absent; an absent ``weight`` is 1."""

    kind: ClassVar[str] = ""
    item_columns: ClassVar[tuple[str, ...]] = ("item",)

    index: Index
    worker: Ints | None = None
    query: Ints | None = None
    weight: Floats | None = None
    timestamp: Floats | None = None
    notes: tuple[Note, ...] = ()
    backend: Backend = TEXT_IDS

    def __post_init__(self) -> None:
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                view = value.view()
                view.flags.writeable = False
                object.__setattr__(self, column.name, view)

    def __repr__(self) -> str:
        sizes = {name: size for name, size in self.summary().items() if isinstance(size, int) and size}
        return f"{type(self).__name__}({', '.join(f'{name}={size}' for name, size in sizes.items())})"

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows."""

    def take(self, rows: NDArray[Any]) -> Self:
        """The table with only these rows (a mask or row numbers); the index stays the same."""
        changes = {
            column.name: value[rows]
            for column in fields(self)
            if isinstance(value := getattr(self, column.name), np.ndarray)
        }
        return replace(self, **changes)

    def coded_as(self, index: Index) -> Self:
        """The same judgments with the codes of another index; ids that it lacks become -1."""
        own = self.index
        if own is index:
            return self

        def recode(ids: pl.Series | None, others: pl.Series | None, codes: Ints | None) -> Ints | None:
            return codes if codes is None or ids is None else translate_ids(ids, others)[codes]

        changes: dict[str, Any] = {
            name: recode(own.items, index.items, getattr(self, name)) for name in self.item_columns
        }
        changes["worker"] = recode(own.workers, index.workers, self.worker)
        changes["query"] = recode(own.queries, index.queries, self.query)
        return replace(self, index=index, **changes)

    def compact(self) -> Self:
        """The same judgments with an index of only the ids that they name."""

        def used_ids(ids: pl.Series | None, *codes: Ints | None) -> pl.Series | None:
            own = [column for column in codes if column is not None]
            return ids if ids is None or not own else ids.gather(np.unique(np.concatenate(own)))

        items = used_ids(self.index.items, *(getattr(self, name) for name in self.item_columns))
        assert items is not None
        workers, queries = used_ids(self.index.workers, self.worker), used_ids(self.index.queries, self.query)
        return self.coded_as(Index(items, workers, queries))

    def without_empty_queries(self) -> Self:
        """The same judgments with an index of only the queries that have rows."""
        queries = self.index.queries
        if self.query is None or queries is None:
            return self
        used = np.flatnonzero(np.bincount(self.query, minlength=len(queries)))
        if len(used) == len(queries):
            return self
        codes = np.zeros(len(queries), np.int32)
        codes[used] = np.arange(len(used))
        return replace(self, index=replace(self.index, queries=queries.gather(used)), query=codes[self.query])

    def summary(self) -> dict[str, Any]:
        """Kind and sizes, as fit.json shows them."""
        index = self.index
        return {
            "kind": self.kind,
            "rows": self.rows,
            "workers": 0 if index.workers is None else len(index.workers),
            "items": len(index.items),
            "queries": 1 if index.queries is None else len(index.queries),
        }


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Pairs(Judgments, Numbered):
    """Pairwise judgments: ``left``, ``right`` and an ``outcome`` (LEFT, RIGHT or TIE).

    ``sided`` is False if the file says only who won, not which item was on which side. ``judged`` is every item
    that was judged, if the pairs were made from other judgments and may not name them all.

    >>> import crowdrank as cr
    >>> votes = cr.read([("ann", "a", "b", "a"), ("bob", "b", "a", "tie")])
    >>> votes
    Pairs(rows=2, workers=2, items=2, queries=1)
    >>> votes.index.items.gather(votes.left).to_list(), votes.outcome  # LEFT is 0 and TIE is 2
    (['a', 'b'], array([0, 2], dtype=int8))
    """

    kind = "pairs"
    item_columns: ClassVar[tuple[str, ...]] = ("left", "right")

    left: Ints
    right: Ints
    outcome: NDArray[np.int8]
    sided: bool = True
    judged: Nodes | None = None

    @property
    def rows(self) -> int:
        """Number of comparisons."""
        return len(self.left)

    def without_empty_queries(self) -> Pairs:
        """The same judgments; queries whose items were judged without a pair are kept as well."""
        return self if self.judged is not None else super().without_empty_queries()

    def batches(self) -> Iterator[Pairs]:
        """All pairs as one batch: they are already in memory."""
        yield self

    def coded_as(self, index: Index) -> Pairs:
        """The same votes with the codes of another index; ids that it lacks become -1.

        ``judged`` is dropped: only items that the votes name count.
        """
        return self if index is self.index else replace(super().coded_as(index), judged=None)

    @classmethod
    def from_votes(
        cls,
        *,
        winner: Sequence[Any] | NDArray[Any],
        loser: Sequence[Any] | NDArray[Any],
        worker: Sequence[Any] | NDArray[Any] | None = None,
        query: Sequence[Any] | NDArray[Any] | None = None,
        weight: Sequence[float] | NDArray[Any] | None = None,
    ) -> Pairs:
        """Pairs from plain sequences with an entry per vote, in any type that Polars accepts as a column.

        >>> Pairs.from_votes(winner=["a", "a"], loser=["b", "c"], worker=["w", "w"]).rows
        2
        """
        from crowdrank.data.io.read import read

        columns = {"winner": winner, "loser": loser, "worker": worker, "query": query, "weight": weight}
        frame = pl.DataFrame({name: values for name, values in columns.items() if values is not None})
        table = read(frame)
        if not isinstance(table, Pairs):  # pragma: no cover - the columns above are those of pairs
            raise InputError("These columns are not pairs.")
        return table


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GradedJudgments(Judgments):
    """What ratings in memory and on disk share.

    If the labels are text, ``names`` has them, and a label is the place of its name. They are ``ordered``, worst
    first, if the caller gave their order.

    ``pairs`` says which pairs a model of pairs sees: ``"all"`` that a worker's labels make, a sample with a number
    of opponents for each item, or ``"auto"``, a sample of long lists only.
    """

    kind = "ratings"

    names: tuple[str, ...] = ()
    ordered: bool = True
    pairs: str | int = "auto"

    def require_order(self, who: str, instead: Sequence[str | Remedy] = ()) -> None:
        """Raise an error if the labels are text without an order, which ``who`` needs.

        ``instead``: what else to do, as the end of the hint.
        """
        if not self.ordered:
            raise missing_order(who, self.names, ("Give them from worst to best: ", ORDER, *instead))

    def summary(self) -> dict[str, Any]:
        """Kind and sizes, which pairs count, and the labels if they are text."""
        text = {"labels": list(self.names), "ordered": self.ordered} if self.names else {}
        return {**super().summary(), "pairs": self.pairs, **text}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Ratings(GradedJudgments, Numbered):
    """Graded judgments: an ``item`` and its ``label``, larger = better. See ``GradedJudgments``.

    >>> import crowdrank as cr
    >>> rows = {"worker": ["ann", "ann"], "item": ["a", "b"], "label": ["good", "bad"]}
    >>> labels = cr.read(rows, order="bad,good")
    >>> labels.names, labels.label
    (('bad', 'good'), array([1., 0.]))
    """

    item: Ints
    label: Floats

    @property
    def classes(self) -> int:
        """How many different labels there are."""
        return len(np.unique(self.label))

    @property
    def rows(self) -> int:
        """Number of labels."""
        return len(self.item)

    def groups(self) -> Integers:
        """The group of each row, within which items are compared: a number for each (query, worker)."""
        group = np.zeros(self.rows, np.int64)
        if self.query is not None:
            group += self.query
        if self.worker is not None and self.index.workers is not None:
            group = group * len(self.index.workers) + self.worker
        return group


class NamedNodes(NamedTuple):
    """The nodes that rows name, and the first row that names each."""

    nodes: Nodes
    first: Integers


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Rankings(Judgments, Numbered):
    """Ranked lists: an ``item``, its ``rank`` (1 = best, equal = tied) and the ``list`` it is in.

    ``rank`` is NaN if a list names an item without ranking it. ``missing`` says what it means if a list does
    not rank an item of its query. ``"below"``: the item is below all ranked items, with no order among those
    below, as in a top-k list. ``"unknown"``: its place is unknown, as in a list of only some items. ``pairs``
    says which pairs a model of pairs sees: ``"all"`` of a list, only the ``"adjacent"`` ones, a sample with a
    number of opponents for each item, or ``"auto"``, a sample of long lists only.

    >>> import crowdrank as cr
    >>> lists = {"worker": ["ann", "ann", "bob"], "item": ["a", "b", "b"], "rank": [1, 2, 1]}
    >>> cr.read(lists)
    Rankings(rows=3, workers=2, items=2, queries=1, lists=2)
    >>> cr.to_pairs(cr.read(lists)).rows, cr.to_pairs(cr.read(lists, missing="below")).rows
    (1, 2)
    """

    kind = "rankings"

    item: Ints
    rank: Floats
    list: Ints
    lists: int = field(default=0)
    missing: str = "unknown"
    pairs: str | int = "auto"

    @property
    def rows(self) -> int:
        """Number of ranked items over all lists."""
        return int(self.ranked.sum())

    @property
    def ranked(self) -> NDArray[np.bool_]:
        """Which rows rank their item."""
        return ~np.isnan(self.rank)

    def __len__(self) -> int:
        """Number of lists: folds hold out whole lists."""
        return self.lists

    def _choose(self, numbers: Integers) -> Rankings:
        """The lists with these numbers, numbered anew."""
        sizes = np.bincount(self.list, minlength=self.lists)
        by_list = np.split(np.argsort(self.list, kind="stable"), np.cumsum(sizes)[:-1])
        rows = np.concatenate([np.zeros(0, np.int64), *(by_list[number] for number in numbers)])
        own = np.repeat(np.arange(len(numbers), dtype=np.int32), sizes[numbers])
        return replace(self.take(rows), list=own, lists=len(numbers))

    def summary(self) -> dict[str, Any]:
        """Kind and sizes, what a missing item means, and which pairs count."""
        return {**super().summary(), "lists": self.lists, "missing": self.missing, "pairs": self.pairs}

    def groups(self) -> Ints:
        """The group of each row, within which items are compared: its list."""
        return self.list

    def complete(self, named: NamedNodes | None = None) -> Rankings:
        """The same lists with a row for every item that counts in a list, and for no other.

        If ``missing`` is "below", these are all items of the list's query, otherwise those that it ranks. Lists
        keep the order of their first rows, and so do the rows of a list. The items that it does not name follow
        in the order in which the rows of the query name them, so that the order never depends on the ids.

        ``named``: the nodes of all rows, if these are only some of the lists.
        """
        if self.missing == "unknown":
            return self if self.ranked.all() else self.take(self.ranked)
        nodes, first_named = named or self._named()
        width = len(self.index.items)
        first = np.full(self.lists, -1, np.int64)
        first[self.list[::-1]] = np.arange(len(self.list))[::-1]  # the first row of each list
        given = np.flatnonzero(first >= 0)
        query = np.zeros(len(given), np.int64) if self.query is None else self.query[first[given]]
        sizes = np.bincount(nodes.query, minlength=int(query.max(initial=0)) + 1)
        starts, own = np.cumsum(sizes) - sizes, sizes[query]
        row_of = np.repeat(np.arange(len(given)), own)
        place = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
        node = np.repeat(starts[query], own) + place
        item = nodes.item[node]
        key = self.list.astype(np.int64) * width + self.item
        order = np.argsort(key, kind="stable")
        wanted = given[row_of] * width + item
        found = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        there = key[order][found] == wanted
        began = first[given][row_of]
        source = np.where(there, order[found], began)
        order = np.lexsort((np.where(there, source, first_named[node]), ~there, began))
        table = self.take(source[order])
        table = replace(table, item=item[order], rank=np.where(there[order], table.rank, np.nan))
        weight = table.weight
        if weight is not None:
            weight = np.where(table.ranked, weight, self._mean_weights()[table.list])
        timestamp = None if self.timestamp is None else self._last_times()[table.list]
        return replace(table, weight=weight, timestamp=timestamp)

    def _named(self) -> NamedNodes:
        """The nodes of these rows. A node that no row names comes after all rows."""
        nodes = named_nodes(len(self.index.items), self.query, self.item)
        found = np.full(len(nodes), len(self.item), np.int64)
        named = node_codes(nodes, self.index, self.query, self.item)
        found[named[::-1]] = np.arange(len(named))[::-1]
        return NamedNodes(nodes, found)

    def _mean_weights(self) -> Floats:
        """For each list the mean weight of the items that it ranks; its unranked items get the same weight."""
        own, ranked = self.list[self.ranked], self.ranked
        assert self.weight is not None
        total = np.bincount(own, self.weight[ranked], self.lists)
        return np.asarray(total / np.maximum(np.bincount(own, minlength=self.lists), 1))

    def _last_times(self) -> Floats:
        """For each list the time of its last row, when the list was finished."""
        last = np.full(self.lists, -np.inf)
        assert self.timestamp is not None
        np.maximum.at(last, self.list, self.timestamp)
        return last


J = TypeVar("J", bound=Judgments)


def join_tables(parts: Sequence[J]) -> J:
    """The rows of all parts in sequence; the parts share an index."""
    first = parts[0]
    columns: dict[str, Any] = {
        column.name: np.concatenate([getattr(part, column.name) for part in parts])
        for column in fields(first)
        if isinstance(getattr(first, column.name), np.ndarray)
    }
    return replace(first, **columns)


def join_pairs(parts: Sequence[Pairs]) -> Pairs:
    """The votes of all parts in sequence; the parts share an index."""
    return replace(join_tables(parts), judged=None)
