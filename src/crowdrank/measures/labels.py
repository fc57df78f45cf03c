"""Labels against gold."""

from __future__ import annotations

import polars as pl

from crowdrank.data import Scored, judged_grades


def label_accuracy(labels: pl.DataFrame, gold: Scored) -> float:
    """The share of the items with gold whose label equals the gold grade; NaN if no item has gold.

    ``labels`` has the columns query, item and label. An item with gold but no label is not counted, nor is a
    grade that means "not judged".
    """
    grades = gold.frame
    if not (labels["label"] < 0).any():  # a crowd that gives labels below 0 means them
        grades = grades.filter(judged_grades(grades["value"]))
    both = labels.join(grades, on=["query", "item"], nulls_equal=True)
    return float((both["label"] == both["value"]).mean()) if len(both) else float("nan")  # type: ignore[arg-type]
