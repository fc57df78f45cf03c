"""Ties: the probabilities of a win, a loss and a tie in a contest, with their derivatives.

The advantage in the contest is x, and the tendency of the worker to call a tie is theta. With the link F:

    half         P(win) = F(x),        P(loss) = F(-x):  a tie counts as half a win for each side
    rao-kupper   P(win) = F(x - t),    P(loss) = F(-x - t),   t = e^theta         (Rao & Kupper 1967)
    davidson     P(win) : P(tie) : P(loss) = e^(x/2) : e^theta : e^(-x/2)          (Davidson 1970)

and P(tie) is the rest up to 1. Davidson's form applies to the logistic link.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.kernels.links import Link, LinkValues

TIES = ("half", "rao-kupper", "davidson")
Pair = tuple[str, str]
CHANNELS = ("x", "theta", "eta")


@dataclass(frozen=True, eq=False)
class Chance:
    """A probability with its first and second derivatives by x, theta and eta. Missing entries are 0."""

    p: Floats
    first: dict[str, Floats]
    second: dict[Pair, Floats] = field(default_factory=dict)


def ordered(one: str, other: str) -> Pair:
    """Two channels in the order in which second derivatives are listed."""
    return (one, other) if CHANNELS.index(one) <= CHANNELS.index(other) else (other, one)


def chances(link: Link, ties: str, x: Floats, theta: Floats | None = None) -> list[Chance]:
    """The chances of a win, a loss and (except for ``half``) a tie."""
    if ties == "half" or theta is None:
        return list(decided_chances(link, ties, x, theta))
    if ties == "davidson":
        return _davidson(x, theta)
    win, loss = decided_chances(link, ties, x, theta)
    return [win, loss, _rao_kupper_tie(link, x, theta, win, loss)]


def decided_chances(link: Link, ties: str, x: Floats, theta: Floats | None = None) -> tuple[Chance, Chance]:
    """The chances of a win and a loss."""
    if ties == "half" or theta is None:
        win, lose, density, bend = link.values(x)
        curve = density * bend
        won = Chance(win, {"x": density}, {("x", "x"): curve})
        return won, Chance(lose, {"x": -density}, {("x", "x"): -curve})
    if ties == "davidson":
        won, lost, _ = _davidson(x, theta)
        return won, lost
    t = np.exp(theta)
    return _beyond(link, x, t, 1.0), _beyond(link, x, t, -1.0)


def reported_win(values: LinkValues, eta: Floats | None) -> Chance:
    """The chance that a worker reports a win, without ties: eta F(x) + (1 - eta) F(-x) (Crowd-BT eq. 5).

    ``values``: the link at x. Without eta, the worker reports every outcome as it is.
    """
    win, lose, density, bend = values
    if eta is None:
        return Chance(win, {"x": density}, {("x", "x"): density * bend})
    first = (2.0 * eta - 1.0) * density
    p = eta * win + (1.0 - eta) * lose
    return Chance(p, {"x": first, "eta": win - lose}, {("x", "x"): first * bend, ("x", "eta"): 2.0 * density})


def tie_chance(link: Link, ties: str, x: Floats, theta: Floats) -> Chance:
    """The chance of a tie."""
    return chances(link, ties, x, theta)[2]


def _rao_kupper_tie(link: Link, x: Floats, theta: Floats, win: Chance, loss: Chance) -> Chance:
    t = np.exp(theta)
    far = -np.abs(x)  # on this side, the difference keeps its digits
    tie = link.values(far + t).win - link.values(far - t).win
    first = {key: -(win.first[key] + loss.first[key]) for key in win.first}
    second = {key: -(win.second[key] + loss.second[key]) for key in win.second}
    return Chance(tie, first, second)


def _beyond(link: Link, x: Floats, t: Floats, sign: float) -> Chance:
    """F(sign x - t), t = e^theta: the chance that the advantage exceeds the threshold."""
    p, _, density, bend = link.values(sign * x - t)
    curve, by_t = density * bend, -density * t
    second = {("x", "x"): curve, ("x", "theta"): -sign * t * curve, ("theta", "theta"): t * t * curve + by_t}
    return Chance(p, {"x": sign * density, "theta": by_t}, second)


def _davidson(x: Floats, theta: Floats) -> list[Chance]:
    logits = np.stack([0.5 * x, -0.5 * x, theta])
    weights = np.exp(logits - logits.max(axis=0))
    p = weights / weights.sum(axis=0)
    by_x, by_theta = np.array([0.5, -0.5, 0.0]), np.array([0.0, 0.0, 1.0])
    mean_x, mean_theta = by_x @ p, by_theta @ p
    spread_x, spread_theta = by_x**2 @ p - mean_x**2, mean_theta * (1.0 - mean_theta)
    result = []
    for place in range(3):
        own, a, b = p[place], by_x[place] - mean_x, by_theta[place] - mean_theta
        second = {
            ("x", "x"): own * (a * a - spread_x),
            ("x", "theta"): own * (a * b + mean_x * mean_theta),
            ("theta", "theta"): own * (b * b - spread_theta),
        }
        result.append(Chance(own, {"x": own * a, "theta": own * b}, second))
    return result


def flip_outcomes(outcomes: list[Chance], eta: Floats) -> list[Chance]:
    """The same for a worker who reports a win or loss correctly with probability eta and reverses it otherwise.

    A tie stays a tie (Crowd-BT eq. 5, with ties).
    """
    win, loss, *tie = outcomes
    return [flip(win, loss, eta), flip(loss, win, eta), *tie]


def flip(one: Chance, other: Chance, eta: Floats) -> Chance:
    """The chance that ``one`` is reported, by a worker who reports ``other`` instead with probability 1 - eta."""
    rest = 1.0 - eta
    first = {key: eta * one.first[key] + rest * other.first[key] for key in one.first}
    second = {key: eta * one.second[key] + rest * other.second[key] for key in one.second}
    across: dict[Pair, Floats] = {(key, "eta"): one.first[key] - other.first[key] for key in one.first}
    return Chance(eta * one.p + rest * other.p, {**first, "eta": one.p - other.p}, {**second, **across})
