"""Mallows: one consensus order for each query, and how closely each worker follows it (Mallows 1957).

    P(list, by worker k) = e^(-theta_k d(list, consensus)) / Z        d: Kendall's distance

The fit alternates two steps, and each raises the likelihood: theta of each worker given the consensus, pooled over
the queries (models.lists.dispersion); then the consensus given the thetas, which is Kemeny's order of pairs with
weight theta (kernels.kemeny). It uses no random numbers. Ties and unranked items leave orders open, and the sum
over these orders is exact. If a list holds only some items and the others may be anywhere, it counts as a list
from the consensus of these items. That is a pseudo-likelihood: a part of a Mallows list is not quite Mallows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, summed
from crowdrank.engine import Stats
from crowdrank.errors import InputError, Note, Remedy, UsageError
from crowdrank.kernels.kemeny import Consensus, Squares, consensus
from crowdrank.kernels.kendall import distances
from crowdrank.kernels.mallows import chance_above, log_normalizers
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.kernels.segments import pairs
from crowdrank.models.agreement import TELLABLE, quality_notes
from crowdrank.models.base import ListsModel, Outcome, Run
from crowdrank.models.lists.dispersion import Shapes, agreement
from crowdrank.models.parameters import number
from crowdrank.models.predictors import values_at, with_ties
from crowdrank.prepared.held_out import HeldOut
from crowdrank.prepared.list_shards import ListShard, note_extremes, shards, tie_share
from crowdrank.prepared.lists import Lists
from crowdrank.results import LEVEL, Workers, Z, verdicts
from crowdrank.solve import spread_probabilities, until

if TYPE_CHECKING:
    from crowdrank.engine.base import Session
    from crowdrank.progress import Progress

DISPERSIONS = ("by-worker", "shared")
ROUNDS = 100
MOST_ITEMS = 1000
"""The largest group of items linked by lists, because its consensus needs a square of cells."""
EQUAL = 1e-9
"""A smaller drop of the log likelihood, relative to the size of the margins, is rounding."""


@dataclass(frozen=True, eq=False)
class Dispersions:
    """The ``theta`` of each worker."""

    theta: Floats


@dataclass(frozen=True, eq=False)
class ConsensusPlaces:
    """The ``place`` of each node in its part's consensus."""

    place: Integers


@dataclass(frozen=True, eq=False)
class Preferences(Stats):
    """``cells``: the weight of i above j."""

    cells: Floats


@dataclass(frozen=True, eq=False)
class Distances(Stats):
    """The total ``distance`` of the lists of each worker from the consensus."""

    distance: Floats


@dataclass(frozen=True, eq=False)
class Gaps(Stats):
    """``gaps``: the weight of ordered pairs by how many places apart they are."""

    gaps: Floats


@dataclass(frozen=True)
class MallowsSums:
    """The sums of lists; ``shared``: all workers count as one."""

    squares: Squares
    shared: bool

    def preferences(self, shard: ListShard, at: Dispersions) -> Preferences:
        """The weight of every ordered pair, times theta."""
        return Preferences(self._cells(shard, shard.weight * at.theta[self._worker(shard)]))

    def distances(self, shard: ListShard, at: ConsensusPlaces) -> Distances:
        """How far the lists are from the consensus."""
        far = distances(shard.orders.level, at.place[shard.node], shard.orders.start, penalty=0.0)
        workers = 1 if self.shared else shard.workers
        return Distances(summed(self._worker(shard), shard.weight * far, workers))

    def gaps(self, shard: ListShard, at: ConsensusPlaces) -> Gaps:
        """How far apart in the consensus the pairs are that the lists order."""
        return Gaps(self._gaps(shard, at.place[shard.node]))

    def _worker(self, shard: ListShard) -> NDArray[Any]:
        if self.shared:
            return np.zeros(len(shard.weight), np.int64)
        assert shard.worker is not None
        return shard.worker

    def _cells(self, shard: ListShard, weight: Floats) -> Floats:
        cells = np.zeros(self.squares.cells)
        for one, other in _ordered_pairs(shard):
            cells += summed(
                self.squares.cell(shard.node[one], shard.node[other]), weight[shard.list[one]], len(cells)
            )
        return cells

    def _gaps(self, shard: ListShard, place: Integers) -> Floats:
        gaps, held = np.zeros(int(self.squares.size.max())), np.diff(shard.orders.start)
        for one, other in _ordered_pairs(shard):
            apart = np.abs(place[one] - place[other])
            share = kept_share(held[shard.list[one]], self.squares.size[self.squares.part[shard.node[one]]])
            gap = np.maximum(np.rint(apart * share), 1).astype(np.int64)
            gaps += summed(gap, shard.weight[shard.list[one]], len(gaps))
        return gaps[1:]


def kept_share(held: NDArray[Any], items: NDArray[Any]) -> Floats:
    """Which share of the places between two items of the consensus remains in a list with fewer items."""
    return np.asarray((held + 1.0) / (items + 1.0))


def _ordered_pairs(shard: ListShard) -> Any:
    """Pairs of rows of one list, the first above the second."""
    for one, other in pairs(shard.orders.start):
        apart = shard.orders.level[one] < shard.orders.level[other]
        yield one[apart], other[apart]


class Mallows(ListsModel):
    """Mallows' model of ranked lists: full, partial and top-k, with ties.

        max  sum over lists [-theta_k d(list, consensus) - ln Z(theta_k)] + ln prior(theta)

    ``dispersion``: ``"by-worker"``, a theta for each worker, pooled over the worker's queries; or ``"shared"``,
    one for all, which makes the consensus Kemeny's. theta = 0 is a worker who guesses. ``shrinkage``: the number
    of extra lists, of an average worker, that each worker gets. The consensus is exact if no cycle of majorities
    has more than 12 items. Otherwise it comes from local search, and ``fit_.details`` has a bound on its distance
    from the best. Mallows 1957; Lebanon & Lafferty 2002.

    >>> import crowdrank as cr
    >>> lists = {"worker": [*"uuuuvvvvwwww"], "item": [*"abcdabdccdba"], "rank": [1, 2, 3, 4] * 3}
    >>> model = cr.Mallows().fit(lists)
    >>> model.ranking_.frame()["item"].to_list()
    ['a', 'b', 'c', 'd']
    >>> model.workers_.frame()["theta"].round(2).to_list()
    [1.14, 0.76, 0.0]
    """

    name = "mallows"

    def __init__(self, *, dispersion: str = "by-worker", shrinkage: float = 1.0, seed: int = 0) -> None:
        self.dispersion = dispersion
        self.shrinkage = shrinkage
        self.seed = seed

    def _fit(self, lists: Lists, run: Run) -> Outcome:
        if self.dispersion not in DISPERSIONS:
            wanted = " or ".join(DISPERSIONS)
            raise UsageError(f"The parameter 'dispersion' must be {wanted}. Got {self.dispersion!r}.")
        search = ConsensusSearch(
            lists, run, number("shrinkage", self.shrinkage, low=0.0), self.dispersion == "shared"
        )
        place, rounds, converged = search.fit()
        ahead, scores = search.posterior(place)
        spread = spread_probabilities(
            scores, ahead, lists.nodes.query, lists.parts(), level=LEVEL, tie_break=-place.astype(float)
        )
        found = search.found
        theta = np.zeros(0) if search.shared else search.theta
        workers, notes = search.workers(place)
        return Outcome(
            spread=spread,
            workers=workers,
            converged=converged,
            iterations=rounds,
            log_likelihood=search.log_likelihood,
            notes=(
                *lists.notes(),
                *note_extremes(lists, regularized=False),
                *_gap_notes(found),
                *_undecided_notes(search.undecided),
                *_bound_notes(theta),
                *notes,
            ),
            details={"theta": search.crowd, "gap": found.gap, "largest_cycle": found.largest},
            predictor=PlacePredictor(
                place, lists.part, _kept_shares(lists), theta, search.crowd, tie_share(lists)
            ),
            list_predictor=MallowsListPredictor(place, theta, search.crowd),
        )


@dataclass(frozen=True, eq=False)
class MallowsListPredictor:
    """ln P of lists of items in the consensus. An unseen worker has the crowd's theta."""

    place: Integers
    theta: Floats
    crowd: float

    def __call__(self, given: HeldOut) -> Floats:
        """ln P of each list. Raises an error if a list holds an item without a place in the consensus."""
        lists = given.lists
        if (given.node < 0).any():
            unseen = np.unique(lists.node[given.node < 0])
            raise InputError(f"These items have no place in the consensus: {lists.item_names(unseen)}.")
        worker = np.full(len(lists), -1) if given.worker is None else given.worker
        far = distances(lists.level, self.place[given.node], lists.start, penalty=0.0)
        return _log_probability(lists, far, values_at(self.theta, worker, self.crowd))


def _log_probability(lists: Lists, far: Floats, theta: Floats) -> Floats:
    """ln P of each list, given its distance and theta."""
    distinct, own = np.unique(theta, return_inverse=True)
    table = log_normalizers(distinct, int(lists.size.max()))[0]
    begins = Orders(lists.start, lists.level).begins
    of = lists.list[begins[:-1]]
    open_ = summed(of, table[own[of], np.diff(begins)], len(lists))
    return -theta * far - table[own, lists.size] + open_


class ConsensusSearch:
    """The search for the thetas and the consensus, in turn."""

    lists: Lists
    shrinkage: float
    shared: bool
    squares: Squares
    shapes: Shapes
    session: Session
    sums: MallowsSums
    progress: Progress | None
    undecided: int
    crowd: float
    theta: Floats
    stderr: Floats
    log_likelihood: float
    cells: Floats
    found: Consensus
    rounds: int

    def __init__(self, lists: Lists, run: Run, shrinkage: float, shared: bool) -> None:
        largest = int(np.bincount(lists.part).max())
        if largest > MOST_ITEMS:
            raise InputError(
                f"mallows takes at most {MOST_ITEMS} items linked by lists. Got {largest}.",
                hint=("Use ", Remedy("model", "plackett-luce")),
            )
        self.lists, self.shrinkage = lists, shrinkage
        self.shared = shared or lists.worker is None
        self.squares = Squares(lists.part)
        worker = np.zeros(len(lists), np.int64) if self.shared else lists.worker
        assert worker is not None
        self.shapes = Shapes.of(lists, worker.astype(np.int64), 1 if self.shared else lists.n_workers)
        self.session = run.engine.open(shards(lists))
        self.sums = MallowsSums(self.squares, self.shared)
        self.progress = run.progress
        self.theta = self.stderr = np.ones(len(self.shapes.counts))
        self.crowd, self.log_likelihood, self.rounds = 1.0, -np.inf, 0
        self.undecided = 0

    def fit(self) -> tuple[Integers, int, bool]:
        """The consensus, the number of rounds, and whether it converged."""
        self.cells = self._weights(np.ones_like(self.theta))
        self.found = consensus(self.cells, self.squares)
        self.undecided = self._count_undecided(self.cells, self.found.place)
        return until(self._turn, self.found.place, tol=1e-9, limit=ROUNDS)

    def _turn(self, place: Integers) -> tuple[Integers, float]:
        """theta given the consensus, then the consensus given theta."""
        distance = self.session.evaluate(self.sums.distances, ConsensusPlaces(place)).distance
        before = self.theta
        self.crowd = self.shapes.crowd(distance)
        if self.shared:
            self.theta = np.array([self.crowd])
        else:
            self.theta, self.stderr = self.shapes.fit(distance, self.shrinkage)
        self.log_likelihood = self.shapes.log_likelihood(self.theta, distance)
        self.cells = self._weights(self.theta)
        self.found = consensus(self.cells, self.squares, place)
        change = np.abs(self.theta - before).max() + np.count_nonzero(self.found.place != place)
        self.rounds += 1
        if self.progress:
            self.progress(self.rounds, self.log_likelihood, float(change))
        return self.found.place, float(change)

    def _count_undecided(self, cells: Floats, place: Integers) -> int:
        """How many neighbors of a consensus only ids order.

        With a theta for each worker, the ids then also decide who of two workers who disagree is the better one.
        """
        count = 0
        for nodes in self.lists.parts():
            weight = self.squares.square(cells, nodes[np.argsort(place[nodes], kind="stable")])
            margin = weight - weight.T
            differ = np.diff(_interchangeable(margin)) > 0
            if not self.shared:
                differ |= (weight + weight.T).diagonal(1) > 0
            count += int((_even_neighbors(margin) & differ).sum())
        return count

    def _weights(self, theta: Floats) -> Floats:
        return self.session.evaluate(self.sums.preferences, Dispersions(theta)).cells

    def posterior(self, place: Integers) -> tuple[list[Floats], Floats]:
        """For each part, P(i above j) of every pair (n, n); and a score for each node.

        If only the items at places a < b of the consensus change places, the log likelihood drops by

            drop_ab = m_ab + sum of (m_ac + m_cb) over the places c between

        with the margins m. So P(the item at a is above that at b) = 1 / (1 + e^-drop). The score of an item is the
        sum of P - 1/2 over the others: the number of places above the middle, made to fall along the consensus.
        Items about which the lists say the same get the same: the mean over their places, which only ids decide.
        Here a worker's theta is at most the crowd's. The theta of a worker with few lists comes from the very
        consensus that it supports, and would make it look more certain than it is.
        """
        from scipy.special import expit

        cells = self._weights(np.minimum(self.theta, self.crowd))
        ahead, scores = [], np.zeros(len(place))
        for nodes in self.lists.parts():
            order = nodes[np.argsort(place[nodes], kind="stable")]
            weight = self.squares.square(cells, order)
            margin = weight - weight.T
            alike = _interchangeable(margin)
            sure = _even_out(expit(_drops(margin)), alike)
            net = (sure - 0.5).sum(axis=1)
            falling = np.minimum.accumulate(net), np.maximum.accumulate(net[::-1])[::-1]
            scores[order] = 0.5 * (falling[0] + falling[1])
            back = np.argsort(np.argsort(place[nodes], kind="stable"))
            ahead.append(sure[np.ix_(back, back)])
        return ahead, scores

    def workers(self, place: Integers) -> tuple[Workers | None, list[Note]]:
        """Workers by theta; by agreement with the consensus if all share one theta."""
        lists = self.lists
        plain = lists.agreement(-place.astype(float))
        if plain is None or self.shared:
            return plain, []
        gaps = self.session.evaluate(self.sums.gaps, ConsensusPlaces(place)).gaps
        half = Z * self.stderr
        ends = [self.theta, np.maximum(self.theta - half, 0.0), self.theta + half]
        quality, low, high = (agreement(theta, gaps) for theta in ends)
        perfect = float(agreement(np.array([self.crowd]), gaps)[0])
        workers = replace(
            plain,
            quality=quality,
            low=low,
            high=high,
            verdict=verdicts(low, high, tellable=perfect > TELLABLE),
            further=dict(zip(("theta", "theta_low", "theta_high"), ends, strict=True)),
        )
        return workers, quality_notes(lists, 1.0)


def _near(margin: Floats) -> float:
    """Margins that are smaller than this are rounding."""
    return EQUAL * max(float(np.abs(margin).max(initial=0.0)), 1e-300)


def _interchangeable(margin: Floats) -> Integers:
    """The class of each place: neighbors with no margin between them and equal margins against all others."""
    same = np.abs(np.diff(margin, axis=0)) <= _near(margin)
    return np.cumsum(np.concatenate([[True], ~same.all(axis=1)]))


def _even_out(ahead: Floats, alike: Integers) -> Floats:
    """P(i above j) averaged over interchangeable items; 1/2 between them."""
    member = (alike == np.unique(alike)[:, None]).astype(float)
    member /= member.sum(axis=1, keepdims=True)
    own = alike - alike[0]
    even = (member @ ahead @ member.T)[np.ix_(own, own)]
    return np.asarray(np.where(own[:, None] == own, 0.5, even))


def _even_neighbors(margin: Floats) -> NDArray[np.bool_]:
    """Neighbors with no margin between them, and none between their sums of margins."""
    even = np.abs(margin.diagonal(1)) <= _near(margin)
    return np.asarray(even & (np.abs(np.diff(margin.sum(axis=1))) <= len(margin) * _near(margin)))


def _drops(margin: Floats) -> Floats:
    """The cost of exchanging two places, above the diagonal; minus the cost below it. Margins in order."""
    along = np.cumsum(margin, axis=1)  # m_a1 + ... + m_ab
    right = along - along.diagonal()[:, None]  # m_a,a+1 + ... + m_ab; transposed, m_a+1,b + ... + m_b-1,b
    drop = np.triu(right + right.T, 1)
    drop = np.where(drop > _near(margin), drop, 0.0)
    return np.asarray(drop - drop.T)


def _kept_shares(lists: Lists) -> Floats:
    """For each node, the share of the places between two items of its part that an average list keeps."""
    part = lists.part[lists.node[lists.start[:-1]]]
    items = np.bincount(lists.part)
    weight = summed(part, lists.weight, len(items))
    held = summed(part, lists.weight * lists.size, len(items)) / np.where(weight > 0, weight, 1.0)
    return np.asarray(kept_share(np.where(weight > 0, held, items), items)[lists.part])


def _gap_notes(found: Consensus) -> list[Note]:
    if found.gap == 0:
        return []
    message = (
        f"Majorities form a cycle of {found.largest} items, too many to try all their orders. The log "
        f"likelihood of the consensus that the search found is at most {found.gap:.3g} below the best."
    )
    return [Note("consensus-gap", message)]


def _undecided_notes(count: int) -> list[Note]:
    if not count:
        return []
    pairs = "1 pair of neighbors" if count == 1 else f"{count} pairs of neighbors"
    message = f"The lists do not decide between the two orders of {pairs} in the consensus; the ids do."
    return [Note("tied-consensus", message)]


def _bound_notes(theta: Floats) -> list[Note]:
    """A note if the theta of workers is 0, the smallest that this model has."""
    count = int((theta <= 0).sum())
    if not count:
        return []
    return [Note("bound", f"The theta of {count} of {len(theta)} workers is at its lower bound of 0.")]


@dataclass(frozen=True, eq=False)
class PlacePredictor:
    """P(i above j) by how many places apart they are in the consensus, and by the worker's theta (the crowd's if
    the worker is unknown). If no list links two items, both orders are equally likely.

    ``kept``: for each node, the share of these places that an average list keeps; theta applies to lists.
    """

    place: Integers
    part: NDArray[np.int32]
    kept: Floats
    theta: Floats
    crowd: float
    tie: float

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        own = values_at(self.theta, np.full(len(left), -1) if worker is None else worker, self.crowd)
        ahead = self.place[right] - self.place[left]
        known = (left >= 0) & (right >= 0) & (self.part[left] == self.part[right]) & (ahead != 0)
        chance = chance_above(np.maximum(np.abs(ahead) * self.kept[left], 1.0), own)
        return with_ties(np.where(known, np.where(ahead > 0, chance, 1.0 - chance), 0.5), self.tie)
