"""Figures 9 to 12 of Wu et al., Learning to Rank from Multiple Annotators (LTRMA), on the corpora of its section
6.1.1. The four share their fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crowdrank.reproduce.ledger import Ledger
from crowdrank.reproduce.ltrma_methods import LREGMA, MLE, S1, S2, S3, TRUTH, D
from crowdrank.reproduce.ltrma_simulated import ALIKE, ERRORS, KNOWN_LISTS, KNOWN_WORKERS, Experiment
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import differences, mean_and_error

ANNOTATORS = (5, 7, 9, 11, 13, 15)
"""How many annotators the figures show; the paper has all from 5 to 15."""
ITERATIONS = (1, 2, 5, 10, 20, 40)
"""The iterations that figure 12 shows."""
METHODS = (TRUTH, LREGMA, D, MLE, S1, S2, S3)
_PLOT = "The paper shows a plot without numbers."


def _paper_experiment(
    seeds: int, ledger: Ledger, annotators: Sequence[int], options: dict[str, Any]
) -> Experiment:
    settings = [{"annotators": count, **options} for count in annotators]
    return Experiment.of("ltrma-paper", METHODS, settings, seeds, ledger)


def figure_ndcg(
    seeds: int,
    data: Path | None,
    *,
    ledger: Ledger,
    cut: int,
    annotators: Sequence[int] = ANNOTATORS,
    options: dict[str, Any] | None = None,
) -> PaperTable:
    """Figures 9 and 10: nDCG at 3 and at 5 on the test lists."""
    own = _paper_experiment(seeds, ledger, annotators, options or {})
    exp, linear = f"nDCG@{cut}", f"nDCG(gain=linear)@{cut}"
    rows = []
    for setting in own.settings:
        truth = own.values(setting, TRUTH, exp)
        for method in own.methods:
            found = own.values(setting, method, exp)
            rows.append((
                setting["annotators"], method.name,
                *mean_and_error(own.values(setting, method, linear)), *mean_and_error(found),
                *mean_and_error(differences(found, truth)),
            ))  # fmt: skip
    columns = (
        "annotators", "method", f"{linear}", "its error", f"{exp}", "error", "less the truth's", "error of this",
    )  # fmt: skip
    remarks = [
        "The relevance r of the i-th of 15 documents is 16 - i. The gain is r (linear) or 2^r - 1. The last "
        "columns compare the latter with ListMLE on the true orders.",
        ERRORS, ALIKE, KNOWN_LISTS, KNOWN_WORKERS, _PLOT, *own.remarks,
    ]  # fmt: skip
    title = f"LTRMA figure {9 if cut == 3 else 10}: nDCG@{cut}, synthetic lists, {seeds} corpora"
    return PaperTable(title, columns, 2, rows, remarks)


def figure11(
    seeds: int,
    data: Path | None,
    *,
    ledger: Ledger,
    annotators: Sequence[int] = ANNOTATORS,
    options: dict[str, Any] | None = None,
) -> PaperTable:
    """Figure 11: nDCG@5 of the estimated order of the annotators."""
    own = _paper_experiment(seeds, ledger, annotators, options or {})
    names = ("workers nDCG@5", "workers spearman", "workers error")
    rows = [
        (
            setting["annotators"],
            method.name,
            *(cell for name in names for cell in mean_and_error(own.values(setting, method, name))),
        )
        for setting in own.settings
        for method in own.methods
        if method.name != TRUTH.name
    ]
    columns = ("annotators", "method", "nDCG@5", "error", "spearman", "its error", "theta off by", "error of this")
    remarks = [
        "nDCG@5 of the annotators by estimated expertise. The relevance of an annotator is the place from the end "
        "in the true order, and the gain is linear. The last columns are the mean absolute error of theta, which "
        "has no sign; theta itself has the opposite sign in the paper.",
        ERRORS, ALIKE, KNOWN_LISTS, KNOWN_WORKERS, _PLOT, *own.remarks,
    ]  # fmt: skip
    title = f"LTRMA figure 11: the estimated order of the annotators, {seeds} corpora"
    return PaperTable(title, columns, 2, rows, remarks)


def figure12(
    seeds: int,
    data: Path | None,
    *,
    ledger: Ledger,
    annotators: Sequence[int] = ANNOTATORS,
    options: dict[str, Any] | None = None,
) -> PaperTable:
    """Figure 12: the Kendall distance of the drawn orders from the truth, by iteration."""
    own = _paper_experiment(seeds, ledger, annotators, options or {})
    rows = []
    for setting in own.settings:
        for method in own.methods:
            curves = [found for found in own.values(setting, method, "distances") if found]
            if not curves:
                continue
            at = [mean_and_error([curve[min(step, len(curve)) - 1] for curve in curves])[0] for step in ITERATIONS]
            last = mean_and_error([curve[-1] for curve in curves])
            steps = mean_and_error([float(len(curve)) for curve in curves])[0]
            rows.append((setting["annotators"], method.name, *at, *last, steps))
    columns = ("annotators", "method", *(f"after {step}" for step in ITERATIONS), "last", "error", "iterations")
    remarks = [
        "The mean Kendall distance of the orders drawn in an iteration from the true orders, of at most 105. "
        "The paper measures the best sample of each list, which is closer. In S1 the lists whose order is known "
        "have a distance of 0.",
        "For the first five iterations only the ranker of MLE learns, and the expertise stays as it was.",
        ERRORS, ALIKE, KNOWN_LISTS, KNOWN_WORKERS, _PLOT, *own.remarks,
    ]  # fmt: skip
    title = f"LTRMA figure 12: distance from the true orders by iteration, {seeds} corpora"
    return PaperTable(title, columns, 2, rows, remarks)
