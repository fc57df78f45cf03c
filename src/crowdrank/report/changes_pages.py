"""What moved between two results, as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from crowdrank.report.changes import Change, ChangeReport
from crowdrank.report.html import environment
from crowdrank.report.markdown import bullets, safe, table, warnings
from crowdrank.report.words import interval, number, signed

ROWS = 50
PAGE_ROWS = 200
WORDS = {"up": "up", "down": "down", "noise": "within the noise", "unknown": "noise not known"}


def changes_to_html(report: ChangeReport) -> str:
    """The page: what moved in sentences, then the items, then the workers. It has no script."""
    template = environment().get_template("changes.html")
    return template.render(report=report, words=WORDS, most=PAGE_ROWS, rank_words=rank_words)


def changes_to_markdown(report: ChangeReport) -> str:
    """The same as GitHub Markdown, with the first 50 items and workers."""
    parts = [
        f"# {report.title}",
        " · ".join(map(safe, report.facts)),
        bullets(map(safe, report.headline)),
        *(warnings(report) if report.cautions else []),
        *_items(report),
        *_workers(report),
    ]
    return "\n\n".join(parts) + "\n"


def change_cells(row: Change) -> list[str]:
    """Rank before and after, the change of the score, its interval, and the verdict in words."""
    known = row.change is not None
    return [
        rank_words(row),
        signed(row.change) if known else number(None),
        interval(row.low, row.high, None) if known else number(None),
        WORDS[row.verdict],
    ]


def rank_words(row: Change) -> str:
    """The rank before and after; once if they are equal."""
    return f"{row.before:,}" if row.before == row.after else f"{row.before:,} → {row.after:,}"


def _items(report: ChangeReport) -> Iterator[str]:
    if not report.rows:
        return
    yield "## Items"
    yield report.explanation
    head = ["Item", "Rank", "Change", "90 % interval", ""]
    rows = ([row.item, *change_cells(row)] for row in report.rows[:ROWS])
    if report.several:
        head.insert(0, "Query")
        rows = ([f"{row.query}", row.item, *change_cells(row)] for row in report.rows[:ROWS])
    yield table(head, rows, "l" * (1 + report.several) + "rrrl")
    total = sum(report.counts.values())
    if total > ROWS:
        yield f"The first {ROWS} of {total:,} items, those beyond the noise first."


def _workers(report: ChangeReport) -> Iterator[str]:
    if not report.workers:
        return
    yield "## Workers whose verdict or quality changed"
    rows = (
        (
            row.worker, row.verdict_before, row.verdict_after, number(row.before, 2), number(row.after, 2),
            "intervals apart" if row.apart else "",
        )
        for row in report.workers[:ROWS]
    )  # fmt: skip
    yield table(["Worker", "Before", "After", "Quality before", "Quality after", ""], rows, "lllrrl")
