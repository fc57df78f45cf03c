"""What was said, as rows of frames, coded as documents, voices and statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Features, Integers, translate_ids
from crowdrank.data.spool.features import FeatureFile
from crowdrank.errors import Note
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


RANKS = pl.Schema({
    "list": pl.Int64, "query": pl.Int64, "row": pl.Int64, "rank": pl.Float64, "worker": pl.String,
    "weight": pl.Float64, "source": pl.Int64, "table": pl.Int64, "below": pl.Boolean,
})  # fmt: skip
PAIRS_SCHEMA = pl.Schema({
    "query": pl.Int64, "better": pl.Int64, "worse": pl.Int64, "worker": pl.String, "weight": pl.Float64,
    "source": pl.Int64,
})  # fmt: skip
WEIGHT = pl.col("weight").sort().sum()
"""The sum of weights, in an order that does not depend on the rows: hashes see its last bit."""


def concat_rows(parts: Sequence[pl.DataFrame], schema: pl.Schema) -> pl.DataFrame:
    """The rows of all parts in the columns of the schema; none if there are no parts."""
    return pl.concat([pl.DataFrame(schema=schema), *(part.select(list(schema)).cast(schema) for part in parts)])


def number_statements(ranks: pl.DataFrame) -> tuple[pl.DataFrame, int]:
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


def number_voices(
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


def list_documents(
    features: Features, ranks: pl.DataFrame, pairs: pl.DataFrame, *, whole_queries: bool
) -> pl.DataFrame:
    """The documents to learn from: query, row, outside (nobody judged it), and a hash of what was said about it.

    No name enters the hash. Documents with the same features differ in it by the judgments about them.
    What the observer says makes no document a judged one.
    """
    ranks, pairs = (own.filter(pl.col("source") != OBSERVER) for own in (ranks, pairs))
    levels = ranks.group_by("query", "row", "level").agg(WEIGHT)
    named = pl.concat(
        [
            levels.select("query", "row", said=_hashes(levels, "level", "weight")),
            pairs.select("query", row="better", said=_hashes(pairs, "weight", 1.0)),
            pairs.select("query", row="worse", said=_hashes(pairs, "weight", 2.0)),
        ]
    )
    found = named.group_by("query", "row").agg(pl.col("said").sum()).with_columns(outside=pl.lit(False))
    cut = found if whole_queries else ranks.filter("below")
    if features.query is None and cut.height and not found["query"].any():  # one query has all documents
        unnamed = np.setdiff1d(np.arange(features.rows), found["row"].to_numpy())
        others = pl.DataFrame({"query": np.zeros(len(unnamed), np.int64), "row": unnamed})
        others = others.with_columns(said=pl.lit(0, pl.UInt64), outside=pl.lit(True)).select(found.columns)
        return pl.concat([found, others])
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


def sort_documents(
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


def code_statements(documents: pl.DataFrame, ranks: pl.DataFrame, pairs: pl.DataFrame, voices: int) -> Statements:
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
