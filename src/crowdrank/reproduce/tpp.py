"""Tables II and III and figures 3 and 5 of Wang et al., Blind Men and The Elephant: Thurstonian Pairwise
Preference for Ranking in Crowdsourcing, on the crowds that its section V-A simulates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Anchors, Floats, Integers, Pairs, read
from crowdrank.engine import one_blas_thread, open_engine
from crowdrank.kernels.kendall import distances
from crowdrank.measures import roc_auc
from crowdrank.models.base import Model, Run
from crowdrank.models.registry import make
from crowdrank.models.thurstonian.sampler import draw_answer
from crowdrank.prepared.panels import panels
from crowdrank.prepared.votes import Votes
from crowdrank.reproduce.result import PaperTable
from crowdrank.results import Queries, Ranking, Skills
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


METHODS = {
    "TPP": "tpp",
    "TPPUniDom": "tpp-unidom",
    "TPPUniExp": "tpp-uniexp",
    "TPPUniDiff": "tpp-unidiff",
    "CrowdBT": "crowd-bt",
}
ORACLE = "TPP, domains known"
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
FIGURE3 = Setting(5, 0.5, 1, domains=2)
FIGURE3_PRINT = 0.895
ROUNDS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60)
"""The rounds of the sampler at which figure 3 is shown."""
FIGURE5: dict[Setting, float | str] = {
    Setting(sparsity=0.01, workers=100): 0.837,
    Setting(sparsity=0.02, workers=100): 0.924,
    Setting(sparsity=0.01, workers=200): "-",
    Setting(sparsity=0.02, workers=200): "-",
}
_ERRORS = "The error is the standard error of the mean over the draws; the paper's deviation is over its 5 runs."


def _model(method: str, inference: str, domains: int, seed: int, crowd: Crowd | None = None) -> Model:
    if method == "CrowdBT":
        return make("crowd-bt", {})
    if method == ORACLE:
        assert crowd is not None
        assert crowd.queries is not None
        return make("tpp", {"domains": dict(crowd.queries.select("query", "domain").iter_rows())})
    own = {"inference": inference, "seed": seed}
    return make(METHODS[method], own if method == "TPPUniDom" else {**own, "domains": domains})


def _summary(values: Sequence[float]) -> tuple[object, object]:
    """The mean and its standard error."""
    found = np.array(values)
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else "-"
    return float(found.mean()), error


# -------------------------------------------------------------------------------------- tables II and III


def distance_to_truth(ranking: Ranking, crowd: Crowd) -> tuple[float, int]:
    """The mean distance from the true order over the queries, and how many queries are upside down.

    A query is upside down if more than half of its pairs are in the wrong order.
    """
    truth = crowd.gold.join(ranking.polars(), on=["query", "item"]).sort("query")
    sizes = truth.group_by("query", maintain_order=True).len()["len"].to_numpy().astype(np.int64)
    start = np.append(0, np.cumsum(sizes))
    apart = distances(-truth["score"].to_numpy(), -truth["grade"].to_numpy(), start)
    return float(apart.mean()), int((apart > sizes * (sizes - 1) / 4).sum())


def compare_methods(
    settings: Iterable[Setting], methods: Iterable[str], seeds: int, inference: str = "grid", preset: str = "tpp"
) -> dict[tuple[Setting, str], tuple[Any, ...]]:
    """For each setting and method: the mean distance, its error, and how many queries are upside down."""
    found: dict[tuple[Setting, str], list[tuple[float, int]]] = {}
    for setting, seed in product(settings, range(seeds)):
        crowd = setting.draw(seed, preset)
        for method in methods:
            ranking = _model(method, inference, setting.domains, seed, crowd).fit(crowd.judgments).ranking_
            found.setdefault((setting, method), []).append(distance_to_truth(ranking, crowd))
    return {
        key: (
            *_summary([apart for apart, _ in own]),
            float(np.mean([upside for _, upside in own])),
        )
        for key, own in found.items()
    }


def table2(seeds: int, data: Path | None, *, inference: str = "grid", preset: str = "tpp") -> PaperTable:
    """Table II, every method on the same draws."""
    methods = [*METHODS, ORACLE] if inference == "grid" else [name for name in METHODS if name != "CrowdBT"]
    found = compare_methods(TABLE2, methods, seeds, inference, preset)
    rows = [
        (setting.name, method, *found[setting, method], *theirs)
        for setting, printed in TABLE2.items()
        for method, theirs in zip(methods, (*printed, ("-", "-")), strict=False)
    ]
    columns = ("data", "method", "ours", "error", "upside down", "print", "its deviation")
    title = f"TPP table II: mean Kendall distance, {seeds} draws, inference {inference}, generator {preset}"
    remarks = [
        _ERRORS,
        "Upside down: of 100 queries, those with more than half of their pairs in the wrong order.",
        "The generator tpp is the one that the authors ran; tpp-text is the one that the paper describes.",
    ]
    return PaperTable(title, columns, 2, rows, remarks)


def table3(seeds: int, data: Path | None) -> PaperTable:
    """Table III: more workers, fewer votes from each."""
    found = compare_methods(TABLE3, ["TPP"], seeds)
    rows = [(setting.name, *found[setting, "TPP"], *printed) for setting, printed in TABLE3.items()]
    columns = ("data", "ours", "error", "upside down", "print", "its deviation")
    return PaperTable(f"TPP table III: mean Kendall distance, {seeds} draws", columns, 1, rows, [_ERRORS])


# -------------------------------------------------------------------------------------- figures 3 and 5


def matching(found: Floats, true: Integers) -> Integers:
    """The found domain (column) that matches each true one, chosen to maximize agreement.

    ``found`` (Q, M): the probability of each domain; a true domain without a partner takes the most likely one.
    """
    from scipy.optimize import linear_sum_assignment

    shared = np.eye(true.max() + 1)[true].T @ found
    partner = shared.argmax(axis=1)
    rows, columns = linear_sum_assignment(shared, maximize=True)
    partner[rows] = columns
    return partner


def accuracy(found: Integers, true: Integers) -> float:
    """The share of the queries whose domain was found, after found domains are matched to true ones."""
    partner = matching(np.eye(1 + max(found.max(), true.max()))[found], true)
    return float(np.mean(partner[true] == found))


def true_domains(queries: pl.Series, crowd: Crowd) -> Integers:
    """The true domain of each query, counted from 0."""
    assert crowd.queries is not None
    known = pl.DataFrame({"query": queries}).join(crowd.queries, on="query", maintain_order="left")
    return known["domain"].to_numpy() - 1


def malicious_auc(queries: Queries, skills: Skills, crowd: Crowd) -> float:
    """How well P(tau < 0) separates the malicious workers of a domain from the others; domains are matched."""
    assert crowd.skills is not None
    partner = 1 + matching(queries.domain, true_domains(queries.query, crowd))
    truth = crowd.skills.with_columns(pl.Series("domain", partner[crowd.skills["domain"] - 1]))
    both = truth.join(skills.polars(), on=["worker", "domain"], suffix="_found")
    return roc_auc(1.0 - both["truthful"].to_numpy(), both["tau"].to_numpy() < 0)


def rounds(crowd: Crowd, domains: int, seed: int) -> list[float]:
    """The share of the queries whose domain is found after each round of the sampler."""
    votes = read(crowd.judgments)
    assert isinstance(votes, Pairs)
    assert votes.index.workers is not None
    assert votes.index.queries is not None
    true = true_domains(votes.index.queries, crowd)
    with open_engine(None) as engine, one_blas_thread():
        answer = draw_answer(
            panels(Votes(votes)),
            Run(Anchors(), engine, seed, None),
            workers=len(votes.index.workers),
            domains=domains,
            shared_expertise=False,
            shared_difficulty=False,
        )
    return [accuracy(turn["domain"], true) for turn in answer.trace]


def figure3(seeds: int, data: Path | None, *, setting: Setting = FIGURE3) -> PaperTable:
    """Figure 3: the share of queries whose domain is found, of two domains, by round of the sampler."""
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(seeds):
        crowd = setting.draw(seed)
        for inference in ("grid", "gibbs"):
            model = _model("TPP", inference, setting.domains, seed).fit(crowd.judgments)
            assert model.queries_ is not None
            likely = model.queries_.domain.argmax(axis=1)
            right = accuracy(likely, true_domains(model.queries_.query, crowd))
            found.setdefault((inference, "end"), []).append(right)
        traced = rounds(crowd, setting.domains, seed)
        for turn in (turn for turn in ROUNDS if turn <= len(traced)):
            found.setdefault(("gibbs", f"round {turn}"), []).append(traced[turn - 1])
    rows = [(*run, *_summary(own), FIGURE3_PRINT) for run, own in found.items()]
    columns = ("inference", "when", "ours", "error", "print")
    title = f"TPP figure 3: share of the queries whose domain is found, {setting.name}, {seeds} draws"
    remark = "With two domains, a blind guess scores slightly above 0.5 after matching."
    return PaperTable(title, columns, 2, rows, [remark])


def figure5(seeds: int, data: Path | None, *, printed: Mapping[Setting, float | str] = FIGURE5) -> PaperTable:
    """Figure 5: the area under the ROC curve for finding malicious workers."""
    rows = []
    for setting, theirs in printed.items():
        found = []
        for seed in range(seeds):
            crowd = setting.draw(seed)
            model = _model("TPP", "grid", setting.domains, seed).fit(crowd.judgments)
            assert model.queries_ is not None
            assert model.skills_ is not None
            found.append(malicious_auc(model.queries_, model.skills_, crowd))
        rows.append((setting.name, *_summary(found), theirs))
    return PaperTable(
        f"TPP figure 5: AUC of finding malicious workers, {seeds} draws",
        ("data", "ours", "error", "print"),
        1,
        rows,
        [
            "A case is a worker in a domain, malicious or not, scored by the probability that tau is negative; "
            "found domains are matched to the true ones by the queries they share.",
            "With 200 workers the paper gives no figures.",
        ],
    )
