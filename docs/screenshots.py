"""Writes the pictures of the docs on reports and on asking into docs/images: pages in Chromium, and charts. Run it
after a change of a report: `python docs/screenshots.py` (it needs Chromium, playwright and resvg-py)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import crowdrank as cr
from crowdrank.report import (
    build,
    build_changes,
    build_questions,
    build_replay,
    changes_to_html,
    questions_to_html,
    replay_to_html,
    to_html,
)
from crowdrank.report.saved_result import SavedResult
from crowdrank.simulate.presets import simulate

IMAGES = Path(__file__).parent / "images"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
WIDE, PHONE = (1280, 1000), (390, 844)


def saved(name: str, result: Any) -> SavedResult:
    """A result as if it had been read from a folder."""
    return SavedResult(name, result.fit.as_dict(), result.ranking.polars(), result.workers.polars())


def pages() -> dict[str, str]:
    """The pages by name."""
    votes = simulate("bt-crowd", items=24, workers=40, votes=3000).judgments
    fitted = cr.CrowdBT().fit(votes)
    some = cr.CrowdBT().fit(votes.head(600))
    domains = cr.TPP().fit(
        simulate("tpp", queries=200, documents=8, workers=25, domains=8, sparsity=0.4).judgments
    )
    study = cr.replay(simulate="beta-5-1", budget=400, seeds=10, settings={"items": 20, "workers": 15})
    IMAGES.joinpath("chart-ahead.svg").write_text(fitted.posterior_.plot(most=12).svg, encoding="utf-8")
    return {
        "report": to_html(build(fitted.result_)),
        "changes": changes_to_html(
            build_changes(saved("first", some.result_), saved("second", fitted.result_))
        ),
        "domains": to_html(build(domains.result_)),
        "next": questions_to_html(build_questions(cr.next_questions(votes.head(600), 40))),
        "replay": replay_to_html(build_replay(study)),
    }  # fmt: skip


SHOTS = (
    ("report-wide", "report", WIDE, "light", None),
    ("report-phone", "report", PHONE, "light", None),
    ("report-dark", "report", WIDE, "dark", None),
    ("report-workers", "report", WIDE, "light", "#workers figure >> nth=1"),
    ("report-chances", "report", WIDE, "light", "#picture"),
    ("report-changes", "changes", (1280, 760), "light", None),
    ("report-domains", "domains", WIDE, "light", "#domains figure"),
    ("asking-next", "next", (1280, 860), "light", None),
    ("asking-replay", "replay", WIDE, "light", "#curves figure"),
)
"""Name, page, size of the window, colors, and the part that is shown if not the first screen."""


def main() -> None:
    """Write every picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        files = {}
        for name, text in pages().items():
            files[name] = Path(folder) / f"{name}.html"
            files[name].write_text(text, encoding="utf-8")
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, page, (width, height), scheme, part in SHOTS:
            size = {"width": width, "height": height}
            shown = browser.new_context(viewport=size, color_scheme=scheme).new_page()
            shown.goto(files[page].as_uri())
            target = shown if part is None else shown.locator(part)
            target.screenshot(path=IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
