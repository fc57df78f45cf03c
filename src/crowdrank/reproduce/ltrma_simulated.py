"""LTRMA's methods on draws of a simulated corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from crowdrank.data import read_features, read_gold
from crowdrank.rankers.labeled import label_documents
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.ltrma_methods import (
    HALF_RANGE,
    Corpus,
    Method,
    available,
    choose_lists,
    run,
    with_settings,
)
from crowdrank.reproduce.summaries import draws
from crowdrank.simulate import simulate

MEASURES = ("nDCG(gain=linear)@3", "nDCG(gain=linear)@5", "nDCG@3", "nDCG@5", "tau")
ERRORS = "An error is the standard error of the mean over the corpora."
ALIKE = "All methods standardize each feature over all training documents (standardize=all)."
KNOWN_LISTS = "LTRMA-S1 knows the true order of a quarter of the training lists; the crowd's lists are kept."
KNOWN_WORKERS = (
    f"LTRMA-S2 knows theta of the most expert annotator up to {HALF_RANGE:g} (the paper does not give its range). "
    "LTRMA-S3 knows that this annotator is at least as expert as all others."
)


@lru_cache(maxsize=1)
def draw_corpus(preset: str, seed: int, options: tuple[tuple[str, Any], ...]) -> Corpus:
    """The corpus of a preset: training lists with judgments, and test lists."""
    crowd = simulate(preset, seed=seed, **dict(options))
    assert crowd.features is not None
    assert crowd.queries is not None
    gold = crowd.gold.rename({"grade": "label"})
    parts = {
        part: [own.join(chosen, on="query", how="semi", maintain_order="left") for own in (crowd.features, gold)]
        for part in ("train", "test")
        for chosen in [crowd.queries.filter(part=part)]
    }
    features, labels = parts["train"]
    return Corpus(
        features=read_features(features),
        judgments=crowd.judgments,
        gold=labels,
        test=label_documents(read_features(parts["test"][0]), read_gold(parts["test"][1])),
        workers=crowd.workers,
        true=choose_lists(labels["query"], seed),
        unranked="below" if dict(options).get("top") or preset == "ltrma-long" else None,
    )


@dataclass(frozen=True, eq=False)
class Experiment:
    """Methods on several draws of a preset.

    ``settings``: the options of the preset for each group of rows.
    """

    preset: str
    methods: Sequence[Method]
    settings: Sequence[dict[str, Any]]
    seeds: int
    ledger: Ledger
    measures: tuple[str, ...] = MEASURES
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        preset: str,
        methods: Sequence[Method],
        settings: Sequence[dict[str, Any]],
        seeds: int,
        ledger: Ledger,
        *,
        measures: tuple[str, ...] = MEASURES,
        k: int | None = None,
    ) -> Experiment:
        """The experiment with all of its cells computed. Rankers that are not registered are left out."""
        known, remarks = available(methods)
        own = cls(preset, with_settings(known, k=k, standardize="all"), settings, seeds, ledger, measures, remarks)
        keys = [own.key(at, seed, method) for at in settings for seed in draws(seeds) for method in own.methods]
        ledger.fill(keys, own.compute)
        return own

    def key(self, setting: dict[str, Any], seed: int, method: Method) -> Key:
        """The key of a cell."""
        return {"experiment": self.preset, **setting, "seed": seed, "method": method.name}

    def compute(self, key: Key) -> dict[str, Any]:
        """What a method reaches on a draw."""
        options = {name: own for name, own in key.items() if name not in ("experiment", "seed", "method")}
        corpus = draw_corpus(self.preset, key["seed"], tuple(sorted(options.items())))
        method = next(own for own in self.methods if own.name == key["method"])
        return run(method, corpus, self.measures, seed=key["seed"])

    def values(self, setting: dict[str, Any], method: Method, name: str) -> list[Any]:
        """A value of each draw; None if the method does not have it."""
        return [self.ledger[self.key(setting, seed, method)].get(name) for seed in draws(self.seeds)]

    def method(self, like: Method) -> Method | None:
        """The method of this name, if its ranker is registered."""
        return next((own for own in self.methods if own.name == like.name), None)
