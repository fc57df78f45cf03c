"""crowdrank ask: the loop "next, ask, append" with a judge that is any command."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from crowdrank.cli.answers_file import AnswersFile
from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.judge_process import ANSWERS, JudgeError, JudgeProcess
from crowdrank.cli.messages import finish, warn
from crowdrank.cli.next import check_apart
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
from crowdrank.cli.output import ReportFile
from crowdrank.cli.sources import Sources
from crowdrank.cli.track import track
from crowdrank.errors import Note, UsageError
from crowdrank.progress import announce

if TYPE_CHECKING:
    from crowdrank.data.roster import Roster
    from crowdrank.report import QuestionsReport
    from crowdrank.select.campaign import Campaign
    from crowdrank.select.question import Question

ENDED = (
    "No judge can be asked anything else: caps, exclusions and the floor leave no pair that was not judged. With "
    "--set repeats=true a judge is asked the same pair again."
)
MOST_SKIPS = 20
"""After this many skips in a row the loop stops."""
LOOKS = 40
"""About how often a report looks at how certain the ranking is."""


def command(
    judge: Annotated[list[str], Option(help="A command that answers a question; repeat it for several judges.")],
    out: Annotated[Path, Option(help="File that the answers are appended to, as CSV.")],
    judgments: Annotated[
        list[str] | None,
        Argument(help="Files of what was answered elsewhere; the file of --out is read too."),
    ] = None,
    items: Annotated[
        str | None, Option(help="File of the items: item, query, and attributes such as a text.")
    ] = None,
    budget: Annotated[int, Option(help="How many answers the file of --out should have in the end.")] = 100,
    name: Annotated[list[str] | None, Option(help="The worker id of a judge, in the order of --judge.")] = None,
    select: Selector = "gain",
    settings: Annotated[
        list[str] | None, Option("--set", help="A setting of the selection, name=value.", names="parameters")
    ] = None,
    exclude: Exclusions = None,
    anchors: Annotated[str | None, Option(help="File of gold pairs, which are mixed in.")] = None,
    keep: Annotated[
        bool, Option("--keep", help="Start each command once; it answers one line per line of input.")
    ] = False,
    timeout: Annotated[float, Option(help="Seconds to wait for an answer.")] = 120.0,
    columns: Columns = None,
    outcomes: Outcomes = None,
    allow_dropped: AllowDropped = False,
    seed: Annotated[int, Option(help="Seed of everything random.")] = 0,
    report: Annotated[
        Path | None, Option(help="File for a page on where the answers went: .html, .md or .json.")
    ] = None,
) -> None:
    """Ask judges that are commands, question by question, until the budget is used.

    Each question is one line of JSON on the command's standard input: question, query, and left and right with the
    item and all columns of --items. The command prints left, right, tie or skip. Every answer is in --out FILE
    before the next question is asked, so an interrupted run loses nothing, and the same command goes on. With
    --report FILE, a page at the end shows where the answers went, and how certain the ranking became.
    """
    from crowdrank.data.roster import Roster
    from crowdrank.select.campaign import Campaign
    from crowdrank.select.policy import Policy

    names = _names(judge, name or [])
    if budget < 1:
        raise UsageError(f"--budget must be a whole number of at least 1. Got {budget}.")
    policy = Policy.of(select, parse_settings(settings or []))
    if policy.own:
        raise UsageError("The rule 'own' compares judges with items, but commands have no attributes.")
    require_judgments(judgments, columns=columns, outcomes=outcomes, allow_dropped=allow_dropped)
    for own in judgments or []:
        if out.is_file() and Path(own).is_file() and out.samefile(own):
            raise UsageError(f"{own}: the file of --out is read anyway.", hint="Do not name it twice.")
    check_apart(out, report)
    with ExitStack() as stack:
        inputs = [*(judgments or []), items, exclude, anchors]
        page = None if report is None else stack.enter_context(ReportFile(report, inputs))
        file = stack.enter_context(AnswersFile(out))
        listed = None if items is None else Roster.read(items, "item")
        elsewhere = Sources(
            judgments or [], join_columns(columns), outcomes=",".join(outcomes or []), allow_dropped=allow_dropped
        )
        answered = _answers(elsewhere, file)
        campaign = Campaign.start(
            answered, items=listed, judges=names, exclude=exclude, anchors=anchors, policy=policy, seed=seed,
            budget=budget + (0 if answered is None else answered.rows - file.rows),
        )  # fmt: skip
        warn(campaign.field.doubts)
        _check_ids(campaign.field.item)
        file.expect(campaign.columns)
        people = [
            JudgeProcess(own, words, keep=keep, timeout=timeout) for own, words in zip(names, judge, strict=True)
        ]
        for person in people:
            stack.callback(person.close)
        began = file.rows
        looks = Looks(campaign, began, budget if page is not None else None)
        _run(campaign, people, file, budget, listed, looks)
        notes = [Note("fewer-questions", ENDED)] if file.rows < budget else []
        warn(notes)
        if page is not None:
            page.write_report(_report(campaign, file, looks, notes))
        _finish(file, began, report)


class Looks:
    """The accuracy that the model expects after some of the answers; nothing without a budget."""

    def __init__(self, campaign: Campaign, began: int, budget: int | None) -> None:
        self._campaign = campaign
        self._every = None if budget is None else max((budget - began) // LOOKS, 1)
        self.curve: list[tuple[int, float]] = []
        self.look(began)

    def look(self, rows: int, *, last: bool = False) -> None:
        """Look if it is time to, or at the last answer."""
        if self._every is None or (self.curve and self.curve[-1][0] == rows):
            return
        if last or not self.curve or rows - self.curve[-1][0] >= self._every:
            self.curve.append((rows, self._campaign.expected_accuracy()))


def _report(campaign: Campaign, file: AnswersFile, looks: Looks, notes: list[Note]) -> QuestionsReport:
    """Where the answers of the file went, and how certain the ranking became."""
    import polars as pl

    from crowdrank.report import build_answers

    looks.look(file.rows, last=True)
    answers = pl.read_csv(file.path, infer_schema=False)
    if "query" not in answers.columns:
        answers = answers.with_columns(query=pl.lit(None, pl.String))
    return build_answers(campaign.known_items(), answers, looks.curve, [*campaign.field.doubts, *notes])


def _finish(file: AnswersFile, began: int, report: Path | None) -> None:
    """Say where the answers are, and the report."""
    noun = "answer is" if file.rows == 1 else "answers are"
    said = f"{file.rows} {noun} in {file.path}, {file.rows - began} of them new"
    files = [str(file.path)]
    if report is not None:
        said, files = f"{said}; the report is in {report}", [*files, str(report)]
    finish(said, files=files)


def _run(
    campaign: Campaign, people: list[JudgeProcess], file: AnswersFile, budget: int, listed: Roster | None,
    looks: Looks,
) -> None:  # fmt: skip
    """Ask the judges in turn. Stops when the budget is used or no judge can be asked anything."""
    skipped, turn = 0, file.rows
    refused: set[str] = set()
    with track("asking"):
        while file.rows < budget and len(refused) < len(people):
            person = people[turn % len(people)]
            turn += 1
            question = None if person.name in refused else campaign.ask(person.name)
            if question is None:
                refused.add(person.name)
                continue
            announce(f"asking: {file.rows} of {budget} answers", file.rows, budget)
            answer = person.ask(_task(campaign, question, file.rows + 1, listed))
            if answer == "skip":
                campaign.skip(question)
                skipped += 1
                if skipped >= MOST_SKIPS:
                    raise JudgeError(
                        f"The judges skipped {skipped} questions in a row.",
                        hint="What was answered before is kept.",
                    )
                continue
            skipped = 0
            file.append(campaign.row(file.rows + 1, question, answer))
            campaign.learn(question, answer)
            looks.look(file.rows)
    if not file.rows:
        raise UsageError("No question is allowed: caps, exclusions and the floor leave no pair.")


def _check_ids(items: Iterable[str]) -> None:
    """An item that is called like an answer would make answers ambiguous."""
    for item in items:
        if item.lower() in ANSWERS:
            raise UsageError(f"The item {item!r} is called like an answer.", hint="Give it another id.")


def _names(judges: list[str], given: list[str]) -> list[str]:
    """The worker id of each judge."""
    names = given or (["judge"] if len(judges) == 1 else [f"judge-{place}" for place in range(1, len(judges) + 1)])
    if len(names) != len(judges) or len(set(names)) != len(names):
        raise UsageError(
            f"--name must give a different name to each judge. Judges: {len(judges)}; names: {', '.join(names)}."
        )
    return names


def _answers(elsewhere: Sources, file: AnswersFile) -> Any:
    """What was answered before, elsewhere and in the file itself; None if nothing was."""
    from crowdrank.data import read, to_pairs
    from crowdrank.select.field import join_votes

    tables = [to_pairs(elsewhere.read()[0])] if elsewhere.judgments else []
    warn([note for table in tables for note in table.notes])
    if file.rows:
        tables.append(to_pairs(read(file.path)))
    return join_votes(tables) if tables else None


def _task(campaign: Campaign, question: Question, number: int, listed: Roster | None) -> dict[str, Any]:
    """A question as the judge sees it, with all columns of the items."""
    query, left, right = campaign.named(question)
    sides = {"left": left, "right": right}
    shown = {side: {"item": item, **_attributes(listed, query, item)} for side, item in sides.items()}
    return {"question": number, "query": query, **shown}


def _attributes(listed: Roster | None, query: str | None, item: str) -> dict[str, Any]:
    if listed is None:
        return {}
    found = listed.frame.filter(item=item)
    if listed.by_query:
        found = found.filter(query=query)
    return {name: found[name][0] for name in listed.attributes}
