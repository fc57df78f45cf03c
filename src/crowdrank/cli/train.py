"""crowdrank train: features and labels, or features and judgments in, a ranker out."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from crowdrank.cli.declare import Option
from crowdrank.cli.judgment_files import JudgmentFiles, naming_columns
from crowdrank.cli.messages import warn
from crowdrank.cli.options import (
    AllowDropped,
    FeatureColumns,
    FeatureFiles,
    GoldColumns,
    JudgmentColumns,
    JudgmentOption,
    Memory,
    Outcomes,
    Place,
    SpoolFolder,
    join_columns,
    parse_missing,
    parse_settings,
    require_gold,
    take_order,
)
from crowdrank.cli.output import Folder, check_format, finish_folder
from crowdrank.cli.track import track
from crowdrank.cli.training_input import (
    FILES,
    CrowdInput,
    TrainingInput,
    check_gold,
    naming_joined,
    read_folds,
)
from crowdrank.errors import Remedy, UsageError

if TYPE_CHECKING:
    from crowdrank.data import Features
    from crowdrank.engine import Engine
    from crowdrank.rankers.base import Ranker
    from crowdrank.rankers.crowd_training import CrowdRanker
    from crowdrank.rankers.folds import CrossValidation
    from crowdrank.rankers.label_training import LabelRanker
    from crowdrank.rankers.remap.remap import Remap

DEFAULTS = {"labels": "listmle", "judgments": "ltrma-mle", "labels and a target": "remap"}
"""The ranker if none is named, by what there is to learn from."""


def command(
    features: FeatureFiles,
    out: Annotated[Path, Option(help="Folder for the ranker, its tables and the report.")],
    judgments: JudgmentOption = None,
    model: Annotated[
        str | None,
        Option(
            help="A ranker from `crowdrank models`. Default: remap if there is a target, ltrma-mle if there are "
            "judgments, else listmle.",
            names="rankers",
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        Option(
            help="linear, trees or net. Default: trees for lambdamart and remap, else linear.", names="scorers"
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="A parameter of the ranker or its scorer, name=value.", names="parameters"),
    ] = None,
    gold: Annotated[
        list[str] | None,
        Option(
            help="File of labels; may be repeated. Default: the labels in the features. With --judgments, labels "
            "only measure."
        ),
    ] = None,
    anchors: Annotated[
        str | None, Option(help="With --judgments: file of true lists, of known labels, or of gold pairs.")
    ] = None,
    side_info: Annotated[
        str | None, Option(help="With --judgments: file of what is known about the workers' expertise.")
    ] = None,
    target: Annotated[
        list[str] | None,
        Option(help="With --judgments: features of other queries, with the labels of experts. May be repeated."),
    ] = None,
    honeypots: Annotated[
        str | None,
        Option(help="With --target: file of what the crowd should have said about some documents."),
    ] = None,
    label_features: Annotated[
        str | None,
        Option(help="With --target: file of worker, item and further columns, which become label features."),
    ] = None,
    processing: Annotated[
        str | None,
        Option(help="Instead of --target: folder of a ranker whose weights and values of labels to use."),
    ] = None,
    validation: Annotated[
        list[str] | None,
        Option(help="Features of other queries; may be repeated. Or a share of the queries, such as 0.2."),
    ] = None,
    measure: Annotated[
        str | None, Option(help="What validation looks at. Default: nDCG@10; DCG@10 for remap.", names="measures")
    ] = None,
    folds: Annotated[
        str,
        Option(help="Cross-validate first: the number of parts, or the word files if each file is a part."),
    ] = "",
    missing: Annotated[
        list[str] | None,
        Option(
            help="A labeled or judged item without features is an error, or left out: error or drop. A document "
            "that a list does not rank is below all ranked ones, or nothing is known: below or unknown. May be "
            "repeated."
        ),
    ] = None,
    columns: FeatureColumns = None,
    judgment_columns: JudgmentColumns = None,
    outcomes: Outcomes = None,
    allow_dropped: AllowDropped = False,
    gold_columns: GoldColumns = None,
    engine: Place = "local",
    memory: Memory = None,
    spool: SpoolFolder = None,
    seed: Annotated[int, Option(help="Seed of everything random.")] = 0,
    form: Annotated[
        str, Option("--format", help="Of the tables: csv, parquet or json.", names="csv|parquet|json")
    ] = "csv",
) -> None:
    """Train a ranker on features and labels, or on features and the judgments of a crowd.

    The folder gets model.json with weights.npz, trees.txt or net.npz (the ranker), fit.json, importance.csv,
    queries.csv if there are labels, validation.csv if there are validation queries, and a report as report.html,
    report.md and report.json. With --judgments also workers.csv, orders.csv (the estimated true order of each
    list) and iterations.csv; with --target workers.csv and processing.json, which says how labels are weighted and
    valued. With --folds also folds.csv and scores.csv, the scores of every document by a ranker
    that did not see its query.
    """
    check_format(form)
    parameters = {
        "seed": seed,
        **({} if measure is None else {"measure": measure}),
        **parse_settings(settings or []),
    }
    require_gold(gold or ([honeypots] if honeypots else None), columns=gold_columns)
    rule, unranked = parse_missing(missing or [], judgments=bool(judgments))
    files = JudgmentFiles(
        judgments or [], join_columns(judgment_columns), unranked, ",".join(outcomes or []), allow_dropped,
        take_order(parameters),
    )  # fmt: skip
    crowd = CrowdInput(files, anchors, side_info, target or [], honeypots, label_features, processing)
    _check_crowd(crowd, folds)
    given = TrainingInput(
        features, join_columns(columns), gold or [], join_columns(gold_columns), validation or [], memory, spool,
        crowd if judgments else None,
    )  # fmt: skip
    parts = read_folds(folds, features)
    name = _check_model(model, given)
    with Folder(out, given.all_files()) as folder:
        _train(_Request(given, name, scorer, parameters, parts, rule, engine, form), folder)


@dataclass(frozen=True)
class _Request:
    """The user's request."""

    given: TrainingInput
    model: str
    scorer: str | None
    parameters: dict[str, Any]
    folds: int | str | None
    missing: str
    engine: str
    form: str


@dataclass(frozen=True, eq=False)
class _Trained:
    """A trained ranker, what cross-validation found, and the seconds that reading took."""

    ranker: Ranker
    folds: CrossValidation | None
    reading: float


def _check_crowd(crowd: CrowdInput, folds: str) -> None:
    """Raise an error if options of judgments come without any, or cannot be used with them."""
    if crowd.judgments.files:
        _check_target(crowd)
        if folds:
            raise UsageError(
                "--folds does not work with judgments yet.",
                hint=(
                    "Keep a share of the queries: ", Remedy("validation", "0.2"),
                    ", or give labels, which only measure: ", Remedy("gold", "FILE"),
                ),
            )  # fmt: skip
        return
    named = {
        "--anchors": crowd.anchors,
        "--side-info": crowd.side_info,
        "--judgment-columns": crowd.judgments.columns,
        "--outcomes": crowd.judgments.outcomes,
        "--allow-dropped": crowd.judgments.allow_dropped,
        "--target": crowd.target,
        "--honeypots": crowd.honeypots,
        "--label-features": crowd.label_features,
        "--processing": crowd.processing,
    }
    for option, value in named.items():
        if value:
            raise UsageError(f"{option} needs judgments.", hint=("Give them: ", Remedy("judgments", "FILE")))


def _check_target(crowd: CrowdInput) -> None:
    """Raise an error if options that a target has no use for come with one."""
    if not crowd.has_target:
        return
    for option, value in {"--anchors": crowd.anchors, "--side-info": crowd.side_info}.items():
        if value:
            hint = "What is known about labels is given as honeypots." if option == "--anchors" else None
            raise UsageError(f"{option} has no use with a target.", hint=hint)


def _check_model(model: str | None, given: TrainingInput) -> str:
    """The name of the ranker. One that learns from something else than what is given is an error."""
    from crowdrank.rankers.registry import find_ranker, ranker_entries

    source = "labels" if given.crowd is None else "labels and a target" if given.crowd.has_target else "judgments"
    entry = find_ranker(DEFAULTS[source] if model is None else model)
    if entry.learns_from == source:
        return entry.name
    if entry.learns_from == "labels and a target":
        raise UsageError(
            f"{entry.name} needs a target: documents of some queries with the labels of experts.",
            hint=(
                "Give it, and the labels of a crowd: ",
                Remedy("judgments", "FILE"),
                " ",
                Remedy("target", "FILE"),
            ),
        )
    if source == "labels and a target":
        raise UsageError(
            f"{entry.name} has no use for a target.",
            hint=("Leave out what comes with a target, or use ", Remedy("model", DEFAULTS[source])),
        )
    if source == "labels":
        raise UsageError(
            f"{entry.name} learns from the judgments of a crowd, and there are none.",
            hint=("Give them: ", Remedy("judgments", "FILE")),
        )
    others = ", ".join(own.name for own in ranker_entries().values() if own.learns_from == source)
    raise UsageError(
        f"{entry.name} learns from labels, not from judgments.",
        hint=(f"The rankers {others} learn from judgments. Use ", Remedy("model", DEFAULTS[source])),
    )


def _train(asked: _Request, folder: Folder) -> None:
    from crowdrank.cli.ranker_files import write_ranker
    from crowdrank.cli.training_summary import summarize
    from crowdrank.engine import open_engine
    from crowdrank.rankers.crowd_training import CrowdRanker
    from crowdrank.rankers.label_training import LabelRanker
    from crowdrank.rankers.registry import make_ranker
    from crowdrank.rankers.remap.remap import Remap
    from crowdrank.rankers.validation import one_measure

    # made before any file is read, so that a wrong name fails first
    ranker = make_ranker(asked.model, asked.scorer, asked.parameters)
    one_measure(ranker.measure)
    with open_engine(asked.engine) as engine:
        if isinstance(ranker, Remap):
            done = _train_on_target(asked, ranker, engine)
        elif isinstance(ranker, CrowdRanker):
            done = _train_on_judgments(asked, ranker, engine)
        else:
            assert isinstance(ranker, LabelRanker)
            done = _train_on_labels(asked, ranker, engine)
    known = {note.code for note in done.ranker.fit_.warnings}
    warn([note for note in (() if done.folds is None else done.folds.notes) if note.code not in known])
    warn(done.ranker.fit_.warnings)
    files = write_ranker(folder, done.ranker, done.folds, done.reading, asked.form)
    summarize(done.ranker, done.folds, gold=bool(asked.given.gold))
    finish_folder(f"Trained {done.ranker.name}", folder, files)


def _train_on_labels(asked: _Request, ranker: LabelRanker, engine: Engine) -> _Trained:
    began = time.perf_counter()
    with track("reading"):
        parts = asked.given.queries_by_file() if asked.folds == FILES else asked.folds
        table, grades = asked.given.read(asked.given.features), asked.given.read_labels()
        validation = asked.given.read_validation()
    reading = time.perf_counter() - began
    given: dict[str, Any] = {"gold": grades, "missing": asked.missing, "engine": engine}
    with nullcontext() if grades is None else naming_columns("gold_columns"):
        if parts is None:
            with track(ranker.name) as shown:
                return _Trained(ranker.fit(table, validation=validation, progress=shown, **given), None, reading)
        return _Trained(*_train_folds(ranker, table, parts, validation, given), reading)


def _train_on_judgments(asked: _Request, ranker: CrowdRanker, engine: Engine) -> _Trained:
    assert asked.given.crowd is not None
    began = time.perf_counter()
    with track("reading"):
        crowd = asked.given.crowd.read()
        table, grades = asked.given.read(asked.given.features), asked.given.read_labels()
        validation = asked.given.read_validation()
        if grades is not None:
            check_gold(
                grades, table, *([] if validation is None or isinstance(validation, float) else [validation])
            )
    reading = time.perf_counter() - began
    with track(ranker.name) as shown, naming_joined(crowd["judgments"]):
        ranker.fit(
            table,
            gold=grades,
            validation=validation,
            missing=asked.missing,
            engine=engine,
            progress=shown,
            **crowd,
        )
    return _Trained(ranker, None, reading)


def _train_on_target(asked: _Request, ranker: Remap, engine: Engine) -> _Trained:
    given = asked.given
    assert given.crowd is not None
    began = time.perf_counter()
    with track("reading"):
        table, grades = given.read(given.features), given.read_labels()
        judgments = given.crowd.judgments.read()
        target = given.read(given.crowd.target) if given.crowd.target else None
        validation = given.read_validation()
    reading = time.perf_counter() - began
    with track(ranker.name) as shown, naming_joined(judgments):
        ranker.fit(
            table,
            judgments,
            target=target,
            validation=validation,
            gold=grades,
            missing=asked.missing,
            engine=engine,
            progress=shown,
            **given.crowd.read_known(given.gold_columns),
        )
    return _Trained(ranker, None, reading)


def _train_folds(
    ranker: LabelRanker, table: Features, parts: Any, validation: Any, given: dict[str, Any]
) -> tuple[LabelRanker, CrossValidation]:
    """Cross-validate, then train on everything."""
    from crowdrank.rankers.folds import PREVIOUS, cross_validate, train_on_all

    with track(ranker.name):
        held = PREVIOUS if validation is None else validation
        found = cross_validate(ranker, table, parts, validation=held, **given)
    with track(ranker.name) as steps:
        return train_on_all(ranker, table, found, validation=validation, progress=steps, **given), found
