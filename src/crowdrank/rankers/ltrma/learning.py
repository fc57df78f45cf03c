"""One run of LTRMA: EM, the mirror, steps by the observed information, and what is known in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Constraints, Floats, Rankings, SideInfo, summed
from crowdrank.engine import Engine, LocalEngine
from crowdrank.errors import InputError, Note, UsageError, count_noun, parameter
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.models.parameters import number, whole
from crowdrank.rankers.crowd_training import CrowdRun, Found, shards_of, steps_of
from crowdrank.rankers.judged import LISTS, PAIRS, Judged
from crowdrank.rankers.ltrma.dispersion import choose_dispersion
from crowdrank.rankers.ltrma.em import EM, START, EMState
from crowdrank.rankers.ltrma.expectation import EXTRAS, Expectancy, Expectation, Spread
from crowdrank.rankers.ltrma.expertise import Expertise, solve_expertise
from crowdrank.rankers.ltrma.information import newton_step
from crowdrank.rankers.ltrma.tables import estimated_orders, iterations_table, workers_table
from crowdrank.rankers.ltrma.top_expectation import TopExpectation
from crowdrank.rankers.ltrma.voices import constrain_voices, favored_start, free_voices, hold_bounds
from crowdrank.rankers.objectives import DrawnOrders
from crowdrank.rankers.scorers import Function
from crowdrank.rankers.scorers.linear import Linear, LinearFunction
from crowdrank.rankers.scoring import CrowdExpertise
from crowdrank.rankers.supervised import place_limit
from crowdrank.results import Workers

if TYPE_CHECKING:
    from crowdrank.engine.base import StateSession
    from crowdrank.prepared.documents import DocumentShard, StoredShard
    from crowdrank.rankers.labeled import Labeled
    from crowdrank.rankers.ltrma.dispersion import Dispersion
    from crowdrank.rankers.ltrma.expectation import ChainState

FINAL_DRAWS = (8000, 20, 100)
"""About how many draws of all lists there are in the end, for intervals and estimated orders; and the fewest and
the most draws of a list."""
POLISH_DRAWS = (4000, 4, 100)
"""The same for a step by the observed information."""
GAINS = (1.0, 1.0, 1.0, 1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5)
"""The lengths of these steps: the last ones average over the noise of the draws."""
LIKELIHOOD_DRAWS = (1000, 3, 12)
"""The same for the log likelihood, at each power."""
NARROW = 200
"""Up to so many weights of a linear ranker, all of them count in the uncertainty of the expertise."""
LOOK_EVERY = 5
"""After how many steps validation looks."""
MANY = 200_000
"""With fewer documents one thread is quicker than several."""
FAR = 1 << 20
"""The step numbers of draws outside the loop begin here."""


def calm_engine(engine: Engine, documents: int) -> Engine:
    """One thread for few documents: a step on small arrays is quick, and threads would wait for each other."""
    return LocalEngine(1) if type(engine) is LocalEngine and documents < MANY else engine


class LTRMAParameters(Protocol):
    """What a run needs of the ranker's parameters."""

    method: str
    k: int | None
    dispersion: str
    inference: str
    train_on: str
    distance: str
    theta_sd: float
    iterations: int
    patience: int


class Learning:
    """One run of LTRMA: EM, the mirror, and what is known in the end."""

    ranker: LTRMAParameters
    run: CrowdRun
    dispersion: Dispersion
    top: int | None
    judged: Judged
    theta_sd: float
    constraints: Constraints | None
    constraint_notes: tuple[Note, ...]
    shards: list[DocumentShard | StoredShard]
    objective: DrawnOrders
    expectation: Expectation
    session: StateSession[ChainState]
    counts: Floats
    held: _HeldLists | None

    def __init__(self, ranker: LTRMAParameters, run: CrowdRun) -> None:
        self.ranker, self.run = ranker, run
        self.dispersion, self.judged = choose_dispersion(ranker.dispersion, run), run.judged
        self.top = None if ranker.distance == "pairs" else _top_length(ranker)
        if self.top is not None:
            self.judged = cut_lists(self.judged, self.top)
        self.counts = self.judged.statements.shapes(self.judged.sizes)
        self.theta_sd = number("theta_sd", ranker.theta_sd, low=1e-6)
        self.constraints, self.constraint_notes = self._bind(run.side_info)
        self.shards = shards_of(self.judged, run.documents)
        self.objective = DrawnOrders(place_limit(ranker.k))
        self.curve: list[tuple[int, float]] = []
        self.best: tuple[float, EMState | None] = (-np.inf, None)
        self.seen: list[tuple[int, float, float]] = []

    def found(self) -> Found:
        """EM, and everything that follows from its end."""
        start = favored_start(self.constraints, len(self.judged.voices), START)
        self.expectation = replace(self._expectation(), first=tuple(start))
        engine = calm_engine(self.run.engine, len(self.run.documents.label))
        self.session = engine.open(self.shards, start=self.expectation.start, seed=self.run.seed)
        if self._knows_truth() and self.constraints is None:
            start = self._start_from_truth()
        state, settled = self._climb(start)
        notes = list(self.dispersion.notes) + list(self.constraint_notes)
        if self._mirrored(state.theta):
            state, settled, more = self._try_mirror(state, settled)
            notes += more
        state = self._polish(state)
        spread, function = self._finish(state)
        self.function = function
        expertise = self.solve(spread.distance)
        theta = expertise.theta
        likelihood = None
        if self.top is None:
            likelihood = float(self.log_likelihoods(self.shards, self.judged, function, theta).sum())
        if not settled:
            notes.append(_unsettled(state.steps))
        if expertise.at_limit.any():
            notes.append(_at_limit(self.judged, expertise))
        return Found(
            function=function,
            converged=settled,
            iterations=state.steps,
            log_likelihood=likelihood,
            notes=tuple(notes),
            details={"dispersion": self.dispersion.kind, "method": self.ranker.method},
            tables={
                "workers": self._workers(expertise, spread),
                "orders": estimated_orders(self.judged, spread),
                "iterations": iterations_table(self.seen),
            },
            expertise=self._crowd_expertise(theta),
            curve=tuple(self.curve),
            values=self._held_out(function, theta),
            chance=self._held_out(None, theta),
        )

    def _expectation(self) -> Expectation:
        own = (len(self.judged.voices), self.ranker.inference, self.ranker.train_on)
        return Expectation(*own) if self.top is None else TopExpectation(*own, k=self.top)

    def solve(self, distance: Floats, start: Floats | None = None) -> Expertise:
        """The expertise of each voice given expected distances: one for all, or each by itself.

        With definition 1 of the paper the sums bring the numbers of normalizers with them.
        """
        if self.top is not None:
            self.counts, distance = distance[:, 1:], distance[:, 0]
        if self.dispersion.kind == "by-worker":
            return solve_expertise(self.counts, distance, self.constraints, self.theta_sd, start)
        kinds, weights = self._pairs().astype(np.int64), self.dispersion.weights
        counts = np.zeros((2, self.counts.shape[1]))
        np.add.at(counts, kinds, weights[:, None] * self.counts)
        both = solve_expertise(counts, summed(kinds, weights * distance, 2), None, self.theta_sd)
        share = weights / np.maximum(summed(kinds, weights, 2), 1e-300)[kinds]
        return replace(
            both,
            theta=both.theta[kinds] * weights,
            information=both.information[kinds] * share,
            group=kinds,
            at_limit=both.at_limit[kinds],
        )

    def _pairs(self) -> NDArray[np.bool_]:
        """Which voices are those of pairs."""
        return np.array([kind == PAIRS for kind in self.judged.voices.kind], bool)

    def _bind(self, side_info: SideInfo | None) -> tuple[Constraints | None, tuple[Note, ...]]:
        """Side information as constraints on voices: the lists of a worker, or the pairs if there are no lists."""
        if side_info is None:
            return None, ()
        bound = side_info.bind(self.judged.voices.workers)
        return constrain_voices(bound, self.judged.voices.worker), bound.notes

    def _climb(self, start: Floats) -> tuple[EMState, bool]:
        """EM from this expertise and from where the chains stand."""
        ranker, run = self.ranker, self.run
        self.last = start
        self.seen, self.curve, self.best = [], [], (-np.inf, None)
        self.held = _HeldLists(self) if run.held is not None or run.held_labels is not None else None

        def fit_theta(distance: Floats) -> Floats:
            self.last = self.solve(distance, self.last).theta
            return self.last

        em = EM(
            session=self.session,
            expectation=self.expectation,
            fit_theta=fit_theta,
            improve=run.improver(self.session, self.objective),
            rows=len(run.documents.label),
            seed=run.seed,
            limit=whole("iterations", ranker.iterations, low=1),
            uses_scores=ranker.method == "mle",
            look=self._look,
        )
        state, settled = em.run(hold_bounds(self.last, self.constraints))
        if self.best[1] is not None and run.scorer.stops_early:
            state = self.best[1]
        return state, settled

    def _look(self, state: EMState, change: float, observed: float) -> bool:
        """After each step: progress, validation, and whether validation ends the loop."""
        self.seen.append((state.steps, change, observed / max(len(self.judged.keys), 1)))
        if self.run.progress is not None:
            self.run.progress(state.steps, float(np.mean(state.theta)), change)
        if self.held is None or state.function is None or state.steps % LOOK_EVERY:
            return False
        value = self.held.value(state)
        self.curve.append((state.steps, value))
        if value > self.best[0]:
            self.best = (value, state)
        own = steps_of(self.run.scorer)
        patience = max(whole("patience", self.ranker.patience, low=1) // own, LOOK_EVERY)
        since = state.steps - (state.steps if self.best[1] is None else self.best[1].steps)
        return self.run.scorer.stops_early and since >= patience

    def _knows_truth(self) -> bool:
        """Whether something is known to be true."""
        said, truth = self.judged.statements, len(self.judged.voices)
        return bool((said.voice == truth).any() or (said.pair_voice == truth).any())

    def _start_from_truth(self) -> Floats:
        """An expertise that agrees in sign with what the worker's lists say where the truth is known.

        Orders are drawn by the truth alone; those of other lists are random, and say nothing about the workers.
        """
        at = self._at(None, np.zeros(len(self.judged.voices)), 3 * FAR)
        found = self.session.advance(self.expectation.draw, at)
        theta = self.solve(found.distance[: len(self.judged.voices)]).theta
        return np.asarray(2 * START * theta / max(float(np.abs(theta).max()), 1e-300))

    def _mirrored(self, theta: Floats) -> bool:
        """Whether the judgments contradict the orders more than they agree, and nothing says which is right."""
        if self._knows_truth() or self.run.side_info is not None:
            return False
        agreed = -log_normalizers(theta, self.counts.shape[1] - 1)[1]
        m = np.arange(self.counts.shape[1])
        return bool((self.counts * (m * (m - 1) / 4.0 - agreed)).sum() < 0)

    def _try_mirror(self, state: EMState, settled: bool) -> tuple[EMState, bool, list[Note]]:
        """EM from the reversed orders; what it finds counts if the judgments agree with it."""
        before = self.seen, self.curve
        self.session.advance(self.expectation.turn, None)
        other, settled_too = self._climb(-state.theta)
        if not self._mirrored(other.theta):
            return other, settled_too, [_mirror_note(chosen=True)]
        self.seen, self.curve = before
        return state, settled, [_mirror_note(chosen=False)]

    def _polish(self, state: EMState) -> EMState:
        """Newton steps by the observed information, if the ranker is linear; constrained thetas take EM's step.

        EM is slow along the ridge of a larger scale of the scores and less expert workers. The last steps are
        shorter, which averages over the noise of the draws.
        """
        if self._basis(state.function) != "features" or self.ranker.train_on == "best":
            return state
        free = free_voices(self.constraints, len(state.theta))
        assert isinstance(state.function, LinearFunction)
        weights, theta = state.function.weights, state.theta
        for turn, gain in enumerate(GAINS):
            at = self._at(LinearFunction(weights), theta, FAR // 2 + turn)
            at = replace(at, sweeps=self._sweeps(POLISH_DRAWS), basis="features")
            spread = self.session.advance(self.expectation.spread, at)
            found = self.solve(spread.distance, theta)
            by_theta, by_weights = newton_step(
                found, spread, self.dispersion.weights, self._penalty(), theta, weights
            )
            size = float(np.linalg.norm(by_weights)) / (0.5 * float(np.linalg.norm(weights)) + 0.1)
            size = max(size, float(np.abs(by_theta).max()) / (0.5 * float(np.abs(theta).max()) + 0.1))
            short = gain / max(size, 1.0)
            weights, theta = weights + short * by_weights, np.where(free, theta + short * by_theta, found.theta)
        return EMState(LinearFunction(weights), theta, state.steps)

    def _sweeps(self, draws: tuple[int, int, int]) -> int:
        """How many draws of each list: all draws, the fewest and the most are given."""
        every, fewest, most = draws
        return int(np.clip(-(-every // len(self.judged.keys)), fewest, most))

    def _penalty(self) -> float:
        scorer = self.run.scorer
        return float(scorer.penalty) if isinstance(scorer, Linear) else 0.0

    def _finish(self, state: EMState) -> tuple[Spread, Function]:
        """Many draws at the end; LTRMA-D trains its ranker on them."""
        at = self._at(state.function if self.ranker.method == "mle" else None, state.theta, FAR)
        at = replace(at, sweeps=self._sweeps(FINAL_DRAWS), basis=self._basis(state.function))
        spread = self.session.advance(self.expectation.spread, at)
        if state.function is not None:
            return spread, state.function
        task = self.run.task(self.session, self.objective)
        return spread, self.run.scorer.improve(task).function

    def _basis(self, function: Function | None) -> str:
        """The parameters of the ranker that count in the uncertainty of the expertise."""
        if self.ranker.method == "d" or function is None:
            return "none"
        narrow = isinstance(function, LinearFunction) and len(function.weights) <= NARROW
        dense = isinstance(self.run.documents.values, np.ndarray)
        return "features" if narrow and dense else "scale"

    def _workers(self, expertise: Expertise, spread: Spread) -> Workers:
        penalty = self._penalty() if self._basis(self.function) == "features" else 0.0
        return workers_table(self.judged, self.dispersion, expertise, spread, self.constraints, penalty)

    def _at(self, function: Function | None, theta: Floats, step: int) -> Expectancy:
        return Expectancy(function, np.append(theta, EXTRAS), step, self.run.seed, k=self.objective.k)

    def log_likelihoods(self, shards: Any, judged: Judged, function: Function | None, theta: Floats) -> Floats:
        """ln P(statements | features) of each list, by thermodynamic integration over powers of the judgments.

            ln P = -int_0^1 E_p[sum of theta d] dp - sum of ln Z,    E_p: orders ~ PL(y | s) e^(-p sum of theta d)

        What is known to be true does not count.
        """
        quiet = np.append(theta, (0.0, 0.0))
        at = Expectancy(function, quiet, 2 * FAR, self.run.seed, self._sweeps(LIKELIHOOD_DRAWS))
        expectation = Expectation(len(judged.voices))
        engine = calm_engine(self.run.engine, len(self.run.documents.label))
        energy = engine.open(shards).evaluate(expectation.temper, at).energy
        return -energy - judged.statements.log_normalizers(quiet, judged.sizes)

    def _held_out(self, function: Function | None, theta: Floats) -> Floats | None:
        """ln P(statements | features) of each held-out list; without a function, by equal scores."""
        if self.held is None or self.held.labels is not None:
            return None
        return self.log_likelihoods(self.held.shards, self.held.judged, function, theta)

    def _crowd_expertise(self, theta: Floats) -> CrowdExpertise:
        known: dict[str, dict[str, float]] = {LISTS: {}, PAIRS: {}}
        for (name, kind), value in zip(self.judged.voices.names(), theta, strict=True):
            known[kind][name] = float(value)
        weight, pairs = self.judged.statements.ordered_pairs(self.judged.sizes), self._pairs()
        average = {
            kind: float(np.average(theta[chosen], weights=weight[chosen])) if chosen.any() else None
            for kind, chosen in ((LISTS, ~pairs), (PAIRS, pairs))
        }
        meant = [own.missing for own in self.run.tables if isinstance(own, Rankings)]
        unranked = None if not meant else "below" if "below" in meant else "unknown"
        return CrowdExpertise(self.dispersion.kind, unranked, known, average)


class _HeldLists:
    """Validation: a measure of labeled documents, or the likelihood of held-out lists."""

    labels: Labeled | None
    values: Any
    measure: Callable[[Floats], float]
    judged: Judged
    shards: list[DocumentShard | StoredShard]

    def __init__(self, learning: Learning) -> None:
        self.learning = learning
        run = learning.run
        self.labels = run.held_labels
        if self.labels is not None:
            self.values = self.labels.prepare(run.preparation).values
            self.measure = self.labels.queries.function(run.measure)
        else:
            assert run.held is not None
            if learning.top is not None:
                raise UsageError(
                    "Lists under distance='top-k' have no likelihood to validate by.", hint="Give gold labels."
                )
            self.judged = run.held.with_voices(learning.judged.voices)
            documents = run.held_documents()
            assert documents is not None
            self.shards = shards_of(self.judged, documents)

    def value(self, state: EMState) -> float:
        """The measure, or the mean log likelihood of a list."""
        assert state.function is not None
        if self.labels is not None:
            return float(self.measure(state.function.scores(self.values)))
        found = self.learning.log_likelihoods(self.shards, self.judged, state.function, state.theta)
        return float(found.mean())


def _top_length(ranker: LTRMAParameters) -> int:
    if ranker.k is None:
        raise UsageError("distance='top-k' needs the length of the lists.", hint=("Give it: ", parameter("k", 10)))
    return whole("k", ranker.k, low=2)


def cut_lists(judged: Judged, k: int) -> Judged:
    """The first k documents of each list, for definition 1 of the paper."""
    try:
        cut = judged.statements.first_places(k, judged.sizes)
    except ValueError as error:
        tied = str(error) == "tied"
        problem = (
            "some are tied there." if tied else f"some judgments are pairs or lists of fewer than {k} documents."
        )
        raise InputError(
            f"distance='top-k' compares the first {k} places of lists, but {problem}",
            hint=("Use ", parameter("distance", "pairs")),
        ) from None
    return replace(judged, statements=cut)


def _unsettled(steps: int) -> Note:
    message = f"Training stopped after {steps} steps, and the ranker or the workers' expertise still changed."
    return Note("not-converged", message, ("Try ", parameter("iterations", 2 * steps), "."))


def _at_limit(judged: Judged, expertise: Expertise) -> Note:
    voices = judged.voices
    names = voices.workers.gather(voices.worker[expertise.at_limit]).unique().sort().to_list()
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return Note(
        "bound",
        f"The expertise of {count_noun(len(names), 'worker')} reached the largest size that is distinguished: "
        f"{shown}.",
    )


def _mirror_note(*, chosen: bool) -> Note:
    if chosen:
        message = (
            "Most judgments contradicted the orders that were found first. The reversed orders explain the "
            "judgments too, and are kept: most workers are taken to be honest."
        )
    else:
        message = (
            "Most judgments contradict the orders that were found, and so they did after a start from reversed "
            "orders. The ranker may be reversed."
        )
    return Note("mirror", message, "True lists of some queries, or what is known about workers, would decide it.")
