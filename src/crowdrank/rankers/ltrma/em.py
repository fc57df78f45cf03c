"""The EM of LTRMA: draw true orders, then fit the expertise of the workers and the ranker to them, in turn.

A step is noisy, because the orders are drawn. So the loop looks at means over windows of steps. It goes on until
neither the mean expertise nor the scores move any more, then takes more steps in which everything drawn since then
counts, so that the noise averages out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.rankers.ltrma.expectation import EVERY, EXTRAS, SWEEPS, Expectancy, Expectation
from crowdrank.rankers.scorers import Function

START = 0.2
"""The expertise of everybody at the start."""
HOLD = 5
"""For so many steps only the ranker learns: with equal scores, each list would look like the truth itself."""
WINDOW = 10
"""How many steps a mean is taken over."""
SETTLED_THETA = 0.02
"""No mean expertise moves by more than this, relative to 1 + |theta|."""
SETTLED_SCORES = 1e-3
"""The scores move by no more than this part of their variance."""
STALLED = 0.8
"""The scores' movement is noise if it no longer falls below this part of that of the window before."""
AVERAGED = 20
"""How many steps are averaged in the end."""
POOL = 50
"""The most draws of each list to learn from."""
MOST_DRAWN = 40_000_000
"""The most places of all draws together; large inputs have less noise and learn from fewer draws."""


@dataclass(frozen=True, eq=False)
class EMState:
    """The ranker and the expertise of each voice after some steps."""

    function: Function | None
    theta: Floats
    steps: int


@dataclass(eq=False)
class EM:
    """The loop. ``fit_theta`` maps expected distances to expertise; ``improve`` goes on training from a function.

    ``uses_scores``: the orders depend on the ranker (LTRMA-MLE), or not (LTRMA-D, which trains it in the end).
    ``look(state, change, observed)`` is called after each step, with how far the mean expertise moved and the
    distance of the observer, and may end the loop by returning True.
    """

    session: Any
    expectation: Expectation
    fit_theta: Callable[[Floats], Floats]
    improve: Callable[[Function | None], Function]
    rows: int
    seed: int
    limit: int
    uses_scores: bool = True
    look: Callable[[EMState, float, float], bool] | None = None
    thetas: list[Floats] = field(default_factory=list)
    movements: list[float] = field(default_factory=list)

    def run(self, start: Floats) -> tuple[EMState, bool]:
        """EM from this expertise; the state at the end, and whether it settled within the limit."""
        function, theta = None, start
        total: Any = 0.0
        done = averaged = 0
        averaging = False
        while done < self.limit:
            expected = self._draw(function, theta, done, averaging=averaging)
            distance = expected.distance[: len(theta)]
            if averaging:
                total, averaged = total + distance, averaged + 1
                distance = total / averaged
            if done >= HOLD or not self.uses_scores:
                theta = self.fit_theta(distance)
            if self.uses_scores:
                function = self.improve(function)
            done += 1
            self.thetas.append(theta)
            state = EMState(function, theta, done)
            change = self._change()
            if self.look is not None and self.look(state, change, expected.observed):
                return state, True
            if averaged >= AVERAGED:
                return state, True
            if not averaging and done % WINDOW == 0:
                self.movements.append(expected.moved / max(expected.size, 1e-300))
                averaging = self._settled(change)
        return EMState(function, theta, done), averaging

    def _draw(self, function: Function | None, theta: Floats, step: int, *, averaging: bool) -> Any:
        pool = min(POOL, max(MOST_DRAWN // max(self.rows, 1), SWEEPS // EVERY)) if averaging else SWEEPS // EVERY
        at = Expectancy(
            function if self.uses_scores else None,
            np.append(theta, EXTRAS),
            step,
            self.seed,
            pool=pool,
            mark=(step + 1) % WINDOW == 0,
        )
        return self.session.advance(self.expectation.draw, at)

    def _change(self) -> float:
        """How far the mean expertise moved between the last two windows, relative to 1 + |theta|."""
        if len(self.thetas) < 2 * WINDOW:
            return np.inf
        last, before = (
            np.mean(own, axis=0) for own in (self.thetas[-WINDOW:], self.thetas[-2 * WINDOW : -WINDOW])
        )
        return float((np.abs(last - before) / (1.0 + np.abs(last))).max(initial=0.0))

    def _settled(self, change: float) -> bool:
        if change > SETTLED_THETA or len(self.movements) < 3:
            return False
        before, last = self.movements[-2:]
        return last <= SETTLED_SCORES or last >= STALLED * before
