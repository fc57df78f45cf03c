"""What remap is compared with: consensus labels, reweighting by deviations, the target alone, and a placebo."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdrank.data import Floats, Integers, feature_rows, summed
from crowdrank.kernels.segments import totals
from crowdrank.prepared.documents import Documents
from crowdrank.random import generator
from crowdrank.rankers.remap.climbs import Climbs
from crowdrank.rankers.remap.learners import LEARNERS, Learned
from crowdrank.rankers.remap.setup import Setup, take_lists, take_rows

FEW = ("soft dawid-skene",)
"""The consensus labels of few baselines."""
TREES = ("regression", "lambdamart")
DELTAS = (0.1, 0.2, 0.4, 0.8)
"""The values of delta to try in reweighting by deviations."""
FOLDS = 5
"""In how many parts the queries are split, to predict each of them from the others."""


@dataclass(frozen=True, eq=False)
class Baselines:
    """The baselines of a run, each named "labels, learner"."""

    setup: Setup
    climbs: Climbs

    def train(self) -> dict[str, Learned]:
        """Train all, few or none of them. Without validation queries there is nothing to compare by."""
        kind = self.setup.ranker.baselines
        if kind == "none" or self.setup.held is None:
            return {}
        found: dict[str, Learned] = {}
        for name, label in self.setup.consensus_labels.items():
            if kind == "all" or name in FEW:
                found |= {f"{name}, {own}": self._on_source(own, label) for own in LEARNERS}
        found |= self._target_alone()
        found |= self._oracle()
        if kind == "all":
            found |= self._deviations()
            if self.setup.given.target is not None:
                found["placebo, ridge"] = self._placebo()
        return found

    def _on_source(self, learner: str, label: Floats, weight: Floats | None = None) -> Learned:
        count = len(self.setup.documents.label)
        return self.setup.learners.train(learner, label, np.ones(count) if weight is None else weight)

    def _target_alone(self) -> dict[str, Learned]:
        """Rankers that learn from the experts' labels of the target only."""
        if self.setup.given.target is None:
            return {}
        return self._on_grades("target alone", self.setup.prepare(self.setup.given.target, "target"))

    def _oracle(self) -> dict[str, Learned]:
        """Rankers that learn from experts' labels of the source, if they are known. Those below 0 are not."""
        source, gold = self.setup.given.source, self.setup.given.gold
        if gold is None:
            return {}
        frame = gold.frame
        query = None if frame["query"].null_count() == frame.height else frame["query"]
        rows = feature_rows(source.features, query, frame["item"])
        grade = np.full(source.features.rows, np.nan)
        grade[rows[rows >= 0]] = frame["value"].to_numpy()[rows >= 0]
        own = grade[source.rows]
        known = own >= 0
        if not known.any():
            return {}
        documents = replace(self.setup.documents, label=np.where(known, own, 0.0))
        return self._on_grades("oracle", take_rows(documents, known))

    def _on_grades(self, name: str, documents: Documents) -> dict[str, Learned]:
        """All learners on experts' labels."""
        train = self.setup.learners.train
        return {
            f"{name}, {own}": train(own, documents.label, documents.weight, documents=documents, grades=True)
            for own in LEARNERS
        }

    # -------------------------------------------------------------------------- reweighting by deviations

    def _deviations(self) -> dict[str, Learned]:
        """RD: the weight of a sample is min(1/delta^2, 1/Delta^2), Delta its error (section 6.2 of the paper)."""
        source = self.setup.given.source
        if source.lists < 2:
            return {}
        values = self.setup.given.labels.values
        label = (source.samples["label"].to_numpy() - values[0]) / (values[-1] - values[0])
        error = np.abs(label - self._predicted()[source.document])
        tried: dict[str, list[Learned]] = {learner: [] for learner in TREES}
        for delta in DELTAS:
            weight = source.weight / np.maximum(error, delta) ** 2
            mass = summed(source.document, weight, len(source.rows))
            mean = summed(source.document, weight * label, len(source.rows)) / mass
            for learner, own in tried.items():
                own.append(replace(self._on_source(learner, mean, mass), details={"delta": delta}))
        return {
            f"reweighting by deviations, {learner}": max(own, key=lambda one: one.value)
            for learner, own in tried.items()
        }

    def _predicted(self) -> Floats:
        """The average label of each document as predicted from the queries of other folds."""
        setup, source = self.setup, self.setup.given.source
        label = setup.consensus_labels["average"]
        order = generator(setup.seed, key=4).permutation(source.lists)
        found, folds = np.zeros(len(label)), min(FOLDS, source.lists)
        learners = replace(setup.learners, held=None)
        for fold in range(folds):
            held = np.sort(order[fold::folds])
            others = np.sort(np.setdiff1d(order, held))
            documents = take_lists(replace(setup.documents, label=label), others)
            trained = learners.train("ridge", documents.label, documents.weight, documents=documents)
            mine = _rows_of(source.start, held)
            found[mine] = trained.function.scores(setup.documents.values[mine])
        sizes = np.diff(source.start)
        return found + np.repeat(totals(label - found, source.start) / sizes, sizes)

    # --------------------------------------------------------------------------------------- the placebo

    def _placebo(self) -> Learned:
        """P with the label features of other samples that have the same label, so that they say nothing."""
        setup = self.setup
        said = setup.given.source.samples["label"].to_numpy()
        order = np.arange(len(said))
        rng = generator(setup.seed, key=5)
        for value in setup.given.labels.values:
            own = np.flatnonzero(said == value)
            order[own] = own[rng.permutation(len(own))]
        return self.climbs.placebo(order)


def _rows_of(start: Integers, lists: Integers) -> Integers:
    return np.concatenate([np.arange(start[one], start[one + 1]) for one in lists])
