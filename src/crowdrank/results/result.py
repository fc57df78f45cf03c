"""The one object that a fit returns."""

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
from crowdrank.results.overview import HasOverview, Overview
from crowdrank.results.posterior import Posterior
from crowdrank.results.tables import LabelPosterior, Ranking, Table, Workers


class Predictor(Protocol):
    """The probabilities of unseen votes.

    ``left`` and ``right`` are nodes of the fit, and ``worker`` are its workers. They are -1 if the fit has not
    seen them, and ``worker`` is None if the workers are unknown. ``sided``: left and right say where an item was
    shown. The result (rows, 3) holds the probabilities of left, of a tie and of right.
    """

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities."""
        ...


class ListPredictor(Protocol):
    """The probabilities of whole unseen lists, given in terms of the fit."""

    def __call__(self, given: Any, /) -> Floats:
        """ln P of each list."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Result(HasOverview):
    """Everything that a fit found.

    ``posterior``: a normal posterior, or the probabilities of the labels for label models, or None if a model has
    neither. ``predictor`` and ``list_predictor`` are None if a model gives no probabilities of votes or of lists.
    ``further`` holds further tables of the model by name. ``nodes`` and ``index`` say what the fit has seen.

    >>> import crowdrank as cr
    >>> labels = {"item": [*"aabb"], "worker": [*"uvuv"], "label": [1, 1, 0, 1]}
    >>> result = cr.DawidSkene().fit(labels).result_
    >>> list(result.tables)
    ['ranking', 'workers', 'labels', 'confusion']
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
        """Every table by its name: the ranking, the workers if they are known, and further tables of the model."""
        people = {} if self.workers is None else {"workers": self.workers}
        return {"ranking": self.ranking, **people, **self.further}

    def overview(self) -> Overview:
        """The ranking, and how the fit went."""
        fit, ranking = self.fit.overview(), self.ranking.overview()
        return replace(ranking, title=f"Result of {self.fit.model}", facts=fit.facts, notes=fit.notes)

    def with_seconds(self, **seconds: float) -> Result:
        """The same result with more timings."""
        return replace(self, fit=self.fit.with_seconds(**seconds))

    def with_details(self, *notes: Note, **details: Any) -> Result:
        """The same result with more warnings and more figures of the model."""
        fit = self.fit
        more = replace(fit, warnings=(*fit.warnings, *notes), details={**fit.details, **details})
        return replace(self, fit=more)
