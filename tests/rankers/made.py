"""Features, labels and judgments made for the tests of rankers."""

from __future__ import annotations

import numpy as np
import polars as pl

WEIGHTS = np.array([1.0, -0.5, 0.3, 0.0])
NOISE = {"ann": 0.3, "bob": 0.8, "cy": 6.0, "di": 0.5}
"""The workers of a made crowd, and how noisy their scores are."""


def labeled_frame(seed=0, queries=20, documents=8, features=4, noise=0.3):
    """Documents of several queries: a column per feature, and labels 0 to 3 by a noisy linear score."""
    rng = np.random.default_rng(seed)
    rows = queries * documents
    x = rng.normal(size=(rows, features)).astype(np.float32)
    score = x[:, :4] @ WEIGHTS[:features] + noise * rng.normal(size=rows)
    label = np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9]))
    return pl.DataFrame(
        {
            "query": [f"q{row // documents:03d}" for row in range(rows)],
            "item": [f"d{row % documents:03d}" for row in range(rows)],
            "label": label,
            **{f"f{column}": x[:, column] for column in range(features)},
        }
    )


def scores_by_id(ranker, frame):
    """The scores of a frame's documents, sorted by query and item."""
    return ranker.score(frame).polars().sort("query", "item")["score"].to_numpy()


def judged_frames(seed=0, queries=12):
    """Features without labels, and lists of three kinds: full ones (with ties), partial ones and top-2 lists.

    Queries have 4 to 7 documents. The lists of one kind are one frame: query, worker, item, rank. Documents that a
    partial list leaves out are unknown; those that a top-2 list leaves out are below.
    """
    rng, rows, kinds = np.random.default_rng(seed), [], {"full": [], "partial": [], "top": []}
    for number in range(queries):
        size = 4 + number % 4
        x = rng.normal(size=(size, 4)).astype(np.float32)
        ids = {"query": f"q{number:03d}"}
        rows += [{**ids, "item": f"d{own}", **{f"f{k}": x[own, k] for k in range(4)}} for own in range(size)]
        for place, (worker, noise) in enumerate(NOISE.items()):
            kind = ("full", "partial", "top", "full")[(number + place) % 4]
            seen = x @ WEIGHTS + noise * rng.normal(size=size)
            seen = np.round(seen, 0 if (number + place) % 8 == 0 else 9)  # a tie now and then
            held = {"full": size, "partial": size - 1, "top": size}[kind]
            chosen = rng.permutation(size)[:held]
            ranks = 1 + (seen[chosen][:, None] < seen[chosen][None, :]).sum(axis=1)
            kept = ranks <= (2 if kind == "top" else size)
            kinds[kind] += [
                {**ids, "worker": worker, "item": f"d{item}", "rank": int(rank)}
                for item, rank in zip(chosen[kept], ranks[kept], strict=True)
            ]
    return pl.DataFrame(rows), {kind: pl.DataFrame(own) for kind, own in kinds.items()}
