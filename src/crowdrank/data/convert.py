"""Ratings and rankings as pairs: explicit, and said in the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import summed
from crowdrank.data.index import named_nodes
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.tables import LEFT, RIGHT, TIE, Judgments, Pairs, Rankings, Ratings
from crowdrank.errors import InputError, Note, Remedy, UsageError

MOST_PAIRS = 200_000_000


def to_pairs(judgments: Judgments, *, ties: str = "keep") -> Pairs | SpooledPairs:
    """Every pair of items that one worker judged within one query (or list), as a comparison.

    The better label, or the smaller rank, wins; equal ones are a tie, kept (``ties="keep"``) or left
    out (``"drop"``). Where missing items stand below, a list lets each item that it ranks win against each
    that it does not, and says nothing of two that it does not rank. A pair carries the weight of its two
    rows' geometric mean. Pairs come back as they are.
    """
    if ties not in ("keep", "drop"):
        raise UsageError(f"ties must be 'keep' or 'drop'. Got {ties!r}.")
    if isinstance(judgments, Pairs | SpooledPairs):
        return judgments
    if not isinstance(judgments, Ratings | Rankings):
        raise InputError("Only judgments convert to pairs.", value=type(judgments).__name__)
    found = made_pairs(judgments, ties=ties)
    if not found.rows:
        raise InputError(
            f"These {judgments.kind} give no pair: no worker judged two items differently.",
            hint="Comparisons need a worker (or list) with at least two items.",
        )
    return found


def made_pairs(judgments: Ratings | Rankings, *, ties: str = "keep") -> Pairs:
    """The same of ratings or rankings, where there may be no pair at all."""
    judged = named_nodes(len(judgments.index.items), judgments.query, judgments.item)
    if isinstance(judgments, Ratings) and judgments.worker is not None:
        judgments = _once(judgments)
    if isinstance(judgments, Rankings):
        judgments = judgments.complete()
        value = np.where(judgments.ranked, -judgments.rank, -np.inf)
    else:
        value = judgments.label
    total = _counted(judgments)
    if total > MOST_PAIRS:
        raise InputError(
            f"These judgments would give {total} pairs, more than {MOST_PAIRS}.",
            hint="Use a model that takes ratings or rankings as they are, or split the queries.",
        )
    first, second = _within(_groups(judgments), value > -np.inf)
    left, right = judgments.item[first], judgments.item[second]
    difference = np.sign(value[first] - value[second])
    keep = left != right
    if ties == "drop":
        keep &= difference != 0
    first, second, left, right = first[keep], second[keep], left[keep], right[keep]
    difference = difference[keep]
    outcome = np.where(difference > 0, LEFT, np.where(difference < 0, RIGHT, TIE)).astype(np.int8)
    weight = None if judgments.weight is None else np.sqrt(judgments.weight[first] * judgments.weight[second])
    below = isinstance(judgments, Rankings) and not judgments.ranked.all()
    how = f"ties: {ties}, missing: below" if below else f"ties: {ties}"
    message = f"{described(judgments)} were read as {len(first)} pairs ({how})."
    return Pairs(
        index=judgments.index,
        left=left,
        right=right,
        outcome=outcome,
        sided=False,
        judged=judged,
        weight=weight,
        worker=_at(judgments.worker, first),
        query=_at(judgments.query, first),
        timestamp=None if judgments.timestamp is None else judgments.timestamp[second],
        notes=(*judgments.notes, Note("conversion", message)),
        backend=judgments.backend,
    )


def to_lists(judgments: Judgments, model: str = "A model of lists") -> Rankings:
    """Ranked lists: rankings as they are, ratings as one list for each worker within a query.

    The larger label stands first, equal ones are tied. Ratings without workers are one list a query.
    """
    if isinstance(judgments, Rankings):
        return judgments
    if not isinstance(judgments, Ratings):
        raise InputError(
            f"{model} takes rankings or ratings, and these judgments are {judgments.kind}.",
            hint="Choose a model that takes them.",
        )
    if judgments.worker is None and len(np.unique(_cells(judgments))) < judgments.rows:
        raise InputError(
            f"{model} needs to know who judged: these ratings name no worker, and some items several times.",
            hint=("Name the column: ", Remedy("columns", "worker=NAME")),
        )
    ratings = _once(judgments)
    groups, lists = np.unique(_groups(ratings), return_inverse=True)
    message = f"{described(judgments)} were read as {len(groups)} lists."
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


def _cells(ratings: Ratings) -> NDArray[np.int64]:
    """One number for each worker's label of an item within a query."""
    return np.asarray(_groups(ratings).astype(np.int64) * len(ratings.index.items) + ratings.item)


def _once(ratings: Ratings) -> Ratings:
    """Ratings in which nobody rates an item twice: the mean label, with the weight of all."""
    _, first, place = np.unique(_cells(ratings), return_index=True, return_inverse=True)
    if len(first) == ratings.rows:
        return ratings
    weight = summed(place, ratings.weight, len(first))
    label = summed(place, ratings.label if ratings.weight is None else ratings.weight * ratings.label, len(first))
    return replace(ratings.take(first), label=label / weight, weight=weight)


def described(judgments: Ratings | Rankings) -> str:
    """How many judgments there are, in words."""
    if isinstance(judgments, Ratings):
        return f"{judgments.rows} ratings"
    return f"{judgments.lists} rankings of {judgments.rows} items"


def count_pairs(judgments: Ratings | Rankings) -> int:
    """How many pairs they convert to, ties and repeated items included."""
    return _counted(judgments.complete() if isinstance(judgments, Rankings) else judgments)


def _counted(judgments: Ratings | Rankings) -> int:
    """The same of ratings, or of rankings with a row for every item that counts."""
    if isinstance(judgments, Ratings):
        sizes = np.unique(_groups(judgments), return_counts=True)[1]
        return int((sizes * (sizes - 1) // 2).sum())
    ranked = np.bincount(judgments.list[judgments.ranked], minlength=judgments.lists)
    unranked = np.bincount(judgments.list, minlength=judgments.lists) - ranked
    return int((ranked * (ranked - 1) // 2 + ranked * unranked).sum())


def _at(column: NDArray[Any] | None, rows: NDArray[np.int64]) -> NDArray[Any] | None:
    return None if column is None else column[rows]


def _groups(judgments: Ratings | Rankings) -> NDArray[Any]:
    """What is compared with what: one number for each list, or each (query, worker) of ratings."""
    if isinstance(judgments, Rankings):
        return judgments.list
    group = np.zeros(judgments.rows, np.int64)
    if judgments.query is not None:
        group += judgments.query
    if judgments.worker is not None and judgments.index.workers is not None:
        group = group * len(judgments.index.workers) + judgments.worker
    return group


def _within(group: NDArray[Any], leads: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of every pair of rows of one group of which one leads, groups in the order in which they
    begin; rows that lead come first within their group."""
    _, first_row, group = np.unique(group, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first_row))[group]
    order = np.lexsort((~leads, group))
    ends = np.cumsum(np.bincount(group))
    end_of = np.repeat(ends, np.diff(ends, prepend=0))
    partners = np.where(leads[order], end_of - np.arange(len(group)) - 1, 0)
    first = np.repeat(np.arange(len(group)), partners)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    return order[first], order[second]
