"""Reports: a result as data first, then as HTML, Markdown and JSON."""

from crowdrank.report.assemble import build
from crowdrank.report.content import ContestReport, Report, to_json
from crowdrank.report.contest import build_contest
from crowdrank.report.html import contest_to_html, to_html
from crowdrank.report.markdown import contest_to_markdown, to_markdown
from crowdrank.report.replay import ReplayReport, build_replay, replay_to_html, replay_to_markdown
from crowdrank.report.training import build_training, training_report_files, training_to_html, training_to_markdown
from crowdrank.report.training.content import TrainingReport

__all__ = [
    "ContestReport",
    "ReplayReport",
    "Report",
    "TrainingReport",
    "build",
    "build_contest",
    "build_replay",
    "build_training",
    "contest_to_html",
    "contest_to_markdown",
    "replay_to_html",
    "replay_to_markdown",
    "to_html",
    "to_json",
    "to_markdown",
    "training_report_files",
    "training_to_html",
    "training_to_markdown",
]
