"""Ways of asking side by side: each selector replayed over several seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Scored, judged_grades, note_not_judged, note_totals, read_gold
from crowdrank.errors import InputError, Note, Remedy, UsageError, count_noun, name_hint
from crowdrank.models.pairs.online_crowd_bt import OnlineCrowdBT
from crowdrank.models.parameters import number, whole
from crowdrank.progress import Status, announce, watching
from crowdrank.results import QUALITY, Z
from crowdrank.results.overview import HasOverview, Interval, Overview
from crowdrank.select.field import Field
from crowdrank.select.loop import Loop
from crowdrank.select.policy import SELECTORS, Policy
from crowdrank.select.recorded import Recorded
from crowdrank.select.replay import Curve, Plan, Truth, mean_curve, replay_recorded, replay_simulated
from crowdrank.select.rules import codes_of
from crowdrank.simulate.respondents import Respondents

LEVELS = (0.90, 0.95, 0.98)
USUAL = ("random", "even", "gain")
"""The selectors that are replayed unless others are named."""
CROWD_SETTINGS = ("items", "workers", "spread", "alpha", "beta")
MODEL_SETTINGS = ("variance", "prior", "rule", "link")
RANKS = ("means", "refit")
WHO = ("arrives", "best")
LOOKS = 40
"""About how often the ranking is looked at, unless ``look`` says how often."""
_NO_GOLD = dict.fromkeys(("gold_first", "gold_among", "gold_share"), "a replay asks no gold pairs")
_NOT_SIMULATED = _NO_GOLD | dict.fromkeys(("differ", "same", "own"), "simulated items have no attributes")
_RECORDED = "recorded votes are taken from the file, each at most once, whatever pair and judge they are of"
_NOT_RECORDED = _NO_GOLD | dict.fromkeys(
    ("pair_cap", "item_cap", "judge_share", "rest", "floor", "repeats", "differ", "same", "own", "pending", "top"),
    _RECORDED,
)
"""Settings without an effect on a replay, and why."""


@dataclass(frozen=True, eq=False)
class SelectorRun:
    """One selector: its curves over the seeds, and the accuracy that counts as 1 (``reach``).

    >>> import crowdrank as cr
    >>> crowd = {"items": 8, "workers": 4}
    >>> study = cr.replay(simulate="beta-5-1", budget=60, selects=["even"], seeds=2, settings=crowd)
    >>> run = study.runs[0]
    >>> votes, share = run.votes_to(0.7)  # the mean number of votes, and the share of seeds that got there
    >>> run.select, votes < 60, share
    ('even', True, 1.0)
    """

    select: str
    curves: tuple[Curve, ...]
    reach: float

    def votes_to(self, level: float) -> tuple[float | None, float]:
        """The mean number of votes to a level times the reach, None if some seed missed it; and who reached it."""
        first = np.array([curve.first(level * self.reach) for curve in self.curves])
        reached = np.isfinite(first)
        return float(first.mean()) if reached.all() else None, float(reached.mean())

    def as_dict(self) -> dict[str, Any]:
        """The figures of this selector, as plain data."""
        votes, accuracy, error, predicted = mean_curve(self.curves)
        to = {f"{level:.2f}": self.votes_to(level) for level in LEVELS}
        return {
            "select": self.select,
            "votes": votes.tolist(),
            "accuracy": [round(value, 6) for value in accuracy.tolist()],
            "accuracy_se": None if len(self.curves) < 2 else [round(value, 6) for value in error.tolist()],
            "predicted": [round(value, 6) for value in predicted.tolist()],
            "to": {level: None if mean is None else round(mean, 1) for level, (mean, _) in to.items()},
            "reached": {level: share for level, (_, share) in to.items()},
            "enough_at": None,
            "enough_share": None,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Study(HasOverview):
    """Selectors side by side, in the order in which they were named.

    ``source``: what was replayed. ``reach``: the accuracy of a fit to all recorded votes, or 1 for a simulated
    crowd; ``to`` counts the votes to a share of it. ``settings``: everything else that was set.

    >>> import crowdrank as cr
    >>> crowd = {"items": 10, "workers": 5}
    >>> study = cr.replay(simulate="beta-5-1", budget=100, selects=["random", "gain"], seeds=2, settings=crowd)
    >>> chance, gain = (run["accuracy"][-1] for run in study.as_dict()["selectors"])
    >>> gain > chance
    True
    """

    runs: tuple[SelectorRun, ...]
    source: str
    reach: float
    budget: int
    seeds: int
    rank: str
    settings: Mapping[str, Any]
    notes: tuple[Note, ...] = ()

    def overview(self) -> Overview:
        """The accuracy of each selector at the end, and the mean number of votes that it needs to each level."""
        rows = []
        for run in self.runs:
            _, accuracy, error, _ = mean_curve(run.curves)
            last, spread = float(accuracy[-1]), Z * float(error[-1]) if len(run.curves) > 1 else 0.0
            to = {f"votes to {level:.2f}": run.votes_to(level)[0] for level in LEVELS}
            rows.append(
                {"select": run.select, **to, "accuracy": last, "low": last - spread, "high": last + spread}
            )
        seeds = f"{count_noun(self.budget, 'vote')}, {count_noun(self.seeds, 'seed')}"
        notes = [note.wording() for note in self.notes]
        types = {f"votes to {level:.2f}": pl.Float64 for level in LEVELS}
        table = pl.DataFrame(rows, schema_overrides=types)
        return Overview(f"Replay of {self.source}", [seeds], table, Interval("accuracy"), notes)

    def as_dict(self) -> dict[str, Any]:
        """All figures, as plain data."""
        return {
            "source": self.source,
            "reach": round(self.reach, 6),
            "budget": self.budget,
            "seeds": self.seeds,
            "rank": self.rank,
            "settings": dict(self.settings),
            "selectors": [run.as_dict() for run in self.runs],
        }


def replay(
    judgments: Any = None, *, gold: Any = None, simulate: str | None = None, budget: int = 1000,
    selects: Sequence[str] = USUAL, seeds: int = 10, first_seed: int = 0, look: int | None = None,
    rank: str = "means", refit: int | None = None, who: str = "arrives", flight: int = 1,
    settings: Mapping[str, Any] | None = None, progress: Status | None = None,
) -> Study:  # fmt: skip
    """What each way of asking would have needed.

    ``judgments`` and ``gold``: recorded votes, from which questions are chosen, and the truth (grades in a file, a
    frame or a ``Scored``); or ``simulate``: a crowd of ``simulate.respondents``. Each of ``selects`` is replayed
    with ``seeds`` seeds, ``budget`` votes each. ``rank``: ``"means"`` or ``"refit"``; ``refit``: after how many
    votes a batch fit takes over (None: never). ``who``: in a simulated crowd, judges arrive at random or the best
    one is asked; ``flight`` questions are open at once. ``settings``: of the policy, of online-crowd-bt (variance,
    prior, rule, link), and of the crowd (items, workers, spread, alpha, beta).

    >>> import crowdrank as cr
    >>> votes = [("ann", "a", "b"), ("bob", "b", "c"), ("ann", "a", "c"), ("bob", "a", "b"), ("ann", "c", "b")]
    >>> gold = {"item": [*"abc"], "grade": [2, 1, 0]}
    >>> study = cr.replay(votes, gold=gold, budget=3, selects=["even"], seeds=1)
    >>> study.as_dict()["selectors"][0]["accuracy"]  # after each vote
    [0.666667, 1.0, 1.0]
    """
    plan = _plan(budget, look, rank, refit)
    about_gold, about_votes = list[Note](), tuple[Note, ...]()
    seeds = whole("seeds", seeds, low=1)
    if who not in WHO:
        raise UsageError(f"The parameter 'who' must be one of {', '.join(WHO)}. Got {who!r}.")
    flight, first_seed = whole("flight", flight, low=1), whole("seed", first_seed)
    if len(set(selects)) < len(selects):
        raise UsageError(f"Each selector can be named once. Got {', '.join(selects)}.")
    if simulate is None and (who != "arrives" or flight > 1):
        raise UsageError("'who' and 'flight' are for simulated crowds: recorded votes have their judges.")
    if simulate is not None and gold is not None:
        raise UsageError("A simulated crowd has a truth of its own, so no gold is needed.", hint="Leave it out.")
    policy, own, crowd = _split(settings or {}, _NOT_SIMULATED if judgments is None else _NOT_RECORDED)
    policies = [Policy.of(name, policy) for name in selects]
    model = OnlineCrowdBT(**{"prior": QUALITY, **own})
    if simulate is not None:
        if judgments is not None:
            raise UsageError("Either recorded votes or a simulated crowd can be replayed, not both.")
        if simulate != "beta-5-1" and {"alpha", "beta"} & crowd.keys():
            raise UsageError("'alpha' and 'beta' are settings of the crowd beta-5-1 only.")
        Respondents.make(simulate, **crowd)  # a wrong name or setting fails first
        reach, source = 1.0, f"the simulated crowd {simulate}"

        def one(chosen: Policy, seed: int) -> Curve:
            people = Respondents.make(simulate, seed=seed, **crowd)
            return replay_simulated(people, chosen, plan, seed=seed, who=who, flight=flight, model=model)
    else:
        if judgments is None or gold is None:
            raise UsageError(
                "A replay needs recorded votes and gold, or a simulated crowd.",
                hint=("Give judgments and ", Remedy("gold", "FILE"), ", or a crowd: ", Remedy("simulate", "bt")),
            )
        if crowd:
            raise UsageError(f"{next(iter(crowd))!r} is a setting of simulated crowds; these votes are recorded.")
        grades = gold if isinstance(gold, Scored) else read_gold(gold)
        about_gold = [note for note in (note_not_judged(grades), note_totals(grades)) if note is not None]
        votes, truth, about_votes = _recorded(judgments, grades)
        plan = _plan(min(budget, len(votes.left)), look, rank, refit)
        reach, source = _reach(votes, truth), f"{len(votes.left):,} recorded votes"

        def one(chosen: Policy, seed: int) -> Curve:
            return replay_recorded(votes, truth, chosen, plan, seed=seed, model=model)

    runs = []
    for turn, chosen in enumerate(policies):
        curves = []
        for place in range(seeds):
            with watching(progress):
                announce(
                    f"{chosen.select}: seed {place + 1} of {seeds}", turn * seeds + place, len(policies) * seeds
                )
            curves.append(one(chosen, first_seed + place))
        runs.append(SelectorRun(chosen.select, tuple(curves), reach))
    notes = (*about_votes, *about_gold, *_notes(budget, plan.budget, runs))
    said = {"first_seed": first_seed, "look": plan.look, "refit": refit, "who": who, "flight": flight}
    return Study(tuple(runs), source, reach, plan.budget, seeds, rank, {**said, **(settings or {})}, notes)


def _plan(budget: int, look: int | None, rank: str, refit: int | None) -> Plan:
    budget = whole("budget", budget, low=1)
    if rank not in RANKS:
        raise UsageError(f"The parameter 'rank' must be one of {', '.join(RANKS)}. Got {rank!r}.")
    every = max(budget // LOOKS, 1) if look is None else whole("look", look, low=1)
    return Plan(budget, every, rank, None if refit is None else whole("refit", refit, low=1))


def _split(
    settings: Mapping[str, Any], without: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Settings of the policy, of the model and of the crowd. ``without``: those that have no effect, and why."""
    own = {field.name for field in fields(Policy)} - {"select", *without}
    known = (*sorted(own), *MODEL_SETTINGS, *CROWD_SETTINGS)
    for name, value in settings.items():
        if name in without:
            raise UsageError(f"The setting {name!r} has no effect here: {without[name]}.")
        if name == "gamma" and value == "gold":
            raise UsageError(
                "A replay cannot choose gamma by gold pairs: the gold is what its ranking is judged by.",
                hint="Give gamma as a number, or as halved or auto.",
            )
        if name not in known:
            raise UsageError(f"A replay has no setting {name!r}.", hint=name_hint(name, known, "The settings are"))
    groups = (own, MODEL_SETTINGS, CROWD_SETTINGS)
    policy, model, crowd = ({name: settings[name] for name in settings if name in group} for group in groups)
    for name, value in crowd.items():
        crowd[name] = whole(name, value, low=1) if name in ("items", "workers") else number(name, value, low=0.0)
    return policy, model, crowd


def _recorded(judgments: Any, gold: Scored) -> tuple[Recorded, Truth, tuple[Note, ...]]:
    """The votes by codes, the true values of their items, and notes on the votes."""
    field = Field.of(judgments, None, None)
    votes = field.coded_votes()
    if field.table is not None and field.table.index.workers is None:
        votes = votes._replace(judge=np.zeros(len(votes.left), np.int64), judges=1)
    nodes = pl.DataFrame({"query": field.query, "item": field.item})
    own = gold.frame.select("query", "item", "value").filter(judged_grades(gold.frame["value"]))
    keys = ["item"] if own["query"].null_count() == len(own) else ["query", "item"]
    if keys == ["query", "item"] and field.query.null_count():
        raise InputError("The gold names queries, but the votes have no query column.")
    values = nodes.join(own.select(*keys, "value"), on=keys, how="left", nulls_equal=True, maintain_order="left")
    truth = values["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    group = None if field.query.null_count() else codes_of(field.query.to_list())
    found = Truth(truth, group)
    if not math.isfinite(found.accuracy(np.zeros(len(truth)))):
        raise InputError("The gold orders no two items of these votes.")
    return votes, found, () if field.table is None else field.table.notes


def _reach(votes: Recorded, truth: Truth) -> float:
    """The accuracy of a batch fit to all votes."""
    loop = Loop(votes.items, votes.judges, Policy(select="random"), votes=votes, ties=votes.ties)
    return truth.accuracy(loop.place(loop.fit_batch())[0])


def _notes(asked: int, used: int, runs: Sequence[SelectorRun]) -> list[Note]:
    notes = []
    if used < asked:
        votes = count_noun(used, "recorded vote")
        message = f"The budget was {asked}, but there {'is' if used == 1 else 'are'} only {votes}."
        notes.append(Note("fewer-votes", message))
    for run in runs:
        least = min(int(curve.votes[-1]) for curve in run.curves)
        if least < used:
            after = f"after {count_noun(least, 'vote')}"
            message = f"{run.select} had no question left {after}: caps and the floor allow no other."
            notes.append(Note("fewer-questions", message))
    return notes


__all__ = ["SELECTORS", "SelectorRun", "Study", "replay"]
