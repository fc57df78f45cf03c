"""Reports: a result as data first, then as HTML, Markdown and JSON."""

from crowdrank.report.asking import QuestionsReport, build_answers, build_questions
from crowdrank.report.asking_pages import questions_to_html, questions_to_markdown
from crowdrank.report.assemble import build
from crowdrank.report.changes import ChangeReport, build_changes
from crowdrank.report.changes_pages import changes_to_html, changes_to_markdown
from crowdrank.report.content import ContestReport, Report, to_json
from crowdrank.report.contest import build_contest
from crowdrank.report.html import contest_to_html, to_html
from crowdrank.report.markdown import contest_to_markdown, to_markdown
from crowdrank.report.replay import ReplayReport, build_replay, replay_to_html, replay_to_markdown
from crowdrank.report.saved_result import SavedResult, read_result
from crowdrank.report.training import build_training, training_report_files, training_to_html, training_to_markdown
from crowdrank.report.training.content import TrainingReport

__all__ = [
    "ChangeReport",
    "ContestReport",
    "QuestionsReport",
    "ReplayReport",
    "Report",
    "SavedResult",
    "TrainingReport",
    "build",
    "build_answers",
    "build_changes",
    "build_contest",
    "build_questions",
    "build_replay",
    "build_training",
    "changes_to_html",
    "changes_to_markdown",
    "contest_to_html",
    "contest_to_markdown",
    "questions_to_html",
    "questions_to_markdown",
    "read_result",
    "replay_to_html",
    "replay_to_markdown",
    "to_html",
    "to_json",
    "to_markdown",
    "training_report_files",
    "training_to_html",
    "training_to_markdown",
]
