"""A result as data first, then as a page."""

from crowdrank.report.content import Report, build
from crowdrank.report.html import to_html

__all__ = ["Report", "build", "to_html"]
