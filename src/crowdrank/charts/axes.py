"""Axes: where values are drawn, and the round numbers beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

LEFT, RIGHT, TOP, BOTTOM = 52.0, 468.0, 24.0, 226.0
"""The edges of the area of a chart in a box of 480 by 270."""


@dataclass(frozen=True)
class Axis:
    """The axis on which intervals are drawn; its numbers are shown with ``decimals`` decimals."""

    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int


@dataclass(frozen=True)
class Tick:
    """A place on an axis and its label."""

    place: float
    label: str


def chart_x(value: float, axis: Axis) -> float:
    """The place of a value from left to right in a chart."""
    return round(LEFT + (RIGHT - LEFT) * (value - axis.low) / (axis.high - axis.low), 1)


def chart_y(value: float, axis: Axis) -> float:
    """The place of a value from top to bottom in a chart; larger values are higher."""
    return round(BOTTOM - (BOTTOM - TOP) * (value - axis.low) / (axis.high - axis.low), 1)


def axis_of(values: Iterable[float]) -> Axis:
    """An axis that holds every finite value, with some room at both ends."""
    bounded = [value for value in values if math.isfinite(value)]
    low, high = min(bounded), max(bounded)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    room = 0.03 * (high - low)
    low, high = low - room, high + room
    step = round_step(high - low)
    first, last = math.ceil(low / step), math.floor(high / step)
    decimals = min(max(2 - math.floor(math.log10((high - low) / 3)), 0), 9)
    ticks = tuple(round(number * step, 9) for number in range(first, last + 1))
    return Axis(round(low, decimals + 1), round(high, decimals + 1), ticks, decimals)


def round_step(width: float) -> float:
    """The roundest step that gives an axis of this width two to seven ticks."""
    size = 10.0 ** math.floor(math.log10(width / 2.5))
    return max(size * factor for factor in (1, 2, 5) if size * factor <= width / 2.5)


def tick_label(tick: float) -> str:
    """A round number beside an axis, with a true minus sign."""
    return f"{tick:,.10g}".replace("-", "−")
