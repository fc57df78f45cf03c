"""How much is known about each item: the judgments behind a ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.errors import count_noun
from crowdrank.results.overview import HasOverview, Overview


@dataclass(frozen=True, eq=False)
class Agreement:
    """How often workers order a pair of items in the same way.

    ``worker`` are the codes of the W workers with the most lists. ``both`` (W, W): how many pairs both order, and
    ``same`` (W, W): how many of these in the same way.
    """

    worker: NDArray[np.int64]
    both: Floats
    same: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(HasOverview):
    """The judgments behind each row of a ranking, in the ranking's own order, and which items met.

    ``comparisons`` is the weight of the judgments on an item, ``opponents`` the number of items it was compared
    with, ``part`` the number of its connected part. ``side`` and ``cells`` hold a square matrix for each query (in
    the order of their ids), items in the order of their ranks: see ``matrix``. ``unit`` says what is counted:
    "votes", "lists" or "labels". ``agreement``: between workers, if they gave lists.

    >>> import crowdrank as cr
    >>> model = cr.BradleyTerry().fit([("a", "b"), ("a", "b"), ("a", "c"), ("x", "y")])
    >>> model.evidence_.comparisons, model.evidence_.opponents
    (array([3., 2., 1., 1., 1.]), array([2, 1, 1, 1, 1]))
    >>> model.evidence_.part  # nothing links x and y to the others
    array([0, 0, 0, 1, 1], dtype=int32)
    """

    comparisons: Floats
    opponents: NDArray[np.int64]
    part: NDArray[np.int32]
    side: NDArray[np.int64]
    cells: Floats
    unit: str = "votes"
    agreement: Agreement | None = None

    def overview(self) -> Overview:
        """How many judgments there are, on how many items, and in how many connected parts."""
        parts = count_noun(len(np.unique(self.part)), "connected part")
        judged = f"{np.median(self.comparisons):,.0f} {self.unit} on the median item"
        return Overview(f"Evidence: {count_noun(len(self.part), 'item')} in {parts}", [judged])

    def matrix(self, query: int) -> Floats | None:
        """The votes between the items of a query, or the lists that hold both, from the best to the worst.

        Everything below the diagonal is zero. A row and a column stand for one item, or for a run of neighbors in
        rank if there are many items. None if it was not counted: only the first queries are counted, so
        memory stays bounded.
        """
        side = int(self.side[query])
        start = int((self.side[:query] ** 2).sum())
        cells = self.cells[start : start + side * side]
        return cells.reshape(side, side) if len(cells) == side * side else None
