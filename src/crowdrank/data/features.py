"""Features of items: a frozen table with a row for each (query, item), or for each item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, Ints
from crowdrank.data.ids import TEXT_IDS, Backend
from crowdrank.data.index import Index
from crowdrank.data.spool.features import FeatureFile
from crowdrank.errors import InputError, Note

if TYPE_CHECKING:  # scipy.sparse is loaded only if something is sparse
    from scipy import sparse

SHOWN = 3
"""How many ids or names an error shows."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Features:
    """Numbers that describe items, one row per (query, item); one row per item if there is no query column.

    ``values`` is (rows, features): a float32 array, a sparse matrix if nearly everything is 0, or a file if it
    does not fit in memory. NaN means that the value is missing. The rows keep the order of the file.

    >>> import crowdrank as cr
    >>> rows = {"item": ["d1", "d2"], "label": [1, 0], "length": [120, 80], "age": [1, None]}
    >>> features = cr.read_features(rows)
    >>> features
    Features(rows=2, queries=1, features=2)
    >>> features.names, features.values[1]
    (('length', 'age'), array([80., nan], dtype=float32))
    """

    index: Index
    query: Ints | None  # (rows,) codes into index.queries; None: the rows are joined by item
    item: Ints  # (rows,) codes into index.items
    names: tuple[str, ...]  # unique
    values: NDArray[np.float32] | sparse.csr_array | FeatureFile
    label: Floats | None = None  # NaN: the row has none
    weight: Floats | None = None
    notes: tuple[Note, ...] = ()
    backend: Backend = TEXT_IDS
    source: str = "frame"
    omits: bool = False  # LETOR text that leaves out zeros: a feature that no row has is 0

    def __post_init__(self) -> None:
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                view = value.view()
                view.flags.writeable = False
                object.__setattr__(self, column.name, view)

    def __repr__(self) -> str:
        queries = 1 if self.index.queries is None else len(self.index.queries)
        return f"Features(rows={self.rows}, queries={queries}, features={len(self.names)})"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.item)

    def dense(self, rows: slice | NDArray[Any] | None = None) -> NDArray[np.float32]:
        """These rows (a slice, row numbers or a mask; all of them by default) as a float32 array (n, features)."""
        rows = slice(None) if rows is None else rows
        if isinstance(self.values, np.ndarray):
            return self.values[rows]
        if isinstance(self.values, FeatureFile):
            if isinstance(rows, slice) and rows.step in (None, 1):
                first, last, _ = rows.indices(self.rows)
                return self.values.read(first, last - first)
            return self.values.gather(np.arange(self.rows)[rows])
        return np.asarray(self.values[rows].toarray(), np.float32)

    def select(self, names: Sequence[str]) -> Features:
        """The features with these names, in this order.

        A missing one is an error, or 0 in every row if the text leaves out zeros and the name is a number.
        """
        if tuple(names) == self.names:
            return self
        places = {name: place for place, name in enumerate(self.names)}
        missing = [name for name in names if name not in places]
        if missing and not (self.omits and len(missing) < len(names) and all(name.isdigit() for name in missing)):
            shown = ", ".join(map(repr, missing[:SHOWN])) + (", ..." if len(missing) > SHOWN else "")
            count = f"{len(missing)} of {len(names)} features are" if len(missing) > 1 else "a feature is"
            raise InputError(
                f"{count} missing: {shown}.",
                source=self.source,
                hint="Give the features under the names that they had in training.",
            )
        columns = np.array([places.get(name, -1) for name in names], np.int64)
        return replace(self, names=tuple(names), values=_select_columns(self.values, columns))

    def absent(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names that no row has. They count as 0 if the text leaves out zeros."""
        known = set(self.names)
        return tuple(name for name in names if name not in known)

    def extra(self, names: Sequence[str]) -> tuple[str, ...]:
        """The features that are not among these names."""
        known = set(names)
        return tuple(name for name in self.names if name not in known)

    def take(self, rows: NDArray[Any]) -> Features:
        """The table with only these rows (row numbers), in this order; the index stays the same."""
        chosen = {
            name: value[rows]
            for name in ("query", "item", "label", "weight")
            if (value := getattr(self, name)) is not None
        }
        values = self.values.take(rows) if isinstance(self.values, FeatureFile) else self.values[rows]
        return replace(self, values=values, **chosen)

    def ids(self) -> pl.DataFrame:
        """The query (null if there is none) and the item of each row."""
        item = self.index.items.gather(self.item).alias("item")
        if self.query is None or self.index.queries is None:
            return pl.DataFrame({"query": pl.repeat(None, self.rows, dtype=pl.String, eager=True), "item": item})
        return pl.DataFrame({"query": self.index.queries.gather(self.query).alias("query"), "item": item})

    def summary(self) -> dict[str, Any]:
        """How many rows, queries, items and features there are, and how the values are stored."""
        storage = "dense" if isinstance(self.values, np.ndarray) else "sparse"
        return {
            "rows": self.rows,
            "queries": 1 if self.index.queries is None else len(self.index.queries),
            "items": len(self.index.items),
            "features": len(self.names),
            "storage": "file" if isinstance(self.values, FeatureFile) else storage,
        }


def _select_columns(values: Any, columns: Integers) -> Any:
    """These columns of values in any form; 0 for the column -1."""
    if isinstance(values, FeatureFile):
        return values.select(columns)
    if isinstance(values, np.ndarray):
        found = values[:, columns]
        found[:, columns < 0] = 0.0
        return found
    from scipy import sparse

    picked = np.flatnonzero(columns >= 0)
    shape = (values.shape[1], len(columns))
    chosen = sparse.csr_array((np.ones(len(picked), np.float32), (columns[picked], picked)), shape=shape)
    return sparse.csr_array(values @ chosen)


def shown_ids(ids: pl.DataFrame) -> str:
    """The first three (query, item) of a frame, as errors show them."""
    rows = ids.select("query", "item").head(SHOWN).rows()
    words = [repr(item) if query is None else f"({query!r}, {item!r})" for query, item in rows]
    return ", ".join(words) + (", ..." if ids.height > SHOWN else "")


def find_repeated(query: Ints | None, item: Ints, items: int) -> Integers:
    """The rows whose (query, item) an earlier row has already."""
    keys = item.astype(np.int64) if query is None else query.astype(np.int64) * items + item
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0) + 1
    return np.sort(order[again])
