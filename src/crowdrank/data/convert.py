"""Ratings and rankings as pairs: explicit, and said in the result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.spooled import SpooledPairs
from crowdrank.data.tables import LEFT, RIGHT, TIE, Judgments, Pairs, Rankings, Ratings
from crowdrank.errors import InputError, Note, UsageError

MOST_PAIRS = 200_000_000


def to_pairs(judgments: Judgments, *, ties: str = "keep") -> Pairs | SpooledPairs:
    """Every pair of items that one worker judged within one query (or list), as a comparison.

    The better label, or the smaller rank, wins; equal ones are a tie, kept (``ties="keep"``) or left
    out (``"drop"``). A pair carries the weight of its two rows' geometric mean. Pairs come back as
    they are.
    """
    if ties not in ("keep", "drop"):
        raise UsageError(f"ties must be 'keep' or 'drop'. Got {ties!r}.")
    if isinstance(judgments, Pairs | SpooledPairs):
        return judgments
    if not isinstance(judgments, Ratings | Rankings):
        raise InputError("Only judgments convert to pairs.", value=type(judgments).__name__)
    total = count_pairs(judgments)
    if total > MOST_PAIRS:
        raise InputError(
            f"These judgments would give {total} pairs, more than {MOST_PAIRS}.",
            hint="Use a model that takes ratings or rankings as they are, or split the queries.",
        )
    first, second = _within(_groups(judgments))
    value = judgments.label if isinstance(judgments, Ratings) else -judgments.rank
    left, right = judgments.item[first], judgments.item[second]
    difference = np.sign(value[first] - value[second])
    keep = left != right
    if ties == "drop":
        keep &= difference != 0
    first, second, left, right = first[keep], second[keep], left[keep], right[keep]
    difference = difference[keep]
    if not len(first):
        raise InputError(
            f"These {judgments.kind} give no pair: no worker judged two items differently.",
            hint="Comparisons need a worker (or list) with at least two items.",
        )
    outcome = np.where(difference > 0, LEFT, np.where(difference < 0, RIGHT, TIE)).astype(np.int8)
    weight = None if judgments.weight is None else np.sqrt(judgments.weight[first] * judgments.weight[second])
    message = f"{described(judgments)} were read as {len(first)} pairs (ties: {ties})."
    return Pairs(
        index=judgments.index,
        left=left,
        right=right,
        outcome=outcome,
        sided=False,
        weight=weight,
        worker=_at(judgments.worker, first),
        query=_at(judgments.query, first),
        timestamp=None if judgments.timestamp is None else judgments.timestamp[second],
        notes=(*judgments.notes, Note("conversion", message)),
        backend=judgments.backend,
    )


def described(judgments: Ratings | Rankings) -> str:
    """How many judgments there are, in words."""
    if isinstance(judgments, Ratings):
        return f"{judgments.rows} ratings"
    return f"{judgments.lists} rankings of {judgments.rows} items"


def count_pairs(judgments: Ratings | Rankings) -> int:
    """How many pairs they convert to, ties and repeated items included."""
    sizes = np.unique(_groups(judgments), return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())


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


def _within(group: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of every pair of rows of one group, groups in the order in which they begin."""
    _, first_row, group = np.unique(group, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first_row))[group]
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.unique(group, return_counts=True)[1])
    end_of = np.repeat(ends, np.diff(ends, prepend=0))
    partners = end_of - np.arange(len(group)) - 1
    first = np.repeat(np.arange(len(group)), partners)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    return order[first], order[second]
