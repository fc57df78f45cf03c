"""Ratings and rankings as pairs or lists. Every conversion is explicit and noted in the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdrank.data.arrays import Integers
from crowdrank.data.expand import (
    average_repeats,
    comparable_rows,
    expand_rows,
    find_expansion,
    is_adjacent_only,
    label_codes,
    sampled_pairs,
)
from crowdrank.data.index import named_nodes, node_codes
from crowdrank.data.pair_sample import OPPONENTS, find_node_keys
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRankings, SpooledRatings, SpooledRows
from crowdrank.data.tables import Judgments, Pairs, Rankings, Ratings, join_pairs
from crowdrank.errors import InputError, Note, Remedy, UsageError, count_noun

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
    same with 100 others, in lists of over 400 items; ``"adjacent"``, only for rankings: the chain X > Y > Z is
    X > Y and Y > Z (Crowd-BT section 3). Tied items are adjacent to each other, and each of them to the items of
    the next rank. The default is what the table says (``read(..., pairs=...)``), and "auto" if it says nothing.

    >>> import crowdrank as cr
    >>> lists = cr.read({"worker": ["ann"] * 3, "item": [*"abc"], "rank": [1, 2, 3]})
    >>> cr.to_pairs(lists).rows, cr.to_pairs(lists, pairs="adjacent").rows
    (3, 2)
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


def choose_pairs(judgments: Judgments, pairs: str | int) -> Ratings | Rankings | SpooledRatings | SpooledRankings:
    """The ratings or rankings with this choice of the pairs that count."""
    if isinstance(pairs, str) and pairs.isdecimal():
        pairs = int(pairs)
    if (isinstance(pairs, int) and (isinstance(pairs, bool) or pairs < FEWEST)) or (
        not isinstance(pairs, int) and pairs not in PAIRS
    ):
        wanted = "'auto', 'all', 'adjacent' or a number of opponents from 2 on"
        raise UsageError(f"pairs must be {wanted}. Got {pairs!r}.")
    if not isinstance(judgments, Ratings | Rankings | SpooledRatings | SpooledRankings):
        raise UsageError(f"'pairs' applies only to ratings and rankings. These judgments are {judgments.kind}.")
    if pairs == "adjacent" and not isinstance(judgments, Rankings | SpooledRankings):
        raise UsageError(f"pairs=adjacent applies only to rankings. These judgments are {judgments.kind}.")
    return replace(judgments, pairs=pairs)


def make_pairs(judgments: Ratings | Rankings, *, ties: str = "keep") -> Pairs:
    """The pairs that ratings or rankings give, possibly none."""
    if isinstance(judgments, Ratings):
        judgments.require_order("A comparison of two ratings")
    judged = named_nodes(len(judgments.index.items), judgments.query, judgments.item)
    rows = comparable_rows(judgments)
    expansion = find_expansion(rows)
    refuse_too_many(expansion.whole)
    found, exact, long = expand_rows(rows, expansion.order, expansion.partners, ties), True, expansion.long
    if len(long.lists):
        node = node_codes(judged, rows.index, rows.query, rows.item)
        places = long.places(rows, node)
        keys = find_node_keys(lambda: [places], len(judged))
        pieces = list(sampled_pairs(rows, node, keys, MOST_PAIRS, ties=ties))
        exact = all(piece.exact for piece in pieces)
        weight = np.ones(found.rows) if found.weight is None else found.weight
        found = join_pairs([replace(found, weight=weight), *(piece.pairs for piece in pieces)])
    below = isinstance(rows, Rankings) and not rows.ranked.all()
    notes = [note_conversion(rows, rows.rows, found.rows, below=below, ties=ties)]
    notes += note_sample(len(long.lists), long.opponents, expansion.every, exact=exact)
    return replace(found, judged=judged, notes=(*judgments.notes, *notes))


def refuse_too_many(total: int) -> None:
    """Raise an error if there would be more pairs than MOST_PAIRS."""
    if total > MOST_PAIRS:
        raise InputError(
            f"These judgments would give {total} pairs, more than {MOST_PAIRS}.",
            hint=("Compare each item only with some others of its list: ", Remedy("pairs", str(OPPONENTS))),
        )


def note_conversion(
    judgments: Ratings | Rankings, rows: int, pairs: int, *, below: bool, ties: str = "keep"
) -> Note:
    """The note on judgments with so many ``rows`` that were read as so many ``pairs``."""
    kind = "adjacent pair" if is_adjacent_only(judgments) else "pair"
    how = f"ties: {ties}, missing: below" if below else f"ties: {ties}"
    size = size_in_words(judgments, rows)
    verb = "was" if size.startswith("1 ") else "were"
    return Note("conversion", f"{size} {verb} read as {count_noun(pairs, kind)} ({how}).")


def note_sample(lists: int, opponents: int, every: int, *, exact: bool) -> list[Note]:
    """The note on so many long lists, if any. ``every``: how many pairs there are in total."""
    if not lists:
        return []
    message = (
        f"{count_noun(lists, 'list is', 'lists are')} long. Each of their items is compared with about "
        f"{opponents} others of its list, whose weights stand for all: {every} pairs in total."
    )
    if not exact:
        message += (
            " Many items have the same judgments; which of them are compared depends on the order of the rows."
        )
    return [Note("pairs-sampled", message, hint=("All pairs count with ", Remedy("pairs", "all")))]


def to_lists(judgments: Judgments, model: str = "A model of lists") -> Rankings:
    """Ranked lists: rankings as they are, ratings as one list for each worker within a query.

    The larger label comes first, equal labels are tied. Ratings without workers are one list per query.

    >>> import crowdrank as cr
    >>> labels = cr.read({"worker": [*"uuuvv"], "item": [*"abcab"], "label": [5, 2, 2, 4, 1]})
    >>> cr.to_lists(labels)
    Rankings(rows=5, workers=2, items=3, queries=1, lists=2)
    """
    judgments = load_rows(judgments, model)
    if isinstance(judgments, Rankings):
        return judgments
    if not isinstance(judgments, Ratings):
        raise InputError(
            f"{model} takes rankings or ratings, but these judgments are {judgments.kind}.",
            hint=("Choose a model that takes them, for example ", Remedy("model", "bt")),
        )
    judgments.require_order(model)
    refuse_unknown_judges(judgments, model)
    groups = np.unique(judgments.groups())
    found = ratings_as_lists(judgments, groups)
    return replace(found, notes=(*judgments.notes, note_lists(judgments.rows, len(groups))))


def refuse_unknown_judges(ratings: Ratings, model: str) -> None:
    """Raise an error if ratings without workers rate an item several times, so that they are not one list."""
    if ratings.worker is None and len(np.unique(label_codes(ratings))) < ratings.rows:
        raise InputError(
            f"{model} needs to know who judged: these ratings name no worker, and rate some items several times.",
            hint=("Name the column: ", Remedy("columns", "worker=NAME")),
        )


def note_lists(ratings: int, lists: int) -> Note:
    """The note on ratings that were read as lists."""
    return Note(
        "conversion", f"{count_noun(ratings, 'rating was', 'ratings were')} read as {count_noun(lists, 'list')}."
    )


def ratings_as_lists(ratings: Ratings, groups: Integers) -> Rankings:
    """A list for each group of ratings; ``groups`` are the sorted codes of all groups."""
    ratings = average_repeats(ratings)
    return Rankings(
        index=ratings.index,
        item=ratings.item,
        rank=-ratings.label,
        list=np.searchsorted(groups, ratings.groups()).astype(np.int32),
        lists=len(groups),
        worker=ratings.worker,
        query=ratings.query,
        weight=ratings.weight,
        timestamp=ratings.timestamp,
        backend=ratings.backend,
    )


def size_in_words(judgments: Ratings | Rankings, rows: int | None = None) -> str:
    """How many judgments there are, in words. ``rows``: those of all, if these are only some of the lists."""
    rows = judgments.rows if rows is None else rows
    if isinstance(judgments, Ratings):
        return count_noun(rows, "rating")
    return f"{count_noun(judgments.lists, 'ranking')} with {count_noun(rows, 'entry')}"


def count_pairs(judgments: Ratings | Rankings) -> int:
    """How many pairs the judgments convert to, ties and repeated items included."""
    expansion = find_expansion(judgments.complete() if isinstance(judgments, Rankings) else judgments)
    return expansion.whole + sum(expansion.long.counts())
