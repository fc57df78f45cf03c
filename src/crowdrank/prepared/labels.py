"""Labels prepared for a model: which worker gave which label to which item."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Ratings, named_nodes, node_codes, summed
from crowdrank.data.tables import ORDER
from crowdrank.errors import InputError, Note
from crowdrank.prepared.subjects import Subjects
from crowdrank.results import Confusion, Easiness, Evidence, LabelPosterior

LARGEST = 1e100
"""The squares of larger labels would overflow."""


class Labels(Subjects):
    """Labels as rows sorted by (node, worker, label). Equal labels by one worker for one node form one row.

    ``label`` is an index into ``values``, the distinct labels in ascending order. ``worker`` is 0 everywhere if
    the workers are unknown. ``names``: the labels, if they are text; ``nominal``: they have no order.
    """

    def __init__(self, ratings: Ratings) -> None:
        self.index, self.backend = ratings.index, ratings.backend
        self.nominal = not ratings.ordered
        self.nodes = named_nodes(len(self.index.items), ratings.query, ratings.item)
        self.values, label = np.unique(ratings.label, return_inverse=True)
        if np.abs(self.values).max() > LARGEST:
            raise InputError(f"Labels must lie between -{LARGEST:g} and {LARGEST:g}.")
        self.names = tuple(ratings.names[int(value)] for value in self.values) if ratings.names else ()
        node = node_codes(self.nodes, self.index, ratings.query, ratings.item)
        worker = np.zeros(len(node), np.int32) if ratings.worker is None else ratings.worker
        order = np.lexsort((label, worker, node))
        node, worker, label = node[order], worker[order], label[order]
        same = (np.diff(node, prepend=-1) == 0) & (np.diff(worker, prepend=-1) == 0)
        start = ~(same & (np.diff(label, prepend=-1) == 0))
        place = np.cumsum(start) - 1
        weight = None if ratings.weight is None else ratings.weight[order]
        self.node: Integers = node[start]
        self.worker: NDArray[np.int32] = worker[start]
        self.label: Integers = label[start]
        self.weight: Floats = summed(place, weight, int(start.sum()))

    def __len__(self) -> int:
        return len(self.node)

    @property
    def people(self) -> int:
        """The number of workers, or 1 if they are unknown."""
        return max(self.n_workers, 1)

    @cached_property
    def judgments_of_nodes(self) -> Floats:
        """The weight of the labels of each node."""
        return summed(self.node, self.weight, len(self.nodes))

    @cached_property
    def judgments_of_workers(self) -> Floats:
        """The weight of the labels of each worker."""
        return summed(self.worker, self.weight, self.people)

    @cached_property
    def counts(self) -> Floats:
        """The weight of each label of each node (N, K)."""
        width = len(self.values)
        return summed(self.node * width + self.label, self.weight, len(self.nodes) * width).reshape(-1, width)

    @property
    def part(self) -> NDArray[np.int32]:
        """The connected part of each node. Labels are on one scale, so the items of a query form one part."""
        return self.nodes.query

    def posterior(self, probability: Floats) -> LabelPosterior:
        """The probability (N, K) of each label of each node, as a table."""
        return LabelPosterior(
            self.queries(), self.items(), self.values, probability, self.names, backend=self.backend
        )

    def confusion(self, probability: Floats) -> Confusion:
        """The probability (W, true, said) of what each worker says of each label, as a table."""
        assert self.index.workers is not None
        return Confusion(self.index.workers, self.values, probability, self.names, backend=self.backend)

    def easiness(self, easiness: Floats) -> Easiness:
        """The easiness (N,) of each node, as a table."""
        return Easiness(self.queries(), self.items(), easiness, backend=self.backend)

    def notes(self) -> list[Note]:
        """What the user should know about these labels before trusting a ranking."""
        notes = list(self.note_few(self.judgments_of_nodes))
        unjudged = np.flatnonzero(self.judgments_of_nodes == 0)
        if len(unjudged):
            verb = "item has" if len(unjudged) == 1 else "items have"
            notes.append(Note("unjudged", f"{len(unjudged)} {verb} no label: {self.item_names(unjudged)}."))
        if len(self.values) == 1:
            only = self.names[0] if self.names else f"{self.values[0]:g}"
            notes.append(Note("one-label", f"Every label is {only}: no items differ."))
        if self.nominal:
            message = (
                "The labels are text without an order, so the score of an item is the probability of its most "
                "probable label, and the ranking says whose label is surest."
            )
            notes.append(Note("nominal-labels", message, ("For a ranking by label: ", ORDER)))
        if self.n_workers == 1:
            notes.append(Note("one-worker", "One worker gave all labels."))
        return notes

    def evidence(self, rank: Integers) -> Evidence:
        """The weight of the labels of each node. All items of a query are on one scale."""
        sizes = np.bincount(self.nodes.query)
        opponents = sizes[self.nodes.query] - 1
        none = np.zeros(len(sizes), np.int64)
        return Evidence(self.judgments_of_nodes, opponents, self.part, none, np.empty(0), "labels")
