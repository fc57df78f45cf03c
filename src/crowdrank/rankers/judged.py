"""Judged documents: features joined with the judgments of a crowd, list by list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import (
    LEFT,
    TIE,
    Anchors,
    Features,
    Integers,
    Judgments,
    Pairs,
    Rankings,
    Ratings,
    Scored,
    check_rows,
    feature_rows,
    load_rows,
    read,
    to_lists,
    translate_ids,
)
from crowdrank.data.ids import TEXT_IDS, UNKNOWN_WORKER, Backend
from crowdrank.data.io.frames import each_table
from crowdrank.data.io.split_queries import SPLIT
from crowdrank.errors import InputError, Note, UsageError
from crowdrank.rankers.statement_rows import (
    CROWD,
    LISTS,
    OBSERVER,
    PAIRS,
    PAIRS_SCHEMA,
    RANKS,
    TRUTH,
    UNUSED,
    WEIGHT,
    Judged,
    Voices,
    code_statements,
    concat_rows,
    list_documents,
    number_statements,
    number_voices,
    sort_documents,
)

__all__ = ["LISTS", "PAIRS", "UNUSED", "Judged", "Voices", "join_judgments", "read_judgments"]


def read_judgments(given: Any, *, columns: Any = None, unranked: str | None = None) -> list[Judgments]:
    """Tables of judgments of any kind: one table, or a sequence of tables, frames or files, each by itself.

    ``unranked``: what it means if a list does not rank a document of its query, "below" or "unknown".
    """
    tables = [load_rows(read(one, columns=columns)) for one in each_table(given)]
    if not tables:
        raise InputError("No judgments were given.", hint="Name at least one file, or - for standard input.")
    for table in tables:
        if not isinstance(table, Pairs | Rankings | Ratings):
            raise InputError("These pairs do not fit in memory, and training needs all of them at once.")
    if unranked is not None and not any(isinstance(table, Rankings) for table in tables):
        kinds = " and ".join(dict.fromkeys(table.kind for table in tables))
        raise UsageError(f"{unranked!r} applies only to rankings. These judgments are {kinds}.")
    return [read(own, missing=unranked) if isinstance(own, Rankings) else own for own in tables]


def join_judgments(
    features: Features,
    tables: Sequence[Judgments],
    anchors: Anchors | None = None,
    *,
    missing: str = "error",
    elsewhere: Features | None = None,
    observed: Scored | None = None,
    whole_queries: bool = False,
) -> Judged:
    """Join features with judgments, and with the true lists, labels or pairs of the anchors.

    ``elsewhere``: features of other queries; what is judged there is passed over. ``observed``: labels that have
    no effect, for the observer. ``whole_queries``: keep all documents of the judged queries, whatever lists say.

    ``missing``: whether a judged item without features is an error or is left out ("drop"). All documents of a
    query are learned from if a list of it says that unranked documents are below; otherwise those that somebody
    judged: Plackett-Luce of some documents does not depend on the others.
    """
    crowd = reduce(Backend.joined, (table.backend for table in tables)) if tables else TEXT_IDS
    features = replace(features, backend=features.backend.with_workers(crowd))
    notes = [note for table in tables for note in table.notes]
    lists = [to_lists(table) if isinstance(table, Ratings) else table for table in tables]
    notes += [note for own in lists for note in own.notes if note not in notes]
    notes = [note for note in notes if note.code != SPLIT]  # here the features tell items of two queries apart
    truth = _anchor_tables(anchors or Anchors())
    located = [_Located.of(features, own) for own in [*lists, *truth]]
    notes += _check_located(features, located[: len(lists)], "judged", missing, elsewhere)
    notes += _check_located(features, located[len(lists) :], "anchored", missing, elsewhere)
    notes += _unranked_notes(lists)
    queries = pl.concat([own.queries for own in located]).unique().sort()
    found = _Said(queries)
    for number, own in enumerate(located):
        found.add(own, TRUTH if number >= len(lists) else CROWD)
    if observed is not None:
        found.add(_Located.of(features, _labels_as_lists(observed)), OBSERVER)
    return found.judged(features, notes, _kinds(tables), whole_queries=whole_queries)


def _check_located(
    features: Features, located: Sequence[_Located], done: str, missing: str, elsewhere: Features | None
) -> list[Note]:
    """Raise an error if items lack features, unless they have them elsewhere. ``done``: "judged" or "anchored"."""
    if not located:
        return []
    ids, rows = pl.concat([own.ids for own in located]), np.concatenate([own.rows for own in located])
    if elsewhere is not None:
        asked = None if ids["query"].null_count() == ids.height else ids["query"]
        here = (rows >= 0) | (feature_rows(elsewhere, asked, ids["item"]) < 0)
        if not here.any() and done == "anchored":
            return []
        if here.any():
            ids, rows = ids.filter(pl.Series(here)), rows[here]
    return [note for note in check_rows(features, rows, ids, done, missing=missing) if note.code != UNUSED]


def _unused_note(features: Features, rows: Integers) -> list[Note]:
    """A note on features of documents that nobody judged; ``rows``: those of the others."""
    ids = features.take(rows).ids()
    return [note for note in check_rows(features, rows, ids, "judged", missing="drop") if note.code == UNUSED]


def _unranked_notes(tables: Sequence[Judgments]) -> list[Note]:
    """A note if documents that a list does not rank count as below those that it ranks."""
    below = sum(own.lists for own in tables if isinstance(own, Rankings) and own.missing == "below")
    if not below:
        return []
    lists = "1 list that does" if below == 1 else f"{below} lists that do"
    message = f"In {lists} not rank a document of the query, it counts as below the ranked ones (missing=below)."
    return [Note("missing", message)]


def _kinds(tables: Sequence[Judgments]) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for table in tables:
        kinds[table.kind] = kinds.get(table.kind, 0) + table.rows
    return kinds


def _anchor_tables(anchors: Anchors) -> list[Rankings | Pairs]:
    """What is known for certain, as lists and pairs."""
    found: list[Rankings | Pairs] = []
    if anchors.lists is not None:
        found.append(anchors.lists)
    if anchors.labels is not None:
        found.append(_labels_as_lists(anchors.labels))
    if anchors.pairs is not None:
        found.append(anchors.pairs)
    return found


def _labels_as_lists(labels: Scored) -> Rankings:
    if labels.names:
        raise InputError("Rankers need known labels that are numbers. Got text.", source=labels.source)
    frame = labels.frame.rename({"value": "label"}).with_columns(worker=pl.lit("truth"))
    gaps = frame["query"].is_null()
    if gaps.any() and not gaps.all():
        row = int(gaps.arg_true()[0]) + 1
        raise InputError("the value is missing.", source=labels.source, row=row, column="query")
    table = read(frame.drop("query") if gaps.all() else frame)
    assert isinstance(table, Ratings)
    return to_lists(table)


@dataclass(frozen=True, eq=False)
class _Located:
    """A table of lists or pairs whose items are found in the features.

    ``keys``: the sorted (query, item) codes that it names. ``ids``: query (null if there is none) and item of
    each; ``rows``: its row of the features, -1 if there is none; ``queries``: its query, that of the features if
    they have queries.
    """

    table: Rankings | Pairs
    keys: Integers
    ids: pl.DataFrame
    rows: Integers
    queries: pl.Series

    @classmethod
    def of(cls, features: Features, table: Judgments) -> _Located:
        assert isinstance(table, Rankings | Pairs)
        index, width = table.index, len(table.index.items)
        keys = np.unique(np.concatenate([_codes(table, name) for name in table.item_columns]))
        item = index.items.gather(keys % width).alias("item")
        asked = None if index.queries is None else index.queries.gather(keys // width).alias("query")
        rows = feature_rows(features, asked, item)
        named = pl.repeat(None, len(item), dtype=pl.String, eager=True) if asked is None else asked
        queries = named.alias("query")
        if features.query is not None and features.index.queries is not None:
            queries = features.index.queries.gather(features.query[np.maximum(rows, 0)]).alias("query")
        return cls(table, keys, pl.DataFrame({"query": named.alias("query"), "item": item}), rows, queries)

    def nodes(self, name: str) -> Integers:
        """The place in ``keys`` of each row of the table, for one of its columns of items."""
        return np.searchsorted(self.keys, _codes(self.table, name))

    def columns(self, source: int) -> dict[str, Any]:
        """The worker and the weight of each row, and who says it."""
        table, count = self.table, len(getattr(self.table, self.table.item_columns[0]))
        worker = pl.repeat(UNKNOWN_WORKER, count, dtype=pl.String, eager=True)
        if table.index.workers is not None and table.worker is not None:
            worker = table.index.workers.gather(table.worker)
        weight = np.ones(count) if table.weight is None else np.asarray(table.weight)
        return {"worker": worker, "weight": weight, "source": pl.repeat(source, count, eager=True)}


def _codes(table: Judgments, name: str) -> Integers:
    """The (query, item) of each row as one number."""
    item = np.asarray(getattr(table, name), np.int64)
    return item if table.query is None else table.query.astype(np.int64) * len(table.index.items) + item


def _voice_notes(ranks: pl.DataFrame, voices: Voices) -> list[Note]:
    """Notes if all judgments come from one worker, or if a worker gave several lists of the same documents."""
    notes = []
    if len(voices.workers) == 1:
        message = "All judgments come from one worker. How good they are rests on how well features explain them."
        notes.append(Note("one-worker", message))
    said = ranks.filter(pl.col("source") == CROWD).sort("statement", "row")
    lists = said.group_by("statement", maintain_order=True).agg(pl.col("query", "voice").first(), "row", "level")
    again = int(lists.select(pl.struct("query", "voice", "row", "level").is_duplicated().sum()).item())
    if again:
        message = f"{again} lists occur more than once, by the same worker with the same ranks; each one counts."
        notes.append(Note("repeated-lists", message, "Was a file given twice?"))
    return notes


class _Said:
    """Everything that was said, collected from several tables, and then coded."""

    def __init__(self, queries: pl.Series) -> None:
        self.queries = queries
        self.named, self.ranks, self.pairs = False, list[pl.DataFrame](), list[pl.DataFrame]()
        self.ties = 0

    def add(self, given: _Located, source: int) -> None:
        """Add the rows of a table."""
        self.named |= given.table.index.workers is not None and source == CROWD
        shared, query = given.columns(source), self._query_codes(given.queries)
        if isinstance(given.table, Rankings):
            self._add_ranks(given, given.table, query, shared)
        else:
            self._add_pairs(given, given.table, query, shared)

    def _add_ranks(self, given: _Located, table: Rankings, query: Integers, shared: dict[str, Any]) -> None:
        node = given.nodes("item")
        frame = pl.DataFrame(
            {"list": table.list, "query": query[node], "row": given.rows[node], "rank": table.rank, **shared}
        ).with_columns(table=len(self.ranks), below=table.missing == "below")
        self.ranks.append(frame.filter(pl.Series(given.rows[node] >= 0), pl.col("rank").is_not_nan()))

    def _add_pairs(self, given: _Located, table: Pairs, query: Integers, shared: dict[str, Any]) -> None:
        left, right = given.nodes("left"), given.nodes("right")
        wins = table.outcome == LEFT
        better, worse = (given.rows[np.where(wins, *pair)] for pair in ((left, right), (right, left)))
        frame = pl.DataFrame({"query": query[left], "better": better, "worse": worse, **shared})
        self.ties += int((table.outcome == TIE).sum())
        ordered = (better >= 0) & (worse >= 0) & (better != worse) & (table.outcome != TIE)
        self.pairs.append(frame.filter(pl.Series(ordered & (query[left] == query[right]))))

    def _query_codes(self, ids: pl.Series) -> Integers:
        first = self.queries.null_count()
        codes = translate_ids(ids.fill_null(""), self.queries[first:]).astype(np.int64) + first
        return np.where(ids.is_null().to_numpy(), 0, codes)

    def judged(
        self, features: Features, notes: Sequence[Note], kinds: dict[str, int], *, whole_queries: bool
    ) -> Judged:
        """The documents, and the statements about them."""
        ranks, unordered = number_statements(concat_rows(self.ranks, RANKS))
        pairs = (
            concat_rows(self.pairs, PAIRS_SCHEMA)
            .group_by("query", "better", "worse", "worker", "source")
            .agg(WEIGHT)
        )
        if not ranks.height and not pairs.height:
            raise InputError(
                "no judgment orders two documents that have features.",
                source=features.source,
                hint="A list needs at least two documents of one query that are not tied.",
            )
        if unordered:
            words = "list orders" if unordered == 1 else "lists order"
            were = "is" if unordered == 1 else "are"
            notes = [*notes, Note("empty-lists", f"{unordered} {words} no two documents and {were} left out.")]
        if self.ties:
            were = "pair is a tie and is" if self.ties == 1 else "pairs are ties and are"
            notes = [*notes, Note("ties-dropped", f"{self.ties} {were} left out.")]
        voices, ranks, pairs = number_voices(ranks, pairs, named=self.named)
        documents = list_documents(features, ranks, pairs, whole_queries=whole_queries)
        labeled, judged, keys, documents = sort_documents(features, documents, self.queries)
        statements = code_statements(documents, ranks, pairs, len(voices))
        notes = [*notes, *_unused_note(features, labeled.rows), *_voice_notes(ranks, voices)]
        if self.queries.null_count():
            notes.append(
                Note("one-query", f"There is no query column: all {len(labeled.rows)} documents are one query.")
            )
        return Judged(labeled, judged, keys, statements, voices, kinds, tuple(notes))
