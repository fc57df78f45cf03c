"""LETOR and SVMlight text, ``label [qid:Q] 1:v 2:v ... [# comment]``, as features."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from crowdrank.data.io.blocks import Block
from crowdrank.errors import InputError


def docid(comment: str) -> str | None:
    """The id of the item in a comment: ``docid = X``, or else the first word; None if there is none."""
    found = re.search(r"docid\s*=\s*(\S+)", comment) or re.search(r"(\S+)", comment)
    return found[1] if found else None


def letor_blocks(name: str, data: bytes) -> Iterator[Block]:
    """All rows as one block."""
    queries, items, labels, rows = list[str | None](), list[str](), list[float](), list[dict[int, float]]()
    places: dict[str | None, int] = {}
    for number, line in enumerate(data.decode("utf-8").splitlines(), 1):
        body, _, comment = line.partition("#")
        words = body.split()
        if not words:
            continue
        query = words.pop(1)[4:] if len(words) > 1 and words[1].startswith("qid:") else None
        places[query] = places.get(query, 0) + 1
        row: dict[int, float] = {}
        for word in words[1:]:
            key, sign, value = word.partition(":")
            if not sign or not key.isdigit():
                raise InputError("is not 'number:value'.", source=name, row=number, value=word)
            if int(key) in row:
                raise InputError("the feature is there twice.", source=name, row=number, column=key)
            row[int(key)] = float("nan") if value == "NULL" else float(value)
        queries.append(query)
        items.append(docid(comment) or str(places[query]))
        labels.append(float(words[0]))
        rows.append(row)
    keys = sorted(set().union(*rows))
    values = np.zeros((len(rows), len(keys)), np.float32)
    for place, row in enumerate(rows):
        values[place, np.searchsorted(keys, list(row))] = list(row.values())
    yield Block(
        query=None if queries[0] is None else pl.Series("query", queries, pl.String),
        item=pl.Series("item", items, pl.String),
        label=np.array(labels),
        names=tuple(map(str, keys)),
        values=values,
    )
