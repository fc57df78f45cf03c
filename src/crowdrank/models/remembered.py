"""The sums of a likelihood at the last point, remembered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdrank.data import Floats
from crowdrank.engine import Session
from crowdrank.solve import At, Curvature, LikelihoodSums
from crowdrank.solve.sums import OuterProducts


class RememberedCurvature:
    """The sums of the curvature. Remembers the last ones, because a climb begins where the last one ended.

    ``rough``: products of gradients take the place of the observed curvature, if the likelihood offers them. Far
    from the maximum the observed curvature is often not that of a maximum, and steps with it are short.
    """

    session: Session
    sums: LikelihoodSums
    rough: bool

    def __init__(self, session: Session, sums: LikelihoodSums) -> None:
        self.session, self.sums = session, sums
        self.spread: Floats | None = None
        self.rough = False
        self.last: tuple[At, Curvature] | None = None

    @property
    def can_be_rough(self) -> bool:
        """Whether the likelihood offers products of gradients."""
        return isinstance(self.sums, OuterProducts)

    def set_rough(self, rough: bool) -> None:
        """Change the kind of curvature."""
        if rough != self.rough:
            self.rough, self.last = rough, None

    def __call__(self, point: At) -> Curvature:
        """The sums at these parameters, averaged over ``spread``."""
        at = replace(point, spread=self.spread)
        if self.last is None or not _same_parameters(self.last[0], at):
            sums = self.sums
            if self.rough and isinstance(sums, OuterProducts):
                self.last = at, self.session.evaluate(sums.outer_products, at)
            else:
                self.last = at, self.session.evaluate(sums.curvature, at)
        return self.last[1]


def _same_parameters(one: At, other: At) -> bool:
    same = np.array_equal(one.scores, other.scores) and np.array_equal(one.workers, other.workers)
    return same and one.spread is other.spread
