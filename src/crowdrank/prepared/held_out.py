"""New lists, translated to the nodes and workers of a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import Index, Integers, Nodes, Rankings, node_codes, read, to_lists, translate_ids
from crowdrank.errors import InputError
from crowdrank.prepared.lists import Lists


@dataclass(frozen=True, eq=False)
class HeldOut:
    """New lists in terms of a fit.

    ``node`` of each row and ``worker`` of each list are those of the fit, or -1 if the fit has not seen them.
    ``number`` is the number of each list among the ``count`` given lists. Lists that order nothing are left out.
    """

    lists: Lists
    node: Integers
    worker: NDArray[np.int32] | None
    number: Integers
    count: int


def read_held_out(judgments: Any, nodes: Nodes, index: Index, model: str) -> HeldOut:
    """New lists, for a model that was fitted to these nodes."""
    table = to_lists(read(judgments), model)
    if (index.queries is None) != (table.index.queries is None):
        raise InputError("Either the fit or these lists have queries, but not both.")
    if table.missing == "below":
        table = _with_all_items(table, nodes, index)
    lists = Lists(table)
    query = None if lists.index.queries is None else translate_ids(lists.index.queries, index.queries)
    item = translate_ids(lists.index.items, index.items)
    own = node_codes(nodes, index, None if query is None else query[lists.nodes.query], item[lists.nodes.item])
    worker = None
    if lists.worker is not None and lists.index.workers is not None and index.workers is not None:
        worker = translate_ids(lists.index.workers, index.workers)[lists.worker]
    return HeldOut(lists, own[lists.node], worker, lists.number, table.lists)


def _with_all_items(table: Rankings, nodes: Nodes, index: Index) -> Rankings:
    """The lists with all items that the fit has in their queries. The added items are unranked."""
    items = pl.concat([table.index.items, index.items]).unique().sort()
    own, theirs = translate_ids(table.index.items, items), translate_ids(index.items, items)
    query = np.zeros(len(table.item), np.int64) if table.query is None else table.query.astype(np.int64)
    node_query = nodes.query
    if index.queries is not None:
        node_query = translate_ids(index.queries, table.index.queries)[nodes.query]
    where, first = np.unique(query, return_index=True)
    place = np.searchsorted(where, node_query)
    known = (place < len(where)) & (where[np.minimum(place, len(where) - 1)] == node_query)
    source = np.concatenate([np.arange(len(table.item)), first[place[known]]])
    named = np.concatenate([own[table.item], theirs[nodes.item[known]]])
    rank = np.concatenate([table.rank, np.full(int(known.sum()), np.nan)])
    return replace(table.take(source), index=replace(table.index, items=items), item=named, rank=rank)
