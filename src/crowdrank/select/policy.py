"""How questions are chosen: the selector, and the rules that every question obeys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from crowdrank.errors import UsageError, name_hint
from crowdrank.select.gains import KINDS

SELECTORS = {
    "random": "a random pair",
    "even": "even exposure: the items asked about least",
    "uncertainty": "the pair whose vote is hardest to predict",
    "gain": "expected information gain, Crowd-BT eq. 10",
    "joint": "expected information gain of both scores together",
    "information": "mutual information of the vote and the scores",
}
GAMMAS = ("halved", "auto", "gold")
ABOVE_ZERO = 1e-9
HALVED_FROM = 10.0
"""gamma at the start if it is halved: the paper's value for a sufficient budget."""


@dataclass(frozen=True)
class Policy:
    """How questions are chosen: by default the pair with the largest expected gain (Chen et al. 2013, eq. 10).

        gain = - 1/2 sum_o P_o [ln(1 - v_i h_o) + ln(1 - v_j h_o)] + gamma B

    o are the outcomes of the vote, v h_o is the relative drop of the variance of a score, and B what the answer
    teaches about the judge: how far the distribution of the quality after it is expected to diverge from that
    before it.

    ``select``: one of ``SELECTORS``. ``gamma``: how much learning about judges counts (eq. 10); a number, or
    ``"halved"`` (from 10, halved every ``tau`` % of the budget), ``"auto"`` (see ``select.gamma``) or ``"gold"``
    (the best on gold pairs). ``epsilon``: the share of random questions. ``top``: only the first ``top`` places
    matter (None: all): a gain is multiplied by the larger probability of the two to lie above their cut.

    ``cold``: an item's first questions, this many, go by even exposure. ``pair_cap``: the most questions on a
    pair. ``item_cap``: how often a judge may see an item. ``judge_share``: the largest share of all questions
    for a judge. ``rest``: after a question, its items do not come up for ``rest`` questions of the same judge,
    while other pairs are left. ``floor``: a pair is not asked if its root mean square difference is below the
    one at which a perfect judge is right with this probability (1/2: all pairs). ``repeats``: whether a judge may
    be asked a pair again.

    ``differ``, ``same``: attributes in which the items of a pair must differ, or agree. ``own``: attributes of
    items that a judge must not share ("not the own team's").

    ``gold_first`` of a judge's first ``gold_among`` questions, and a share of ``gold_share`` of the later ones,
    are gold pairs, if there are any. ``pending``: how much of the expected effect of an open question counts
    already.

    >>> import crowdrank as cr
    >>> policy = cr.Policy(select="gain", pair_cap=1)  # each pair is asked once
    >>> campaign = cr.Campaign.start(None, judges=["ann", "bob"], items=["a", "b"], policy=policy)
    >>> [campaign.ask(judge) is None for judge in ("ann", "bob")]
    [False, True]
    """

    select: str = "gain"
    gamma: float | str = 1.0
    tau: float = 25.0
    epsilon: float = 0.0
    top: int | None = None
    cold: int = 2
    pair_cap: int | None = None
    item_cap: int | None = None
    judge_share: float | None = None
    rest: int = 1
    floor: float = 0.5
    repeats: bool = False
    differ: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    gold_first: int = 2
    gold_among: int = 6
    gold_share: float = 0.05
    pending: float = 1.0

    def __post_init__(self) -> None:
        if self.select not in SELECTORS:
            raise UsageError(
                f"There is no selector {self.select!r}.",
                hint=name_hint(str(self.select), SELECTORS, "The selectors are"),
            )
        if isinstance(self.gamma, str) and self.gamma not in GAMMAS:
            raise UsageError(
                f"The setting 'gamma' must be a number of at least 0 or one of {', '.join(GAMMAS)}. "
                f"Got {self.gamma!r}."
            )
        if not isinstance(self.gamma, str):
            _within("gamma", self.gamma, 0.0, math.inf)
        for name, low, high in (
            ("tau", ABOVE_ZERO, 100.0), ("epsilon", 0.0, 1.0), ("judge_share", ABOVE_ZERO, 1.0),
            ("floor", 0.5, 0.999),
            ("gold_share", 0.0, 1.0), ("pending", 0.0, 1.0),
        ):  # fmt: skip
            if getattr(self, name) is not None:
                _within(name, getattr(self, name), low, high)
        for name, low in (
            ("top", 1), ("cold", 0), ("pair_cap", 1), ("item_cap", 1), ("rest", 0), ("gold_first", 0),
            ("gold_among", 1),
        ):  # fmt: skip
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < low):
                raise UsageError(f"The setting {name!r} must be a whole number of at least {low}. Got {value!r}.")
        if self.gold_first > self.gold_among:
            raise UsageError(
                f"'gold_first' of the first 'gold_among' questions are gold pairs: {self.gold_first} of "
                f"{self.gold_among} is too many."
            )
        if not isinstance(self.repeats, bool):
            raise UsageError(f"The setting 'repeats' must be true or false. Got {self.repeats!r}.")
        for name in ("differ", "same", "own"):
            if not isinstance(getattr(self, name), tuple):
                raise UsageError(f"The setting {name!r} must name attributes. Got {getattr(self, name)!r}.")

    @classmethod
    def of(cls, select: str, settings: Mapping[str, Any]) -> Policy:
        """From settings by name. An unknown name is an error that lists the names."""
        known = [own.name for own in fields(cls) if own.name != "select"]
        for name in settings:
            if name not in known:
                raise UsageError(
                    f"There is no setting {name!r} of the selection.",
                    hint=name_hint(name, known, "Its settings are"),
                )
        lists = {name: _names(settings[name]) for name in ("differ", "same", "own") if name in settings}
        return cls(select=select, **{**settings, **lists})

    @property
    def kind(self) -> int | None:
        """The number of the gain; None for selectors that go without one."""
        return KINDS.get(self.select)

    @property
    def least_difference(self) -> float:
        """The floor as a difference of scores: the logit of the probability."""
        return math.log(self.floor / (1.0 - self.floor))


def _within(name: str, value: Any, low: float, high: float) -> None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
    if not good or not low <= value <= high:
        wanted = f"of at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        wanted = f"above 0 and at most {high:g}" if low == ABOVE_ZERO else wanted
        raise UsageError(f"The setting {name!r} must be a number {wanted}. Got {value!r}.")


def _names(value: Any) -> tuple[str, ...]:
    """Names of attributes: a text with + between them, or a list."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split("+") if name.strip())
    return tuple(map(str, value)) if isinstance(value, list | tuple) else value
