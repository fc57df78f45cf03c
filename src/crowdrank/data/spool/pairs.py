"""Pairs that do not fit in memory, as coded Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.coded import code_columns
from crowdrank.data.spool.folder import Spool
from crowdrank.data.tables import Judgments, Pairs


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SpooledPairs(Judgments):
    """Pairs in Parquet files, read a batch at a time; models accept them in the same way as Pairs.

    A file numbers the ids in order of first appearance; ``codes`` turns these numbers into the codes of the
    index, which are in sorted order.

    >>> import crowdrank as cr
    >>> votes = cr.read([("a", "b"), ("a", "b"), ("b", "a")], memory=1)  # one byte, so all goes to disk
    >>> votes
    SpooledPairs(rows=3, items=2, queries=1)
    >>> cr.BradleyTerry().fit(votes).ranking_.frame()["item"].to_list()
    ['a', 'b']
    """

    kind = "pairs"

    files: tuple[Path, ...]
    codes: Mapping[str, NDArray[np.int32]]
    count: int
    spool: Spool
    sided: bool = True

    @property
    def rows(self) -> int:
        """Number of comparisons."""
        return self.count

    def batches(self) -> Iterator[Pairs]:
        """The pairs, a file at a time, in the order of the rows."""
        for path in self.files:
            frame = pl.read_parquet(path)
            columns: dict[str, Any] = code_columns(frame, self.codes, "left", "right")
            outcome = frame["outcome"].to_numpy()
            yield Pairs(index=self.index, outcome=outcome, sided=self.sided, backend=self.backend, **columns)
