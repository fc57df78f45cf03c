"""Remap: a ranker from many noisy labels of a crowd and few labels of experts (Ustinovskiy et al. 2016).

Each label of the crowd gets a weight and a value (P, see ``processing``), so that the ridge ranker of the weighted
values ranks the experts' documents best (see ``climb``). A final learner then trains on all documents of the
source: document d has the weight sum of w and the label sum of w l / sum of w over its labels.
"""

from __future__ import annotations

import time
from typing import Any, Self

from crowdrank.data import Features, Scored, check_rows, feature_rows, read_features, read_gold
from crowdrank.engine import Engine, one_blas_thread, open_engine
from crowdrank.errors import InputError, Note, Remedy, UsageError
from crowdrank.models.parameters import whole
from crowdrank.progress import Progress
from crowdrank.rankers.arguments import JUDGED, refuse_arrays
from crowdrank.rankers.base import Ranker
from crowdrank.rankers.judged import read_judgments
from crowdrank.rankers.labeled import Labeled, label_documents, overlap_notes, split_by_query
from crowdrank.rankers.remap.climb import METHODS
from crowdrank.rankers.remap.climbs import GROWN_ON
from crowdrank.rankers.remap.label_columns import LabelColumns
from crowdrank.rankers.remap.learners import LEARNERS
from crowdrank.rankers.remap.processing import Processing
from crowdrank.rankers.remap.run import Remapping
from crowdrank.rankers.remap.samples import join_source, read_labels
from crowdrank.rankers.remap.setup import Given, Setup
from crowdrank.rankers.scorers import Scorer
from crowdrank.rankers.scoring import unknown_notes

SHARE = 0.5
"""The share of the target's queries that validation takes if nothing else is said."""
OBJECTIVES = ("dcg", "ndcg", "err")
GRADIENTS = ("lambdarank", "softrank")
BASELINES = ("all", "few", "none")
STARTS = ("auto", "label", "consensus")


class Remap(Ranker):
    """A ranker from noisy labels of a crowd on a source, and labels of experts on a small target.

        max over alpha, beta of  M(F on the target),   F = argmin sum_i w_i (F(x_i) - l_i)^2 + mu |F|^2,
        w_i = sigma(y_i alpha),  l_i = sigma(y_i beta)

    Ustinovskiy et al. 2016, eq. 2 to 4. ``method``: "rw+rm", "rw" (only weights) or "rm" (only values).
    ``objective``: M, "dcg", "ndcg" or "err". ``k``: how many places of a list count in M. ``gradient``: how M is
    made smooth, "lambdarank" or "softrank" (not for err). ``learner``: what follows P, "ridge", "regression",
    "lambdamart", or "auto", chosen on the validation queries. ``scorer``: of "regression" and "lambdamart".
    ``mu``: the penalty of the ridge ranker for each document, or "auto". ``trees``: how many trees of an ensemble
    become features (section 5.2), or "auto": 0 or 100. ``grow_on``: the labels that grow them, those of P
    ("remap") or of a consensus. ``start``: where P begins, at the crowd's "label" as in the paper, near the
    "consensus" of Dawid-Skene, or "auto", both. ``step_size``: epsilon, the length of a step of the climb.
    ``iterations``: J, the most steps of the climb. ``guard``: a slope counts only beyond so many standard errors
    of what label features without meaning would have; 0: as in the paper. ``target_weight``: how much a document
    of the target counts in what is trained on the output of P, beside an average one of the source; 0: as in the
    paper, not at all.
    ``weight_features``: which label features weights depend on, by names and groups (basic, ds, glad, own,
    ranking); "all" is all but the last. ``value_features``: which ones values depend on, by the same names.
    ``crossed``: cross label features with the label. ``probability``: Pr(label = c) is the "posterior" of the true
    label, or "predictive", what the worker would say. ``baselines``: how much is trained besides for comparison,
    "all", "few" or "none". ``keep_features``: keep the matrix of label features as a table.

    The other parameters are those of every ranker.

    >>> import crowdrank as cr
    >>> docs = {"query": [n // 4 for n in range(80)], "item": [*"abcd"] * 20}
    >>> docs |= {"length": [9, 6, 4, 1] * 20, "ads": [0, 0, 1, 1, 0, 1, 1, 0] * 10}
    >>> said = {"query": docs["query"] * 3, "item": docs["item"] * 3, "worker": [*"u" * 80 + "v" * 80 + "w" * 80]}
    >>> said["label"] = [1, 1, 0, 0] * 20 + docs["ads"] * 2  # v and w only look for ads
    >>> expert = {**docs, "query": [f"e{q}" for q in docs["query"]], "label": [3, 2, 1, 0] * 20}
    >>> ranker = cr.Remap(learner="ridge", trees=0, mu=0.1, baselines="none").fit(docs, said, target=expert)
    >>> ranker.workers_.frame()["weight"].round(1).to_list()
    [0.9, 0.1, 0.1]
    """

    method: str
    learner: str
    scorer: str | Scorer
    objective: str
    k: int | None
    gradient: str
    mu: float | str
    trees: int | str
    grow_on: str
    start: str
    step_size: float
    iterations: int
    guard: float
    weight_features: Any
    value_features: Any
    crossed: bool
    probability: str
    baselines: str
    keep_features: bool
    standardize: str | None
    impute: Any
    measure: str
    patience: int
    seed: int

    name = "remap"

    def __init__(
        self,
        *,
        method: str = "rw+rm",
        learner: str = "auto",
        scorer: str | Scorer = "trees",
        objective: str = "dcg",
        k: int | None = 10,
        gradient: str = "lambdarank",
        mu: float | str = "auto",
        trees: int | str = "auto",
        grow_on: str = "remap",
        start: str = "auto",
        step_size: float = 0.05,
        iterations: int = 60,
        guard: float = 3.0,
        target_weight: float = 3.0,
        weight_features: Any = "all",
        value_features: Any = "all",
        crossed: bool = True,
        probability: str = "posterior",
        baselines: str = "all",
        keep_features: bool = False,
        standardize: str | None = "auto",
        impute: Any = None,
        measure: str = "DCG@10",
        patience: int = 50,
        seed: int = 0,
    ) -> None:
        self.method, self.learner, self.scorer, self.objective, self.k = method, learner, scorer, objective, k
        self.gradient, self.mu, self.trees, self.grow_on = gradient, mu, trees, grow_on
        self.start, self.step_size, self.iterations, self.guard = start, step_size, iterations, guard
        self.target_weight = target_weight
        self.weight_features, self.value_features, self.crossed = weight_features, value_features, crossed
        self.probability, self.baselines, self.keep_features = probability, baselines, keep_features
        self.standardize, self.impute, self.measure = standardize, impute, measure
        self.patience, self.seed = patience, seed

    def fit(
        self,
        features: Any,
        judgments: Any,
        *,
        target: Any = None,
        validation: Any = None,
        honeypots: Any = None,
        label_features: Any = None,
        gold: Any = None,
        processing: Any = None,
        columns: Any = None,
        judgment_columns: Any = None,
        missing: str = "error",
        engine: Engine | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on the features and the crowd's labels of a source.

        ``target``: features of other queries, with the labels of experts. ``validation``: the same of further
        queries, or a share of the target's queries (1/2 if nothing is said). ``honeypots``: what the crowd should
        have said about some documents, as ``read_gold`` takes it; the workers' labels are among the judgments.
        ``label_features``: a table with worker, item (and query), and further columns of numbers, which become
        label features. ``gold``: experts' labels of the source, only for comparison. ``processing``: a P that was
        trained before (``Processing``, its file or the folder of its ranker); then there need be no target.
        ``columns``, ``judgment_columns``, ``missing``, ``engine``, ``progress``: as in other rankers.
        """
        began = time.perf_counter()
        self._check_parameters()
        refuse_arrays(self.name, features, judgments, columns, JUDGED)
        table = read_features(features, columns=columns)
        tables = read_judgments(judgments, columns=judgment_columns)
        labels = read_labels(tables, _scored(honeypots))
        source = join_source(table, labels, missing=missing)
        known = None if processing is None else Processing.read(processing)
        notes = [*labels.notes, *source.notes]
        training, held = self._target(table, target, validation, columns, notes, needed=known is None)
        own = None if label_features is None else LabelColumns(label_features, judgment_columns)
        given = Given(source, labels, training, held, _known_gold(_scored(gold), table), known, own)
        with open_engine(engine) as place, one_blas_thread():
            run = Remapping(Setup(self, given, place, notes), progress)
            self._trained = run.train(began)
        return self

    def _check_parameters(self) -> None:
        for name, allowed in (
            ("method", METHODS), ("learner", ("auto", *LEARNERS)), ("objective", OBJECTIVES),
            ("gradient", GRADIENTS), ("baselines", BASELINES), ("grow_on", GROWN_ON),
            ("start", STARTS),
        ):  # fmt: skip
            if getattr(self, name) not in allowed:
                raise UsageError(
                    f"The parameter {name!r} must be one of {', '.join(allowed)}. Got {getattr(self, name)!r}."
                )
        if self.gradient == "softrank" and self.objective == "err":
            raise UsageError("SoftRank is defined for dcg and ndcg.", hint="Use gradient=lambdarank for err.")

    def _target(
        self, source: Features, target: Any, validation: Any, columns: Any, notes: list[Note], *, needed: bool
    ) -> tuple[Labeled | None, Labeled | None]:
        """The target's documents that train and those that validate."""
        if target is None:
            if needed:
                raise UsageError(
                    "remap needs a target: documents of some queries with the labels of experts.",
                    hint=(
                        "Give it: ",
                        Remedy("target", "FILE"),
                        ", or use the weights and values of another ranker: ",
                        Remedy("processing", "DIR"),
                    ),
                )
            if isinstance(validation, int | float):
                raise UsageError(
                    "Validation takes a share of the target's queries, and there is no target.",
                    hint=("Give queries with the labels of experts: ", Remedy("validation", "FILE")),
                )
            held = None if validation is None else self._labeled(source, validation, columns, "validation", notes)
            return None, held
        labeled = self._labeled(source, target, columns, "target", notes)
        self._require_order(labeled)
        if validation is None:
            hint = ("Say which: ", Remedy("validation", "FILE"), ", or how many: ", Remedy("validation", "0.3"))
            notes.append(Note("validation", f"Validation takes {SHARE:.0%} of the target's queries.", hint))
        if validation is None or isinstance(validation, int | float):
            share = SHARE if validation is None else float(validation)
            training, held = split_by_query(labeled, share, whole("seed", self.seed))
            self._require_order(training)
            return training, held
        held = self._labeled(source, validation, columns, "validation", notes)
        both = int(held.query.is_in(labeled.query.to_list()).sum())
        if both == held.lists:
            raise InputError(
                "every validation query is in the target too, so validation would measure what was learned.",
                source=held.features.source,
                hint=("Give other queries, or take a share of the target: ", Remedy("validation", "0.5")),
            )
        notes += overlap_notes(labeled, held)
        return labeled, held

    @staticmethod
    def _require_order(labeled: Labeled) -> None:
        if labeled.informative == 0:
            raise InputError(
                "in each query of the target all labels are equal, so there is no order to learn.",
                source=labeled.features.source,
                hint="Give queries with several documents and different labels.",
            )

    def _labeled(self, source: Features, given: Any, columns: Any, what: str, notes: list[Note]) -> Labeled:
        """Labeled documents of other queries with the features of the source."""
        table = read_features(given, columns=columns, only=source.names)
        if table.label is None:
            hint = f"Give the {what} a column named label."
            raise InputError("there are no labels to learn from.", source=table.source, hint=hint)
        found = label_documents(table.select(source.names), None)
        said = (*unknown_notes(table, source.names), *found.notes)
        notes += [Note(note.code, f"{what}: {note.message}") for note in said]
        both = 0
        if source.index.queries is not None and not found.query.null_count():
            both = int(found.query.is_in(source.index.queries.to_list()).sum())
        if both:
            queries = "1 query is" if both == 1 else f"{both} queries are"
            notes.append(Note(f"{what}-overlap", f"{queries} both in the source and in the {what}."))
        return found


def _known_gold(gold: Scored | None, table: Features) -> Scored | None:
    """Gold of the source; an error if it grades no document of it."""
    if gold is not None:
        query = None if gold.frame["query"].null_count() == gold.frame.height else gold.frame["query"]
        rows = feature_rows(table, query, gold.frame["item"])
        check_rows(table, rows, gold.frame, "graded", missing="drop")
    return gold


def _scored(given: Any) -> Scored | None:
    if given is None or isinstance(given, Scored):
        return given
    return read_gold(given)
