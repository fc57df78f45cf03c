"""The files of a training run: the saved ranker, its tables, fit.json and the report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdrank.cli.output import FORMATS, Folder, bytes_writer, frame_writer, tables_in, text_writer

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker
    from crowdrank.rankers.folds import CrossValidation
    from crowdrank.results import Table

PARTS = ("weights.npz", "trees.txt", "net.npz", "extended.npz", "processing.json")
"""What a saved ranker may consist of besides model.json."""


def saved_files(folder: Path) -> list[Path]:
    """The files that a saved ranker may consist of."""
    return [folder / name for name in ("model.json", *PARTS)]


def write_ranker(
    folder: Folder, ranker: Ranker, folds: CrossValidation | None, reading: float, form: str
) -> list[str]:
    """Write everything that training found, and return the names of the files.

    model.json comes last: before it, the folder is no ranker.
    """
    from crowdrank.rankers.saved import HEADER, contents
    from crowdrank.report import training_report_files

    began = time.perf_counter()
    tables = _tables(ranker, folds)

    def save_fit(path: Path) -> None:
        fit = ranker.fit_.with_seconds(read=reading, write=time.perf_counter() - began)
        content = {**fit.as_dict(), "tables": list(tables)}
        path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")

    saved = contents(ranker)
    header = saved.pop(HEADER)
    files: dict[str, Callable[[Path], Any]] = {name: bytes_writer(content) for name, content in saved.items()}
    files |= {f"{name}.{form}": frame_writer(table.polars(), form) for name, table in tables.items()}
    files |= {name: text_writer(text) for name, text in training_report_files(ranker).items()}
    files |= {"fit.json": save_fit, HEADER: bytes_writer(header)}
    old = (folder.path / HEADER).exists()  # parts that no ranker names are not ours to remove
    names = {*tables_in(folder.path, ranker=True), *tables}
    stale = [*PARTS, *(f"{name}.{other}" for name in names for other in FORMATS)]
    folder.write(files, stale=stale if old else [])
    return list(files)


def _tables(ranker: Ranker, folds: CrossValidation | None) -> dict[str, Table]:
    tables: Mapping[str, Table | None] = {
        "importance": ranker.importance_,
        "validation": ranker.validation_,
        "queries": ranker.queries_,
        **ranker.trained_.tables,
        "folds": folds,
        "scores": None if folds is None else folds.scores,
    }
    return {name: table for name, table in tables.items() if table is not None}
