"""crowdrank train: features and labels in, a ranker out."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli.options import (
    FeatureColumns,
    FeatureFiles,
    GoldColumns,
    Memory,
    Place,
    SpoolFolder,
    join_columns,
    parse_settings,
)
from crowdrank.cli.output import Folder, check_format
from crowdrank.errors import UsageError

if TYPE_CHECKING:
    from crowdrank.data import Features, Scored
    from crowdrank.rankers.base import Ranker
    from crowdrank.rankers.folds import CrossValidation

NAME = "train"
FILES = "files"
"""As the number of folds: each file is a part."""


def command(
    features: FeatureFiles,
    out: Annotated[Path, typer.Option(help="Folder for the ranker, its tables and the report.")],
    model: Annotated[str, typer.Option(help="listmle, lambdamart or regression.")] = "listmle",
    scorer: Annotated[
        str | None, typer.Option(help="linear, trees or net. Default: trees for lambdamart, else linear.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the ranker or its scorer, name=value.")
    ] = None,
    gold: Annotated[
        list[str] | None,
        typer.Option(help="File of labels; may be repeated. Default: the labels in the features."),
    ] = None,
    validation: Annotated[
        list[str] | None,
        typer.Option(help="Features of other queries; may be repeated. Or a share of the queries, such as 0.2."),
    ] = None,
    measure: Annotated[str | None, typer.Option(help="What validation looks at. Default: nDCG@10.")] = None,
    folds: Annotated[
        str,
        typer.Option(help="Cross-validate first: the number of parts, or the word files if each file is a part."),
    ] = "",
    missing: Annotated[
        str, typer.Option(help="A labeled item without features is an error, or left out: error or drop.")
    ] = "error",
    columns: FeatureColumns = None,
    gold_columns: GoldColumns = None,
    engine: Place = "local",
    memory: Memory = None,
    spool: SpoolFolder = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    form: Annotated[str, typer.Option("--format", help="Of the tables: csv, parquet or json.")] = "csv",
) -> None:
    """Train a ranker on features and labels.

    The folder gets model.json with weights.npz, trees.txt or net.npz (the ranker), fit.json, importance.csv,
    queries.csv, validation.csv if there are validation queries, and a report as report.html, report.md and
    report.json. With --folds also folds.csv and scores.csv, the scores of every document by a ranker that did
    not see its query.
    """
    check_format(form)
    parameters = {
        "seed": seed,
        **({} if measure is None else {"measure": measure}),
        **parse_settings(settings or []),
    }
    reader = _Reader(
        features, join_columns(columns), gold or [], join_columns(gold_columns), validation or [], memory, spool
    )
    parts = _read_folds(folds, features)
    with Folder(out) as folder:
        _train(_Request(reader, model, scorer, parameters, parts, missing, engine, form), folder)


@dataclass(frozen=True)
class _Reader:
    """File names, column names and memory options."""

    features: list[str]
    columns: str
    gold: list[str]
    gold_columns: str
    validation: list[str]
    memory: str | None
    spool: Path | None

    def read(self, files: list[str]) -> Features:
        """These files as one table of features."""
        from crowdrank.data import read_features

        return read_features(files, columns=self.columns, memory=self.memory, spool=self.spool)

    def read_labels(self) -> Scored | None:
        """The labels of files of their own."""
        from crowdrank.data import read_gold

        return read_gold(self.gold, columns=self.gold_columns) if self.gold else None

    def read_validation(self) -> Features | float | None:
        """Features of other queries, or a share."""
        if len(self.validation) == 1:
            with suppress(ValueError):
                return float(self.validation[0])
            with suppress(ValueError):  # 20% is 0.2
                return float(self.validation[0].removesuffix("%")) / 100
        return self.read(self.validation) if self.validation else None

    def queries_by_file(self) -> list[list[Any]]:
        """The queries of each file. The files are read one by one, so that only one is in memory."""
        found = []
        for file in self.features:
            names = self.read([file]).index.queries
            if names is None:
                raise UsageError(
                    f"{file}: the file has no queries, so it cannot be a part.", hint="Use --folds 5."
                )
            found.append(names.to_list())
        return found


@dataclass(frozen=True)
class _Request:
    """The user's request."""

    reader: _Reader
    model: str
    scorer: str | None
    parameters: dict[str, Any]
    folds: int | str | None
    missing: str
    engine: str
    form: str


def _read_folds(given: str, files: list[str]) -> int | str | None:
    """The number of parts, or ``files``."""
    if not given:
        return None
    if given == FILES:
        if len(files) < 2 or "-" in files:
            raise UsageError(
                "--folds files needs a file for each part.", hint="For parts of one file, use --folds 5."
            )
        return FILES
    try:
        return int(given)
    except ValueError:
        raise UsageError(f"--folds takes a number of parts, or the word files. Got {given!r}.") from None


def _train(asked: _Request, folder: Folder) -> None:
    from crowdrank.cli.ranker_files import write_ranker
    from crowdrank.cli.terminal import progress, warn
    from crowdrank.engine import open_engine
    from crowdrank.rankers.registry import make_ranker
    from crowdrank.rankers.validation import one_measure

    # made before any file is read, so that a wrong name fails first
    ranker = make_ranker(asked.model, asked.scorer, asked.parameters)
    one_measure(ranker.measure)
    with open_engine(asked.engine) as engine:
        began = time.perf_counter()
        with progress("reading"):
            parts = asked.reader.queries_by_file() if asked.folds == FILES else asked.folds
            table, grades = asked.reader.read(asked.reader.features), asked.reader.read_labels()
            validation = asked.reader.read_validation()
        reading = time.perf_counter() - began
        given: dict[str, Any] = {"gold": grades, "missing": asked.missing, "engine": engine}
        found = None
        if parts is None:
            with progress(ranker.name) as shown:
                ranker.fit(table, validation=validation, progress=shown, **given)
        else:
            ranker, found = _train_folds(ranker, table, parts, validation, given)
    known = {note.code for note in ranker.fit_.warnings}
    warn([note for note in (() if found is None else found.notes) if note.code not in known])
    warn(ranker.fit_.warnings)
    write_ranker(folder, ranker, found, reading, asked.form)
    _summarize(ranker, found)


def _train_folds(
    ranker: Ranker, table: Features, parts: Any, validation: Any, given: dict[str, Any]
) -> tuple[Ranker, CrossValidation]:
    """Cross-validate, then train on everything."""
    from crowdrank.cli.terminal import progress, status
    from crowdrank.rankers.folds import PREVIOUS, cross_validate, train_on_all

    with status(ranker.name) as shown:
        held = PREVIOUS if validation is None else validation
        found = cross_validate(ranker, table, parts, validation=held, status=shown, **given)
    with progress(ranker.name) as steps:
        return train_on_all(ranker, table, found, validation=validation, progress=steps, **given), found


def _summarize(ranker: Ranker, found: CrossValidation | None) -> None:
    """Say on stderr what was trained, and how well it does beside the best single feature."""
    details = ranker.fit_.details
    own, measured = details["training"], details["measured"]
    print(
        f"{ranker.name} ({ranker.trained_.scorer}) was trained on {own['documents']} documents of "
        f"{_count(own['queries'], 'query', 'queries')}, with "
        f"{_count(len(ranker.trained_.scoring.preparation.names), 'feature', 'features')}.",
        file=sys.stderr,
    )
    name = measured["measure"]
    if found is not None:
        _summarize_folds(found)
        if measured["queries_of"] == "training":
            return
    kind = measured["queries_of"]
    queries = _count(measured["queries"], f"{kind} query", f"{kind} queries")
    beside = measured.get("best_feature")
    words = f" ({beside['description']}: {beside[name]:.4f})" if beside else ""
    print(f"{name} on {queries}: {measured['ranker'][name]:.4f}{words}", file=sys.stderr)


def _summarize_folds(found: CrossValidation) -> None:
    count, queries = len(found.folds), sum(fold.test for fold in found.folds)
    for name, own in found.summary().items():
        print(
            f"{name} over {count} folds: {own['mean_of_folds']:.4f} ± {own['stderr_of_folds']:.4f}; "
            f"over {queries} queries: {own['mean']:.4f} ± {own['stderr']:.4f} "
            f"(best single feature: {own['best_feature']:.4f})",
            file=sys.stderr,
        )


def _count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number} {many}"
