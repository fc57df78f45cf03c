"""Where the rows of a table come from, so that notes can name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SHOWN = 3
"""How many examples a note names."""


@dataclass(frozen=True)
class Origin:
    """A file of a table: how many rows were read and kept, and its columns by role.

    ``numbered``: a row of the table is a row of the file. ``decimals``: columns of ids that hold decimal numbers.
    ``table``: it is a table, not TREC, LETOR or PrefLib text.
    """

    name: str
    data: Path | bytes | None
    read: int
    kept: int
    numbered: bool
    columns: Mapping[str, str]
    decimals: tuple[str, ...] = ()
    table: bool = True


def name_rows(origins: Sequence[Origin], rows: Iterable[int]) -> str:
    """Rows of a table by file and number, the first few of them; only the files if the numbers are not known."""
    found: dict[str, list[int] | None] = {}
    for row in sorted(rows):
        start = 0
        for origin in origins:
            if row < start + origin.kept:
                numbered = origin.numbered and origin.kept == origin.read
                known = found.setdefault(origin.name, [] if numbered else None)
                if known is not None:
                    known.append(row - start + 1)
                break
            start += origin.kept
    return "; ".join(_name_file(name, numbers) for name, numbers in found.items())


def _name_file(name: str, numbers: Sequence[int] | None) -> str:
    if not numbers:
        return name
    shown = ", ".join(map(str, numbers[:SHOWN])) + (", ..." if len(numbers) > SHOWN else "")
    return f"{name}, row{'' if len(numbers) == 1 else 's'} {shown}"


def count_words(count: int, word: str) -> str:
    """A count with its noun: "1 item", "3 queries"."""
    if count == 1:
        return f"1 {word}"
    return f"{count} {word[:-1]}ies" if word.endswith("y") else f"{count} {word}s"
