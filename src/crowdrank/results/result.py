"""The one thing that a fit hands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.data.index import Index, Nodes
from crowdrank.errors import Note
from crowdrank.results.evidence import Evidence
from crowdrank.results.fit import Fit
from crowdrank.results.posterior import Posterior
from crowdrank.results.tables import LabelPosterior, Ranking, Table, Workers


class Predictor(Protocol):
    """The probabilities of votes that were not seen.

    ``left`` and ``right`` are nodes of the fit and ``worker`` its workers, -1 if the fit has not seen them;
    ``worker`` is None if nobody says who judges. ``sided``: left and right say where an item was shown. The answer
    (rows, 3): probabilities of left, of a tie, of right.
    """

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities."""
        ...


class ListPredictor(Protocol):
    """The probabilities of whole lists that were not seen, in the terms of the fit."""

    def __call__(self, given: Any, /) -> Floats:
        """ln P of each list."""
        ...


@dataclass(frozen=True, eq=False)
class Result:
    """Everything that a fit found.

    ``posterior``: a normal one, or for models of labels the probabilities of the labels; None if a model has
    neither. ``predictor`` and ``list_predictor`` are None if a model gives no probabilities of votes or of lists.
    ``further`` holds a model's own tables by name. ``nodes`` and ``index`` say what the fit has seen.
    """

    ranking: Ranking
    workers: Workers | None
    fit: Fit
    evidence: Evidence
    nodes: Nodes
    index: Index
    posterior: Posterior | LabelPosterior | None = None
    predictor: Predictor | None = None
    list_predictor: ListPredictor | None = None
    further: Mapping[str, Table] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Table]:
        """Every table by its name: the ranking, the workers if they are known, and the model's own."""
        people = {} if self.workers is None else {"workers": self.workers}
        return {"ranking": self.ranking, **people, **self.further}

    def with_seconds(self, **seconds: float) -> Result:
        """The same with more timings."""
        return replace(self, fit=self.fit.with_seconds(**seconds))

    def with_details(self, *notes: Note, **details: Any) -> Result:
        """The same with more warnings and more of the model's own figures."""
        fit = self.fit
        more = replace(fit, warnings=(*fit.warnings, *notes), details={**fit.details, **details})
        return replace(self, fit=more)
