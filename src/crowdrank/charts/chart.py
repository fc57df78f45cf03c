"""A chart: SVG for a page, for a notebook, or for a file.

A drawing names its colors by classes. Within a report the classes take the colors of the page; a chart on its own
brings them along, for light and for dark screens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from crowdrank.errors import UsageError

LIGHT = {
    "paper": "#ffffff", "ink": "#1b2430", "soft": "#54606f", "line": "#e2e6eb", "rule": "#8b96a5",
    "tint": "#f6f8fa", "mark": "#174f8f", "bar": "#b9d2ee", "ahead": "#6ea3dc", "behind": "#e58f80",
    "reliable": "#1f6b43", "unsure": "#54606f", "spammer": "#8a5600", "malicious": "#a31c1c",
}  # fmt: skip
DARK = {
    "paper": "#12161c", "ink": "#e5e9ef", "soft": "#a5b0bd", "line": "#29313b", "rule": "#6d7988",
    "tint": "#181d25", "mark": "#a9cdf5", "bar": "#2f527c", "ahead": "#2f5f95", "behind": "#8c4037",
    "reliable": "#6cc495", "unsure": "#a5b0bd", "spammer": "#e0ab4a", "malicious": "#f09090",
}  # fmt: skip
"""The colors by name, on light and on dark screens."""
RULES = {
    "text": "fill:{soft};font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif",
    "name": "fill:{ink}",
    "paper": "fill:{paper}",
    "tint": "fill:{tint}",
    "grid": "stroke:{line}",
    "rule": "stroke:{rule}",
    "bar": "fill:{bar}",
    "open": "stroke:{bar};stroke-width:8;stroke-dasharray:6 4",
    "mark": "fill:{mark}",
    "hint": "fill:transparent",
    "ahead": "fill:{ahead}",
    "behind": "fill:{behind}",
    "reliable": "fill:{reliable};stroke:{reliable}",
    "unsure": "fill:{paper};stroke:{unsure};stroke-width:1.5",
    "spammer": "fill:{spammer};stroke:{spammer}",
    "malicious": "fill:none;stroke:{malicious};stroke-width:2.5",
}
"""What each class of a drawing looks like."""
SCALE = 2
"""Pixels of a PNG per unit of the drawing."""


@dataclass(frozen=True)
class Chart:
    """A picture. A notebook shows it; ``save`` writes it as SVG or PNG.

    ``body`` are the elements of the drawing, ``description`` says in words what they show.
    """

    body: str
    width: float
    height: float
    description: str

    @property
    def inline(self) -> str:
        """The drawing as part of a page that has the style of ``style_sheet``."""
        return self._element(f' class="picture" style="--width:{self.width:g}px"', self.body)

    @property
    def svg(self) -> str:
        """The drawing as an SVG document of its own."""
        dark = style_sheet(DARK.__getitem__)
        return self._document(f"{style_sheet(LIGHT.__getitem__)}@media (prefers-color-scheme:dark){{{dark}}}")

    def _document(self, style: str) -> str:
        paper = f'<rect class="c-paper" width="{self.width:g}" height="{self.height:g}"/>'
        size = f' xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}"'
        return self._element(size, f"<style>{style}</style>{paper}{self.body}") + "\n"

    def _element(self, attributes: str, content: str) -> str:
        box = f'viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{escape(self.description)}"'
        return f"<svg{attributes} {box}>{content}</svg>"

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Chart({self.description!r})"

    def png(self) -> bytes:
        """The drawing as PNG, in light colors. It needs the extra ``png``."""
        try:
            from resvg_py import svg_to_bytes
        except ImportError:
            problem = "To save a chart as PNG, the package resvg-py is needed."
            raise UsageError(problem, hint="pip install 'crowdrank[png]', or save it as .svg.") from None
        return bytes(svg_to_bytes(svg_string=self._document(style_sheet(LIGHT.__getitem__)), zoom=SCALE))

    def save(self, path: str | Path) -> Path:
        """Write the chart to a file and return its path; the end of its name says whether as SVG or as PNG."""
        path = Path(path)
        form = path.suffix.lower()
        if form not in (".svg", ".png"):
            raise UsageError(f"A chart is saved as .svg or .png. Got {str(path)!r}.")
        path.write_bytes(self.svg.encode() if form == ".svg" else self.png())
        return path


def style_sheet(color: Callable[[str], str]) -> str:
    """The rules of all classes; ``color`` says what stands for the name of a color."""
    colors = {name: color(name) for name in LIGHT}
    return "".join(f".c-{name}{{{rule.format_map(colors)}}}" for name, rule in RULES.items())


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "text") -> str:
    """Words at a place; ``anchor`` is start, middle or end. A ``kind`` other than text is a further class."""
    extra = "" if kind == "text" else f" c-{kind}"
    return f'<text class="c-text{extra}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def clamped(words: str, letters: int) -> str:
    """Words of at most this many letters."""
    flat = " ".join(words.split())
    return flat if len(flat) <= letters else flat[: letters - 1] + "…"


def named(x: float, y: float, name: str, letters: int, anchor: str = "end") -> str:
    """An id beside an axis: cut if it is long, with the whole as a hint."""
    return f"<g><title>{escape(name)}</title>{text(x, y, clamped(name, letters), anchor, 'name')}</g>"
