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
    workers = _read_table(place, "workers") if "workers" in fit.get("tables", ()) else None
    return SavedResult(str(folder), fit, ranking, workers)


def _read_fit(path: Path, folder: str | Path) -> dict[str, Any]:
    try:
        fit = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("the folder has no fit.json.", source=str(folder), hint=WRITE) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error}).", source=str(path), hint="Rank again.") from error
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
        raise InputError(f"cannot be read ({str(error).splitlines()[0]}).", source=str(path)) from error
    lacks = [column for column in NEEDED[name] if column not in frame.columns]
    if lacks:
        raise InputError(f"there is no column {lacks[0]!r}.", source=str(path), hint=WRITE)
    return frame.with_columns(pl.col(own).cast(kind) for own, kind in IDS.items() if own in frame.columns)


def _read_frame(path: Path) -> pl.DataFrame:
    if path.suffix == ".csv":
        names = pl.read_csv(path, n_rows=0).columns
        known = {name: kind for name, kind in IDS.items() if name in names}
        return pl.read_csv(path, schema_overrides=known, infer_schema_length=None)
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_json(path, infer_schema_length=None)
