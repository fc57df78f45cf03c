"""Features in tables: which columns are features, and their numbers, a batch of rows at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
import polars as pl

from crowdrank.data.ids import as_text
from crowdrank.data.io.blocks import Block
from crowdrank.data.io.cells import MISSING_WORDS, NO_QUERY, ROW, TextCells, first_row
from crowdrank.data.io.columns import parse_mapping, refuse_repeated_names
from crowdrank.data.io.files import Source, explain_errors, is_pattern
from crowdrank.data.io.graded_guesses import likely_item
from crowdrank.data.io.reasons import NOT_A_VALUE
from crowdrank.errors import Hint, InputError, Note, Remedy, UsageError, name_hint

ROLES: dict[str, tuple[str, ...]] = {
    "query": ("query", "qid", "query_id"),
    "item": ("item",),
    "label": ("label", "grade", "gold", "relevance"),
    "weight": ("weight",),
}
"""The columns that are not features, and the names that they may have."""

RESERVED = frozenset({ROW, *(f"#{role}" for role in ROLES)})
"""The names that the columns of other roles have while a batch is read."""

BATCH_BYTES = 1 << 22
"""Values of a batch of rows."""

Mapped = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class FeatureColumns:
    """The column of each role, and the columns that are features. ``needed``: a ranker needs all of them."""

    roles: dict[str, str]
    names: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    needed: bool = False

    def only(self, names: Sequence[str]) -> FeatureColumns:
        """Without the columns that are not among these names; all columns if none of them is."""
        wanted = set(names)
        extra = [name for name in self.names if name not in wanted]
        if len(extra) == len(self.names):
            return self
        if not extra:
            return replace(self, needed=True)
        shown = ", ".join(map(repr, extra[:3])) + (", ..." if len(extra) > 3 else "")
        verb = "is" if len(extra) == 1 else "are"
        count = "1 feature" if len(extra) == 1 else f"{len(extra)} features"
        note = Note("extra-features", f"{count} that the ranker does not know {verb} ignored: {shown}.")
        kept = tuple(note for note in self.notes if note.code != "label-feature")
        chosen = tuple(name for name in self.names if name in wanted)
        return FeatureColumns(self.roles, chosen, (*kept, note), needed=True)


def parse_roles(columns: Mapped | str | None) -> dict[str, str | Sequence[str]]:
    """``item=doc,ignore=url+title`` as a dict. ``ignore`` names columns, or patterns such as ``text*``."""
    mapping: dict[str, str | Sequence[str]] = dict(
        parse_mapping(columns) if isinstance(columns, str) else columns or {}
    )
    unknown = [role for role in mapping if role not in (*ROLES, "ignore")]
    if unknown:
        raise UsageError(
            f"Features have no column role {unknown[0]!r}.",
            hint=name_hint(unknown[0], (*ROLES, "ignore"), "The roles are"),
        )
    ignored = mapping.get("ignore", ())
    mapping["ignore"] = ignored.split("+") if isinstance(ignored, str) else ignored
    return mapping


def find_features(names: Sequence[str], mapping: Mapped, source: str) -> FeatureColumns:
    """Which columns are features: all that have no other role and are not ignored.

    A role that is given as empty (``label=``) is absent, and a column with its name is not used.
    """
    refuse_repeated_names(names, source)
    ignored = {name for name in names for pattern in mapping["ignore"] if _matches(name, pattern)}
    for pattern in mapping["ignore"]:
        if pattern and not any(_matches(name, pattern) for name in names):
            raise _no_column(pattern, "ignore", names, source)
    roles = dict[str, str]()
    for role, aliases in ROLES.items():
        found = [name for alias in aliases for name in names if name.strip().lower() == alias]
        found = [name for name in found if name not in ignored and name not in mapping.values()]
        if role in mapping:
            wanted = str(mapping[role])
            if wanted and wanted not in names:
                raise _no_column(wanted, role, names, source)
            ignored |= set() if wanted else set(found)
            found = [wanted] if wanted else []
        if len(found) > 1:
            first, second = found[:2]
            raise InputError(
                f"the columns {first!r} and {second!r} can both be the {role}.",
                source=source,
                hint=("Say which one it is: ", Remedy("columns", f"{role}={first},ignore={second}")),
            )
        if found:
            roles[role] = found[0]
    return _features(names, roles, ignored, source)


def _features(names: Sequence[str], roles: dict[str, str], ignored: set[str], source: str) -> FeatureColumns:
    if "item" not in roles:
        shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
        raise InputError(
            f"missing: features need it. The columns are {shown}.",
            source=source,
            column="item",
            hint=("If it has another name, say ", Remedy("columns", f"item={likely_item(names) or 'NAME'}")),
        )
    found = tuple(name for name in names if name.strip() and name not in roles.values() and name not in ignored)
    if not found:
        raise InputError("there are no columns of features.", source=source)
    reserved = next((name for name in found if name in RESERVED or is_pattern(name)), None)
    if reserved is not None:
        leave_out = ("Rename it, or leave it out: ", Remedy("columns", f"ignore={reserved}"))
        hint = "Rename it in the file." if is_pattern(reserved) else leave_out
        raise InputError("a feature cannot have this name.", source=source, column=reserved, hint=hint)
    notes = []
    if any(not name.strip() for name in names):
        problem = f"{source}: a column without a name is left out."
        notes.append(Note("unnamed-column", problem))
    known = {*(alias for role in ("label", "query") for alias in ROLES[role]), "true_rank"}
    likely = [name for name in found if name.strip().lower() in known]
    if likely:
        shown = ", ".join(map(repr, likely))
        hint = ("If that is not wanted: ", Remedy("columns", f"ignore={'+'.join(likely)}"))
        notes.append(Note("label-feature", f"{source}: {shown} is read as a feature.", hint))
    return FeatureColumns(roles, found, tuple(notes))


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or ("*" in pattern and fnmatchcase(name, pattern))


def _no_column(name: str, role: str, names: Sequence[str], source: str) -> InputError:
    return InputError(
        f"there is no column {name!r}, which was given for {role!r}.",
        source=source,
        hint=name_hint(name, names, "The columns are", repr),
    )


# ------------------------------------------------------------------------------------- columns in, blocks out


def table_blocks(source: Source, found: FeatureColumns) -> Iterator[Block]:
    """The rows of a table as blocks, in their order.

    The features are read as numbers. If a cell is not one, the rest of the rows is read as text: there it may be a
    word for a missing value, or it is named in the error.
    """
    _require_numbers(source, found)
    source.require_readable((*found.roles.values(), *found.names))
    rows, done = max(BATCH_BYTES // (4 * len(found.names)), 1), 0
    try:
        for frame in _batches(source, found, source.numbers(found.names), 0, rows):
            yield _block(source, found, frame)
            done += frame.height
    except pl.exceptions.PolarsError:
        with explain_errors(source):
            text = source.table().with_columns(pl.col(found.names).cast(pl.String))
            for frame in _batches(source, found, text, done, rows):
                yield _block(source, found, _numbers(source, found, frame))
                done += frame.height
    if not done:
        raise InputError(
            "there are no rows.", source=source.name, hint="Write a header line and at least one row."
        )


def _require_numbers(source: Source, found: FeatureColumns) -> None:
    """Raise an error if a column of a frame or a Parquet file has a type that is neither number nor text."""
    with explain_errors(source):
        schema = source.table().collect_schema()
    for name in found.names:
        dtype = schema[name]
        if not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Null, pl.Categorical, pl.Enum)):
            raise InputError(
                f"a feature is a number; this column has the type {dtype}.",
                source=source.name,
                column=name,
                hint=_ignore_hint(name),
            )


def _batches(
    source: Source, found: FeatureColumns, lazy: pl.LazyFrame, first: int, rows: int
) -> Iterator[pl.DataFrame]:
    """The columns under the names of their roles, with the number of each row."""
    schema = source.table().collect_schema()
    texts = as_text(dict.fromkeys(found.roles.values(), pl.String()), schema)
    roles = [text.alias(f"#{role}") for role, text in zip(found.roles, texts, strict=True)]
    chosen = lazy.select(*roles, *found.names)
    chosen = chosen.slice(first) if first else chosen
    done = first
    for frame in chosen.collect_batches(
        chunk_size=rows, maintain_order=True, engine="streaming", optimizations=source.reading()
    ):
        yield frame.with_row_index(ROW, done)
        done += frame.height


def _numbers(source: Source, found: FeatureColumns, frame: pl.DataFrame) -> pl.DataFrame:
    """The features of a batch of text as numbers."""
    cell = pl.col(found.names).str.strip_chars()
    words = frame.with_columns(pl.when(cell.is_in(MISSING_WORDS)).then(None).otherwise(cell).name.keep())
    numbers = words.with_columns(pl.col(found.names).cast(pl.Float32, strict=False))
    for name in found.names:
        if numbers[name].null_count() > words[name].null_count():
            row = first_row(numbers[name].is_null() & words[name].is_not_null())
            problem = "a number is needed here: every column without another role is a feature."
            raise _cell_error(source, found, name, int(frame[ROW][row]), problem)
    return numbers


def _cell_error(source: Source, found: FeatureColumns, column: str, row: int, problem: str) -> InputError:
    value = source.table().select(column).slice(row, 1).collect().item()
    hint: Hint = _ignore_hint(column)
    if value == column:
        problem, hint = "the header is repeated here.", "Remove this line."
    elif isinstance(value, str) and re.fullmatch(r"\s*-?\d+,\d+\s*", value):
        hint = "Write a decimal point, not a comma."
    elif found.needed:
        problem, hint = NOT_A_VALUE, "The ranker was trained with this feature, so it needs its value."
    return InputError(problem, source=source.name, row=row + 1, column=column, value=value, hint=hint)


def _ignore_hint(column: str) -> tuple[str, Remedy]:
    return "If it is not a feature, leave it out: ", Remedy("columns", f"ignore={column}")


def _is_blank(found: FeatureColumns) -> pl.Expr:
    """Whether a line is empty, or has only spaces."""
    empty = [pl.col(f"#{role}").fill_null("").str.strip_chars() == "" for role in found.roles]
    return pl.all_horizontal(pl.col(found.names).is_null(), *empty)


def _block(source: Source, found: FeatureColumns, frame: pl.DataFrame) -> Block:
    """The checked rows of a batch, without its blank lines."""
    frame = frame.filter(~_is_blank(found))
    values = frame.select(found.names)
    if any(column.null_count() for column in values):
        values = values.fill_null(float("nan"))
    matrix = np.asarray(values.to_numpy(order="c"), np.float32)
    if np.isinf(matrix).any():
        row, column = (int(place[0]) for place in np.nonzero(np.isinf(matrix)))
        raise _cell_error(source, found, found.names[column], int(frame[ROW][row]), NOT_A_VALUE)
    roles = frame.select(ROW, *(pl.col(f"#{role}").alias(role) for role in found.roles))
    for role in ("item", "query"):
        if role in found.roles and (roles[role].fill_null("") == "").any():
            empty = roles[role].fill_null("") == ""
            row = int(frame[ROW][first_row(empty)])
            hint = NO_QUERY if role == "query" and empty.all() else None
            problem = "the value is missing."
            raise InputError(problem, source=source.name, row=row + 1, column=found.roles[role], hint=hint)
    cells = TextCells(roles, found.roles, source.name)
    label = cells.number("label", gaps=True).fill_null(float("nan")).to_numpy() if "label" in found.roles else None
    return Block(
        query=roles["query"] if "query" in found.roles else None,
        item=roles["item"],
        label=label,
        weight=cells.weight().to_numpy() if "weight" in found.roles else None,
        names=found.names,
        values=matrix,
    )
