"""Models side by side: a comparison as the content of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from crowdrank.charts.axes import axis_of
from crowdrank.compare import Comparison
from crowdrank.errors import count_noun
from crowdrank.report.content import Contender, Contest, ContestReport, VoteBin
from crowdrank.report.notes import cautions
from crowdrank.report.rounding import tidy
from crowdrank.results import Fit

WIDTH = 2.0
"""Standard errors on each side of a distance from the best."""


def build_contest(found: Comparison) -> ContestReport:
    """The content of a page from a comparison."""
    models = count_noun(len(found.rows), "model")
    facts = [f"seed {found.seed}"]
    if found.folds:
        facts = [count_noun(found.votes, "vote"), count_noun(found.folds, "fold"), *facts]
    if found.coverage is not None:
        facts.append(f"gold has {found.coverage}")
    return ContestReport(
        title=f"{models} by held-out votes" if found.folds else f"{models} by gold",
        facts=tuple(facts),
        cautions=cautions(found.notes),
        contest=_contest(found.as_dict(), found.as_dict()["models"]),
    )


def choice(fit: Fit) -> Contest | None:
    """How `auto` chose the model of a fit; None if it did not, or had nothing to choose by."""
    figures = fit.details.get("auto")
    if not figures or not figures["candidates"]:
        return None
    return _contest(figures, figures["candidates"], trusted=figures["chosen"])


def explain_contest(contest: Contest) -> str:
    """How to read the figures."""
    if not contest.folds:
        return (
            "Nothing was held out: each model was fitted to all judgments, and its ranking was scored against "
            f"gold. Models are sorted by {contest.measures[0] if contest.measures else 'their names'}."
        )
    return (
        f"The {contest.votes:,} votes were dealt into {contest.folds} folds, and models fitted to the other folds "
        "predicted each fold. The log loss is the mean of minus the logarithm of the probability that a model "
        f"gave to the outcome: smaller is better; guessing has {contest.guessing:.3f}. The distance from the best "
        "model is shown plus or minus two standard errors: if that range reaches 0, the two cannot be told apart."
    )


def _contest(
    figures: Mapping[str, Any], models: Sequence[Mapping[str, Any]], *, trusted: str | None = None
) -> Contest:
    """``trusted``: the model whose calibration is shown; by default the best one."""
    shown = next((row for row in models if trusted in (None, row["model"])), {})
    held_out = bool(figures["folds"])
    rows = tuple(_contender(row, held_out=held_out, first=place == 0) for place, row in enumerate(models))
    spans = [value for row in rows for value in (row.behind, row.low, row.high) if value is not None]
    return Contest(
        rows=rows,
        axis=axis_of(spans) if spans else None,
        measures=tuple(dict.fromkeys(name for row in rows for name in row.gold)),
        folds=figures["folds"],
        votes=figures["votes"],
        ties=figures["ties"],
        guessing=round(math.log(3 if figures["ties"] else 2), 4),
        trust=tuple(_bin(own) for own in shown.get("calibration", ())),
        trusted=shown.get("model", ""),
    )


def _contender(row: Mapping[str, Any], *, held_out: bool, first: bool) -> Contender:
    behind = _round(row["behind"])
    width = WIDTH * (row["behind_se"] or 0.0)
    return Contender(
        model=row["model"],
        place=_place(row, held_out=held_out, first=first),
        log_loss=_round(row["log_loss"]),
        log_loss_se=_round(row["log_loss_se"]),
        behind=behind,
        low=None if behind is None else _round(row["behind"] - width),
        high=None if behind is None else _round(row["behind"] + width),
        accuracy=_round(row["accuracy"]),
        accuracy_se=_round(row["accuracy_se"]),
        seconds=None if row["seconds"] is None else round(row["seconds"], 2),
        gold={name: _round(value) for name, value in row["gold"].items()},
        error=row["error"],
    )


def _bin(own: Mapping[str, float]) -> VoteBin:
    votes = tidy(own["votes"])
    return VoteBin(**{name: round(value, 3) for name, value in own.items() if name != "votes"}, votes=votes)


def _place(row: Mapping[str, Any], *, held_out: bool, first: bool) -> str:
    if row["error"] is not None:
        return "failed"
    if row["log_loss"] is None:
        return "order only" if held_out else ""
    return "best" if first else "as good" if row["tied_with_best"] else "behind"


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4) + 0.0
