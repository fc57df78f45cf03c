"""A table of a paper that can be made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crowdrank.reproduce.result import PaperTable


@dataclass(frozen=True)
class Target:
    """A table of a paper and the function that makes it from the number of draws and the folder of real data.

    ``keeps``: the function also takes a ``ledger``, which keeps the cells of the table.
    """

    name: str
    summary: str
    make: Callable[..., PaperTable]
    seeds: int = 20
    """The default number of draws."""
    keeps: bool = False
