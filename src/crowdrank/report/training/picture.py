"""Pictures of training, such as the curve of validation: places in a box of 480 by 270."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crowdrank.charts import Axis
from crowdrank.charts.axes import BOTTOM, TOP, Tick, axis_of, chart_x, chart_y
from crowdrank.report.training.content import Cloud, Curve, Strip
from crowdrank.report.words import number, signed

DOTS = 40
"""Up to this many steps each one has a dot."""
DECIMALS = 4


@dataclass(frozen=True)
class CurvePicture:
    """What is drawn: the path, dots of a short curve, the kept step, the levels of the baselines, the ticks."""

    path: str
    dots: tuple[tuple[float, float], ...]
    kept: tuple[float, float] | None
    kept_label: str
    levels: dict[str, float]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    description: str


def curve_picture(curve: Curve, where: str = " on the validation queries") -> CurvePicture | None:
    """The picture of a curve; None if no step has a value. ``where`` says what it was measured on."""
    known = [(step, value) for step, value in zip(curve.steps, curve.values, strict=True) if value is not None]
    if not known:
        return None
    up = _roomy(axis_of([*(value for _, value in known), *curve.levels.values()]))
    across = axis_of([known[0][0], known[-1][0]])
    points = [(chart_x(step, across), chart_y(value, up)) for step, value in known]
    found = dict(known).get(curve.chosen) if curve.chosen is not None else None
    kept = None if curve.chosen is None or found is None else (chart_x(curve.chosen, across), chart_y(found, up))
    return CurvePicture(
        path="M" + "L".join(f"{x:g} {y:g}" for x, y in points),
        dots=tuple(points) if len(points) <= DOTS else (),
        kept=kept,
        kept_label="" if kept is None else f"kept: {curve.unit} {curve.chosen:,}, {number(found, DECIMALS)}",
        levels={name: chart_y(value, up) for name, value in curve.levels.items()},
        across=tuple(
            Tick(chart_x(tick, across), f"{int(tick):,}") for tick in across.ticks if _is_step(tick, known[0][0])
        ),
        up=tuple(Tick(chart_y(tick, up), signed(tick)) for tick in up.ticks),
        description=_describe(curve, known, where),
    )


@dataclass(frozen=True)
class DotPicture:
    """Dots, marks (such as medians) and ticks. The ticks at the left have a line across if they are numbers."""

    dots: tuple[tuple[float, float], ...]
    marks: tuple[tuple[float, float, float], ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    lines: bool
    name_across: str
    name_up: str


UNIT = Axis(0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), 2)
"""The axis of weights, values, qualities and shares."""
GOLDEN = 0.618034
"""Multiples of the golden ratio, less their whole part, are spread evenly."""


def strip_picture(strips: tuple[Strip, ...]) -> DotPicture:
    """The values of each label from left to right, one strip for each label, the largest label at the top.

    Dots are spread within the height of a strip, which means nothing.
    """
    high = (BOTTOM - TOP) / max(len(strips), 1)
    dots, marks, names = [], [], []
    for place, strip in enumerate(reversed(strips)):
        middle = TOP + (place + 0.5) * high
        spread = [((order * GOLDEN) % 1 - 0.5) * 0.6 * high for order in range(len(strip.values))]
        dots += [
            (chart_x(value, UNIT), round(middle + off, 1)) for value, off in zip(strip.values, spread, strict=True)
        ]
        marks.append(
            (chart_x(strip.span.median, UNIT), round(middle - 0.4 * high, 1), round(middle + 0.4 * high, 1))
        )
        names.append(Tick(round(middle, 1), strip.label))
    return DotPicture(tuple(dots), tuple(marks), _unit_ticks(), tuple(names), False, "Value", "Label")


def cloud_picture(cloud: Cloud) -> DotPicture:
    """The weight of each worker against something else."""
    dots = tuple((chart_x(across, UNIT), chart_y(up, UNIT)) for across, up in cloud.points)
    heights = tuple(Tick(chart_y(tick, UNIT), signed(tick)) for tick in UNIT.ticks)
    return DotPicture(dots, (), _unit_ticks(), heights, True, cloud.against, "Weight")


def _unit_ticks() -> tuple[Tick, ...]:
    return tuple(Tick(chart_x(tick, UNIT), signed(tick)) for tick in UNIT.ticks)


def _roomy(axis: Axis) -> Axis:
    """The axis with room below, so that the lowest line is apart from the axis of the steps."""
    return replace(axis, low=axis.low - 0.06 * (axis.high - axis.low))


def _is_step(tick: float, first: int) -> bool:
    return tick == int(tick) and tick >= first


def _describe(curve: Curve, known: list[tuple[int, float]], where: str) -> str:
    (first, begin), (last, end) = known[0], known[-1]
    return (
        f"{curve.measure}{where}: {number(begin, DECIMALS)} after {curve.unit} {first:,}, "
        f"{number(end, DECIMALS)} after {curve.unit} {last:,}. {curve.sentence}"
    )
