"""What a model's registry entry promises, on tiny drawn judgments: other ids, other rows, weight 2."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.fuzz.checks import CheckError
from benchmarks.fuzz.fits import SLOW
from benchmarks.fuzz.judgments import draw_judgments
from benchmarks.fuzz.watch import Case
from crowdrank.models.base import Model
from crowdrank.models.registry import Entry, entries

CLOSE = 1e-6
"""Tiny data may leave a direction nearly flat, so that the contract's 1e-9 is not asked for here."""


SEVERAL_MAXIMA = ("dawid-skene", "glad")
"""If labels are exchangeable, several maxima are equally high, and rounding alone decides between them."""

IDS_DECIDE = "tied-consensus"
"""The note of a fit that says that ids decided between equal orders."""


def make_pair(seed: int, number: int, folder: Path) -> Case:
    """The case: two forms of one input, two fits, equal scores."""
    rng = random.Random(f"invariances {seed} {number}")
    known = {name: entry for name, entry in entries().items() if not entry.chooses}
    entry = rng.choices(list(known.values()), [SLOW.get(name, 1.0) for name in known])[0]
    change = rng.choice([change for change in CHANGES if change not in entry.varies])
    kind = rng.choice(entry.kinds)
    frame = draw_judgments(rng, kind, weighted=False)
    if change == "weights" and (kind == "rankings" or kind != entry.kinds[0]):
        change = "names"  # a list has one weight, and ratings that become pairs or lists are more than doubled
    one, other, back = CHANGES[change](rng, frame)

    def case() -> None:
        first, second = (entry.make().fit(given) for given in (one, other))
        _require_same(entry, change, first, second, back)

    return case


Names = dict[str, str]


def _rename(rng: random.Random, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, Names]:
    columns = [name for name in ("left", "right", "item", "label") if name in frame.columns]
    columns = [name for name in columns if frame[name].dtype == pl.String]
    names: Names = {}
    for group in (columns, ["worker"], ["query"]):
        ids = sorted({value for name in group if name in frame.columns for value in frame[name]} - {"tie"})
        new = [f"{group[0][0]}{code:02d}" for code in range(len(ids))]
        rng.shuffle(new)
        names |= dict(zip(ids, new, strict=True))
    chosen = [name for name in (*columns, "worker", "query") if name in frame.columns]
    return frame, frame.with_columns(pl.col(chosen).replace(names)), {new: old for old, new in names.items()}


def _shuffle(rng: random.Random, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, Names]:
    order = list(range(frame.height))
    rng.shuffle(order)
    return frame, frame[order], {}


def _double(rng: random.Random, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, Names]:
    some = pl.Series([rng.random() < 0.5 for _ in range(frame.height)])
    return pl.concat([frame, frame.filter(some)]), frame.with_columns(weight=some.cast(pl.Float64) + 1), {}


CHANGES = {"names": _rename, "rows": _shuffle, "weights": _double}


def _require_same(entry: Entry, change: str, first: Model, second: Model, back: Names) -> None:
    ours, theirs = (_scores(model) for model in (first, second))
    theirs = {(back.get(query, query), back.get(item, item)): score for (query, item), score in theirs.items()}
    if ours.keys() != theirs.keys():
        raise CheckError(f"other items ({entry.name}, {change}): {sorted(ours)[:4]} {sorted(theirs)[:4]}")
    if entry.name in SEVERAL_MAXIMA and _is_as_high(first, second):
        return
    if change == "names" and any(
        IDS_DECIDE in {note.code for note in model.fit_.warnings} for model in (first, second)
    ):
        return
    apart = max(abs(score - theirs[key]) / max(1.0, abs(score)) for key, score in ours.items())
    if not apart < CLOSE and first.fit_.converged and second.fit_.converged:
        raise CheckError(f"other scores ({entry.name}, {change}): {apart:.1e} apart")


def _is_as_high(first: Model, second: Model) -> bool:
    one, other = first.fit_.log_likelihood, second.fit_.log_likelihood
    return one is not None and other is not None and abs(one - other) <= CLOSE * abs(one)


def _scores(model: Model) -> dict[tuple[str, str], float]:
    table = model.ranking_.polars()
    query = table["query"].fill_null("")
    return {
        (str(q), str(item)): float(np.float64(score))
        for q, item, score in zip(query, table["item"], table["score"], strict=True)
    }
