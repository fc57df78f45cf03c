"""How far the probabilities of labels can be trusted: tempered by held-out labels, calibrated by known ones.

A model of labels says that item i has the label c with probability P_i(c). It takes the errors of workers for
independent, so it is too certain if workers err together, or if their confusion was fitted to few labels. The
answer is

    Q_i(c) = (1 - e) P_i(c)^(1/T) / sum_d P_i(d)^(1/T) + e / K,          T > 0,   0 <= e < 1               (1)

The order of the labels of an item stays the same, and so does the most probable one. T is a temperature (Guo et
al. 2017); e is the share of items on which agreement says nothing.

Held-out labels. Label r of item i has the weight n_r and the probability p_r(c), if the true label is c, by the
worker's parameters without item i. P_i without r comes from the other labels of the item. With e = 0,

    T_0 maximizes   sum_r n_r ln sum_c p_r(c) Q_{i without r}(c)   over T >= 1,                            (2)

over the labels of items that others labeled too. Errors that all workers share cannot be seen there. A normal
posterior with the variance v has the variance T v at the temperature T. If the label r is normal around m, with
the variance u by itself and v by what the other labels of the item leave open, T_0 maximizes

    sum_r n_r ln N(r; m_r, u_r + T v_r)   over T >= 1.                                                     (3)

Known labels. Let P_i be what the model says about a known item if it is fitted without the known labels of a fifth
of the known items, this one among them. Let q_i be the probability (1) of its most probable label, and y_i = 1 if
that label is right. Then T and e maximize

    sum_i [y_i ln q_i + (1 - y_i) ln(1 - q_i)] + ln(1 - e) - (ln T - ln T_0)^2 / (2 s^2),     s = 1/4.       (4)

So few known labels change little: T stays near T_0, and ln(1 - e) counts like one more known label that was right
and that the model was certain of. For each T the objective is concave in e.

How many. If n known labels are right with probability p, the share of right ones has the standard error
sqrt(p (1 - p) / n). It is below d for n > p (1 - p) / d^2.                                                 (5)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.errors import Note, count_noun
from crowdrank.models.labels.consensus import EVEN, LEAST
from crowdrank.prepared.label_rows import LOST
from crowdrank.prepared.label_shards import LabelRows
from crowdrank.results import Reliability, agreement_interval

HOTTEST = 10.0
"""The largest temperature. With known labels, the smallest is its inverse."""
FOLDS, DIGITS = 5, 9
"""Known items are predicted in so many folds. Items that differ only after so many decimals are alike."""
POINTS = 9
"""How many temperatures are tried before the best one is refined."""
PRIOR_SD = 0.25
"""s of (4)."""
FINEST = 1e-13
PRECISION = 0.05
"""d of (5)."""
TRUSTED = 0.9
"""p of (5) is at most this: a larger probability is not taken on trust."""
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""The bins of the reliability curve."""


def temper(probability: Floats, temperature: float) -> Floats:
    """P^(1/T), normalized (rows, K)."""
    return _soften(np.log(np.maximum(probability, LOST)), temperature)


def _soften(logs: Floats, temperature: float) -> Floats:
    powers = logs / temperature
    found = np.exp(powers - reduce(np.maximum, powers.T)[:, None])  # class by class: faster than along short rows
    return np.asarray(found / (found @ np.ones(logs.shape[1]))[:, None])


# ---------------------------------------------------------------------------------------- held-out labels


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labels and what the rest of their item says: ``logs`` (R, K), up to a constant, is ln P of the item without
    the label; ``chance`` (R, K) is p_r(c); ``weight`` (R,) is that of the label. ``nodes`` (N, K) is ln P of each
    item, up to a constant. There is one of these for each shard, and (2) is the sum of theirs."""

    logs: Floats
    chance: Floats
    weight: Floats
    nodes: Floats

    @classmethod
    def of(cls, part: LabelRows, chance: Floats, shares: Floats) -> HeldOut:
        """Each label of an item that has others, from the probability (R, K) of each label by true label."""
        logs = part.weight[:, None] * np.log(np.maximum(chance, LOST))
        total = add_rows(part.node, logs, len(part.known)) + np.log(np.maximum(shares, LOST))
        others = summed(part.node, None, len(part.known))[part.node] > 1
        others &= part.weight > 0
        return cls((total[part.node] - logs)[others], chance[others], part.weight[others], total)

    def value(self, log_temperature: float) -> float:
        """(2)."""
        said = np.einsum("rk,rk->r", _soften(self.logs, math.exp(log_temperature)), self.chance)
        return float(self.weight @ np.log(np.maximum(said, LEAST)))

    def slope(self, log_temperature: float) -> float:
        """The derivative of (2) by ln T: with x = ln P / T, that of P^(1/T) is -P^(1/T) (x - its mean)."""
        temperature = math.exp(log_temperature)
        found, powers = _soften(self.logs, temperature), self.logs / temperature
        joint = found * self.chance
        said = np.maximum(joint @ np.ones(joint.shape[1]), LEAST)
        expected, given = (np.einsum("rk,rk->r", own, powers) for own in (found, joint))
        return float(self.weight @ (expected - given / said))


@dataclass(frozen=True, eq=False)
class NormalHeldOut:
    """Labels that are normal: the ``square`` of the distance of each from its expectation by the other labels of
    the item, the variance of its ``noise`` and the variance ``known`` of that expectation, and its ``weight``."""

    square: Floats
    noise: Floats
    known: Floats
    weight: Floats

    def value(self, log_temperature: float) -> float:
        """(3), up to a constant."""
        total = self.noise + math.exp(log_temperature) * self.known
        return -0.5 * float(self.weight @ (np.log(total) + self.square / total))

    def slope(self, log_temperature: float) -> float:
        """The derivative of (3) by ln T."""
        own = math.exp(log_temperature) * self.known
        total = self.noise + own
        return -0.5 * float(self.weight @ (own / total * (1.0 - self.square / total)))


def add_rows(code: NDArray[Any], rows: Floats, size: int) -> Floats:
    """The sum of the rows (R, K) of each code (size, K)."""
    return np.stack([summed(code, column, size) for column in rows.T], axis=1)


def held_out_temperature(held: Iterable[HeldOut] | Iterable[NormalHeldOut]) -> float:
    """T_0 of (2) or (3), at least 1, from the held-out labels of each shard."""
    if not any(len(own.weight) for own in held):
        return 1.0

    def value(log_temperature: float) -> float:
        return sum(own.value(log_temperature) for own in held)

    def slope(log_temperature: float) -> float:
        return sum(own.slope(log_temperature) for own in held)

    return math.exp(highest(value, slope, 0.0, math.log(HOTTEST)))


def highest(value: Callable[[float], float], slope: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one number is largest: the best of ``POINTS`` points, refined to a slope of 0."""
    from scipy.optimize import brentq

    points = np.linspace(low, high, POINTS)
    best = int(np.argmax([value(point) for point in points]))
    left, right = points[max(best - 1, 0)], points[min(best + 1, POINTS - 1)]
    if slope(left) <= 0:
        return float(left)
    if slope(right) >= 0:
        return float(right)
    return float(brentq(slope, left, right, xtol=FINEST, rtol=4 * np.finfo(float).eps))


# ------------------------------------------------------------------------------------------- known labels


class Refit(NamedTuple):
    """The posterior (nodes, K) of a fit with some of the known labels, and whether the fit converged."""

    posterior: Floats
    converged: bool


def node_logs(held: Iterable[HeldOut], known: NDArray[np.int64]) -> Floats:
    """ln P of each node (N, K), up to a constant; of some if no label is known, because none is asked for."""
    parts = list(islice((own.nodes for own in held), None if (known >= 0).any() else 1))
    return np.concatenate(parts)


def predict_known(known: NDArray[np.int64], logs: Floats, refit: Callable[[NDArray[np.int64]], Refit]) -> Refit:
    """What the model says about the known nodes without their labels (M, K), by cross-validation.

    ``refit`` takes the known labels without those of a fold. The folds depend on the judgments alone,
    not on names nor on how labels are numbered: the items are ordered by their sorted ``logs`` (N, K) and by that
    of their known label, and dealt in turn.
    """
    places = np.flatnonzero(known >= 0)
    found = np.empty((len(places), logs.shape[1]))
    own = logs[places] - logs[places].max(axis=1, keepdims=True)
    told = np.round(own[np.arange(len(places)), known[places]], DIGITS)
    keys = np.round(np.sort(own, axis=1), DIGITS)  # the numbers of the labels do not matter
    order, converged = np.lexsort((told, *keys.T)), True
    for start in range(min(FOLDS, len(places))):
        fold = order[start::FOLDS]
        rest = known.copy()
        rest[places[fold]] = -1
        fitted = refit(rest)
        found[fold] = fitted.posterior[places[fold]]
        converged &= fitted.converged
    return Refit(found, converged)


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Known items as the model sees them without their known label.

    ``logs`` (M, K) is ln P, ``right`` (M,) says whether the most probable label is right (a share, if several are
    equally probable), and ``start`` is T_0.
    """

    logs: Floats
    right: Floats
    start: float

    @classmethod
    def of(cls, probability: Floats, known: NDArray[np.int64], start: float) -> KnownLabels:
        """From the probabilities (M, K) of the known items and their labels (M,)."""
        first = probability >= probability.max(axis=1, keepdims=True) - EVEN
        right = first[np.arange(len(known)), known] / first.sum(axis=1)
        return cls(np.log(np.maximum(probability, LOST)), right, start)

    def solve(self) -> tuple[float, float]:
        """T and e of (4)."""
        bound = math.log(HOTTEST)
        at = highest(self._value, self._slope, -bound, bound)
        return math.exp(at), self._mixture(*self._first(at)[:2])

    def _first(self, log_temperature: float) -> tuple[Floats, Floats, Floats]:
        """The tempered probability of the most probable label, that of all others, and its derivative by ln T."""
        temperature = math.exp(log_temperature)
        found, powers = _soften(self.logs, temperature), self.logs / temperature
        place, rows = self.logs.argmax(axis=1), np.arange(len(self.logs))
        first = found[rows, place]
        found[rows, place] = 0.0
        fall = first * ((found * (powers[rows, place][:, None] - powers)).sum(axis=1))
        return first, np.maximum(found.sum(axis=1), LOST), -fall

    def _mixture(self, first: Floats, rest: Floats) -> float:
        """The best e at this temperature; 0 if the objective falls there."""
        from scipy.optimize import brentq

        chance = 1.0 / self.logs.shape[1]

        def slope(mixture: float) -> float:
            said, against = _mixed(first, rest, mixture, chance)
            up = self.right * (chance - first) / said + (1.0 - self.right) * (1.0 - chance - rest) / against
            return float(up.sum()) * (1.0 - mixture) - 1.0

        if slope(0.0) <= 0:
            return 0.0
        return float(brentq(slope, 0.0, 1.0, xtol=FINEST, rtol=4 * np.finfo(float).eps))

    def _value(self, log_temperature: float) -> float:
        """(4) at its best e."""
        first, rest, _ = self._first(log_temperature)
        mixture = self._mixture(first, rest)
        said, against = _mixed(first, rest, mixture, 1.0 / self.logs.shape[1])
        fit = float((self.right * np.log(said) + (1.0 - self.right) * np.log(against)).sum())
        away = log_temperature - math.log(self.start)
        return fit + math.log1p(-mixture) - away**2 / (2.0 * PRIOR_SD**2)

    def _slope(self, log_temperature: float) -> float:
        """The derivative of (4) by ln T at the best e, at which it does not depend on e."""
        first, rest, fall = self._first(log_temperature)
        mixture = self._mixture(first, rest)
        said, against = _mixed(first, rest, mixture, 1.0 / self.logs.shape[1])
        up = (1.0 - mixture) * fall * (self.right / said - (1.0 - self.right) / against)
        return float(up.sum()) - (log_temperature - math.log(self.start)) / PRIOR_SD**2


def _mixed(first: Floats, rest: Floats, mixture: float, chance: float) -> tuple[Floats, Floats]:
    """q and 1 - q, each without cancellation."""
    return (1.0 - mixture) * first + mixture * chance, (1.0 - mixture) * rest + mixture * (1.0 - chance)


# ----------------------------------------------------------------------------------------------- the answer


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The answer: ``probability`` (N, K) by (1), and ``tempered`` (N, K) by held-out labels alone.

    ``tempered`` predicts what workers say, ``probability`` what is right. An item with a known label keeps it in
    both. ``reliability`` is None without known labels.
    """

    probability: Floats
    tempered: Floats
    details: dict[str, Any]
    notes: tuple[Note, ...]
    reliability: Reliability | None

    @property
    def tables(self) -> dict[str, Reliability]:
        """The reliability curve as a further table of the model, if there is one."""
        return {} if self.reliability is None else {"reliability": self.reliability}


def calibrate(
    posterior: Floats, temperature: float, known: NDArray[np.int64], unseen: Refit, *, kept: bool = True
) -> Calibrated:
    """(1) from the posterior (N, K), T_0, the known label of each node (-1 if unknown), and what the model says
    about the known nodes without their labels. ``kept``: nodes with a known label have only this label."""
    size, places = posterior.shape[1], np.flatnonzero(known >= 0)
    used, mixture, curve = temperature, 0.0, None
    if len(places) and size > 1:
        own = KnownLabels.of(unseen.posterior, known[places], temperature)
        used, mixture = own.solve()
        curve = _reliability(unseen.posterior, _answer(unseen.posterior, used, mixture), own.right)
    probability, tempered = _answer(posterior, used, mixture), temper(posterior, temperature)
    if kept:
        probability[places] = tempered[places] = np.eye(size)[known[places]]
    free = tempered[known < 0] if (known < 0).any() else tempered
    wanted = labels_wanted(float(free.max(axis=1).mean()))
    details = {
        "temperature": used,
        "mixture": mixture,
        "held_out_temperature": temperature,
        "known": len(places),
        "known_wanted": wanted,
    }
    if curve is not None:
        weight = curve.items / curve.items.sum()
        details |= {name: float(weight @ getattr(curve, name)) for name in ("said", "calibrated", "right")}
    notes = _notes(size, len(places), min(wanted, len(known)))
    if not unseen.converged:
        message = "A fit without some of the known labels did not converge, so the calibration is provisional."
        notes = (*notes, Note("not-converged", message))
    return Calibrated(probability, tempered, details, notes, curve)


def uncalibrated(posterior: Floats) -> Calibrated:
    """The posterior of the model as it is, with a note that says so."""
    message = "The probabilities of labels are not calibrated. They hold only if workers err independently."
    notes = (Note("uncalibrated", message),) if posterior.shape[1] > 1 else ()
    return Calibrated(posterior, posterior, {"temperature": 1.0}, notes, None)


def _answer(probability: Floats, temperature: float, mixture: float) -> Floats:
    """(1)."""
    return (1.0 - mixture) * temper(probability, temperature) + mixture / probability.shape[1]


def labels_wanted(said: float) -> int:
    """How many known labels show how often labels are right, to within one standard error ``PRECISION``: (5)."""
    chance = min(said, TRUSTED)
    return math.ceil(chance * (1.0 - chance) / PRECISION**2)


def _notes(size: int, known: int, wanted: int) -> tuple[Note, ...]:
    """What the probabilities mean, if fewer labels are known than calibration takes."""
    if size < 2 or known >= wanted:
        return ()
    if not known:
        message = (
            f"Probabilities of labels say how well workers agree, not how often they are right; about {wanted} "
            "known labels would show that."
        )
        return (Note("uncalibrated", message),)
    message = (
        f"The probabilities of labels are calibrated by only {count_noun(known, 'known label')}. About {wanted} "
        f"would show how often the labels are right, with a standard error of {PRECISION:g}."
    )
    return (Note("uncalibrated", message),)


def _reliability(model: Floats, answer: Floats, right: Floats) -> Reliability:
    """How often known labels are right, by the probability that the model gives to the most probable label."""
    said, calibrated = model.max(axis=1), answer.max(axis=1)
    code = np.clip(np.searchsorted(EDGES, np.round(said, 9), side="right") - 1, 0, len(EDGES) - 2)
    items = summed(code, None, len(EDGES) - 1)
    filled = np.flatnonzero(items > 0)
    means = [summed(code, own, len(EDGES) - 1)[filled] / items[filled] for own in (said, calibrated, right)]
    share, low, high = agreement_interval(means[2], items[filled])
    edges = np.array(EDGES)
    return Reliability(edges[filled], edges[filled + 1], items[filled], means[0], means[1], share, low, high)
