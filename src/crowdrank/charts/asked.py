"""Where questions go: items by rank with what is known of their scores, and how many questions each has."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from crowdrank.charts.axes import Axis, axis_of, tick_label
from crowdrank.charts.chart import Chart, text

WIDTH, LEFT, RIGHT = 560.0, 46.0, 548.0
TOP, MIDDLE, FLOOR, BOTTOM = 26.0, 196.0, 228.0, 288.0
"""The upper part, from top to middle, has the scores; the lower one, from floor to bottom, the questions."""
MOST = 250
"""With more items than this, a place stands for a run of neighbors in rank."""
WIDEST = 12.0


class Asked(NamedTuple):
    """An item: its score with its interval, how many votes it has, and how many questions are about it."""

    name: str
    score: float
    low: float
    high: float
    votes: int
    questions: int


def draw_asked(items: Sequence[Asked], noun: str, description: str) -> Chart:
    """The items from left to right, best first: score and interval above, a bar of the questions below.

    ``noun`` says what is counted: question or answer.
    """
    places = _places(items, noun)
    axis = axis_of(value for place in places for value in (place.score, place.low, place.high))
    tallest = max(max(place.questions for place in places), 1)
    step = (RIGHT - LEFT) / len(places)
    wide = min(0.7 * step, WIDEST) if step > 3 else step
    drawn = "".join(
        _column(place, LEFT + step * (number + 0.5), wide, axis, tallest)
        + f'<rect class="c-hint" x="{LEFT + step * number:.1f}" y="{TOP:g}" width="{step:.1f}" '
        f'height="{BOTTOM - TOP:g}"><title>{escape(place.name)}</title></rect>'
        for number, place in enumerate(places)
    )
    return Chart(_frame(axis, len(items), tallest, noun) + drawn, WIDTH, BOTTOM + 40, description)


def _places(items: Sequence[Asked], noun: str) -> list[Asked]:
    """The items, or runs of neighbors with their mean score and all of their questions; the names are hints."""
    if len(items) <= MOST:
        return [own._replace(name=_words(f"{rank:,}. {own.name}", own, noun)) for rank, own in enumerate(items, 1)]
    found = []
    for place in range(MOST):
        start, end = place * len(items) // MOST, (place + 1) * len(items) // MOST
        run = items[start:end]
        score, low, high = (sum(values) / len(run) for values in zip(*(own[1:4] for own in run), strict=True))
        whole = Asked("", score, low, high, sum(own.votes for own in run), sum(own.questions for own in run))
        ranks = f"Rank {end:,}" if end == start + 1 else f"Ranks {start + 1:,} to {end:,}"
        found.append(whole._replace(name=_words(ranks, whole, noun)))
    return found


def _words(name: str, own: Asked, noun: str) -> str:
    score = f"score {own.score:.2f} ({own.low:.2f} to {own.high:.2f})"
    return f"{name}: {score}, votes: {own.votes:,}, {noun}s: {own.questions:,}"


def _column(place: Asked, x: float, wide: float, axis: Axis, tallest: int) -> str:
    low, high = _y(place.low, axis), _y(place.high, axis)
    box = f'x="{x - wide / 2:.1f}" width="{wide:.1f}"'
    tall = (BOTTOM - FLOOR) * place.questions / tallest
    asked = f'<rect class="c-mark" {box} y="{BOTTOM - tall:.1f}" height="{tall:.1f}"/>' if place.questions else ""
    return (
        f'<rect class="c-bar" {box} y="{high:g}" height="{max(low - high, 1):.1f}"/>'
        f'<rect class="c-mark" {box} y="{_y(place.score, axis) - 1:g}" height="2"/>{asked}'
    )


def _frame(axis: Axis, count: int, tallest: int, noun: str) -> str:
    parts = [text(0, TOP - 12, "Score, with its 90 % interval"), text(0, FLOOR - 11, f"{noun.capitalize()}s")]
    for tick in axis.ticks:
        y = _y(tick, axis)
        parts.append(f'<path class="c-grid" d="M{LEFT:g} {y:g}H{RIGHT:g}"/>')
        parts.append(text(LEFT - 8, y + 4, tick_label(tick), "end"))
    parts.append(f'<path class="c-grid" d="M{LEFT:g} {FLOOR:g}H{RIGHT:g}"/>')
    parts.append(text(LEFT - 8, FLOOR + 6, f"{tallest:,}", "end"))
    parts.append(f'<path class="c-rule" d="M{LEFT:g} {BOTTOM + 0.5:g}H{RIGHT:g}"/>')
    for rank in _ranks(count):
        x = LEFT + (RIGHT - LEFT) * (rank - 0.5) / count
        parts.append(f'<path class="c-rule" d="M{x:.1f} {BOTTOM:g}v5"/>')
        parts.append(text(round(x, 1), BOTTOM + 18, tick_label(rank), "middle"))
    parts.append(text(RIGHT, BOTTOM + 34, "Rank", "end"))
    return "".join(parts)


def _ranks(count: int) -> list[float]:
    """The first rank, and round ones after it."""
    ticks = [tick for tick in axis_of([0.0, float(count)]).ticks if 1 <= tick <= count and tick == int(tick)]
    return sorted({1.0, *ticks}) if count < 3 or not ticks or ticks[0] > 0.06 * count else [1.0, *ticks[1:]]


def _y(value: float, axis: Axis) -> float:
    return round(MIDDLE - (MIDDLE - TOP) * (value - axis.low) / (axis.high - axis.low), 1)
