"""Newton's method on many resamples at once, for a crowd that counts as one worker.

All resamples have the same rows and differ only in their counts. The parameters z of a resample are the scores and
the parameters of the crowd (a bias towards the left, a tie threshold). Each channel of the likelihood is linear in
them, x = X z and theta = T z, so with the slopes g and curvatures w of the rows

    gradient = X' g_x + T' g_theta         information = sum over channels a, b of A' diag(w_ab) B

The information is linear in w: as a vector it is M_ab w_ab with a sparse matrix M_ab that is built once. One
product of M_ab with the w of all resamples (rows by resamples) gives all information matrices; one LAPACK call
solves them. Starting from the maximum of the original votes, it takes about four steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.kernels import Chance, chances
from crowdrank.kernels.links import TINY
from crowdrank.kernels.ties import ordered
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.pairs.vote_sampler import Resample, VoteSampler
from crowdrank.models.priors import DrawnNode
from crowdrank.models.worker_parameters import THRESHOLD
from crowdrank.solve import Maximum, newton_batch

MAX_PARAMETERS = 500
"""With more parameters than this, refitting the resamples one by one is as fast."""
CELLS = 1 << 17
"""How many numbers a batch works on; they should fit in the processor's cache."""
Slot = tuple[NDArray[Any], Floats]
"""A parameter of each row, and its factor."""


@dataclass(frozen=True, eq=False)
class BatchRefit:
    """``start`` (P,): scores, then columns. ``linear``: X and T by channel; ``products``: M by two channels."""

    climb: PairedClimb
    start: Floats
    linear: dict[str, Any]
    products: dict[tuple[str, str], Any]
    offset: Floats

    @classmethod
    def of(cls, climb: PairedClimb, top: Maximum, sampler: VoteSampler) -> BatchRefit:
        """For a design without parameters that vary between workers."""
        rows, columns = sampler.rows, climb.design.columns
        start = np.concatenate([top.point.scores, top.point.workers[:1].ravel()[: len(columns)]])
        people = np.ones(len(rows)) if rows.worker is None else (rows.worker < climb.members).astype(float)
        slots: dict[str, list[Slot]] = {"x": [(rows.i, np.ones(len(rows))), (rows.j, -np.ones(len(rows)))]}
        for place, column in enumerate(columns):
            own = (np.full(len(rows), rows.nodes + place), people)
            slots.setdefault(column.channel, []).append(own)
        products = {
            (one, other): _product(slots[one], slots[other], len(start), one == other)
            for one, other in combinations_with_replacement(slots, 2)
        }
        linear = {channel: _matrix(own, len(start)) for channel, own in slots.items()}
        return cls(climb, start, linear, products, np.where(people, 0.0, THRESHOLD.perfect))

    @property
    def batch(self) -> int:
        """How many resamples to refit at once."""
        return int(np.clip(CELLS // max(len(self.start) ** 2, 2 * len(self.offset)), 1, 64))

    def refit(self, drawn: list[Resample]) -> tuple[Floats, NDArray[np.bool_]]:
        """The maximum of each resample (resamples, P), and which were found."""
        wins, losses, ties = np.stack([own.counts for own in drawn], axis=-1)
        counts = [wins, losses, ties]
        if self.climb.design.ties == "half":
            counts = [wins + 0.5 * ties, losses + 0.5 * ties]
        virtual = np.stack([own.virtual for own in drawn], axis=-1)

        def look(z: Floats, chosen: Any) -> tuple[Floats, Floats]:
            return self._look(z, [own[:, chosen] for own in counts], virtual[..., chosen])

        z, found = newton_batch(look, np.repeat(self.start[:, None], len(drawn), axis=1))
        return z.T, found & self._inside(z)

    def _inside(self, z: Floats) -> NDArray[np.bool_]:
        """Whether all columns are within their bounds."""
        width, columns = len(self.climb.design.columns), z[self.climb.rows.nodes :]
        low, high = (
            (ends[0, :width, None] for ends in (self.climb.bounds.low, self.climb.bounds.high))
            if width
            else (0, 0)
        )
        return np.asarray(((columns >= low) & (columns <= high)).all(axis=0))

    def _look(self, z: Floats, counts: list[Floats], virtual: Floats) -> tuple[Floats, Floats]:
        """Gradients (P, resamples) and information matrices (resamples, P, P)."""
        climb, size, shape = self.climb, len(self.start), counts[0].shape
        x = self.linear["x"] @ z
        theta = self.linear["theta"] @ z + self.offset[:, None] if "theta" in self.linear else None
        flat = [own.ravel() for own in counts]
        outcomes = chances(climb.link, climb.design.ties, x.ravel(), None if theta is None else theta.ravel())
        by_row = _slopes(flat, outcomes)
        gradient = sum(own.T @ by_row[channel].reshape(shape) for channel, own in self.linear.items())
        matrix = sum(
            own @ _curvature(flat, outcomes, *channels).reshape(shape) for channels, own in self.products.items()
        )
        diagonal = np.arange(size) * (size + 1)
        for places, terms in self._penalty(z, virtual):
            gradient[places] += terms[1]
            matrix[diagonal[places]] += terms[2]
        matrix = np.ascontiguousarray(matrix.T).reshape(-1, size, size)
        if climb.gauge:
            matrix += self._gauge(matrix)
        return gradient, matrix

    def _penalty(self, z: Floats, virtual: Floats) -> list[tuple[slice, tuple[float, Floats, Floats]]]:
        """The prior terms of scores and columns, each with its place among the parameters."""
        nodes, priors = self.climb.rows.nodes, self.climb.priors
        found = []
        if not self.climb.gauge:
            node = DrawnNode(priors.node.link, priors.node.strength, (virtual[0], virtual[1]))
            found.append((slice(0, nodes), node.terms(z[:nodes])))
        for place, prior in enumerate(priors.columns, nodes):
            own = slice(place, place + 1)
            found.append((own, prior.terms(z[own])))
        return found

    def _gauge(self, matrix: Floats) -> Floats:
        """A constant for each part that fixes its level. It does not affect the gradient."""
        part = np.concatenate([self.climb.votes.graph.part, np.full(len(self.climb.design.columns), -1)])
        same = (part[:, None] == part) & (part >= 0)
        level = np.einsum("bpp->bp", matrix).mean(axis=1)
        return level[:, None, None] * (same / np.maximum(same.sum(axis=1), 1))


def _matrix(slots: list[Slot], size: int) -> Any:
    """A matrix of rows by parameters."""
    from scipy.sparse import coo_array

    count = len(slots[0][0])
    row = np.tile(np.arange(count), len(slots))
    place, value = (np.concatenate(arrays) for arrays in zip(*slots, strict=True))
    return coo_array((value, (row, place)), shape=(count, size)).tocsr()


def _product(one: list[Slot], other: list[Slot], size: int, same: bool) -> Any:
    """M: (parameters by parameters) by rows, the products of the factors of the slots."""
    from scipy.sparse import coo_array

    count = len(one[0][0])
    places, values = [], []
    for place, value in one:
        for partner, times in other:
            first, second = place.astype(np.int64), partner.astype(np.int64)
            places.append(first * size + second)
            values.append(value * times)
            if not same:
                places.append(second * size + first)
                values.append(value * times)
    row = np.tile(np.arange(count), len(places))
    entries = (np.concatenate(values), (np.concatenate(places), row))
    return coo_array(entries, shape=(size * size, count)).tocsr()


def _slopes(counts: list[Floats], outcomes: list[Chance]) -> dict[str, Floats]:
    """The derivative of each row's log likelihood by each channel."""
    found: dict[str, Floats] = {}
    for count, chance in zip(counts, outcomes, strict=True):
        ratio = count / np.maximum(chance.p, TINY)
        for channel, first in chance.first.items():
            found[channel] = found.get(channel, 0.0) + ratio * first
    return found


def _curvature(counts: list[Floats], outcomes: list[Chance], one: str, other: str) -> Floats:
    """Minus the second derivative of each row's log likelihood by two channels."""
    key = ordered(one, other)
    total = np.zeros_like(counts[0])
    for count, chance in zip(counts, outcomes, strict=True):
        p = np.maximum(chance.p, TINY)
        if one in chance.first and other in chance.first:
            total += count * (chance.first[one] / p) * (chance.first[other] / p)
        if key in chance.second:
            total -= count * (chance.second[key] / p)
    return total
