"""The notes of a training run, grouped by kind, with what each kind means."""

from __future__ import annotations

from collections.abc import Sequence

from crowdrank.errors import Note
from crowdrank.report.content import Caution
from crowdrank.report.notes import KINDS, cautions

OWN: dict[str, tuple[str, str]] = {
    "not-converged": ("Training did not finish", "More steps may still improve the ranker."),
    "no-splits": (
        "The trees never split",
        "Every document gets the same score: there are too few documents, or the features say nothing.",
    ),
    "validation-overlap": (
        "Validation queries were also trained on",
        "The measures flatter the ranker: keep these queries apart.",
    ),
    "equal-labels": (
        "Queries whose labels are all equal",
        "They say nothing about the order of their documents.",
    ),
    "unlabeled": ("Documents without a label", "Neither training nor the measures use them."),
    "not-judged": ("Documents that were not judged", "Neither training nor the measures use them."),
    "weight-0": ("Documents without weight", "Neither training nor the measures use them."),
    "missing-values": ("Missing values", "New documents with missing values are treated in the same way."),
    "constant-features": (
        "Features that never change",
        "They cannot help: leave them out, or check how they are computed.",
    ),
    "label-feature": (
        "A label may be among the features",
        "A ranker that has seen the labels is of no use on documents that nobody has labeled.",
    ),
    "unnamed-column": ("A column without a name", "Name it if it is a feature."),
    "from-folds": ("What the folds decided", "The saved ranker itself was not measured: the folds were."),
}
"""For each code of a note on training a title and a sentence of advice, most serious first."""


def training_cautions(notes: Sequence[Note]) -> tuple[Caution, ...]:
    """The notes, one entry per kind, most serious first; the kinds that any fit may have come last."""
    others = {code: kind for code, kind in KINDS.items() if code not in OWN}
    return cautions(notes, {**OWN, **others})
