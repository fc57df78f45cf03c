"""Features and labels made for the tests of rankers."""

from __future__ import annotations

import numpy as np
import polars as pl

WEIGHTS = np.array([1.0, -0.5, 0.3, 0.0])


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
