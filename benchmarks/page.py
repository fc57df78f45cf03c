"""A page of figures: tables of `crowdrank reproduce`, then tables of times, kept in a folder or computed anew."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdrank.reproduce import reproduce
from crowdrank.reproduce.ledger import Ledger
from crowdrank.reproduce.result import PaperTable

DATA = Path(os.environ.get("CROWDRANK_DATA", Path(__file__).parents[2] / "shared" / "data"))
DOCS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True)
class Section:
    """A table of times: its title, what it shows, and how it is made."""

    title: str
    words: str
    table: Callable[[Ledger], Iterator[str]]


@dataclass(frozen=True)
class FiguresPage:
    """``name`` of the benchmark, the ``file`` in the docs, its ``head``, the targets and the sections of times."""

    name: str
    file: str
    head: str
    targets: Sequence[str]
    sections: Sequence[Section]

    def times(self, ledger: Ledger, only: Sequence[str] = ()) -> Iterator[str]:
        """The tables of times, all of them or those of some names."""
        for section in self.sections:
            if not only or section.table.__name__ in only:
                yield f"\n## {section.title}\n\n{section.words}\n"
                yield from section.table(ledger)

    def write(self, work: Path | None, seeds: int | None, only: Sequence[str], ledger: Ledger) -> None:
        """Write the page, with all targets or only some."""
        text = [self.head]
        for target in self.targets:
            if not only or target in only:
                text += paper_section(target, kept_table(target, seeds, work))
        text += self.times(ledger, only)
        (DOCS / self.file).write_text("\n".join(text) + "\n")

    def main(self, description: str | None) -> None:
        """Print the tables of times, or write the page."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("what", nargs="?", choices=["write"])
        parser.add_argument("--work", type=Path, help="folder of kept cells")
        parser.add_argument("--seeds", type=int, help="draws of each reproduced table")
        parser.add_argument("--only", default="", help="targets of reproduce and tables of times, by commas")
        given = parser.parse_args()
        only = [name for name in given.only.split(",") if name]
        ledger = Ledger(f"benchmark-{self.name}", given.work, progress=say)
        if given.what == "write":
            return self.write(given.work, given.seeds, only, ledger)
        for line in self.times(ledger, only):
            print(line, flush=True)


def kept_table(target: str, seeds: int | None, work: Path | None) -> PaperTable:
    """The table of a target, as `crowdrank reproduce TARGET --json` left it in the folder, or from a run."""
    kept = work and work / f"{target}.json"
    if kept and kept.exists():
        return PaperTable.from_json(kept.read_text())
    return reproduce(target, seeds=seeds, data=DATA, work=work, progress=say)


def paper_section(target: str, table: PaperTable) -> Iterator[str]:
    """A reproduced table with its title, between marks, so that it can be replaced alone."""
    title = f"## {table.title}\n\n`crowdrank reproduce {target}`"
    yield f"\n<!-- {target} -->\n\n{title}\n\n{table_with_remarks(table)}\n\n<!-- end of {target} -->"


def table_with_remarks(table: PaperTable) -> str:
    """A reproduced table, and its remarks as a list."""
    remarks = [f"- {remark}" for remark in table.remarks]
    return "\n".join([*lines(table.columns, table.text_rows()), "", *remarks])


def lines(columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """A table in Markdown."""
    for row in (columns, ["---"] * len(columns), *rows):
        yield f"| {' | '.join(map(str, row))} |"


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def fill_marks(page: Path, name: str, text: str) -> None:
    """Put the output of a benchmark between its marks, ``<!-- name -->`` and ``<!-- end of name -->``."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{page} has no place for the benchmark {name}: {begin} ... {end}")
    page.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}")
