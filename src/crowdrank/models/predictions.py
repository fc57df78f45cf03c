"""What a fitted model says about votes that it has not seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from crowdrank.data import (
    Floats,
    Integers,
    Ints,
    Pairs,
    Rankings,
    Ratings,
    make_pairs,
    node_codes,
    read,
    read_asked,
)
from crowdrank.data.label_order import ORDER, missing_order
from crowdrank.data.tables import TIE
from crowdrank.errors import InputError, Retry, UsageError
from crowdrank.measures.votes import figure, likelier_side, log_losses
from crowdrank.models.parameters import Configurable
from crowdrank.models.predictors import values_at
from crowdrank.prepared.held_out import read_held_out
from crowdrank.results import Result


class PredictingModel(Configurable, ABC):
    """What models share that look ahead from the result of a fit."""

    @property
    @abstractmethod
    def result_(self) -> Result:
        """Everything that the fit found."""

    @property
    def predicts(self) -> bool:
        """Whether the fitted model gives probabilities of votes."""
        return self.result_.predictor is not None and not _unordered_labels(self.result_)

    @property
    def predicts_lists(self) -> bool:
        """Whether the fitted model gives probabilities of whole lists."""
        return self.result_.list_predictor is not None

    def predict_proba(self, left: Any, right: Any = None, worker: Any = None, query: Any = None) -> Floats:
        """The probabilities that left wins, that it is a tie, and that right wins.

        ``left`` and ``right``: ids of items, each one id or a sequence; ``worker`` and ``query`` in the same way.
        One id stands for all rows. The result has a row of three for each pair (rows, 3), or just three numbers
        if all are single ids. In place of ``left``, a table gives all of them: whatever ``crowdrank.read`` takes,
        with or without outcomes, which do not count.

        An item or a worker that the fit has not seen counts as an average one, and so does a worker who is not
        named. If the model knows a bias for a side, left is where the item is shown. Raises an error if the model
        only counts and has no probabilities, or was fitted to labels that are text without an order.

        >>> import crowdrank as cr
        >>> model = cr.BradleyTerry().fit([("a", "b"), ("a", "b"), ("b", "a")])
        >>> model.predict_proba("a", ["b", "a"]).round(2)
        array([[0.55, 0.12, 0.32],
               [0.44, 0.12, 0.44]])
        """
        self._require_order_of_items()
        found = self._probabilities(_asked(left, right, worker, query))
        return found[0] if _is_single(left, right, worker, query) else found

    def predict(self, left: Any, right: Any = None, worker: Any = None, query: Any = None) -> Any:
        """The more probable outcome of each pair, as in a column ``label``: the id of the winner, or ``"tie"``.

        A tie is predicted if it is more probable than either winner, or if both sides are equally probable.
        A model without probabilities predicts the item with the larger score, and a tie if the scores are equal
        or if the fit has not seen one of the items. The arguments are those of ``predict_proba``; single ids give
        a single id.

        >>> import crowdrank as cr
        >>> model = cr.WinRate().fit([("a", "b"), ("a", "b"), ("b", "c")])
        >>> model.predict("b", ["a", "c", "new"]).tolist()
        ['a', 'b', 'tie']
        """
        self._require_order_of_items()
        pairs = _asked(left, right, worker, query)
        if self.predicts:
            chance = self._probabilities(pairs)
            ahead = np.where(chance[:, 1] > np.maximum(chance[:, 0], chance[:, 2]), 0.0, likelier_side(chance))
        else:
            ahead = compare_scores(self.result_, pairs)
        ids = pairs.backend.ids("item", pairs.index.items).to_list()
        winners = np.where(ahead > 0, pairs.left, pairs.right)
        found = np.array([ids[code] if side else "tie" for code, side in zip(winners, ahead, strict=True)], object)
        return found[0] if _is_single(left, right, worker, query) else found

    def score(self, judgments: Any, y: None = None) -> float:
        """The mean log probability of votes, weighted by their weights; larger is better, 0 is the best.

            sum_v w_v ln P(outcome of v) / sum_v w_v

        It is minus the log loss that ``compare_models`` reports. Votes that the fit has seen score too well: use
        votes that were held out. Rankings and ratings count as all pairs that they make. If no vote is a tie, the
        probabilities are those of left and right alone. ``y`` exists only for scikit-learn.
        """
        if y is not None:
            raise UsageError("Outcomes are part of the judgments. Got a 'y' of its own.", hint="Leave it out.")
        self._require_order_of_items()
        table = read(judgments)
        votes = table if isinstance(table, Pairs) else _every_pair(table)
        losses = log_losses(self._probabilities(votes), votes.outcome, ties=bool((votes.outcome == TIE).any()))
        return -figure(losses, votes.weight).mean

    def list_log_likelihood(self, rankings: Any) -> Floats:
        """ln P of each list, in the order of their ids; 0 for a list that orders nothing.

        ``rankings``: lists in any form that ``fit`` takes. Items and workers that the fit has not seen count as
        average ones. Raises an error if the model gives no probabilities of lists.
        """
        result = self.result_
        if result.list_predictor is None:
            raise UsageError(f"{self.name} gives no probabilities of lists.")
        given = read_held_out(rankings, result.nodes, result.index, self.name)
        found = np.zeros(given.count)
        found[given.number] = result.list_predictor(given)
        return found

    def _require_order_of_items(self) -> None:
        """Raise an error if there is no fit, or if it says nothing about which of two items is better."""
        result = self.result_
        if _unordered_labels(result):
            hint = ("Fit to labels with an order, worst first: ", Retry((ORDER,)))
            raise missing_order(f"A prediction by {self.name}", result.fit.judgments["labels"], hint)

    def _probabilities(self, pairs: Pairs) -> Floats:
        """The probabilities of left, tie and right for each pair (rows, 3)."""
        predictor = self.result_.predictor
        if predictor is None:
            raise UsageError(f"{self.name} gives an order, but no probabilities of votes.")
        left, right, worker = _coded_pairs(self.result_, pairs)
        return predictor(left, right, worker, sided=pairs.sided)


def compare_scores(result: Result, pairs: Pairs) -> Floats:
    """1 or -1 if left or right has the larger score; 0 if neither has, or if the fit does not know both."""
    left, right, _ = _coded_pairs(result, pairs)
    scores = result.ranking.score
    return np.nan_to_num(np.sign(values_at(scores, left, np.nan) - values_at(scores, right, np.nan)))


def _coded_pairs(result: Result, pairs: Pairs) -> tuple[Integers, Integers, Ints | None]:
    """The nodes of left and right, and the workers, by the codes of the fit; -1 if it has not seen them."""
    nodes, index = result.nodes, result.index
    if (index.queries is None) != (pairs.index.queries is None):
        if pairs.query is None:
            raise InputError(
                "The model was fitted with queries, but these votes have no query.",
                hint="Give the query of each pair.",
            )
        raise InputError("These votes have a query, but the model was fitted without queries.")
    pairs = pairs.coded_as(index)
    left, right = (node_codes(nodes, index, pairs.query, side) for side in (pairs.left, pairs.right))
    return left, right, pairs.worker


def _unordered_labels(result: Result) -> bool:
    """Whether the fit was to labels that are text without an order: its scores are then no order of the items."""
    return result.fit.judgments.get("ordered") is False


def _every_pair(table: Any) -> Pairs:
    """All pairs that rankings or ratings make, as models are compared on."""
    if isinstance(table, Rankings):
        table = table.complete()
    if not isinstance(table, Rankings | Ratings):
        raise UsageError("Scores need judgments in memory. Got judgments that are kept on disk.")
    return make_pairs(replace(table, pairs="all"))


def _asked(left: Any, right: Any, worker: Any, query: Any) -> Pairs:
    """The pairs that are asked for, from ids or from a table in the place of ``left``."""
    if right is not None:
        return read_asked(_spread({"left": left, "right": right, "worker": worker, "query": query}))
    if isinstance(left, str) and (worker is not None or query is not None):
        raise UsageError("Predictions need two items. Got only one.", hint="Give left and right.")
    if worker is not None or query is not None:
        raise UsageError("Workers and queries of a table are columns of it.", hint="Give a column of that name.")
    return read_asked(left)


def _spread(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Ids and sequences of ids as columns of one length."""
    columns = {name: np.asarray(value) for name, value in given.items() if value is not None}
    try:
        length = np.broadcast_shapes((1,), *(column.shape for column in columns.values()))
    except ValueError:
        length = ()
    if len(length) != 1:
        shown = ", ".join(f"{name}: {' x '.join(map(str, own.shape)) or 'one'}" for name, own in columns.items())
        raise UsageError(f"Give one id for all rows, or a sequence with an id for each row. Got {shown}.")
    return {name: np.broadcast_to(column, length).tolist() for name, column in columns.items()}


def _is_single(left: Any, right: Any, worker: Any, query: Any) -> bool:
    """Whether one pair of ids was given, not a sequence or a table."""
    return right is not None and all(np.ndim(own) == 0 for own in (left, right, worker, query))
