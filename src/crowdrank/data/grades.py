"""What the grades of a gold standard say about themselves: grades that mean "not judged", and rows of totals."""

from __future__ import annotations

import polars as pl

from crowdrank.data.gold import Scored
from crowdrank.data.io.cells import TOTALS
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
