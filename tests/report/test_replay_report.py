"""Ways of asking side by side: what the page says and draws."""

import re

import numpy as np
import pytest

from crowdrank.report import build_replay, replay_to_html, replay_to_markdown
from crowdrank.select.replay import Curve
from crowdrank.select.study import SelectorRun, Study


def study(**ends):
    """A study whose selectors end at these accuracies, one for each seed."""
    runs = []
    for select, values in ends.items():
        curves = [Curve(np.array([10, 20]), np.array([0.5, end]), np.array([0.6, 0.7])) for end in values]
        runs.append(SelectorRun(select, tuple(curves), 1.0))
    seeds = len(next(iter(ends.values())))
    return Study(tuple(runs), "the simulated crowd bt", 1.0, 20, seeds, "means", {})


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ({"gain": [0.9, 0.8]}, "Gain reached an accuracy of 0.8500 ± 0.0500."),
        (
            {"random": [0.7], "gain": [0.9]},
            "Gain was the most accurate at the end: 0.9000. With a single seed, how much of that is chance is not "
            "known.",
        ),
        (
            {"random": [0.70, 0.60], "even": [0.80, 0.90], "gain": [0.90, 0.81]},  # gain - even: 0.1 and -0.09
            "Gain was the most accurate at the end: 0.8550 ± 0.0450. Even cannot be told apart from it.",
        ),
        (
            {"random": [0.70, 0.60, 0.5], "gain": [0.80, 0.70, 0.61]},  # by seed always about 0.1 apart
            "Gain was the most accurate at the end: 0.7033 ± 0.0549. All others were behind beyond the noise.",
        ),
    ],
)
def test_the_best_selector_is_named_with_those_that_may_be_as_good(ends, words):
    report = build_replay(study(**ends))
    assert report.headline == words
    assert words in replay_to_html(report)
    assert words in replay_to_markdown(report)


def test_the_band_has_two_standard_errors_on_each_side():
    report = build_replay(study(random=[0.6, 0.6], gain=[0.7, 0.9]))
    flat, wide = (
        np.array([point.split() for point in line.band[1:-1].split("L")], dtype=float) for line in report.lines
    )
    ticks = {float(tick.label): tick.place for tick in report.up}
    low, high = min(ticks), max(ticks)
    unit = (ticks[low] - ticks[high]) / (high - low)
    error = np.std([0.7, 0.9], ddof=1) / np.sqrt(2)
    assert wide[2, 1] - wide[1, 1] == pytest.approx(4 * error * unit, abs=0.3)
    assert flat[2, 1] == flat[1, 1]
    assert re.search(r'class="band way-1"', replay_to_html(report))
