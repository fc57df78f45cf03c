"""A result as data first, then as a page, as Markdown and as JSON."""

from crowdrank.report.assemble import build
from crowdrank.report.content import Report, to_json
from crowdrank.report.html import to_html
from crowdrank.report.markdown import to_markdown

__all__ = ["Report", "build", "to_html", "to_json", "to_markdown"]
