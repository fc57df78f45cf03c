"""Tables that seem to have a column per item or per place of a list: used to say how to read them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import polars as pl

from crowdrank.data.io.cells import MISSING_WORDS
from crowdrank.data.io.columns import OPTIONAL, PEOPLE, RIVALS, Wide, join_names
from crowdrank.errors import Hint, InputError, Remedy, Retry

LEAST = 3
"""So many columns make a wide table."""
LEVELS = 11
"""The most grades of a scale in steps, 0 to 10."""
SHARED = 0.5
"""Ballots hold the same ids in every column: each has this share of all of them, at least."""
_KNOWN = {"id", "item", "doc", *PEOPLE, *(name for own in (*OPTIONAL.values(), *RIVALS.values()) for name in own)}
_ROWS = "one row per {}, with the columns {}"

_WHO = (*OPTIONAL["worker"], *PEOPLE)
_LIST_OF_WORKER = f"{_ROWS.format('item of a list', 'worker ({!r} here), item and rank')} (1 = best)."
_LIST = f"{_ROWS.format('item of a list', 'list, item and rank')} (1 = best)."


@dataclass(frozen=True)
class WideColumns:
    """The columns that belong together. ``stem``: how all names begin, if only a number follows.

    ``ids``: the cells are ids. ``ranks``: they are numbers, and no row has one twice. ``key``: another column,
    with a value of its own in each row.
    """

    names: tuple[str, ...]
    stem: str
    ids: bool = False
    ranks: bool = False
    key: str | None = None

    def error(self, columns: Sequence[str], given: Mapping[str, str], source: str) -> InputError:
        """The error that says what the table seems to be, and what to do."""
        shown = f"{', '.join(map(repr, self.names[:3]))}{', ...' if len(self.names) > 3 else ''}"
        if self.ids:
            problem = f"each row seems to be a ranking: the cells of {shown} are ids of items."
            worker = next((name for name in columns if name.strip().lower() in _WHO), None)
            rows = _LIST if worker is None else _LIST_OF_WORKER.format(worker)
            return InputError(problem, source=source, hint=f"Write {rows}")
        cells = "ranks" if self.ranks else "ratings"
        problem = f"this seems to be a wide table of {cells}: {shown} share a few numbers."
        return InputError(problem, source=source, hint=self._hint(columns, given))

    def _hint(self, columns: Sequence[str], given: Mapping[str, str]) -> Hint:
        role, pattern = "rank" if self.ranks else "label", f"{self.stem}*"
        if {"item", "items"} & {name.strip().lower() for name in columns}:
            return f"Write {_ROWS.format(role.replace('label', 'rating'), f'item, worker and {role}')}."
        own = re.compile(rf"{re.escape(self.stem)}\d+")  # also those that were not looked at
        free = [name for name in columns if name not in self.names and not own.fullmatch(name)]
        if not self.stem or any(fnmatchcase(name, pattern) for name in free):
            return (
                "If each of them is an item, let their names, and no others, begin alike (P1, P2, ...), and say ",
                Remedy("columns", f"{role}=P*"),
                f"; otherwise write {_ROWS.format(role.replace('label', 'rating'), f'worker, item and {role}')}.",
            )
        worker = next((name for name in free if name.strip().lower() in _WHO), self.key)
        mapping = {**({"worker": worker} if worker else {}), **given, role: pattern}
        if self.ranks and not mapping.get("worker"):
            return (
                "If each of them is an item, add a column with a worker for each row, and say ",
                Remedy("columns", f"worker=NAME,{role}={pattern}"),
            )
        retry = Retry((Remedy("columns", join_names(f"{key}={name}" for key, name in mapping.items())),))
        ballots = f"\nIf the cells are ids of items, write {_LIST}" if self.ranks else ""
        return ("If each of them is an item, and each row a worker: ", retry, ballots)


def refuse_item_column(source: str, wide: Wide, given: Mapping[str, str]) -> None:
    """Raise an error if columns are to be items, and another one is called item and has no other role."""
    item = next((name for name in wide.others if name.strip().lower() == "item"), None)
    if item is not None and item not in given.values():
        named = join_names(f"{role}={name}" for role, name in {**given, "worker": item}.items())
        worker = ("If it says who judged: ", Retry((Remedy("columns", named),)))
        raise InputError(
            f"the columns given for {wide.role!r} are items, but there is a column {item!r} besides.",
            source=source,
            hint="Rename it, or leave it out." if given.get("worker") else worker,
        )


def find_wide(sample: pl.DataFrame, plain: Collection[str]) -> WideColumns | None:
    """The columns, among the ``plain`` ones, of a wide table of numbers or of ballots, if there are enough."""
    names = [name for name in plain if name.strip().lower() not in _KNOWN]
    texts = {name: sample[name].cast(pl.String).str.strip_chars() for name in names}
    values = {name: set(column.drop_nulls()) - set(MISSING_WORDS) for name, column in texts.items()}
    stems = _by_stem(names)
    for stem, own in stems.items():
        if _few_numbers([values[name] for name in own]):
            key = next((name for name in names if name not in own and _is_key(texts[name])), None)
            return WideColumns(tuple(own), stem, ranks=_all_different(texts, own), key=key)
        if _ballots([values[name] for name in own]) and _all_different(texts, own):
            return WideColumns(tuple(own), stem, ids=True)
    graded = [name for name in names if _few_numbers([values[name]])]
    if len(graded) >= LEAST and _few_numbers([values[name] for name in graded]):
        return WideColumns(tuple(graded), "", ranks=_all_different(texts, graded))
    return None


def _is_key(column: pl.Series) -> bool:
    return not column.null_count() and column.n_unique() == len(column)


def _by_stem(names: Sequence[str]) -> dict[str, list[str]]:
    """Names that differ only in the number at their end, if there are enough of them."""
    found: dict[str, list[str]] = {}
    for name in names:
        if (match := re.fullmatch(r"(.*?\D)\d+", name)) is not None:
            found.setdefault(match[1], []).append(name)
    return {stem: own for stem, own in found.items() if len(own) >= LEAST}


def _few_numbers(values: Sequence[set[str]]) -> bool:
    """Whether all values are numbers of one scale, which has few, and at least two of them occur."""
    union = set().union(*values)
    numbers = all(re.fullmatch(r"[+-]?\d+(\.\d+)?", value) for value in union)
    return numbers and 2 <= len(union) <= LEVELS and all(values)


def _ballots(values: Sequence[set[str]]) -> bool:
    union = set().union(*values)
    return len(union) >= LEAST and len(values) * len(union) * SHARED <= sum(map(len, values))


def _all_different(texts: Mapping[str, pl.Series], names: Sequence[str]) -> bool:
    """Whether no row has a value twice in these columns."""
    rows = pl.DataFrame({name: texts[name] for name in names}).rows()
    filled = ([value for value in row if value not in (None, *MISSING_WORDS)] for row in rows)
    return all(len(set(row)) == len(row) for row in filled)
