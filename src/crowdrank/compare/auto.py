"""auto: of a few candidates the one that predicts held-out votes best, fitted to all votes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from crowdrank.compare.comparison import Comparison, attempt, runnable, scored
from crowdrank.compare.folds import sampled
from crowdrank.compare.split import Split, fewer, split
from crowdrank.data import Anchors, AnyJudgments, Pairs, Rankings, Ratings, SpooledPairs, count_pairs, read
from crowdrank.engine import Engine, LocalEngine
from crowdrank.errors import InputError, Note, UsageError
from crowdrank.models import registry
from crowdrank.models.base import Model, Progress, whole

CANDIDATES = {
    "pairs": ("bt", "crowd-bt", "judge-bt"),
    "rankings": ("bt", "mallows", "judge-bt", "plackett-luce"),
    "ratings": ("average", "ordinal", "dawid-skene"),
}
"""For each kind of judgments; the last that can run is taken where there is nothing to choose by."""
SPARE = 10
"""Of lists and labels the choice looks at this many times ``sample`` pairs."""
FEW = 20
"""With fewer votes nothing is held out."""


@dataclass(frozen=True)
class _Choice:
    """The model chosen, why in a sentence, and the figures where there are some."""

    chosen: Model
    why: str
    found: Comparison | None = None

    def details(self) -> dict[str, Any]:
        """As fit.json has it."""
        figures = {} if self.found is None else self.found.as_dict()
        return {
            "chosen": self.chosen.name,
            "candidates": figures.get("models", []),
            **{name: figures.get(name) for name in ("folds", "votes", "ties")},
        }


class Auto(Model):
    """The candidate with the smallest log loss on held-out votes, fitted to all votes.

    Votes are dealt into ``folds``; each is predicted by every candidate that can run, fitted to the
    others. ``sample``: about so many votes, chosen by a hash of their ids, are used for the choice.
    ``settings``: parameters of the candidates, each for those that have it; ``set_params`` takes them by
    name. With fewer than 20 votes, or one candidate, there is no choice, and that is said. ``fit_`` is the
    chosen model's, with the figures in ``details["auto"]``. Under other ids the folds are others, and
    where two candidates are close the choice may be.
    """

    name = "auto"

    def __init__(
        self,
        *,
        folds: int = 3,
        sample: int = 30_000,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.folds = folds
        self.sample = sample
        self.settings = settings
        self.seed = seed

    def settable(self) -> set[str]:
        """Its own parameters and those of its candidates."""
        names = {name for kind in CANDIDATES.values() for name in kind}
        return set(self.parameters()).union(*(registry.find(name).load().parameters() for name in names))

    def set_params(self, **params: Any) -> Self:
        """Set parameters of its own, or of its candidates; an unknown name is an error that lists the names."""
        own = {name: value for name, value in params.items() if name in self.parameters()}
        others = {name: value for name, value in params.items() if name not in own}
        if unknown := sorted(set(others) - self.settable()):
            names = ", ".join(sorted(self.settable()))
            raise UsageError(f"auto has no parameter {unknown[0]!r}.", hint=f"Its parameters are {names}.")
        super().set_params(**own)
        if others:
            self.settings = {**(self.settings or {}), **others}
        return self

    def fit(
        self,
        judgments: Any,
        *,
        anchors: Any = None,
        engine: Engine | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Choose, then fit the chosen model to all judgments; the arguments are those of every model."""
        began = time.perf_counter()
        table = read(judgments)
        known = None if anchors is None else Anchors.read(anchors)
        choice = self._choice(table, known, engine)
        fitted = choice.chosen.fit(table, anchors=known, engine=engine, progress=progress)
        found = fitted.result_.with_details(Note("auto", choice.why), auto=choice.details())
        self._result = found.with_seconds(fit=time.perf_counter() - began)
        return self

    def _choice(self, table: AnyJudgments, anchors: Anchors | None, engine: Engine | str | None) -> _Choice:
        names = CANDIDATES[table.kind]
        able, _ = runnable(names, table)
        every = registry.make_all(names, {"seed": self.seed, **(self.settings or {})})
        models = {name: every[name] for name in able}
        default = models[able[-1]]
        if len(able) == 1:
            return _Choice(default, f"auto took {default.name}: no other candidate can run without workers.")
        most, seed = whole("sample", self.sample), whole("seed", self.seed)
        if isinstance(table, Pairs | SpooledPairs):
            part: Pairs | Rankings | Ratings = sampled(table, most, seed).compact()
            votes = part.rows
        else:
            votes = count_pairs(table)
            share = SPARE * most / max(votes, 1)  # pairs of a list hang together: more of them tell as much
            part = table if share >= 1 else fewer(table, share, seed).compact()
        if votes < FEW:
            return _Choice(default, f"auto took {default.name}: with {votes} votes nothing can be held out.")
        try:
            dealt = split(part, whole("folds", self.folds), seed, "keep", most)
        except InputError as error:
            return _Choice(default, f"auto took {default.name}: nothing could be held out. {error.message}")
        return self._best(models, dealt, anchors, engine)

    def _best(
        self, models: Mapping[str, Model], dealt: Split, anchors: Anchors | None, engine: Engine | str | None
    ) -> _Choice:
        here = engine if isinstance(engine, LocalEngine) else None  # a sample is not worth a cluster
        default = list(models.values())[-1]
        found = scored([attempt(model, dealt, anchors=anchors, engine=here) for model in models.values()], dealt)
        if found.best is None:
            return _Choice(
                default, f"auto took {default.name}: no candidate could be fitted to a part of the votes."
            )
        return _Choice(models[found.best.model], _sentence(found), found)


def _sentence(found: Comparison) -> str:
    """Which model was chosen and by which figures."""
    best, *others = (row for row in found.rows if row.log_loss is not None)
    told = ", ".join(f"{row.model} {row.log_loss:.4f}" for row in others)
    against = f" (against {told})" if told else ""
    return (
        f"auto chose {best.model}: its log loss on held-out votes is the smallest, {best.log_loss:.4f}{against}, "
        f"over {found.votes} votes in {found.folds} folds."
    )
