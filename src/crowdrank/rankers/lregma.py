"""LRegMA: regression on the lists of several annotators (Raykar et al. 2010).

Annotator j gives document i the score y_ij = s_i + an error of precision lambda_j, where s_i is the score of the
ranker (objectives.list_scores says how lists are scores). Maximize

    sum_j [ n_j/2 ln(lambda_j / 2 pi) - lambda_j/2 E_j ],    E_j = sum over j's lists of the squared errors

by turns: the ranker by a regression on the means of the scores, weighted by lambda; then

    1 / lambda_j = E_j / n_j

The scores of a list of m documents have the mean 0, so m - 1 of them are free, and n_j counts those. In the paper
1 / lambda_j = 1 / tau_j + 1 / gamma, the annotator's own variance and that of the truth. Only the sum matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Anchors, Floats, SideInfo, summed
from crowdrank.engine import Stats
from crowdrank.errors import Note, UsageError, parameter
from crowdrank.kernels.kendall import agreements
from crowdrank.models.parameters import whole
from crowdrank.prepared.documents import Documents, DocumentShard
from crowdrank.rankers.crowd_training import WORK, CrowdRanker, CrowdRun, Found
from crowdrank.rankers.judged import PAIRS, Judged
from crowdrank.rankers.objectives import WeightedScores, score_lists
from crowdrank.rankers.scorers import Function, Scorer
from crowdrank.results import Workers, agreement_interval, verdicts
from crowdrank.solve import until

START = 12.0
"""The precision of everybody at the start: 1 over the variance of scores that are spread evenly."""
LEAST_VARIANCE = 1e-4
"""The least variance of an annotator's errors: a standard error of a hundredth of the length of a list."""
SETTLED = 1e-9
"""No precision changes by more than this part of it."""


class LRegMA(CrowdRanker):
    """A ranker by regression on the lists, ratings or pairs of several annotators, weighted by their precision.

        max  sum_j [ n_j/2 ln lambda_j - lambda_j/2 sum over j's scores (y_ij - s_i)^2 ]

    Raykar et al. 2010. A list of m documents gives place p (0 = best) the score 1/2 - (p + 1/2) / m. Tied
    documents have the mean of their places, and so have those that a list leaves out but says to be below. True
    lists count as an annotator with the largest precision there is. What is known about the expertise of workers
    cannot be used. ``iterations``: the most turns.

    The other parameters are those of every ranker.

    >>> import crowdrank as cr
    >>> docs = {"query": [1] * 4 + [2] * 4, "item": [*"abcdefgh"], "length": [9, 7, 4, 1, 8, 6, 3, 2]}
    >>> lists = {"query": docs["query"] * 3, "item": docs["item"] * 3, "worker": [*"u" * 8 + "v" * 8 + "w" * 8]}
    >>> lists["rank"] = [1, 2, 3, 4] * 2 + [1, 2, 4, 3] * 2 + [4, 2, 1, 3] * 2
    >>> ranker = cr.LRegMA().fit(docs, lists)
    >>> ranker.workers_.frame()["precision"].round_sig_figs(2).to_list()
    [480.0, 30.0, 3.5]
    """

    scorer: str | Scorer
    iterations: int
    standardize: str | None
    impute: Any
    measure: str
    patience: int
    seed: int

    name = "lregma"

    def __init__(
        self,
        *,
        scorer: str | Scorer = "linear",
        iterations: int = 200,
        standardize: str | None = "auto",
        impute: Any = None,
        measure: str = "nDCG@10",
        patience: int = 50,
        seed: int = 0,
    ) -> None:
        self.scorer, self.iterations, self.standardize, self.impute = scorer, iterations, standardize, impute
        self.measure, self.patience, self.seed = measure, patience, seed

    def _use_anchors(self, anchors: Anchors, side_info: SideInfo | None) -> list[Note]:
        if side_info is not None:
            raise UsageError(
                "Side information is about the expertise theta of workers, which lregma does not have.",
                hint="ltrma-mle and ltrma-d take it.",
            )
        return []

    def _learn(self, run: CrowdRun) -> Found:
        return _Learning(self, run).found()


@dataclass(frozen=True, eq=False)
class _At:
    """The ranker at which errors are taken."""

    function: Function


@dataclass(frozen=True, eq=False)
class _Errors(Stats):
    """The sum of squared errors of each voice, the last one that of the truth."""

    square: Floats


@dataclass(frozen=True, eq=False)
class _Agreed(Stats):
    """How many pairs of documents each voice orders, and how many of these the ranker orders the same way."""

    ordered: Floats
    agreed: Floats


@dataclass(frozen=True)
class _Sums:
    """The sums over lists, for each of the ``voices`` and the truth."""

    voices: int

    def errors(self, shard: DocumentShard, at: _At) -> _Errors:
        """Squared errors."""
        said = shard.plan
        found = said.weight * said.errors(at.function.scores(shard.values))
        return _Errors(summed(said.voice, found, self.voices + 1))

    def agreements(self, shard: DocumentShard, at: _At) -> _Agreed:
        """Ordered pairs; a pair with equal scores counts as half."""
        said = shard.plan
        scores = at.function.scores(shard.values)[said.row]
        found = (
            summed(said.voice, said.weight * own, self.voices + 1)
            for own in agreements(-said.score, -scores, said.start)
        )
        return _Agreed(*found)


@dataclass(frozen=True, eq=False)
class _Turn:
    """The ranker and the precision of each voice after some turns, and the log likelihood."""

    function: Function | None
    precision: Floats
    likelihood: float = -np.inf
    done: int = 0


class _Learning:
    """One run of LRegMA."""

    def __init__(self, ranker: LRegMA, run: CrowdRun) -> None:
        self.ranker, self.run, self.judged = ranker, run, run.judged
        self.sums, self.free = _Sums(len(run.judged.voices)), _free_scores(run.judged)
        self.session = _open(run, run.judged, run.documents)
        start = np.full(len(self.free), START)
        self.improve = run.improver(self.session, WeightedScores(_with_truth(start)))
        self.held = _HeldLists(run) if run.held is not None or run.held_labels is not None else None
        self.curve: list[tuple[int, float]] = []
        self.best = _Turn(None, start)

    def found(self) -> Found:
        """Take turns until the precisions settle, and keep the books."""
        limit = whole("iterations", self.ranker.iterations, low=1)
        turn, done, settled = until(self._take_turn, self.best, tol=SETTLED, limit=limit)
        if self.curve and self.run.scorer.stops_early:
            turn = self.best
        assert turn.function is not None
        notes = [] if settled else [_unsettled(done)]
        if (turn.precision >= 1.0 / LEAST_VARIANCE).any():
            notes.append(_exact(self.judged, turn.precision))
        return Found(
            function=turn.function,
            converged=settled,
            iterations=done,
            log_likelihood=turn.likelihood,
            notes=tuple(notes),
            tables={"workers": self._workers(turn)},
            curve=tuple(self.curve),
        )

    def _take_turn(self, turn: _Turn) -> tuple[_Turn, float]:
        """The ranker given the precisions, then the precisions; and how far these moved."""
        self.improve.objective = WeightedScores(_with_truth(turn.precision))
        function = self.improve(turn.function)
        square = self.session.evaluate(self.sums.errors, _At(function)).square[: len(self.free)]
        precision = _precisions(square, self.free)
        change = float(np.abs(precision / turn.precision - 1.0).max(initial=0.0))
        following = _Turn(function, precision, log_likelihood(precision, square, self.free), turn.done + 1)
        if self.run.progress is not None:
            self.run.progress(following.done, following.likelihood, change)
        if self._look(following):
            return following, 0.0
        trained = self.run.scorer.steps is None or self.improve.exhausted
        return following, change if trained else np.inf

    def _look(self, turn: _Turn) -> bool:
        """Validation after a turn, and whether it ends training."""
        if self.held is None:
            return False
        value = self.held.value(turn)
        if not self.curve or value > max(own for _, own in self.curve):
            self.best = turn
        self.curve.append((turn.done, value))
        patience = max(whole("patience", self.ranker.patience, low=1) // self.improve.steps, 1)
        return self.run.scorer.stops_early and turn.done - self.best.done >= patience

    def _workers(self, turn: _Turn) -> Workers:
        """The workers: their precision, and as quality how often they agree with the order of the ranker.

        A worker with lists and pairs has the precision of the lists, and precision_pairs besides.
        """
        assert turn.function is not None
        voices, statements = self.judged.voices, self.judged.statements
        count, worker = len(voices.workers), voices.worker
        found = self.session.evaluate(self.sums.agreements, _At(turn.function))
        ordered, agreed = (summed(worker, own[: len(voices)], count) for own in (found.ordered, found.agreed))
        quality, low, high = agreement_interval(
            agreed / np.maximum(ordered, 1e-300), summed(worker, self.free, count)
        )
        first = np.unique(worker, return_index=True)[1]
        further = {"precision": turn.precision[first]}
        if len(voices) > count:
            pairs = np.array(voices.kind) == PAIRS
            further["precision_pairs"] = np.full(count, np.nan)
            further["precision_pairs"][worker[pairs]] = turn.precision[pairs]
        return Workers(
            worker=voices.workers,
            judgments=summed(worker, statements.weights(), count),
            quality=quality,
            low=low,
            high=high,
            verdict=verdicts(low, high),
            further=further,
            backend=self.judged.documents.features.backend,
        )


class _HeldLists:
    """Validation: a measure of labeled documents, or the likelihood of held-out lists."""

    def __init__(self, run: CrowdRun) -> None:
        self.labels = run.held_labels
        if self.labels is not None:
            self.values = self.labels.prepare(run.preparation).values
            self.measure = self.labels.queries.function(run.measure)
            return
        documents = run.held_documents()
        assert run.held is not None
        assert documents is not None
        held = run.held.with_voices(run.judged.voices)
        self.lists, self.free, self.sums = len(held.keys), _free_scores(held), _Sums(len(held.voices))
        self.session = _open(run, held, documents)

    def value(self, turn: _Turn) -> float:
        """The measure, or the mean log likelihood of a list."""
        assert turn.function is not None
        if self.labels is not None:
            return float(self.measure(turn.function.scores(self.values)))
        square = self.session.evaluate(self.sums.errors, _At(turn.function)).square[: len(self.free)]
        return log_likelihood(turn.precision, square, self.free) / self.lists


def log_likelihood(precision: Floats, square: Floats, free: Floats) -> float:
    """sum_j n_j/2 ln(lambda_j / 2 pi) - lambda_j/2 E_j. What is known to be true does not count."""
    return float((0.5 * free * np.log(precision / (2.0 * np.pi)) - 0.5 * precision * square).sum())


def _precisions(square: Floats, free: Floats) -> Floats:
    """n_j / E_j, at most 1 / LEAST_VARIANCE; a voice without lists has the precision of all together."""
    together = square.sum() / max(float(free.sum()), 1e-300)
    variance = np.divide(square, free, out=np.full(len(free), together), where=free > 0)
    return 1.0 / np.maximum(variance, LEAST_VARIANCE)


def _free_scores(judged: Judged) -> Floats:
    """n_j of each voice: m - 1 for a list of m documents, times its weight."""
    return judged.statements.comparisons(judged.sizes)


def _with_truth(precision: Floats) -> Floats:
    """These precisions, and that of the truth."""
    return np.append(precision, 1.0 / LEAST_VARIANCE)


def _open(run: CrowdRun, judged: Judged, documents: Documents) -> Any:
    """A session over prepared documents with the scores that lists give them."""
    start = judged.documents.start
    shards = documents.cut(lambda low, high: score_lists(judged.statements, (low, high), start), work=WORK)
    return run.engine.open(shards)


def _unsettled(turns: int) -> Note:
    message = f"Training stopped after {turns} turns, and the ranker or the workers' precision still changed."
    return Note("not-converged", message, ("Try ", parameter("iterations", 2 * turns), "."))


def _exact(judged: Judged, precision: Floats) -> Note:
    voices = judged.voices
    exact = precision >= 1.0 / LEAST_VARIANCE
    names = voices.workers.gather(voices.worker[exact]).unique().sort().to_list()
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    of = "1 worker" if len(names) == 1 else f"{len(names)} workers"
    return Note(
        "bound",
        f"The ranker reproduces the lists of {of} almost exactly: {shown}. "
        f"The precision is kept at {1.0 / LEAST_VARIANCE:g}.",
        "A ranker can do that by chance if a worker gave few lists.",
    )
