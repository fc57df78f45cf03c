"""Random votes that exercise everything."""

from __future__ import annotations

import numpy as np
import polars as pl


def random_votes(seed=0, items=12, workers=8, votes=400, queries=0, ties=0.1):
    """A frame of votes with workers of different quality, and ties."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1.2, (max(queries, 1), items))
    quality = rng.uniform(0.6, 1.0, workers)
    query = rng.integers(0, max(queries, 1), votes)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    worker = rng.integers(0, workers, votes)
    ahead = 1 / (1 + np.exp(scores[query, right] - scores[query, left]))
    chance = quality[worker] * ahead + (1 - quality[worker]) * (1 - ahead)
    wins = rng.random(votes) < chance
    label = np.where(wins, left, right).astype(str)
    label = np.where(rng.random(votes) < ties, "tie", [f"i{name}" for name in label])
    frame = pl.DataFrame(
        {
            "worker": [f"w{code}" for code in worker],
            "left": [f"i{code}" for code in left],
            "right": [f"i{code}" for code in right],
            "label": label,
        }
    )
    return frame.with_columns(query=pl.Series([f"q{code}" for code in query])) if queries else frame
