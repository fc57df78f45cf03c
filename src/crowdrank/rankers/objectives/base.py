"""The contract between an objective and a scorer: derivatives by the score of each document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from crowdrank.data.arrays import Floats
from crowdrank.kernels.segments import Rows


@dataclass(frozen=True, eq=False)
class Targets:
    """The documents of some lists: list l has the rows start[l] to start[l+1]; ``label`` and ``weight`` per row.

    A larger label is better. Rows with the weight 0 have no part in training.
    """

    start: Rows
    label: Floats
    weight: Floats


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The ``value`` of each list; per row its first derivative and minus its second one by the row's own score."""

    value: Floats
    gradient: Floats
    curvature: Floats


P = TypeVar("P")


class Objective(ABC, Generic[P]):
    """A function of the scores of a list's documents, to be maximized in its sum over the lists.

    A plan is what it knows about the lists. ``reference`` are the scores at which an objective with ``positions``
    fixes the place of each document. Between two references it is a smooth function.
    """

    positions: ClassVar[bool] = False

    @abstractmethod
    def derivatives(self, scores: Floats, plan: P, reference: Floats) -> Derivatives:
        """Value and derivatives at these scores."""

    @abstractmethod
    def curvature_times(self, scores: Floats, plan: P, reference: Floats, columns: Floats) -> Floats:
        """Minus the matrix of second derivatives, times ``columns`` (rows, any number)."""

    def settings(self) -> dict[str, Any]:
        """Its parameters, for reports."""
        return dict(vars(self))


class LabelObjective(Objective[P]):
    """An objective whose plan follows from labels."""

    @abstractmethod
    def plan(self, targets: Targets) -> P:
        """Do once what depends on the targets alone, such as sorting."""
