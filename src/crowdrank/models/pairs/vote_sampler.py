"""Resampled votes: the counts of each resample.

A resample is drawn by the counts c of rows and outcomes, never vote by vote:

    votes      (c*_ro) ~ Multinomial(n; c_ro / W),  times W / n,    W = sum c,  n = W to the nearest whole number
    workers    m ~ Multinomial(K; 1/K, ..., 1/K),   c*_ro = m_k c_ro for the worker k of row r

The first is the bootstrap of the votes. If all weights are whole numbers, it is W draws with replacement. A
fractional weight counts as that many votes, as in the likelihood. The second draws workers with all their votes.
It is for votes of one worker that resemble each other more than the model says. Gold pairs are known and are not
resampled.

The virtual node of the prior gives every item lambda wins and lambda losses. They are drawn too, as

    a*_i, b*_i ~ Gamma(lambda, 1)

so that scores that rest on the prior vary as much as the prior allows. For an item that lost n times and never
won, the score under these draws is ln a* - ln (b* + n*), which is the logit of a Beta posterior. (Rubin 1981,
Newton & Raftery 1994; with drawn pseudo-votes, Fong, Lyddon & Holmes 2019.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.worker_parameters import POSITION
from crowdrank.prepared.comparisons import Comparisons, join_rows
from crowdrank.random import generator

MIN_VIRTUAL_VOTES = 1e-6
"""The least number of virtual wins or losses: with a weak prior the score of a winless item has no lower limit."""


class Resample(NamedTuple):
    """One resample: wins, losses and ties of each row (3, R), and virtual wins and losses of each node (2, N)."""

    counts: Floats
    virtual: Floats


@dataclass(frozen=True, eq=False)
class VoteSampler:
    """Draws resamples from ``counts`` (3, rows) of outcomes; each adds to the row ``target`` of ``rows``.

    ``worker``: the worker of each row, -1 for gold pairs. ``rows``: the rows of the likelihood; ties are separate.
    """

    rows: Comparisons
    counts: Floats
    target: NDArray[np.int64]
    worker: NDArray[np.int64]
    strength: float
    seed: int
    by_worker: bool

    @classmethod
    def of(cls, climb: PairedClimb, by_worker: bool) -> VoteSampler:
        """The votes of a fit, to be drawn by worker or one by one."""
        votes, design = climb.votes, climb.design
        everyone = "worker" if by_worker or design.by == "worker" else "crowd"
        tally = votes.count_votes(everyone, sided=POSITION in design.columns, ties=True)
        rows = join_rows(list(tally))
        assert rows.worker is not None
        assert rows.ties is not None
        people = tally.workers - votes.has_gold
        worker = np.where(rows.worker < people, rows.worker, -1).astype(np.int64)
        counts, target = np.stack([rows.wins, rows.losses, rows.ties]), np.arange(len(rows))
        if design.by != "worker":
            rows, target = _pool_rows(rows, worker < 0)
        if design.by == "pair":
            rows = replace(rows, worker=None, workers=0)
        return cls(rows, counts, target, worker, climb.priors.node.strength, climb.run.seed, by_worker)

    def draw(self, number: int) -> Resample:
        """The resample of this number. It depends only on the votes, the seed and the number."""
        rng = generator(self.seed, number)
        found = self.counts.copy()
        if self.by_worker:
            found *= self._draw_workers(rng)
        else:
            people = np.broadcast_to(self.worker >= 0, found.shape) & (found > 0)
            weight = found[people]
            total = float(weight.sum())
            whole = max(round(total), 1)
            found[people] = rng.multinomial(whole, weight / total) * (total / whole)
        sums = found if len(self.rows) == len(self.target) else self._sum_rows(found)
        virtual = rng.standard_gamma(self.strength, (2, self.rows.nodes))
        return Resample(sums, np.maximum(virtual, MIN_VIRTUAL_VOTES))

    def _draw_workers(self, rng: np.random.Generator) -> Floats:
        """How often the worker of each row is drawn; gold pairs always count once."""
        people = np.unique(self.worker[self.worker >= 0])
        times = rng.multinomial(len(people), np.full(len(people), 1.0 / len(people)))
        return np.where(self.worker < 0, 1.0, times[np.searchsorted(people, self.worker)])

    def _sum_rows(self, counts: Floats) -> Floats:
        return np.stack([summed(self.target, own, len(self.rows)) for own in counts])

    def rows_with_votes(self, resample: Resample, ties: str) -> Comparisons:
        """The rows that have votes in a resample, with their counts."""
        wins, losses, tied = resample.counts
        if ties == "half":
            rows = replace(self.rows, wins=wins + 0.5 * tied, losses=losses + 0.5 * tied, ties=None)
        else:
            rows = replace(self.rows, wins=wins, losses=losses, ties=tied)
        return rows.take(rows.weight > 0)


def _pool_rows(rows: Comparisons, gold: NDArray[np.bool_]) -> tuple[Comparisons, NDArray[np.int64]]:
    """Rows with one worker for everyone and one for gold pairs, still without votes; and each row's target."""
    pairs = np.int64(rows.nodes) ** 2
    keys, target = np.unique(gold * pairs + rows.pair, return_inverse=True)
    worker, place = np.divmod(keys, pairs)
    i, j = np.divmod(place, rows.nodes)
    none = np.zeros(len(keys))
    codes = [codes.astype(np.int32) for codes in (i, j, worker)]
    pooled = Comparisons(codes[0], codes[1], none, none, codes[2], rows.nodes, 1 + int(gold.any()), none)
    return pooled, target
