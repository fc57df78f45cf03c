"""Labels against gold."""

from __future__ import annotations

import polars as pl

from crowdrank.data import Scored


def label_accuracy(labels: pl.DataFrame, gold: Scored) -> float:
    """The share of the items with gold whose label equals the gold grade; NaN if no item has gold.

    ``labels`` has the columns query, item and label. An item with gold but no label is not counted.
    """
    both = labels.join(gold.frame, on=["query", "item"], nulls_equal=True)
    return float((both["label"] == both["value"]).mean()) if len(both) else float("nan")  # type: ignore[arg-type]
