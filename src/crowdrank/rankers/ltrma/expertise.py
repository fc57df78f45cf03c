"""The expertise of workers given the expected distances of their lists: the theta step of LTRMA's EM.

Worker j's lists have the expected total distance D_j from the truth, and ln Z_m enters c_jm times. The step
maximizes (Wu et al. 2016, with theta of the opposite sign)

    sum_j [-theta_j D_j - sum_m c_jm ln Z_m(theta_j) - theta_j^2 / (2 sd^2)] + sum_t ln sigma(eta_t slack_t)

subject to the hard constraints. The last sum is ln f of the side information (35), (44), as data.side_info splits
it: slack_t = theta_above - theta_below - offset. With E(d) = -d ln Z / d theta, the slope by theta_j is

    sum_m c_jm E_m(d) - D_j - theta_j / sd^2 + sum_t +-eta_t sigma(-eta_t slack_t)

For N lists of one length, without a prior and divided by N, it vanishes if E(d) + (1/N) d ln f / d theta = dbar,
or E(d) - (1/N) d ln f / d theta = dbar in the paper's sign. Equations (39) and (49) print a plus and no 1/N. What
(38) and (48) call the derivative of f is that of ln f.

The sum is concave, since ln Z is convex. A theta that no order ties to another is found by itself. The others take
Newton steps that keep the constraints (solve.inequalities).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import MOST_EXPERTISE, Constraints, Demands, Floats, Integers
from crowdrank.kernels.mallows import normalizer_slopes
from crowdrank.rankers.ltrma.problem import Part, renumber, soft_forces, soft_matrix
from crowdrank.solve import newton_within
from crowdrank.solve.inequalities import step_within

LIMIT = 100
LAST_STEP = 1e-10
SMALL_STEP = 1e-7
"""Steps below this that do not become smaller are rounding."""
FIRST_CONFIDENCE = 10.0
GROWTH = 10.0
AT_BOUND = 1e-12


@dataclass(frozen=True, eq=False)
class Expertise:
    """The theta of V workers, and minus the second derivatives there.

    ``information`` (V): that of the lists; ``prior``: that of the prior, for each worker. ``side`` (G, G): that of
    the soft side information by groups of workers with one theta, ``group`` (V). ``at_limit`` (V): theta has
    reached MOST_EXPERTISE in size, so its true maximum is farther out. ``converged``: the steps ended at the
    maximum.
    """

    theta: Floats
    information: Floats
    prior: float
    side: Any
    group: Integers
    at_limit: NDArray[np.bool_]
    converged: bool


def solve_expertise(
    counts: Floats,
    distance: Floats,
    constraints: Constraints | None,
    theta_sd: float,
    start: Floats | None = None,
) -> Expertise:
    """The thetas at the maximum; ``counts`` (V, n + 1): how often ln Z_m enters, ``distance`` (V): D.

    ``theta_sd`` is the standard deviation of the prior. ``start`` (V): where thetas that no order ties to another
    start, for speed. Hard constraints hold exactly. A worker without lists gets what the prior and the side
    information say.
    """
    known = constraints or Constraints.none(len(distance))
    whole = Part.of(counts, distance, known, theta_sd**-2)
    theta = np.clip(np.zeros(len(whole.low)), whole.low, whole.high)
    if start is not None:
        theta = np.clip(np.bincount(known.group, start) / np.bincount(known.group), whole.low, whole.high)
    free = whole.low < whole.high
    whole = whole.settle(free)
    tied, converged = whole.tied(), True
    alone = np.flatnonzero(free & ~tied)
    theta[alone] = _solve_alone(whole.take(alone), theta[alone])
    if tied.any():
        theta[tied], converged = _solve_together(whole.take(np.flatnonzero(tied)))
    by_worker = theta[known.group]
    curve = normalizer_slopes(by_worker, counts.shape[1] - 1)[1]
    return Expertise(
        theta=by_worker,
        information=np.maximum((counts * curve).sum(axis=1), 0.0),
        prior=theta_sd**-2,
        side=soft_matrix(known.soft, known.confidence, theta),
        group=known.group,
        at_limit=np.abs(by_worker) >= MOST_EXPERTISE,
        converged=converged,
    )


def _solve_alone(part: Part, start: Floats) -> Floats:
    """Thetas that are not tied to each other."""
    theta = start.copy()

    def look(points: Floats, chosen: Integers) -> tuple[Floats, Floats]:
        slope, curve = part.slopes(points, chosen)
        if not len(part.soft):
            return slope, curve
        theta[chosen] = points
        force, weight = soft_forces(part.soft, part.confidence, theta)
        square = part.soft.sums(np.where(part.soft.above < 0, -weight, weight), len(theta))
        return slope + part.soft.sums(force, len(theta))[chosen], curve + square[chosen]

    return newton_within(look, start, part.low, part.high)[0]


def _solve_together(part: Part) -> tuple[Floats, bool]:
    """Thetas that orders tie to each other, and whether the steps ended at the maximum.

    Confidences grow to their values by steps, because Newton's method overshoots at a sharp bend.
    """
    theta, most = np.clip(np.zeros(len(part.low)), part.low, part.high), FIRST_CONFIDENCE
    hard, converged = _hard_demands(part), False
    while True:
        now = replace(part, confidence=np.minimum(part.confidence, most))
        theta, converged = _maximize(now, hard, theta)
        if most >= part.confidence.max(initial=0.0):
            return _hold(part, theta), converged
        most *= GROWTH
        theta = _predict(now, replace(part, confidence=np.minimum(part.confidence, most)), hard, theta)


def _maximize(part: Part, hard: Demands, theta: Floats) -> tuple[Floats, bool]:
    """Where Newton steps that keep the hard demands lead from theta, and whether they ended at the maximum."""
    value, last = part.value(theta), np.inf
    for _ in range(LIMIT):
        slope = part.gradient(theta)
        step = _free_step(part, hard, theta, slope)
        size = float(np.abs(step).max())
        theta, value = _climb(part, theta, value, step, float(slope @ step))
        if size <= LAST_STEP or 0.5 * last <= size <= SMALL_STEP:
            return theta, True
        last = size
    return theta, False


def _free_step(part: Part, hard: Demands, theta: Floats, slope: Floats) -> Floats:
    """The Newton step. Thetas without orders stay at a bound if the slope leads outward, however steep it is."""
    outward = ((theta - part.low <= AT_BOUND) & (slope < 0)) | ((part.high - theta <= AT_BOUND) & (slope > 0))
    outward[part.orders.above] = outward[part.orders.below] = False
    free = np.flatnonzero(~outward)
    new = np.full(len(theta) + 1, -1)
    new[free] = np.arange(len(free))
    demands, kept = renumber(hard, new)
    step, matrix = np.zeros(len(theta)), part.matrix(theta)[np.ix_(free, free)]
    step[free] = step_within(matrix, slope[free], demands, hard.slack(theta)[kept])
    return step


def _predict(old: Part, new: Part, hard: Demands, theta: Floats) -> Floats:
    """About where the maximum is after the confidences have grown, from the maximum before.

    The forces z of the soft demands hardly change, so the slacks become (1/eta) ln((eta - z) / z).
    """
    force, _ = soft_forces(old.soft, old.confidence, theta)
    eta = new.confidence
    force = np.clip(force, 1e-200, (1.0 - 1e-12) * eta)
    slack, weight = np.log((eta - force) / force) / eta, force * (eta - force)
    pull = new.soft.sums(force + weight * (slack - new.soft.slack(theta)), len(theta))
    slope, curve = new.slopes(theta, np.arange(len(theta)))
    step = step_within(new.soft_matrix(weight, curve), slope + pull, hard, hard.slack(theta))
    return theta + step if new.value(theta + step) > new.value(theta) else theta


def _hard_demands(part: Part) -> Demands:
    """The bounds and the orders."""
    every, none, orders = np.arange(len(part.low)), np.full(len(part.low), -1), part.orders
    return Demands(
        np.concatenate([every, none, orders.above]),
        np.concatenate([none, every, orders.below]),
        np.concatenate([part.low, -part.high, orders.offset]),
    )


def _climb(part: Part, theta: Floats, value: float, step: Floats, gain: float) -> tuple[Floats, float]:
    """Where the step leads, halved until the value rises (Armijo's rule), and the value there."""
    share, rounding = 1.0, 1e-13 * (1.0 + abs(value))
    while True:
        there = theta + share * step
        reached = part.value(there)
        if reached - value >= 1e-4 * share * gain - rounding or share < 1e-12:
            return there, reached
        share *= 0.5


def _hold(part: Part, theta: Floats) -> Floats:
    """The same thetas without the rounding that breaks a constraint."""
    theta = np.where(
        theta - part.low < AT_BOUND, part.low, np.where(part.high - theta < AT_BOUND, part.high, theta)
    )
    while (part.orders.slack(theta) < 0).any():
        lowered = theta.copy()
        np.minimum.at(lowered, part.orders.below, theta[part.orders.above])
        theta = lowered
    return theta
