"""Square matrices for the queries of a shard, grouped by size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from crowdrank.data import Floats, Integers, summed


class QueryBlock(NamedTuple):
    """The queries of one size: their nodes (c, D), their pairs, and the positions of each pair in the nodes."""

    nodes: Integers
    pairs: Integers
    i: Integers
    j: Integers

    def laplacian(self, weight: Floats) -> Floats:
        """sum over pairs of weight (e_i - e_j)(e_i - e_j)', one matrix per query (c, D, D)."""
        count, size = self.nodes.shape
        own = weight[self.pairs]
        at = (self.i // size) * size * size
        i, j = self.i % size, self.j % size
        cross = summed(at + i * size + j, own, count * size * size).reshape(count, size, size)
        whole = -(cross + cross.transpose(0, 2, 1))
        diagonal = np.einsum("cdd->cd", whole)
        diagonal -= whole.sum(axis=2)
        return whole

    def differences(self, covariance: Floats) -> Floats:
        """The variance of the difference of each pair, from the covariance (c, D, D)."""
        size = self.nodes.shape[1]
        query, i, j = self.i // size, self.i % size, self.j % size
        diagonal = np.einsum("cdd->cd", covariance)
        return np.asarray(diagonal[query, i] + diagonal[query, j] - 2 * covariance[query, i, j])


def blocks(query: Integers, i: Integers, j: Integers) -> Iterator[QueryBlock]:
    """The blocks of a shard, from the query of each node, in order, and the nodes of each pair."""
    sizes = np.bincount(query)
    start = np.cumsum(sizes) - sizes
    place = np.arange(len(query)) - start[query]
    own = query[i]
    for size in np.unique(sizes[sizes > 0]):
        of = np.flatnonzero(sizes == size)
        number = np.full(len(sizes), -1)
        number[of] = np.arange(len(of))
        pairs = np.flatnonzero(number[own] >= 0)
        base = number[own[pairs]] * size
        yield QueryBlock(
            start[of][:, None] + np.arange(size), pairs, base + place[i[pairs]], base + place[j[pairs]]
        )
