"""Ratings and rankings as pairs or lists. Every conversion is explicit and noted in the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import summed
from crowdrank.data.index import named_nodes
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRankings, SpooledRows
from crowdrank.data.tables import LEFT, RIGHT, TIE, Judgments, NamedNodes, Pairs, Rankings, Ratings
from crowdrank.errors import InputError, Note, Remedy, UsageError

MOST_PAIRS = 200_000_000
PAIRS = ("all", "adjacent")
"""Which pairs of a ranking count."""


def to_pairs(judgments: Judgments, *, ties: str = "keep", pairs: str | None = None) -> Pairs | SpooledPairs:
    """Every pair of items that one worker judged within one query (or list), as a comparison.

    The better label, or the smaller rank, wins. Equal ones are a tie, which is kept (``ties="keep"``) or
    left out (``"drop"``). If missing items are below, each item that a list ranks wins against each item
    that it does not rank; two unranked items form no pair. A pair's weight is the geometric mean of the
    weights of its two rows. Pairs are returned unchanged.

    ``pairs``: which pairs of a ranking count, ``"all"`` or only the ``"adjacent"`` ones. The chain X > Y > Z is
    then X > Y and Y > Z (Crowd-BT section 3). Tied items are adjacent to each other, and each of them to the
    items of the next rank. The default is what the table says (``read(..., pairs=...)``).
    """
    if ties not in ("keep", "drop"):
        raise UsageError(f"ties must be 'keep' or 'drop'. Got {ties!r}.")
    if isinstance(judgments, Pairs | SpooledPairs):
        return judgments
    judgments = load_rows(judgments)
    if pairs is not None:
        judgments = choose_pairs(judgments, pairs)
    if not isinstance(judgments, Ratings | Rankings):
        raise InputError("Only judgments convert to pairs.", value=type(judgments).__name__)
    found = make_pairs(judgments, ties=ties)
    require_pairs(found.rows, judgments.kind)
    return found


def load_rows(judgments: Judgments, who: str | None = None) -> Judgments:
    """The same judgments, with all rows in memory. If they were on disk, a note says who needs them."""
    if not isinstance(judgments, SpooledRows):
        return judgments
    loaded: Ratings | Rankings = judgments.load()
    if who is None:
        return loaded
    message = f"{who} needs all {judgments.kind} in memory, so the {judgments.rows} on disk were read back."
    return replace(loaded, notes=(*loaded.notes, Note("read-back", message)))


def require_pairs(count: int, kind: str) -> None:
    """Raise an error if judgments give no pair."""
    if not count:
        raise InputError(
            f"These {kind} give no pair: no worker judged two items differently.",
            hint="Comparisons need a worker (or list) with at least two items.",
        )


def choose_pairs(judgments: Judgments, pairs: str) -> Rankings | SpooledRankings:
    """The rankings with this choice of the pairs that count."""
    if pairs not in PAIRS:
        raise UsageError(f"pairs must be 'all' or 'adjacent'. Got {pairs!r}.")
    if not isinstance(judgments, Rankings | SpooledRankings):
        raise UsageError(f"'pairs' applies only to rankings. These judgments are {judgments.kind}.")
    return replace(judgments, pairs=pairs)


def make_pairs(judgments: Ratings | Rankings, *, ties: str = "keep") -> Pairs:
    """The pairs that ratings or rankings give, possibly none."""
    judged = named_nodes(len(judgments.index.items), judgments.query, judgments.item)
    rows = comparable_rows(judgments)
    order, partners = _partners(rows)
    refuse_too_many(int(partners.sum()))
    found = _expand(rows, _values(rows), order, partners, ties)
    below = isinstance(rows, Rankings) and not rows.ranked.all()
    note = note_conversion(rows, rows.rows, found.rows, below=below, ties=ties)
    return replace(found, judged=judged, notes=(*judgments.notes, note))


def comparable_rows(judgments: Ratings | Rankings, named: NamedNodes | None = None) -> Ratings | Rankings:
    """The rows of which pairs are made: one row for each item of a worker, and all items of a list."""
    if isinstance(judgments, Rankings):
        return judgments.complete(named)
    return judgments if judgments.worker is None else _average_repeats(judgments)


def refuse_too_many(total: int) -> None:
    """Raise an error if there would be more pairs than MOST_PAIRS."""
    if total > MOST_PAIRS:
        raise InputError(
            f"These judgments would give {total} pairs, more than {MOST_PAIRS}.",
            hint="Use a model that takes ratings or rankings as they are, or split the queries.",
        )


def note_conversion(
    judgments: Ratings | Rankings, rows: int, pairs: int, *, below: bool, ties: str = "keep"
) -> Note:
    """The note on judgments with so many ``rows`` that were read as so many ``pairs``."""
    kind = "adjacent pairs" if _only_adjacent(judgments) else "pairs"
    how = f"ties: {ties}, missing: below" if below else f"ties: {ties}"
    return Note("conversion", f"{size_in_words(judgments, rows)} were read as {pairs} {kind} ({how}).")


def count_expanded(rows: Ratings | Rankings) -> tuple[int, int]:
    """How many pairs comparable rows expand to, and how many of these are pairs of two different items."""
    total = count_partners(rows)
    if len(np.unique(_label_codes(rows))) == len(rows.item):
        return total, total
    refuse_too_many(total)
    return total, sum(piece.rows for piece in pieces_of_pairs(rows, 1 << 20))


def count_partners(rows: Ratings | Rankings) -> int:
    """How many pairs comparable rows expand to, those of an item with itself included."""
    return int(_partners(rows)[1].sum())


def pieces_of_pairs(rows: Ratings | Rankings, most: int, *, ties: str = "keep") -> Iterator[Pairs]:
    """The pairs of comparable rows, about ``most`` at a time, in the order in which ``make_pairs`` has them."""
    order, partners = _partners(rows)
    ends, value, first = np.cumsum(partners), _values(rows), 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield _expand(rows, value, order[first:], partners[first:end], ties)
        first = end


def _expand(
    judgments: Ratings | Rankings,
    value: NDArray[np.float64],
    order: NDArray[np.int64],
    partners: NDArray[np.int64],
    ties: str,
) -> Pairs:
    """The pairs of each of the first rows in this order with as many of the rows after it as ``partners`` says.

    ``value``: how good each row is.
    """
    first, second = _pairs_of(order, partners)
    left, right = judgments.item[first], judgments.item[second]
    difference = np.sign(value[first] - value[second])
    keep = left != right
    if ties == "drop":
        keep &= difference != 0
    if not keep.all():
        first, second, left, right = first[keep], second[keep], left[keep], right[keep]
        difference = difference[keep]
    outcome = np.where(difference > 0, LEFT, np.where(difference < 0, RIGHT, TIE)).astype(np.int8)
    weight = None if judgments.weight is None else np.sqrt(judgments.weight[first] * judgments.weight[second])
    return Pairs(
        index=judgments.index,
        left=left,
        right=right,
        outcome=outcome,
        sided=False,
        weight=weight,
        worker=_take_optional(judgments.worker, first),
        query=_take_optional(judgments.query, first),
        timestamp=None if judgments.timestamp is None else judgments.timestamp[second],
        backend=judgments.backend,
    )


def to_lists(judgments: Judgments, model: str = "A model of lists") -> Rankings:
    """Ranked lists: rankings as they are, ratings as one list for each worker within a query.

    The larger label comes first, equal labels are tied. Ratings without workers are one list per query.
    """
    judgments = load_rows(judgments, model)
    if isinstance(judgments, Rankings):
        return judgments
    if not isinstance(judgments, Ratings):
        raise InputError(
            f"{model} takes rankings or ratings, but these judgments are {judgments.kind}.",
            hint=("Choose a model that takes them, for example ", Remedy("model", "bt")),
        )
    refuse_unknown_judges(judgments, model)
    groups = np.unique(_group_codes(judgments))
    found = ratings_as_lists(judgments, groups)
    return replace(found, notes=(*judgments.notes, note_lists(judgments.rows, len(groups))))


def refuse_unknown_judges(ratings: Ratings, model: str) -> None:
    """Raise an error if ratings without workers rate an item several times, so that they are not one list."""
    if ratings.worker is None and len(np.unique(_label_codes(ratings))) < ratings.rows:
        raise InputError(
            f"{model} needs to know who judged: these ratings name no worker, and rate some items several times.",
            hint=("Name the column: ", Remedy("columns", "worker=NAME")),
        )


def note_lists(ratings: int, lists: int) -> Note:
    """The note on ratings that were read as lists."""
    return Note("conversion", f"{ratings} ratings were read as {lists} lists.")


def ratings_as_lists(ratings: Ratings, groups: NDArray[np.int64]) -> Rankings:
    """A list for each group of ratings; ``groups`` are the sorted codes of all groups."""
    ratings = _average_repeats(ratings)
    return Rankings(
        index=ratings.index,
        item=ratings.item,
        rank=-ratings.label,
        list=np.searchsorted(groups, _group_codes(ratings)).astype(np.int32),
        lists=len(groups),
        worker=ratings.worker,
        query=ratings.query,
        weight=ratings.weight,
        timestamp=ratings.timestamp,
        backend=ratings.backend,
    )


def _label_codes(judgments: Ratings | Rankings) -> NDArray[np.int64]:
    """A number for each combination of query, worker (or list) and item."""
    return np.asarray(_group_codes(judgments).astype(np.int64) * len(judgments.index.items) + judgments.item)


def _average_repeats(ratings: Ratings) -> Ratings:
    """Ratings in which no worker rates an item twice: repeats become their mean label, with their total weight.

    They stand where the first of them stood, so that the order of the rows does not depend on the ids.
    """
    _, first, place = np.unique(_label_codes(ratings), return_index=True, return_inverse=True)
    if len(first) == ratings.rows:
        return ratings
    order = np.argsort(first)
    first, place = first[order], np.argsort(order)[place]
    weight = summed(place, ratings.weight, len(first))
    label = summed(place, ratings.label if ratings.weight is None else ratings.weight * ratings.label, len(first))
    return replace(ratings.take(first), label=label / weight, weight=weight)


def size_in_words(judgments: Ratings | Rankings, rows: int | None = None) -> str:
    """How many judgments there are, in words. ``rows``: those of all, if these are only some of the lists."""
    rows = judgments.rows if rows is None else rows
    if isinstance(judgments, Ratings):
        return f"{rows} ratings"
    return f"{judgments.lists} rankings of {rows} items"


def count_pairs(judgments: Ratings | Rankings) -> int:
    """How many pairs the judgments convert to, ties and repeated items included."""
    return count_partners(judgments.complete() if isinstance(judgments, Rankings) else judgments)


def _only_adjacent(judgments: Ratings | Rankings) -> bool:
    return isinstance(judgments, Rankings) and judgments.pairs == "adjacent"


def _values(judgments: Ratings | Rankings) -> NDArray[np.float64]:
    """How good each row is: larger is better, and an unranked item is worst."""
    if isinstance(judgments, Ratings):
        return judgments.label
    return np.where(judgments.ranked, -judgments.rank, -np.inf)


def _take_optional(column: NDArray[Any] | None, rows: NDArray[np.int64]) -> NDArray[Any] | None:
    return None if column is None else column[rows]


def _group_codes(judgments: Ratings | Rankings) -> NDArray[Any]:
    """The group of each row, within which items are compared: a list, or a (query, worker) of ratings."""
    return judgments.groups()


def _partners(judgments: Ratings | Rankings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers in the order of their groups, and how many of the rows right after each one it is paired with.

    Groups are in order of first appearance. Ranked rows come first within their group, and pair with all rows
    after them, or with those of their own rank and of the next. Unranked rows come last and pair with none.
    """
    group, value = _group_codes(judgments), _values(judgments)
    leads = value > -np.inf
    _, first_row, group = np.unique(group, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first_row))[group]
    order = np.lexsort((-value if _only_adjacent(judgments) else ~leads, group))
    ends = np.cumsum(np.bincount(group))
    end_of = np.repeat(ends, np.diff(ends, prepend=0))
    if _only_adjacent(judgments):
        end_of = np.minimum(end_of, _ends_of_next(group[order], value[order]))
    return order, np.where(leads[order], end_of - np.arange(len(group)) - 1, 0)


def _ends_of_next(group: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each row, the end of the rows that have the value after its own. Rows are sorted by group and value."""
    new = (np.diff(group, prepend=-1) != 0) | np.concatenate([[True], value[1:] != value[:-1]])[: len(value)]
    ends = np.append(np.flatnonzero(new), [len(value), len(value)])[2:]
    return np.asarray(ends[np.cumsum(new) - 1])


def _pairs_of(
    order: NDArray[np.int64], partners: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of the first and of the second row of every pair."""
    first = np.repeat(np.arange(len(partners)), partners)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    return order[first], order[second]
