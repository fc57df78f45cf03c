"""Line charts as SVG text: panels one below the other, each line with its name at its end.

Colors follow the reader's light or dark scheme; nothing else is needed to show it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from crowdrank.charts.axes import round_step

WIDTH, HEIGHT = 344, 292
"""The size of a panel without the names beside it."""
LEFT, TOP, BOTTOM = 62, 40, 46
NAMES, LETTER = 136, 7.2
"""The least width of the names, and that of a letter."""
LABEL = 15
"""The least distance of two names."""
LIGHT = ("#174f8f", "#b3541e", "#1f6b43", "#7a3e9d", "#a31c3c", "#00707a", "#7a6100", "#4a4fb5")
DARK = ("#8fbcf0", "#f0a26b", "#6cc495", "#cda3ea", "#f48fa5", "#5fd0da", "#dcc04f", "#b3b6ff")
MARKS = ("circle", "square", "diamond", "triangle")
FEW = 10
"""Up to this many points have a mark and an error bar each; more of them have a band."""


@dataclass(frozen=True)
class Line:
    """A named line with its errors; ``plain`` ones are gray and dashed, for what the others are compared with."""

    name: str
    y: Sequence[float]
    error: Sequence[float]
    plain: bool = False


@dataclass(frozen=True)
class Panel:
    """Lines over common x, with the words above, below and beside them."""

    title: str
    below: str
    beside: str
    x: Sequence[float]
    lines: Sequence[Line] = field(default_factory=list)

    def ticks(self) -> list[float]:
        """Round numbers from below every line with its errors to above it."""
        lows = [y - e for line in self.lines for y, e in zip(line.y, line.error, strict=True)]
        highs = [y + e for line in self.lines for y, e in zip(line.y, line.error, strict=True)]
        step = round_step(max(max(highs) - min(lows), 0.01) / 1.5)
        first, last = math.floor(min(lows) / step + 0.02), math.ceil(max(highs) / step - 0.02)
        return [round(place * step, 4) for place in range(first, max(last, first + 1) + 1)]

    def marks_below(self) -> Sequence[float]:
        """The numbers below the axis: every x, or round ones if they are many."""
        if len(self.x) <= FEW:
            return self.x
        step = round_step(self.x[-1] - self.x[0])
        places = range(math.ceil(self.x[0] / step), math.floor(self.x[-1] / step) + 1)
        return [round(place * step, 4) for place in places]


def svg(panels: Sequence[Panel]) -> str:
    """The chart as one SVG document."""
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines if not line.plain))
    plain = list(dict.fromkeys(line.name for panel in panels for line in panel.lines if line.plain))
    width = WIDTH + max(NAMES, math.ceil(24 + LETTER * max(map(len, [*names, *plain]))))
    height = HEIGHT * len(panels)
    body = "".join(
        f'<g transform="translate(0 {HEIGHT * place})">{_panel(panel, names, plain)}</g>\n'
        for place, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape("; ".join(panel.title for panel in panels))}">\n'
        f"<style>{_style(len(names))}</style>\n"
        f'<rect class="paper" width="{width}" height="{height}"/>\n{body}</svg>\n'
    )


def _style(count: int) -> str:
    def colors(paper: str, ink: str, soft: str, rule: str, series: Sequence[str]) -> str:
        own = "".join(f"--series-{n}:{series[n % len(series)]};" for n in range(count))
        return f"svg{{--paper:{paper};--ink:{ink};--soft:{soft};--rule:{rule};{own}}}"

    series = "".join(
        f".s{n}{{stroke:var(--series-{n})}}.s{n} .mark,.s{n} .band,.t{n}{{fill:var(--series-{n})}}"
        for n in range(count)
    )
    return (
        colors("#ffffff", "#1b2430", "#54606f", "#e2e6eb", LIGHT)
        + "@media (prefers-color-scheme:dark){"
        + colors("#12161c", "#e5e9ef", "#a5b0bd", "#29313b", DARK)
        + "}"
        ".paper{fill:var(--paper)}text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;"
        "fill:var(--soft)}.title{font-size:14px;font-weight:600;fill:var(--ink)}.name{font-weight:500}"
        ".grid{stroke:var(--rule)}.series{fill:none;stroke-width:1.8;stroke-linejoin:round}"
        ".error{stroke-width:1.2;opacity:.55}.lead{stroke-width:.8;opacity:.6}.mark{stroke:none}"
        ".band{stroke:none;opacity:.18}.p .band{fill:none}"
        ".p{stroke:var(--soft)}.p .series{stroke-dasharray:5 4}.p1 .series{stroke-dasharray:1.5 3.5}"
        ".p .mark{fill:var(--soft)}" + series
    )


def _panel(panel: Panel, names: Sequence[str], plain: Sequence[str]) -> str:
    ticks = panel.ticks()
    right, bottom = WIDTH, HEIGHT - BOTTOM
    digits = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))

    def across(x: float) -> float:
        return LEFT + (x - panel.x[0]) / (panel.x[-1] - panel.x[0]) * (right - LEFT)

    def down(y: float) -> float:
        return bottom - (y - ticks[0]) / (ticks[-1] - ticks[0]) * (bottom - TOP)

    parts = [f'<text class="title" x="8" y="22">{escape(panel.title)}</text>']
    for tick in ticks:
        y = down(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:.{digits}f}</text>')
    parts += [
        f'<text x="{across(x):.1f}" y="{bottom + 18}" text-anchor="middle">{x:g}</text>'
        for x in panel.marks_below()
    ]
    middle = (LEFT + right) / 2
    parts.append(f'<text x="{middle:.1f}" y="{bottom + 36}" text-anchor="middle">{escape(panel.below)}</text>')
    beside = f"translate(14 {(TOP + bottom) / 2:.1f}) rotate(-90)"
    parts.append(f'<text transform="{beside}" text-anchor="middle">{escape(panel.beside)}</text>')
    places = _spread([down(line.y[-1]) for line in panel.lines], TOP - 2, bottom + 2)
    for line, place in zip(panel.lines, places, strict=True):
        points = [(across(x), down(y)) for x, y in zip(panel.x, line.y, strict=True)]
        number = plain.index(line.name) if line.plain else names.index(line.name)
        kind, text = (f"p p{number}", "") if line.plain else (f"s{number}", f" t{number}")
        ends = [(x, down(y - e), down(y + e)) for (x, _), y, e in zip(points, line.y, line.error, strict=True)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        if len(points) <= FEW:
            bars = "".join(f"M{x:.1f} {low:.1f}V{high:.1f}" for x, low, high in ends if low != high)
            marks = "".join(_mark(MARKS[number % len(MARKS)], x, y) for x, y in points)
            own = f'<path class="error" d="{bars}"/><path class="series" d="{path}"/>{marks}'
        else:
            around = [(x, high) for x, _, high in ends] + [(x, low) for x, low, _ in reversed(ends)]
            band = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in around) + "Z"
            own = f'<path class="band" d="{band}"/><path class="series" d="{path}"/>'
        parts.append(
            f'<g class="{kind}">{own}'
            f'<path class="lead" d="M{points[-1][0] + 5:.1f} {points[-1][1]:.1f}L{right + 16} {place:.1f}"/></g>'
            f'<text class="name{text}" x="{right + 20}" y="{place + 4:.1f}">{escape(line.name)}</text>'
        )
    return "".join(parts)


def _mark(shape: str, x: float, y: float) -> str:
    if shape == "circle":
        return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="2.8"/>'
    corners = {
        "square": [(-2.6, -2.6), (2.6, -2.6), (2.6, 2.6), (-2.6, 2.6)],
        "diamond": [(0, -3.8), (3.8, 0), (0, 3.8), (-3.8, 0)],
        "triangle": [(0, -3.6), (3.4, 2.6), (-3.4, 2.6)],
    }[shape]
    return '<path class="mark" d="M' + "L".join(f"{x + a:.1f} {y + b:.1f}" for a, b in corners) + 'Z"/>'


def _spread(wanted: Sequence[float], low: float, high: float) -> list[float]:
    """Places near the wanted ones, at least LABEL apart and between low and high."""
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    found = [0.0] * len(wanted)
    last = low - LABEL
    for n in order:
        last = found[n] = max(wanted[n], last + LABEL)
    last = high + LABEL
    for n in reversed(order):
        last = found[n] = min(found[n], last - LABEL)
    return found
