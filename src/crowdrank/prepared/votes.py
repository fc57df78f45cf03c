"""Pairs prepared for a model: nodes, connections, notes for the user, and the agreement of workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import LEFT, RIGHT, TIE, ConvertedPairs, Floats, Pairs, SpooledPairs, summed
from crowdrank.errors import Note
from crowdrank.prepared.comparisons import CodedVotes, Comparisons, Tally, coded_votes, nodes_of, plan, tally
from crowdrank.prepared.graph import Graph, graph
from crowdrank.prepared.spooled import tally_batches, tally_in_memory, tally_spooled
from crowdrank.prepared.subjects import Subjects
from crowdrank.results import LEVEL, Evidence, Workers
from crowdrank.solve import Covariance, Spread, spread
from crowdrank.solve.intervals import largest_up_to_one

if TYPE_CHECKING:
    from crowdrank.data.ids import Backend
    from crowdrank.data.index import Index, Nodes
    from crowdrank.data.spool.folder import Spool

ONE_SIDED = 0.9
CHANCE = 0.01
"""The same side in both orders is noted if coin tosses would choose it so often with a smaller probability."""
EQUAL = 1e-9
"""Scores that differ by less count as tied, since the difference may be rounding. Of smaller scores, or if the
judgments weigh less than 1, it is a share."""


class Votes(Subjects):
    """Pairs with everything that several models derive from them, processed in batches of votes."""

    pairs: Pairs | SpooledPairs | ConvertedPairs
    index: Index
    backend: Backend
    spool: Spool | None
    nodes: Nodes
    gold: NDArray[Any]
    gold_weight: float

    def __init__(self, pairs: Pairs | SpooledPairs | ConvertedPairs) -> None:
        self.pairs, self.index, self.backend = pairs, pairs.index, pairs.backend
        judged = None if isinstance(pairs, SpooledPairs) else pairs.judged
        self.spool = None if isinstance(pairs, Pairs) else pairs.spool
        self.nodes = judged or nodes_of(pairs.batches(), pairs.index)
        self.gold = np.empty((0, 2), np.int64)
        self.gold_weight = 0.0

    def with_gold(self, gold: NDArray[np.int64], weight: float) -> Votes:
        """The same votes with gold pairs (better node, worse node). Each counts as ``weight`` votes."""
        more = copy(self)
        for derived in ("comparisons", "graph"):
            more.__dict__.pop(derived, None)
        more.gold, more.gold_weight = gold, weight
        return more

    def without_gold(self) -> Votes:
        """The same votes without gold pairs."""
        return self.with_gold(np.empty((0, 2), np.int64), 0.0) if self.has_gold else self

    @cached_property
    def comparisons(self) -> Comparisons:
        """Counts without distinguishing workers, including gold pairs."""
        if self.spool is not None:
            return tally_batches(self._batches(), len(self.nodes), self.spool)
        if isinstance(self.pairs, Pairs):
            return tally(len(self.nodes), self._whole_batch())
        return tally_in_memory(self._batches(), len(self.nodes), 0)

    @cached_property
    def graph(self) -> Graph:
        """How the comparisons connect."""
        return graph(self.comparisons)

    def count_votes(self, by: str, *, sided: bool = False, ties: bool = False) -> Tally:
        """Counts by ``"worker"``, ``"crowd"`` (as if one worker had cast every vote) or ``"pair"`` (no workers).

        Gold pairs are the votes of an additional, perfect worker. ``sided`` and ``ties``: see ``tally``.
        """
        nodes = len(self.nodes)
        if by == "pair":
            return Tally(plan(self.comparisons), nodes, 0)
        everyone = by == "crowd"
        workers = (1 if everyone else self.n_workers) + self.has_gold
        kinds = {"sided": sided, "ties": ties}
        if self.spool is not None:
            return tally_spooled(self._batches(everyone), nodes, workers, self.spool, **kinds)
        if isinstance(self.pairs, Pairs):
            rows = tally(nodes, self._whole_batch(everyone), workers, **kinds)
        else:
            rows = tally_in_memory(self._batches(everyone), nodes, workers, **kinds)
        return Tally(plan(rows), nodes, workers)

    def _votes(self) -> Iterator[CodedVotes]:
        """The votes between nodes: all at once if they are in memory, otherwise one batch at a time."""
        if isinstance(self.pairs, Pairs):
            return iter([self._coded_votes])
        pairs = self.pairs
        batches = pairs.batches(by_node=True) if isinstance(pairs, ConvertedPairs) else pairs.batches()
        return map(partial(coded_votes, self.nodes), batches)

    @cached_property
    def _coded_votes(self) -> CodedVotes:
        """The votes between nodes, in memory."""
        assert isinstance(self.pairs, Pairs)
        return coded_votes(self.nodes, self.pairs)

    @property
    def gold_total(self) -> float:
        """The weight of all gold pairs."""
        return self.gold_weight * len(self.gold)

    @property
    def has_gold(self) -> bool:
        """Whether there are gold pairs that count as votes."""
        return bool(len(self.gold)) and self.gold_weight > 0

    def _batches(self, everyone: bool = False) -> Iterator[CodedVotes]:
        """The votes, then the gold pairs that count. ``everyone``: all workers count as one."""
        for votes in self._votes():
            yield votes._replace(worker=np.zeros(len(votes.left), np.int32)) if everyone else votes
        if self.has_gold:
            yield self._gold_votes(1 if everyone else self.n_workers)

    def _gold_votes(self, worker: int) -> CodedVotes:
        count = len(self.gold)
        return CodedVotes(
            left=self.gold[:, 0],
            right=self.gold[:, 1],
            outcome=np.full(count, LEFT, np.int8),
            worker=np.full(count, worker, np.int32) if worker else None,
            weight=np.full(count, self.gold_weight),
        )

    def _whole_batch(self, everyone: bool = False) -> CodedVotes:
        """The votes and gold pairs in memory, as one batch."""
        first, *more = self._batches(everyone)
        if not more:
            return first
        weighted = [
            batch._replace(weight=np.ones(len(batch.left)) if batch.weight is None else batch.weight)
            for batch in (first, *more)
        ]
        joined: list[Any] = [
            None if column[0] is None else np.concatenate(column) for column in zip(*weighted, strict=True)
        ]
        return CodedVotes(*joined)

    def evidence(self, rank: NDArray[np.int64]) -> Evidence:
        """How many votes and opponents each node has, and which nodes met, in the order of ``rank``."""
        count, query = len(self.nodes), self.nodes.query
        side, place, most = self.squares(rank)
        ends = np.cumsum(side**2)
        counted = ends <= most
        opponents, cells = np.zeros(count, np.int64), np.zeros(most)
        for shard in plan(self.comparisons):
            rows = shard.load()
            weight = rows.wins + rows.losses
            met = weight > 0
            i, j, weight = rows.i[met], rows.j[met], weight[met]
            opponents += np.bincount(i, minlength=count) + np.bincount(j, minlength=count)
            own = query[i]
            above, below = np.minimum(place[i], place[j]), np.maximum(place[i], place[j])
            cell = ends[own] - side[own] ** 2 + above * side[own] + below
            cells += summed(cell[counted[own]], weight[counted[own]], len(cells))
        votes = self.graph.wins + self.graph.losses
        return Evidence(votes, opponents, self.graph.part, side, cells)

    def spread_scores(self, scores: Floats, covariance: Covariance | None) -> Spread:
        """Scores with their uncertainty and ranks. Without a covariance, only scores and ranks."""
        parts, close = self.graph.members(), EQUAL * largest_up_to_one(self.graph.wins + self.graph.losses)
        return spread(
            scores, covariance, self.nodes.query, parts, level=LEVEL, tie_break=self.graph.wins, close=close
        )

    # ------------------------------------------------------------------------------ what to know

    def notes(self, *, regularized: bool = True) -> list[Note]:
        """What the user should know about these votes before trusting a ranking."""
        return [
            *self.note_never("winless", self.graph.wins, self.graph.losses, "never won", regularized),
            *self.note_never("unbeaten", self.graph.losses, self.graph.wins, "never lost", regularized),
            *self._note_unjudged(),
            *self.note_disconnected(self.graph.part),
            *self.note_few(self.graph.wins + self.graph.losses),
            *self.note_one_worker(),
            *self._note_one_sided(),
            *self._note_both_orders(),
        ]

    def _note_unjudged(self) -> list[Note]:
        found = np.flatnonzero((self.graph.wins == 0) & (self.graph.losses == 0))
        if not len(found):
            return []
        verb = "item was" if len(found) == 1 else "items were"
        message = f"{len(found)} {verb} compared with no other item: {self.item_names(found)}."
        return [Note("unjudged", message)]

    def _note_one_sided(self) -> list[Note]:
        """Notes on workers who nearly always choose the same side, more often than chance explains."""
        pairs, count = self.pairs, max(self.n_workers, 1)
        if not pairs.sided:
            return []
        lefts, total = self._counts[:2].astype(int)
        most = np.maximum(lefts, total - lefts)
        suspects = np.flatnonzero((total >= 10) & (most >= ONE_SIDED * total))
        if not len(suspects):
            return []
        from scipy.special import bdtrc

        chance = 2 * bdtrc(most[suspects] - 1, total[suspects], 0.5) * count
        suspects = suspects[chance < 0.05]
        notes = []
        for code in suspects[:10]:
            side = "left" if lefts[code] == most[code] else "right"
            name = (
                "all votes together" if pairs.index.workers is None else f"worker {pairs.index.workers[int(code)]}"
            )
            message = f"One-sided: {name} chose {side} in {most[code]} of {total[code]} decided votes."
            notes.append(Note("one-sided", message, workers=self.worker_names([code])))
        if len(suspects) > 10:
            message = f"One-sided: {len(suspects) - 10} further workers."
            notes.append(Note("one-sided", message, workers=self.worker_names(suspects[10:])))
        return notes

    def worker_names(self, codes: Iterable[int]) -> tuple[str, ...]:
        """The ids of workers by their codes."""
        workers = self.index.workers
        return () if workers is None else tuple(workers[int(code)] for code in codes)

    def _note_both_orders(self) -> list[Note]:
        """A note on pairs that a worker judged once in each order, choosing the same side both times.

        A worker who ignores the side does so for at most half of these pairs, so the binomial tail with 1/2 bounds
        the probability that chance alone does it as often. This is checked only if the votes are in memory.
        """
        pairs = self.pairs
        if not isinstance(pairs, Pairs) or pairs.worker is None or not pairs.sided:
            return []
        both, same = judged_in_both_orders(self._coded_votes, len(self.nodes), self.n_workers)
        if 2 * same <= both:
            return []
        from scipy.special import bdtrc

        if bdtrc(same - 1, both, 0.5) >= CHANCE:
            return []
        message = (
            f"{both} times a worker judged the same two items twice, once in each order. {same} times "
            f"({same / both:.0%}) the worker chose the same side in both; coin tosses would do so in half of the "
            "cases. All these votes count."
        )
        return [Note("both-orders", message)]

    # ----------------------------------------------------------------------------------- workers

    @cached_property
    def _counts(self) -> Floats:
        """Per worker (or for all together): votes for the left, decided votes, weight of all votes and of ties."""
        counts = np.zeros((4, max(self.n_workers, 1)))
        for batch in self._votes():
            worker = np.zeros(len(batch.left), np.int32) if batch.worker is None else batch.worker
            for place, chosen in enumerate((batch.outcome == LEFT, batch.outcome != TIE)):
                counts[place] += np.bincount(worker[chosen], minlength=counts.shape[1])
            counts[2] += summed(worker, batch.weight, counts.shape[1])
            ties = batch.outcome == TIE
            weight = None if batch.weight is None else batch.weight[ties]
            counts[3] += summed(worker[ties], weight, counts.shape[1])
        return counts

    @property
    def judgments_of_workers(self) -> Floats:
        """The weight of the votes of each worker."""
        return self._counts[2, : self.n_workers]

    @property
    def ties(self) -> bool:
        """Whether any vote is a tie."""
        return bool(self._counts[3].any())

    @property
    def tie_share(self) -> float:
        """The share of ties among the votes, with half a vote added to each kind."""
        return float((self._counts[3].sum() + 0.5) / (self._counts[2].sum() + 1.0))

    def agreement(self, scores: Floats) -> Workers | None:
        """For models without worker parameters: how often the votes of each worker agree with the scores.

        A tie, of votes or of scores, is half an agreement. The interval is the Jeffreys interval.
        """
        if self.index.workers is None:
            return None
        agreed, equal = np.zeros(self.n_workers), EQUAL * largest_up_to_one(np.abs(scores))
        for batch in self._votes():
            difference = scores[batch.left] - scores[batch.right]
            ahead = np.where(np.abs(difference) > equal, np.sign(difference), 0.0)
            said = np.where(batch.outcome == LEFT, 1, np.where(batch.outcome == RIGHT, -1, 0))
            share = (1 + said * ahead) / 2
            assert batch.worker is not None
            agreed += summed(batch.worker, share if batch.weight is None else batch.weight * share, self.n_workers)
        return self.workers_by_agreement(agreed, self.judgments_of_workers)


def judged_in_both_orders(votes: CodedVotes, nodes: int, workers: int) -> tuple[int, int]:
    """How many pairs a worker decided exactly twice, once in each order, and on how many of them for one side."""
    left, right, outcome, worker, _ = votes
    assert worker is not None
    low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right)
    pair, pairs = low * nodes + high, nodes * nodes
    if 4 * workers * pairs > np.iinfo(np.int64).max:
        distinct, pair = np.unique(pair, return_inverse=True)
        pairs = len(distinct)
    shown = 4 * (worker * np.int64(pairs) + pair) + 2 * (left > right) + (outcome == RIGHT)
    shown = np.sort(shown[outcome != TIE])
    starts = np.flatnonzero(np.diff(shown // 4, prepend=-1, append=-1))
    one = starts[:-1][np.diff(starts) == 2]
    first, second = shown[one] % 4, shown[one + 1] % 4
    turned = first // 2 != second // 2
    return int(turned.sum()), int((turned & (first % 2 == second % 2)).sum())
