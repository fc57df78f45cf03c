"""The E-step of LTRMA: true orders of the lists, drawn given the ranker and the expertise of the workers.

    P(order | statements)  ~  Plackett-Luce(order | scores)  x  prod over statements e^(-theta d(statement, order))

(Wu et al. 2016, eq. 6). The product over the statements is one matrix of pair weights per list, no matter how many
workers there are, and pairs, lists and ratings are the same kind of input. The chains go on from one step to the
next. Random numbers depend on the seed, the step and the content of the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, summed
from crowdrank.engine import Stats, local_part
from crowdrank.kernels.chains import (
    OrderModel,
    Orders,
    count_above,
    draw_by_insertion,
    draw_by_metropolis,
    draw_by_neighbors,
    order_log_weight,
    places_of,
)
from crowdrank.prepared.documents import DocumentShard
from crowdrank.prepared.statements import EXTRA, StatementBlock
from crowdrank.random import stream_starts, stream_uniforms
from crowdrank.rankers.objectives.drawn_orders import DrawnOrders, Draws, draws_of
from crowdrank.results import LEVEL

TRUTH = 1e7
"""The expertise of the truth: an order that contradicts it has probability 0 in double precision."""
EXTRAS = (TRUTH, 0.0)
"""The expertise of the truth and of the observer."""
SWEEPS, EVERY = 2, 1
"""How many sweeps an E-step takes, and after how many of them it keeps an order."""
NEIGHBORS = 20
"""So many sweeps of neighbor exchanges stand for a sweep of insertions."""
EXCHANGES = 500
"""How many random exchanges an E-step takes by the paper's Metropolis rule."""
MOST_EXCHANGES = 5000
"""The most random exchanges for many draws at once, as in the end."""
NODES, BEND = 16, 4
"""Points of the integral for the log likelihood; powers are u^BEND, since most changes at small ones."""
MOST_TURNS = 8
"""A sweep of a long list has at most so many turns of insertions; see ``draw_by_insertion``."""


class GivesScores(Protocol):
    """What gives documents scores, such as the function of a ranker."""

    def scores(self, values: Any) -> Floats:
        """The score of each row."""
        ...


@dataclass(frozen=True, eq=False)
class Expectancy:
    """What the draws depend on.

    ``function``: the ranker, or None if all scores are equal. ``theta``: the expertise of each voice, then of the
    truth and the observer. ``step`` and ``seed``: of the random numbers. ``sweeps``, ``every``: how many sweeps,
    and after how many of them to keep an order. ``pool``: the most orders to learn from; those of earlier steps
    are kept up to this number. ``mark``: remember the scores, to see how far they move until the next mark.
    ``basis``: the parameters of the ranker whose uncertainty counts: "features", the weights of a linear one;
    "scale", only the scale of the scores; "none". ``k``: how many places count in its training. ``turns``: the
    most turns of a sweep.
    """

    function: GivesScores | None
    theta: Floats
    step: int
    seed: int
    sweeps: int = SWEEPS
    every: int = EVERY
    pool: int = SWEEPS // EVERY
    mark: bool = False
    basis: str = "none"
    k: int | None = None
    turns: int = MOST_TURNS


@dataclass(frozen=True, eq=False)
class ChainState:
    """The order of each list, block by block; the draws to learn from; the scores at the last mark."""

    orders: tuple[Orders, ...]
    plan: Draws
    marked: Floats


@dataclass(frozen=True, eq=False)
class Expected(Stats):
    """The expected distance of each voice's statements from the true orders, and how far the scores have moved.

    The last distances are those of the truth and of the observer. ``moved``, ``size``: sums of squares within
    lists, of the change of the scores since the last mark and of the scores themselves. ``observed``: the distance
    of the observer.
    """

    distance: Floats
    moved: float
    size: float
    observed: float


@dataclass(frozen=True, eq=False)
class Turned(Stats):
    """How many blocks of lists were reversed."""

    blocks: int


@dataclass(frozen=True, eq=False)
class Spread(Stats):
    """How far the draws of a list's order differ: what is not known although the judgments are (Louis 1982).

    ``distance``: as in Expected. ``covariance`` (V + P, V + P): over the draws, of minus the distances of the V
    voices and of the slopes of Plackett-Luce by the P parameters of the ranker. ``slope`` (P,) and ``curvature``
    (P, P): the mean slope and curvature of Plackett-Luce by these.
    ``score``, ``low``, ``high``: of each document, its mean place from the end and the ends of its places.
    ``ahead``: the probability that it is above the document that follows it by mean place.
    """

    distance: Floats
    covariance: Floats
    slope: Floats
    curvature: Floats
    score: Floats = local_part()
    low: Floats = local_part()
    high: Floats = local_part()
    ahead: Floats = local_part()


@dataclass(frozen=True, eq=False)
class Tempered(Stats):
    """By list: the integral over the powers p from 0 to 1 of the expected sum of theta d, the judgments at p."""

    energy: Floats = local_part()


@dataclass(frozen=True)
class Expectation:
    """The sums of the E-step. ``voices``: how many; ``draw_by``: "insertion", "neighbors" or "metropolis".

    ``train_on``: "samples", all draws, which is the expectation of eq. 19; or "best", the likeliest of them (step
    3 of algorithm 2). ``first``: how much each voice counts in the first orders; empty: all the same.
    """

    voices: int
    draw_by: str = "insertion"
    train_on: str = "samples"
    first: tuple[float, ...] = ()

    def start(self, shard: DocumentShard, seed: int) -> ChainState:
        """Start each list at Borda's order; equal counts in the order of the documents."""
        theta = np.append(self.first or np.ones(self.voices), EXTRAS)
        orders = []
        for block in shard.plan:
            net = block.log_odds(theta).sum(axis=2)
            place = np.minimum(np.arange(block.places), block.judged[:, None])
            wins = np.where(block.real(), np.take_along_axis(net, place, axis=1), -np.inf)
            orders.append(np.argsort(-wins, axis=1, kind="stable"))
        drawn = (order[:, None, :] for order in orders)
        return ChainState(tuple(orders), self._plan(shard, drawn), np.zeros(shard.rows))

    def turn(self, shard: DocumentShard, at: None, state: ChainState) -> tuple[Turned, ChainState]:
        """Reverse the order of each list."""
        orders = []
        for block, order in zip(shard.plan, state.orders, strict=True):
            place, last = np.arange(block.places), block.size[:, None] - 1
            orders.append(np.take_along_axis(order, np.where(place <= last, last - place, place), axis=1))
        plan = self._plan(shard, (order[:, None, :] for order in orders))
        return Turned(len(orders)), ChainState(tuple(orders), plan, np.zeros(shard.rows))

    def draw(self, shard: DocumentShard, at: Expectancy, state: ChainState) -> tuple[Expected, ChainState]:
        """Draw orders; the expected distances, and the state with the draws to learn from."""
        scores, total = scores_of(shard, at), np.zeros(self.voices + EXTRA)
        orders, kept = [], []
        for block, order in zip(shard.plan, state.orders, strict=True):
            model = order_model(block, scores, at.theta)
            last, draws = self._draw(block, model, order, at)
            above = count_above(places_of(draws), block.judged, block.size, block.side)
            total += self._by_voice(block, block.distances(above), block.pair_distances(above))
            orders.append(last)
            kept.append(self._best(model, draws) if self.train_on == "best" else draws)
        moved, size = movement(shard, scores, state.marked)
        marked = scores if at.mark else state.marked
        plan = self._plan(shard, iter(kept)).after(state.plan, at.pool)
        return Expected(total, moved, size, float(total[-1])), ChainState(tuple(orders), plan, marked)

    def spread(self, shard: DocumentShard, at: Expectancy, state: ChainState) -> tuple[Spread, ChainState]:
        """Draw many orders; what they say about places, and how much the distances vary."""
        scores, total = scores_of(shard, at), np.zeros(self.voices + EXTRA)
        ranker = RankerSlopes.of(shard, scores, at)
        joint, columns = JointCovariance(self.voices + ranker.count), np.zeros((4, shard.rows))
        orders, kept = [], []
        for block, order in zip(shard.plan, state.orders, strict=True):
            model = order_model(block, scores, at.theta)
            last, draws = self._draw(block, model, order, at)
            places = places_of(draws)
            each = self._draw_distances(block, places)
            total[: self.voices] += each.mean(axis=1).sum(axis=0)
            joint.add(np.concatenate([-each, ranker.slopes(block, draws)], axis=2))
            columns[:, block.rows()[block.real()]] = certainty(block, places)[:, block.real()]
            orders.append(last)
            kept.append(self._best(model, draws) if self.train_on == "best" else draws)
        state = replace(state, orders=tuple(orders), plan=self._plan(shard, iter(kept)))
        slope, curvature = joint.mean[self.voices :], ranker.curvature(state.plan)
        return Spread(total[: self.voices], joint.total, slope, curvature, *columns), state

    def temper(self, shard: DocumentShard, at: Expectancy, state: Any = None) -> Tempered:
        """What the log likelihood of each list needs besides its normalizers (see ``likelihood``)."""
        scores, found = scores_of(shard, at), np.zeros(sum(len(block.list) for block in shard.plan))
        first = min(int(block.list.min()) for block in shard.plan)
        for block in shard.plan:
            model = order_model(block, scores, at.theta)
            order = _draw_from_scores(block, model, at)
            for node, (power, weight) in enumerate(zip(*power_nodes(), strict=True)):
                own = replace(at, step=at.step + node + 1)
                _, draws = self._draw(block, model.tempered(power), order, own)
                order = draws[:, -1]
                places = places_of(draws[:, draws.shape[1] // 3 :])
                above = count_above(places, block.judged, block.size, block.side)
                found[block.list - first] += weight * block.energy(at.theta, above)
        return Tempered(found)

    def _draw(
        self, block: StatementBlock, model: OrderModel, order: Orders, at: Expectancy
    ) -> tuple[Orders, Orders]:
        streams = stream_starts(block.key, at.seed, at.step)
        if self.draw_by == "metropolis":
            steps = min(EXCHANGES * at.sweeps // SWEEPS, MOST_EXCHANGES)
            every = max(steps // (at.sweeps // at.every), 1)
            return draw_by_metropolis(model, order, block.size, streams, steps, every)
        if self.draw_by == "neighbors":
            return draw_by_neighbors(model, order, streams, NEIGHBORS * at.sweeps, NEIGHBORS * at.every)
        done = at.step * at.sweeps
        return draw_by_insertion(model, order, block.size, streams, at.sweeps, at.every, done=done, turns=at.turns)

    def _by_voice(self, block: StatementBlock, statements: Floats, pairs: Floats) -> Floats:
        count = self.voices + EXTRA
        found = summed(block.voice, block.weight * statements, count)
        return found + summed(block.cell_voice, block.cell_weight * pairs, count)

    def _draw_distances(self, block: StatementBlock, places: Orders) -> Floats:
        """The distance of each voice from each draw of each list (L, K, voices)."""
        lists, draws, _ = places.shape
        count = self.voices + EXTRA
        found = np.zeros((draws, lists * count))
        cell_list = block.cell // (block.side * block.side)
        for draw in range(draws):
            above = count_above(places[:, draw : draw + 1], block.judged, block.size, block.side)
            found[draw] = summed(
                block.of * count + block.voice, block.weight * block.distances(above), lists * count
            ) + summed(
                cell_list * count + block.cell_voice,
                block.cell_weight * block.pair_distances(above),
                lists * count,
            )
        return found.reshape(draws, lists, count).transpose(1, 0, 2)[:, :, : self.voices]

    def _best(self, model: OrderModel, draws: Orders) -> Orders:
        """The likeliest of the draws of each list (L, 1, n)."""
        weight = np.stack([order_log_weight(model, draws[:, draw]) for draw in range(draws.shape[1])], axis=1)
        return draws[np.arange(len(draws)), weight.argmax(axis=1)][:, None]

    def _plan(self, shard: DocumentShard, drawn: Iterator[Orders]) -> Draws:
        return draws_of(
            (block.rows(), orders, block.real()) for block, orders in zip(shard.plan, drawn, strict=True)
        )


class JointCovariance:
    """The mean and the covariance over draws of several numbers per list, summed over the lists."""

    mean: Any
    total: Any

    def __init__(self, count: int) -> None:
        self.mean, self.total = np.zeros(count), np.zeros((count, count))

    def add(self, drawn: Floats) -> None:
        """Add lists: ``drawn`` (L, K, count)."""
        self.mean += drawn.mean(axis=1).sum(axis=0)
        away = (drawn - drawn.mean(axis=1, keepdims=True)).reshape(-1, drawn.shape[2])
        self.total += away.T @ away / max(drawn.shape[1] - 1, 1)


@dataclass(frozen=True, eq=False)
class RankerSlopes:
    """The slopes of Plackett-Luce by the parameters of the ranker: the scores are ``columns`` times these."""

    scores: Floats
    columns: Floats
    objective: DrawnOrders

    @classmethod
    def of(cls, shard: DocumentShard, scores: Floats, at: Expectancy) -> RankerSlopes:
        """The features, the scores themselves, or nothing."""
        if at.basis == "features":
            return cls(scores, np.asarray(shard.values, np.float64), DrawnOrders(at.k))
        columns = scores[:, None] if at.basis == "scale" else np.zeros((len(scores), 0))
        return cls(scores, columns, DrawnOrders(at.k))

    @property
    def count(self) -> int:
        """P: how many parameters."""
        return self.columns.shape[1]

    def slopes(self, block: StatementBlock, draws: Orders) -> Floats:
        """The slope of each draw by each parameter (L, K, P)."""
        lists, count, _ = draws.shape
        found = np.zeros((lists, count, self.count))
        if not self.count:
            return found
        (own,) = draws_of(iter([(block.rows(), draws, block.real())])).blocks
        slopes = self.objective.slopes(self.scores, own)
        for draw in range(count):
            found[:, draw] = np.einsum("ln,lnp->lp", slopes[:, draw], self.columns[own.rows[:, draw]])
        return found

    def curvature(self, plan: Draws) -> Floats:
        """Minus the second derivatives of the mean log likelihood of the draws (P, P)."""
        bent = self.objective.curvature_times(self.scores, plan, self.scores, self.columns)
        return np.asarray(self.columns.T @ bent)


def power_nodes() -> tuple[Floats, Floats]:
    """The powers at which ``temper`` draws, and the weights of the integral over them (Gauss-Legendre)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    own = 0.5 * (nodes + 1.0)
    return own**BEND, 0.5 * weights * BEND * own ** (BEND - 1)


def scores_of(shard: DocumentShard, at: Expectancy) -> Floats:
    """The scores of a shard's documents."""
    return np.zeros(shard.rows) if at.function is None else at.function.scores(shard.values)


def order_model(block: StatementBlock, scores: Floats, theta: Floats) -> OrderModel:
    """The distribution of the orders of a block."""
    real = block.real()
    own = np.where(real, scores[block.rows()], -np.inf)
    rate = np.maximum(np.exp(own - own.max(axis=1, keepdims=True)), 1e-300)
    return OrderModel(np.where(real, rate, 0.0), block.log_odds(theta), block.judged)


def movement(shard: DocumentShard, scores: Floats, marked: Floats) -> tuple[float, float]:
    """Sums of squares within lists: of the scores' change since the mark, and of the scores."""
    moved = size = 0.0
    for block in shard.plan:
        real, rows = block.real(), block.rows()
        for values, which in ((scores - marked, 0), (scores, 1)):
            own = np.where(real, values[rows], 0.0)
            away = own - own.sum(axis=1, keepdims=True) / block.size[:, None]
            total = float((np.where(real, away, 0.0) ** 2).sum())
            moved, size = (moved + total, size) if which == 0 else (moved, size + total)
    return moved, size


def _draw_from_scores(block: StatementBlock, model: OrderModel, at: Expectancy) -> Orders:
    """An order of each list by Plackett-Luce alone: documents arrive at exponential times of rate e^s."""
    draws = stream_uniforms(stream_starts(block.key, at.seed, at.step), 0, block.places)
    with np.errstate(divide="ignore"):
        times = -np.log1p(-draws) / model.rate
    return np.argsort(times, axis=1, kind="stable")


def certainty(block: StatementBlock, places: NDArray[Any]) -> Floats:
    """By document (4, L, n): the mean place from the end, the ends of its places, and the chance to be above the
    document that follows."""
    real = block.real()
    mean = places.mean(axis=1)
    tails = (1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2
    low, high = np.quantile(places, tails, axis=1, method="inverted_cdf")
    order = np.argsort(np.where(real, mean, np.inf), axis=1, kind="stable")
    following = np.roll(order, -1, axis=1)
    own, other = (np.take_along_axis(places, one[:, None, :], axis=2) for one in (order, following))
    ahead = np.empty(mean.shape)
    np.put_along_axis(ahead, order, (own < other).mean(axis=1), axis=1)
    last = np.take_along_axis(order, block.size[:, None] - 1, axis=1)
    np.put_along_axis(ahead, last, np.nan, axis=1)
    return np.stack([block.size[:, None] - 1.0 - mean, low + 1.0, high + 1.0, ahead])
