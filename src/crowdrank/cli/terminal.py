"""What a person sees: tables and progress on a terminal, warnings on stderr; plain CSV in a pipe."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crowdrank.cli.words import flag
from crowdrank.errors import Note

if TYPE_CHECKING:
    import polars as pl

    from crowdrank.measures import Evaluation

CHOICES = ("auto", "from-folds", "linear-gain", "many-votes")
"""Notes that say what was chosen: a model, parameters, or the form of a measure."""


def warn(notes: Sequence[Note]) -> None:
    """Print each note on its own line on stderr; a choice that was made for the user is no warning."""
    for note in notes:
        print(f"{'note' if note.code in CHOICES else 'warning'}: {note.wording(flag)}", file=sys.stderr)


def print_measured(measured: Evaluation) -> None:
    """Print the measures by gold, and what the gold covers, on stderr."""
    print(f"gold has {measured.coverage}", file=sys.stderr)
    for name, value in measured.values.items():
        print(f"{name} by gold: {figure(value)}", file=sys.stderr)


def figure(value: float) -> str:
    """A measure with four digits, or that it is undefined."""
    return "undefined" if math.isnan(value) else f"{value:.4f}"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], left: Sequence[str] = ()) -> None:
    """Print a table on stdout; columns named in ``left`` are left-aligned text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=title or None, title_justify="left", header_style="bold")
    for name in columns:
        if name in left:
            shown.add_column(name, justify="left", overflow="fold")
        else:
            shown.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        shown.add_row(*(Text(str(cell)) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(shown)


def print_aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> None:
    """Print a table as plain text, for a pipe, with two spaces between columns."""
    lines = [list(columns), *map(list, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    for line in lines:
        cells = (
            cell.ljust(width) if name in left else cell.rjust(width)
            for cell, width, name in zip(line, widths, columns, strict=True)
        )
        print("  ".join(cells).rstrip())


def print_frame(frame: pl.DataFrame, form: str) -> None:
    """Print the whole frame on stdout as CSV, JSON or Parquet."""
    sys.stdout.flush()
    if form == "parquet":
        frame.write_parquet(sys.stdout.buffer)
    elif form == "json":
        print(frame.write_json())
    else:
        sys.stdout.write(frame.write_csv())


def print_ranking(frame: pl.DataFrame, most: int = 50) -> None:
    """Print the top of each query's ranking as a table."""
    for key, part in frame.group_by(["query"], maintain_order=True):
        rows = [
            (
                row["rank"],
                f"{row['rank_low']}-{row['rank_high']}",
                row["tier"],
                row["item"],
                f"{row['score']:.3f}",
                f"{row['low']:.3f} to {row['high']:.3f}",
            )
            for row in part.head(most).to_dicts()
        ]
        title = "" if key[0] is None else f"Query {key[0]}"
        table(title, ("rank", "between", "tier", "item", "score", "90 % interval"), rows, left=("item",))
        if len(part) > most:
            print(f"... and {len(part) - most} more items; --out DIR writes all of them.")


@contextmanager
def status(what: str) -> Iterator[Callable[[str], None] | None]:
    """A callback that shows the current step on stderr, or None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ...") as shown:
        yield shown.update


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, float, float], None] | None]:
    """A callback that shows the steps of a fit on stderr, or None if stderr is not a terminal."""
    with status(what) as update:
        if update is None:
            yield None
            return

        def show(iteration: int, objective: float, slope: float) -> None:
            update(f"{what}: step {iteration}, objective {objective:.6g}, slope {slope:.1e}")

        yield show


@contextmanager
def steps(what: str) -> Iterator[Callable[[int, float, float], None] | None]:
    """A callback that shows the steps of training on judgments on stderr, or None if stderr is not a terminal."""
    with status(what) as update:
        if update is None:
            yield None
            return

        def show(step: int, objective: float, change: float) -> None:
            update(f"{what}: step {step}" + (f", change {change:.1e}" if math.isfinite(change) else ""))

        yield show
