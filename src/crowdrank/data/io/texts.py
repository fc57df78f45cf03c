"""Line formats that are not tables: TREC runs and qrels, PrefLib. Each becomes columns of judgments.

LETOR text is recognized here, and read by ``letor``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from crowdrank.data.io.preflib import read_orders
from crowdrank.errors import InputError, Note, count_noun


@dataclass(frozen=True)
class ParsedText:
    """A frame of text columns.

    ``cut``: a list ends when its system had nothing more to rank, so items that it does not rank are below.
    ``notes``: what in the text contradicts itself.
    """

    frame: pl.DataFrame
    cut: bool = False
    notes: tuple[Note, ...] = ()


Parser = Callable[[str, str], ParsedText]

_ORDER = re.compile(r"\d+:\s*[\d{]")
_NUMBER = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_LETOR = re.compile(rf"(\S+\s+qid:.*|{_NUMBER}(\s+\d+:\S*)+(\s+\d*)?(#.*)?)$")  # a long line may be cut
_LABEL = re.compile(rf"({_NUMBER}\s*)?(#.*)?$")
_PREFLIB = ("# FILE NAME:", "# TITLE:", "# ALTERNATIVE NAME", "# NUMBER ALTERNATIVES:")


def find_parser(head: str) -> Parser | None:
    """The parser for a text that begins like this; None for a table."""
    first = head.lstrip("\ufeff\r\n ").split("\n", 1)[0].strip()
    if _ORDER.match(first) or (any(mark in head for mark in _PREFLIB) and first.startswith("#")):
        return preflib
    words = first.split()
    if len(words) == 6 and words[1].upper() == "Q0":
        return trec_run
    if len(words) == 4 and words[1].upper() in {"0", "Q0"} and words[3].lstrip("-").isdigit():
        return trec_qrels
    return None


def is_letor(head: str) -> bool:
    """Whether a text begins with LETOR rows. Rows that have only a label, and comments, may come first."""
    for line in head.removeprefix("\ufeff").splitlines():
        if _LETOR.match(line.strip()):
            return True
        if not _LABEL.match(line.strip()):
            return False
    return False


def _frame(columns: tuple[str, ...], rows: list[tuple[str | None, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers from 1."""
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def trec_run(name: str, text: str) -> ParsedText:
    """``query Q0 item rank score system``: each system is a worker. A note if scores contradict the ranks."""
    cells = _fields(name, text, 6)
    columns = ("query", "item", "rank", "score", "worker")
    rows: list[tuple[str | None, ...]] = [(q, item, rank, score, tag) for q, _, item, rank, score, tag in cells]
    frame = _frame(columns, rows)
    return ParsedText(frame, cut=True, notes=_note_scores(name, frame))


def _note_scores(name: str, frame: pl.DataFrame) -> tuple[Note, ...]:
    """A note on rows with a larger score than the row that is ranked just above them."""
    lists, numbers = ["query", "worker"], pl.col("rank", "score").cast(pl.Float64, strict=False)
    ordered = frame.with_row_index("row", offset=1).with_columns(numbers).sort(*lists, "rank")
    above = pl.col("rank", "score").diff().over(lists)
    steps = ordered.with_columns(above.name.suffix("_step")).filter(
        pl.col("rank_step") > 0, pl.col("score_step") > 0
    )
    if steps.is_empty():
        return ()
    row, rank, score = steps.sort("row").select("row", "rank", "score").row(0)
    count = count_noun(steps.height, "row has", "rows have")
    message = (
        f"{name}: {count} a larger score than the row that is ranked just above, such as row {row} "
        f"(rank {rank:g}, score {score:g}). As judgments a run is read by its ranks, as a ranking to evaluate by "
        "its scores."
    )
    return (
        Note("run-order", message, "Correct the wrong column: the best item has rank 1 and the largest score."),
    )


def trec_qrels(name: str, text: str) -> ParsedText:
    """``query 0 item grade``."""
    frame = _frame(("query", "item", "label"), [(q, item, grade) for q, _, item, grade in _fields(name, text, 4)])
    return ParsedText(frame)


def _fields(name: str, text: str, count: int) -> Iterator[list[str]]:
    for number, line in _lines(text):
        words = line.split()
        if len(words) != count:
            raise InputError(
                f"has {len(words)} fields; the first line has {count}.",
                source=name,
                row=number,
                value=line[:80],
            )
        yield words


def preflib(name: str, text: str) -> ParsedText:
    """PrefLib soc, soi, toc, toi: ``count: 1,{2,3},4``, best first, ties in braces.

    Each line is a list that ``count`` voters gave. Alternatives go by their names if the names are distinct.
    An order that does not fit the header is an error, and a number of the header that does not fit is a note.
    """
    found = read_orders(name, list(_lines(text)))
    rows: list[tuple[str | None, ...]] = [
        (f"{name}:{order.row}", found.names.get(own, own), str(rank), order.count)
        for order in found.orders
        for rank, group in enumerate(order.groups, 1)
        for own in group
    ]
    return ParsedText(_frame(("list", "item", "rank", "weight"), rows), notes=found.notes())
