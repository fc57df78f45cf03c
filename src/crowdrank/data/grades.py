"""What the grades of a gold standard say about themselves: which mean "not judged", slips, and rows of totals."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdrank.data.gold import Scored
from crowdrank.data.io.cells import TOTALS
from crowdrank.data.suspicions.labels import ENOUGH, find_odd
from crowdrank.data.suspicions.origins import SHOWN, count_words
from crowdrank.errors import Note

MOST_TOTALS = 20
"""How many such items are looked at: the first of many queries will do."""
NEAR = 1e-6
"""Totals are written with a few digits: this share of them may be rounding."""


def judged_grades(values: pl.Series) -> pl.Series:
    """Which grades are judgments. Whole numbers below 0 mean "not judged", as -1 and -2 do in qrels.

    They are judgments if the gold is a scale around 0: if a grade below 0 is not whole, or if at most one grade
    would be left, as with -1 and 1.
    """
    negative = values < 0
    whole = (values.filter(negative) % 1 == 0).all()
    codes = bool(negative.any()) and whole and values.filter(~negative).n_unique() > 1
    return ~negative if codes else pl.repeat(True, len(values), dtype=pl.Boolean, eager=True)


def note_not_judged(gold: Scored) -> Note | None:
    """A note on the grades that mean "not judged"."""
    values = gold.frame["value"]
    left = values.filter(~judged_grades(values))
    if left.is_empty():
        return None
    count = "1 grade of the gold is" if len(left) == 1 else f"{len(left)} grades of the gold are"
    kinds = ", ".join(f"{value:g}" for value in left.unique().sort(descending=True)[:3])
    message = f"{count} below 0 ({kinds}), which means not judged. The measures leave such items out."
    return Note("not-judged", message, "If such grades are points on a scale, add a constant to all grades.")


def note_odd_grade(gold: Scored) -> Note | None:
    """A note on a grade that is far from all others, such as 33 among 0 to 3."""
    counted = gold.frame["value"].filter(judged_grades(gold.frame["value"])).value_counts().sort("value")
    values, counts = counted["value"].to_numpy(), counted["count"].to_numpy().astype(np.int64)
    if gold.ranks or len(values) < 3 or counts.sum() < 2 * ENOUGH:
        return None
    odd = find_odd(values, counts)
    if not odd:
        return None
    items = gold.frame.filter(pl.col("value").is_in(odd))["item"]
    rest = [value for value in values if value not in odd]
    shown, named = " and ".join(f"{value:g}" for value in odd), ", ".join(map(repr, items[:SHOWN]))
    return Note(
        "odd-label",
        f"{count_words(len(items), 'grade')} of the gold {'is' if len(items) == 1 else 'are'} {shown} ({named}), "
        f"and all others are {rest[0]:g} to {rest[-1]:g}.",
        "If it is a slip, correct it: now it counts as a grade.",
    )


def note_totals(gold: Scored) -> Note | None:
    """A note on an item that is called a total and has the sum or the mean of the other grades of its query."""
    frame = gold.frame.select("query", "item", "value")
    words = frame["item"].str.strip_chars().str.to_lowercase()
    for row in words.is_in(TOTALS).arg_true()[:MOST_TOTALS]:
        query, item, value = frame.row(row)
        others = frame.filter(pl.col("query").eq_missing(query) & (pl.col("item") != item))["value"]
        for name, whole in (("sum", others.sum()), ("mean", others.mean())):
            if len(others) > 1 and abs(value - float(whole)) <= NEAR * max(abs(value), 1.0):  # type: ignore[arg-type]
                message = f"The item {item!r} of the gold has the {name} of the other grades, {value:g}."
                return Note("totals-row", message, "If it is a row of totals and not an item, remove it.")
    return None
