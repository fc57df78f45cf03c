"""Figures 3 and 5 of Wang et al., Blind Men and The Elephant: domains of queries, and malicious workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Anchors, Floats, Integers, Pairs, read
from crowdrank.engine import one_blas_thread, open_engine
from crowdrank.measures import roc_auc
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.sampler import SAMPLERS, SamplerForm, draw_answer
from crowdrank.prepared.panels import panels
from crowdrank.prepared.votes import Votes
from crowdrank.reproduce.chart import Line, Panel
from crowdrank.reproduce.ledger import Key, Ledger, Value
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import NONE, draws, mean_and_error
from crowdrank.reproduce.tpp import TPP, Setting
from crowdrank.results import Queries, Skills
from crowdrank.simulate import Crowd

FIGURE3 = Setting(5, 0.5, 1, domains=2)
FIGURE3_PRINT = 0.895
GRID = "grid"
FORMS = {
    "collapsed, random start": SamplerForm(classes=False),
    "collapsed": SAMPLERS["collapsed"],
    "printed": SAMPLERS["printed"],
}
ROUNDS = (1, 2, 3, 5, 7, 10, 15, 20, 30)
"""The rounds of a sampler in the table. The chart has all up to the last of them."""
FIGURE5: dict[Setting, float | str] = {
    Setting(sparsity=0.01, workers=100): 0.837,
    Setting(sparsity=0.02, workers=100): 0.924,
    Setting(sparsity=0.01, workers=200): NONE,
    Setting(sparsity=0.02, workers=200): NONE,
}
FALSE_ALARMS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *np.linspace(0.1, 1.0, 10).round(1).tolist())
"""The shares of other workers taken for malicious at which the ROC curve is drawn, and of these, in the table:"""
SHOWN = (0.0, 0.01, 0.1)


# ------------------------------------------------------------------------------------------- figure 3


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


def trace_rounds(crowd: Crowd, domains: int, seed: int, form: SamplerForm) -> dict[str, list[float]]:
    """After each round of a sampler: the share of the queries whose domain is found, and the log-likelihood."""
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
            form=form,
        )
    return {
        "right": [accuracy(turn["domain"], true) for turn in answer.trace],
        "log_likelihood": [turn["log_likelihood"] for turn in answer.trace],
    }


def domains_found(setting: Setting, seed: int, run: str) -> dict[str, list[float]]:
    """What a run finds on a draw: round by round for a sampler, only at the end for the grid."""
    crowd = setting.draw(seed)
    if run != GRID:
        return trace_rounds(crowd, setting.domains, seed, FORMS[run])
    model = TPP.make(setting, crowd, seed).fit(crowd.judgments)
    assert model.queries_ is not None
    likely = model.queries_.domain.argmax(axis=1)
    right = accuracy(likely, true_domains(model.queries_.query, crowd))
    assert model.fit_.log_likelihood is not None
    return {"right": [right], "log_likelihood": [model.fit_.log_likelihood]}


def figure3(
    seeds: int, data: Path | None, *, ledger: Ledger | None = None, setting: Setting = FIGURE3
) -> PaperTable:
    """Figure 3: the share of queries whose domain is found, of two domains, and the log-likelihood, by round."""
    ledger = Ledger("tpp-figure3") if ledger is None else ledger
    keys = {
        run: [{"experiment": "tpp-domains", **vars(setting), "run": run, "seed": seed} for seed in draws(seeds)]
        for run in (*FORMS, GRID)
    }
    ledger.fill(
        [key for own in keys.values() for key in own], lambda key: domains_found(setting, key["seed"], key["run"])
    )
    found = {run: [ledger[key] for key in own] for run, own in keys.items()}
    rows: list[tuple[Any, ...]] = [
        (run, str(turn), *_summaries(found[run], turn - 1), NONE) for run in FORMS for turn in ROUNDS
    ]
    rows += [(run, "end", *_summaries(own, -1), FIGURE3_PRINT) for run, own in found.items()]
    columns = ("inference", "round", "ours", "error", "log-likelihood", "its error", "print")
    title = f"TPP figure 3: share of the queries whose domain is found, {setting.name}, {seeds} draws"
    remarks = [
        "With two domains, a blind guess scores slightly above 0.5 after matching. The collapsed sampler sets the "
        "domains by classes of queries after its first round; with a random start it does not.",
        "The composite log-likelihood is at the values with which the round began, and at the end for the grid.",
    ]
    return PaperTable(title, columns, 2, rows, remarks, _curves_by_round(found, setting))


def _summaries(own: Sequence[Value], place: int) -> tuple[Any, ...]:
    """Means and errors of the share and of the log-likelihood at one place of the traces."""
    return tuple(
        cell
        for name in ("right", "log_likelihood")
        for cell in mean_and_error([value[name][place] for value in own])
    )


def _curves_by_round(found: Mapping[str, Sequence[Value]], setting: Setting) -> tuple[Panel, ...]:
    turns = range(1, ROUNDS[-1] + 1)
    shares = [_line(run, [value["right"][: len(turns)] for value in found[run]]) for run in FORMS]
    logs = [_line(run, [value["log_likelihood"][: len(turns)] for value in found[run]]) for run in FORMS]
    paper = Line("paper, in the end", [FIGURE3_PRINT] * len(turns), [0.0] * len(turns), plain=True)
    return (
        Panel("Queries whose domain is found", "round", "share", list(turns), [*shares, paper]),
        Panel("Composite log-likelihood of the votes", "round", "", list(turns), logs),
    )


def _line(name: str, values: Sequence[Sequence[float]]) -> Line:
    """The mean over the draws, with its standard error."""
    own = np.array(values)
    error = own.std(axis=0, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.zeros(own.shape[1])
    return Line(name, own.mean(axis=0).tolist(), error.tolist())


# ------------------------------------------------------------------------------------------- figure 5


def malicious_cases(queries: Queries, skills: Skills, crowd: Crowd) -> tuple[Floats, Any]:
    """P(tau < 0) of each worker in each domain, and whether tau is negative in truth; domains are matched."""
    assert crowd.skills is not None
    partner = 1 + matching(queries.domain, true_domains(queries.query, crowd))
    truth = crowd.skills.with_columns(pl.Series("domain", partner[crowd.skills["domain"] - 1]))
    both = truth.join(skills.polars(), on=["worker", "domain"], suffix="_found")
    return 1.0 - both["truthful"].to_numpy(), both["tau"].to_numpy() < 0


def roc_curve(score: Floats, positive: Any, at: Sequence[float] = FALSE_ALARMS) -> list[float]:
    """The share of the positive cases found at these shares of false alarms. Equal scores are a straight line."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    hits, alarms = (np.append(0, np.cumsum(own)[last]) for own in (positive[order], ~positive[order]))
    return np.interp(at, alarms / alarms[-1], hits / hits[-1]).tolist()


def figure5(
    seeds: int,
    data: Path | None,
    *,
    ledger: Ledger | None = None,
    printed: Mapping[Setting, float | str] = FIGURE5,
) -> PaperTable:
    """Figure 5: ROC curves of finding malicious workers, and the area under them."""
    ledger = Ledger("tpp-figure5") if ledger is None else ledger
    rows, lines = [], []
    for setting, theirs in printed.items():
        keys = [{"experiment": "tpp-malicious", **vars(setting), "seed": seed} for seed in draws(seeds)]
        ledger.fill(keys, lambda key, setting=setting: _find_malicious(setting, key))  # type: ignore[misc]
        found = [ledger[key] for key in keys]
        lines.append(_line(setting.name.rsplit(" ", 1)[0].replace("DOC30 ", ""), [own["curve"] for own in found]))
        shown = [mean_and_error([own["curve"][FALSE_ALARMS.index(at)] for own in found])[0] for at in SHOWN]
        rows.append((setting.name, *mean_and_error([own["auc"] for own in found]), theirs, *shown))
    lines.append(Line("blind guess", FALSE_ALARMS, [0.0] * len(FALSE_ALARMS), plain=True))
    return PaperTable(
        f"TPP figure 5: AUC of finding malicious workers, {seeds} draws",
        ("data", "ours", "error", "print", *(f"found at {at:g}" for at in SHOWN)),
        1,
        rows,
        [
            "A case is a worker in a domain, malicious or not, scored by the probability that tau is negative; "
            "found domains are matched to the true ones by the queries they share.",
            "Found at 0.01: the share of the malicious cases that rank above all but 1 in 100 of the others.",
            "With 200 workers the paper gives no figures.",
        ],
        (
            Panel(
                "Malicious workers found",
                "share of the others taken for malicious",
                "share found",
                FALSE_ALARMS,
                lines,
            ),
        ),
    )


def _find_malicious(setting: Setting, key: Key) -> Value:
    crowd = setting.draw(key["seed"])
    model = TPP.make(setting, crowd, key["seed"]).fit(crowd.judgments)
    assert model.queries_ is not None
    assert model.skills_ is not None
    score, positive = malicious_cases(model.queries_, model.skills_, crowd)
    return {"auc": roc_auc(score, positive), "curve": roc_curve(score, positive)}
