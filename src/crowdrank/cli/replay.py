"""crowdrank replay: what each way of asking would have needed."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.options import (
    AllowDropped,
    Columns,
    Gold,
    GoldColumns,
    Outcomes,
    join_columns,
    parse_settings,
    require_judgments,
)
from crowdrank.cli.output import Folder, present
from crowdrank.cli.sources import Sources
from crowdrank.cli.track import track
from crowdrank.errors import UsageError, count_noun

if TYPE_CHECKING:
    from crowdrank.select.study import Study


def command(
    judgments: Annotated[list[str] | None, Argument(help="Files of recorded votes.")] = None,
    gold: Gold = None,
    simulate: Annotated[
        str | None,
        Option(
            help="A simulated crowd: bt, beta-5-1, spammers, distance-free, position, drift, coin.", names="crowds"
        ),
    ] = None,
    budget: Annotated[int, Option(help="How many votes each way of asking gets.")] = 1000,
    select: Annotated[
        str,
        Option(
            help="Selectors, separated by commas: random, even, uncertainty, gain, joint, information.",
            names="selectors,",
        ),
    ] = "random,even,gain",
    seeds: Annotated[int, Option(help="How many seeds to average over.")] = 10,
    seed: Annotated[int, Option(help="The first seed.")] = 0,
    look: Annotated[int | None, Option(help="Look at the ranking after every so many votes.")] = None,
    rank: Annotated[
        str, Option(help="Rank by the current means, or by a refit at every look.", names="means|refit")
    ] = "means",
    refit: Annotated[
        int | None, Option(help="After how many votes a batch fit takes over. Default: never.")
    ] = None,
    who: Annotated[
        str,
        Option(
            help="In a simulated crowd: a judge arrives at random, or the best one is asked.", names="arrives|best"
        ),
    ] = "arrives",
    flight: Annotated[int, Option(help="In a simulated crowd: how many questions are open at once.")] = 1,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set", help="A setting of the selection, the model or the crowd, name=value.", names="parameters"
        ),
    ] = None,
    columns: Columns = None,
    outcomes: Outcomes = None,
    allow_dropped: AllowDropped = False,
    gold_columns: GoldColumns = None,
    json: Annotated[bool, Option("--json", help="As JSON.")] = False,
    out: Annotated[Path | None, Option(help="Folder for replay.json and a report with the curves.")] = None,
) -> None:
    """Show how many votes each way of choosing questions would have needed.

    Every selector chooses its own votes, from recorded ones (each can be used once) or from a simulated crowd.
    Prints how many votes each needed to reach 90, 95 and 98 % of the accuracy of a fit to all recorded votes, or
    an accuracy of 0.90, 0.95 and 0.98 in a simulated crowd. With --out DIR the folder gets replay.json,
    report.html, report.md.
    """
    from crowdrank.select.study import replay

    names = [name.strip() for name in select.split(",") if name.strip()]
    if not names:
        raise UsageError("--select names no selector.")
    own = parse_settings(settings or [])
    if judgments and simulate is not None:
        raise UsageError("Either recorded votes or a simulated crowd can be replayed, not both.")
    if simulate is not None and gold:
        raise UsageError("A simulated crowd has a truth of its own.", hint="Leave out --gold.")
    require_judgments(
        judgments, columns=columns, outcomes=outcomes, allow_dropped=allow_dropped, gold_columns=gold_columns
    )
    with nullcontext() if out is None else Folder(out, [*(judgments or []), *(gold or [])]) as folder:
        with track("replaying"):
            table, grades = None, None
            if judgments:
                table, grades = Sources(
                    judgments, join_columns(columns), gold, join_columns(gold_columns),
                    outcomes=",".join(outcomes or []), allow_dropped=allow_dropped,
                ).read()  # fmt: skip
                if grades is None:
                    raise UsageError(
                        "A replay of recorded votes needs the truth.", hint="Give it with --gold FILE."
                    )
            found = replay(
                table, gold=grades, simulate=simulate, budget=budget, selects=names, seeds=seeds, first_seed=seed,
                look=look, rank=rank, refit=refit, who=who, flight=flight, settings=own,
            )  # fmt: skip
        present(
            found,
            f"Replayed {count_noun(len(found.runs), 'way of asking', 'ways of asking')}",
            "replay.json",
            folder,
            lambda: _pages(found),
            None if json else lambda: _show(found),
        )


def _pages(found: Study) -> tuple[str, str]:
    """The page as HTML and as Markdown."""
    from crowdrank.report import build_replay, replay_to_html, replay_to_markdown

    report = build_replay(found)
    return replay_to_html(report), replay_to_markdown(report)


def _show(found: Study) -> None:
    """Print a table on a terminal, aligned text in a pipe."""
    from crowdrank.cli.terminal import print_aligned, table
    from crowdrank.report import build_replay

    report = build_replay(found)
    columns = ("selector", *(f"to {level}" for level in report.levels), "accuracy", "±", "predicted")
    rows = [
        [line.select, *line.to, f"{line.accuracy:.4f}", line.plus_minus, f"{line.predicted:.4f}"]
        for line in report.lines
    ]
    if sys.stdout.isatty():
        table("", columns, rows, left=("selector",))
    else:
        print_aligned(columns, rows, left=("selector",))
