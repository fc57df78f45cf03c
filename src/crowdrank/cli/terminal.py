"""What a person sees on stdout: tables on a terminal, plain CSV in a pipe."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crowdrank.cli.messages import inform

if TYPE_CHECKING:
    import polars as pl

    from crowdrank.measures import Evaluation

SHORT = 16
"""A column of cells with up to so many characters keeps its width on a narrow terminal; longer ones wrap."""


def print_measured(measured: Evaluation) -> None:
    """Print the measures by gold, and what the gold covers, on stderr."""
    inform(f"gold has {measured.coverage}")
    for name, value in measured.values.items():
        inform(f"{name} by gold: {figure(value)}", measure=name, value=None if math.isnan(value) else value)


def figure(value: float) -> str:
    """A measure with four digits, or that it is undefined."""
    return "undefined" if math.isnan(value) else f"{value:.4f}"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], left: Sequence[str] = ()) -> None:
    """Print a table on stdout; columns named in ``left`` are left-aligned text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=title or None, title_justify="left", header_style="bold")
    for place, name in enumerate(columns):
        short = all(len(str(row[place])) <= SHORT for row in rows)
        shown.add_column(name, justify="left" if name in left else "right", overflow="fold", no_wrap=short)
    for row in rows:
        shown.add_row(*(Text(str(cell)) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    with console.capture() as written:  # on a closed pipe, rich would end the process by itself
        console.print(shown)
    print(written.get(), end="")


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
        content = io.BytesIO()  # Polars would word the error of a full disk or a closed pipe in its own way
        frame.write_parquet(content)
        sys.stdout.buffer.write(content.getvalue())
    elif form == "json":
        print(frame.write_json())
    else:
        sys.stdout.write(frame.write_csv())


def print_ranking(frame: pl.DataFrame, most: int = 50) -> None:
    """Print the top of each query's ranking as a table, with the groups if some items are not linked."""
    groups = ["group"] if "group" in frame.columns else []
    for key, part in frame.group_by(["query"], maintain_order=True):
        rows = [
            (
                row["rank"],
                f"{row['rank_low']}-{row['rank_high']}",
                row["tier"],
                *(row[name] for name in groups),
                row["item"],
                f"{row['score']:z.3f}",  # z: no minus before 0.000
                f"{row['low']:z.3f} to {row['high']:z.3f}",
            )
            for row in part.head(most).to_dicts()
        ]
        title = "" if key[0] is None else f"Query {key[0]}"
        table(title, ("rank", "between", "tier", *groups, "item", "score", "90 % interval"), rows, left=("item",))
        if len(part) > most:
            print(f"... and {len(part) - most} more items; --out DIR writes all of them.")
