"""Labels in shards of whole items: the rows that label models sum over.

Let A (items, workers x labels) be the weight of each label that each worker gave each item. Then an E step is
``A @ table`` for a table of log probabilities (workers x labels, classes), and an M step is ``A' @ posterior``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Anchors, Floats, Resident
from crowdrank.errors import InputError, Note, Remedy
from crowdrank.prepared.labels import Labels
from crowdrank.prepared.plan import cut
from crowdrank.solve.matrices import Matrix

MOST_CLASSES = 20
"""Above this number of distinct labels, labels are not classes and have no confusion matrix."""
TOLERANCE = 1e-8
"""Converged: no slope is steeper than this times the total weight of the labels."""
STOP = 1e-10
"""In the first ``PATIENCE`` rounds, EM stops only if no slope is steeper than this times the total weight."""
PATIENCE, ROUNDS, TRIAL = 100, 3000, 12
"""``TRIAL``: rounds from a mirror image. Its likelihood is the same, so a few show which prior is better."""
LOST = 1e-300


@dataclass(frozen=True, eq=False)
class LabelRows(Resident):
    """Rows sorted by ``node``, which counts from the first node of the shard.

    ``known`` (nodes,) is the true label of a node, or -1 if it is not known.
    """

    node: NDArray[np.int64]
    worker: NDArray[np.int32]
    label: NDArray[np.int64]
    weight: Floats
    known: NDArray[np.int64]
    first: int
    workers: int
    classes: int

    @property
    def nodes(self) -> slice:
        """The positions of its nodes among all nodes."""
        return slice(self.first, self.first + len(self.known))

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """The flat index of (node, label) for each row."""
        return self.node * self.classes + self.label

    @cached_property
    def matrix(self) -> Matrix:
        """A, by rows."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.node, np.arange(len(self.known) + 1))
        columns = self.worker.astype(np.int64) * self.classes + self.label
        return csr_array((self.weight, columns, starts), shape=(len(self.known), self.workers * self.classes))

    @cached_property
    def transpose(self) -> Matrix:
        """A', by rows."""
        return self.matrix.T.tocsr()

    def posterior(self, logs: Floats) -> tuple[Floats, Floats]:
        """The posterior of the class of each node from log joint probabilities (nodes, classes), and the log of
        their sum.

        A node whose label is known has only this class.
        """
        certain = np.flatnonzero(self.known >= 0)
        if len(certain):
            joint = logs[certain, self.known[certain]]
            logs[certain] = -np.inf
            logs[certain, self.known[certain]] = joint
        top = reduce(np.maximum, logs.T)  # class by class: faster than along short rows
        found = np.exp(logs - top[:, None])
        total = found @ np.ones(self.classes)
        return found / total[:, None], top + np.log(total)


def plan_labels(labels: Labels, known: NDArray[np.int64] | None = None) -> list[LabelRows]:
    """Cut the labels into shards of whole items."""
    count = len(labels.nodes)
    if known is None:
        known = np.full(count, -1)
    ends = np.searchsorted(labels.node, np.arange(count), side="right")
    return [
        LabelRows(
            node=labels.node[own] - first,
            worker=labels.worker[own],
            label=labels.label[own],
            weight=labels.weight[own],
            known=known[first:end],
            first=first,
            workers=labels.people,
            classes=len(labels.values),
        )
        for first, end in cut(ends)
        for own in [slice(ends[first - 1] if first else 0, ends[end - 1])]
    ]


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
    if labels.names:
        raise InputError(
            "Known labels are numbers, and the labels of these judgments are text.",
            hint="Write numbers for the labels in both files.",
        )
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
    message = f"{lost} of {total} known labels are not used: {reason}."
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
    message = f"{count} of {len(values)} known labels are outside of the labels given, {low:g} to {high:g}."
    return [Note("anchors", f"{message} The scores follow them.")]
