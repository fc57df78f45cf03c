"""auto: the candidate that predicts held-out votes best, fitted to all votes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from crowdrank.compare.comparison import attempt, runnable, score_trials
from crowdrank.compare.figures import Comparison, Row
from crowdrank.compare.folds import sample_votes
from crowdrank.compare.split import Split, sample_queries, split
from crowdrank.data import (
    Anchors,
    Pairs,
    Rankings,
    Ratings,
    SpooledPairs,
    SpooledRankings,
    SpooledRatings,
    count_pairs,
    read,
)
from crowdrank.engine import Engine, LocalEngine
from crowdrank.errors import InputError, Note, UsageError, count_noun, nearest
from crowdrank.models import registry
from crowdrank.models.base import Model
from crowdrank.models.parameters import whole
from crowdrank.progress import Progress, announce, part

CANDIDATES: dict[str, tuple[str, ...]] = {
    "pairs": ("bt", "crowd-bt", "variance-bt", "tpp-unidom", "judge-bt"),
    "rankings": ("bt", "mallows", "judge-bt", "plackett-luce"),
    "ratings": ("average", "ordinal", "dawid-skene"),
}
"""The candidates for each kind of judgments."""
USUAL = {"pairs": "bt", "rankings": "plackett-luce", "ratings": "dawid-skene"}
"""What is used if nothing can be held out: few votes cannot tell a side bias from a better item."""
CHALLENGERS = frozenset({"tpp-unidom"})
"""Candidates that are chosen only if they predict better than all others beyond the noise.

`tpp-unidom` takes the votes of a worker on an item for dependent, so its intervals are far wider.
"""
SPARE = 10
"""For lists and labels, the choice uses this many times ``sample`` pairs."""
FEW = 20
"""With fewer votes than this, nothing is held out."""


@dataclass(frozen=True)
class _Choice:
    """The chosen model, the reason as a sentence, and the comparison, if there was one."""

    chosen: Model
    why: str
    found: Comparison | None = None

    def details(self) -> dict[str, Any]:
        """The choice as fit.json shows it."""
        figures = {} if self.found is None else self.found.as_dict()
        return {
            "chosen": self.chosen.name,
            "candidates": figures.get("models", []),
            **{name: figures.get(name) for name in ("folds", "votes", "ties")},
        }


class Auto(Model):
    """The candidate with the smallest log loss on held-out votes, fitted to all votes. `tpp-unidom` must be ahead
    of all others beyond the noise.

        log loss = - sum_v w_v ln P(outcome of v) / sum_v w_v,    v the held-out votes, w their weights

    Votes are dealt into ``folds``. Every candidate that can run predicts each fold after a fit to the other
    folds. ``sample``: about this many votes, chosen by a hash of their ids, are used for the choice.
    ``settings``: parameters of the candidates; each one goes to the candidates that have it, and
    ``set_params`` takes them by name. With fewer than 20 votes, or with one candidate, there is no choice, and
    a note says so. ``fit_`` is that of the chosen model, with the figures in ``details["auto"]``. The folds
    depend on the ids, so if two candidates are close, other ids may change the choice.

    >>> import crowdrank as cr
    >>> pairs = ["ab", "ac", "ad", "bc", "bd", "cd"]
    >>> votes = [(w, *p) for w in ("ann", "bob", "joe") for p in pairs] + [("eve", j, i) for i, j in pairs]
    >>> model = cr.Auto(folds=2).fit(votes)
    >>> model.fit_.model, len(model.fit_.details["auto"]["candidates"])
    ('judge-bt', 5)
    """

    settings: Mapping[str, Any] | None

    name = "auto"

    def __init__(
        self,
        *,
        folds: int = 5,
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
        """Set its own parameters or those of its candidates; an unknown name is an error that lists the names."""
        own = {name: value for name, value in params.items() if name in self.parameters()}
        others = {name: value for name, value in params.items() if name not in own}
        if unknown := sorted(set(others) - self.settable()):
            raise UsageError(f"auto has no parameter {unknown[0]!r}.", hint=self._name_hint(unknown[0]))
        super().set_params(**own)
        if others:
            self.settings = {**(self.settings or {}), **others}
        return self

    def _name_hint(self, given: str) -> str:
        """The nearest parameter. All those of the candidates would be too many to read."""
        close = nearest(given, self.settable())
        meant = f"Did you mean {close!r}? " if close else ""
        return f"{meant}Its own are {', '.join(self.parameters())}; it also takes those of its candidates."

    def fit(
        self,
        judgments: Any,
        *,
        anchors: Any = None,
        engine: Engine | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Choose, then fit the chosen model to all judgments. The arguments are the same as for every model."""
        began = time.perf_counter()
        table = read(judgments)
        if isinstance(table, SpooledRatings | SpooledRankings):  # what is held out is chosen among all rows
            table = table.load()
        known = None if anchors is None else Anchors.read(anchors)
        choice = self._choice(table, known, engine, progress)
        tried = 0 if choice.found is None else len(choice.found.rows)
        announce(f"{choice.chosen.name}: all judgments", tried, tried + 1 if tried else None)
        fitted = choice.chosen.fit(table, anchors=known, engine=engine, progress=progress)
        found = fitted.result_.with_details(Note("auto", choice.why), auto=choice.details())
        self._result = found.with_seconds(fit=time.perf_counter() - began)
        return self

    def _choice(
        self,
        table: Pairs | SpooledPairs | Ratings | Rankings,
        anchors: Anchors | None,
        engine: Engine | str | None,
        progress: Progress | None,
    ) -> _Choice:
        if not isinstance(self.settings, Mapping | None):
            raise UsageError(f"The parameter 'settings' must map names to values. Got {self.settings!r}.")
        names = CANDIDATES[table.kind]
        every = registry.make_all(names, {"seed": self.seed, **(self.settings or {})})
        able, _ = runnable(every, table)
        models = {name: every[name] for name in able}
        default = models[USUAL[table.kind] if USUAL[table.kind] in able else able[-1]]
        if len(able) == 1:
            return _Choice(default, f"auto took {default.name}: no other candidate can run without workers.")
        most, seed = whole("sample", self.sample), whole("seed", self.seed)
        if isinstance(table, Pairs | SpooledPairs):
            part: Pairs | Rankings | Ratings = sample_votes(table, most, seed).compact()
            votes, every_vote = part.rows, table.rows
        else:
            votes = every_vote = count_pairs(table)
            share = SPARE * most / max(votes, 1)  # pairs of one list are dependent, so more of them are needed
            part = table if share >= 1 else sample_queries(table, share, seed).compact()
        if votes < FEW:
            return _Choice(
                default, f"auto took {default.name}: with {count_noun(votes, 'vote')} nothing can be held out."
            )
        try:
            dealt = split(part, whole("folds", self.folds), seed, "keep", most)
        except InputError as error:
            return _Choice(default, f"auto took {default.name}: nothing could be held out. {error.message}")
        limit = f" chosen from {every_vote:,} by a hash" if dealt.asked.rows < every_vote else ""
        return self._best(models, default, dealt, limit, anchors=anchors, engine=engine, progress=progress)

    def _best(
        self,
        models: Mapping[str, Model],
        default: Model,
        dealt: Split,
        limit: str,
        *,
        engine: Engine | str | None,
        **options: Any,
    ) -> _Choice:
        here = engine if isinstance(engine, LocalEngine) else None  # a sample is not worth a cluster
        trials = []
        for number, model in enumerate(models.values()):
            with part(number, number + 1, len(models) + 1):  # the last one is the fit to all votes
                trials.append(attempt(model, dealt, engine=here, **options))
        found = score_trials(trials, dealt)
        if found.best is None:
            return _Choice(
                default, f"auto took {default.name}: no candidate could be fitted to a part of the votes."
            )
        chosen = _prefer(found)
        return _Choice(models[chosen.model], _sentence(found, chosen, limit), found)


def _prefer(found: Comparison) -> Row:
    """The row with the smallest log loss; not a challenger that another one ties with."""
    usual = [row for row in found.rows if row.log_loss is not None and row.model not in CHALLENGERS]
    assert found.best is not None
    if found.best.model not in CHALLENGERS or not usual or not usual[0].tied_with_best:
        return found.best
    return usual[0]


def _sentence(found: Comparison, chosen: Row, limit: str) -> str:
    """A sentence that names the chosen model and the figures behind the choice."""
    listed = ", ".join(
        f"{row.model} {row.log_loss:.4f}" for row in found.rows if row.log_loss is not None and row is not chosen
    )
    against = f" (against {listed})" if listed else ""
    why = "is the smallest" if chosen is found.best else "is as good as any, within the noise"
    return (
        f"auto chose {chosen.model}: its log loss on held-out votes {why}, {chosen.log_loss:.4f}{against}, "
        f"over {found.votes:,} votes{limit} in {found.folds} folds."
    )
