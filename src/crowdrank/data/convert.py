"""Ratings and rankings as pairs or lists. Every conversion is explicit and noted in the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, summed
from crowdrank.data.index import named_nodes
from crowdrank.data.pair_sample import LONG, OPPONENTS, PairSample, RowPlaces, count_sampled, sample_pairs
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.tables import LEFT, RIGHT, TIE, Judgments, Pairs, Rankings, Ratings
from crowdrank.errors import InputError, Note, Remedy, UsageError

MOST_PAIRS = 200_000_000
PAIRS = ("auto", "all", "adjacent")
"""Which pairs of a list count; or a number."""
FEWEST = 2
"""The smallest number of opponents that may be asked for."""


def to_pairs(judgments: Judgments, *, ties: str = "keep", pairs: str | int | None = None) -> Pairs | SpooledPairs:
    """The pairs of items that one worker judged within one query (or list), as comparisons.

    The better label, or the smaller rank, wins. Equal ones are a tie, which is kept (``ties="keep"``) or
    left out (``"drop"``). If missing items are below, each item that a list ranks wins against each item
    that it does not rank; two unranked items form no pair. A pair's weight is the geometric mean of the
    weights of its two rows. Pairs are returned unchanged.

    ``pairs``: which of them count. ``"all"``; a number: in lists with more items than that, each item is compared
    with about so many others, and the weights of these pairs stand for all (see ``pair_sample``); ``"auto"``: the
    same with 50 others, in lists of more than 200 items; ``"adjacent"``, only for rankings: the chain X > Y > Z is
    X > Y and Y > Z (Crowd-BT section 3). Tied items are adjacent to each other, and each of them to the items of
    the next rank. The default is what the table says (``read(..., pairs=...)``), and "auto" if it says nothing.
    """
    if ties not in ("keep", "drop"):
        raise UsageError(f"ties must be 'keep' or 'drop'. Got {ties!r}.")
    if isinstance(judgments, Pairs | SpooledPairs):
        return judgments
    if not isinstance(judgments, Ratings | Rankings):
        raise InputError("Only judgments convert to pairs.", value=type(judgments).__name__)
    if pairs is not None:
        judgments = choose_pairs(judgments, pairs)
    found = make_pairs(judgments, ties=ties)
    if not found.rows:
        raise InputError(
            f"These {judgments.kind} give no pair: no worker judged two items differently.",
            hint="Comparisons need a worker (or list) with at least two items.",
        )
    return found


def choose_pairs(judgments: Judgments, pairs: str | int) -> Ratings | Rankings:
    """The ratings or rankings with this choice of the pairs that count."""
    if isinstance(pairs, str) and pairs.isdecimal():
        pairs = int(pairs)
    if (isinstance(pairs, int) and (isinstance(pairs, bool) or pairs < FEWEST)) or (
        not isinstance(pairs, int) and pairs not in PAIRS
    ):
        wanted = "'auto', 'all', 'adjacent' or a number of opponents from 2 on"
        raise UsageError(f"pairs must be {wanted}. Got {pairs!r}.")
    if not isinstance(judgments, Ratings | Rankings):
        raise UsageError(f"'pairs' applies only to ratings and rankings. These judgments are {judgments.kind}.")
    if pairs == "adjacent" and not isinstance(judgments, Rankings):
        raise UsageError(f"pairs=adjacent applies only to rankings. These judgments are {judgments.kind}.")
    return replace(judgments, pairs=pairs)


def make_pairs(judgments: Ratings | Rankings, *, ties: str = "keep") -> Pairs:
    """The pairs that ratings or rankings give, possibly none."""
    if isinstance(judgments, Ratings):
        judgments.require_order("A comparison of two ratings")
    judged = named_nodes(len(judgments.index.items), judgments.query, judgments.item)
    if isinstance(judgments, Ratings) and judgments.worker is not None:
        judgments = _average_repeats(judgments)
    if isinstance(judgments, Rankings):
        judgments = judgments.complete()
    order, partners = _partners(judgments)
    long = _long_lists(judgments)
    every = int(partners.sum())
    partners = np.where(long.of_row[order], 0, partners)
    total = int(partners.sum())
    if total > MOST_PAIRS:
        raise InputError(
            f"These judgments would give {total} pairs, more than {MOST_PAIRS}.",
            hint=("Compare each item only with some others of its list: ", Remedy("pairs", str(OPPONENTS))),
        )
    first, second = _pairs_of(order, partners)
    value = _values(judgments)
    sample = long.sample(judgments, value)
    if sample is not None:
        first, second = np.concatenate([first, sample.first]), np.concatenate([second, sample.second])
    left, right = judgments.item[first], judgments.item[second]
    keep = (left != right) & ((value[first] > -np.inf) | (value[second] > -np.inf))
    if ties == "drop":
        keep &= value[first] != value[second]
    weight = None if sample is None else np.concatenate([np.ones(total), sample.weight])[keep]
    first, second, left, right = first[keep], second[keep], left[keep], right[keep]
    ahead, behind = value[first] > value[second], value[first] < value[second]
    if judgments.weight is not None:
        own = np.sqrt(judgments.weight[first] * judgments.weight[second])
        weight = own if weight is None else weight * own
    kind = "adjacent pairs" if _only_adjacent(judgments) else "pairs"
    below = isinstance(judgments, Rankings) and not judgments.ranked.all()
    how = f"ties: {ties}, missing: below" if below else f"ties: {ties}"
    message = f"{size_in_words(judgments)} were read as {len(first)} {kind} ({how})."
    return Pairs(
        index=judgments.index,
        left=left,
        right=right,
        outcome=np.where(ahead, LEFT, np.where(behind, RIGHT, TIE)).astype(np.int8),
        sided=False,
        judged=judged,
        weight=weight,
        worker=_take_optional(judgments.worker, first),
        query=_take_optional(judgments.query, first),
        timestamp=None if judgments.timestamp is None else judgments.timestamp[second],
        notes=(*judgments.notes, Note("conversion", message), *long.notes(sample, every)),
        backend=judgments.backend,
    )


@dataclass(frozen=True, eq=False)
class _LongLists:
    """The lists whose pairs are sampled: their numbers, whether each row is in one, and how many others each of
    their items meets."""

    group: Integers
    lists: Integers
    opponents: int

    @property
    def of_row(self) -> NDArray[np.bool_]:
        return np.isin(self.group, self.lists)

    def count(self) -> int:
        """How many pairs are taken."""
        sizes = np.bincount(self.group)[self.lists]
        return sum(count_sampled(int(size), self.opponents) for size in sizes)

    def sample(self, judgments: Ratings | Rankings, value: Floats) -> PairSample | None:
        if not len(self.lists):
            return None
        node = judgments.item.astype(np.int64)
        if judgments.query is not None:
            node += judgments.query.astype(np.int64) * len(judgments.index.items)
        node = np.unique(node, return_inverse=True)[1]
        return sample_pairs(RowPlaces(self.group, node, value, judgments.weight), self.lists, self.opponents)

    def notes(self, sample: PairSample | None, every: int) -> list[Note]:
        if sample is None:
            return []
        count = len(self.lists)
        message = (
            f"{count} {'list is' if count == 1 else 'lists are'} long. Each of their items is compared with about "
            f"{self.opponents} others of its list, whose weights stand for all: {every} pairs in total."
        )
        if not sample.exact:
            message += (
                " Many items have the same judgments; which of them are compared depends on the order of the rows."
            )
        return [Note("pairs-sampled", message, hint=("All pairs count with ", Remedy("pairs", "all")))]


def _long_lists(judgments: Ratings | Rankings) -> _LongLists:
    """The lists to sample from."""
    group = np.unique(_group_codes(judgments), return_inverse=True)[1].astype(np.int64)
    pairs = judgments.pairs
    if isinstance(pairs, int):
        least, opponents = pairs + 1, pairs
    else:
        least, opponents = (LONG if pairs == "auto" else len(group)), OPPONENTS
    return _LongLists(group, np.flatnonzero(np.bincount(group) > least), opponents)


def to_lists(judgments: Judgments, model: str = "A model of lists") -> Rankings:
    """Ranked lists: rankings as they are, ratings as one list for each worker within a query.

    The larger label comes first, equal labels are tied. Ratings without workers are one list per query.
    """
    if isinstance(judgments, Rankings):
        return judgments
    if not isinstance(judgments, Ratings):
        raise InputError(
            f"{model} takes rankings or ratings, but these judgments are {judgments.kind}.",
            hint=("Choose a model that takes them, for example ", Remedy("model", "bt")),
        )
    judgments.require_order(model)
    if judgments.worker is None and len(np.unique(_label_codes(judgments))) < judgments.rows:
        raise InputError(
            f"{model} needs to know who judged: these ratings name no worker, and rate some items several times.",
            hint=("Name the column: ", Remedy("columns", "worker=NAME")),
        )
    ratings = _average_repeats(judgments)
    groups, lists = np.unique(_group_codes(ratings), return_inverse=True)
    message = f"{size_in_words(judgments)} were read as {len(groups)} lists."
    return Rankings(
        index=ratings.index,
        item=ratings.item,
        rank=-ratings.label,
        list=lists.astype(np.int32),
        lists=len(groups),
        worker=ratings.worker,
        query=ratings.query,
        weight=ratings.weight,
        timestamp=ratings.timestamp,
        notes=(*ratings.notes, Note("conversion", message)),
        backend=ratings.backend,
    )


def _label_codes(ratings: Ratings) -> NDArray[np.int64]:
    """A number for each combination of query, worker and item."""
    return np.asarray(_group_codes(ratings).astype(np.int64) * len(ratings.index.items) + ratings.item)


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


def size_in_words(judgments: Ratings | Rankings) -> str:
    """How many judgments there are, in words."""
    if isinstance(judgments, Ratings):
        return f"{judgments.rows} ratings"
    return f"{judgments.lists} rankings of {judgments.rows} items"


def count_pairs(judgments: Ratings | Rankings) -> int:
    """How many pairs the judgments convert to, ties and repeated items included."""
    if isinstance(judgments, Rankings):
        judgments = judgments.complete()
    order, partners = _partners(judgments)
    long = _long_lists(judgments)
    return int(partners[~long.of_row[order]].sum()) + long.count()


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
    if isinstance(judgments, Rankings):
        return judgments.list
    group = np.zeros(judgments.rows, np.int64)
    if judgments.query is not None:
        group += judgments.query
    if judgments.worker is not None and judgments.index.workers is not None:
        group = group * len(judgments.index.workers) + judgments.worker
    return group


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
    first = np.repeat(np.arange(len(order)), partners)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    return order[first], order[second]
