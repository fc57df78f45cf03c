"""The report of a training run as one HTML page, without a script."""

from __future__ import annotations

from crowdrank.report.html import environment
from crowdrank.report.training import words
from crowdrank.report.training.content import TrainingReport
from crowdrank.report.training.picture import curve_picture


def training_to_html(report: TrainingReport) -> str:
    """The page: what training found, then the notes, the measures, the curve, the features and the queries."""
    picture = None if report.curve is None else curve_picture(report.curve)
    template = environment().get_template("training.html")
    return template.render(report=report, picture=picture, words=words, decimals=words.DECIMALS)
