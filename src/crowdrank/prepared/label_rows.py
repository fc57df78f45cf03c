"""What label models share: their shards, when EM stops, and the labels that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Anchors, Floats
from crowdrank.errors import InputError, Note, Remedy, count_noun
from crowdrank.prepared.label_shards import LabelFile, LabelRows
from crowdrank.prepared.labels import Labels

MOST_CLASSES = 20
"""Above this number of distinct labels, labels are not classes and have no confusion matrix."""
TOLERANCE = 1e-8
"""Converged: no slope is steeper than this times the total weight of the labels."""
STOP = 1e-10
"""In the first ``PATIENCE`` rounds, EM stops only if no slope is steeper than this times the total weight."""
PATIENCE, ROUNDS, TRIAL = 100, 3000, 12
"""``TRIAL``: rounds from a mirror image. Its likelihood is the same, so a few show which prior is better."""
LOST = 1e-300


def plan_labels(labels: Labels, known: NDArray[np.int64] | None = None) -> list[LabelRows | LabelFile]:
    """Cut the labels into shards of whole items."""
    return labels.shards(known)


def require_classes(name: str, labels: Labels) -> None:
    """Raise an error if there are too many distinct labels to be classes."""
    if len(labels.values) > MOST_CLASSES:
        raise InputError(
            f"{name} takes at most {MOST_CLASSES} distinct labels, but there are {len(labels.values)}.",
            hint="Labels that are text are classes: join those that mean the same."
            if labels.names
            else (
                "For ratings on a fine scale, use ",
                Remedy("model", "ordinal"),
                " or ",
                Remedy("model", "average"),
            ),
        )


def stopping_rule(total: float, limit: int = ROUNDS) -> dict[str, Any]:
    """When ``accelerate`` stops, for labels of this total weight."""
    total = max(total, 1.0)
    return {"tol": STOP * total, "enough": TOLERANCE * total, "patience": PATIENCE, "limit": limit}


def check_convergence(slope: float, total: float, rounds: int) -> tuple[bool, list[Note]]:
    """Whether the fit has converged, and a note if it has not."""
    if slope <= TOLERANCE * max(total, 1.0):
        return True, []
    message = (
        f"EM did not converge in {rounds} rounds; the steepest slope left is {slope:.2g}. Scores and "
        "intervals are provisional."
    )
    return False, [Note("not-converged", message)]


def normalize_counts(table: Floats) -> Floats:
    """Shares along the last axis, equal ones if all counts are zero."""
    total = table.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, table / np.maximum(total, LOST), 1.0 / table.shape[-1]))


def known_labels(
    labels: Labels, anchors: Anchors, *, any_value: bool = False
) -> tuple[NDArray[np.int64], list[Note]]:
    """The true label of each node as an index into the values (-1 if unknown), and a note on unused ones.

    ``any_value``: the model also uses labels that nobody gave, if they are not far outside of those given.
    """
    known = np.full(len(labels.nodes), -1)
    if anchors.labels is None:
        return known, []
    nodes, values = anchors.truths(labels.nodes, labels.index)
    place = np.minimum(np.searchsorted(labels.values, values), len(labels.values) - 1)
    notes = _check_range(labels, nodes, values) if any_value else []
    found = labels.values[place] == values
    known[nodes[found]] = place[found]
    used = set(labels.items().gather(nodes if any_value else nodes[found]).to_list())
    items = anchors.labels.frame["item"].to_list()
    total, lost = len(items), sum(item not in used for item in items)
    if not lost:
        return known, notes
    reason = "nobody judged the item" if any_value else "nobody judged the item, or nobody gave the label"
    of = f"of {count_noun(total, 'known label')} "
    message = f"{count_noun(lost, of + 'is', of + 'are')} not used: {reason}."
    return known, [*notes, Note("anchors", message)]


def _check_range(labels: Labels, nodes: NDArray[np.int64], values: Floats) -> list[Note]:
    """A note on known labels outside of the labels given; an error if one is farther off than their whole range,
    because such a slip would move every score."""
    low, high = labels.values[0], labels.values[-1]
    beyond = np.maximum(low - values, values - high)
    if not (beyond > 0).any():
        return []
    worst = int(beyond.argmax())
    if beyond[worst] > high - low:
        what = f"The known label {values[worst]:g} of item {labels.items()[int(nodes[worst])]}"
        raise InputError(
            f"{what} is far outside of the labels given, {low:g} to {high:g}.",
            hint="Correct it, or leave it out of the known labels.",
        )
    count = int((beyond > 0).sum())
    of = f"of {count_noun(len(values), 'known label')} "
    message = f"{count_noun(count, of + 'is', of + 'are')} outside of the labels given, {low:g} to {high:g}."
    return [Note("anchors", f"{message} The scores follow them.")]
