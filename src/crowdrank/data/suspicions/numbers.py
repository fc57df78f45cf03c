"""Ranks, weights and workers that are probably something else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRankings, SpooledRows
from crowdrank.data.suspicions.labels import ENOUGH, RARE
from crowdrank.data.suspicions.origins import SHOWN, Origin, count_words, name_rows
from crowdrank.data.tables import TIE, Judgments, Pairs, Rankings
from crowdrank.errors import Note, Remedy

TIMES = (1e9, 2.2e9)
"""Seconds since 1970, from 2001 to 2039."""
DATES = (19_000_101, 21_001_231)
"""Dates as whole numbers, such as 20240531."""
OUTWEIGHS = 1e4
"""A row that weighs so many times as much as all others together is noted."""
FEW = 6
"""With fewer rows it is no wonder that each has a worker of its own, or that one outweighs the others."""


def note_worker_per_row(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on a column of workers that has another value in every row, as the number of a row has."""
    workers = table.index.workers
    if workers is None or table.rows < FEW or len(workers) < table.rows:
        return None
    remedy = ("If it is the id of a row, name another column, ", Remedy("columns", "worker=NAME"), ", or none, ")
    return Note(
        "worker-per-row",
        f"Every one of the {table.rows} rows has a worker of its own: {workers[0]!r}, {workers[1]!r}, ... "
        "Nothing can be learned about workers.",
        (*remedy, Remedy("columns", "worker=")),
    )


def note_time_weights(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on weights that look like times. Of rows on disk, only the first part is looked at."""
    if not any("weight" in origin.columns for origin in origins):
        return None
    weight = (next(table.batches()) if isinstance(table, SpooledPairs | SpooledRows) else table).weight
    if weight is None or not len(weight):
        return None
    if TIMES[0] <= weight.min() and weight.max() <= TIMES[1]:
        what = "times in seconds since 1970"
    elif _are_dates(weight):
        what = "dates"
    else:
        return None
    name = next(origin.columns["weight"] for origin in origins if "weight" in origin.columns)
    remedy = f"weight=,timestamp={name}" if what != "dates" else "weight="
    return Note(
        "time-weights",
        f"Every weight is between {weight.min():.0f} and {weight.max():.0f}, as {what} are "
        f"({name_rows(origins, [0])}: {weight[0]:.0f}).",
        (f"If they are {what.split()[0]}: ", Remedy("columns", remedy)),
    )


def _are_dates(weight: Floats) -> bool:
    """Whether all weights are whole numbers that read as year, month and day."""
    if len(weight) < FEW or weight.min() < DATES[0] or weight.max() > DATES[1] or (weight % 1).any():
        return False
    month, day = weight // 100 % 100, weight % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def note_one_weight(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on a row that outweighs all others together. Of rows on disk, only the first part is looked at."""
    weight = (next(table.batches()) if isinstance(table, SpooledPairs | SpooledRows) else table).weight
    if weight is None or len(weight) < FEW:
        return None
    row = int(weight.argmax())
    others = float(np.delete(weight, row).sum())
    if weight[row] <= OUTWEIGHS * others:
        return None
    return Note(
        "one-weight",
        f"One row weighs {weight[row]:g} ({name_rows(origins, [row])}), and all others together {others:g}: "
        "beside it they hardly count.",
        "A weight says how many judgments a row stands for. If this one is a slip, correct it.",
    )


def note_zero_ranks(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on lists with several ranks 0 besides a rank 1."""
    if not isinstance(table, Rankings) or not (table.rank == 0).any():
        return None
    zeros = np.bincount(table.list[table.rank == 0], minlength=table.lists)
    odd = (zeros > 1) & (np.bincount(table.list[table.rank == 1], minlength=table.lists) > 0)
    if not odd.any():
        return None
    verb = "has" if odd.sum() == 1 else "have"
    row = int(np.argmax((table.rank == 0) & odd[table.list]))
    return Note(
        "zero-ranks",
        f"{count_words(int(odd.sum()), 'list')} of {table.lists} {verb} several ranks of "
        f"0 besides a rank of 1 ({name_rows(origins, [row])}): items with rank 0 count as the best.",
        "0 often means not ranked; if so, leave the cell empty.",
    )


def note_odd_rank(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on a few ranks that exceed the length of every list, such as 11 in lists of 6."""
    if not isinstance(table, Rankings) or table.rows < 2 * ENOUGH:
        return None
    longest = int(np.bincount(table.list).max())
    rows = np.flatnonzero(table.rank > longest)
    if not len(rows) or len(rows) > max(1.0, RARE * table.rows):
        return None
    shown = " and ".join(f"{rank:g}" for rank in np.unique(table.rank[rows])[:SHOWN])
    return Note(
        "odd-rank",
        f"{count_words(len(rows), 'rank')} of {table.rows} {'is' if len(rows) == 1 else 'are'} {shown}, and no "
        f"list has more than {longest} items ({name_rows(origins, rows[: SHOWN + 1].tolist())}).",
        "If it is a slip, correct it: now the item is below the others of its list.",
    )


def note_all_ties(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on votes that are all ties."""
    if not isinstance(table, Pairs | SpooledPairs) or table.rows < 2:
        return None
    if any((part.outcome != TIE).any() for part in table.batches()):
        return None
    return Note(
        "all-ties",
        f"Every one of the {table.rows} votes is a tie, so nothing is ordered.",
        ("If the outcomes are in another column: ", Remedy("columns", "label=NAME")),
    )


def note_one_rank(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on rankings in which every rank is the same."""
    if not isinstance(table, Rankings | SpooledRankings) or table.rows < 2:
        return None
    found: float | None = None
    for part in table.batches() if isinstance(table, SpooledRankings) else [table]:
        rank = part.rank[part.ranked]
        found = float(rank[0]) if found is None and len(rank) else found
        if (rank != found).any():
            return None
    return Note(
        "one-rank",
        f"Every one of the {table.rows} ranks is {found:g}, so no list orders its items.",
        ("If the ranks are in another column: ", Remedy("columns", "rank=NAME")),
    )
