"""Read features: files or frames in, one coded table out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Ints
from crowdrank.data.features import Features, find_repeated, shown_ids
from crowdrank.data.ids import TEXT_IDS, Backend
from crowdrank.data.index import Index, translate_ids
from crowdrank.data.io.blocks import Block
from crowdrank.data.io.feature_tables import FeatureColumns, Mapped, find_features, parse_roles, table_blocks
from crowdrank.data.io.files import Source, open_sources
from crowdrank.data.io.frames import each_table, from_native
from crowdrank.data.io.letor import LetorRole
from crowdrank.data.io.letor_features import letor_blocks
from crowdrank.data.spool.folder import Spool
from crowdrank.data.spool.memory import TEXT_SHARE, budget
from crowdrank.data.spool.values import ValueStore
from crowdrank.errors import Hint, InputError, Remedy


def read_features(
    given: Any,
    *,
    columns: Mapped | str | None = None,
    memory: str | int | None = None,
    spool: str | Path | None = None,
    only: Sequence[str] | None = None,
) -> Features:
    r"""Features from files or frames, one row per (query, item), or per item if there are no queries.

    ``given`` is a path, ``"-"``, a folder of Parquet files, a frame of pandas, Polars or PyArrow, or a sequence of
    these, read as one table. It is LETOR or SVMlight text (``label [qid:Q] 1:v 2:v ... [# comment]``; an absent
    feature is 0), or a table with the columns item, query (or qid, query_id; optional), label (or grade, gold,
    relevance; optional) and weight (optional). Each other column is one feature. An empty cell, NaN or NULL is
    missing and becomes NaN.

    ``columns`` maps these roles to other column names, and ``ignore`` names columns that are not features, joined
    by ``+``, or patterns: ``"item=doc,label=rel,ignore=url+title*"``, or ``{"item": "doc", "ignore": ["url"]}``.

    ``only``: the features to read from a table; a note counts the columns that are left out. LETOR text is always
    read whole.

    Values that would take more than a third of ``memory`` (by default half of the free memory) are kept in a file
    within ``spool``. If fewer than a quarter of them are not 0, they are a sparse matrix.

    Raises InputError naming the file, row (the first data row is 1), column and value.

    >>> from pathlib import Path
    >>> import crowdrank as cr
    >>> _ = Path("train.txt").write_text("2 qid:1 1:0.5 2:3\n0 qid:1 1:0.1\n")
    >>> features = cr.read_features("train.txt")
    >>> features
    Features(rows=2, queries=1, features=2)
    >>> features.label, features.values[1]
    (array([2., 0.]), array([0.1, 0. ], dtype=float32))
    """
    if isinstance(given, Features):
        return given
    letor, place, limit = LetorRole("features"), Spool(spool), budget(memory)
    mapping = parse_roles(columns)
    tables = [
        table for one in each_table(given) for table in _open_tables(one, mapping, letor, place, limit, only)
    ]
    if not tables:
        raise InputError("No files were given.", hint="Name at least one file, or - for standard input.")
    _require_same_columns(tables)
    rows, store = _Rows(), ValueStore(place, limit)
    for table in tables:
        for block in table.blocks(letor):
            rows.add(block)
            store.add(block.names, block.values)
        table.source.forget()
    return _assemble(tables, rows, store)


@dataclass(frozen=True)
class _OpenFeatures:
    """A source, and its columns if it is a table (None: LETOR text)."""

    source: Source
    found: FeatureColumns | None
    backend: Backend

    def blocks(self, letor: LetorRole) -> Iterator[Block]:
        """Its rows."""
        if self.found is not None:
            return table_blocks(self.source, self.found)
        assert self.source.data is not None
        return letor_blocks(self.source.name, self.source.data, letor)


def _open_tables(
    given: Any, mapping: Mapped, letor: LetorRole, spool: Spool, limit: int, only: Sequence[str] | None
) -> Iterator[_OpenFeatures]:
    if isinstance(given, str | Path):
        sources, library = open_sources(given, letor, spool, limit // TEXT_SHARE), None
    else:
        frame, library = from_native(given, "Features")
        sources = [Source("frame", frame.lazy(), form="frame")]
    for source in sources:
        if source.form == "text":
            raise InputError("is a TREC or PrefLib file, which has no features.", source=source.name)
        found = None if source.form == "letor" else find_features(source.columns(), mapping, source.name)
        if found is not None and only is not None:
            found = found.only(only)
        backend = TEXT_IDS
        if library is not None and found is not None:
            ids = {role: [name] for role, name in found.roles.items() if role in ("item", "query")}
            backend = Backend.of(library, source.schema(), ids)
        yield _OpenFeatures(source, found, backend)


def _require_same_columns(tables: list[_OpenFeatures]) -> None:
    """Raise an error unless all sources are LETOR text, or tables with the same columns."""
    first = tables[0]
    for other in tables[1:]:
        own, known = other.found, first.found
        if own is None or known is None:
            if own is not known:
                problem = f"is not the same format as {first.source.name}: one is LETOR text, the other a table."
                raise InputError(problem, source=other.source.name)
            continue
        for columns, more, lacks in ((own, known, other), (known, own, first)):
            missing = [name for name in (*more.roles, *more.names) if name not in (*columns.roles, *columns.names)]
            if missing:
                has = first if lacks is other else other
                problem = f"is missing, but {has.source.name} has it."
                raise InputError(problem, source=lacks.source.name, column=missing[0])


class _Rows:
    """Ids, labels and weights of the rows read so far; the ids of a block are numbered within the block."""

    def __init__(self) -> None:
        self.query: list[tuple[pl.Series, Ints]] = []
        self.item: list[tuple[pl.Series, Ints]] = []
        self.label: list[NDArray[Any]] = []
        self.weight: list[NDArray[Any]] = []
        self.names: tuple[str, ...] | None = None
        self.omits = False

    def add(self, block: Block) -> None:
        """Keep the next rows."""
        if self.item and (block.query is None) == bool(self.query):
            raise InputError("Some of the files have a qid in every row and others have none.")
        self.omits = self.omits or block.omits or block.names != (self.names or block.names)
        self.names = block.names
        for held, ids in ((self.item, block.item), (self.query, block.query)):
            if ids is not None:
                held.append(_number_within(ids))
        for column, values in ((self.label, block.label), (self.weight, block.weight)):
            if values is not None:
                column.append(values)


def _number_within(ids: pl.Series) -> tuple[pl.Series, Ints]:
    """The distinct ids of a block, and the number of each row's id among them."""
    if ids.n_unique() == len(ids):
        return ids, np.arange(len(ids), dtype=np.int32)
    distinct = ids.unique(maintain_order=True)
    return distinct, translate_ids(ids, distinct)


def _number_ids(parts: list[tuple[pl.Series, Ints]]) -> tuple[pl.Series, Ints]:
    """The distinct ids in sorted order, and the code of each row.

    Sorting all ids takes less than half of the memory of a dictionary of them.
    """
    ids = pl.concat([distinct for distinct, _ in parts], rechunk=True)
    order = ids.arg_sort()
    ids = ids.gather(order)
    new = ids.ne_missing(ids.shift()).to_numpy().copy()
    new[0] = True
    codes = np.empty(len(ids), np.int32)
    codes[order.to_numpy()] = np.cumsum(new, dtype=np.int32) - 1
    found, done = list[Ints](), 0
    for distinct, own in parts:
        found.append(codes[done : done + len(distinct)][own])
        done += len(distinct)
    return ids.filter(pl.Series(new)).rename("id"), np.concatenate(found)


def _assemble(tables: list[_OpenFeatures], rows: _Rows, store: ValueStore) -> Features:
    source, found = ", ".join(dict.fromkeys(table.source.name for table in tables)), tables[0].found
    names, values = store.finish(lambda every: sorted(every, key=int) if found is None else found.names)
    if not names:
        raise InputError("there are no features.", source=source)
    if not any(len(ids) for ids, _ in rows.item):
        raise InputError("there are no rows.", source=source, hint="Write a header line and at least one row.")
    items, item = _number_ids(rows.item)
    queries, query = _number_ids(rows.query) if rows.query else (None, None)
    features = Features(
        index=Index(items, None, queries),
        query=query,
        item=item,
        names=names,
        values=values,
        label=np.concatenate(rows.label) if rows.label else None,
        weight=np.concatenate(rows.weight) if rows.weight else None,
        notes=tuple(note for table in tables if table.found for note in table.found.notes),
        backend=reduce(Backend.joined, (table.backend for table in tables)),
        source=source,
        omits=rows.omits,
    )
    again = find_repeated(query, item, len(items))
    if len(again):
        count = "1 row repeats" if len(again) == 1 else f"{len(again)} rows repeat"
        what = "item" if query is None else "(query, item)"
        raise InputError(
            f"{count} the {what} of an earlier row: {shown_ids(features.take(again[:4]).ids())}.",
            source=source,
            hint=_repeat_hint(found is None, query is None),
        )
    return features


def _repeat_hint(letor: bool, alone: bool) -> Hint:
    """What to do about rows that repeat an item."""
    if letor:
        return "An item is the docid of the comment, or the first word of the comment; each is once in a query."
    if alone:
        return ("There is no query column. If items belong to queries, name it: ", Remedy("columns", "query=NAME"))
    return "Features have one row for each item of a query."
