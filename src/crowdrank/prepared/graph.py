"""How the comparisons connect the items, and how often each item won and lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, summed
from crowdrank.prepared.comparisons import Comparisons


@dataclass(frozen=True, eq=False)
class Graph:
    """Who was compared with whom, with one entry per node.

    ``part``: number of the connected part. Scores are comparable only within a part.
    ``strong``: number of the strongly connected part (chains of wins lead both ways).
    """

    part: NDArray[np.int32]
    strong: NDArray[np.int32]
    wins: Floats
    losses: Floats

    @property
    def parts(self) -> int:
        """The number of connected parts."""
        return int(self.part.max(initial=-1)) + 1

    def members(self) -> list[NDArray[np.int64]]:
        """The nodes of each part."""
        order = np.argsort(self.part, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.part))[:-1])


def graph(comparisons: Comparisons) -> Graph:
    """Connected and strongly connected parts of the comparisons, and the wins of each node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, i, j = comparisons.nodes, comparisons.i, comparisons.j
    beats, beaten = comparisons.wins > 0, comparisons.losses > 0
    winner = np.concatenate([i[beats], j[beaten]])
    loser = np.concatenate([j[beats], i[beaten]])
    edges = coo_array((np.ones(len(winner), np.int8), (winner, loser)), shape=(n, n)).tocsr()
    part = connected_components(edges, directed=False)[1]
    strong = connected_components(edges, directed=True, connection="strong")[1]
    wins = summed(i, comparisons.wins, n) + summed(j, comparisons.losses, n)
    losses = summed(j, comparisons.wins, n) + summed(i, comparisons.losses, n)
    return Graph(part.astype(np.int32), strong.astype(np.int32), wins, losses)
