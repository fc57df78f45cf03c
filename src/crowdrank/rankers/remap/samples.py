"""The samples of a source: each is one label that one worker gave to one document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import (
    Features,
    Floats,
    Integers,
    Judgments,
    Ratings,
    Scored,
    check_rows,
    feature_rows,
    summed,
)
from crowdrank.data.io.split_queries import SPLIT
from crowdrank.errors import InputError, Note, Remedy
from crowdrank.prepared.documents import Documents, list_starts, sort_by_content
from crowdrank.prepared.plan import cut
from crowdrank.random import generator
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.preparation import Preparation
from crowdrank.rankers.remap.ridge import SampleShard

KEY = ("query", "item")
WIDTH = 8
"""A shard has fewer documents by the number of features over this."""
HONEYPOT = "honeypot"
UNUSED = "unused-features"
RARE = 1e-3
"""A label that is rarer than this may be a slip."""


@dataclass(frozen=True, eq=False)
class CrowdLabels:
    """The labels of a crowd. ``frame``: query, item, worker, label, weight, and whether it is of a honeypot.

    ``values``: the distinct labels in ascending order. ``honeypots``: query, item, label of the honeypots that
    somebody labeled, or None if there are none. Equal labels by one worker for one document are one row.
    """

    ratings: Ratings
    frame: pl.DataFrame
    values: Floats
    honeypots: pl.DataFrame | None
    notes: tuple[Note, ...] = ()

    @property
    def samples(self) -> pl.DataFrame:
        """The rows to learn from: honeypots are none (section 3 of the paper)."""
        return self.frame.filter(~pl.col(HONEYPOT)).drop(HONEYPOT)


def read_labels(tables: list[Judgments], honeypots: Scored | None) -> CrowdLabels:
    """The labels of a crowd, from a table of ratings that names its workers."""
    ratings = _one_table(tables)
    if ratings.worker is None:
        raise InputError(
            "the labels do not say which worker gave them, and remap learns what each worker's labels are worth.",
            hint=("Name their column: ", Remedy("judgment_columns", "worker=NAME")),
        )
    values = np.unique(ratings.label)
    if len(values) < 2:
        raise InputError(f"every label of the crowd is {values[0]:g}, so there is nothing to learn from.")
    index = ratings.index
    query = pl.repeat(None, ratings.rows, dtype=pl.String, eager=True)
    if ratings.query is not None and index.queries is not None:
        query = index.queries.gather(ratings.query)
    assert index.workers is not None
    frame = pl.DataFrame(
        {
            "query": query,
            "item": index.items.gather(ratings.item),
            "worker": index.workers.gather(ratings.worker),
            "label": ratings.label,
            "weight": np.ones(ratings.rows) if ratings.weight is None else ratings.weight,
        }
    )
    frame = frame.group_by("query", "item", "worker", "label").agg(pl.col("weight").sum())
    frame = frame.sort("query", "item", "worker", "label")
    known, notes = _match_honeypots(frame, honeypots, values)
    notes += _label_notes(ratings, frame)
    marks = frame.select(*KEY).clear() if known is None else known.select(*KEY)
    frame = frame.join(
        marks.with_columns(pl.lit(True).alias(HONEYPOT)),
        on=KEY,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    ).with_columns(pl.col(HONEYPOT).fill_null(False))
    own = (note for note in ratings.notes if note.code != SPLIT)  # the features tell items of two queries apart
    return CrowdLabels(ratings, frame, values, known, (*own, *notes))


def _one_table(tables: list[Judgments]) -> Ratings:
    for table in tables:
        if not isinstance(table, Ratings):
            raise InputError(
                f"remap learns from labels (item, label), and these judgments are {table.kind}.",
                hint=("Other rankers learn from them, without a target: ", Remedy("model", "ltrma-mle")),
            )
    if len(tables) > 1:
        raise InputError(
            "remap reads one table of labels.", hint="Join the files first: their columns are the same."
        )
    found = tables[0]
    assert isinstance(found, Ratings)
    found.require_order("remap")
    return found


def _match_honeypots(
    frame: pl.DataFrame, honeypots: Scored | None, values: Floats
) -> tuple[pl.DataFrame | None, list[Note]]:
    """The honeypots that somebody labeled, and notes. A label outside the scale of the crowd is an error."""
    if honeypots is None:
        return None, []
    known, source = honeypots.frame.rename({"value": "label"}), honeypots.source
    outside = known.filter(~pl.col("label").is_in(values.tolist()))
    if outside.height:
        first = outside.row(0, named=True)
        scale = ", ".join(f"{value:g}" for value in values)
        raise InputError(
            f"the honeypot {first['item']!r} has the label {first['label']:g}; the crowd's labels are {scale}.",
            source=source,
            hint="A honeypot's label is what the crowd should have said, on its own scale.",
        )
    if known["query"].null_count() == known.height and frame["query"].null_count() == 0:
        _require_one_query(frame, known, source)
        known = known.drop("query").join(frame.select(*KEY).unique(), on="item", how="inner").select(*KEY, "label")
    used = known.join(frame.select(*KEY).unique(), on=KEY, how="semi", nulls_equal=True)
    if not used.height:
        raise InputError(
            "nobody labeled a honeypot: the labels and the honeypots have no item in common.",
            source=source,
            hint="The judgments must contain the workers' labels of honeypots. Ids are text: '01' is not '1'.",
        )
    notes = []
    if used.height < known.height:
        notes.append(Note("honeypots", f"{known.height - used.height} honeypots were labeled by nobody."))
    asked = frame.join(used, on=KEY, how="semi", nulls_equal=True)["worker"].n_unique()
    without = frame["worker"].n_unique() - asked
    if without:
        who = "1 worker" if without == 1 else f"{without} workers"
        notes.append(Note("honeypots", f"{who} labeled no honeypot; they count as average in what honeypots say."))
    return used.sort(*KEY), notes


@dataclass(frozen=True, eq=False)
class Source:
    """The documents of the source, query by query, and their samples.

    ``rows``: of the features. ``document``, ``weight``, ``label``: of each sample, in the order of ``samples``,
    which is that of the documents. The labels are numbered, and there are ``labels`` of them.
    """

    features: Features
    rows: Integers
    start: Integers
    query: pl.Series
    samples: pl.DataFrame
    document: Integers
    weight: Floats
    label: Integers
    labels: int
    notes: tuple[Note, ...] = ()

    @property
    def lists(self) -> int:
        """The number of queries."""
        return len(self.start) - 1

    def keys(self) -> pl.DataFrame:
        """query, item of each document, as the labels name them: without a query if they have none."""
        return self.samples[np.searchsorted(self.document, np.arange(len(self.rows)))].select(*KEY)

    def documents(self, preparation: Preparation) -> Documents:
        """The documents with prepared features, and labels and weights that are still to be given.

        Features are standardized within the query over all its documents, as in scoring.
        """
        count = len(self.rows)
        labeled = Labeled(self.features, self.rows, self.start, np.zeros(count), np.ones(count), self.query)
        return dense_documents(labeled.prepare(preparation))

    def shards(self, values: Any, by_weight: Floats, by_value: Floats, lists: Any = None) -> list[SampleShard]:
        """The samples in shards, with these prepared features of all documents; of some queries only."""
        inside = np.ones(self.lists, bool) if lists is None else np.isin(np.arange(self.lists), lists)
        sample_list = np.searchsorted(self.start, self.document, side="right") - 1
        values = center_within(values, self.start)
        shards = []
        kept = np.flatnonzero(inside)
        sizes = np.diff(self.start)[kept]
        ends = np.cumsum(sizes)
        for low, high in cut(ends, width=max(values.shape[1] // WIDTH, 1)):
            own = kept[low:high]
            rows = np.concatenate([np.arange(self.start[one], self.start[one + 1]) for one in own])
            place = np.full(len(self.rows), -1)
            place[rows] = np.arange(len(rows))
            chosen = np.flatnonzero(np.isin(sample_list, own))
            start = np.append(0, np.cumsum(sizes[low:high]))
            shards.append(
                SampleShard(
                    np.ascontiguousarray(values[rows]), start, place[self.document[chosen]], self.weight[chosen],
                    *_both(by_weight, by_value, chosen), self.label[chosen], self.labels,
                )
            )  # fmt: skip
        return shards

    def split(self, share: float, seed: int) -> tuple[Integers, Integers]:
        """The lists in two parts; the first has this share of them. Lists are sorted by content, not by name."""
        order = generator(seed, key=3).permutation(self.lists)
        count = round(share * self.lists)
        return np.sort(order[:count]), np.sort(order[count:])


def join_source(features: Features, labels: CrowdLabels, *, missing: str = "error") -> Source:
    """Join the features with the labels of the crowd. Documents of equal content keep no order of their names."""
    samples = labels.samples
    if not samples.height:
        raise InputError("every labeled document is a honeypot, so there is nothing to learn from.")
    asked = None if samples["query"].null_count() == samples.height else samples["query"]
    rows = feature_rows(features, asked, samples["item"])
    notes = [
        note for note in check_rows(features, rows, samples, "labeled", missing=missing) if note.code != UNUSED
    ]
    notes += _unused_notes(features, rows, labels)
    samples, rows = samples.filter(pl.Series(rows >= 0)), rows[rows >= 0]
    unique, first = np.unique(rows, return_inverse=True)
    query = np.zeros(len(unique), np.int64) if features.query is None else features.query[unique].astype(np.int64)
    weight = samples["weight"].to_numpy()
    said, mass = (summed(first, own, len(unique)) for own in (samples["label"].to_numpy() * weight, weight))
    order = sort_by_content(features.dense(unique), query, said, mass)
    place = np.empty(len(unique), np.int64)
    place[order] = np.arange(len(unique))
    document = place[first]
    sorted_samples = np.lexsort((samples["label"].to_numpy(), document))
    start = list_starts(query[order])
    names = pl.Series("query", [None] * (len(start) - 1), pl.String)
    if features.index.queries is not None:
        names = features.index.queries.gather(query[order][start[:-1]]).rename("query")
    samples = samples[sorted_samples]
    return Source(
        features, unique[order], start, names, samples, document[sorted_samples],
        samples["weight"].to_numpy(), np.searchsorted(labels.values, samples["label"].to_numpy()),
        len(labels.values), tuple(notes),
    )  # fmt: skip


def _require_one_query(frame: pl.DataFrame, known: pl.DataFrame, source: str | None) -> None:
    """Raise an error if a honeypot without a query was labeled for several queries."""
    pairs = frame.select(*KEY).unique().join(known, on="item", how="semi")
    several = pairs.group_by("item").len().filter(pl.col("len") > 1).sort("item")
    if several.height:
        item, count = several.row(0)
        raise InputError(
            f"the honeypot {item!r} names no query, but was labeled for {count} queries.",
            source=source,
            hint="Give the honeypots a column named query.",
        )


def _label_notes(ratings: Ratings, frame: pl.DataFrame) -> list[Note]:
    """Notes on labels that repeat or contradict others of the same worker, and on labels that hardly occur."""
    notes = []
    repeated = ratings.rows - frame.height
    if repeated:
        rows = "1 row repeats" if repeated == 1 else f"{repeated} rows repeat"
        notes.append(
            Note("labels", f"{rows} the label of the same worker for the same document, and count as weight.")
        )
    against = int((frame.group_by("query", "item", "worker").len()["len"] > 1).sum())
    if against:
        cases = "1 document" if against == 1 else f"{against} documents"
        notes.append(Note("labels", f"For {cases} a worker gave different labels; all of them count."))
    counts = frame.group_by("label").agg(pl.col("weight").sum()).sort("label")
    rare = counts.filter(pl.col("weight") < RARE * float(counts["weight"].sum()))
    for value, weight in rare.iter_rows():
        notes.append(
            Note(
                "labels",
                f"The label {value:g} occurs only {'once' if weight == 1 else f'{weight:g} times'}: is it a slip?",
            )
        )
    return notes


def _unused_notes(features: Features, rows: Integers, labels: CrowdLabels) -> list[Note]:
    """A note on features of documents that nobody labeled. Honeypots were labeled, but are no samples."""
    used = np.zeros(features.rows, bool)
    used[rows[rows >= 0]] = True
    if labels.honeypots is not None:
        asked = None if labels.honeypots["query"].null_count() else labels.honeypots["query"]
        found = feature_rows(features, asked, labels.honeypots["item"])
        used[found[found >= 0]] = True
    count = int((~used).sum())
    words = (
        "1 document has features, but no label, and is"
        if count == 1
        else f"{count} documents have features, but no label, and are"
    )
    return [Note(UNUSED, f"{features.source}: {words} left out.")] if count else []


def dense_documents(documents: Documents) -> Documents:
    """The same documents with features that are no longer sparse, nor in a file."""
    values = documents.values
    if hasattr(values, "read"):
        values = values.read(0, len(documents.label))
    return replace(documents, values=values.toarray() if hasattr(values, "toarray") else values)


def center_within(values: Floats, start: Integers) -> Floats:
    """The values less the mean of their query. The intercepts make up for it, and sums lose no digits."""
    sizes = np.diff(start)[:, None]
    mean = np.add.reduceat(values, start[:-1], axis=0, dtype=np.float64) / sizes
    return np.asarray(values - np.repeat(mean, sizes[:, 0], axis=0), np.float32)


def _both(one: Floats, other: Floats, rows: Integers) -> tuple[Floats, Floats]:
    """The rows of two matrices; of the same one only once."""
    first = one[rows]
    return first, first if other is one else other[rows]
