"""The books of a run of remap: measures beside all baselines, what P says about each worker, and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdrank.data import Backend
from crowdrank.kernels.segments import totals
from crowdrank.models.parameters import flag
from crowdrank.rankers.base import TrainedRanker, importance_table, shown_measures
from crowdrank.rankers.remap.label_features import LabelFeatures, cross
from crowdrank.rankers.remap.learners import Learned
from crowdrank.rankers.remap.processing import FILE, Processing
from crowdrank.rankers.remap.setup import Setup
from crowdrank.rankers.scorers.extended import ExtendedFunction
from crowdrank.rankers.scorers.linear import LinearFunction
from crowdrank.rankers.tables import QueryMeasures, ValidationCurve
from crowdrank.rankers.validation import paired_difference
from crowdrank.results import Fit, Table, Workers
from crowdrank.results.fit import versions

if TYPE_CHECKING:
    from crowdrank.rankers.remap.climbs import Tried


@dataclass(frozen=True, eq=False)
class Done:
    """What a run trained: the ranker that is kept and whose it is, the learners on P's output, the baselines.

    ``best``: the climb that P comes from; None if P was given. ``tried``: all climbs.
    """

    chosen: Learned
    name: str
    mine: Mapping[str, Learned]
    baselines: Mapping[str, Learned]
    best: Tried | None
    tried: tuple[Tried, ...]

    def everything(self) -> dict[str, Learned]:
        """All that was trained, by name."""
        return {f"remap, {name}": own for name, own in self.mine.items()} | dict(self.baselines)


@dataclass(frozen=True, eq=False)
class Books:
    """Turns what a run trained into a trained ranker."""

    setup: Setup
    processing: Processing
    done: Done

    def trained(self, seconds: float) -> TrainedRanker:
        """Everything that training found."""
        setup, done = self.setup, self.done
        return TrainedRanker(
            scorer=self._scorer_name(),
            scoring=setup.scoring(done.chosen.function),
            fit=self._fit(seconds),
            importance=importance_table(done.chosen.function, setup.preparation, self._backend),
            validation=self._curve(),
            queries=self._queries(),
            tables=self._tables(),
            texts={FILE: self.processing.to_json()},
            candidates={name: setup.scoring(own.function) for name, own in done.everything().items()},
        )

    @property
    def _backend(self) -> Backend:
        return self.setup.given.source.features.backend

    def _scorer_name(self) -> str:
        function = self.done.chosen.function
        if isinstance(function, ExtendedFunction):
            return "extended"
        return "linear" if isinstance(function, LinearFunction) else self.setup.scorer.name

    def _fit(self, seconds: float) -> Fit:
        setup, chosen = self.setup, self.done.chosen
        given = {name: value for name, value in setup.ranker.get_params().items() if name != "scorer"}
        return Fit(
            model=setup.ranker.name,
            parameters={"scorer": setup.scorer.name, **given},
            converged=chosen.converged,
            iterations=chosen.iterations,
            log_likelihood=None,
            warnings=tuple(setup.notes),
            seconds={"fit": seconds},
            seed=setup.ranker.seed,
            engine=setup.engine.name,
            versions=versions(),
            judgments=self._judgments(),
            details=self._details(),
        )

    def _judgments(self) -> dict[str, Any]:
        """What was given, as other rankers from a crowd say it; ``labels`` are those that are learned from."""
        source, ratings = self.setup.given.source, self.setup.given.labels.ratings
        return {
            "kind": "features+ratings",
            **source.features.summary(),
            "documents": len(source.rows),
            "workers": ratings.summary()["workers"],
            "judgments": {"ratings": ratings.rows},
            "labels": len(source.samples),
        }

    def _details(self) -> dict[str, Any]:
        setup, done, source = self.setup, self.done, self.setup.given.source
        same = self._scorer_name() == setup.scorer.name
        details: dict[str, Any] = {
            "scorer_parameters": setup.scorer.get_params() if same else {},
            "standardize": setup.preparation.standardize,
            "training": {"documents": len(source.rows), "queries": source.lists},
            "samples": len(source.samples),
            "target_queries": 0 if setup.given.target is None else setup.given.target.lists,
            "validation_queries": 0 if setup.given.held is None else setup.given.held.lists,
            "honeypots": 0 if setup.given.labels.honeypots is None else setup.given.labels.honeypots.height,
            "chosen": done.name,
            "learner": done.chosen.learner,
        }
        if done.best is not None:
            details["processing"] = {
                "mu": done.best.mu,
                "trees": done.best.trees,
                "grown_on": setup.ranker.grow_on if done.best.trees else None,
                "start": done.best.start,
                "step": done.best.climbed.step,
                "tried": [
                    {
                        "mu": own.mu,
                        "trees": own.trees,
                        "start": own.start,
                        "step": own.climbed.step,
                        "value": own.climbed.value,
                    }
                    for own in done.tried
                ],
            }
        if setup.held is not None:
            details["measured"] = self._measured()
        return details

    def _measured(self) -> dict[str, Any]:
        """Measures of the ranker and of all others on the validation queries, and the ranker's lead over each."""
        held = self.setup.held
        assert held is not None
        reached = self.done.chosen.measured
        table: dict[str, Any] = {"ranker": self._row("", self.done.chosen)}
        for name, own in self.done.everything().items():
            table[name] = {**self._row(name, own), "lead": paired_difference(reached, own.measured)}
        measure = self.setup.measure.text
        return {"queries_of": "validation", "queries": held.labeled.lists, "measure": measure, **table}

    def _row(self, name: str, own: Learned) -> dict[str, Any]:
        """The measures of one ranker. The one that training watches is that of queries that did not choose P."""
        held = self.setup.held
        assert held is not None
        scores = own.function.scores(held.values)
        means = {one.text: held.labeled.queries.mean(one, scores) for one in shown_measures(self.setup.measure)}
        return {"description": name, **means, self.setup.measure.text: own.value}

    def _queries(self) -> QueryMeasures | None:
        if self.setup.held is None:
            return None
        shown, scores = self.setup.held.labeled, self.done.chosen.function.scores(self.setup.held.values)
        found = {one.text: shown.queries.by_query(one, scores) for one in shown_measures(self.setup.measure)}
        relevant, sizes = totals(shown.label > 0, shown.start), np.diff(shown.start).astype(float)
        return QueryMeasures(shown.query, sizes, relevant, found, backend=self._backend)

    def _curve(self) -> ValidationCurve | None:
        curve = self.done.chosen.curve
        if self.setup.held is None or not curve:
            return None
        steps, values = zip(*curve, strict=True)
        kept = steps[int(np.nanargmax(values))]
        return ValidationCurve(self.setup.measure.text, steps, values, kept, backend=self._backend)

    def _tables(self) -> dict[str, Table]:
        setup = self.setup
        tables: dict[str, Table] = {"workers": self._workers()}
        if flag("keep_features", setup.ranker.keep_features):
            samples = setup.given.source.samples
            chosen = [name for name in setup.raw.columns if setup.raw.group[name] != "ranking"]
            names, values = cross(setup.raw, setup.given.labels, samples, chosen, crossed=setup.asked.crossed)
            tables["label_features"] = LabelFeatures(samples, names, values, backend=self._backend)
        return tables

    def _workers(self) -> Workers:
        """The workers of Dawid-Skene, with what P says about their labels: weight, and the value of each label."""
        setup = self.setup
        people: Workers = setup.consensus.dawid_skene.workers_
        weight, label = pl.col("weight"), pl.col("label")
        samples = setup.given.source.samples.select("worker", "label", "weight").with_columns(
            w=self.processing.weights(setup.by_weight[1]), value=self.processing.remap(setup.by_value[1])
        )
        each = [
            ((weight * pl.col("value")).filter(label == one).sum() / weight.filter(label == one).sum()).alias(
                f"value_{one:g}"
            )
            for one in setup.given.labels.values
        ]
        mean = ((weight * pl.col("w")).sum() / weight.sum()).alias("weight")
        found = people.worker.to_frame("worker").join(
            samples.group_by("worker").agg(mean, *each), on="worker", how="left", maintain_order="left"
        )
        further = {name: found[name].cast(pl.Float64).to_numpy() for name in found.columns[1:]}
        right = setup.consensus.honeypots_of(found, fill=False)
        if right is not None:
            further["honeypots_right"] = right
        return replace(people, further={**people.further, **further})
