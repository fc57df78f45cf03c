"""Ratings whose labels are probably not all grades on one scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, summed
from crowdrank.data.suspicions.origins import SHOWN, Origin, count_words, name_rows
from crowdrank.data.tables import Judgments, Ratings
from crowdrank.errors import Note, Remedy

LEVELS = 11
"""The most grades of a scale in steps, 0 to 10."""
CODES = (-9999, -999, -99, -98, -88, -77, -9, -8, -2, -1, 8, 9, 77, 88, 98, 99, 888, 998, 999, 9998, 9999, 99999)
"""Numbers that usually stand for "don't know" or "no answer"."""
SHARE, RARE = 0.2, 0.01
"""The largest share of rows with a code, and with a number that may be a slip."""
APART = 5.0
"""One scale is this many times the other, at least."""
ENOUGH = 5
"""A worker with fewer labels says nothing about a scale."""


def note_swapped(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on ratings whose items look like grades and whose labels look like ids.

    Items are few numbers, and there are as many labels or more. With workers, none meets a label twice, but items
    again and again; without, there are many more labels than any scale has.
    """
    if not isinstance(table, Ratings) or len(table.index.items) > LEVELS:
        return None
    items = table.index.items.cast(pl.Float64, strict=False)
    if table.names and not items.null_count():
        return _note_swapped_names(table, origins)
    grades, labels = np.sort(items.to_numpy()), _count_labels(table)[0]
    if items.null_count() or len(labels) < max(len(grades), ENOUGH) or (labels % 1 != 0).any():
        return None
    if table.worker is None:
        odd = len(labels) > 101 and table.rows > 2 * len(grades)
    else:
        place = np.searchsorted(labels, table.label)
        odd = _repeats(table, table.item) > 1.5 and _never_twice(table, place, len(labels))
    if not odd:
        return None
    return Note(
        "swapped-columns",
        f"The items are {len(grades)} numbers ({grades[0]:g} to {grades[-1]:g}), and the labels are "
        f"{len(labels)} ({labels[0]:g} to {labels[-1]:g}): are the columns of items and labels swapped? "
        f"{name_rows(origins, [0])}: item {table.index.items[int(table.item[0])]!r}, label {table.label[0]:g}.",
        _swap_back(origins),
    )


def _swap_back(origins: Sequence[Origin]) -> tuple[str, Remedy]:
    columns = origins[0].columns
    return "If so: ", Remedy("columns", f"item={columns['label']},label={columns['item']}")


def _note_swapped_names(table: Ratings, origins: Sequence[Origin]) -> Note | None:
    """The same for labels that are text: no worker meets one twice, but the numbers again and again."""
    codes, items = table.label.astype(np.int64), table.index.items.to_list()
    if table.worker is None or _repeats(table, table.item) <= 1 or _repeats(table, codes) > 1:
        return None
    if len(table.names) < max(len(items), ENOUGH) or table.rows < 2 * len(table.names):
        return None
    return Note(
        "swapped-columns",
        f"The items are {len(items)} numbers ({', '.join(items[:SHOWN])} ...), and the labels are "
        f"{len(table.names)} names, each at most once for a worker: are the columns of items and labels swapped? "
        f"{name_rows(origins, [0])}: item {items[int(table.item[0])]!r}, label {table.names[codes[0]]!r}.",
        _swap_back(origins),
    )


def _never_twice(table: Ratings, codes: NDArray[np.signedinteger], count: int) -> bool:
    """Whether no worker meets a code twice, though by chance some would: 1 in e^4 crowds has no such case."""
    assert table.worker is not None
    rows = np.bincount(table.worker).astype(float)
    return float((rows * (rows - 1)).sum()) / (2 * count) > 4 and _repeats(table, codes) == 1


def _repeats(table: Ratings, codes: NDArray[np.signedinteger]) -> float:
    """How often a worker meets the same code, in the mean, within a query."""
    columns = {"worker": table.worker, "query": table.query, "code": codes}
    frame = pl.DataFrame({name: column for name, column in columns.items() if column is not None})
    return table.rows / frame.n_unique()


def note_odd_label(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on labels that are far from all others, such as 99 among 1 to 5, or a rare 0 below 1 to 5."""
    if not isinstance(table, Ratings) or table.rows < 2 * ENOUGH:
        return None
    values, counts = _count_labels(table)
    if len(values) < 3:
        return None
    odd = find_odd(values, counts)
    if not odd:
        return None
    rows = np.flatnonzero(np.isin(table.label, odd))
    rest = values[~np.isin(values, odd)]
    shown = " and ".join(f"{value:g}" for value in odd)
    verb = "is" if len(rows) == 1 else "are"
    return Note(
        "odd-label",
        f"{count_words(len(rows), 'label')} of {table.rows} {verb} {shown}, and all others "
        f"are {rest[0]:g} to {rest[-1]:g} ({name_rows(origins, rows[:4].tolist())}).",
        "If it is a code for 'no answer' or a slip, remove these rows: now it counts as a grade.",
    )


def _count_labels(table: Ratings) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct labels in ascending order, and how often each occurs."""
    counted = pl.DataFrame({"label": table.label}).group_by("label").len().sort("label")
    return counted["label"].to_numpy(), counted["len"].to_numpy().astype(np.int64)


def find_odd(values: Floats, counts: NDArray[np.int64]) -> list[float]:
    """The labels, at most two at each end, that do not belong to the scale of the others."""
    for low, high in ((0, 1), (1, 0), (0, 2), (2, 0), (1, 1)):
        if low + high > len(values) - 2:
            continue
        inner = slice(low, len(values) - high)
        outside = np.r_[0:low, len(values) - high : len(values)]
        if _is_apart(values[inner], counts[inner], values[outside], counts[outside]):
            return [float(value) for value in values[outside]]
    return []


def _is_apart(rest: Floats, counts: NDArray[np.int64], odd: Floats, odd_counts: NDArray[np.int64]) -> bool:
    """Whether these labels are codes or slips beside the scale of the rest."""
    total = counts.sum() + odd_counts.sum()
    share, width = odd_counts.sum() / total, rest[-1] - rest[0]
    gap = np.where(odd > rest[-1], odd - rest[-1], rest[0] - odd)
    steps = len(rest) <= LEVELS and bool((rest % 1 == 0).all()) and bool((np.diff(rest) == 1).all())
    codes = bool(np.isin(odd, CODES).all())
    if not steps:
        return codes and share <= SHARE and bool((gap > max(width, 1.0)).all())
    if (gap > max(width, 2.0)).all():
        return share <= (SHARE if codes else RARE) or odd_counts.sum() == 1
    if len(rest) < 3:
        return False
    usual = rest[0] in (0, 1) and rest[-1] <= 7
    if usual and codes and (gap >= 2).all():  # 9 above 1 to 5, -1 below 1 to 5
        return share <= SHARE
    below = len(odd) == 1 and odd[0] in (-1, 0) and gap[0] == 1  # -1 below 0 to 4, 0 below 1 to 5
    seldom = share <= RARE or odd_counts.sum() == 1
    # the grade next to it is common: the lowest grades of a scale that is used to its end become rare step by step
    common = counts[0] >= max(10 * odd_counts.sum(), counts.mean() / 2)
    return usual and below and seldom and bool(common)


def note_scales(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on workers who use another scale than the others, such as 1 to 5 beside 0 to 100.

    The largest labels of the workers are in two groups, with nothing in between, and on items that both groups
    rated the labels of one are several times those of the other.
    """
    if not isinstance(table, Ratings) or table.worker is None or table.index.workers is None:
        return None
    most = table.label.max()
    if most < APART or table.label.min() < 0:
        return None
    count = len(table.index.workers)
    largest = np.zeros(count)
    np.maximum.at(largest, table.worker, table.label)
    busy = np.bincount(table.worker, minlength=count) >= ENOUGH
    top = np.sort(largest[busy & (largest > 0)])
    if len(top) < 2:
        return None
    cut = int(np.argmax(top[1:] / top[:-1]))
    small, large = largest <= top[cut], largest >= top[cut + 1]
    if top[cut + 1] < APART * top[cut] or min((small & busy).sum(), (large & busy).sum()) < 2 or top[cut] > 10:
        return None
    own = small[table.worker]
    if not _differs_on_common(table, own):
        return None
    names = [
        str(table.index.workers[int(code)]) for code in (np.flatnonzero(side & busy)[0] for side in (small, large))
    ]
    return Note(
        "two-scales",
        f"{count_words(int((small & busy).sum()), 'worker')} (such as {names[0]!r}) gave labels up to "
        f"{top[cut]:g}, and {int((large & busy).sum())} others (such as {names[1]!r}) up to {most:g}: these may "
        f"be two scales ({name_rows(origins, [int(np.argmax(own))])}).",
        "Bring them to one scale first.",
    )


def _differs_on_common(table: Ratings, small: NDArray[np.bool_]) -> bool:
    """Whether the labels of one group are several times those of the other, on the items that both rated."""
    items = len(table.index.items)
    sums = [summed(table.item[side], table.label[side], items) for side in (small, ~small)]
    counts = [summed(table.item[side], None, items) for side in (small, ~small)]
    both = (counts[0] > 0) & (counts[1] > 0)
    if not both.any():
        return True
    low, high = (float((own[both] / n[both]).mean()) for own, n in zip(sums, counts, strict=True))
    return high > 3 * low
