"""The content of the report of a training run, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crowdrank.charts import Axis
from crowdrank.report.content import CrowdSummary, Page, Span, Worker


@dataclass(frozen=True)
class Lead:
    """How far the ranker is ahead of a baseline: the mean over queries, and its 90 % interval.

    The ends are None if there is only one query.
    """

    mean: float
    low: float | None
    high: float | None
    queries: int


@dataclass(frozen=True)
class MeasuredRow:
    """The ranker, or a baseline with the ranker's lead over it.

    ``verdict`` is about the ranker: "better"; "ahead" if it leads on the queries by which it was chosen; "no
    better" within the noise; "worse"; or "unknown" if there is only one query, or if it leads on the queries that
    it was trained on. It is empty for the ranker.
    """

    name: str
    description: str
    values: dict[str, float | None]
    lead: Lead | None
    verdict: str


@dataclass(frozen=True)
class Measured:
    """Measures of the ranker and of the baselines, the ranker first.

    ``on`` says over which queries these are means: "validation", "training", or "folds" if rankers of several
    folds scored queries that they had not seen. ``chosen``: the ranker was chosen by these queries. ``axis`` is
    for the leads, and None if no lead has an interval.
    """

    on: str
    chosen: bool
    queries: int
    measure: str
    rows: tuple[MeasuredRow, ...]
    axis: Axis | None

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures; the one that training watches is the first."""
        return tuple(self.rows[0].values)

    @property
    def baselines(self) -> tuple[MeasuredRow, ...]:
        """The rows of the baselines."""
        return self.rows[1:]


@dataclass(frozen=True)
class Curve:
    """The measure on validation queries after each step; ``chosen`` is the step that is kept.

    ``unit`` says what a step is. ``levels`` are the values of the baselines on the same queries, by name.
    """

    measure: str
    unit: str
    steps: tuple[int, ...]
    values: tuple[float | None, ...]
    chosen: int | None
    levels: dict[str, float]
    sentence: str


@dataclass(frozen=True)
class FeatureRow:
    """A feature and its share of the importance of all features."""

    feature: str
    share: float


@dataclass(frozen=True)
class ImportanceSummary:
    """The most important features: ``features`` counts all, ``unused`` those with an importance of 0.

    ``rest`` is the share of the features that are not shown. ``meaning`` says what the importance is.
    """

    features: int
    unused: int
    rest: float
    rows: tuple[FeatureRow, ...]
    meaning: str


@dataclass(frozen=True)
class QueryRow:
    """Measures of the ranker on one query; ``relevant`` counts its documents with a label above 0."""

    query: str | None
    documents: int
    relevant: int
    values: dict[str, float | None]


@dataclass(frozen=True)
class QuerySummary:
    """The worst queries among those that have something relevant.

    ``empty`` counts the queries that have nothing relevant. ``mean`` is the mean of the measure over the others.
    """

    queries: int
    empty: int
    mean: float | None
    rows: tuple[QueryRow, ...]


@dataclass(frozen=True)
class TunedRow:
    """Parameters that were tried, and the measure on the validation queries."""

    parameters: dict[str, Any]
    value: float | None
    chosen: bool


@dataclass(frozen=True)
class FoldRow:
    """A fold of cross-validation: its test queries, the measure on them, and that of its best single feature.

    ``step`` is the step that its validation queries chose, if they did.
    """

    fold: int
    queries: int
    step: int | None
    value: float | None
    feature: str | None
    feature_value: float | None


@dataclass(frozen=True)
class Annotator(Worker):
    """A worker of the crowd, with the intervals of the ranker's own parameters."""

    intervals: dict[str, tuple[float | None, float | None]]


@dataclass(frozen=True)
class ListRow:
    """A training list; ``certainty`` is the mean probability that a document is above the one that follows it."""

    query: str | None
    documents: int
    certainty: float


@dataclass(frozen=True)
class OrderSummary:
    """How certain the estimated true orders are: the median over the lists, and the least certain lists."""

    lists: int
    median: float | None
    rows: tuple[ListRow, ...]


@dataclass(frozen=True)
class Crowd:
    """What is known about the crowd that a ranker learned from.

    ``workers`` are those shown, the worst first; None if the judgments name none. ``meaning`` says how to read
    them. ``orders`` is None for a ranker from a folder. ``steps`` is the change after each step, and ``settled``
    says whether training came to an end.
    """

    workers: CrowdSummary | None
    meaning: str
    orders: OrderSummary | None
    steps: Curve | None
    settled: str


@dataclass(frozen=True)
class Strip:
    """What one label of the crowd is worth: its mean value for each worker who gave it, in ascending order."""

    label: str
    values: tuple[float, ...]
    span: Span


@dataclass(frozen=True)
class Cloud:
    """The weight of each worker (second) against something else (first), which ``against`` names.

    ``correlation`` is the rank correlation of the two; None if it is not defined.
    """

    against: str
    points: tuple[tuple[float, float], ...]
    correlation: float | None


@dataclass(frozen=True)
class Weighing:
    """How labels of a crowd are weighed and valued, by worker; workers with the most judgments come first.

    ``drawn`` counts the workers in the strips and clouds.
    """

    workers: CrowdSummary
    drawn: int
    strips: tuple[Strip, ...]
    clouds: tuple[Cloud, ...]


@dataclass(frozen=True)
class TrainingReport(Page):
    """Everything that the report of a training run shows.

    ``verdict`` is its first heading, and ``tone`` "good", "doubt" or "plain"; ``headline`` has the sentences
    below it. ``measured`` is that of cross-validation if there was one. ``measured``, ``curve`` and ``queries``
    are None if there is nothing to show. ``queries_of`` says which queries are shown: "validation" or
    "training". ``preparation`` says what happens to features before they are scored, ``scoring`` which commands
    score new documents, and ``method`` is everything needed to train again. ``crowd`` is None for a ranker that
    learned from labels. ``weighing`` is None unless the ranker weighs and values the labels of a crowd.
    """

    verdict: str
    tone: str
    headline: tuple[str, ...]
    measured: Measured | None
    curve: Curve | None
    importance: ImportanceSummary
    queries: QuerySummary | None
    queries_of: str
    folds: tuple[FoldRow, ...]
    tuned: tuple[TunedRow, ...]
    preparation: tuple[str, ...]
    scoring: tuple[tuple[str, str], ...]
    method: tuple[tuple[str, str], ...]
    fit: dict[str, Any]
    crowd: Crowd | None = None
    weighing: Weighing | None = None
