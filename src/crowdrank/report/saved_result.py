"""A result that `crowdrank rank` wrote, read back from its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from crowdrank.errors import InputError, Remedy

IDS = {"query": pl.String, "item": pl.String, "worker": pl.String}
FORMS = ("csv", "parquet", "json")
NEEDED: dict[str, tuple[str, ...]] = {
    "ranking": ("query", "item", "rank", "tier", "score", "stderr", "rank_low", "rank_high"),
    "workers": ("worker", "judgments", "quality", "low", "high", "verdict"),
}
FILLED = {
    "ranking": ("item", "rank", "tier", "score", "rank_low", "rank_high"),
    "workers": ("worker", "judgments", "verdict"),
}
"""The columns without gaps; standard errors and qualities are not always known."""
TEXTS = ("query", "item", "worker", "verdict")
AGAIN = "Rank again, or copy the folder again."
WRITE = ("Name a folder that `crowdrank rank` wrote with ", Remedy("out", "DIR"))


@dataclass(frozen=True, eq=False)
class SavedResult:
    """The tables of a result. ``name`` is its folder, ``workers`` is None if they are not known."""

    name: str
    fit: dict[str, Any]
    ranking: pl.DataFrame
    workers: pl.DataFrame | None


def read_result(folder: str | Path) -> SavedResult:
    """Read the ranking, the workers and fit.json of a folder. An error says what is missing."""
    place = Path(folder)
    if not place.is_dir():
        problem = "this is not a folder." if place.exists() else "there is no such folder."
        raise InputError(problem, source=str(folder), hint=WRITE)
    if (place / "model.json").exists():
        raise InputError("this folder has a ranker, not a ranking.", source=str(folder), hint=WRITE)
    fit = _read_fit(place / "fit.json", folder)
    ranking = _read_table(place, "ranking")
    if ranking is None:
        raise InputError("the folder has no ranking.", source=str(folder), hint=WRITE)
    workers = _read_table(place, "workers") if "workers" in fit["tables"] else None
    if workers is None and "workers" in fit["tables"]:
        raise InputError(
            "the folder has no table of workers, which fit.json names.", source=str(folder), hint=AGAIN
        )
    return SavedResult(str(folder), fit, ranking, workers)


def _read_fit(path: Path, folder: str | Path) -> dict[str, Any]:
    try:
        fit = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("the folder has no fit.json.", source=str(folder), hint=WRITE) from None
    except (OSError, ValueError) as error:
        raise _damaged(path) from error
    if not isinstance(fit, dict) or "model" not in fit or not isinstance(fit.get("tables"), list):
        raise InputError("does not describe a ranking.", source=str(path), hint=WRITE)
    return fit


def _read_table(place: Path, name: str) -> pl.DataFrame | None:
    path = next((place / f"{name}.{form}" for form in FORMS if (place / f"{name}.{form}").exists()), None)
    if path is None:
        return None
    try:
        frame = _read_frame(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged(path) from error
    lacks = [column for column in NEEDED[name] if column not in frame.columns]
    if lacks:
        raise InputError(f"there is no column {lacks[0]!r}.", source=str(path), hint=WRITE)
    _check_cells(frame, name, path)
    return frame.with_columns(pl.col(own).cast(kind) for own, kind in IDS.items() if own in frame.columns)


def _check_cells(frame: pl.DataFrame, name: str, path: Path) -> None:
    """Raise an error if a table has no rows, gaps, or text in the place of numbers: it was cut off or edited."""
    if frame.is_empty():
        raise InputError("there are no rows.", source=str(path), hint=AGAIN)
    for column in FILLED[name]:
        if frame[column].null_count():
            row = int(frame[column].is_null().arg_true()[0]) + 1
            problem = "the value is missing: the file was cut off or edited."
            raise InputError(problem, source=str(path), row=row, column=column, hint=AGAIN)
    for column in NEEDED[name]:
        if column not in TEXTS and not (frame.schema[column].is_numeric() or frame.schema[column] == pl.Null):
            text = frame[column].cast(pl.String)
            wrong = text.cast(pl.Float64, strict=False).is_null() & text.is_not_null()
            row = int(wrong.arg_true()[0])
            raise InputError(
                "a number is needed here.",
                source=str(path),
                row=row + 1,
                column=column,
                value=text[row],
                hint=AGAIN,
            )


def _damaged(path: Path) -> InputError:
    return InputError("is damaged or cut off.", source=str(path), hint=AGAIN)


def _read_frame(path: Path) -> pl.DataFrame:
    if path.suffix == ".csv":
        names = pl.read_csv(path, n_rows=0).columns
        known = {name: kind for name, kind in IDS.items() if name in names}
        return pl.read_csv(path, schema_overrides=known, infer_schema_length=None)
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_json(path, infer_schema_length=None)
