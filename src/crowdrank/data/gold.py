"""Gold, which only scores a ranking, and anchors, which are part of a fit."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.data.index import Index, Nodes, node_codes, translate_ids
from crowdrank.data.io.cells import ROW, TextCells, first_row
from crowdrank.data.io.checks import are_words
from crowdrank.data.io.columns import (
    OPTIONAL,
    MissingColumnError,
    join_names,
    parse_mapping,
    plain_name,
    recognize,
)
from crowdrank.data.io.frames import is_rows
from crowdrank.data.io.graded_guesses import find_graded
from crowdrank.data.io.letor import LetorRole
from crowdrank.data.io.read import AnyJudgments, read
from crowdrank.data.io.text_tables import GRADES, RANKS, read_text_table
from crowdrank.data.suspicions.ids import similar_gold_hint
from crowdrank.data.tables import RIGHT, TIE, GradedJudgments, Judgments, Pairs, Rankings
from crowdrank.errors import InputError, Remedy, UsageError, name_hint

SYSTEMS = (*OPTIONAL["worker"], "system", "run", "tag")
"""What the column is called that says whose ranking a row belongs to."""


@dataclass(frozen=True, eq=False)
class Scored:
    """A number for each item, by query: a gold standard's grades or a ranking's scores.

    ``frame`` has query (null if there is only one query), item, value; larger = better. ``source``: the file.
    ``column``: the column of the values; ``ranks``: they were ranks there, smaller = better. ``names``: the
    labels, if they are text; a value is then the place of its name.
    """

    frame: pl.DataFrame
    source: str | None = None
    column: str | None = None
    ranks: bool = False
    names: tuple[str, ...] = ()

    def coded_as(self, judgments: GradedJudgments) -> Scored:
        """The same labels as numbers of these judgments. It is an error if only one of the two has text."""
        if not self.names and not judgments.names:
            return self
        if not self.names or not judgments.names:
            kinds = ("text", "numbers") if self.names else ("numbers", "text")
            raise InputError(
                "Known labels are {}, and the labels of these judgments are {}.".format(*kinds),
                hint="Write the labels in the same way in both files.",
            )
        for name in self.names:
            if name not in judgments.names:
                raise InputError(
                    f"The known label {name!r} is none of the labels of these judgments.",
                    hint=name_hint(name, judgments.names, "The labels are", repr),
                )
        places = [float(judgments.names.index(name)) for name in self.names]
        coded = self.frame.with_columns(pl.Series("value", places).gather(self.frame["value"].cast(pl.Int64)))
        return replace(self, frame=coded, names=())

    def require_common(self, index: Index) -> None:
        """Raise an error, before any fit, if this gold cannot score judgments with this index."""
        if index.queries is None and self.frame["query"].n_unique() > 1:
            raise InputError(
                "The gold has queries, but the judgments have none.",
                hint=("Name them: ", Remedy("columns", "query=NAME")),
            )
        if not index.items.is_in(self.frame["item"].to_list()).any():
            raise nothing_in_common(self, self.frame["item"], "judged", index.items)


def nothing_in_common(gold: Scored, items: pl.Series, done: str, others: pl.Series) -> InputError:
    """The error for gold that grades none of the other items, which were judged or ranked."""
    graded, there = (", ".join(map(repr, own[:3])) + (", ..." if len(own) > 3 else "") for own in (items, others))
    usual = "Ids are text: '01' is not '1'. Queries are compared too if both sides have them."
    return InputError(
        f"the gold has no item in common with what was {done}: {graded} are graded, and {there} are {done}.",
        source=gold.source or "gold",
        hint=similar_gold_hint(items, others) or usual,
    )


def read_gold(given: Any, *, columns: Mapping[str, str] | str | None = None, names: Sequence[str] = ()) -> Scored:
    """Gold grades: ``[query,] item`` and one of grade, gold, label, relevance; TREC qrels; LETOR labels.

    Or true_rank or rank (1 = best), which becomes the grade ``largest rank - rank``. Grades and ranks below 0 mean
    "not judged". ``columns`` maps these names to other column names: ``"item=doc,grade=rel"``. ``names``: the
    labels from worst to best, if grades may be text. A list of files is read as one.
    """
    letor = LetorRole("labels")
    if isinstance(given, list | tuple) and not is_rows(given):
        return _merge_gold([_read_grades(one, columns, letor, names) for one in given], given)
    return _read_grades(given, columns, letor, names)


def _read_grades(
    given: Any, mapping: Mapping[str, str] | str | None, letor: LetorRole, names: Sequence[str]
) -> Scored:
    mapping = parse_mapping(mapping) if isinstance(mapping, str) else mapping or {}
    frame, name, columns = _open(given, mapping, letor)
    known = (*GRADES, *RANKS)
    # a column that was named counts more than one that is called so
    found = next((role for own in (mapping, columns) for role in known if own.get(role)), None)
    if found is None or "item" not in columns:
        raise InputError(
            f"is not a gold file; its columns are {_list_names(frame)}.",
            source=name,
            hint=(
                f"Gold has item and one of {', '.join(known)}; query is optional. ",
                *_other_names(frame.columns),
            ),
        )
    if names and found in GRADES:
        frame = _with_places(frame, columns[found], names)
    scored = _read_scores(frame, name, columns, found)
    _require_queries(scored, name, columns)
    if found in RANKS:
        rank = pl.col("value")
        scored = scored.with_columns(
            pl.when(rank < 0).then(-1.0).otherwise(rank.max().over("query") - rank).alias("value")
        )
    return Scored(scored, name, columns[found], found in RANKS)


def _list_names(frame: pl.DataFrame) -> str:
    """The names of the columns as they are in the file."""
    return ", ".join(repr(plain_name(name)) for name in frame.columns)


def _other_names(names: Sequence[str]) -> tuple[str, Remedy] | tuple[()]:
    """How to name the columns of gold that probably has other names."""
    found = find_graded(names, {})
    if found is None:
        return ()
    roles = {{"label": "grade"}.get(role, role): name for role, name in found.roles.items() if role != "worker"}
    return "Name other columns: ", Remedy(
        "gold_columns", join_names(f"{role}={own}" for role, own in roles.items())
    )


def _merge_gold(parts: Sequence[Scored], names: Sequence[Any]) -> Scored:
    """Gold of several files as one. An item that two files grade is an error."""
    if not parts:
        raise InputError("No gold was given.", hint="Name at least one file.")
    if len(parts) == 1:
        return parts[0]
    frame = pl.concat([part.frame for part in parts])
    twice = frame.filter(pl.struct("query", "item").is_duplicated())
    if not twice.is_empty():
        raise InputError(
            f"the item {twice['item'][0]!r} is graded in more than one of {len(names)} files.",
            source=str(names[0]),
        )
    return Scored(frame, column=parts[0].column, ranks=parts[0].ranks)


def read_ranking(given: Any) -> Scored:
    """A ranking to score: ``[query,] item`` and score or rank (crowdrank's own, or a TREC run of one system)."""
    found = read_rankings(given)
    if len(found) > 1:
        raise InputError(f"There are rankings of {len(found)} systems: {', '.join(map(repr, found))}.")
    return next(iter(found.values()))


def read_rankings(given: Any) -> dict[str, Scored]:
    """Rankings to score, by system, in the order of the file: a TREC run may hold several.

    A file without a column for the system, or in which no item occurs twice in a query, has one ranking, named "".
    """
    frame, name, columns = _open(given)
    found = next((value for value in ("score", "rank") if value in columns), None)
    if found is None or "item" not in columns:
        raise InputError(
            f"is not a ranking; its columns are {_list_names(frame)}.",
            source=name,
            hint="A ranking has item and score (larger = better) or rank (1 = best); query is optional.",
        )
    keys = [columns[role] for role in ("query", "item") if role in columns]
    system = next((columns[role] for role in SYSTEMS if role in columns), None)
    parts = {"": frame}
    if system is not None and frame.select(keys).is_duplicated().any():
        numbered = frame.drop(ROW, strict=False).with_row_index(ROW)
        parts = {str(own): part for (own,), part in numbered.group_by(system, maintain_order=True)}
    scored = {own: _read_scores(part, name, columns, found) for own, part in parts.items()}
    for part in scored.values():
        _require_queries(part, name, columns)
    sign = -1.0 if found == "rank" else 1.0
    return {own: Scored(part.with_columns(pl.col("value") * sign), name) for own, part in scored.items()}


def _open(
    given: Any, mapping: Mapping[str, str] | None = None, letor: LetorRole | None = None
) -> tuple[pl.DataFrame, str, dict[str, str]]:
    """The frame as text, its name in errors, and its columns by role."""
    mapping = parse_mapping(mapping) if isinstance(mapping, str) else mapping or {}
    frame, name, columns = read_text_table(given, letor=letor, named=list(mapping.values()))
    for alias in ("qid", "query_id"):
        if alias in columns:
            columns.setdefault("query", columns[alias])
    roles = ("query", "item", *GRADES, *RANKS)
    for role, column in mapping.items():
        if role not in roles:
            raise UsageError(f"Gold has no role {role!r}.", hint=name_hint(role, roles, "Its roles are"))
        if column and column not in frame.columns:
            hint = name_hint(column, frame.columns, "The columns are", repr)
            raise InputError(
                f"there is no column {column!r}, which was given for {role!r}.", source=name, hint=hint
            )
        columns[role] = column
    return frame, name, {role: column for role, column in columns.items() if column}


def _read_scores(frame: pl.DataFrame, name: str, columns: Mapping[str, str], value: str) -> pl.DataFrame:
    roles = [role for role in ("query", "item", value) if role in columns]
    numbers = [ROW] if frame.schema.get(ROW) == pl.UInt32 else []  # of the rows in the file; a file has only text
    named = frame.select(*(pl.col(columns[role]).alias(role) for role in roles), *numbers)
    cells = TextCells(named, columns, name)
    scored = pl.DataFrame({"item": cells.required("item"), "value": cells.number(value)})
    if scored.is_empty():
        raise InputError("there are no rows.", source=name)
    query = cells.frame["query"] if "query" in roles else pl.lit(None, pl.String)
    scored = scored.select(query.alias("query"), "item", "value")
    twice = scored.select(pl.struct("query", "item").is_duplicated()).to_series()
    if twice.any():
        repeat = scored.select(~pl.struct("query", "item").is_first_distinct()).to_series()
        raise cells.error("item", first_row(repeat), "the item appears twice in one query.")
    return scored


def _require_queries(scored: pl.DataFrame, name: str, columns: Mapping[str, str]) -> None:
    """Raise an error if only some of the rows have a query."""
    gaps = scored["query"].is_null()
    if gaps.any() and not gaps.all():
        raise InputError(
            "the query is missing, and other rows have one.",
            source=name, row=first_row(gaps) + 1, column=columns["query"],
            hint="Write the query of every row, or of none.",
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Anchors:
    """What is known for certain before the fit: gold pairs, workers' qualities, labels of items, true lists.

    >>> import crowdrank as cr
    >>> votes = [("ann", "a", "b"), ("ann", "c", "b"), ("bob", "b", "a"), ("bob", "b", "c")]
    >>> gold = cr.Anchors.read({"left": ["a"], "right": ["b"], "label": ["a"]})
    >>> model = cr.CrowdBT().fit(votes, anchors=gold)  # ann is right about a and b, so c is above b too
    >>> model.ranking_.frame()["item"].to_list()
    ['a', 'c', 'b']
    """

    pairs: Pairs | None = None
    workers: Mapping[str, float] | None = None
    labels: Scored | None = None
    lists: Rankings | None = None

    @classmethod
    def read(cls, given: Any) -> Anchors:
        """Gold pairs (any layout of pairs; the label is the truth), workers' known quality, labels, or true lists.

        Workers have ``worker`` and ``eta``, the probability of repeating the truth (eq. 4); the column
        may also be called ``quality``. Labels have ``item`` and ``label``, ``gold`` or ``grade``, and no worker.
        Lists have ``item`` and ``rank`` (1 = best, equal = tied), and no worker. The places of items that a list
        does not rank are not known.
        """
        if isinstance(given, Anchors):
            return given
        frame, name, columns = _open(given)
        found = next((role for role in ("eta", "quality") if role in columns), None)
        if found and "worker" in columns:
            return cls(workers=_known_workers(frame, name, columns, found))
        label = next((role for role in GRADES if role in columns), None)
        if label and "item" in columns and "worker" not in columns:
            return cls(labels=_known_labels(frame, name, columns, label))
        _require_anchors(frame, name)
        again = isinstance(given, str | Path) and str(given) != "-"  # so that errors name the file
        table = _read_anchors(given if again else frame)
        if isinstance(table, Rankings) and table.worker is None:
            return cls(lists=replace(table, missing="unknown"))
        if not isinstance(table, Pairs):
            raise InputError(
                f"holds {table.kind}; anchors are gold pairs, workers with a known quality, labels of items, or "
                "true lists.",
                source=name,
                hint="True lists and known labels have no worker column." if table.worker is not None else None,
            )
        return cls(pairs=table)

    def coded_as(self, judgments: Judgments) -> Anchors:
        """The same anchors, with known labels as numbers of these judgments."""
        if self.labels is None or not isinstance(judgments, GradedJudgments):
            return self
        return replace(self, labels=self.labels.coded_as(judgments))

    def gold(self, nodes: Nodes, index: Index) -> tuple[NDArray[np.int64], int]:
        """Gold pairs as (better, worse) nodes, and how many of the given pairs are of no use.

        Ties are of no use, nor are pairs of items that nobody judged. A gold pair without a query holds in
        every query.
        """
        if self.pairs is None:
            return np.empty((0, 2), np.int64), 0
        own = self.pairs
        item = translate_ids(own.index.items, index.items)
        swap = own.outcome == RIGHT
        better = item[np.where(swap, own.right, own.left)]
        worse = item[np.where(swap, own.left, own.right)]
        place = np.arange(own.rows)
        query: NDArray[Any] | None = None
        if index.queries is not None:
            if own.query is not None and own.index.queries is not None:
                query = translate_ids(own.index.queries, index.queries)[own.query]
            else:
                place = np.tile(place, len(index.queries))
                query = np.repeat(np.arange(len(index.queries), dtype=np.int32), own.rows)
        good = (better >= 0) & (worse >= 0) & (own.outcome != TIE)
        chosen = good[place] if query is None else good[place] & (query >= 0)
        place, query = place[chosen], None if query is None else query[chosen]
        first, second = (node_codes(nodes, index, query, side[place]) for side in (better, worse))
        found = (first >= 0) & (second >= 0)
        used = len(np.unique(place[found]))
        return np.stack([first[found], second[found]], axis=1), own.rows - used

    def known(self, index: Index) -> tuple[NDArray[np.int64], Floats]:
        """Codes and qualities of the workers whose quality is known."""
        if not self.workers or index.workers is None:
            return np.empty(0, np.int64), np.empty(0)
        codes = translate_ids(pl.Series(list(self.workers)), index.workers).astype(np.int64)
        quality = np.array(list(self.workers.values()), float)
        return codes[codes >= 0], quality[codes >= 0]

    def truths(self, nodes: Nodes, index: Index) -> tuple[NDArray[np.int64], Floats]:
        """The nodes whose label is known, and their labels. A label without a query holds in every query."""
        if self.labels is None:
            return np.empty(0, np.int64), np.empty(0)
        if not index.items.is_in(self.labels.frame["item"].to_list()).any():
            problem = "The judgments and the known labels of the anchors have no item in common."
            raise InputError(problem, hint="Ids are text: '01' is not '1'.")
        frame = self.labels.frame
        item, value = translate_ids(frame["item"], index.items), frame["value"].to_numpy().astype(float)
        query: NDArray[Any] | None = None
        if index.queries is not None:
            query = np.full(len(frame), -1, np.int32)
            named = frame["query"].is_not_null().to_numpy()
            query[named] = translate_ids(frame["query"].drop_nulls(), index.queries)
            every = np.arange(len(index.queries), dtype=np.int32)
            query = np.concatenate([query[named], np.repeat(every, int((~named).sum()))])
            item, value = (np.concatenate([own[named], np.tile(own[~named], len(every))]) for own in (item, value))
        seen = (item >= 0) if query is None else (item >= 0) & (query >= 0)
        found = node_codes(nodes, index, None if query is None else query[seen], item[seen])
        return found[found >= 0].astype(np.int64), value[seen][found >= 0]


def _read_anchors(given: Any) -> AnyJudgments:
    """Pairs or lists. Hints do not name arguments of ``read``, which anchors do not take."""
    try:
        return read(given, memory=sys.maxsize)
    except InputError as error:
        if not isinstance(error.hint, str | None):
            error.hint = (
                "Change the file of anchors. Gold pairs have left, right and label, which is left, right, tie or "
                "the id of the better item; true lists have item and rank, and may have query."
            )
        raise


def _require_anchors(frame: pl.DataFrame, name: str) -> None:
    """Raise an error if the columns are neither pairs nor lists: their names cannot be given."""
    try:
        recognize(frame.columns, None, name)
    except MissingColumnError:
        raise InputError(
            f"holds no anchors; its columns are {_list_names(frame)}.",
            source=name,
            hint="Rename the columns. Known labels have item and label, gold pairs left, right and label, known "
            "workers worker and eta, true lists item and rank.",
        ) from None


def _known_labels(frame: pl.DataFrame, name: str, columns: Mapping[str, str], role: str) -> Scored:
    """Labels of items, as numbers or, if none of them is a number, as text."""
    label = frame[columns[role]].str.strip_chars()
    if not are_words(label):
        return Scored(_read_scores(frame, name, columns, role), name)
    names = tuple(label.drop_nulls().unique().sort())
    coded = _with_places(frame, columns[role], names)
    return Scored(_read_scores(coded, name, columns, role), name, names=names)


def _with_places(frame: pl.DataFrame, column: str, names: Sequence[str]) -> pl.DataFrame:
    """The frame with the place of each name in its stead; what is no name stays as it is."""
    places = [str(place) for place in range(len(names))]
    return frame.with_columns(frame[column].str.strip_chars().replace(list(names), places))


def _known_workers(frame: pl.DataFrame, name: str, columns: Mapping[str, str], role: str) -> dict[str, float]:
    named = frame.select(pl.col(columns[own]).alias(own) for own in ("worker", role))
    cells = TextCells(named, columns, name)
    quality, ids = cells.number(role), cells.required("worker")
    outside = (quality < 0) | (quality > 1)
    if outside.any():
        raise cells.error(role, first_row(outside), "a quality lies between 0 and 1.")
    if ids.is_duplicated().any():
        raise cells.error("worker", first_row(~ids.is_first_distinct()), "the worker appears twice.")
    return dict(zip(ids.to_list(), quality.to_list(), strict=True))
