"""One run of remap: P, learners on its output, baselines, and which of them is kept."""

from __future__ import annotations

import time
from dataclasses import dataclass

from crowdrank.errors import Note
from crowdrank.progress import Progress
from crowdrank.rankers.base import TrainedRanker
from crowdrank.rankers.remap.baselines import Baselines
from crowdrank.rankers.remap.books import Books, Done
from crowdrank.rankers.remap.climbs import REMAP, Climbs, Tried
from crowdrank.rankers.remap.learners import LEARNERS, Learned
from crowdrank.rankers.remap.processing import Processing
from crowdrank.rankers.remap.setup import Setup
from crowdrank.rankers.validation import paired_difference


@dataclass(eq=False)
class Remapping:
    """One run."""

    setup: Setup
    progress: Progress | None

    def train(self, began: float) -> TrainedRanker:
        """Train, compare, choose, and keep the books."""
        climbs = Climbs(self.setup, self.progress)
        best, tried = None, tuple[Tried, ...]()
        if self.setup.given.processing is None:
            self.processing: Processing
            self.processing, best, tried = climbs.learn_processing()
        else:
            self.processing = self._take_processing(self.setup.given.processing)
        mine = self._learn(None if best is None else climbs.learned(best, tried))
        baselines = Baselines(self.setup, climbs).train()
        chosen, name = self._choose(mine, baselines)
        done = Done(chosen, name, mine, baselines, best, tried)
        return Books(self.setup, self.processing, done).trained(time.perf_counter() - began)

    def _take_processing(self, given: Processing) -> Processing:
        """A P that was trained before, after a look at whether the crowd is like its own."""
        given.check_labels(self.setup.given.labels)
        source = self.setup.given.source
        said = source.samples["label"].to_numpy()
        self.setup.notes += given.unlike_notes(self.setup.raw, given.values, said, source.weight)
        return given

    def _learn(self, ridge: Learned | None) -> dict[str, Learned]:
        """The learners on the output of P; ``ridge``: the ridge ranker of its climb, if there was one."""
        asked = LEARNERS if self.setup.ranker.learner == "auto" else (self.setup.ranker.learner,)
        if self.setup.held is None and self.setup.ranker.learner == "auto":
            asked = ("ridge",)
        documents = self.setup.with_target(*self.setup.process(self.processing))
        learners = self.setup.learners
        return {
            learner: ridge
            if learner == "ridge" and ridge is not None
            else learners.train(learner, documents.label, documents.weight, documents=documents)
            for learner in asked
        }

    def _choose(self, mine: dict[str, Learned], others: dict[str, Learned]) -> tuple[Learned, str]:
        """The learner on P's output that is kept; or a consensus that is better on the validation queries.

        Few queries decide, so what is simpler is kept unless another leads it by more than a standard error.
        """
        best = next(iter(mine.values()))
        for other in list(mine.values())[1:]:
            best = other if self._leads(other, best) else best
        self._note_target(best, others)
        rivals = {key: own for key, own in others.items() if key.partition(",")[0] in self.setup.consensus_labels}
        if self.setup.held is None or not rivals:
            return best, REMAP
        key = max(rivals, key=lambda one: rivals[one].value)
        if not self._leads(rivals[key], best):
            return best, REMAP
        message = (
            f"On the validation queries the plain consensus was enough: {key} reaches {self.setup.measure.text} "
            f"{rivals[key].value:.4f}, and remap {best.value:.4f}. The ranker is that of the consensus."
        )
        self.setup.notes.append(Note("fallback", message))
        return rivals[key], key

    def _note_target(self, best: Learned, others: dict[str, Learned]) -> None:
        """A note if the crowd's labels seem to be worth nothing beside those of experts."""
        alone = {key: own for key, own in others.items() if key.startswith("target alone")}
        key = max(alone, key=lambda one: alone[one].value, default=None)
        if key is not None and self._leads(alone[key], best):
            message = (
                f"On the validation queries the target does better without the crowd: {key.split(', ')[1]} on it "
                f"reaches {self.setup.measure.text} {alone[key].value:.4f}, and remap {best.value:.4f}."
            )
            self.setup.notes.append(Note("target-alone", message))

    def _leads(self, one: Learned, other: Learned) -> bool:
        """Whether one leads the other on the validation queries by more than the standard error of the lead."""
        if self.setup.held is None:
            return False
        lead = paired_difference(one.measured, other.measured)
        return lead["stderr"] is not None and bool(lead["mean"] > lead["stderr"])
