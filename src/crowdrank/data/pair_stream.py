"""The pairs of ratings and rankings as a stream: models of pairs count them without holding them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from crowdrank.data.arrays import recut
from crowdrank.data.convert import (
    comparable_rows,
    count_expanded,
    note_conversion,
    pieces_of_pairs,
    refuse_too_many,
    require_pairs,
    to_pairs,
)
from crowdrank.data.index import Nodes, named_nodes, node_codes
from crowdrank.data.spool.folder import Spool
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRows
from crowdrank.data.tables import Judgments, Pairs, Rankings, Ratings, join_pairs

BATCH_PAIRS = 1 << 20
"""How many pairs are in memory at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvertedPairs(Judgments):
    """The pairs of ratings or rankings, made a batch at a time whenever they are asked for.

    ``parts`` gives the rows, lists as a whole and in the order of their first rows. ``weighted``: some of them
    have a weight. ``spool`` is None if the rows are in memory.
    """

    kind = "pairs"

    parts: Callable[[], Iterator[Ratings | Rankings]]
    judged: Nodes
    count: int
    weighted: bool
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
        parts = map(self._by_node, self.parts()) if by_node else self.parts()
        pieces = chain.from_iterable(pieces_of_pairs(part, BATCH_PAIRS) for part in parts)
        alike = (self._alike(piece, by_node) for piece in pieces)
        return recut(alike, BATCH_PAIRS, join_pairs, lambda pairs: pairs.rows)

    def _by_node(self, rows: Ratings | Rankings) -> Ratings | Rankings:
        """The rows by node: cheaper to find here than for each of their pairs."""
        node = node_codes(self.judged, self.index, rows.query, rows.item).astype(np.int32)
        return replace(rows, item=node)

    def _alike(self, pairs: Pairs, by_node: bool) -> Pairs:
        """The pairs with the same columns as all others."""
        weight = np.ones(pairs.rows) if self.weighted and pairs.weight is None else pairs.weight
        return replace(pairs, query=None if by_node else pairs.query, weight=weight)


def stream_pairs(judgments: Judgments) -> Pairs | SpooledPairs | ConvertedPairs:
    """The pairs of any judgments, as ``to_pairs`` gives them; if they are more than one batch, as a stream."""
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


def _stream(
    judgments: Judgments, parts: Callable[[], Iterator[Ratings | Rankings]], judged: Nodes, spool: Spool | None
) -> Pairs | ConvertedPairs:
    total = rows = count = 0
    below = weighted = False
    for part in parts():
        rows += part.rows
        below |= isinstance(part, Rankings) and not part.ranked.all()
        weighted |= part.weight is not None
        expanded, made = count_expanded(part)
        total, count = total + expanded, count + made
    refuse_too_many(total)
    require_pairs(count, judgments.kind)
    shared: dict[str, Any] = {
        "notes": (*judgments.notes, note_conversion(part, rows, count, below=below)),
        "judged": judged,
    }
    found = ConvertedPairs(
        index=judgments.index,
        parts=parts,
        count=count,
        weighted=weighted,
        spool=spool,
        backend=judgments.backend,
        **shared,
    )
    return replace(next(found.batches()), **shared) if count <= BATCH_PAIRS else found
