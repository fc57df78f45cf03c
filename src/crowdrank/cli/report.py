"""crowdrank report: what moved between two results."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.messages import finish
from crowdrank.cli.output import Folder, text_writer
from crowdrank.errors import UsageError

if TYPE_CHECKING:
    from crowdrank.report import ChangeReport

SHOWN = 20


def command(
    before: Annotated[Path, Argument(help="A folder that `crowdrank rank --out` wrote.")],
    after: Annotated[Path, Argument(help="Another one.")],
    json: Annotated[bool, Option("--json", help="As JSON.")] = False,
    out: Annotated[Path | None, Option(help="Folder for report.html, report.md and report.json.")] = None,
) -> None:
    """Compare two results: what moved, and whether beyond the noise.

    Prints what changed in sentences, and the items that moved most, those beyond the noise first. With --out DIR
    the folder gets report.html, report.md and report.json.
    """
    from crowdrank.report import build_changes, changes_to_html, changes_to_markdown, read_result, to_json

    for own in (before, after):
        if out is not None and out.exists() and own.exists() and out.samefile(own):
            raise UsageError(f"--out {out}: this folder is compared, so it is kept.", hint="Name another folder.")
    with nullcontext() if out is None else Folder(out) as folder:
        found = build_changes(read_result(before), read_result(after))
        if folder is not None:
            pages = {"report.html": changes_to_html, "report.md": changes_to_markdown, "report.json": to_json}
            folder.write({name: text_writer(form(found)) for name, form in pages.items()})
            finish(f"Compared {before} with {after}; {', '.join(pages)} are in {folder.path}")
        if json:
            print(to_json(found), end="")
        else:
            _show(found)


def _show(found: ChangeReport) -> None:
    """Sentences, then a table on a terminal, or aligned text in a pipe."""
    from crowdrank.cli.terminal import print_aligned, table
    from crowdrank.report.changes_pages import change_cells

    print("\n".join(found.headline))
    if not found.rows:
        return
    columns = ["item", "rank", "change", "90 % interval", "moved"]
    rows = [[row.item, *change_cells(row)] for row in found.rows[:SHOWN]]
    if found.several:
        columns.insert(0, "query")
        rows = [[f"{row.query}", *cells] for row, cells in zip(found.rows, rows, strict=False)]
    print()
    left = ("query", "item", "moved")
    if sys.stdout.isatty():
        table("", columns, rows, left)
    else:
        print_aligned(columns, rows, left)
    total = sum(found.counts.values())
    if total > SHOWN:
        print(f"... and {total - SHOWN:,} more items; --out DIR writes a page.")
