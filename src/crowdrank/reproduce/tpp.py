"""Tables II and III of Wang et al., Blind Men and The Elephant: Thurstonian Pairwise Preference for Ranking in
Crowdsourcing, on the crowds that its section V-A simulates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from crowdrank.kernels.kendall import distances
from crowdrank.models.base import Model
from crowdrank.models.registry import make
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import NONE, Number, differences, draws, mean_and_error
from crowdrank.results import Ranking
from crowdrank.simulate import Crowd, simulate


@dataclass(frozen=True)
class Setting:
    """One of the paper's simulated data sets."""

    documents: int = 30
    sparsity: float = 0.1
    demographic: int = 1
    workers: int = 10
    domains: int = 10
    queries: int = 100

    @property
    def name(self) -> str:
        """The name in the paper."""
        crowd = "" if self.workers == 10 else f"ANNO{self.workers} "
        return f"{crowd}DOC{self.documents} SR{self.sparsity:g} DEMO{self.demographic}"

    def draw(self, seed: int, preset: str = "tpp") -> Crowd:
        """A simulated crowd with this setting."""
        return simulate(preset, seed=seed, **vars(self))


@dataclass(frozen=True)
class Method:
    """A row of table II: a model with its parameters, and the column of the paper's figure (-1 if it has none).

    ``told``: the model gets the number of the domains, or ``"domains"`` themselves, or nothing.
    """

    name: str
    model: str
    column: int = -1
    parameters: dict[str, Any] = field(default_factory=dict)
    told: str = "number"

    def make(self, setting: Setting, crowd: Crowd, seed: int) -> Model:
        """The model for a draw of a setting."""
        own = dict(self.parameters)
        if self.told == "number":
            own["domains"] = setting.domains
        elif self.told == "domains":
            assert crowd.queries is not None
            own["domains"] = dict(crowd.queries.select("query", "domain").iter_rows())
        if own.get("inference") == "gibbs":
            own["seed"] = seed
        return make(self.model, own)


_GIBBS, _PRINTED = {"inference": "gibbs"}, {"inference": "gibbs", "sampler": "printed"}
TPP = Method("TPP", "tpp", 0)
ORACLE = Method("TPP, domains known", "tpp", told="domains")
METHODS = (
    TPP,
    Method("TPPUniDom", "tpp-unidom", 1, told="nothing"),
    Method("TPPUniExp", "tpp-uniexp", 2),
    Method("TPPUniDiff", "tpp-unidiff", 3),
    Method("CrowdBT", "crowd-bt", 4, told="nothing"),
    ORACLE,
)
"""The first method of a table is the one that the others are compared with."""
COLLAPSED = tuple(
    Method(f"{own.name}, collapsed sampler", own.model, own.column, _GIBBS, own.told) for own in METHODS[:4]
)
INFERENCES = (TPP, COLLAPSED[0], Method("TPP, printed sampler", "tpp", 0, _PRINTED))
TABLE2 = {
    Setting(5, 1.0, 1): ((0.386, 0.031), (0.414, 0.037), (0.466, 0.023), (0.402, 0.046), (0.468, 0.047)),
    Setting(5, 0.5, 1): ((0.574, 0.067), (0.728, 0.066), (0.846, 0.080), (0.628, 0.069), (0.856, 0.028)),
    Setting(5, 0.5, 2): ((0.734, 0.021), (0.852, 0.033), (0.940, 0.037), (0.754, 0.047), (0.960, 0.041)),
    Setting(5, 0.5, 3): ((1.592, 0.237), (1.760, 0.077), (2.550, 0.029), (1.540, 0.288), (2.990, 0.060)),
    Setting(30, 0.1, 1): ((22.442, 1.238), (25.636, 0.302), (29.204, 0.291), (26.866, 0.456), (24.420, 0.906)),
    Setting(30, 0.05, 1): ((40.640, 0.926), (45.498, 0.408), (45.636, 0.178), (47.258, 0.959), (48.820, 2.161)),
    Setting(30, 0.05, 2): ((61.818, 2.713), (70.548, 0.821), (81.782, 0.145), (66.488, 2.026), (104.5, 2.469)),
    Setting(30, 0.05, 3): ((129.156, 1.892), (139.154, 0.243), (142.496, 0.587), (135.04, 1.864), (153.39, 1.031)),
}
TABLE3 = {
    Setting(sparsity=0.01, workers=100): (36.208, 0.292),
    Setting(sparsity=0.02, workers=100): (24.328, 0.451),
    Setting(sparsity=0.01, workers=200): (25.734, 0.394),
    Setting(sparsity=0.02, workers=200): (16.290, 0.435),
}
_ERRORS = "The error is the standard error of the mean over the draws; the paper's deviation is over its 5 runs."
_UPSIDE_DOWN = "Upside down: of 100 queries, those with more than half of their pairs in the wrong order."


def distance_to_truth(ranking: Ranking, crowd: Crowd) -> tuple[float, int]:
    """The mean distance from the true order over the queries, and how many queries are upside down.

    A query is upside down if more than half of its pairs are in the wrong order.
    """
    truth = crowd.gold.join(ranking.polars(), on=["query", "item"]).sort("query")
    sizes = truth.group_by("query", maintain_order=True).len()["len"].to_numpy().astype(np.int64)
    start = np.append(0, np.cumsum(sizes))
    apart = distances(-truth["score"].to_numpy(), -truth["grade"].to_numpy(), start)
    return float(apart.mean()), int((apart > sizes * (sizes - 1) / 4).sum())


class Comparison:
    """The distance of every method on every draw of every setting. A crowd is drawn once for all its methods."""

    methods: Sequence[Method]
    preset: str
    seeds: range
    ledger: Ledger

    def __init__(
        self,
        settings: Iterable[Setting],
        methods: Sequence[Method],
        seeds: int,
        ledger: Ledger | None = None,
        preset: str = "tpp",
    ) -> None:
        self.methods, self.preset, self.seeds = methods, preset, draws(seeds)
        self.ledger = Ledger("tpp") if ledger is None else ledger
        for setting, seed in product(settings, self.seeds):
            self._fill(setting, seed)

    def distances(self, setting: Setting, method: Method) -> list[float]:
        """The mean distance of each draw."""
        return [self.ledger[self._key(setting, method, seed)]["distance"] for seed in self.seeds]

    def upside_down(self, setting: Setting, method: Method) -> float:
        """The mean number of queries that are upside down."""
        counts = [self.ledger[self._key(setting, method, seed)]["upside_down"] for seed in self.seeds]
        return float(np.mean(counts))

    def row(self, setting: Setting, method: Method) -> tuple[Number, ...]:
        """The distance, its error, its paired difference from the first method, its error, and the queries that
        are upside down."""
        found, first = self.distances(setting, method), self.distances(setting, self.methods[0])
        paired = (NONE, NONE) if method is self.methods[0] else mean_and_error(differences(found, first))
        return (*mean_and_error(found), *paired, self.upside_down(setting, method))

    def _key(self, setting: Setting, method: Method, seed: int) -> Key:
        return {
            "experiment": "tpp", "preset": self.preset, **vars(setting), "seed": seed,
            "method": method.model, "told": method.told, **method.parameters,
        }  # fmt: skip

    def _fill(self, setting: Setting, seed: int) -> None:
        crowd: list[Crowd] = []

        def compute(key: Key) -> dict[str, Any]:
            if not crowd:
                crowd.append(setting.draw(seed, self.preset))
            method = next(own for own in self.methods if self._key(setting, own, seed) == key)
            model = method.make(setting, crowd[0], seed).fit(crowd[0].judgments)
            apart, upside_down = distance_to_truth(model.ranking_, crowd[0])
            return {"distance": apart, "upside_down": upside_down}

        self.ledger.fill([self._key(setting, method, seed) for method in self.methods], compute)


def table2(
    seeds: int,
    data: Path | None,
    *,
    ledger: Ledger | None = None,
    methods: Sequence[Method] = METHODS,
    preset: str = "tpp",
) -> PaperTable:
    """Table II, every method on the same draws."""
    found = Comparison(TABLE2, methods, seeds, ledger, preset)
    rows = [
        (setting.name, method.name, *found.row(setting, method), *(*printed, (NONE, NONE))[method.column])
        for setting, printed in TABLE2.items()
        for method in methods
    ]
    first = methods[0].name
    columns = (
        "data", "method", "ours", "error", f"less {first}", "its error", "upside down", "print", "its deviation",
    )  # fmt: skip
    remarks = [
        _ERRORS,
        f"Less {first}: the mean difference on the same draws, and its standard error.",
        _UPSIDE_DOWN,
        "The generator tpp is the one that the authors ran; tpp-text is the one that the paper describes.",
    ]
    title = f"TPP table II: mean Kendall distance, {seeds} draws, generator {preset}"
    return PaperTable(title, columns, 2, rows, remarks)


def table3(seeds: int, data: Path | None, *, ledger: Ledger | None = None) -> PaperTable:
    """Table III: more workers, fewer votes from each."""
    methods = (TPP, METHODS[3])
    found = Comparison(TABLE3, methods, seeds, ledger)
    rows = [
        (setting.name, method.name, *found.row(setting, method), *(printed if method is TPP else (NONE, NONE)))
        for setting, printed in TABLE3.items()
        for method in methods
    ]
    columns = (
        "data", "method", "ours", "error", "less TPP", "its error", "upside down", "print", "its deviation",
    )  # fmt: skip
    title = f"TPP table III: mean Kendall distance, {seeds} draws"
    return PaperTable(title, columns, 2, rows, [_ERRORS, _UPSIDE_DOWN])
