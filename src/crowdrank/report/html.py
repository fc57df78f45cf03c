"""A report as one HTML page that opens offline.

The page holds the first rows as HTML, so it can be read without scripts, and all rows as compact data,
which report.js draws, sorts and searches.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from crowdrank.charts import MOST_WORKERS, Axis, Chart, Dot, draw_workers, style_sheet
from crowdrank.report.agreement import draw_agreement, draw_confusion, explain_agreement, explain_confusion
from crowdrank.report.content import VERDICTS, ContestReport, CrowdSummary, Query, Report
from crowdrank.report.contest import explain_contest
from crowdrank.report.domain_content import Skill, SkillMap
from crowdrank.report.domains import NAMED, draw_domains, explain_domains
from crowdrank.report.method import method
from crowdrank.report.reliability import explain_trust, explain_vote_trust, reliability_picture, vote_picture
from crowdrank.report.units import UNITS
from crowdrank.report.words import (
    cell,
    connection_sentences,
    difficulty_interval,
    explain_quality,
    interval,
    nothing_to_suggest,
    number,
    percent,
    signed,
    split_sentence,
    tier_words,
    with_probability,
)

if TYPE_CHECKING:
    from jinja2 import Environment

FIRST_ROWS = 20
QUALITY = Axis(0.0, 1.0, (0.0, 0.5, 1.0), 2)
MEANINGS = {
    "reliable": "almost certainly above 0.6",
    "unsure": "not enough is known",
    "spammer": "almost certainly between 0.4 and 0.6, like guessing",
    "malicious": "almost certainly below 0.5, mostly against the ranking",
}
"""What each verdict means for the interval of a worker's quality."""


def to_html(report: Report) -> str:
    """The page: the ranking with what to know about it, the workers, the connections, and suggestions."""
    templates = environment()
    script = templates.get_template("report.js").render()
    return templates.get_template("report.html").render(
        report=report,
        unit=UNITS[report.unit],
        script=script,
        policy=_hash(script),
        data=_embed_json(_data(report)),
        first_rows=FIRST_ROWS,
        method=method(report),
        quality=QUALITY,
        meanings=MEANINGS,
        quality_meaning=explain_quality(report),
        further=_further(report.crowd),
        histogram=histogram(report.crowd),
        scatter=None if report.crowd is None else scatter(report.crowd),
        most_workers=MOST_WORKERS,
        confusion=None if report.confusion is None else draw_confusion(report.confusion),
        agreement=None if report.agreement is None else draw_agreement(report.agreement),
        reliability=None if report.trust is None else reliability_picture(report.trust),
        domains=None if report.domain_map is None else draw_domains(report.domain_map),
        named_queries=NAMED,
    )


def contest_to_html(report: ContestReport) -> str:
    """The page that compares models: notes first, then the table."""
    return environment().get_template("contest.html").render(report=report)


@cache
def environment() -> Environment:
    """The templates, with the filters and functions that they use. They are compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    made = Environment(
        loader=PackageLoader("crowdrank.report", "templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(number=number, signed=signed, cell=cell, percent=percent)
    made.globals.update(
        connection_sentences=connection_sentences,
        interval=interval,
        split_sentence=split_sentence,
        nothing_to_suggest=nothing_to_suggest,
        with_probability=with_probability,
        tier_words=tier_words,
        difficulty_interval=difficulty_interval,
        shade=_shade,
        place=_place,
        ticks=_ticks,
        explain_contest=explain_contest,
        explain_trust=explain_trust,
        explain_vote_trust=explain_vote_trust,
        vote_picture=vote_picture,
        explain_confusion=explain_confusion,
        explain_agreement=explain_agreement,
        explain_domains=explain_domains,
        chart_style=style_sheet(lambda name: f"var(--{name})"),
    )
    return made


def _hash(script: str) -> str:
    """The hash for the page's security policy, which runs only this script and nothing that an id may inject."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _embed_json(value: Any) -> str:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _data(report: Report) -> dict[str, Any]:
    """All rows, column by column."""
    return {
        "queries": [_columns(query) for query in report.queries],
        "workers": None if report.crowd is None else _people(report.crowd),
        "skills": None if report.skills is None else _skills(report.skills),
        "verdicts": VERDICTS,
        "quality": vars(QUALITY),
        "unit": vars(UNITS[report.unit]),
    }


def _columns(query: Query) -> dict[str, Any]:
    names = ["item", "tier", "score", "low", "high", "rank_low", "rank_high", "comparisons"]
    names += ["label", "probability"] if query.rows[0].label is not None else []
    columns: dict[str, Any] = {name: [getattr(row, name) for row in query.rows] for name in names}
    columns |= {"name": query.name, "items": query.items, "tiers": query.tiers, "axis": vars(query.axis)}
    columns |= {"headline": query.headline, "next": query.next_pairs}
    if query.apart:
        columns |= {"group": [row.group for row in query.rows]}
    if query.difficulty is not None:
        words = [signed(query.difficulty), difficulty_interval(query)]
        columns |= {"difficulty": query.difficulty, "difficulty_words": words}
    if query.domain is not None:
        columns |= {"domain": query.domain, "certainty": query.probability}
    links = query.connections
    if links is None:
        return columns
    return columns | {
        "opponents": [row.opponents for row in query.rows],
        "groups": links.groups,
        "pairs": [links.pairs, links.possible],
        "votes": list(vars(links.comparisons).values()),
        "matrix": None if query.matrix is None else vars(query.matrix),
        "ahead": None if query.ahead is None else vars(query.ahead),
    }


def _people(crowd: CrowdSummary) -> dict[str, Any]:
    names = ("worker", "judgments", "quality", "low", "high")
    columns: dict[str, Any] = {name: [getattr(row, name) for row in crowd.rows] for name in names}
    own = {f"own-{name}": [row.further[name] for row in crowd.rows] for name in _further(crowd)}
    return columns | own | {"verdict": [VERDICTS.index(row.verdict) for row in crowd.rows]}


def _skills(found: SkillMap) -> dict[str, Any]:
    """Workers column by column, each with skills in the order of the domains."""
    columns: dict[str, Any] = {
        name: [[getattr(skill, name) for skill in row.skills] for row in found.rows]
        for name in ("judgments", "quality", "low", "high")
    }
    return columns | {
        "worker": [row.worker for row in found.rows],
        "total": [row.judgments for row in found.rows],
        "verdict": [[VERDICTS.index(skill.verdict) for skill in row.skills] for row in found.rows],
    }


def _shade(skill: Skill) -> str:
    """The color of a skill: stronger the further it is from guessing, fainter the wider its interval."""
    known = 0.0 if skill.low is None or skill.high is None else max(1 - (skill.high - skill.low), 0.0)
    return f"--far:{min(250 * abs(skill.quality - 0.5), 100):.0f}%;--sure:{60 * known:.0f}%"


def _further(crowd: CrowdSummary | None) -> list[str]:
    """The names of the model's own worker parameters."""
    return [] if crowd is None else list(crowd.rows[0].further)


def _place(value: float, axis: Axis) -> float:
    """The position of a value on an axis, in percent."""
    share = (value - axis.low) / (axis.high - axis.low)
    return round(100 * min(max(share, 0.0), 1.0), 2)


def _ticks(axis: Axis) -> str:
    """The positions of an axis's ticks, as CSS positions of the lines behind its rows."""
    return ",".join(f"{_place(tick, axis)}% 0" for tick in axis.ticks) or "0 0"


def scatter(crowd: CrowdSummary) -> Chart:
    """The workers by judgments and quality; an end of an interval that is not bounded is 0 or 1."""
    return draw_workers(
        [
            Dot(
                row.worker, row.judgments, row.quality, 0.0 if row.low is None else row.low,
                1.0 if row.high is None else row.high, row.verdict,
            )
            for row in crowd.rows
        ]
    )  # fmt: skip


def histogram(crowd: CrowdSummary | None) -> dict[str, Any]:
    """The histogram of quality: the verdicts of a bin as stacked blocks, heights relative to the tallest bin."""
    if crowd is None:
        return {}
    totals = [sum(counts) for counts in zip(*crowd.bins.values(), strict=True)]
    tallest = max(totals)
    blocks, heights = [], [0.0] * len(totals)
    for verdict in reversed(crowd.bins):
        for place, count in enumerate(crowd.bins[verdict]):
            if count:
                height = count / tallest
                heights[place] += height
                blocks.append({"verdict": verdict, "bin": place, "top": 1 - heights[place], "height": height})
    return {"blocks": blocks, "totals": totals, "tops": [1 - height for height in heights]}
