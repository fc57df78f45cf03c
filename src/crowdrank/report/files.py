"""A report as a file: the ending of its name says whether it is a page, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from crowdrank.errors import InputError, UsageError
from crowdrank.models.base import Model
from crowdrank.rankers.base import Ranker
from crowdrank.report.asking import QuestionsReport
from crowdrank.report.asking_pages import questions_to_html, questions_to_markdown
from crowdrank.report.assemble import build
from crowdrank.report.content import to_json
from crowdrank.report.html import to_html
from crowdrank.report.markdown import to_markdown
from crowdrank.report.training import build_training, training_to_html, training_to_markdown

Form = Callable[[Any], str]
FORMS: dict[str, tuple[Form, Form, Form]] = {
    ".html": (to_html, training_to_html, questions_to_html),
    ".md": (to_markdown, training_to_markdown, questions_to_markdown),
    ".json": (to_json, to_json, to_json),
}
"""For each ending, how the report of a model, that of a ranker and that on questions are written."""


def forms_of(path: Path) -> tuple[Form, Form, Form]:
    """How reports are written into a file of this name; an unknown ending is an error."""
    if path.suffix.lower() not in FORMS:
        raise UsageError(f"The name of a report ends with {', '.join(FORMS)}. Got {str(path)!r}.")
    return FORMS[path.suffix.lower()]


def questions_text(report: QuestionsReport, path: Path) -> str:
    """A report on questions in the form that the ending of the file's name says."""
    return forms_of(path)[2](report)


def write_report(fitted: Model | Ranker, path: str | Path) -> Path:
    """Write the report of a fitted model or a trained ranker, and return its path.

    The file appears when it is complete. An existing one is replaced.
    """
    place = Path(path)
    model_form, ranker_form, _ = forms_of(place)
    text = ranker_form(build_training(fitted)) if isinstance(fitted, Ranker) else model_form(build(fitted.result_))
    temporary = place.with_name(f".{place.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(place)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror or error}.", source=str(place)) from error
    return place
