"""The content of a report as plain data; HTML, Markdown and JSON are views of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from crowdrank.charts import Axis
from crowdrank.report.domain_content import DomainMap, SkillMap

VERDICTS = ("malicious", "spammer", "unsure", "reliable")


@dataclass(frozen=True)
class Caution:
    """Warnings of one kind: their title, their messages, and advice."""

    code: str
    title: str
    messages: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class Item:
    """A row of a ranking; an end of the score's interval is None if it is not bounded.

    ``comparisons`` counts the votes, lists or labels (the report's ``unit``). ``group`` counts the groups of
    linked items within the query, and ``tier`` the tiers within the group. ``label`` is the most probable
    label if the model has labels, otherwise None.
    """

    item: str
    rank: int
    tier: int
    score: float
    low: float | None
    high: float | None
    rank_low: int
    rank_high: int
    comparisons: float
    opponents: int
    group: int
    label: float | str | None = None
    probability: float | None = None


@dataclass(frozen=True)
class Span:
    """A minimum, median and maximum."""

    least: float
    median: float
    most: float


@dataclass(frozen=True)
class Connections:
    """How the comparisons connect the items of a query, or of all of them."""

    groups: int
    pairs: int
    possible: int
    comparisons: Span
    opponents: Span

    @property
    def share(self) -> float:
        """Share of the possible pairs that were compared."""
        return self.pairs / self.possible if self.possible else 0.0


@dataclass(frozen=True)
class Matrix:
    """Votes between items, or lists that hold both, in rank order.

    The upper triangle, row by row, including the diagonal. A row is an item or, if there are more items than
    ``side``, a run of neighbors in rank.
    """

    side: int
    cells: tuple[float, ...]


@dataclass(frozen=True)
class Query:
    """The ranking of a query: ``items`` is the number of items, ``rows`` are those shown, best first.

    ``difficulty``, its interval (an end is None if it is not bounded) and the most probable ``domain`` with its
    ``probability`` are set if the model estimates them; the domain only if there are several. ``first_tier`` is
    the number of items that cannot be told apart from the best one; ``headline`` says in words what the ranking
    says. ``ahead``: the probability that the row is better than the column, laid out as ``matrix`` is; the item in
    the middle stands for a run of neighbors. None if the model does not say. ``next_pairs``: the ranks of the
    pairs that the next votes should be about, most useful first.
    """

    name: str | None
    items: int
    tiers: int
    rows: tuple[Item, ...]
    axis: Axis
    connections: Connections | None
    matrix: Matrix | None
    first_tier: int = 1
    headline: str = ""
    ahead: Matrix | None = None
    next_pairs: tuple[tuple[int, int], ...] = ()
    difficulty: float | None = None
    difficulty_low: float | None = None
    difficulty_high: float | None = None
    domain: int | None = None
    probability: float | None = None

    @property
    def apart(self) -> bool:
        """Whether the items fall into groups that nothing links."""
        return self.connections is not None and self.connections.groups > 1


@dataclass(frozen=True)
class Worker:
    """A worker; ``further`` are the model's own parameters, without their intervals."""

    worker: str
    judgments: float
    quality: float
    low: float | None
    high: float | None
    verdict: str
    further: dict[str, float | None]


@dataclass(frozen=True)
class CrowdSummary:
    """The workers: how many there are, those shown (worst first), and the distribution of quality.

    ``bins`` holds, for each verdict, the number of workers in each of ten bins of quality from 0 to 1.
    """

    workers: int
    rows: tuple[Worker, ...]
    verdicts: dict[str, int]
    bins: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class TableRows:
    """A further table of a model: ``total`` is its number of rows, ``rows`` are those shown."""

    name: str
    columns: tuple[str, ...]
    total: int
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class ReliabilityRow:
    """Known items whose most probable label has a probability from ``start`` to ``end`` by the model.

    ``said`` is its mean, ``calibrated`` the mean after calibration, and ``right`` the share that is right.
    """

    start: float
    end: float
    items: int
    said: float
    calibrated: float
    right: float
    low: float
    high: float


@dataclass(frozen=True)
class LabelTrust:
    """How often known labels are right, beside what the model said and what calibration made of it."""

    known: int
    said: float
    calibrated: float
    right: float
    rows: tuple[ReliabilityRow, ...]


@dataclass(frozen=True)
class Grid:
    """A square of shares by name: what a crowd says of each true label, or how often two workers agree.

    A share is None if nothing is known. ``rows`` are from top to bottom, in the order of ``names``.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class WorkerAgreement:
    """How often two workers order a pair in the same way, workers who agree beside each other.

    ``total`` is the number of workers, ``alike`` are pairs who agree so often that they may be copies: two names,
    their share, and the number of pairs of items that both ordered.
    """

    grid: Grid
    total: int
    alike: tuple[tuple[str, str, float, int], ...]


@dataclass(frozen=True)
class Suggestion:
    """One thing that would make the ranking more certain, as a sentence, and the ids that it names."""

    kind: str
    sentence: str
    query: str | None = None
    items: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contender:
    """A model in a comparison; ``low`` to ``high`` is its distance from the best, ± two standard errors.

    ``place`` is "best", "as good" if it cannot be distinguished from the best, "behind", "order only" if it
    gives no probabilities, or "failed" for the reason ``error``.
    """

    model: str
    place: str
    log_loss: float | None
    log_loss_se: float | None
    behind: float | None
    low: float | None
    high: float | None
    accuracy: float | None
    accuracy_se: float | None
    seconds: float | None
    gold: dict[str, float | None]
    error: str | None


@dataclass(frozen=True)
class VoteBin:
    """Held-out votes whose likelier side has a probability from ``start`` to ``end``.

    ``said`` is its mean, and ``right`` the share that this side won, with its interval.
    """

    start: float
    end: float
    votes: float
    said: float
    right: float
    low: float
    high: float


@dataclass(frozen=True)
class Contest:
    """Models by how well they predict held-out votes, best first.

    ``axis`` is for the distances from the best; ``guessing`` is the log loss of a random guess. ``trust``: how
    often the likelier side won, by the model ``trusted``; empty if nothing was held out.
    """

    rows: tuple[Contender, ...]
    axis: Axis | None
    measures: tuple[str, ...]
    folds: int
    votes: int
    ties: bool
    guessing: float
    trust: tuple[VoteBin, ...] = ()
    trusted: str = ""

    @property
    def timed(self) -> bool:
        """Whether any model has a time."""
        return any(row.seconds is not None for row in self.rows)


@dataclass(frozen=True)
class Page:
    """What every report begins with: its title, the facts below it, and what to know first."""

    title: str
    facts: tuple[str, ...]
    cautions: tuple[Caution, ...]


@dataclass(frozen=True)
class ContestReport(Page):
    """A page that compares models."""

    contest: Contest


@dataclass(frozen=True)
class Report(Page):
    """Everything that a report shows, as plain values without arrays.

    ``items`` and ``queries_total`` count everything; ``queries`` may hold fewer queries, and each of them
    fewer rows, if showing all would make the page too large. ``choice`` is how `auto` chose the model.
    ``unit`` is what is counted for an item: "votes", "lists" or "labels". Labels need not connect items, so
    ``connections`` is None for them. ``skills`` and ``domain_map`` are None if there are no domains, or only one.
    ``trust`` is None if no labels are known. ``confusion`` is what the crowd says of each true label, and
    ``agreement`` how often workers agree on lists; None if that is not known. ``tables`` are the model's further
    tables that have no section of their own in the report.
    """

    items: int
    queries_total: int
    queries: tuple[Query, ...]
    crowd: CrowdSummary | None
    skills: SkillMap | None
    connections: Connections | None
    split_queries: int
    suggestions: tuple[Suggestion, ...]
    choice: Contest | None
    fit: dict[str, Any]
    gold: dict[str, float | None]
    unit: str
    gold_coverage: str | None = None
    trust: LabelTrust | None = None
    tables: tuple[TableRows, ...] = ()
    confusion: Grid | None = None
    agreement: WorkerAgreement | None = None
    domain_map: DomainMap | None = None

    @property
    def has_labels(self) -> bool:
        """Whether the rows have a label."""
        return any(row.label is not None for query in self.queries for row in query.rows)

    @property
    def difficulties(self) -> bool:
        """Whether the queries have a difficulty."""
        return any(query.difficulty is not None for query in self.queries)

    @property
    def domains(self) -> bool:
        """Whether the queries have a domain."""
        return any(query.domain is not None for query in self.queries)

    @property
    def cut(self) -> str:
        """A sentence on what is left out; empty if nothing is."""
        shown = len(self.queries)
        if shown < self.queries_total:
            where = f"the first {shown:,} of {self.queries_total:,} queries"
            return (
                f"To keep this report small, it shows only {where}, with their first {self.most_rows} items each."
            )
        if any(len(query.rows) < query.items for query in self.queries):
            each = " of each query" if shown > 1 else ""
            return f"To keep this report small, it shows only the first {self.most_rows:,} items{each}."
        return ""

    @property
    def most_rows(self) -> int:
        """The most rows that any query shows."""
        return max((len(query.rows) for query in self.queries), default=0)


def to_json(report: Page) -> str:
    """The report's content as JSON, with the field names of its class."""
    return json.dumps(report, default=vars, ensure_ascii=False, allow_nan=False) + "\n"
