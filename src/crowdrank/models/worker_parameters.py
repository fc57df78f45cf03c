"""How workers can differ: each parameter, what it drives in the likelihood, and its bounds.

A vote depends on the advantage x = a (s_i - s_j) + b, on the readiness theta to call a tie, and on the probability
eta of reporting the outcome as it is. A worker parameter w drives one of a, b, theta and eta by a function g:

    slope      a = w          log-slope  a = e^w         position   b = w
    threshold  theta = w      eta        eta = w         lapse      eta = 1 - sigma(w) / 2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.models.parameters import number

Function = Callable[[Floats], Floats]
Derivatives = Callable[[Floats], tuple[Floats, Floats | None]]


@dataclass(frozen=True, eq=False)
class ColumnTerms:
    """One worker parameter w in its rows: the channel of the likelihood that it drives, and the derivatives.

    ``first`` and ``second``: the derivatives of the channel by w; ``slope``: d2x / d(s_i - s_j) dw.
    """

    channel: str
    first: Floats
    second: Floats | None = None
    slope: Floats | None = None


@dataclass(frozen=True)
class WorkerParameter:
    """A column of worker parameters."""

    name: str
    drives: Literal["slope", "position", "theta", "eta"]
    value: Function
    """g: what it drives, as a function of w."""
    derivatives: Derivatives
    """g' and g''; None for g'' if it is 0."""
    low: float
    high: float
    perfect: float
    """The value of the perfect worker who casts the votes of gold pairs."""
    typical: float | None
    """A typical value before the fit; None if it follows from the share of ties."""
    width: float | None
    """The width of its prior, or the start of its estimation; None if the model has a prior of its own."""
    estimates_width: bool = True
    deviates: bool = False
    """Whether it is a deviation from a common mean; the others have a mean by convention."""
    common_width: float = 3.0
    """The width of the weak prior of the common mean."""
    shown: str | None = None
    """Its name in the table of workers; None if the model itself shows it."""
    natural: Function | None = None
    """Its value in the table of workers."""
    divide: Callable[[Floats, float], Floats] | None = None
    """What w becomes if the slope is divided by a number; None if it is not a slope."""
    integrated: bool = False
    """Whether the fit averages over its posterior if its prior is estimated."""
    least_unit: float = 0.0
    """The smallest slope that may serve as the unit of scores."""

    def __str__(self) -> str:
        return self.name

    @property
    def shown_name(self) -> str:
        """Its name in the table of workers and in notes."""
        return self.shown or self.name

    def shown_value(self, w: float) -> float:
        """A value as the table of workers has it."""
        return w if self.natural is None else float(self.natural(np.array([w]))[0])

    @property
    def is_identity(self) -> bool:
        """Whether it drives by its own value, so that g' is 1."""
        return self.value is _identity

    @property
    def channel(self) -> str:
        """What it drives in the likelihood: x, theta or eta."""
        return "x" if self.drives in ("slope", "position") else self.drives

    @property
    def is_slope(self) -> bool:
        """Whether its scale is a convention, because the data determine only the products of slopes and scores."""
        return self.divide is not None

    @property
    def is_scaled(self) -> bool:
        """Whether its deviations are divided with it: those of a logarithm are not."""
        return self.is_slope and self.least_unit > 0

    @property
    def affects_quality(self) -> bool:
        """Whether it changes how often a worker agrees with the order."""
        return self.drives in ("slope", "eta")

    def terms(self, w: Floats, d: Floats) -> ColumnTerms:
        """The derivatives in rows of values w and differences d of scores."""
        first, second = self.derivatives(w)
        if self.drives != "slope":
            return ColumnTerms(self.channel, first, second)
        return ColumnTerms(self.channel, first * d, None if second is None else second * d, first)

    def unit(self, mean: float) -> tuple[float, float]:
        """The slope of an average worker, as the unit of scores, and its derivative by the mean of w."""
        at = np.array([mean])
        return max(float(self.value(at)[0]), self.least_unit), float(self.derivatives(at)[0][0])


def limit_slope(slope: WorkerParameter, limit: Any) -> WorkerParameter:
    """A slope between 1/limit and limit; if it may be negative, between -limit and limit.

    A worker whose votes all agree with the order fits better the larger the slope is, so without a prior only a
    limit keeps it finite.
    """
    most = number("slope_limit", limit, low=1.0)
    end = most if slope.least_unit else float(np.log(most))
    return replace(slope, low=-end, high=end)


def drive(columns: tuple[WorkerParameter, ...], values: Floats) -> dict[str, Floats]:
    """What the columns drive, by name, at values (..., columns)."""
    return {column.drives: column.value(values[..., place]) for place, column in enumerate(columns)}


# ------------------------------------------------------------------------------------------ functions


def _identity(w: Floats) -> Floats:
    return w


def _unit_derivatives(w: Floats) -> tuple[Floats, None]:
    return np.ones_like(w), None


def _exp(w: Floats) -> Floats:
    return np.asarray(np.exp(w))


def _exp_derivatives(w: Floats) -> tuple[Floats, Floats]:
    value = np.exp(w)
    return value, value


def _half_sigma(w: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(0.5 * expit(w))


def _keep(w: Floats) -> Floats:
    return 1.0 - _half_sigma(w)


def _keep_derivatives(w: Floats) -> tuple[Floats, Floats]:
    from scipy.special import expit

    sigma = expit(w)
    first = -0.5 * sigma * (1.0 - sigma)
    return first, first * (1.0 - 2.0 * sigma)


def _divide(w: Floats, by: float) -> Floats:
    return w / by


def _subtract_log(w: Floats, by: float) -> Floats:
    return w - np.log(by)


# ----------------------------------------------------------------------------------------- parameters

SLOPE_LIMIT = 50.0
"""The largest slope, unless the user gives another limit."""

SLOPE = WorkerParameter(
    "slope", "slope", _identity, _unit_derivatives,
    low=-SLOPE_LIMIT, high=SLOPE_LIMIT, perfect=1.0, typical=1.0, width=0.5,
    shown="slope", natural=_identity, divide=_divide, integrated=True, least_unit=0.1,
)  # fmt: skip
"""How sharp a worker is. If it is below 0, the votes count reversed."""

LOG_SLOPE = WorkerParameter(
    "log-slope", "slope", _exp, _exp_derivatives,
    low=-np.log(SLOPE_LIMIT), high=np.log(SLOPE_LIMIT), perfect=0.0, typical=0.0, width=0.5,
    shown="slope", natural=_exp, divide=_subtract_log,
)  # fmt: skip
"""The logarithm of a slope that is positive."""

POSITION = WorkerParameter(
    "position", "position", _identity, _unit_derivatives,
    low=-20.0, high=20.0, perfect=0.0, typical=0.0, width=0.3,
    deviates=True, shown="position", natural=_identity,
)  # fmt: skip
"""The bias toward the left."""

THRESHOLD = WorkerParameter(
    "threshold", "theta", _identity, _unit_derivatives,
    low=-20.0, high=6.0, perfect=-20.0, typical=None, width=0.5,
    deviates=True, shown="threshold", natural=_exp,
)  # fmt: skip
"""The logarithm of the threshold below which a worker calls a tie."""

ETA = WorkerParameter(
    "eta",
    "eta",
    _identity,
    _unit_derivatives,
    low=0.0,
    high=1.0,
    perfect=1.0,
    typical=1.0,
    width=None,
    integrated=True,
)
"""The probability of reporting the outcome as it is."""

LAPSE = WorkerParameter(
    "lapse", "eta", _keep, _keep_derivatives,
    low=-40.0, high=10.0, perfect=-40.0, typical=-4.0, width=1.0,
    estimates_width=False,  # the data hardly ever show how far lapses differ
    deviates=True, common_width=1.5, shown="lapse", natural=_half_sigma,
)  # fmt: skip
"""An occasional guess: the logit of twice the probability of the other outcome."""
