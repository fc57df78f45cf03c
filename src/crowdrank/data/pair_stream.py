"""The pairs of ratings and rankings as a stream: models of pairs count them without holding them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdrank.data.arrays import Integers, recut
from crowdrank.data.convert import note_conversion, note_sample, refuse_too_many, require_pairs, to_pairs
from crowdrank.data.expand import (
    comparable_rows,
    count_whole,
    find_expansion,
    pieces_of_pairs,
    row_places,
    sampled_pairs,
)
from crowdrank.data.index import Nodes, named_nodes, node_codes
from crowdrank.data.pair_sample import NodeKeys, RowPlaces, find_node_keys
from crowdrank.data.spool.folder import Spool
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRows
from crowdrank.data.tables import GradedJudgments, Judgments, Pairs, Rankings, Ratings, join_pairs

BATCH_PAIRS = 1 << 20
"""How many pairs are in memory at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvertedPairs(Judgments):
    """The pairs of ratings or rankings, made a batch at a time whenever they are asked for.

    ``parts`` gives the rows, whole lists in the order of their first rows. ``weighted``: some pairs have a
    weight. ``keys`` is None if no list is sampled. ``spool`` is None if the rows are in memory.
    """

    kind = "pairs"

    parts: Callable[[], Iterator[Ratings | Rankings]]
    judged: Nodes
    count: int
    weighted: bool
    keys: NodeKeys | None = None
    spool: Spool | None = None
    sided: bool = False

    @property
    def rows(self) -> int:
        """Number of comparisons."""
        return self.count

    def batches(self, *, by_node: bool = False) -> Iterator[Pairs]:
        """The pairs in the order in which ``to_pairs`` has them. Batches depend on the pairs alone.

        ``by_node``: items go by the number of their node, and there are no queries.
        """
        alike = (self._alike(piece, by_node) for piece in self._pieces(by_node))
        return recut(alike, BATCH_PAIRS, join_pairs, lambda pairs: pairs.rows)

    def _pieces(self, by_node: bool) -> Iterator[Pairs]:
        """The pairs of all short lists, then those of the long ones."""
        for part in self.parts():
            yield from pieces_of_pairs(self._by_node(part) if by_node else part, BATCH_PAIRS)
        if self.keys is not None:
            for part in self.parts():
                node, rows = _nodes(self.judged, part), self._by_node(part) if by_node else part
                yield from (piece.pairs for piece in sampled_pairs(rows, node, self.keys, BATCH_PAIRS))

    def _by_node(self, rows: Ratings | Rankings) -> Ratings | Rankings:
        """The rows by node: cheaper to find here than for each of their pairs."""
        return replace(rows, item=_nodes(self.judged, rows).astype(np.int32))

    def _alike(self, pairs: Pairs, by_node: bool) -> Pairs:
        """The pairs with the same columns as all others."""
        weight = np.ones(pairs.rows) if self.weighted and pairs.weight is None else pairs.weight
        return replace(pairs, query=None if by_node else pairs.query, weight=weight)


def _nodes(judged: Nodes, rows: Ratings | Rankings) -> Integers:
    return node_codes(judged, rows.index, rows.query, rows.item)


def stream_pairs(judgments: Judgments) -> Pairs | SpooledPairs | ConvertedPairs:
    """The pairs of any judgments, as ``to_pairs`` gives them; if they are more than one batch, as a stream."""
    if isinstance(judgments, GradedJudgments):
        judgments.require_order("A comparison of two ratings")
    if isinstance(judgments, Ratings | Rankings):
        rows = comparable_rows(judgments)
        judged = named_nodes(len(judgments.index.items), judgments.query, judgments.item)
        return _stream(judgments, lambda: iter([rows]), judged, None)
    if isinstance(judgments, SpooledRows):
        named = judgments.named()
        return _stream(
            judgments,
            lambda: (comparable_rows(part, named) for part in judgments.groups()),
            named.nodes,
            judgments.spool,
        )
    return to_pairs(judgments)


@dataclass
class _Counts:
    """What is known after a pass over all rows: how many rows and pairs there are, and how many lists are long."""

    rows: int = 0
    every: int = 0
    whole: int = 0
    pairs: int = 0
    long: int = 0
    opponents: int = 0
    below: bool = False
    weighted: bool = False

    def add(self, part: Ratings | Rankings) -> None:
        """Count some whole lists."""
        expansion = find_expansion(part)
        self.rows += part.rows
        self.below |= isinstance(part, Rankings) and not part.ranked.all()
        self.weighted |= part.weight is not None
        self.every += expansion.every
        self.whole += expansion.whole
        refuse_too_many(self.whole)
        self.pairs += count_whole(part, expansion)
        self.long += len(expansion.long.lists)
        self.opponents = expansion.long.opponents


def _stream(
    judgments: Judgments, given: Callable[[], Iterator[Ratings | Rankings]], judged: Nodes, spool: Spool | None
) -> Pairs | ConvertedPairs:
    counts = _Counts()
    for part in given():
        counts.add(part)

    def parts() -> Iterator[Ratings | Rankings]:
        """All of them with weights, if some have any."""
        return (_weighted(part) if counts.weighted else part for part in given())

    keys, exact = None, True
    if counts.long:
        keys = _find_keys(parts, judged, spool)
        for part in parts():
            for piece in sampled_pairs(part, _nodes(judged, part), keys, BATCH_PAIRS):
                counts.pairs, exact = counts.pairs + piece.pairs.rows, exact and piece.exact
    require_pairs(counts.pairs, judgments.kind)
    conversion = note_conversion(part, counts.rows, counts.pairs, below=counts.below)
    sample = note_sample(counts.long, counts.opponents, counts.every, exact=exact)
    shared: dict[str, Any] = {"notes": (*judgments.notes, conversion, *sample), "judged": judged}
    found = ConvertedPairs(
        index=judgments.index,
        parts=parts,
        count=counts.pairs,
        weighted=counts.weighted or keys is not None,
        keys=keys,
        spool=spool,
        backend=judgments.backend,
        **shared,
    )
    return replace(next(found.batches()), **shared) if counts.pairs <= BATCH_PAIRS else found


def _find_keys(parts: Callable[[], Iterator[Ratings | Rankings]], judged: Nodes, spool: Spool | None) -> NodeKeys:
    def places() -> Iterator[RowPlaces]:
        return (row_places(part, _nodes(judged, part)) for part in parts())

    if spool is not None:
        return find_node_keys(places, len(judged), spool.folder("places"))
    kept = list(places())
    return find_node_keys(lambda: kept, len(judged))


def _weighted(rows: Ratings | Rankings) -> Ratings | Rankings:
    return rows if rows.weight is not None else replace(rows, weight=np.ones(len(rows.item)))
