"""A report as Markdown, for pull requests and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from crowdrank.errors import count_noun
from crowdrank.report.agreement import explain_agreement, explain_confusion
from crowdrank.report.content import (
    Contender,
    Contest,
    ContestReport,
    CrowdSummary,
    Grid,
    LabelTrust,
    Page,
    Query,
    Report,
    TableRows,
    WorkerAgreement,
)
from crowdrank.report.contest import explain_contest
from crowdrank.report.domain_content import DomainMap, Skill, SkillMap
from crowdrank.report.domains import explain_domains
from crowdrank.report.method import method
from crowdrank.report.reliability import explain_trust, explain_vote_trust
from crowdrank.report.units import UNITS, Unit
from crowdrank.report.words import (
    cell,
    connection_sentences,
    difficulty_interval,
    explain_quality,
    interval,
    nothing_to_suggest,
    number,
    plus_minus,
    signed,
    split_sentence,
    tier_words,
    with_probability,
)

ROWS = 50
QUERIES = 20
MANY_TIED, TIED = 20, 10
FEW = 12
"""Up to this many workers the agreement between them is a table."""


def to_markdown(report: Report) -> str:
    """The report as GitHub Markdown: the first 50 rows of the first 20 queries, and of the workers."""
    parts = [
        [f"# {report.title}", " · ".join(map(safe, report.facts)), *_first(report)],
        _ranking(report),
        warnings(report),
        _queries(report),
        [] if report.crowd is None else _workers(report.crowd, explain_quality(report)),
        [] if report.domain_map is None else _domains(report.domain_map),
        [] if report.skills is None else _skills(report.skills),
        [] if report.confusion is None else _confusion(report.confusion),
        [] if report.agreement is None else _agreement(report.agreement),
        [] if report.trust is None else _trust(report.trust),
        *map(_further, report.tables),
        _connections(report),
        ["## What would make the ranking more certain", _suggestions(report)],
        [] if report.choice is None else ["## How the model was chosen", *_contest(report.choice)],
        ["## How it was computed", bullets(f"{safe(name)}: {safe(value)}" for name, value in method(report))],
    ]
    return "\n\n".join(block for part in parts for block in part if block) + "\n"


def _first(report: Report) -> Iterator[str]:
    """What the ranking says in a sentence, and what to know about it by its titles."""
    if report.queries_total == 1:
        yield safe(report.queries[0].headline)
    if report.cautions:
        yield f"What to know, more below: {safe('; '.join(own.title for own in report.cautions))}."


def contest_to_markdown(report: ContestReport) -> str:
    """A comparison of models as GitHub Markdown."""
    parts = [f"# {report.title}", " · ".join(map(safe, report.facts)), *warnings(report), "## Models"]
    return "\n\n".join([*parts, *_contest(report.contest)]) + "\n"


def _contest(contest: Contest) -> Iterator[str]:
    yield explain_contest(contest)
    head = ("Model", "", "Log loss", "Behind the best", "Accuracy", *contest.measures, "Seconds")
    yield table(
        head, (_contender(row, contest) for row in contest.rows), "llrrr" + "r" * len(contest.measures) + "r"
    )
    if errors := [f"{safe(row.model)} failed: {safe(row.error)}" for row in contest.rows if row.error]:
        yield bullets(errors)
    if contest.trust:
        yield "### How far the probabilities can be trusted"
        yield explain_vote_trust(contest)
        bins = (
            (
                f"{row.start:g} to {row.end:g}", number(row.votes), number(row.said, 2), number(row.right, 2),
                interval(row.low, row.high, 2),
            )
            for row in contest.trust
        )  # fmt: skip
        yield table(["Likelier side", "Votes", "Said", "Won", "90 % interval"], bins, "lrrrr")


def _contender(row: Contender, contest: Contest) -> list[str]:
    return [
        row.model,
        row.place,
        plus_minus(row.log_loss, row.log_loss_se, 4),
        number(None) if row.behind is None else interval(row.low, row.high, 4),
        plus_minus(row.accuracy, row.accuracy_se, 4),
        *(number(row.gold.get(name), 4) for name in contest.measures),
        number(row.seconds, 2),
    ]


def warnings(report: Page) -> list[str]:
    """The section with the warnings."""
    if not report.cautions:
        return ["## Warnings", "No warnings."]
    return [
        "## Warnings",
        bullets(
            f"**{safe(caution.title)}.** {safe(' '.join(caution.messages))} {safe(caution.meaning)}".strip()
            for caution in report.cautions
        ),
    ]


def _queries(report: Report) -> Iterator[str]:
    """What is known about the queries besides their rankings."""
    if report.queries_total == 1 or not report.difficulties:
        return
    yield "## Queries"
    rows = (
        (
            f"{query.name}", number(query.items), number(query.tiers), signed(query.difficulty),
            difficulty_interval(query),
            *([with_probability(query.domain, query.probability)] if report.domains else []),
        )
        for query in report.queries[:ROWS]
    )  # fmt: skip
    head = ["Query", "Items", "Tiers", "Difficulty", "90 % interval"]
    yield table([*head, "Domain"] if report.domains else head, rows, "lrrrr" + "r" * report.domains)
    if report.queries_total > ROWS:
        yield f"The first {ROWS} of {report.queries_total:,} queries; the queries file has all of them."


def _ranking(report: Report) -> Iterator[str]:
    yield "## Ranking"
    yield (
        "Items in one tier cannot be told apart from its best item. "
        "Intervals hold the true value with a probability of 90 %."
    )
    for query in report.queries[:QUERIES]:
        if query.name is not None:
            yield f"### Query {safe(query.name)}"
        yield _items(query, UNITS[report.unit], report.has_labels)
        if query.items > ROWS:
            yield f"The ranking file has all {query.items:,} items."
    if report.queries_total > QUERIES:
        yield f"The first {QUERIES} of {report.queries_total:,} queries; the ranking file has all of them."


def _items(query: Query, unit: Unit, has_labels: bool) -> str:
    """The first rows. Of a tier of more than ``MANY_TIED`` items the first ``TIED`` are shown."""
    decimals = query.axis.decimals
    rows = [
        (
            f"{row.rank}", f"{row.rank_low}–{row.rank_high}", tier_words(query, row), row.item,
            signed(row.score, decimals), interval(row.low, row.high, decimals), number(row.comparisons),
            *([with_probability(row.label, row.probability)] if has_labels else []),
        )
        for row in query.rows
    ]  # fmt: skip
    rows = _fold_tiers(query, rows)[:ROWS]
    head = ["Rank", "Between", "Tier", "Item", "Score", "90 % interval", f"{unit.noun.title()}s"]
    return table([*head, "Label"] if has_labels else head, rows, "rrrlrrr" + "r" * has_labels)


def _fold_tiers(query: Query, rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows, with one row in place of the rest of every large tier."""
    found: list[tuple[str, ...]] = []
    start = 0
    for tier, members in groupby(query.rows, key=lambda row: row.tier):
        size = len(list(members))
        shown = size if size <= MANY_TIED else TIED
        found += rows[start : start + shown]
        if shown < size:
            words = f"{size - TIED:,} more that cannot be told apart from the best one of the tier"
            blank = [""] * (len(rows[0]) - 4)
            found.append((f"{start + TIED + 1}–{start + size}", "", f"{tier}", words, *blank))
        start += size
    return found


def _confusion(grid: Grid) -> Iterator[str]:
    yield "## What the crowd says of each true label"
    yield safe(explain_confusion(grid))
    rows = ([name, *(number(share, 2) for share in own)] for name, own in zip(grid.names, grid.rows, strict=True))
    yield table(["True", *map(safe, grid.names)], rows, "l" + "r" * len(grid.names))


def _agreement(agreement: WorkerAgreement) -> Iterator[str]:
    yield "## How far workers agree"
    yield safe(explain_agreement(agreement))
    grid = agreement.grid
    if len(grid.names) <= FEW:
        named = zip(grid.names, grid.rows, strict=True)
        rows = ([name, *(number(share, 2) for share in own)] for name, own in named)
        yield table(["Worker", *map(safe, grid.names)], rows, "l" + "r" * len(grid.names))


def _workers(crowd: CrowdSummary, quality: str) -> Iterator[str]:
    yield "## Workers"
    yield quality
    yield ", ".join(f"{count:,} {verdict}" for verdict, count in crowd.verdicts.items()) + "; worst first."
    rows = (
        (
            row.worker, row.verdict, number(row.quality, 2), interval(row.low, row.high, 2), number(row.judgments),
        )
        for row in crowd.rows[:ROWS]
    )  # fmt: skip
    yield table(("Worker", "Verdict", "Quality", "90 % interval", "Judgments"), rows, "llrrr")
    if crowd.workers > ROWS:
        yield f"The worst {ROWS} of {crowd.workers:,} workers; the workers file has all of them."


def _domains(found: DomainMap) -> Iterator[str]:
    yield "## Queries by domain"
    yield explain_domains(found)
    rows = (
        (
            f"{place}", number(domain.queries), number(domain.sure), number(domain.probability, 2),
            ", ".join(domain.examples),
        )
        for place, domain in enumerate(found.domains, 1)
    )  # fmt: skip
    yield table(["Domain", "Queries", "Almost certain", "Mean probability", "Surest queries"], rows, "rrrrl")


def _skills(found: SkillMap) -> Iterator[str]:
    yield "## Workers by domain"
    yield "The quality of each worker on the pairs of each domain; workers with the most judgments first."
    heads = [f"{place} ({count_noun(count, 'query', 'queries')})" for place, count in enumerate(found.queries, 1)]
    rows = ([row.worker, *map(_skill, row.skills), number(row.judgments)] for row in found.rows[:ROWS])
    yield table(["Worker", *heads, "Judgments"], rows, "l" + "r" * len(heads) + "r")
    if found.workers > ROWS:
        yield f"The first {ROWS} of {found.workers:,} workers; the skills file has all of them."


def _trust(trust: LabelTrust) -> Iterator[str]:
    yield "## How far the probabilities of labels can be trusted"
    yield explain_trust(trust)
    rows = (
        (
            f"{row.start:g} to {row.end:g}", number(row.items), number(row.said, 2), number(row.calibrated, 2),
            number(row.right, 2), interval(row.low, row.high, 2),
        )
        for row in trust.rows
    )  # fmt: skip
    yield table(["By the model", "Items", "Said", "Calibrated", "Right", "90 % interval"], rows, "lrrrrr")


def _further(found: TableRows) -> Iterator[str]:
    yield f"## {safe(found.name.replace('_', ' ').capitalize())}"
    rows = [[cell(value) for value in row] for row in found.rows[:ROWS]]
    yield table([safe(name) for name in found.columns], rows, "l" * len(found.columns))
    if found.total > ROWS:
        yield f"The first {ROWS} of {found.total:,} rows; the {safe(found.name)} file has all of them."


def _skill(skill: Skill) -> str:
    return f"{number(skill.quality, 2)}, {interval(skill.low, skill.high, 2)}, {skill.verdict}"


def _connections(report: Report) -> list[str]:
    if report.connections is None:
        return []
    unit, several = UNITS[report.unit], report.queries_total > 1
    lines = [*connection_sentences(report.connections, unit, several=several)]
    if several:
        lines.insert(0, split_sentence(report))
    return [f"## How the {unit.links} connect", bullets(lines)]


def _suggestions(report: Report) -> str:
    return bullets(safe(entry.sentence) for entry in report.suggestions) or nothing_to_suggest(report)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """A table; ``align`` has an l or an r for each column. Cells are shown unchanged, heads are Markdown."""
    rule = ("---:" if side == "r" else "---" for side in align)
    lines = [head, list(rule), *([safe(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """A list of Markdown lines."""
    return "\n".join(f"- {line}" for line in lines)


def safe(text: str) -> str:
    """Text that Markdown shows unchanged: no markup, one line."""
    flat = " ".join(text.split())
    return re.sub(r"([\\`*_\[\]<>|#~&$@!])", r"\\\1", flat)
