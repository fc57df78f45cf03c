"""Result tables: the ranking, the workers, and further tables of a model. Frozen, with frames on request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.data.ids import TEXT_IDS, Backend
from crowdrank.errors import count_noun
from crowdrank.results.overview import HasOverview, Interval, Overview

if TYPE_CHECKING:
    from crowdrank.charts import Chart


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Table(HasOverview, ABC):
    """A result table. ``backend`` is the kind of frame that held the judgments."""

    backend: Backend = TEXT_IDS

    @abstractmethod
    def polars(self) -> pl.DataFrame:
        """The table as a Polars frame."""

    def frame(self) -> Any:
        """The table as the same kind of frame as the judgments: Polars, pandas or PyArrow, with ids as given."""
        return self.backend.native(self.polars())

    def overview(self) -> Overview:
        """The first rows."""
        frame = self.polars()
        return Overview(f"{type(self).__name__}: {count_noun(frame.height, 'row')}", table=without_nulls(frame))

    def __len__(self) -> int:
        return len(self.polars())


def without_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame without columns that have no value, such as the query if there is only one."""
    return frame.select(column for column in frame if column.null_count() < frame.height or not frame.height)


@dataclass(frozen=True, eq=False, repr=False)
class Frame(Table):
    """A table that a model returns as it is."""

    content: pl.DataFrame

    def polars(self) -> pl.DataFrame:
        """The frame."""
        return self.content


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Table):
    """The items of each query, best first.

    ``rank`` is strict. Items that cannot be told apart share a ``tier``. ``rank_low`` to ``rank_high`` contains
    the true rank with probability 0.9, and ``low`` to ``high`` the true score. ``query`` is null if there is only
    one query.

    Items that no chain of judgments links are in different groups of their query (``group``). The order across
    groups means nothing: tiers are counted within a group, and likelihood models center the scores within it.

    >>> import crowdrank as cr
    >>> ranking = cr.BradleyTerry().fit([("a", "b")] * 4 + [("b", "a"), ("b", "c"), ("b", "c")]).ranking_
    >>> ranking
    Ranking: 3 items
    rank  ranks   item   score     low   high
       1  1 to 3  a      1.104  -0.105  3.338
       2  1 to 3  b      0.127  -0.838  1.343
       3  1 to 3  c     -1.231  -4.286  0.345
    """

    query: pl.Series
    item: pl.Series
    rank: NDArray[np.int64]
    tier: NDArray[np.int64]
    score: Floats
    stderr: Floats
    low: Floats
    high: Floats
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    group: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.item)

    def polars(self) -> pl.DataFrame:
        """query, item, rank, tier, score, stderr, low, high, rank_low, rank_high; best first.

        A last column ``group`` follows if some query has several groups.
        """
        names = ["rank", "tier", "score", "stderr", "low", "high", "rank_low", "rank_high"]
        names += ["group"] if self.group.max(initial=1) > 1 else []
        columns = {"query": self.query, "item": self.item, **{name: getattr(self, name) for name in names}}
        return pl.DataFrame(columns).sort("query", "rank")

    def plot(self, query: str | None = None, most: int = 40) -> Chart:
        """The first ``most`` items of a query with their 90 % intervals, as a chart that can be saved.

        ``query``: its name; the first one if there are several and none is named.
        """
        from crowdrank.results.plots import plot_ranking

        return plot_ranking(self, query, most)

    def overview(self) -> Overview:
        """The best items, with their intervals."""
        queries = self.query.n_unique() if len(self) else 0
        inside = f" in {count_noun(queries, 'query')}" if queries > 1 else ""
        ranks = pl.format("{} to {}", "rank_low", "rank_high").alias("ranks")
        frame = self.polars().select("rank", ranks, "query", "item", "score", "low", "high")
        title = f"Ranking: {count_noun(len(self), 'item')}{inside}"
        return Overview(title, table=without_nulls(frame), interval=Interval("score"))


@dataclass(frozen=True, eq=False, repr=False)
class Workers(Table):
    """The workers: how many judgments each gave, and how good the judgments are.

    ``quality`` is the probability of agreeing with the fitted order on an average pair. ``further`` holds the
    parameters of the model as additional columns.

    >>> import crowdrank as cr
    >>> pairs = ["ab", "ac", "ad", "bc", "bd", "cd"]
    >>> votes = [(w, i, j) for w in ("ann", "bob") for i, j in pairs] + [("eve", j, i) for i, j in pairs]
    >>> workers = cr.CrowdBT().fit(votes).workers_
    >>> workers.frame().filter(verdict="malicious")["worker"].to_list()
    ['eve']
    """

    worker: pl.Series
    judgments: Floats
    quality: Floats
    low: Floats
    high: Floats
    verdict: pl.Series
    further: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.worker)

    def polars(self) -> pl.DataFrame:
        """worker, judgments, quality, low, high, verdict, and the parameters of the model, sorted by worker."""
        names = ("worker", "judgments", "quality", "low", "high", "verdict")
        return pl.DataFrame({**{name: getattr(self, name) for name in names}, **self.further}).sort("worker")

    def plot(self) -> Chart:
        """Judgments against quality, a mark for each worker, as a chart that can be saved."""
        from crowdrank.results.plots import plot_workers

        return plot_workers(self.polars())

    def overview(self) -> Overview:
        """The workers with the most judgments, and how many there are of each verdict."""
        frame = self.polars().select("worker", "judgments", "verdict", "quality", "low", "high")
        counts = dict(self.verdict.value_counts(sort=True).iter_rows())
        facts = [", ".join(f"{count} {verdict}" for verdict, count in counts.items())]
        table = frame.sort("judgments", descending=True, maintain_order=True)
        interval = Interval("quality", span=(0.0, 1.0))
        return Overview(f"Workers: {len(self):,}", facts, table, interval)


@dataclass(frozen=True, eq=False, repr=False)
class LabelPosterior(Table):
    """The label of each item: ``probability`` (N, K) of each of ``values`` (K), the distinct labels.

    ``names``: the labels as text, if they are not numbers.

    >>> import crowdrank as cr
    >>> labels = {"item": [*"aabbb"], "worker": [*"uvuvw"], "label": ["ham", "ham", "spam", "ham", "spam"]}
    >>> cr.MajorityVote().fit(labels).labels_
    LabelPosterior: 2 rows
    item  label  probability  p_ham  p_spam
    a     ham          0.833  0.833   0.167
    b     spam         0.625  0.375   0.625
    """

    query: pl.Series
    item: pl.Series
    values: Floats
    probability: Floats
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.item)

    @property
    def label(self) -> NDArray[Any]:
        """The most probable label of each item. The smallest one, if several are equally probable."""
        return label_names(self.values, self.names)[self.probability.argmax(axis=1)]

    def polars(self) -> pl.DataFrame:
        """query, item, label, probability, and a column p_V with the probability of each label V."""
        labels = self.names or tuple(f"{value:g}" for value in self.values)
        each = {f"p_{label}": self.probability[:, place] for place, label in enumerate(labels)}
        columns = {"label": self.label, "probability": self.probability.max(axis=1), **each}
        return pl.DataFrame({"query": self.query, "item": self.item, **columns}).sort("query", "item")

    def plot(self, query: str | None = None, most: int = 30) -> Chart:
        """The probability of each label for the ``most`` least certain items, as a chart that can be saved.

        ``query``: its name; the first one if there are several and none is named.
        """
        from crowdrank.results.plots import plot_labels

        return plot_labels(self, query, most)


@dataclass(frozen=True, eq=False, repr=False)
class Confusion(Table):
    """What each worker says of each true label: ``probability`` (W, true, said) of ``values`` (K), the labels.

    ``names``: the labels as text, if they are not numbers.

    >>> import crowdrank as cr
    >>> labels = {"worker": [*"uuuuvvvvwwww"], "item": [*"abcd"] * 3}
    >>> labels["label"] = ["ham", "ham", "spam", "spam"] * 2 + ["ham"] * 4  # w always says ham
    >>> confusion = cr.DawidSkene().fit(labels).confusion_
    >>> confusion.probability[2].round(1)  # what w says (columns) of true ham and true spam (rows)
    array([[0.9, 0.1],
           [0.7, 0.3]])
    """

    worker: pl.Series
    values: Floats
    probability: Floats
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.probability.size

    def polars(self) -> pl.DataFrame:
        """worker, true, said, probability: one row per worker, true label and said label, sorted by all three."""
        size, labels = len(self.values), label_names(self.values, self.names)
        order = self.worker.arg_sort().to_numpy()
        columns = {
            "worker": self.worker.gather(np.repeat(order, size * size)),
            "true": np.tile(np.repeat(labels, size), len(order)),
            "said": np.tile(labels, size * len(order)),
            "probability": self.probability[order].ravel(),
        }
        return pl.DataFrame(columns)


def label_names(values: Floats, names: tuple[str, ...]) -> NDArray[Any]:
    """The labels as they were given: text, or numbers."""
    return np.array(names, dtype=object) if names else values


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Table):
    """The reliability curve: how often known labels are right, by the probability that the model gave them.

    A row holds the known ``items`` whose most probable label has a probability from ``start`` to ``end``. The
    model sees none of them with its known label. ``said`` is the mean probability of the model, ``calibrated``
    that of the answer, and ``right`` the share that is right, with its Jeffreys interval from ``low`` to ``high``.

    >>> import crowdrank as cr
    >>> labels = {"item": [n // 3 for n in range(60)], "worker": [*"uvw"] * 20}
    >>> labels["label"] = [1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0] * 4
    >>> truth = {"item": [*range(20)], "label": [1, 0, 1, 0, 0] * 4}
    >>> found = cr.DawidSkene().fit(labels, anchors=truth).reliability_
    >>> found.frame()["start", "items", "right"].rows()
    [(0.7, 8.0, 1.0), (0.8, 1.0, 1.0), (0.9, 7.0, 1.0), (0.99, 4.0, 1.0)]
    """

    start: Floats
    end: Floats
    items: Floats
    said: Floats
    calibrated: Floats
    right: Floats
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.items)

    def polars(self) -> pl.DataFrame:
        """start, end, items, said, calibrated, right, low, high, sorted by start."""
        names = ("start", "end", "items", "said", "calibrated", "right", "low", "high")
        return pl.DataFrame({name: getattr(self, name) for name in names})


@dataclass(frozen=True, eq=False, repr=False)
class Easiness(Table):
    """How easy each item is to label: the larger ``easiness``, the more often able workers are right.

    >>> import crowdrank as cr
    >>> labels = {"worker": [*"uuuvvvwww"], "item": [*"abc"] * 3, "label": [1, 0, 1, 1, 0, 0, 1, 0, 1]}
    >>> cr.GLAD().fit(labels).easiness_
    Easiness: 3 rows
    item  easiness
    a        3.764
    b        3.764
    c        1.805
    """

    query: pl.Series
    item: pl.Series
    easiness: Floats

    def __len__(self) -> int:
        return len(self.item)

    def polars(self) -> pl.DataFrame:
        """query, item, easiness, sorted by query and item."""
        columns = {"query": self.query, "item": self.item, "easiness": self.easiness}
        return pl.DataFrame(columns).sort("query", "item")


@dataclass(frozen=True, eq=False, repr=False)
class Queries(Table):
    """The queries: how difficult each one is, and which domain it belongs to.

    ``difficulty`` is the variance of what workers perceive of an item's score. ``domain`` (Q, M) holds the
    probability of each domain; domains are numbered from 1, the largest first.

    >>> import crowdrank as cr
    >>> lists = {"query": [1] * 9 + [2] * 9, "worker": [*"uuuvvvwww"] * 2, "rank": [1, 2, 3] * 6}
    >>> lists["item"] = [*"abcabcabc" + "abcbcacab"]  # nobody agrees about the second query
    >>> cr.TRM().fit(lists).queries_.frame()["difficulty"].round(2).to_list()
    [0.42, 1.99]
    """

    query: pl.Series
    judgments: Floats
    difficulty: Floats
    low: Floats
    high: Floats
    domain: Floats

    def __len__(self) -> int:
        return len(self.query)

    def polars(self) -> pl.DataFrame:
        """query, judgments, difficulty, low, high, domain, probability, and a column p_M for each domain M."""
        names = ("query", "judgments", "difficulty", "low", "high")
        likely = {"domain": 1 + self.domain.argmax(axis=1), "probability": self.domain.max(axis=1)}
        each = {f"p_{1 + place}": self.domain[:, place] for place in range(self.domain.shape[1])}
        return pl.DataFrame({**{name: getattr(self, name) for name in names}, **likely, **each}).sort("query")


@dataclass(frozen=True, eq=False, repr=False)
class Skills(Table):
    """How well each worker knows each domain, with one row per worker and domain.

    ``tau`` is the signed expertise: its size is the precision of the worker, and its sign says whether the worker
    is honest in that domain. ``truthful`` is the probability that it is positive. ``quality`` and ``verdict`` are
    those of the worker on the pairs of the domain. ``judgments`` is the weight of the worker's votes there.

    >>> import crowdrank as cr
    >>> pairs = ["ab", "ac", "ad", "bc", "bd", "cd"]
    >>> votes = [(q, w, i, j) for q in ("food", "music") for w in ("ann", "bob") for i, j in pairs]
    >>> votes += [("food", "eve", i, j) for i, j in pairs] + [("music", "eve", j, i) for i, j in pairs]
    >>> table = cr.read(votes, columns=["query", "worker", "winner", "loser"])
    >>> skills = cr.TPP(domains={"food": 1, "music": 2}).fit(table).skills_
    >>> skills.frame().filter(worker="eve")["domain", "verdict"].rows()
    [(1, 'reliable'), (2, 'malicious')]
    """

    worker: pl.Series
    domain: NDArray[np.int64]
    judgments: Floats
    quality: Floats
    low: Floats
    high: Floats
    verdict: pl.Series
    tau: Floats
    tau_low: Floats
    tau_high: Floats
    truthful: Floats

    def __len__(self) -> int:
        return len(self.worker)

    def polars(self) -> pl.DataFrame:
        """All columns, sorted by worker and domain."""
        names = [column.name for column in fields(self) if column.name != "backend"]
        return pl.DataFrame({name: getattr(self, name) for name in names}).sort("worker", "domain")
