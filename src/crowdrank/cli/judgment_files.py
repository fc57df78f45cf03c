"""Judgments beside features: files of several kinds, each of them read by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdrank.errors import CrowdrankError, Remedy, Retry

if TYPE_CHECKING:
    from crowdrank.data import AnyJudgments, Judgments

COLUMNS = "judgment_columns"
"""The argument that names the columns of judgments."""


@dataclass(frozen=True)
class JudgmentFiles:
    """Files of judgments, the names of their columns, what an unranked document means in lists, and what the
    outcomes of pairs mean."""

    files: list[str]
    columns: str = ""
    unranked: str | None = None
    outcomes: str = ""
    allow_dropped: bool = False
    order: Any = None

    def read(self, meant: str | None = None) -> list[Judgments]:
        """A table of each file. ``meant``: what an unranked document means in lists unless the user says so."""
        from crowdrank.data import Rankings, load_rows, parse_mapping, read
        from crowdrank.rankers.judged import read_judgments

        with naming_columns(COLUMNS):
            mapping = parse_mapping(self.columns)
            tables = [load_rows(self._read(file, self._columns_of(file, mapping))) for file in self.files]
            if self.unranked is None and meant is not None:
                tables = [read(own, missing=meant) if isinstance(own, Rankings) else own for own in tables]
            return read_judgments(tables, unranked=self.unranked)

    def _read(self, file: str, columns: Mapping[str, str]) -> AnyJudgments:
        from crowdrank.data import read

        return read(
            file, columns=columns, outcomes=self.outcomes, allow_dropped=self.allow_dropped, order=self.order
        )

    def _columns_of(self, file: str, mapping: Mapping[str, str]) -> Mapping[str, str]:
        """The names that are meant for this file. A name that only another file has is not."""
        if len(self.files) == 1 or not mapping:
            return mapping
        own = set(column_names(file))
        others = [name for other in self.files if other != file for name in column_names(other)]
        return {
            role: name
            for role, name in mapping.items()
            if not name or matches(name, own) or not matches(name, others)
        }


def column_names(file: str) -> list[str]:
    """The columns of a file; none of standard input, which can be read only once, nor of what is no file."""
    from crowdrank.data.io.files import open_sources
    from crowdrank.data.io.letor import LetorRole
    from crowdrank.data.spool.folder import Spool
    from crowdrank.data.spool.memory import budget

    if file == "-" or not Path(file).exists():
        return []
    return [
        name for one in open_sources(file, LetorRole("ranks"), Spool(), budget(None)) for name in one.columns()
    ]


def matches(wanted: str, names: Any) -> bool:
    """Whether a column has this name, or matches the pattern of several columns."""
    return any(fnmatchcase(name.strip().lower(), wanted.strip().lower()) for name in names)


@contextmanager
def naming_columns(argument: str) -> Iterator[None]:
    """Errors on the columns of what is read here have hints that name this argument instead of ``columns``."""
    try:
        yield
    except CrowdrankError as error:
        if names_columns(error):
            error.hint = [_rename(part, argument) for part in error.hint or ()]
        raise


def names_columns(error: CrowdrankError) -> bool:
    """Whether the hint is to name columns."""
    parts = () if isinstance(error.hint, str) else error.hint or ()
    remedies = [own for part in parts for own in (part.remedies if isinstance(part, Retry) else (part,))]
    return any(isinstance(own, Remedy) and own.argument == "columns" for own in remedies)


def _rename(part: str | Remedy | Retry, argument: str) -> str | Remedy | Retry:
    if isinstance(part, Retry):
        return Retry(tuple(_rename_remedy(own, argument) for own in part.remedies))
    return _rename_remedy(part, argument) if isinstance(part, Remedy) else part


def _rename_remedy(remedy: Remedy, argument: str) -> Remedy:
    return Remedy(argument, remedy.value) if remedy.argument == "columns" else remedy
