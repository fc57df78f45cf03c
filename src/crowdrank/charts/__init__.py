"""Charts: SVG pictures from plain values, for reports, notebooks and files."""

from crowdrank.charts.asked import Asked, draw_asked
from crowdrank.charts.axes import Axis, Tick, axis_of
from crowdrank.charts.chart import Chart, style_sheet
from crowdrank.charts.heatmap import Cell, draw_heatmap, short_share
from crowdrank.charts.intervals import Interval, draw_intervals
from crowdrank.charts.scatter import MOST_WORKERS, Dot, draw_workers
from crowdrank.charts.shares import Run, draw_shares

__all__ = [
    "MOST_WORKERS",
    "Asked",
    "Axis",
    "Cell",
    "Chart",
    "Dot",
    "Interval",
    "Run",
    "Tick",
    "axis_of",
    "draw_asked",
    "draw_heatmap",
    "draw_intervals",
    "draw_shares",
    "draw_workers",
    "short_share",
    "style_sheet",
]
