"""Simulations by name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crowdrank.errors import UsageError, name_hint
from crowdrank.simulate.crowd import Crowd
from crowdrank.simulate.labels import label_crowd
from crowdrank.simulate.letor import letor_crowd
from crowdrank.simulate.lists import ltrma_crowd, mixed_crowd, weighted_crowd
from crowdrank.simulate.pairs import bt_crowd, flip_crowd, judge_crowd
from crowdrank.simulate.respondents import asked_crowd
from crowdrank.simulate.search import search_crowd
from crowdrank.simulate.tpp import tpp_crowd


@dataclass(frozen=True)
class Preset:
    """A generator with settings of its own."""

    name: str
    make: Callable[..., Crowd]
    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def defaults(self) -> dict[str, Any]:
        """Every setting, with its value in this preset."""
        own = {name: p.default for name, p in inspect.signature(self.make).parameters.items() if name != "seed"}
        return {**own, **self.settings}


EXTREMES = "0,0.5,0.75,1"
VIRTUAL: dict[str, float] = {"workers": 0, "labels": 1, "spammers": 0.0, "honeypots": 0}

PRESETS = {
    preset.name: preset
    for preset in (
        Preset("bt-crowd", bt_crowd, "votes drawn from Crowd-BT itself, some workers spammers"),
        Preset("judge-crowd", judge_crowd, "votes drawn from judge-bt itself, with position bias and ties"),
        Preset(
            "crowd-bt-quality", flip_crowd, "Crowd-BT section 5.1.1: 400 pairs x 10 workers, 5 gold pairs",
            {"gold_pairs": 5},
        ),
        Preset(
            "crowd-bt-active", flip_crowd, "Crowd-BT section 5.1.2: one label per pair, quality Beta(2, 1)",
            {"pairs": 4000, "labels": 1},
        ),
        Preset(
            "crowd-bt-regularization", flip_crowd, "Crowd-BT section 5.1.3: n pairs x 4000/n workers",
            {"pairs": 200, "labels": 20},
        ),
        Preset("bt", asked_crowd, "votes as in Bradley-Terry, judges all alike", {"kind": "bt"}),
        Preset("beta-5-1", asked_crowd, "errors at any distance, quality Beta(5, 1)", {"kind": "beta-5-1"}),
        Preset("spammers", asked_crowd, "as bt, three judges in ten toss a coin", {"kind": "spammers"}),
        Preset("distance-free", asked_crowd, "one error in five, at any distance", {"kind": "distance-free"}),
        Preset("position", asked_crowd, "as bt, but judges favor the left", {"kind": "position"}),
        Preset("drift", asked_crowd, "as bt, but judges get worse as they answer", {"kind": "drift"}),
        Preset("coin", asked_crowd, "coin tosses: there is nothing to learn", {"kind": "coin"}),
        Preset("tpp", tpp_crowd, "TPP section V-A as its authors ran it: workers with skills by domain"),
        Preset(
            "tpp-text", tpp_crowd, "TPP section V-A as printed: scores on [0, 1], spammers with tau 1",
            {"scores": "uniform", "spammer": 1.0},
        ),
        Preset("search", search_crowd, "documents with features and grades, labeled relevant or not by a crowd"),
        Preset("remap-real", label_crowd, "a crowd of unequal rigor, 30 % of it spammers, and experts' grades"),
        Preset(
            "remap-both", label_crowd, "as remap-real, but without spammers, and with quality 0, .5, .75 or 1",
            {"qualities": EXTREMES, "spammers": 0.0},
        ),
        Preset(
            "remap-heur40", label_crowd, "as remap-real, but 40 % of the workers follow one misleading feature",
            {"cued": 0.4},
        ),
        Preset(
            "remap-rigor", label_crowd, "Ustinovskiy et al., experiment 1: a worker per document, rigor 0 to 3",
            {**VIRTUAL, "qualities": "1"},
        ),
        Preset(
            "remap-quality", label_crowd, "Ustinovskiy et al., experiment 2: a worker per document, one rigor",
            {**VIRTUAL, "qualities": EXTREMES, "rigors": "middle"},
        ),
        Preset("ltrma-paper", ltrma_crowd, "LTRMA section 6.1.1: annotators rank lists of 15 documents"),
        Preset("ltrma-h7", weighted_crowd, "three poor annotators, one of them malicious, rank 50 lists"),
        Preset("ltrma-h5", mixed_crowd, "experts, spammers and malicious annotators, one label per list"),
        Preset(
            "ltrma-long", weighted_crowd, "eight annotators give the top 10 of 500 documents",
            {"lists": 60, "test": 60, "documents": 500, "top": 10, "thetas": "0.5,0.3,0.2,0.1,0.05,0.02,0,-0.02"},
        ),
        Preset("ltrma-letor", letor_crowd, "annotators rank the documents of a file of features with labels"),
    )
}  # fmt: skip


def find_preset(name: str) -> Preset:
    """The preset with this name; an unknown name is an error that lists the names."""
    if name not in PRESETS:
        raise UsageError(f"There is no preset {name!r}.", hint=name_hint(name, PRESETS, "The presets are"))
    return PRESETS[name]


def simulate(name: str, *, seed: int = 0, **settings: Any) -> Crowd:
    """A crowd from the preset with this name; ``settings`` override the preset's own."""
    preset = find_preset(name)
    known = preset.defaults()
    if seed < 0:
        raise UsageError(f"The seed must be a whole number of at least 0. Got {seed}.")
    for setting, value in settings.items():
        if setting not in known:
            raise UsageError(
                f"{name} has no setting {setting!r}.", hint=name_hint(setting, known, "Its settings are")
            )
        settings[setting] = _value(name, setting, value, known[setting])
    return preset.make(seed=seed, **{**preset.settings, **settings})


def _value(name: str, setting: str, value: Any, like: float | str) -> float | str:
    """A setting of the same type as its default: text, or a number of at least 0, whole if the default is."""
    if isinstance(like, str):
        return str(value)
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < 0 or (isinstance(like, int) and value != int(value)):
        kind = "whole number" if isinstance(like, int) else "number"
        raise UsageError(f"{name}: {setting!r} must be a {kind} of at least 0, like {like}. Got {value!r}.")
    return type(like)(value)
