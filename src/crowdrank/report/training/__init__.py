"""The report of a training run: from a trained ranker to a page, to Markdown and to JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdrank.report.content import to_json
from crowdrank.report.training.build import build_training
from crowdrank.report.training.html import training_to_html
from crowdrank.report.training.markdown import training_to_markdown

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker

__all__ = ["build_training", "training_report_files", "training_to_html", "training_to_markdown"]


def training_report_files(ranker: Ranker) -> dict[str, str]:
    """The texts of report.html, report.md and report.json from a trained ranker."""
    report = build_training(ranker)
    return {
        "report.html": training_to_html(report),
        "report.md": training_to_markdown(report),
        "report.json": to_json(report),
    }
