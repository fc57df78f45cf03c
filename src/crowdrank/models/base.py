"""The estimator that every model is: it keeps the books, a subclass makes one decision."""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import (
    Anchors,
    Floats,
    Index,
    Judgments,
    Nodes,
    Pairs,
    Ratings,
    node_codes,
    read,
    to_lists,
    to_pairs,
)
from crowdrank.engine import Engine, one_blas_thread, running
from crowdrank.errors import InputError, Note, UsageError
from crowdrank.models.labelled import Labels
from crowdrank.models.lists import Lists
from crowdrank.models.subjects import Subjects
from crowdrank.models.votes import Votes
from crowdrank.results import Evidence, Fit, LabelPosterior, Queries, Ranking, Skills, Workers
from crowdrank.solve import Spread

Progress = Callable[[int, float, float], None]


class Predictor(Protocol):
    """What a fit says of votes to come.

    ``left`` and ``right`` are nodes of the fit and ``worker`` its workers, -1 where the fit has not
    seen them; ``worker`` is None where nobody says who judges. ``sided``: left and right say where
    an item was shown. The answer (rows, 3): probabilities of left, of a tie, of right.
    """

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities."""
        ...


@runtime_checkable
class ListPredictor(Protocol):
    """A model that gives probabilities of whole lists."""

    def list_log_likelihood(self, rankings: Any) -> Floats:
        """ln P of each list given, in the order of their ids."""
        ...


@dataclass(frozen=True)
class Run:
    """Where and how a fit runs."""

    anchors: Anchors
    engine: Engine
    seed: int
    progress: Progress | None


class LabelProbabilities(NamedTuple):
    """The probability of each of ``values``, the distinct labels (K), for every node (N, K)."""

    values: Floats
    probability: Floats


@dataclass(frozen=True)
class Outcome:
    """What a subclass returns from a fit; the base turns it into results."""

    spread: Spread
    workers: Workers | None
    converged: bool = True
    iterations: int = 1
    log_likelihood: float | None = None
    notes: tuple[Note, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    predictor: Predictor | None = None
    labels: LabelProbabilities | None = None
    queries: Queries | None = None
    skills: Skills | None = None


class Model(ABC):
    """What is fitted to judgments and ranks: it keeps the books, a subclass fits.

    Parameters are keyword-only and kept as given. After ``fit``: ``ranking_``, ``workers_`` (None where
    the votes name no workers), ``labels_`` (None but for models of labels), ``queries_`` and ``skills_`` (None
    but for models of difficulties and domains), ``fit_`` and ``evidence_``.
    """

    name: str
    seed: int = 0

    ranking_: Ranking
    workers_: Workers | None
    labels_: LabelPosterior | None
    queries_: Queries | None
    skills_: Skills | None
    fit_: Fit
    evidence_: Evidence
    _predictor: Predictor | None
    _seen: tuple[Nodes, Index]

    @abstractmethod
    def fit(
        self,
        judgments: Any,
        *,
        anchors: Any = None,
        engine: Engine | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to judgments: a table of ``crowdrank.read``, or anything that it reads.

        ``anchors``: gold pairs, known workers or known labels (``Anchors``, or what it reads). ``engine``: where
        to compute: local threads where none is given, ``"dask"``, ``"tcp://host:port"``, or an engine.
        ``progress(iteration, objective, slope)`` is called after each step.
        """

    def probabilities(self, judgments: Any) -> Floats:
        """For each vote asked about, the probabilities of left, of a tie, and of right (rows, 3).

        ``judgments``: pairs, of which the outcomes do not matter. An item or a worker that the fit has
        not seen is taken as an average one. A model that counts and has no probabilities is an error.
        """
        nodes, index = self._fitted_to()
        if self._predictor is None:
            raise UsageError(f"{self.name} gives an order, and no probability of a vote.")
        pairs = read(judgments)
        if not isinstance(pairs, Pairs):
            got = "votes that are kept on disk" if pairs.kind == "pairs" else pairs.kind
            raise UsageError(f"Probabilities are of pairs in memory. Got {got}.")
        if (index.queries is None) != (pairs.index.queries is None):
            told, other = ("The fit", "the votes asked about") if pairs.query is None else ("The votes", "the fit")
            raise InputError(f"{told} have queries and {other} have none: whose items are meant cannot be told.")
        pairs = pairs.coded_as(index)
        left, right = (node_codes(nodes, index, pairs.query, side) for side in (pairs.left, pairs.right))
        return self._predictor(left, right, pairs.worker, sided=pairs.sided)

    def _fitted_to(self) -> tuple[Nodes, Index]:
        """The nodes that the fit has, and the names behind their codes."""
        if not hasattr(self, "_seen"):
            raise UsageError(f"{self.name} is not fitted yet.")
        return self._seen

    @property
    def predicts(self) -> bool:
        """Whether the fitted model gives probabilities of votes."""
        return self._predictor is not None

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """The names of the parameters with their defaults."""
        signature = inspect.signature(cls.__init__)
        return {name: own.default for name, own in signature.parameters.items() if name != "self"}

    def settable(self) -> set[str]:
        """The names that ``set_params`` takes."""
        return set(self.parameters())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as given (``deep`` is there for scikit-learn's sake)."""
        return {name: getattr(self, name) for name in self.parameters()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; an unknown name is an error that lists the names."""
        known = self.parameters()
        for name, value in params.items():
            if name not in known:
                raise UsageError(
                    f"{self.name} has no parameter {name!r}.", hint=f"Its parameters are {', '.join(known)}."
                )
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """An unfitted copy with the same parameters."""
        copy = type(self)(**self.get_params())
        copy.name = self.name
        return copy

    def __repr__(self) -> str:
        own = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({own})"


S = TypeVar("S", bound=Subjects)


class PreparedModel(Model, Generic[S]):
    """A model of one sort of judgments: they are made ready for it, it fits, and the base keeps the books."""

    needs_workers: ClassVar[bool] = False
    anchors: ClassVar[frozenset[str]] = frozenset()  # of "pairs", "workers" and "labels", what it can use
    _plain: ClassVar[str] = "--model bt"

    def fit(
        self,
        judgments: Any,
        *,
        anchors: Any = None,
        engine: Engine | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to judgments, as every model does."""
        began = time.perf_counter()
        table: Judgments = read(judgments)
        self._check(table)
        known = Anchors() if anchors is None else Anchors.read(anchors)
        ready, notes = self._prepare(table, known)
        with running(engine) as place, one_blas_thread():
            outcome = self._fit(ready, Run(known, place, whole("seed", self.seed), progress))
        self.ranking_ = _ranking(ready, outcome.spread)
        self.workers_ = outcome.workers
        self.labels_ = _labels(ready, outcome.labels)
        self.queries_, self.skills_ = outcome.queries, outcome.skills
        self.evidence_ = ready.evidence(outcome.spread.rank)
        self._predictor, self._seen = outcome.predictor, (ready.nodes, ready.index)
        self.fit_ = Fit(
            model=self.name,
            parameters=self.get_params(),
            converged=outcome.converged,
            iterations=outcome.iterations,
            log_likelihood=outcome.log_likelihood,
            warnings=(*notes, *outcome.notes),
            seconds={"fit": time.perf_counter() - began},
            seed=self.seed,
            engine=place.name,
            versions=_versions(),
            judgments=table.summary(),
            details=outcome.details,
        )
        return self

    @abstractmethod
    def _prepare(self, table: Judgments, anchors: Anchors) -> tuple[S, tuple[Note, ...]]:
        """The judgments as the model takes them, and what was noted on the way."""

    @abstractmethod
    def _fit(self, ready: S, run: Run) -> Outcome:
        """Fit to judgments; the one decision of a subclass."""

    def _check(self, table: Judgments) -> None:
        if self.needs_workers and table.index.workers is None:
            raise InputError(
                f"{self.name} learns the quality of workers, and these {table.kind} do not say who judged.",
                hint=f"Name the column with --columns worker=NAME, or use a model without workers: {self._plain}",
            )

    def _unused(self, anchors: Anchors) -> list[Note]:
        """A note on every kind of anchors that the model cannot use."""
        words = {"pairs": "gold pairs", "workers": "known workers", "labels": "known labels"}
        return [
            Note("anchors", f"{self.name} does not use {what}; they are left out.")
            for kind, what in words.items()
            if getattr(anchors, kind) is not None and kind not in self.anchors
        ]


class VotesModel(PreparedModel[Votes]):
    """A model of pairwise votes; other judgments are converted to pairs, and that is said."""

    def _prepare(self, table: Judgments, anchors: Anchors) -> tuple[Votes, tuple[Note, ...]]:
        votes, notes = self._anchored(Votes(to_pairs(table)), anchors)
        return votes, (*votes.pairs.notes, *notes)

    def _anchored(self, votes: Votes, anchors: Anchors) -> tuple[Votes, list[Note]]:
        """The votes with the gold pairs, and a note on every anchor that is of no use."""
        notes = self._unused(anchors)
        index = votes.pairs.index
        if anchors.pairs is not None and "pairs" in self.anchors:
            gold, unused = anchors.gold(votes.nodes, index)
            if unused:
                total = anchors.pairs.rows
                message = f"{unused} of {total} gold pairs are ties or name items that nobody judged."
                notes.append(Note("anchors", message))
            votes = votes.with_gold(gold, number("anchor_weight", self.get_params()["anchor_weight"], low=0))
        if anchors.workers is not None and "workers" in self.anchors:
            unused = len(anchors.workers) - len(anchors.known(index)[0])
            if unused:
                message = f"{unused} of {len(anchors.workers)} known workers judged nothing here."
                notes.append(Note("anchors", message))
        return votes, notes


class ListsModel(PreparedModel[Lists]):
    """A model of ranked lists. Ratings are lists too: those of one worker within a query, larger ones first."""

    _plain = "--model plackett-luce"

    def _prepare(self, table: Judgments, anchors: Anchors) -> tuple[Lists, tuple[Note, ...]]:
        lists = to_lists(table, self.name)
        return Lists(lists), (*lists.notes, *self._unused(anchors))


class LabelsModel(PreparedModel[Labels]):
    """A model of graded labels."""

    _plain = "--model average"

    def _prepare(self, table: Judgments, anchors: Anchors) -> tuple[Labels, tuple[Note, ...]]:
        if not isinstance(table, Ratings):
            raise InputError(
                f"{self.name} takes ratings, and these judgments are {table.kind}.",
                hint="Choose a model that takes them: crowdrank models",
            )
        return Labels(table), (*table.notes, *self._unused(anchors))


def _labels(ready: Subjects, found: LabelProbabilities | None) -> LabelPosterior | None:
    if found is None:
        return None
    return LabelPosterior(ready.queries(), ready.items(), *found, backend=ready.backend)


def _ranking(ready: Subjects, spread: Spread) -> Ranking:
    return Ranking(
        query=ready.queries(),
        item=ready.items(),
        rank=spread.rank,
        tier=spread.tier,
        score=spread.score,
        stderr=spread.stderr,
        low=spread.low,
        high=spread.high,
        rank_low=spread.rank_low,
        rank_high=spread.rank_high,
        backend=ready.backend,
    )


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import version

    import polars

    return {
        "crowdrank": version("crowdrank"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": polars.__version__,
    }


def number(name: str, value: Any, *, low: float = -np.inf, high: float = np.inf) -> float:
    """A parameter that must be a number within [low, high]."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
    if not good or not low <= value <= high:
        wanted = f"between {low:g} and {high:g}" if np.isfinite(high) else f"of at least {low:g}"
        raise UsageError(f"The parameter {name!r} must be a number {wanted}. Got {value!r}.")
    return float(value)


def whole(name: str, value: Any, *, low: int = 0) -> int:
    """A parameter that must be a whole number of at least ``low``."""
    if number(name, value, low=low) != int(value):
        raise UsageError(f"The parameter {name!r} must be a whole number. Got {value!r}.")
    return int(value)
