"""Measures of scores on labeled queries, quick enough to be taken after every step of training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import Remedy, UsageError
from crowdrank.kernels.segments import segment_of, totals
from crowdrank.measures import MeasureSpec, parse
from crowdrank.measures.evaluate import measure_list
from crowdrank.measures.listwise import gains


def one_measure(text: str) -> MeasureSpec:
    """The measure of this name, such as ``nDCG@10``."""
    found = parse(text)
    if any(one.name == "distance" for one in found):
        problem = "The distance is smaller for better rankings, and training looks for the largest value."
        raise UsageError(problem, hint=("Use tau: ", Remedy("measure", "tau")))
    if len(found) != 1:
        raise UsageError(f"One measure is needed. Got {text!r}.", hint="For example nDCG@10.")
    return found[0]


def paired_difference(values: Floats, others: Floats, level: float = 0.9) -> dict[str, Any]:
    """The mean of value - other over the queries for which both are defined, and its interval at this level.

    mean ± t sd / sqrt(n), with the quantile t of Student's distribution with n - 1 degrees of freedom. One query
    has no standard error, so its interval is not known (None).
    """
    from scipy.special import stdtrit

    away = values - others
    away = away[~np.isnan(away)]
    found: dict[str, Any] = {
        "mean": None,
        "stderr": None,
        "low": None,
        "high": None,
        "level": level,
        "queries": len(away),
    }
    if not len(away):
        return found
    found["mean"] = float(away.mean())
    if len(away) > 1:
        error = float(away.std(ddof=1) / np.sqrt(len(away)))
        width = float(stdtrit(len(away) - 1, 0.5 + level / 2)) * error
        found |= {"stderr": error, "low": found["mean"] - width, "high": found["mean"] + width}
    return found


@dataclass(frozen=True, eq=False)
class LabeledQueries:
    """Labels of documents by query: query q has the rows start[q] to start[q+1]."""

    start: Integers
    label: Floats
    most: float | None = None
    """The largest label of all queries, by which ERR and RBP are scaled; None: that of these queries."""

    def by_query(self, measure: MeasureSpec, scores: Floats) -> Floats:
        """The measure of each query; NaN if it is not defined there."""
        if measure.name in ("ndcg", "dcg"):
            return self._discounted(measure, scores)
        if measure.name == "ap":
            return self._average_precision(measure, scores)
        most = float(self.label.max(initial=0.0)) if self.most is None else self.most
        ends = zip(self.start[:-1], self.start[1:], strict=True)
        return np.array([measure_list(measure, scores[a:b], self.label[a:b], most) for a, b in ends])

    def mean(self, measure: MeasureSpec, scores: Floats) -> float:
        """The mean over the queries for which the measure is defined."""
        values = self.by_query(measure, scores)
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else float("nan")

    def function(self, measure: MeasureSpec) -> Callable[[Floats], float]:
        """The mean as a function of the scores."""
        return lambda scores: self.mean(measure, scores)

    def _discounted(self, measure: MeasureSpec, scores: Floats) -> Floats:
        """DCG of all queries at once: the mean gain of each group of equal scores, times the discounts.

        nDCG divides by the DCG of the best order. Gains are relative to the largest label of the query.
        """
        gain, discount, best = self._ideal(measure)
        found = totals(self._expected(gain, scores) * discount, self.start)
        return np.divide(found, best, out=np.zeros_like(found), where=best > 0)

    def _ideal(self, measure: MeasureSpec) -> tuple[Floats, Floats, Floats]:
        """Gains, discounts, and the DCG of the best order of each query (1 for DCG itself), once per measure."""
        if measure.text not in self._ideals:
            gain = self._gain(measure)
            discount = self._discount(measure.cut)
            best = np.ones(len(self.start) - 1)
            if measure.name == "ndcg":
                best = totals(self._expected(gain, self.label) * discount, self.start)
            self._ideals[measure.text] = gain, discount, best
        return self._ideals[measure.text]

    def _gain(self, measure: MeasureSpec) -> Floats:
        kind = measure.parameters.get("gain", "exp")
        if measure.name == "dcg" or kind != "exp":
            return gains(self.label, kind)
        top = np.zeros(len(self.start) - 1)
        np.maximum.at(top, self._query, self.label)
        return self._scaled(top)

    def _average_precision(self, measure: MeasureSpec, scores: Floats) -> Floats:
        """AP of all queries at once, with the terms of ``measures.listwise.ap`` at each place.

        A group of m equal scores, r of them relevant, follows n documents, R of them relevant. Its place t adds
        r/m (R + 1 + (t-1)(r-1)/(m-1)) / (n + t).
        """
        order, begins = self._groups(scores)
        relevant = (self.label >= measure.parameters.get("rel", 1.0)).astype(float)
        group = segment_of(begins)
        m, r = np.diff(begins), totals(relevant[order], begins)
        within = self._place - self._place[begins[:-1]][group]  # t - 1
        total = totals(relevant, self.start)
        before = np.append(0.0, np.cumsum(r)[:-1])  # in all queries so far; less those of earlier queries
        before -= np.append(0.0, np.cumsum(total)[:-1])[self._query[begins[:-1]]]
        step = np.divide(r - 1, m - 1, out=np.zeros(len(m)), where=m > 1)
        terms = (r / m)[group] * (before[group] + 1 + within * step[group]) / (self._place + 1)
        if measure.cut is not None:
            terms = np.where(self._place < measure.cut, terms, 0.0)
        return np.divide(totals(terms, self.start), total, out=np.zeros(len(total)), where=total > 0)

    def _scaled(self, top: Floats) -> Floats:
        """(2^label - 1) / 2^top, without an overflow."""
        own = np.maximum(self.label, 0.0)
        return np.asarray(np.exp2(own - top[self._query]) - np.exp2(-top[self._query]))

    def _expected(self, values: Floats, scores: Floats) -> Floats:
        """The mean value at each place, over the orders of equal scores."""
        order, begins = self._groups(scores)
        return (totals(values[order], begins) / np.diff(begins))[segment_of(begins)]

    def _groups(self, scores: Floats) -> tuple[Integers, Integers]:
        """The rows from the best score down, query by query, and where each group of equal scores begins."""
        order = np.lexsort((-scores, self._query))
        own = scores[order]
        other = np.append(True, own[1:] != own[:-1])  # a difference would not be defined if both are infinite
        new = (np.diff(self._query, prepend=-1) != 0) | other
        return order, np.append(np.flatnonzero(new), len(scores))

    def _discount(self, cut: int | None) -> Floats:
        discount = 1.0 / np.log2(self._place + 2.0)
        return discount if cut is None else np.where(self._place < cut, discount, 0.0)

    @cached_property
    def _ideals(self) -> dict[str, tuple[Floats, Floats, Floats]]:
        return {}

    @cached_property
    def _query(self) -> Integers:
        return segment_of(self.start)

    @cached_property
    def _place(self) -> Any:
        return np.arange(len(self.label)) - self.start[self._query]
