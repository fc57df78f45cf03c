"""Where questions go, as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crowdrank.charts.axes import Tick, axis_of, chart_x, chart_y
from crowdrank.errors import count_noun
from crowdrank.report.asking import AskedPair, QuestionsReport, draw_query
from crowdrank.report.html import environment
from crowdrank.report.markdown import safe, table, warnings
from crowdrank.report.words import interval, number, signed

MARKDOWN_ROWS = 50
DECIMALS = 2
CERTAINTY = (
    "The share of pairs that the model expected to order right, after so many answers. It can be far too high if "
    "the answers are noise. A drop is a batch fit of all answers, which is less sure than the steps before it."
)


@dataclass(frozen=True)
class CertaintyPicture:
    """How certain the ranking became: a path, and the ticks of its axes."""

    path: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    description: str


def questions_to_html(report: QuestionsReport) -> str:
    """The page: where the questions go in pictures, then the questions. It has no script."""
    return (
        environment()
        .get_template("asking.html")
        .render(
            report=report,
            pictures=[draw_query(query, report.noun) for query in report.queries],
            certainty=certainty_picture(report) if len(report.curve) > 1 else None,
            explain_certainty=CERTAINTY,
            decimals=DECIMALS,
            why=why,
        )
    )


def questions_to_markdown(report: QuestionsReport) -> str:
    """The same as GitHub Markdown, without the pictures."""
    parts = [
        f"# {report.title}",
        " · ".join(map(safe, report.facts)),
        safe(report.headline),
        *(warnings(report) if report.cautions else []),
        *_certainty(report),
        *_items(report),
        *_pairs(report),
        *_judges(report),
    ]
    return "\n\n".join(parts) + "\n"


def why(row: AskedPair) -> str:
    """Why a question is asked."""
    return row.reason or f"gain {signed(row.gain)}"


def certainty_picture(report: QuestionsReport) -> CertaintyPicture:
    """The curve in a box of 480 by 270."""
    across, up = axis_of([count for count, _ in report.curve]), axis_of([value for _, value in report.curve])
    points = [(chart_x(count, across), chart_y(value, up)) for count, value in report.curve]
    (first, begin), (last, end) = report.curve[0], report.curve[-1]
    return CertaintyPicture(
        path="M" + "L".join(f"{x:g} {y:g}" for x, y in points),
        across=tuple(
            Tick(chart_x(tick, across), f"{int(tick):,}") for tick in across.ticks if tick == int(tick) >= 0
        ),
        up=tuple(Tick(chart_y(tick, up), signed(tick)) for tick in up.ticks),
        description=f"Expected accuracy: {begin:.3f} after {first:,} answers, {end:.3f} after {last:,}.",
    )


def _certainty(report: QuestionsReport) -> Iterator[str]:
    if len(report.curve) > 1:
        yield "## How certain the ranking became"
        yield f"{CERTAINTY} {certainty_picture(report).description}"


def _items(report: QuestionsReport) -> Iterator[str]:
    yield f"## Items with the most {report.noun}s"
    head = ["Item", "Rank", "Score", "90 % interval", "Votes so far", f"{report.noun.capitalize()}s"]
    rows = [
        [
            item.item, number(item.rank), signed(item.score, DECIMALS), interval(item.low, item.high, DECIMALS),
            number(item.votes), number(item.questions),
        ]
        for _, item in report.most
    ]  # fmt: skip
    if report.several:
        head.insert(0, "Query")
        rows = [[f"{query}", *row] for (query, _), row in zip(report.most, rows, strict=True)]
    yield table(head, rows, "l" * (1 + report.several) + "rrrrr")


def _pairs(report: QuestionsReport) -> Iterator[str]:
    if not report.rows:
        return
    yield "## The first questions"
    columns = ["question", *(["query"] if report.several else []), "left", "right"]
    columns += ["worker"] if report.judges else []
    rows = [
        [*(f"{getattr(row, name)}" for name in columns), number(row.chance, 2), why(row)]
        for row in report.rows[:MARKDOWN_ROWS]
    ]
    yield table([*map(str.capitalize, columns), "P(left is better)", "Why"], rows, "l" * len(columns) + "rl")
    if report.questions > MARKDOWN_ROWS:
        yield f"The first {MARKDOWN_ROWS} of {count_noun(report.questions, 'question')}, the best first."


def _judges(report: QuestionsReport) -> Iterator[str]:
    if report.judges:
        yield f"## {report.noun.capitalize()}s by judge"
        rows = ([worker, number(count)] for worker, count in report.judges[:MARKDOWN_ROWS])
        yield table(["Judge", f"{report.noun.capitalize()}s"], rows, "lr")
        if len(report.judges) > MARKDOWN_ROWS:
            yield f"The first {MARKDOWN_ROWS} of {count_noun(len(report.judges), 'judge')}."
