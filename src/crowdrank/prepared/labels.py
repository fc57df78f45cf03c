"""Labels prepared for a model: which worker gave which label to which item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import (
    Floats,
    Integers,
    Nodes,
    Ratings,
    SpooledRatings,
    add_by_code,
    named_nodes,
    node_codes,
    summed,
)
from crowdrank.data.label_order import ORDER
from crowdrank.errors import InputError, Note
from crowdrank.prepared.label_shards import LabelFile, LabelRows, SortedLabels, sort_labels
from crowdrank.prepared.plan import cut
from crowdrank.prepared.subjects import Subjects
from crowdrank.results import Confusion, Easiness, Evidence, LabelPosterior

if TYPE_CHECKING:
    from crowdrank.data.ids import Backend
    from crowdrank.data.index import Index

R = TypeVar("R")

LARGEST = 1e100
"""The squares of larger labels would overflow."""


class Labels(Subjects):
    """Labels as rows sorted by (node, worker, label). Equal labels by one worker for one node form one row.

    ``label`` is an index into ``values``, the distinct labels in ascending order. ``worker`` is 0 everywhere if
    the workers are unknown. Rows come in shards of whole nodes, in memory or in a file. ``names``: the labels, if
    they are text; ``nominal``: they have no order.
    """

    index: Index
    backend: Backend
    nominal: bool
    nodes: Nodes
    values: Floats
    names: tuple[str, ...]

    def __init__(self, ratings: Ratings | SpooledRatings) -> None:
        self.index, self.backend = ratings.index, ratings.backend
        self.nominal = not ratings.ordered
        self._rows: _LabelColumns | SortedLabels
        if isinstance(ratings, SpooledRatings):
            self.nodes, self.values = ratings.named().nodes, ratings.values
        else:
            self.nodes = named_nodes(len(self.index.items), ratings.query, ratings.item)
            self.values = np.unique(ratings.label)
        if np.abs(self.values).max() > LARGEST:
            raise InputError(f"Labels must lie between -{LARGEST:g} and {LARGEST:g}.")
        self.names = tuple(ratings.names[int(value)] for value in self.values) if ratings.names else ()
        if isinstance(ratings, SpooledRatings):
            self._rows = sort_labels(ratings, self.nodes, self.values, self.people)
        else:
            self._rows = _columns(ratings, self.nodes, self.values)

    def __len__(self) -> int:
        return int(self._rows.ends[-1])

    def shards(self, known: NDArray[np.int64] | None = None) -> list[LabelRows | LabelFile]:
        """The rows in shards of whole nodes. ``known``: the true label of each node, -1 if it is not known."""
        rows, ends = self._rows, self._rows.ends
        known = np.full(len(self.nodes), -1) if known is None else known
        shards: list[LabelRows | LabelFile] = []
        for first, end in cut(ends):
            low, high = int(ends[first - 1]) if first else 0, int(ends[end - 1])
            sizes = (known[first:end], first, self.people, len(self.values))
            if isinstance(rows, SortedLabels):
                shards.append(LabelFile(rows.path, (low, high), *sizes))
            else:
                own = slice(low, high)
                columns = (rows.node[own] - first, rows.worker[own], rows.label[own], rows.weight[own])
                shards.append(LabelRows(*columns, *sizes))
        return shards

    def pieces(self) -> Iterator[LabelRows]:
        """The shards, one after the other."""
        return (shard.load() for shard in self.shards())

    def map_pieces(self, function: Callable[[LabelRows], R]) -> Iterable[R]:
        """The value of the function for each shard. For rows in a file, it is computed anew in each iteration."""
        if isinstance(self._rows, SortedLabels):
            return _EachTime(self, function)
        return [function(part) for part in self.pieces()]

    @property
    def people(self) -> int:
        """The number of workers, or 1 if they are unknown."""
        return max(self.n_workers, 1)

    @cached_property
    def total(self) -> float:
        """The weight of all labels."""
        return sum(float(part.weight.sum()) for part in self.pieces())

    @cached_property
    def judgments_of_nodes(self) -> Floats:
        """The weight of the labels of each node."""
        return np.concatenate([summed(part.node, part.weight, len(part.known)) for part in self.pieces()])

    @cached_property
    def judgments_of_workers(self) -> Floats:
        """The weight of the labels of each worker."""
        total = np.zeros(self.people)
        for part in self.pieces():
            add_by_code(total, part.worker, part.weight)
        return total

    @cached_property
    def counts(self) -> Floats:
        """The weight of each label of each node (N, K)."""
        width = len(self.values)
        cells = [summed(part.cells, part.weight, len(part.known) * width) for part in self.pieces()]
        return np.concatenate(cells).reshape(-1, width)

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
        return [*notes, *self.note_one_worker()]

    def evidence(self, rank: Integers) -> Evidence:
        """The weight of the labels of each node. All items of a query are on one scale."""
        sizes = np.bincount(self.nodes.query)
        opponents = sizes[self.nodes.query] - 1
        none = np.zeros(len(sizes), np.int64)
        return Evidence(self.judgments_of_nodes, opponents, self.part, none, np.empty(0), "labels")


class _LabelColumns(NamedTuple):
    """The rows in memory, and the number of rows up to the end of each node."""

    node: Integers
    worker: NDArray[np.int32]
    label: Integers
    weight: Floats
    ends: Integers


def _columns(ratings: Ratings, nodes: Nodes, values: Floats) -> _LabelColumns:
    label = np.searchsorted(values, ratings.label)
    node = node_codes(nodes, ratings.index, ratings.query, ratings.item)
    worker = np.zeros(len(node), np.int32) if ratings.worker is None else ratings.worker
    order = np.lexsort((label, worker, node))
    node, worker, label = node[order], worker[order], label[order]
    same = (np.diff(node, prepend=-1) == 0) & (np.diff(worker, prepend=-1) == 0)
    start = ~(same & (np.diff(label, prepend=-1) == 0))
    weight = None if ratings.weight is None else ratings.weight[order]
    total = summed(np.cumsum(start) - 1, weight, int(start.sum()))
    ends = np.searchsorted(node[start], np.arange(len(nodes)), side="right")
    return _LabelColumns(node[start], worker[start], label[start], total, ends)


class _EachTime(Generic[R]):
    """Values by shard that are computed anew in each iteration, because all of them would not fit in memory."""

    def __init__(self, labels: Labels, function: Callable[[LabelRows], R]) -> None:
        self.labels, self.function = labels, function

    def __iter__(self) -> Iterator[R]:
        return map(self.function, self.labels.pieces())
