"""Lists of items or of judges: who takes part, with attributes such as a team, a condition or a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from crowdrank.data.io.cells import TextCells, first_row
from crowdrank.data.io.columns import OPTIONAL
from crowdrank.data.io.text_tables import read_text_table
from crowdrank.errors import InputError

IDS: dict[str, tuple[str, ...]] = {"item": ("item", "id", "doc", "docid"), "worker": OPTIONAL["worker"]}
"""The names that the column of ids may have; if a file has only one column, it is the ids."""


@dataclass(frozen=True, eq=False)
class Roster:
    """``frame``: query (if the file has it), the ids as ``item`` or ``worker``, and the attributes as text."""

    frame: pl.DataFrame
    role: str
    source: str

    @classmethod
    def read(cls, given: Any, role: str) -> Roster:
        """Items or workers from a path, ``"-"`` or a frame. An id that occurs twice is an error."""
        if isinstance(given, Roster):
            return given
        if isinstance(given, list | tuple):
            given = pl.DataFrame({role: [str(own) for own in given]})
        frame, name, columns = read_text_table(given, f"The {role}s")
        found = next((alias for alias in IDS[role] if alias in columns), None)
        if found is None and len(columns) == 1:
            found = next(iter(columns))
        if found is None:
            shown = ", ".join(map(repr, frame.columns))
            raise InputError(
                f"missing: it names the {role}s. The columns are {shown}.", source=name, column=role,
                hint=f"Call the column of ids {role!r}.",
            )  # fmt: skip
        ids = {role: columns.pop(found)}
        query = next((alias for alias in OPTIONAL["query"] if alias in columns), None)
        if role == "item" and query is not None:
            ids["query"] = columns.pop(query)
        renamed = frame.rename({column: own for own, column in ids.items()})
        cells = TextCells(renamed, {**{own: own for own in renamed.columns}, **ids}, name)
        named = pl.DataFrame({own: cells.required(own) for own in ids})
        again = named.select(pl.struct(pl.all()).is_first_distinct().not_()).to_series()
        if again.any():
            raise cells.error(role, first_row(again), f"this {role} is listed twice.")
        attributes = cells.frame.select(
            pl.col(column).alias(own) for own, column in columns.items() if own not in ("query", role)
        )
        return cls(named.hstack(attributes), role, name)

    @property
    def ids(self) -> list[str]:
        """The ids in the order of the file."""
        return self.frame[self.role].to_list()

    @property
    def by_query(self) -> bool:
        """Whether items are listed for each query."""
        return "query" in self.frame.columns

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes."""
        return [name for name in self.frame.columns if name not in ("query", self.role)]

    def attribute(self, name: str) -> pl.Series:
        """The values of an attribute; an unknown one is an error that lists the names."""
        if name not in self.attributes:
            known = ", ".join(self.attributes) or "none"
            raise InputError(
                f"missing: it is named as an attribute of the {self.role}s. Their attributes are: {known}.",
                source=self.source, column=name,
            )  # fmt: skip
        return self.frame[name]
