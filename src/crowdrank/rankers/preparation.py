"""What happens to features before a scorer sees them: missing values are filled, then values are standardized."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Features, Floats, Integers
from crowdrank.data.spool.values import SPARSE_BYTES, SPARSE_SHARE
from crowdrank.errors import InputError, Note, Remedy, UsageError, parameter
from crowdrank.prepared.documents import runs

STANDARDIZE = ("query", "all", "scale")
IMPUTE = ("mean", "median")
BLOCK = 1 << 16
"""How many rows are prepared at a time."""
RESOLVED = 1e-6
"""A spread below this part of the largest value counts as none: it is near the resolution of single precision."""
COLUMNS = 8
"""How many columns a median holds in memory at a time."""

Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Preparation:
    """How features become what a scorer sees. It is learned in training, saved, and applied again in scoring.

    ``fill``: what replaces a missing value of each feature; None keeps NaN. ``standardize``:

    - "query": (x - mean) / sd, both over the documents of the query that are scored together;
    - "all": (x - mean) / scale, both learned in training;
    - "scale": x / scale, which keeps zeros, so that sparse features stay sparse;
    - None: nothing.

    A feature that is constant has the scale 1.
    """

    names: tuple[str, ...]
    standardize: str | None = None
    fill: Floats | None = None
    mean: Floats | None = None
    scale: Floats | None = None

    def apply(self, values: Any, start: Integers) -> Any:
        """The prepared values of whole queries: query q has the rows start[q] to start[q+1]."""
        if not isinstance(values, np.ndarray):
            return self._apply_sparse(values)
        if self.fill is None and self.standardize is None:
            return values
        found = np.empty(values.shape, np.float32)
        for low, high in runs(start, BLOCK):
            rows = slice(int(start[low]), int(start[high]))
            found[rows] = self._apply_block(values[rows], start[low : high + 1] - start[low])
        return found

    def _apply_block(self, values: Values, start: Integers) -> Floats:
        filled = values.astype(np.float64)
        if self.fill is not None:
            filled = np.where(np.isnan(filled), self.fill, filled)
        if self.standardize == "query":
            return standardize_within(filled, start)
        centered = filled if self.mean is None else filled - self.mean
        return centered if self.scale is None else centered / self.scale

    def _apply_sparse(self, values: Any) -> Any:
        """Only values that are stored change, so zeros stay."""
        found, own = values.copy(), values.data.astype(np.float64)
        if self.fill is not None:
            own = np.where(np.isnan(own), self.fill[values.indices], own)
        found.data = (own if self.scale is None else own / self.scale[values.indices]).astype(np.float32)
        return found


def standardize_within(values: Floats, start: Integers) -> Floats:
    """(x - mean) / sd over the rows of each query that have a value; 0 for a feature that is constant there."""
    sizes, begins = np.diff(start), start[:-1]
    known = ~np.isnan(values)
    whole = bool(known.all())
    count = sizes[:, None] if whole else np.maximum(np.add.reduceat(known, begins, axis=0, dtype=np.int64), 1)
    plain = values if whole else np.where(known, values, 0.0)
    mean = np.repeat(np.add.reduceat(plain, begins, axis=0) / count, sizes, axis=0)
    away = plain - mean if whole else np.where(known, plain - mean, 0.0)
    spread = np.sqrt(np.add.reduceat(away**2, begins, axis=0) / count)
    least = np.maximum.reduceat(np.abs(plain), begins, axis=0) * RESOLVED
    spread = np.where(spread > least, spread, np.inf)
    found = away / np.repeat(spread, sizes, axis=0)
    return found if whole else np.where(known, found, np.nan)


def learn_preparation(
    features: Features, weight: Floats, *, standardize: str | None, impute: Any, takes_missing: bool
) -> tuple[Preparation, tuple[Note, ...]]:
    """Learn the preparation from training features. ``weight`` of the rows: in means and scales, not in medians.

    ``standardize``: "auto" is "query" for dense features and "scale" for sparse ones; dense features without
    queries take "all", because what is scored together later is no list of one query. ``impute``: "mean",
    "median", a number, or None, which keeps missing values; only if the scorer takes them.
    """
    chosen = _choose(features, standardize)
    fill = _learn_fill(features, weight, impute)
    missing = _count_missing(features)
    if fill is None and not takes_missing:
        _refuse_missing(features, missing)
    mean = scale = None
    constant = _constant(features)
    if chosen in ("all", "scale"):
        mean, scale = _learn_moments(features, weight, fill, centered=chosen == "all")
    notes = _notes(features, missing, fill, constant)
    return Preparation(features.names, chosen, fill, mean if chosen == "all" else None, scale), notes


def require_values(features: Features, preparation: Preparation, *, takes_missing: bool) -> None:
    """Raise an error if validation features have missing values that nothing fills or takes."""
    if preparation.fill is None and not takes_missing:
        _refuse_missing(features, _count_missing(features))


def _choose(features: Features, standardize: str | None) -> str | None:
    storage = features.summary()["storage"]
    sparse = storage == "sparse"
    if standardize == "auto" and storage == "file":  # the choice must not depend on the memory
        sparse = _would_be_sparse(features)
    if standardize == "auto":
        return "scale" if sparse else "all" if features.query is None else "query"
    if standardize is not None and standardize not in STANDARDIZE:
        known = ", ".join((*STANDARDIZE, "auto"))
        raise UsageError(f"The parameter 'standardize' must be one of {known} or None. Got {standardize!r}.")
    if sparse and standardize in ("query", "all"):
        raise UsageError(
            f"standardize={standardize!r} would fill the zeros of sparse features.",
            hint=("Keep the zeros: ", parameter("standardize", "scale")),
        )
    return standardize


def _would_be_sparse(features: Features) -> bool:
    """Whether features in a file would be sparse in memory."""
    cells = features.rows * len(features.names)
    if 4 * cells <= SPARSE_BYTES:
        return False
    known = sum(int(np.count_nonzero(values)) for values in _row_blocks(features))
    return known < SPARSE_SHARE * cells


def _row_blocks(features: Features) -> Iterator[Any]:
    """The values, some rows at a time; sparse ones as they are."""
    if features.summary()["storage"] == "sparse":
        yield features.values
        return
    for low in range(0, features.rows, BLOCK):
        yield features.dense(slice(low, low + BLOCK))


def _count_missing(features: Features) -> Integers:
    total = np.zeros(len(features.names), np.int64)
    for values in _row_blocks(features):
        if isinstance(values, np.ndarray):
            total += np.isnan(values).sum(axis=0)
        else:
            total += np.bincount(values.indices[np.isnan(values.data)], minlength=len(total))
    return total


def _constant(features: Features) -> NDArray[np.bool_]:
    """Features whose known values are all the same."""
    low, high = np.full(len(features.names), np.inf), np.full(len(features.names), -np.inf)
    for values in _row_blocks(features):
        if not isinstance(values, np.ndarray):
            low, high = (np.asarray(part.toarray())[0] for part in (values.min(axis=0), values.max(axis=0)))
        elif len(values):
            low = np.fmin(low, np.fmin.reduce(values, axis=0))
            high = np.fmax(high, np.fmax.reduce(values, axis=0))
    return np.asarray(~(high > low))


def _learn_fill(features: Features, weight: Floats, impute: Any) -> Floats | None:
    width = len(features.names)
    if impute is None:
        return None
    if isinstance(impute, int | float) and not isinstance(impute, bool) and np.isfinite(impute):
        return np.full(width, float(impute))
    if impute not in IMPUTE:
        raise UsageError(f"The parameter 'impute' must be mean, median, a number or None. Got {impute!r}.")
    if features.summary()["storage"] == "sparse":
        raise UsageError(
            "Sparse features can be imputed only by a number.", hint=("For example ", parameter("impute", "0"))
        )
    if impute == "mean":
        return _learn_moments(features, weight, None, centered=True)[0]
    fill = np.zeros(width)
    for low in range(0, width, COLUMNS):
        chosen = slice(low, low + COLUMNS)
        columns = np.concatenate([values[:, chosen] for values in _row_blocks(features)])
        known = ~np.isnan(columns).all(axis=0)
        fill[chosen][known] = np.nanmedian(columns[:, known].astype(np.float64), axis=0)
    return fill


def _learn_moments(
    features: Features, weight: Floats, fill: Floats | None, *, centered: bool
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the known values; or 0 and their root mean square. A scale of 0 becomes 1."""
    width = len(features.names)
    if features.summary()["storage"] == "sparse":
        return np.zeros(width), _sparse_scale(features.values, weight, fill)
    mean = np.zeros(width)
    if centered:
        total, count = _column_sums(features, weight, fill, lambda own: own)
        mean = total / np.where(count > 0, count, 1.0)
    square, count = _column_sums(features, weight, fill, lambda own: (own - mean) ** 2)
    scale = np.sqrt(square / np.where(count > 0, count, 1.0))
    return mean, np.where(scale > RESOLVED * np.abs(mean), _usable_scale(scale), 1.0)


def _column_sums(
    features: Features, weight: Floats, fill: Floats | None, function: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """The weighted sum of a function of the known values of each feature, and the total weight of these values."""
    total, count, done = np.zeros(len(features.names)), np.zeros(len(features.names)), 0
    for values in _row_blocks(features):
        own, share = values.astype(np.float64), weight[done : done + len(values)]
        done += len(values)
        own = own if fill is None else np.where(np.isnan(own), fill, own)
        known = ~np.isnan(own)
        total += share @ np.where(known, function(own), 0.0)
        count += share @ known
    return total, count


def _sparse_scale(values: Any, weight: Floats, fill: Floats | None) -> Floats:
    """The root mean square of each feature, zeros included. Missing values are filled, or count for nothing."""
    share, own = np.repeat(weight, np.diff(values.indptr)), values.data.astype(np.float64)
    missing, width = np.isnan(own), values.shape[1]
    if fill is not None:
        own, missing = np.where(missing, fill[values.indices], own), np.zeros_like(missing)
    square = np.bincount(values.indices, share * np.where(missing, 0.0, own) ** 2, width)
    unknown = np.bincount(values.indices, share * missing, width)
    return _usable_scale(np.sqrt(square / np.maximum(weight.sum() - unknown, 1e-300)))


def _usable_scale(scale: Floats) -> Floats:
    return np.where(scale > 0, scale, 1.0)


def _refuse_missing(features: Features, missing: Integers) -> None:
    """Raise an error if values are missing; ``missing``: how many of each feature."""
    if not missing.any():
        return
    first = int(np.flatnonzero(missing)[0])
    others = (
        f" and {np.count_nonzero(missing) - 1} more features have" if np.count_nonzero(missing) > 1 else " has"
    )
    raise InputError(
        f"the feature {features.names[first]!r}{others} missing values ({missing.sum()} in all).",
        source=features.source,
        hint=(
            "Fill them, ",
            parameter("impute", "mean"),
            ", or use trees, which take them: ",
            Remedy("scorer", "trees"),
        ),
    )


def _notes(
    features: Features, missing: Integers, fill: Floats | None, constant: NDArray[np.bool_]
) -> tuple[Note, ...]:
    notes = []
    if missing.any():
        what = "are kept, as trees take them" if fill is None else "are filled"
        count = np.count_nonzero(missing)
        of = "1 feature" if count == 1 else f"{count} features"
        notes.append(Note("missing-values", f"{missing.sum()} values of {of} {what}."))
    if constant.any():
        words = _count_of(constant, features.names)
        message = f"{words} the same value in every row, to the 7 digits that are kept."
        notes.append(Note("constant-features", message))
    return tuple(notes)


def flat_notes(preparation: Preparation, features: Features, values: Any) -> list[Note]:
    """A note on features that are the same within every query, so that standardizing leaves nothing of them.

    ``features`` before and ``values`` after the preparation. Features that are the same everywhere do not count.
    """
    if preparation.standardize != "query":
        return []
    flat = ~_constant(features)
    for low in range(0, values.shape[0], BLOCK):
        flat &= ~np.nan_to_num(values[low : low + BLOCK]).any(axis=0)
    if not flat.any():
        return []
    hint = ("To let trees or a net use such features: ", parameter("standardize", "all"))
    message = f"{_count_of(flat, preparation.names)} the same value within every query."
    return [Note("flat-features", message, hint)]


def _count_of(chosen: NDArray[np.bool_], names: Sequence[str]) -> str:
    found = np.flatnonzero(chosen)
    shown = ", ".join(repr(names[one]) for one in found[:3]) + (", ..." if len(found) > 3 else "")
    return f"The feature {shown} has" if len(found) == 1 else f"{len(found)} features ({shown}) have"
