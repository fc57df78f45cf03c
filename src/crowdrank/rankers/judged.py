"""Judged documents: features joined with the judgments of a crowd, list by list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    read,
    to_lists,
    translate_ids,
)
from crowdrank.data.spool.features import FeatureFile
from crowdrank.data.tables import UNKNOWN_WORKER
from crowdrank.errors import InputError, Note, UsageError
from crowdrank.prepared.documents import hash_contents, list_starts
from crowdrank.prepared.statements import Statements
from crowdrank.random import Hashes, scramble
from crowdrank.rankers.labeled import Labeled

CROWD, TRUTH, OBSERVER = 0, 1, 2
"""Who says something: the crowd, or one of the voices after its last one."""
UNUSED = "unused-features"
"""The note on features that nobody judged."""
LISTS, PAIRS = "lists", "pairs"
"""What a voice's judgments are. A worker who gives both kinds has two voices."""


@dataclass(frozen=True, eq=False)
class Voices:
    """Who shares an expertise: the ``worker`` of each voice (a code into ``workers``), and its kind of judgments.

    ``named``: whether the judgments name workers.
    """

    workers: pl.Series
    worker: Integers
    kind: tuple[str, ...]
    named: bool = True

    def __len__(self) -> int:
        return len(self.worker)

    def names(self) -> list[tuple[str, str]]:
        """The worker's id and the kind of each voice."""
        return list(zip(self.workers.gather(self.worker).to_list(), self.kind, strict=True))


@dataclass(frozen=True, eq=False)
class Judged:
    """Documents to learn from, and what was said about them.

    ``documents``: list by list, the judged ones of each list first. ``judged``: how many documents of each list
    somebody judged. ``keys``: a hash of the content of each list. ``kinds``: how many judgments of each kind.
    """

    documents: Labeled
    judged: Integers
    keys: Hashes
    statements: Statements
    voices: Voices
    kinds: dict[str, int]
    notes: tuple[Note, ...] = ()

    @property
    def sizes(self) -> Integers:
        """The number of documents of each list."""
        return np.diff(self.documents.start)

    def with_voices(self, voices: Voices) -> Judged:
        """The same lists with the voices of others; what unknown voices say is left out."""
        if voices is self.voices:
            return self
        places = {key: place for place, key in enumerate(voices.names())}
        own = [places.get(key, -1) for key in self.voices.names()]
        code = np.array([*own, len(voices), len(voices) + 1], np.int64)
        return replace(self, statements=self.statements.with_voices(code, len(voices)), voices=voices)

    def counts(self) -> dict[str, int]:
        """How many lists and pairs of the crowd there are."""
        said, voices = self.statements, len(self.voices)
        pairs = said.pair_weight[said.pair_voice < voices].sum()
        return {"lists": int((said.voice < voices).sum()), "pairs": round(float(pairs))}

    def take(self, lists: Integers) -> Judged:
        """Only these lists, in their order."""
        kept = np.zeros(len(self.keys), bool)
        kept[lists] = True
        return replace(
            self,
            documents=self.documents.take(lists),
            judged=self.judged[kept],
            keys=self.keys[kept],
            statements=self.statements.take(kept),
            notes=(),
        )


def read_judgments(given: Any, *, columns: Any = None, unranked: str | None = None) -> list[Judgments]:
    """Tables of judgments of any kind: one table, or a sequence of tables, frames or files, each by itself.

    ``unranked``: what it means if a list does not rank a document of its query, "below" or "unknown".
    """
    many = isinstance(given, Sequence) and not isinstance(given, str)
    tables = [read(one, columns=columns) for one in (given if many else [given])]
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
    notes = [note for table in tables for note in table.notes]
    lists = [to_lists(table) if isinstance(table, Ratings) else table for table in tables]
    notes += [note for own in lists for note in own.notes if note not in notes]
    truth = _anchor_tables(anchors or Anchors())
    located = [_Located.of(features, own) for own in [*lists, *truth]]
    notes += _check_located(features, located[: len(lists)], "judged", missing, elsewhere)
    notes += _check_located(features, located[len(lists) :], "anchored", missing, elsewhere)
    notes += _unused_note(features, located)
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


def _unused_note(features: Features, located: Sequence[_Located]) -> list[Note]:
    """A note on features of documents that nobody judged."""
    rows = np.concatenate([own.rows for own in located])
    ids = pl.concat([own.ids for own in located])
    return [note for note in check_rows(features, rows, ids, "judged", missing="drop") if note.code == UNUSED]


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
    frame = labels.frame.rename({"value": "label"}).with_columns(worker=pl.lit("truth"))
    frame = frame.drop("query") if frame["query"].null_count() == frame.height else frame
    table = read(frame)
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
        ranks, unordered = _number_statements(_concat(self.ranks, _RANKS))
        pairs = _concat(self.pairs, _PAIRS).group_by("query", "better", "worse", "worker", "source").agg(_WEIGHT)
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
        voices, ranks, pairs = _number_voices(ranks, pairs, named=self.named)
        documents = _documents(features, ranks, pairs, whole_queries=whole_queries)
        labeled, judged, keys, documents = _sort_documents(features, documents, self.queries)
        statements = _code_statements(documents, ranks, pairs, len(voices))
        return Judged(labeled, judged, keys, statements, voices, kinds, tuple(notes))


_RANKS = pl.Schema({
    "list": pl.Int64, "query": pl.Int64, "row": pl.Int64, "rank": pl.Float64, "worker": pl.String,
    "weight": pl.Float64, "source": pl.Int64, "table": pl.Int64, "below": pl.Boolean,
})  # fmt: skip
_PAIRS = pl.Schema({
    "query": pl.Int64, "better": pl.Int64, "worse": pl.Int64, "worker": pl.String, "weight": pl.Float64,
    "source": pl.Int64,
})  # fmt: skip
_WEIGHT = pl.col("weight").sort().sum()
"""The sum of weights, in an order that does not depend on the rows: hashes see its last bit."""


def _concat(parts: Sequence[pl.DataFrame], schema: pl.Schema) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=schema), *(part.select(list(schema)).cast(schema) for part in parts)])


def _number_statements(ranks: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Number the statements, with a level for each row, sorted; and how many order nothing and are left out.

    A list of documents of several queries is a statement for each query.
    """
    own = ["query", "table", "list"]
    ranks = ranks.with_columns(
        level=pl.col("rank").rank("dense").over(own).cast(pl.Int64) - 1,
        weight=pl.col("weight").mean().over(own),
    )
    ordered = ranks.filter((pl.col("level").max().over(own) > 0) | pl.col("below"))
    left, kept = (part.filter(pl.col("source") != OBSERVER).select(own).n_unique() for part in (ranks, ordered))
    ordered = ordered.sort(*own, "level", "row").with_columns(statement=pl.struct(own).rle_id().cast(pl.Int64))
    return ordered.drop("table", "list", "rank"), left - kept


def _number_voices(
    ranks: pl.DataFrame, pairs: pl.DataFrame, *, named: bool
) -> tuple[Voices, pl.DataFrame, pl.DataFrame]:
    """Number the voices: those of lists by worker, then those of pairs, the truth and the observer."""
    said = [own.filter(pl.col("source") == CROWD)["worker"] for own in (ranks, pairs)]
    workers = pl.concat(said).unique().sort().alias("worker")
    each = [own.unique().sort() for own in said]
    worker = np.concatenate([translate_ids(own, workers) for own in each]).astype(np.int64)
    kinds = (LISTS,) * len(each[0]) + (PAIRS,) * len(each[1])
    numbered = []
    for frame, own, first in ((ranks, each[0], 0), (pairs, each[1], len(each[0]))):
        source = frame["source"].to_numpy()
        codes = first + translate_ids(frame["worker"], own)
        voice = np.where(source == CROWD, codes, len(kinds) + source - TRUTH)
        numbered.append(frame.with_columns(voice=pl.Series(voice, dtype=pl.Int64)))
    return Voices(workers, worker, kinds, named), numbered[0], numbered[1]


def _documents(
    features: Features, ranks: pl.DataFrame, pairs: pl.DataFrame, *, whole_queries: bool
) -> pl.DataFrame:
    """The documents to learn from: query, row, outside (nobody judged it), and a hash of what was said about it.

    The hash has no part of a name: documents with the same features are told apart by what was said about them.
    What the observer says makes no document a judged one.
    """
    ranks, pairs = (own.filter(pl.col("source") != OBSERVER) for own in (ranks, pairs))
    levels = ranks.group_by("query", "row", "level").agg(_WEIGHT)
    named = pl.concat(
        [
            levels.select("query", "row", said=_hashes(levels, "level", "weight")),
            pairs.select("query", row="better", said=_hashes(pairs, "weight", 1.0)),
            pairs.select("query", row="worse", said=_hashes(pairs, "weight", 2.0)),
        ]
    )
    found = named.group_by("query", "row").agg(pl.col("said").sum()).with_columns(outside=pl.lit(False))
    cut = found if whole_queries else ranks.filter("below")
    if features.query is not None and cut.height:
        code = np.full(int(features.query.max()) + 1, -1)
        code[features.query[cut["row"].to_numpy()]] = cut["query"].to_numpy()
        rows = np.flatnonzero(code[features.query] >= 0)
        every = pl.DataFrame({"query": code[features.query[rows]], "row": rows})
        more = every.join(found, on=["query", "row"], how="anti")
        found = pl.concat(
            [found, more.with_columns(said=pl.lit(0, pl.UInt64), outside=pl.lit(True)).select(found.columns)]
        )
    return found.filter(pl.len().over("query") > 1)


def _hashes(frame: pl.DataFrame, *columns: str | float) -> pl.Series:
    """A hash of these columns, or constants, of each row."""
    found = np.zeros(frame.height, np.uint64)
    for column in columns:
        own = np.full(frame.height, column) if not isinstance(column, str) else frame[column].to_numpy()
        found = scramble(found + np.ascontiguousarray(own, np.float64).view(np.uint64) + np.uint64(1))
    return pl.Series(found >> np.uint64(11), dtype=pl.UInt64)


def _sort_documents(
    features: Features, documents: pl.DataFrame, names: pl.Series
) -> tuple[Labeled, Integers, Hashes, pl.DataFrame]:
    """The documents list by list, the judged ones first, in an order that depends only on their content.

    Returns them with the number of judged ones and the hash of each list; and the frame with the ``list`` of each
    document and its ``place`` there. What is in a file keeps its order: its lists are hashed by their number.
    """
    row, code = (documents[name].to_numpy().astype(np.int64) for name in ("row", "query"))
    query = np.unique(code, return_inverse=True)[1]
    outside = documents["outside"].to_numpy()
    if isinstance(features.values, FeatureFile):
        order = np.lexsort((row, outside, query))
        keys = scramble(np.arange(int(query.max()) + 1, dtype=np.uint64))
    else:
        said = documents["said"].to_numpy() * 2.0**-53
        hashes, keys = hash_contents(features.values[row], query, said, np.zeros(len(row)))
        order = np.lexsort((hashes, outside, query, keys[query]))
    start = list_starts(query[order])
    first = order[start[:-1]]
    lists = np.repeat(np.arange(len(first)), np.diff(start))
    judged = np.bincount(lists, ~outside[order], len(first)).astype(np.int64)
    sorted_ = documents[order].with_columns(
        list=pl.Series(lists, dtype=pl.Int64),
        place=pl.Series(np.arange(len(order)) - start[lists], dtype=pl.Int64),
    )
    zero, one = np.zeros(len(order)), np.ones(len(order))
    labeled = Labeled(features, row[order], start, zero, one, names.gather(code[first]).alias("query"))
    return labeled, judged, keys[query[first]], sorted_


def _code_statements(documents: pl.DataFrame, ranks: pl.DataFrame, pairs: pl.DataFrame, voices: int) -> Statements:
    """Statements and pairs with lists and places for queries and rows, sorted by list.

    Within a list they are sorted by voice. Statements of queries that were left out are left out.
    """
    where = documents.select("query", "row", "list", "place")
    judged = documents.filter(~pl.col("outside")).select("query", "row")
    ranks = ranks.join(judged, on=["query", "row"], how="semi").join(where, on=["query", "row"])
    ranks = ranks.sort("list", "voice", "statement", "level", "place")
    heads = ranks.group_by("statement", maintain_order=True).agg(
        pl.col("list", "voice", "weight", "below").first(), rows=pl.len()
    )
    for side in ("better", "worse"):
        pairs = pairs.join(where.rename({"row": side, "place": f"{side}_place"}), on=["query", side])
        pairs = pairs.drop("list") if side == "better" else pairs
    pairs = pairs.sort("list", "voice", "better_place", "worse_place")

    def column(frame: pl.DataFrame, name: str) -> Any:
        return frame[name].to_numpy()

    return Statements(
        voices=voices,
        list=column(heads, "list"),
        voice=column(heads, "voice"),
        weight=column(heads, "weight"),
        below=column(heads, "below"),
        start=np.append(0, np.cumsum(column(heads, "rows"))).astype(np.int64),
        document=column(ranks, "place"),
        level=column(ranks, "level"),
        pair_list=column(pairs, "list"),
        better=column(pairs, "better_place"),
        worse=column(pairs, "worse_place"),
        pair_voice=column(pairs, "voice"),
        pair_weight=column(pairs, "weight"),
    )
