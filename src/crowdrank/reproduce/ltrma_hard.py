"""LTRMA's methods where the crowd is poor, or the lists are long: what each of them loses against the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from crowdrank.reproduce.ledger import Ledger
from crowdrank.reproduce.ltrma_methods import (
    D_SAMPLES,
    KNOWN,
    LREGMA,
    MLE,
    MLE_BEST,
    S1,
    S2,
    S2_ALL,
    S2_S3,
    S3,
    S3_ALL,
    TRUTH,
    D,
    Method,
)
from crowdrank.reproduce.ltrma_simulated import ALIKE, ERRORS, KNOWN_LISTS, KNOWN_WORKERS, Experiment
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import Number, differences, draws, mean_and_error, paired_p, signed_rank_p

METHODS = (TRUTH, LREGMA, D, D_SAMPLES, MLE, MLE_BEST, S1, S2, S2_ALL, S3, S3_ALL, S2_S3, KNOWN)
LONG = (TRUTH, LREGMA, D, MLE)
LONG_MEASURE = "nDCG(gain=linear)@10"


def hard_crowd(
    seeds: int,
    data: Path | None,
    *,
    ledger: Ledger,
    preset: str,
    lists: Sequence[int],
    options: dict[str, Any] | None = None,
) -> PaperTable:
    """Poor crowds: the ranker, and the expertise, with all that may be known beforehand."""
    settings = [{"lists": count, **(options or {})} for count in lists]
    own = Experiment.of(preset, METHODS, settings, seeds, ledger)
    names = ("nDCG@5", "tau", "workers spearman", "workers error")
    rows: list[tuple[Any, ...]] = []
    for setting in own.settings:
        for method in own.methods:
            cells = [cell for name in names for cell in mean_and_error(own.values(setting, method, name))]
            tests = [_p_against_mle(own, setting, method, name) for name in ("nDCG@5", "tau", "workers error")]
            tests.insert(1, _p_against_mle(own, setting, method, "nDCG@5", signed_rank_p))
            rows.append((setting["lists"], method.name, *cells, *tests))
    columns = (
        "lists", "method", "nDCG@5", "error", "tau", "tau error", "spearman", "its error", "theta off by",
        "theta error", "p nDCG", "p by ranks", "p tau", "p theta",
    )  # fmt: skip
    remarks = [
        _CROWDS[preset],
        "p: paired t-tests over the corpora against LTRMA-MLE, two-sided: of nDCG@5, of tau, and of the mean "
        "absolute error of theta. p by ranks: Wilcoxon's signed-rank test of nDCG@5, which one corpus in which a "
        "method fails cannot decide. Spearman: the rank correlation of estimated and true theta.",
        "LTRMA-D trains on the best of 50 drawn orders of each list; D on samples trains on all of them.",
        "nDCG has gains of 2^grade - 1.", ERRORS, ALIKE, KNOWN_LISTS, KNOWN_WORKERS, *own.remarks,
    ]  # fmt: skip
    return PaperTable(f"LTRMA on {preset}: {seeds} corpora", columns, 2, rows, remarks)


_CROWDS = {
    "ltrma-h7": "Three annotators, with theta -0.3, -0.05 and 0.1 in the paper's sign (negative is expert), rank "
    "every training list.",
    "ltrma-h5": "One of 20 annotators ranks each training list. In the paper's sign (negative is expert), half of "
    "them have theta U[-1, -0.3], 30 % theta 0, and 20 % U[0.2, 0.6].",
}


def _p_against_mle(
    own: Experiment, setting: dict[str, Any], method: Method, name: str, test: Callable[..., Number] = paired_p
) -> Number:
    ours, theirs = own.values(setting, method, name), own.values(setting, MLE, name)
    both = [pair for pair in zip(ours, theirs, strict=True) if None not in pair]
    return test([one for one, _ in both], [other for _, other in both])


def long_lists(
    seeds: int, data: Path | None, *, ledger: Ledger, options: dict[str, Any] | None = None
) -> PaperTable:
    """The top 10 of 500 documents."""
    setting = options or {}
    own = Experiment.of("ltrma-long", LONG, [setting], seeds, ledger, measures=(LONG_MEASURE, "tau"), k=10)
    truth = own.values(setting, TRUTH, LONG_MEASURE)
    rows = []
    for method in own.methods:
        found = own.values(setting, method, LONG_MEASURE)
        cells = [own.values(setting, method, name) for name in ("tau", "workers spearman")]
        seconds = [ledger.seconds(own.key(setting, seed, method)) for seed in draws(seeds)]
        rows.append((
            method.name, *mean_and_error(found), *mean_and_error(differences(found, truth)),
            *(mean_and_error(values)[0] for values in cells), mean_and_error(seconds)[0],
        ))  # fmt: skip
    columns = (
        "method", LONG_MEASURE, "error", "less the truth's", "error of this", "tau", "spearman", "seconds",
    )  # fmt: skip
    remarks = [
        "Eight annotators give their top 10 of 500 documents, and the documents that they leave out are below. "
        "Only the first 10 places count in training (k=10). Spearman: the rank correlation of estimated and true "
        "theta. Seconds are those of a fit with its measures.",
        ERRORS, ALIKE, *own.remarks,
    ]  # fmt: skip
    return PaperTable(f"LTRMA on long lists: {seeds} corpora", columns, 1, rows, remarks)
