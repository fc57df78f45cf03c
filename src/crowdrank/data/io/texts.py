"""Line formats that are not tables: TREC runs and qrels, LETOR, PrefLib. Each becomes columns of judgments.

A LETOR line holds both a gold label and numbers, so a parsed text may give two tables: judgments and gold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from crowdrank.errors import InputError


@dataclass(frozen=True)
class ParsedText:
    """``judgments`` and ``gold`` as frames of text columns; one may be missing, with a ``reason``.

    ``cut``: a list ends when its system had nothing more to rank, so items that it does not rank are below.
    """

    judgments: pl.DataFrame | None = None
    gold: pl.DataFrame | None = None
    reason: str = ""
    cut: bool = False


Parser = Callable[[str, str], ParsedText]

_WHOLE = re.compile(r"(\s*(\{[^{}]*\}|[^,{}]+)\s*(,|$))*")
_ORDER = re.compile(r"\d+:\s*[\d{]")
_LETOR = re.compile(r"-?[\d.]+\s+qid:\S+(\s+\d+:\S+)+")
_PREFLIB = ("# FILE NAME:", "# TITLE:", "# ALTERNATIVE NAME", "# NUMBER ALTERNATIVES:")


def find_parser(head: str) -> Parser | None:
    """The parser for a text that begins like this; None for a table."""
    first = head.lstrip("\ufeff\r\n ").split("\n", 1)[0].strip()
    if _ORDER.match(first) or (any(mark in head for mark in _PREFLIB) and first.startswith("#")):
        return preflib
    if _LETOR.match(first):
        return letor
    words = first.split()
    if len(words) == 6 and words[1].upper() == "Q0":
        return trec_run
    if len(words) == 4 and words[1].upper() in {"0", "Q0"} and words[3].lstrip("-").isdigit():
        return trec_qrels
    return None


def _frame(columns: tuple[str, ...], rows: list[tuple[str | None, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers from 1."""
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def trec_run(name: str, text: str) -> ParsedText:
    """``query Q0 item rank score system``: each system is a worker."""
    cells = _fields(name, text, 6)
    columns = ("query", "item", "rank", "score", "worker")
    rows: list[tuple[str | None, ...]] = [(q, item, rank, score, tag) for q, _, item, rank, score, tag in cells]
    return ParsedText(judgments=_frame(columns, rows), cut=True)


def trec_qrels(name: str, text: str) -> ParsedText:
    """``query 0 item grade``."""
    frame = _frame(("query", "item", "label"), [(q, item, grade) for q, _, item, grade in _fields(name, text, 4)])
    return ParsedText(judgments=frame, gold=frame)


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


def letor(name: str, text: str) -> ParsedText:
    """``label qid:Q 1:v 2:v ... #docid = D``, with a gold label.

    If all values are whole numbers or NULL, they are the ranks that each system gave the document (LETOR -agg);
    otherwise they are features. The item's id is the ``docid`` of the comment, or the comment's first word,
    or else the line's number within its query.
    """
    ranks: list[tuple[str | None, ...]] = []
    gold: list[tuple[str | None, ...]] = []
    places: dict[str, int] = {}
    features = False
    for number, line in _lines(text):
        body, _, comment = line.partition("#")
        words = body.split()
        if len(words) < 2 or not words[1].startswith("qid:"):
            raise InputError("is not 'label qid:Q ...'.", source=name, row=number, value=line[:80])
        query = words[1][4:]
        places[query] = places.get(query, 0) + 1
        item = _docid(comment) or str(places[query])
        gold.append((query, item, words[0]))
        for word in words[2:]:
            system, sign, value = word.partition(":")
            if not sign:
                raise InputError("is not 'number:value'.", source=name, row=number, value=word)
            features = features or not (value == "NULL" or value.isdigit())
            ranks.append((query, system, item, None if value == "NULL" else value))
    truth = _frame(("query", "item", "label"), gold)
    if features:
        return ParsedText(gold=truth, reason="holds features and gold labels, not judgments.")
    return ParsedText(judgments=_frame(("query", "worker", "item", "rank"), ranks), gold=truth)


def _docid(comment: str) -> str | None:
    found = re.search(r"docid\s*=\s*(\S+)", comment) or re.search(r"(\S+)", comment)
    return found[1] if found else None


def preflib(name: str, text: str) -> ParsedText:
    """PrefLib soc, soi, toc, toi: ``count: 1,{2,3},4``, best first, ties in braces.

    Each line is a list that ``count`` voters gave. Alternatives go by their names if the names are distinct.
    """
    names: dict[str, str] = {}
    orders: list[tuple[int, str]] = []
    for number, line in _lines(text):
        if line.startswith("#"):
            found = re.match(r"#\s*ALTERNATIVE NAME (\S+?):\s*(.*\S)", line)
            if found:
                names[found[1]] = found[2]
        else:
            orders.append((number, line))
    if len(set(names.values())) < len(names):
        names = {}
    rows: list[tuple[str | None, ...]] = []
    for number, line in orders:
        count, sign, order = line.partition(":")
        if not sign or not count.strip().isdigit() or not _WHOLE.fullmatch(order):
            raise InputError("is not 'count: order'.", source=name, row=number, value=line[:80])
        groups = re.findall(r"\{[^}]*\}|[^,{}\s][^,{}]*", order)
        rows.extend(
            (f"{name}:{number}", names.get(own, own), str(rank), count.strip())
            for rank, group in enumerate(groups, 1)
            for own in (part.strip() for part in group.strip("{}").split(","))
            if own
        )
    return ParsedText(judgments=_frame(("list", "item", "rank", "weight"), rows))
