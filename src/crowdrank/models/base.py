"""The base classes of all models: they keep the books, and a subclass makes one decision."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from crowdrank.data import (
    Anchors,
    Ints,
    Judgments,
    Rankings,
    Ratings,
    SpooledRankings,
    SpooledRatings,
    read,
    stream_lists,
    stream_pairs,
    to_lists,
)
from crowdrank.engine import Engine, one_blas_thread, open_engine
from crowdrank.errors import InputError, Note, Remedy
from crowdrank.models.parameters import number, whole
from crowdrank.models.predictions import PredictingModel
from crowdrank.prepared.labels import Labels
from crowdrank.prepared.lists import Lists
from crowdrank.prepared.spooled_lists import SpooledLists
from crowdrank.prepared.subjects import Subjects
from crowdrank.prepared.votes import Votes
from crowdrank.progress import Progress
from crowdrank.results import (
    Confusion,
    Easiness,
    Evidence,
    Fit,
    LabelPosterior,
    ListPredictor,
    NormalPosterior,
    Posterior,
    Predictor,
    Queries,
    Ranking,
    Reliability,
    Result,
    Skills,
    Table,
    Workers,
)
from crowdrank.results.fit import versions
from crowdrank.results.overview import Overview
from crowdrank.solve import Spread


@dataclass(frozen=True)
class Run:
    """Where and how a fit runs."""

    anchors: Anchors
    engine: Engine
    seed: int
    progress: Progress | None


@dataclass(frozen=True)
class Outcome:
    """What a subclass returns from a fit, by codes; the base turns it into a Result with names.

    ``tables``: the model's own tables by name; ``labels_`` of the fitted model is ``tables["labels"]``, and so on.
    ``posterior``: the normal posterior, if there is one.
    """

    spread: Spread
    workers: Workers | None
    converged: bool = True
    iterations: int = 1
    log_likelihood: float | None = None
    notes: tuple[Note, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    predictor: Predictor | None = None
    list_predictor: ListPredictor | None = None
    posterior: NormalPosterior | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)


class Model(PredictingModel):
    """A model that is fitted to judgments and ranks items. It does what all models share; a subclass fits.

    Parameters are keyword-only and kept as given. ``fit`` leaves one frozen ``result_``. The other attributes read
    from it: ``ranking_``, ``workers_`` (None if the judgments name no workers), ``fit_``, ``evidence_``,
    ``posterior_`` (None for models that have none), and one attribute for each further table of the model, such as
    ``labels_``, ``confusion_`` and ``queries_`` (None for models without such a table).

    ``seed``: the seed of everything random.

    >>> import crowdrank as cr
    >>> for model in (cr.BradleyTerry(regularization=0.5), cr.WinRate()):
    ...     best = model.fit([("a", "b"), ("b", "c")]).ranking_.frame()["item"][0]
    ...     print(model, isinstance(model, cr.Model), best)
    BradleyTerry(regularization=0.5) True a
    WinRate() True a
    """

    seed: int = 0

    labels_: LabelPosterior | None
    confusion_: Confusion | None
    easiness_: Easiness | None
    reliability_: Reliability | None
    queries_: Queries | None
    skills_: Skills | None
    _result: Result

    @property
    def result_(self) -> Result:
        """Everything that the fit found."""
        if "_result" not in vars(self):
            raise self._not_fitted()
        return self._result

    @property
    def ranking_(self) -> Ranking:
        """The items of each query, best first."""
        return self.result_.ranking

    @property
    def workers_(self) -> Workers | None:
        """The workers and how good they are."""
        return self.result_.workers

    @property
    def fit_(self) -> Fit:
        """How the fit went."""
        return self.result_.fit

    @property
    def evidence_(self) -> Evidence:
        """How much is known about each item."""
        return self.result_.evidence

    @property
    def posterior_(self) -> Posterior | LabelPosterior | None:
        """What the fit knows about scores and workers together; for models of labels, their probabilities."""
        return self.result_.posterior

    def report(self, path: str | Path) -> Path:
        """Write the report of the fit: a page, Markdown or JSON, by the ending .html, .md or .json.

        It is the report of ``crowdrank rank``: the ranking, the workers, what to know, and the next votes.
        """
        return self._write_report(path)

    def _repr_html_(self) -> str:
        """What a notebook shows: the ranking with its intervals, or that there is no fit yet."""
        if "_result" not in vars(self):
            return Overview(repr(self), ["not fitted yet"]).to_html()
        return replace(self.result_.overview(), title=repr(self)).to_html()

    def __getattr__(self, name: str) -> Any:
        """A further table of the fit: ``labels_`` is the table "labels". None if this model has no such table."""
        if name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        if "_result" not in vars(self):
            raise self._not_fitted("" if name == "result_" else name)
        table = self.result_.further.get(name.removesuffix("_"))
        if table is None and name not in Model.__annotations__:
            known = ", ".join(f"{own}_" for own in self.result_.tables)
            raise AttributeError(f"{self.name} has no {name!r}; its tables are {known}.")
        return table

    @abstractmethod
    def fit(
        self,
        judgments: Any,
        *,
        anchors: Any = None,
        engine: Engine | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to judgments: a table from ``crowdrank.read``, or anything that it reads.

        ``anchors``: gold pairs, known workers, known labels or true lists (``Anchors``, or what it reads).
        ``engine``: where to compute: local threads if none is given, ``"dask"``, ``"tcp://host:port"``, or an
        engine. ``progress(iteration, objective, slope)`` is called after each step.
        """


S = TypeVar("S", bound=Subjects)


PLAIN_MODELS = {"pairs": "bt", "rankings": "plackett-luce", "ratings": "average"}
"""For each kind of judgments a model that needs no workers, for hints."""


class PreparedModel(Model, Generic[S]):
    """A model of one kind of judgments. They are prepared for it, it fits, and the base keeps the books."""

    needs_workers: ClassVar[bool] = False
    anchors: ClassVar[frozenset[str]] = frozenset()  # which kinds of anchors it can use

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
        table: Judgments = read(judgments).without_empty_queries()  # a fold may leave a query without rows
        self._check(table)
        known = (Anchors() if anchors is None else Anchors.read(anchors)).coded_as(table)
        ready, notes = self._prepare(table, known)
        with open_engine(engine) as place, one_blas_thread():
            outcome = self._fit(ready, Run(known, place, whole("seed", self.seed), progress))
        self._result = self._result_with_ids(ready, outcome, notes, table, place.name)
        self._result = self._result.with_seconds(fit=time.perf_counter() - began)
        return self

    def _result_with_ids(
        self, ready: S, outcome: Outcome, notes: tuple[Note, ...], table: Judgments, engine: str
    ) -> Result:
        """The outcome with the ids behind its codes."""
        evidence = ready.evidence(outcome.spread.rank)
        return Result(
            ranking=_ranking(ready, outcome.spread, evidence.part),
            workers=outcome.workers,
            fit=Fit(
                model=self.name,
                parameters=self.get_params(),
                converged=outcome.converged,
                iterations=outcome.iterations,
                log_likelihood=outcome.log_likelihood,
                warnings=(*notes, *outcome.notes),
                seconds={},
                seed=self.seed,
                engine=engine,
                versions=versions(),
                judgments=table.summary(),
                details={"posterior": _describe_posterior(outcome), **outcome.details},
            ),
            evidence=evidence,
            nodes=ready.nodes,
            index=ready.index,
            posterior=_posterior(ready, outcome, evidence.part),
            predictor=outcome.predictor,
            list_predictor=outcome.list_predictor,
            further=outcome.tables,
        )

    @abstractmethod
    def _prepare(self, table: Judgments, anchors: Anchors) -> tuple[S, tuple[Note, ...]]:
        """The judgments in the form that the model takes, and the notes from the conversion."""

    @abstractmethod
    def _fit(self, ready: S, run: Run) -> Outcome:
        """Fit to judgments. This is the one decision of a subclass."""

    def _check(self, table: Judgments) -> None:
        if self.needs_workers and table.index.workers is None:
            raise InputError(
                f"{self.name} learns the quality of workers, but these {table.kind} do not say who judged.",
                hint=(
                    "Name the column, ",
                    Remedy("columns", "worker=NAME"),
                    ", or use a model without workers, ",
                    Remedy("model", PLAIN_MODELS[table.kind]),
                ),
            )

    def _unused_anchor_notes(self, anchors: Anchors) -> list[Note]:
        """A note for each kind of anchors that the model cannot use."""
        words = {
            "pairs": "gold pairs",
            "workers": "known workers",
            "labels": "known labels",
            "lists": "true lists",
        }
        return [
            Note("anchors", f"{self.name} does not use {what}; they are ignored.")
            for kind, what in words.items()
            if getattr(anchors, kind) is not None and kind not in self.anchors
        ]


class VotesModel(PreparedModel[Votes]):
    """A model of pairwise votes. Other judgments are converted to pairs, and a note says so.

    ``needs_every_pair``: what the model makes of a list is not a sum over its pairs, so a sample of them will not
    do unless it is asked for.
    """

    needs_every_pair: ClassVar[bool] = False

    def _prepare(self, table: Judgments, anchors: Anchors) -> tuple[Votes, tuple[Note, ...]]:
        kinds = Ratings | Rankings | SpooledRatings | SpooledRankings
        if self.needs_every_pair and isinstance(table, kinds) and table.pairs == "auto":
            table = replace(table, pairs="all")
        votes, notes = self._add_anchors(Votes(stream_pairs(table)), anchors)
        return votes, (*votes.pairs.notes, *notes)

    def _add_anchors(self, votes: Votes, anchors: Anchors) -> tuple[Votes, list[Note]]:
        """The votes with the gold pairs, and notes on the anchors that cannot be used."""
        notes = self._unused_anchor_notes(anchors)
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
    """A model of ranked lists. One worker's ratings within a query also form a list, larger ones first."""

    @property
    def _sums_suffice(self) -> bool:
        """Whether passes over shards are all it needs, so that lists can stay on disk."""
        return False

    def _prepare(self, table: Judgments, anchors: Anchors) -> tuple[Lists, tuple[Note, ...]]:
        unused = self._unused_anchor_notes(anchors)
        if isinstance(table, SpooledRankings | SpooledRatings) and self._sums_suffice:
            stream = stream_lists(table, self.name)
            return SpooledLists(stream), (*stream.notes, *unused)
        lists = to_lists(table, self.name)
        return Lists(lists), (*lists.notes, *unused)


class LabelsModel(PreparedModel[Labels]):
    """A model of graded labels."""

    needs_order: ClassVar[bool] = True  # whether labels must be numbers, or have an order

    def _prepare(self, table: Judgments, anchors: Anchors) -> tuple[Labels, tuple[Note, ...]]:
        if not isinstance(table, Ratings | SpooledRatings):
            raise InputError(
                f"{self.name} takes ratings, but these judgments are {table.kind}.",
                hint=("Choose a model that takes them, for example ", Remedy("model", PLAIN_MODELS[table.kind])),
            )
        if self.needs_order:
            table.require_order(self.name)
        return Labels(table), (*table.notes, *self._unused_anchor_notes(anchors))


def _describe_posterior(outcome: Outcome) -> str:
    """What ``posterior_`` is, in words."""
    if outcome.posterior is not None:
        return outcome.posterior.kind
    return "probabilities of the labels" if "labels" in outcome.tables else "none"


def _posterior(ready: Subjects, outcome: Outcome, part: Ints) -> Posterior | LabelPosterior | None:
    """The normal posterior with its names; otherwise the probabilities of labels, if there are any."""
    if outcome.posterior is None:
        labels = outcome.tables.get("labels")
        return labels if isinstance(labels, LabelPosterior) else None
    outcome.posterior.covariance.release()
    own = (ready.index.workers, part, outcome.spread.score, outcome.posterior, ready.backend)
    return Posterior(ready.queries(), ready.items(), *own)


def _ranking(ready: Subjects, spread: Spread, part: Ints) -> Ranking:
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
        group=ready.groups(part, spread.rank),
        backend=ready.backend,
    )
