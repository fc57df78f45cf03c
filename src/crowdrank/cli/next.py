"""crowdrank next: which questions to ask next."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.messages import finish, warn
from crowdrank.cli.options import (
    AllowDropped,
    Columns,
    Exclusions,
    Outcomes,
    Selector,
    join_columns,
    parse_settings,
    require_judgments,
)
from crowdrank.cli.output import File, ReportFile, frame_writer
from crowdrank.cli.sources import Sources
from crowdrank.cli.track import track
from crowdrank.errors import UsageError, name_hint
from crowdrank.progress import announce

if TYPE_CHECKING:
    from crowdrank.models.base import Model


def command(
    judgments: Annotated[
        list[str] | None, Argument(help="Files of what was answered so far; none before the first answer.")
    ] = None,
    count: Annotated[int, Option(help="How many questions.")] = 100,
    judges: Annotated[
        str | None, Option(help="File of the judges who can be asked: worker, and attributes.")
    ] = None,
    items: Annotated[
        str | None, Option(help="File of the items that take part: item, query, and attributes.")
    ] = None,
    select: Selector = "gain",
    model: Annotated[
        str | None, Option(help="What is fitted to the answers; a model with a posterior.", names="models")
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="A setting of the selection or of the model, name=value.", names="parameters"),
    ] = None,
    exclude: Exclusions = None,
    anchors: Annotated[
        str | None, Option(help="File of gold pairs, which are mixed in, or of workers with known quality.")
    ] = None,
    each: Annotated[
        int | None, Option(help="The most questions for one judge. Default: twice an even share.")
    ] = None,
    show: Annotated[
        str, Option(help="Columns of the items to add for both sides: text+image gives left_text, ...")
    ] = "",
    columns: Columns = None,
    outcomes: Outcomes = None,
    allow_dropped: AllowDropped = False,
    seed: Annotated[int, Option(help="Seed of everything random.")] = 0,
    out: Annotated[Path | None, Option(help="File for the questions, as CSV.")] = None,
    report: Annotated[
        Path | None, Option(help="File for a page on where the questions go: .html, .md or .json.")
    ] = None,
) -> None:
    """Say which questions to ask next.

    Prints question, query, left, right, and worker if --judges are given, best first: as CSV, on stdout or in
    --out FILE. The sides are random. Append the answers to the judgments and run it again. With --report FILE, a
    page shows the items by rank, how certain their scores are, and how many of the questions touch each.
    """
    from crowdrank.cli.terminal import print_frame
    from crowdrank.data.roster import Roster
    from crowdrank.report import build_questions
    from crowdrank.select.questions import next_questions

    own, chosen = split_settings(parse_settings(settings or []), model)
    shown = [name.strip() for name in show.split("+") if name.strip()]
    if shown and items is None:
        raise UsageError("--show names columns of the items.", hint="Give them with --items FILE.")
    require_judgments(judgments, columns=columns, outcomes=outcomes, allow_dropped=allow_dropped)
    inputs = [*(judgments or []), judges, items, exclude, anchors]
    check_apart(out, report)
    with ExitStack() as stack:
        file = None if out is None else stack.enter_context(File(out, inputs=inputs))
        page = None if report is None else stack.enter_context(ReportFile(report, inputs))
        with track("choosing questions"):
            sources = Sources(
                judgments or [],
                join_columns(columns),
                outcomes=",".join(outcomes or []),
                allow_dropped=allow_dropped,
            )
            answered = sources.read()[0] if judgments else None
            listed = None if items is None else Roster.read(items, "item")
            announce("choosing questions")
            found = next_questions(
                answered, count, judges=judges, items=listed, exclude=exclude, anchors=anchors, model=chosen,
                select=select, each=each, seed=seed, settings=own,
            )  # fmt: skip
        warn(found.notes)
        tasks = found.tasks(listed, shown)
        if page is not None:
            page.write_report(build_questions(found))
        if file is None:
            print_frame(tasks, "csv")
        else:
            file.write(frame_writer(tasks))
        _finish(len(tasks), [own for own in (out, report) if own is not None], out)


def check_apart(out: Path | None, report: Path | None) -> None:
    """Two files cannot have one name."""
    if out is not None and report is not None and out.resolve() == report.resolve():
        raise UsageError(f"--report {report}: --out is the same file.", hint="Name another file.")


def _finish(count: int, files: list[Path], out: Path | None) -> None:
    """Say which files have the questions and the page; nothing if the questions are on stdout alone."""
    if not files:
        return
    noun = "question is" if count == 1 else "questions are"
    said = [f"{count} {noun} in {out}"] if out is not None else []
    said += [f"the report is in {own}" for own in files if own != out]
    finish(", ".join(said).capitalize() if out is None else ", ".join(said), files=[str(own) for own in files])


def split_settings(given: dict[str, Any], model: str | None) -> tuple[dict[str, Any], Model | None]:
    """The settings of the selection, and the model with those that are its own."""
    from dataclasses import fields

    from crowdrank.models.registry import find
    from crowdrank.select.policy import Policy

    own = {field.name for field in fields(Policy)} - {"select"}
    rest = {name: value for name, value in given.items() if name not in own}
    mine = {name: value for name, value in given.items() if name in own}
    if model is None:
        if rest:
            unknown = next(iter(rest))
            hint = f"{name_hint(unknown, sorted(own), 'Its settings are')} For one of a model, add --model NAME"
            raise UsageError(f"There is no setting {unknown!r} of the selection.", hint=hint)
        return mine, None
    return mine, find(model).make(rest)
