"""Tables of `crowdrank reproduce`, put between the marks of the pages that have a place for them.

`python -m benchmarks.targets tpp-figure4 --work DIR` fills `<!-- tpp-figure4 -->` in docs/models/tpp.md. DIR may
hold tables that `crowdrank reproduce TARGET --json > DIR/TARGET.json` left there; the other targets run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.page import DOCS, fill_marks, kept_table, table_with_remarks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--work", type=Path, help="folder of kept tables and cells")
    parser.add_argument("--seeds", type=int, help="draws of each table")
    given = parser.parse_args()
    for target in given.targets:
        page = next(page for page in sorted(DOCS.rglob("*.md")) if f"<!-- {target} -->" in page.read_text())
        table = kept_table(target, given.seeds, given.work)
        titled = f"`crowdrank reproduce {target}`" in page.read_text()  # on a page of figures
        title = f"## {table.title}\n\n`crowdrank reproduce {target}`\n\n" if titled else ""
        fill_marks(page, target, title + table_with_remarks(table))


if __name__ == "__main__":
    main()
