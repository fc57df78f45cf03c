"""Reports: a result as data first, then as HTML, Markdown and JSON."""

from crowdrank.report.assemble import build
from crowdrank.report.content import ContestReport, Report, to_json
from crowdrank.report.contest import build_contest
from crowdrank.report.html import contest_to_html, to_html
from crowdrank.report.markdown import contest_to_markdown, to_markdown

__all__ = [
    "ContestReport",
    "Report",
    "build",
    "build_contest",
    "contest_to_html",
    "contest_to_markdown",
    "to_html",
    "to_json",
    "to_markdown",
]
