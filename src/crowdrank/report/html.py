"""A report as one HTML page that opens offline."""

from __future__ import annotations

from typing import Any

from crowdrank.report.content import Report

VERDICTS = ("malicious", "spammer", "unsure", "reliable")


def to_html(report: Report) -> str:
    """The page: warnings first, then each query's ranking with its intervals drawn, then the workers."""
    from jinja2 import Environment, PackageLoader, select_autoescape

    environment = Environment(
        loader=PackageLoader("crowdrank.report", "templates"),
        autoescape=select_autoescape(["html"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    counts = {verdict: sum(row["verdict"] == verdict for row in report.workers) for verdict in VERDICTS}
    page = environment.get_template("report.html")
    return page.render(report=report, counts=counts, place=_place)


def _number(value: Any, digits: int = 3) -> str:
    if value is None or (isinstance(value, float) and abs(value) == float("inf")):
        return "–"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def _place(value: float, low: float, high: float) -> float:
    """Where a value stands on an axis, in percent, kept on the axis."""
    return round(100 * min(max((value - low) / (high - low), 0.0), 1.0), 2)
