"""The report of a training run as one HTML page, without a script."""

from __future__ import annotations

from crowdrank.report.html import MEANINGS, QUALITY, environment, histogram
from crowdrank.report.training import crowd_words, remap_words, words
from crowdrank.report.training.content import TrainingReport
from crowdrank.report.training.picture import cloud_picture, curve_picture, strip_picture


def training_to_html(report: TrainingReport) -> str:
    """The page: what training found, then the notes, the measures, the curve, the features and the queries.

    If the ranker learned from a crowd, its workers and the estimated orders come before the features; so do the
    weights and values of labels if it learned these.
    """
    picture = None if report.curve is None else curve_picture(report.curve)
    workers = None if report.crowd is None else report.crowd.workers
    steps = None if report.crowd is None else report.crowd.steps
    return (
        environment()
        .get_template("training.html")
        .render(
            report=report,
            picture=picture,
            words=words,
            crowd_words=crowd_words,
            decimals=words.DECIMALS,
            quality=QUALITY,
            meanings=MEANINGS,
            histogram=histogram(workers),
            remap_words=remap_words,
            strips=None if report.weighing is None else strip_picture(report.weighing.strips),
            clouds=[] if report.weighing is None else list(map(cloud_picture, report.weighing.clouds)),
            change=None if steps is None else curve_picture(steps, ""),
        )
    )
