"""Tiny judgments of every kind, drawn at random: ties, odd weights, one item, one worker, parts that never met."""

from __future__ import annotations

import random
from collections.abc import Callable

import polars as pl

WEIGHTS: dict[str, Callable[[random.Random], float]] = {
    "whole": lambda rng: float(rng.randint(0, 4)),
    "share": lambda rng: rng.random(),
    "large": lambda rng: 1e12,
    "small": lambda rng: 1e-12,
    "tiny": lambda rng: rng.choice((1e-170, 5e-324)),
    "mixed": lambda rng: rng.choice((1e12, 1e-170, 1.0, 1e-300, 1e-9, 1e5)),
    "spread": lambda rng: 10.0 ** rng.uniform(-12, 12),
    "wide": lambda rng: 10.0 ** rng.uniform(-3, 11.9),
    "near": lambda rng: 10.0 ** rng.uniform(-6, 6),
}


def draw_judgments(rng: random.Random, kind: str, *, weighted: bool = True) -> pl.DataFrame:
    """Some rows of pairs, ratings or rankings."""
    rows = {"pairs": _pairs, "ratings": _ratings, "rankings": _rankings}[kind](rng)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if rng.random() < 0.2:
        frame = frame.drop("worker")
    if "query" in frame.columns and rng.random() < 0.5:
        frame = frame.drop("query")
    if kind == "rankings":
        keys = [key for key in ("query", "worker", "list", "item") if key in frame.columns]
        frame = frame.unique(keys, keep="first", maintain_order=True)
    if weighted and rng.random() < 0.5:
        draw = WEIGHTS[rng.choice(list(WEIGHTS))]
        frame = frame.with_columns(weight=pl.Series([draw(rng) for _ in range(frame.height)], dtype=pl.Float64))
    if rng.random() < 0.1:
        frame = frame.with_columns(timestamp=pl.Series([float(rng.randint(0, 5)) for _ in range(frame.height)]))
    return frame


def _ids(rng: random.Random) -> tuple[list[str], list[str], list[str], int]:
    items = [f"i{code}" for code in range(rng.choice((1, 2, 2, 3, 4, 6)))]
    workers = [f"w{code}" for code in range(rng.choice((1, 2, 3, 5)))]
    queries = [f"q{code}" for code in range(rng.choice((1, 1, 2, 3)))]
    return items, workers, queries, rng.choice((1, 2, 3, 6, 12, 25))


def _pairs(rng: random.Random) -> list[dict[str, object]]:
    items, workers, queries, count = _ids(rng)
    one_way, apart = rng.random() < 0.2, rng.random() < 0.2
    rows: list[dict[str, object]] = []
    for _ in range(count):
        left, right = rng.choice(items), rng.choice(items)
        if apart and len(items) > 3:  # two groups that never meet
            half = items[:2] if rng.random() < 0.5 else items[2:]
            left, right = rng.choice(half), rng.choice(half)
        label = min(left, right) if one_way else rng.choice((left, right, left, "tie"))
        rows.append(
            {
                "worker": rng.choice(workers),
                "query": rng.choice(queries),
                "left": left,
                "right": right,
                "label": label,
            }
        )
    return rows


LABELS: tuple[Callable[[random.Random], float], ...] = (
    lambda rng: rng.randint(0, 1),
    lambda rng: rng.randint(1, 5),
    lambda rng: 1,
    lambda rng: rng.choice((-3.5, 0.0, 2.25)),
    lambda rng: rng.choice((1e49, -1e49, 0.0)),
    lambda rng: rng.choice((1e-49, 2e-49, 0.0)),
    lambda rng: rng.gauss(0, 1),
    lambda rng: rng.choice((1e15, 1e15 + 1)),
)


def _ratings(rng: random.Random) -> list[dict[str, object]]:
    items, workers, queries, count = _ids(rng)
    label = rng.choice(LABELS)
    return [
        {
            "worker": rng.choice(workers),
            "query": rng.choice(queries),
            "item": rng.choice(items),
            "label": float(label(rng)),
        }
        for _ in range(count)
    ]


def _rankings(rng: random.Random) -> list[dict[str, object]]:
    items, workers, queries, count = _ids(rng)
    rows: list[dict[str, object]] = []
    for number in range(max(count // 3, 1)):
        order = rng.sample(items, rng.randint(1, len(items)))
        ties, gaps = rng.random() < 0.3, rng.random() < 0.2
        worker, query = rng.choice(workers), rng.choice(queries)
        for place, item in enumerate(order):
            rank = rng.randint(1, 2) if ties else place + 1
            unranked = gaps and rng.random() < 0.4
            rows.append(
                {"worker": worker, "query": query, "list": f"l{number}", "item": item,
                 "rank": None if unranked else float(rank) * rng.choice((1.0, 1.0, 1e49))}
            )  # fmt: skip
    return rows
