"""Lists to come in the terms of a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import Index, Nodes, Rankings, node_codes, read, to_lists
from crowdrank.errors import InputError
from crowdrank.models.lists import Integers, Lists


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Lists in the terms of a fit: the fit's ``node`` of each row and ``worker`` of each list, -1 where unseen;
    ``number`` of each list among the ``count`` that were given: those that order nothing are not here."""

    lists: Lists
    node: Integers
    worker: NDArray[np.int32] | None
    number: Integers
    count: int


def held_out(judgments: Any, nodes: Nodes, index: Index, model: str) -> HeldOut:
    """Lists to come, for a model that was fitted to these nodes."""
    table = to_lists(read(judgments), model)
    if (index.queries is None) != (table.index.queries is None):
        raise InputError("Either the fit or these lists have queries and the other has none.")
    if table.missing == "below":
        table = _with_all_items(table, nodes, index)
    lists = Lists(table)
    query = _recoded(lists.index.queries, index.queries)
    item = _recoded(lists.index.items, index.items)
    assert item is not None
    own = node_codes(nodes, index, None if query is None else query[lists.nodes.query], item[lists.nodes.item])
    worker = None
    if lists.worker is not None and index.workers is not None:
        found = _recoded(lists.index.workers, index.workers)
        assert found is not None
        worker = found[lists.worker]
    return HeldOut(lists, own[lists.node], worker, lists.number, table.lists)


def _recoded(ids: pl.Series | None, others: pl.Series | None) -> NDArray[np.int32] | None:
    """The code that each id has among others, -1 where it has none."""
    if ids is None or others is None:
        return None
    places = pl.Series(np.arange(len(others), dtype=np.int32))
    return np.asarray(ids.replace_strict(others, places, default=-1, return_dtype=pl.Int32).to_numpy())


def _with_all_items(table: Rankings, nodes: Nodes, index: Index) -> Rankings:
    """Lists that also name, without ranking them, the items that the fit has in their queries."""
    items = pl.concat([table.index.items, index.items]).unique().sort()
    own, theirs = _recoded(table.index.items, items), _recoded(index.items, items)
    assert own is not None
    assert theirs is not None
    query = np.zeros(len(table.item), np.int64) if table.query is None else table.query.astype(np.int64)
    code = _recoded(index.queries, table.index.queries)
    node_query = nodes.query if code is None else code[nodes.query]
    where, first = np.unique(query, return_index=True)
    place = np.searchsorted(where, node_query)
    known = (place < len(where)) & (where[np.minimum(place, len(where) - 1)] == node_query)
    source = np.concatenate([np.arange(len(table.item)), first[place[known]]])
    named = np.concatenate([own[table.item], theirs[nodes.item[known]]])
    rank = np.concatenate([table.rank, np.full(int(known.sum()), np.nan)])
    return replace(table.take(source), index=replace(table.index, items=items), item=named, rank=rank)
