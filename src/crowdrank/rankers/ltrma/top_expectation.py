"""The E-step with definition 1 of the paper: the true list is a list of k documents, like those of the workers.

The distance and its normalizers depend on how many documents two lists do not share (kernels.top_lists). Besides
the expected distance, the sums have how often each of Mallows' normalizers enters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdrank.data.arrays import Floats, Integers, summed
from crowdrank.kernels.chains import Orders, places_of
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.kernels.top_lists import (
    TopModel,
    count_outside,
    discordant_pairs,
    draw_top_lists,
    top_distances,
)
from crowdrank.prepared.documents import DocumentShard
from crowdrank.prepared.statements import EXTRA, StatementBlock
from crowdrank.random import stream_starts
from crowdrank.rankers.ltrma.expectation import (
    ChainState,
    Expectancy,
    Expectation,
    Expected,
    JointCovariance,
    RankerSlopes,
    Spread,
    certainty,
    movement,
    order_model,
    scores_of,
)


@dataclass(frozen=True)
class TopExpectation(Expectation):
    """The sums of the E-step for lists of ``k`` documents.

    ``distance`` of its sums has a row per voice: the distance less r (r + 1) / 2, then the numbers of ln Z_m for
    m = 0 to k.
    """

    k: int = 10

    def draw(self, shard: DocumentShard, at: Expectancy, state: ChainState) -> tuple[Expected, ChainState]:
        """Draw top lists; the expected distances and normalizers, and the state with the draws to learn from."""
        scores, total, observed = scores_of(shard, at), np.zeros((self.voices + EXTRA, self.k + 2)), 0.0
        orders, kept = [], []
        for block, order in zip(shard.plan, state.orders, strict=True):
            model = self._top_model(block, scores, at.theta)
            last, draws = self._draw_top(block, model, order, at)
            for draw in range(draws.shape[1]):
                far, outside = _distances(block, model, draws[:, draw])
                total += self._sums(block, model.length, far, outside) / draws.shape[1]
                own = block.voice == self.voices + 1
                observed += float(block.weight[own] @ far[own]) / draws.shape[1]
            orders.append(last)
            kept.append(draws[:, -1:] if self.train_on == "best" else draws)
        moved, size = movement(shard, scores, state.marked)
        marked = scores if at.mark else state.marked
        plan = self._plan(shard, iter(kept)).after(state.plan, at.pool)
        return Expected(total, moved, size, observed), ChainState(tuple(orders), plan, marked)

    def spread(self, shard: DocumentShard, at: Expectancy, state: ChainState) -> tuple[Spread, ChainState]:
        """Draw many top lists; what they say about places, and how much the distances vary."""
        scores, total = scores_of(shard, at), np.zeros((self.voices + EXTRA, self.k + 2))
        ranker = RankerSlopes.of(shard, scores, at)
        joint, columns = JointCovariance(self.voices + ranker.count), np.zeros((4, shard.rows))
        orders, kept = [], []
        for block, order in zip(shard.plan, state.orders, strict=True):
            model = self._top_model(block, scores, at.theta)
            last, draws = self._draw_top(block, model, order, at)
            count, lists = self.voices + EXTRA, len(block.list)
            each = np.zeros((draws.shape[1], lists * count))
            for draw in range(draws.shape[1]):
                far, outside = _distances(block, model, draws[:, draw])
                total += self._sums(block, model.length, far, outside) / draws.shape[1]
                slope = self._slopes(block, model.length, far, outside, at.theta)
                each[draw] = summed(block.of * count + block.voice, block.weight * slope, lists * count)
            drawn = each.reshape(-1, lists, count).transpose(1, 0, 2)[:, :, : self.voices]
            joint.add(np.concatenate([-drawn, ranker.slopes(block, draws)], axis=2))
            columns[:, block.rows()[block.real()]] = certainty(block, _open_places(model, draws))[:, block.real()]
            orders.append(last)
            kept.append(draws)
        state = replace(state, orders=tuple(orders), plan=self._plan(shard, iter(kept)))
        slope, curvature = joint.mean[self.voices :], ranker.curvature(state.plan)
        return Spread(total[: self.voices], joint.total, slope, curvature, *columns), state

    def _top_model(self, block: StatementBlock, scores: Floats, theta: Floats) -> TopModel:
        bottom = np.nanmax(np.where(np.isnan(block.level), -1.0, block.level), axis=1, initial=0.0)
        return TopModel(
            whole=order_model(block, scores, theta),
            said=block.said(theta),
            members=block.level < np.maximum(bottom, self._length(block)[block.of])[:, None],
            of=block.of,
            theta=theta[block.voice] * block.weight,
            length=self._length(block),
            size=block.size,
        )

    def _length(self, block: StatementBlock) -> Integers:
        return np.minimum(self.k, block.size)

    def _draw_top(
        self, block: StatementBlock, model: TopModel, order: Orders, at: Expectancy
    ) -> tuple[Orders, Orders]:
        streams = stream_starts(block.key, at.seed, at.step)
        return draw_top_lists(model, order, streams, at.sweeps, at.every)

    def _slopes(
        self, block: StatementBlock, length: Integers, far: Floats, outside: Integers, theta: Floats
    ) -> Floats:
        """Minus the slope of the log likelihood of each statement by theta, given the draw."""
        table = log_normalizers(np.append(theta[: self.voices], np.zeros(EXTRA)), self.k)[1]
        own, voice = length[block.of], block.voice
        normal = 2.0 * table[voice, own] - 2.0 * table[voice, outside] - table[voice, own - outside]
        return far - 0.5 * outside * (outside + 1.0) + normal

    def _sums(self, block: StatementBlock, length: Integers, far: Floats, outside: Integers) -> Floats:
        """By voice: the distance less r (r + 1) / 2, and the numbers of ln Z_m: 2 at k, -2 at r, -1 at k - r."""
        count, width, own = self.voices + EXTRA, self.k + 1, length[block.of]
        found = np.zeros((count, width + 1))
        found[:, 0] = summed(block.voice, block.weight * (far - 0.5 * outside * (outside + 1.0)), count)
        for place, times in ((own, 2.0), (outside, -2.0), (own - outside, -1.0)):
            cells = summed(block.voice * width + place, times * block.weight, count * width)
            found[:, 1:] += cells.reshape(count, width)
        return found


def _distances(block: StatementBlock, model: TopModel, order: Orders) -> tuple[Floats, Integers]:
    """The distance of each statement from a draw, and r."""
    outside = count_outside(model, model.whole.slots(order))
    wrong = discordant_pairs(places_of(order), block.level, model)
    return top_distances(wrong, outside), outside


def _open_places(model: TopModel, draws: Orders) -> Floats:
    """The place of each document; those outside the list share the mean of the places there."""
    places, k = places_of(draws), model.length[:, None, None]
    beyond = 0.5 * (k + model.size[:, None, None] - 1.0)
    real = places < model.size[:, None, None]
    return np.where((places >= k) & real, beyond, places)
