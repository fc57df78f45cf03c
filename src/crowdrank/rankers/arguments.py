"""What the rankers' fit takes: the error if it is given plain arrays, and labels that say nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from crowdrank.data import Features
from crowdrank.errors import Note, UsageError

LABELED = (
    "Give fit one frame or file with the columns query, item, label and one for each feature, "
    "or fit(features, gold=labels)."
)
JUDGED = (
    "Give fit two tables: features, a frame or file with the columns query, item and one for each feature, and "
    "judgments with the same queries and items, such as query, worker, item and rank."
)


def refuse_arrays(name: str, features: Any, others: Any, columns: Any, hint: str) -> None:
    """Raise an error if plain arrays were given, as X and y: they do not say which document a row is.

    ``others``: what was given after the features, labels or judgments. If ``columns`` names the columns of the
    features, they may be an array.
    """
    array = columns is None and (isinstance(features, np.ndarray) or _is_sparse(features))
    if array or _is_one_column(others):
        problem = f"{name} cannot be fitted to arrays X and y: they do not name the query and item of a row."
        raise UsageError(problem, hint=hint)


def without_equal_labels(features: Features) -> Features:
    """The features without labels if all labels are equal, such as a 0 in every row, with a note.

    Such labels fill a place in the file. A measure by them would be 0 or 1, whatever the scores are.
    """
    label = features.label
    known = np.zeros(0) if label is None else np.unique(label[~np.isnan(label)])
    if len(known) != 1:
        return features
    message = f"Every document has the label {known[0]:g} in the features, so nothing is measured by these labels."
    return replace(features, label=None, notes=(*features.notes, Note("placeholder-labels", message)))


def _is_sparse(given: Any) -> bool:
    """Whether this is a sparse matrix of SciPy. Nobody has one who has not loaded SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(given))


def _is_one_column(given: Any) -> bool:
    """Whether this is an array or a list with one value for each row, not a table."""
    if isinstance(given, list | tuple):
        return bool(given) and isinstance(given[0], int | float)
    return isinstance(given, np.ndarray) and given.ndim == 1
