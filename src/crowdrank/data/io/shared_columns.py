"""Two columns that share their values are the items of pairs, even if no column says which one won."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from crowdrank.data.io.cells import MISSING_WORDS
from crowdrank.data.io.columns import ROLES, join_names
from crowdrank.data.io.files import is_plain
from crowdrank.data.io.outcomes import outcome_hint
from crowdrank.data.io.wide_tables import LEAST, WideColumns
from crowdrank.errors import InputError, Remedy, Retry

MOST_COLUMNS = 40
SAME = 0.1
"""Two columns that are equal in more than this share of the rows are not two different items."""
SHARED = 0.5
"""Two columns of items have at least this share of their values in common, unless the winner is named by id."""

MOST_OUTCOMES = 6
"""A column of outcomes whose words are not known has at most so many of them."""


@dataclass(frozen=True)
class SharedColumns:
    """Two columns of items; ``outcome``: a column that may say which one won, by ``values`` that are not known."""

    left: str
    right: str
    outcome: str | None = None
    values: tuple[str, ...] = ()

    def error(self, source: str) -> InputError:
        """The error that says that the rows are pairs, with a command for each way to read them."""
        problem = f"each row seems to be a pair: {self.left!r} and {self.right!r} share their values, and "
        if self.outcome is not None:
            columns = join_names([f"left={self.left}", f"right={self.right}", f"winner={self.outcome}"])
            return InputError(
                f"{problem}{self.outcome!r} seems to say which one won.",
                source=source,
                hint=outcome_hint(self.values, self.left, self.right, columns=columns),
            )
        ways = [
            Retry((Remedy("columns", join_names([f"winner={winner}", f"loser={loser}"])),))
            for winner, loser in ((self.left, self.right), (self.right, self.left))
        ]
        named = join_names([f"left={self.left}", f"right={self.right}", "winner=NAME"])
        return InputError(
            f"{problem}no column says which one won.",
            source=source,
            hint=(
                f"If {self.left!r} has the winners: ", ways[0],
                f"\nIf {self.right!r} has them: ", ways[1],
                "\nOtherwise add a column with the winner of each row, and name it: ", Remedy("columns", named),
            ),
        )  # fmt: skip


def find_shared(sample: pl.DataFrame, outcomes: Collection[str]) -> SharedColumns | WideColumns | None:
    """The two columns that share most of their values, if there are any; three or more are the places of ballots.

    ``outcomes``: what a column is called that may say which one won.
    """
    texts, values = read_values(sample)
    shares = {
        (a, b): len(values[a] & values[b]) / min(len(values[a]), len(values[b]))
        for a, b in combinations((name for name in texts if name.strip().lower() not in ROLES), 2)
        if len(values[a] & values[b]) > 1 and mostly_different(texts[a], texts[b])
        if not all(map(is_number, values[a] | values[b]))
    }
    best = max(shares, key=lambda pair: shares[pair], default=None)
    if best is None or shares[best] < SHARED:
        return None
    alike = [pair for pair, share in shares.items() if share >= SHARED and set(pair) & set(best)]
    places = [name for name in texts if any(name in pair for pair in alike)]
    if len(places) >= LEAST:
        return WideColumns(tuple(places), "", ids=True)
    for name in texts:
        if name not in best and name.strip().lower() in outcomes and 1 < len(values[name]) <= MOST_OUTCOMES:
            return SharedColumns(*best, name, tuple(sorted(values[name])))
    return SharedColumns(*best)


def read_values(sample: pl.DataFrame) -> tuple[dict[str, pl.Series], Mapping[str, set[str]]]:
    """The columns as text, and the distinct values of each, without those that mean that there is none."""
    texts = {name: sample[name].cast(pl.String).str.strip_chars() for name in plain_columns(sample)}
    return texts, {name: set(column.drop_nulls()) - set(MISSING_WORDS) for name, column in texts.items()}


def plain_columns(sample: pl.DataFrame) -> list[str]:
    """The first columns whose values have a text."""
    return [
        name
        for name, dtype in list(sample.schema.items())[:MOST_COLUMNS]
        if is_plain(dtype) and not name.startswith("#")
    ]


def mostly_different(a: pl.Series, b: pl.Series) -> bool:
    """Whether two columns hold different values in nearly every row."""
    return float((a == b).fill_null(False).mean() or 0.0) <= SAME  # type: ignore[arg-type]


def is_number(value: str) -> bool:
    """Whether a text is a plain number."""
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", value) is not None
