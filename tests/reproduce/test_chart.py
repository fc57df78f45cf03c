"""Line charts as SVG."""

from xml.etree import ElementTree

import pytest

from crowdrank.reproduce.chart import FEW, Line, Panel, svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(count):
    x = list(range(count))
    line = Line("a < b", [10.0 * place for place in x], [5.0] * count)
    flat = Line("plain", [20.0] * count, [0.0] * count, plain=True)
    return ElementTree.fromstring(svg([Panel("A & B", "below", "beside", x, [line, flat])]))


@pytest.mark.parametrize("count", [3, FEW + 1])
def test_lines_have_marks_and_bars_if_they_are_short_and_a_band_if_not(count):
    tree = drawn(count)
    parts = [part.get("class") for part in tree.iter() if part.get("class")]
    assert parts.count("series") == 2
    assert ("band" in parts) == (count > FEW)
    assert parts.count("mark") == (2 * count if count <= FEW else 0)
    words = [part.text for part in tree.iter(f"{SVG}text")]
    assert {"A & B", "below", "beside", "a < b", "plain"} <= set(words)


@pytest.mark.parametrize(
    ("values", "want"),
    [
        ([0.2, 0.8], [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),
        ([-3500.0, -900.0], [-3500, -3000, -2500, -2000, -1500, -1000, -500]),
        ([0.91, 0.96], [0.91, 0.92, 0.93, 0.94, 0.95, 0.96]),
    ],
)
def test_ticks_are_round_and_hold_the_lines(values, want):
    assert Panel("", "", "", [0, 1], [Line("", values, [0.0, 0.0])]).ticks() == want


def test_numbers_below_are_all_x_or_round_ones():
    assert Panel("", "", "", [0, 0.3, 0.9]).marks_below() == [0, 0.3, 0.9]
    assert Panel("", "", "", list(range(1, 31))).marks_below() == [10, 20, 30]
