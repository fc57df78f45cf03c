"""Read features: files or frames in, one coded table out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data.arrays import Ints
from crowdrank.data.features import Features, find_repeated, shown_ids
from crowdrank.data.index import Index, translate_ids
from crowdrank.data.io.blocks import Block
from crowdrank.data.io.cells import MISSING_WORDS, TextCells, from_native
from crowdrank.data.io.columns import parse_mapping
from crowdrank.data.io.files import Source, open_sources
from crowdrank.data.io.letor import letor_blocks
from crowdrank.data.io.texts import find_parser, letor
from crowdrank.data.spool.folder import Spool
from crowdrank.data.spool.memory import budget
from crowdrank.errors import InputError

NAMES = {
    "query": ("query", "qid"),
    "item": ("item",),
    "label": ("label", "grade", "gold", "relevance"),
    "weight": ("weight",),
}
"""The roles of columns that are no features, and the names that they may have."""


def read_features(
    given: Any,
    *,
    columns: Mapping[str, str] | str | None = None,
    memory: str | int | None = None,
    spool: str | Path | None = None,
) -> Features:
    """Features from files or frames: LETOR text, or a table with ``[query,] item`` and a column per feature."""
    if isinstance(given, Features):
        return given
    mapping = parse_mapping(columns) if isinstance(columns, str) else dict(columns or {})
    many = isinstance(given, Sequence) and not isinstance(given, str)
    place, limit = Spool(spool), budget(memory)
    blocks, backend, names = list[Block](), "polars", list[str]()
    for one in given if many else [given]:
        if isinstance(one, str | Path):
            sources = open_sources(one, place, limit)
        else:
            frame, backend = from_native(one)
            sources = [Source("frame", frame.lazy())]
        for source in sources:
            names.append(source.name)
            blocks += _blocks(source, mapping)
    if not blocks:
        raise InputError("No files were given.", hint="Name at least one file, or - for standard input.")
    return _assemble(blocks, backend, ", ".join(names))


def _blocks(source: Source, mapping: Mapping[str, str]) -> Iterator[Block]:
    data = source.data.read_bytes() if isinstance(source.data, Path) else source.data
    if source.form == "text" and data and find_parser(data[:10000].decode("utf-8", "replace")) is letor:
        yield from letor_blocks(source.name, data)
        return
    frame = source.read_text()
    if frame.is_empty():
        raise InputError("there are no rows.", source=source.name)
    lowered = {name.strip().lower(): name for name in reversed(frame.columns)}
    roles = {
        role: next((lowered[own] for own in aliases if own in lowered), "") for role, aliases in NAMES.items()
    }
    ignored = set(mapping.get("ignore", "").split("+"))
    roles |= {role: name for role, name in mapping.items() if role != "ignore"}
    names = [name for name in frame.columns if name not in roles.values() and name not in ignored]
    renamed = frame.select(
        *(pl.col(name).alias(role) for role, name in roles.items() if name), *(pl.col(name) for name in names)
    )
    cells = TextCells(
        renamed, {role: name for role, name in roles.items() if name} | {n: n for n in names}, source.name
    )
    values = cells.frame.select(
        pl.when(pl.col(name).is_in([*MISSING_WORDS, "NULL"])).then(None).otherwise(pl.col(name)).alias(name)
        for name in names
    ).cast(pl.Float32)
    yield Block(
        query=cells.required("query") if roles["query"] else None,
        item=cells.required("item"),
        label=cells.number("label", gaps=True).to_numpy() if roles["label"] else None,
        weight=cells.weight().to_numpy() if roles["weight"] else None,
        names=tuple(names),
        values=np.ascontiguousarray(values.fill_null(float("nan")).to_numpy()),
    )


def _codes(parts: list[pl.Series]) -> tuple[pl.Series, Ints]:
    ids = pl.concat(parts)
    index = ids.unique().sort().rename("id")
    return index, translate_ids(ids, index)


def _assemble(blocks: list[Block], backend: str, source: str) -> Features:
    every = {name for block in blocks for name in block.names}
    names = blocks[0].names
    if every != set(names):
        names = tuple(sorted(every, key=int))
    values = np.zeros((sum(len(block.item) for block in blocks), len(names)), np.float32)
    done = 0
    for block in blocks:
        values[done : done + len(block.item), [names.index(name) for name in block.names]] = np.asarray(
            block.values
        )
        done += len(block.item)
    items, item = _codes([block.item for block in blocks])
    queries, query = None, None
    if blocks[0].query is not None:
        queries, query = _codes([block.query for block in blocks if block.query is not None])
    weights = [block.weight for block in blocks if block.weight is not None]
    labels = [block.label for block in blocks if block.label is not None]
    features = Features(
        index=Index(items, None, queries),
        query=query,
        item=item,
        names=names,
        values=values,
        label=np.concatenate(labels) if labels else None,
        weight=np.concatenate(weights) if weights else None,
        backend=backend,
        source=source,
    )
    again = find_repeated(query, item, len(items))
    if len(again):
        raise InputError(
            f"{len(again)} rows repeat the item of an earlier row: {shown_ids(features.take(again).ids())}.",
            source=source,
        )
    return features
