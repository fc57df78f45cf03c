"""The books of a run of remap: measures beside all baselines, what P says about each worker, and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdrank.data import Floats
from crowdrank.kernels.segments import totals
from crowdrank.models.base import versions
from crowdrank.models.parameters import flag
from crowdrank.rankers.base import TrainedRanker, importance_table, shown_measures
from crowdrank.rankers.remap.label_features import LabelFeatures, cross
from crowdrank.rankers.remap.learners import Learned
from crowdrank.rankers.remap.processing import FILE
from crowdrank.rankers.scorers.extended import ExtendedFunction
from crowdrank.rankers.scorers.linear import LinearFunction
from crowdrank.rankers.tables import QueryMeasures, ValidationCurve
from crowdrank.rankers.validation import paired_difference
from crowdrank.results import Fit, Table, Workers

if TYPE_CHECKING:
    from crowdrank.rankers.remap.run import Remapping, Tried


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

    run: Remapping
    done: Done

    def trained(self, seconds: float) -> TrainedRanker:
        """Everything that training found."""
        run, done = self.run, self.done
        return TrainedRanker(
            scorer=self._scorer_name(),
            scoring=run.scoring(done.chosen),
            fit=self._fit(seconds),
            importance=importance_table(done.chosen.function, run.preparation, self._backend),
            validation=self._curve(),
            queries=self._queries(),
            tables=self._tables(),
            texts={FILE: run.processing.to_json()},
            candidates={name: run.scoring(own) for name, own in done.everything().items()},
        )

    @property
    def _backend(self) -> str:
        return self.run.given.source.features.backend

    def _scorer_name(self) -> str:
        function = self.done.chosen.function
        if isinstance(function, ExtendedFunction):
            return "extended"
        return "linear" if isinstance(function, LinearFunction) else self.run.scorer.name

    def _fit(self, seconds: float) -> Fit:
        run, chosen = self.run, self.done.chosen
        given = {name: value for name, value in run.ranker.get_params().items() if name != "scorer"}
        return Fit(
            model=run.ranker.name,
            parameters={"scorer": run.scorer.name, **given},
            converged=chosen.converged,
            iterations=chosen.iterations,
            log_likelihood=None,
            warnings=tuple(run.notes),
            seconds={"fit": seconds},
            seed=run.ranker.seed,
            engine=run.engine.name,
            versions=versions(),
            judgments=self._judgments(),
            details=self._details(),
        )

    def _judgments(self) -> dict[str, Any]:
        """What was given, as other rankers from a crowd say it; ``labels`` are those that are learned from."""
        source, ratings = self.run.given.source, self.run.given.labels.ratings
        return {
            "kind": "features+ratings",
            **source.features.summary(),
            "documents": len(source.rows),
            "workers": ratings.summary()["workers"],
            "judgments": {"ratings": ratings.rows},
            "labels": len(source.samples),
        }

    def _details(self) -> dict[str, Any]:
        run, done, source = self.run, self.done, self.run.given.source
        same = self._scorer_name() == run.scorer.name
        details: dict[str, Any] = {
            "scorer_parameters": run.scorer.get_params() if same else {},
            "standardize": run.preparation.standardize,
            "training": {"documents": len(source.rows), "queries": source.lists},
            "samples": len(source.samples),
            "target_queries": 0 if run.given.target is None else run.given.target.lists,
            "validation_queries": 0 if run.given.held is None else run.given.held.lists,
            "honeypots": 0 if run.given.labels.honeypots is None else run.given.labels.honeypots.height,
            "chosen": done.name,
            "learner": done.chosen.learner,
        }
        if done.best is not None:
            details["processing"] = {
                "mu": done.best.mu,
                "trees": done.best.trees,
                "grown_on": run.ranker.grow_on if done.best.trees else None,
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
        if run.held is not None:
            details["measured"] = self._measured()
        return details

    def _measured(self) -> dict[str, Any]:
        """Measures of the ranker and of all others on the validation queries, and the ranker's lead over each."""
        held = self.run.held
        assert held is not None
        reached = held.by_query(self.done.chosen.function.scores(held.values))
        table: dict[str, Any] = {"ranker": self._row("", self.done.chosen)[0]}
        for name, own in self.done.everything().items():
            row, values = self._row(name, own)
            table[name] = {**row, "lead": paired_difference(reached, values)}
        measure = self.run.measure.text
        return {"queries_of": "validation", "queries": held.labeled.lists, "measure": measure, **table}

    def _row(self, name: str, own: Learned) -> tuple[dict[str, Any], Floats]:
        """The measures of one ranker, and the first one by query."""
        held = self.run.held
        assert held is not None
        scores = own.function.scores(held.values)
        means = {one.text: held.labeled.queries.mean(one, scores) for one in shown_measures(self.run.measure)}
        return {"description": name, **means}, held.by_query(scores)

    def _queries(self) -> QueryMeasures | None:
        if self.run.held is None:
            return None
        shown, scores = self.run.held.labeled, self.done.chosen.function.scores(self.run.held.values)
        found = {one.text: shown.queries.by_query(one, scores) for one in shown_measures(self.run.measure)}
        relevant, sizes = totals(shown.label > 0, shown.start), np.diff(shown.start).astype(float)
        return QueryMeasures(shown.query, sizes, relevant, found, backend=self._backend)

    def _curve(self) -> ValidationCurve | None:
        curve = self.done.chosen.curve
        if self.run.held is None or not curve:
            return None
        steps, values = zip(*curve, strict=True)
        kept = steps[int(np.nanargmax(values))]
        return ValidationCurve(self.run.measure.text, steps, values, kept, backend=self._backend)

    def _tables(self) -> dict[str, Table]:
        run = self.run
        tables: dict[str, Table] = {"workers": self._workers()}
        if flag("keep_features", run.ranker.keep_features):
            samples = run.given.source.samples
            chosen = [name for name in run.raw.columns if run.raw.group[name] != "ranking"]
            names, values = cross(run.raw, run.given.labels, samples, chosen, crossed=run.ranker.crossed)
            tables["label_features"] = LabelFeatures(samples, names, values, backend=self._backend)
        return tables

    def _workers(self) -> Workers:
        """The workers of Dawid-Skene, with what P says about their labels: weight, and the value of each label."""
        run = self.run
        people: Workers = run.consensus.dawid_skene.workers_
        weight, label = pl.col("weight"), pl.col("label")
        samples = run.given.source.samples.select("worker", "label", "weight").with_columns(
            w=run.processing.weights(run.by_weight[1]), value=run.processing.remap(run.by_value[1])
        )
        each = [
            ((weight * pl.col("value")).filter(label == one).sum() / weight.filter(label == one).sum()).alias(
                f"value_{one:g}"
            )
            for one in run.given.labels.values
        ]
        mean = ((weight * pl.col("w")).sum() / weight.sum()).alias("weight")
        found = people.worker.to_frame("worker").join(
            samples.group_by("worker").agg(mean, *each), on="worker", how="left", maintain_order="left"
        )
        further = {name: found[name].cast(pl.Float64).to_numpy() for name in found.columns[1:]}
        right = run.consensus.honeypots_of(found)
        if right is not None:
            further["honeypots_right"] = right
        return replace(people, further={**people.further, **further})
