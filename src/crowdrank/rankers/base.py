"""What every ranker has: parameters, a scorer, and the books of its training. Subclasses train."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from crowdrank.data import Backend, Features, read_features
from crowdrank.errors import UsageError, count_noun, name_hint
from crowdrank.measures import MeasureSpec
from crowdrank.models.parameters import Configurable
from crowdrank.rankers.preparation import Preparation
from crowdrank.rankers.scorers import Function, Scorer, scorer_class
from crowdrank.rankers.scoring import ScoringFunction
from crowdrank.rankers.tables import Importance, QueryMeasures, Scores, ValidationCurve
from crowdrank.rankers.validation import one_measure
from crowdrank.results import Fit, Table, Workers
from crowdrank.results.overview import HasOverview, Overview, shown_value

SHOWN_MEASURES = ("nDCG@10", "AP")
"""Measures that are taken besides the one that training watches."""


def shown_measures(first: MeasureSpec) -> list[MeasureSpec]:
    """The measure that training watches, and those that are taken besides."""
    return [one_measure(text) for text in dict.fromkeys((first.text, *SHOWN_MEASURES))]


@dataclass(frozen=True, eq=False, repr=False)
class TrainedRanker(HasOverview):
    """Everything that training found.

    ``scoring``: the function that is saved. ``validation``: the curve, or None without validation queries.
    ``queries``: measures by query, of the validation queries, or of the training queries if there are none.
    ``tables``: further tables by name, such as the workers of a crowd. ``texts``: further files of the saved
    folder, by name. ``candidates``: what else was trained for comparison, by name.
    """

    scorer: str
    scoring: ScoringFunction
    fit: Fit
    importance: Importance
    validation: ValidationCurve | None = None
    queries: QueryMeasures | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    candidates: Mapping[str, ScoringFunction] = field(default_factory=dict)

    def overview(self) -> Overview:
        """The features that matter most, the value on the validation queries, and how training went."""
        fit, curve, features = self.fit.overview(), self.validation, self.importance.overview()
        facts = [f"{self.scorer} scorer, {count_noun(len(self.importance.feature), 'feature')}", fit.facts[-1]]
        if curve is not None and curve.kept is not None:
            facts.append(f"{curve.measure} {shown_value(curve.kept)} on the validation queries")
        return replace(features, title=f"Trained {self.fit.model}", facts=facts, notes=fit.notes)


class Ranker(Configurable, ABC):
    """A ranker that is trained on features and then scores documents. Subclasses train on labels or on judgments.

    ``scorer``: "linear", "trees", "net", or a Scorer with parameters of its own. ``standardize``: "query"
    (within the query), "all", "scale" (keeps zeros), None, or "auto": "query" if features are dense and "scale"
    if they are sparse. ``impute``: what replaces missing values: "mean", "median", a number, or None, which only
    trees take. ``measure``: what validation looks at. ``patience``: training stops after this many steps without
    a better value on the validation queries (linear scorers have a penalty instead, and do not stop early).
    ``tune``: try several values of the scorer's most important parameters on the validation queries. ``seed``:
    the seed of everything random.

    >>> import crowdrank as cr
    >>> docs = {"query": [1, 1, 1], "item": [*"abc"], "label": [2, 1, 0], "length": [9, 5, 1]}
    >>> for ranker in (cr.ListMLE(), cr.Regression()):
    ...     scores = ranker.fit(docs).score({"item": ["x", "y"], "length": [2, 8]})
    ...     print(ranker.name, isinstance(ranker, cr.Ranker), scores.frame().sort("score")["item"].to_list())
    listmle True ['x', 'y']
    regression True ['x', 'y']
    """

    scorer: str | Scorer
    standardize: str | None
    impute: Any
    measure: str
    patience: int
    tune: bool
    seed: int

    _trained: TrainedRanker

    @property
    def trained_(self) -> TrainedRanker:
        """Everything that training found."""
        if "_trained" not in vars(self):
            raise self._not_fitted()
        return self._trained

    @property
    def fit_(self) -> Fit:
        """How training went."""
        return self.trained_.fit

    @property
    def importance_(self) -> Importance:
        """How much each feature matters."""
        return self.trained_.importance

    @property
    def validation_(self) -> ValidationCurve | None:
        """The measure on the validation queries after each step; None without validation."""
        return self.trained_.validation

    @property
    def queries_(self) -> QueryMeasures | None:
        """Measures by query."""
        return self.trained_.queries

    @property
    def workers_(self) -> Workers | None:
        """The workers and how expert they are, if the ranker learned from a crowd."""
        found = self.trained_.tables.get("workers")
        return found if isinstance(found, Workers) else None

    @property
    def orders_(self) -> Table | None:
        """The estimated true order of each training list, if the ranker learned from lists."""
        return self.trained_.tables.get("orders")

    def score(
        self, features: Any, judgments: Any = None, *, columns: Any = None, judgment_columns: Any = None
    ) -> Scores:
        """The score of each document, in the order given; larger = better. ``.frame()`` has query, item, score.

        ``judgments``: lists, ratings or pairs of the crowd for these queries. A ranker that learned from a crowd
        then scores documents by features and judgments together. ``columns``: the names of columns that are not
        features. Columns that the ranker does not know are ignored.
        """
        names = self.trained_.scoring.preparation.names
        table: Features = read_features(features, columns=columns, only=names)
        scoring = self.trained_.scoring
        found, notes = scoring.scores(table)
        if judgments is not None:
            from crowdrank.rankers.ltrma.fusion import fuse_judgments

            if scoring.crowd is None:
                raise UsageError(
                    f"{self.name} scores documents by their features alone. It cannot score by judgments.",
                    hint="Only ltrma-mle and ltrma-d can: they learn how expert workers are.",
                )
            found, more = fuse_judgments(table, found, judgments, scoring.crowd, columns=judgment_columns)
            notes = (*notes, *more)
        ids = table.ids()
        return Scores(ids["query"], ids["item"], found, (*table.notes, *notes), backend=table.backend)

    def report(self, path: str | Path) -> Path:
        """Write the report of the training: a page, Markdown or JSON, by the ending .html, .md or .json."""
        return self._write_report(path)

    def _repr_html_(self) -> str:
        """What a notebook shows: the features that matter most, or that there is no training yet."""
        if "_trained" not in vars(self):
            return Overview(repr(self), ["not fitted yet"]).to_html()
        return replace(self.trained_.overview(), title=repr(self)).to_html()

    def save(self, folder: str | Path) -> None:
        """Save the trained ranker as a folder, which ``crowdrank.load`` reads."""
        from crowdrank.rankers.saved import save

        save(self, Path(folder))

    def make_scorer(self) -> Scorer:
        """The scorer, made from its name if only that was given."""
        return self.scorer if isinstance(self.scorer, Scorer) else scorer_class(self.scorer)()

    def settable(self) -> set[str]:
        """The parameters of the ranker and of its scorer."""
        return super().settable() | set(self.make_scorer().parameters())

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ranker, or of its scorer; an unknown name is an error that lists the names."""
        own = {name: value for name, value in params.items() if name in self.parameters()}
        super().set_params(**own)
        scorer = self.make_scorer()
        others = {name: value for name, value in params.items() if name not in own}
        for name in others:
            if name not in scorer.parameters():
                raise UsageError(
                    f"{self.name} with the scorer {scorer.name} has no parameter {name!r}.",
                    hint=name_hint(name, sorted(self.settable()), "The parameters are"),
                )
        if others:
            self.scorer = scorer.clone().set_params(**others)
        return self


def importance_table(function: Function, preparation: Preparation, backend: Backend) -> Importance:
    """How much each feature matters to a trained function."""
    return Importance(preparation.names, function.importance(), function.signed_weights(), backend=backend)
