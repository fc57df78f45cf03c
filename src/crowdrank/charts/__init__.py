"""Charts: SVG pictures from plain values, for reports, notebooks and files."""

from crowdrank.charts.axes import Axis, Tick, axis_of
from crowdrank.charts.chart import Chart, style_sheet
from crowdrank.charts.heatmap import Cell, draw_heatmap, short_share
from crowdrank.charts.intervals import Interval, draw_intervals
from crowdrank.charts.scatter import MOST_WORKERS, Dot, draw_workers

__all__ = [
    "MOST_WORKERS",
    "Axis",
    "Cell",
    "Chart",
    "Dot",
    "Interval",
    "Tick",
    "axis_of",
    "draw_heatmap",
    "draw_intervals",
    "draw_workers",
    "short_share",
    "style_sheet",
]
