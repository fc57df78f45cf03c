"""Side information that cannot hold: bounds of a worker that exclude each other, also along a chain of orders."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from crowdrank.errors import InputError

EVERYBODY = "*"
"""What stands for all other workers in an order."""


class Bound(NamedTuple):
    """An end of the range of a worker, and the row that sets it; ``known``: the row gives the expertise itself."""

    value: float
    row: int
    known: bool

    def words(self, end: str) -> str:
        """What the row says, with ``end`` as "least" or "most"."""
        return f"{'' if self.known else f'at {end} '}{self.value:.12g} (row {self.row})"


Step = tuple[str, int | None]
"""A worker who is next in a chain, and the row of the order; None if a row with ``*`` has said so before."""


def refuse_contradictions(certain: pl.DataFrame, source: str) -> None:
    """Raise an error that names workers and rows if these rows cannot all hold.

    ``certain`` has worker, kind, low, high, than and row. Orders in a cycle can hold: the thetas are equal.
    """
    lows = _tightest(certain.drop_nulls("low").sort("low", "row", descending=[True, False]), "low")
    highs = _tightest(certain.drop_nulls("high").sort("high", "row"), "high")
    for worker, high in highs.items():
        if worker in lows and lows[worker].value > high.value:
            raise _bounds_error(worker, lows[worker], high, source)
    came: dict[str, Step | None] = {}
    for top, bottom in _climb(lows, _steps_up(certain), came):
        if top in highs and highs[top].value < lows[bottom].value:
            raise _chain_error(*_walk_down(top, came), lows[bottom], highs[top], source)


def _tightest(rows: pl.DataFrame, end: str) -> dict[str, Bound]:
    """The first bound of each worker."""
    first = rows.unique("worker", keep="first", maintain_order=True)
    return {
        worker: Bound(value, row, kind == "known")
        for worker, value, row, kind in first.select("worker", end, "row", "kind").iter_rows()
    }


def _steps_up(certain: pl.DataFrame) -> dict[str, list[Step]]:
    """For each worker those who are at least as expert."""
    orders = certain.filter(pl.col("kind") == "order")
    steps: dict[str, list[Step]] = {}
    for above, below, row in orders.select("worker", "than", "row").iter_rows():
        steps.setdefault(below, []).append((above, row))
    best = {above for above, _ in steps.get(EVERYBODY, [])}
    named = {*certain["worker"], *orders["than"]} - {EVERYBODY}
    for worker in (named if len(best) > 1 else named - best) if best else ():
        steps.setdefault(worker, []).append((EVERYBODY, None))
    return steps


def _climb(
    lows: Mapping[str, Bound], steps: Mapping[str, list[Step]], came: dict[str, Step | None]
) -> Iterator[tuple[str, str]]:
    """Each worker above others, and the one of these with the highest low. ``came`` gets the step down."""
    for bottom in sorted(lows, key=lambda worker: (-lows[worker].value, worker)):
        if bottom in came:
            continue
        came[bottom], queue = None, deque([bottom])
        while queue:
            below = queue.popleft()
            for above, row in steps.get(below, []):
                if above not in came:
                    came[above] = (below, row)
                    queue.append(above)
                    yield above, bottom


def _walk_down(top: str, came: Mapping[str, Step | None]) -> tuple[list[str], set[int]]:
    """The chain of workers from the top down, and the rows of its orders."""
    chain, rows, step = [top], set[int](), came[top]
    while step is not None:
        below, row = step
        chain.append(below)
        rows |= set() if row is None else {row}
        step = came[below]
    return [worker for worker in chain if worker != EVERYBODY], rows


def _bounds_error(worker: str, low: Bound, high: Bound, source: str) -> InputError:
    problem = (
        f"rows {_list_rows({low.row, high.row})} contradict each other: the expertise of {worker!r} cannot be "
        f"{low.words('least')} and {high.words('most')}."
    )
    return InputError(problem, source=source)


def _chain_error(chain: list[str], rows: set[int], low: Bound, high: Bound, source: str) -> InputError:
    shown = " >= ".join(map(repr, chain))
    problem = (
        f"rows {_list_rows({*rows, low.row, high.row})} contradict each other: {shown} by the orders, but "
        f"{chain[-1]!r} is {low.words('least')} and {chain[0]!r} is {high.words('most')}."
    )
    return InputError(problem, source=source)


def _list_rows(rows: set[int]) -> str:
    *most, last = sorted(rows)
    return f"{', '.join(map(str, most))} and {last}"
