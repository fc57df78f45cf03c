"""Where the next votes should go, by the same search that `crowdrank next` uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crowdrank.kernels.compiled import can_compile
from crowdrank.results import Beliefs, Posterior, Result
from crowdrank.select.desk import Desk
from crowdrank.select.history import History
from crowdrank.select.policy import Policy
from crowdrank.select.rules import Rules, codes_of

MANY = 3_000
"""With more items than this, the search is compiled if it can be."""
TOLD_APART = 0.95
"""A pair is settled if one item is better with at least this probability, as in tiers."""


class NextPair(NamedTuple):
    """Rows of the ranking: the item that is ahead and the other one.

    ``ahead``: the probability that it is the better one; None if the model does not say. ``linked``: whether a
    chain of votes links the two.
    """

    one: int
    other: int
    ahead: float | None
    linked: bool


def next_pairs(result: Result, count: int) -> list[NextPair]:
    """The pairs to ask about next: by expected information gain, or by even exposure if there is no posterior.

    Only pairs that cannot be told apart, or, without a posterior, that have less than half of the usual votes. The
    judge who will answer is not known, so it is a typical one.
    """
    ranking, evidence = result.ranking, result.evidence
    size = len(ranking.item)
    if size < 2:
        return []
    posterior = result.posterior if isinstance(result.posterior, Posterior) else None
    beliefs = Beliefs.of(posterior) if posterior is not None else None
    history = History(size)
    history.asked = history.voted = np.round(evidence.comparisons).astype(np.int64)
    nothing = np.zeros(0)
    plain = Beliefs(np.zeros(size), np.ones(size), nothing, nothing, nothing)
    desk = Desk(
        beliefs or plain, Policy(select="even" if beliefs is None else "gain", gamma=0.0, cold=1), history,
        Rules.none(size, 0, codes_of(ranking.query.to_list() if ranking.query[0] is not None else [0] * size)),
        compiled=size > MANY and can_compile(),
    )  # fmt: skip
    found = []
    median = float(np.median(evidence.comparisons))
    asked = [sorted(question[:2], key=lambda row: int(ranking.rank[row])) for question in desk.batch(count)]
    chances = _chances(posterior, asked)
    for (one, other), ahead in zip(asked, chances, strict=True):
        linked = bool(evidence.part[one] == evidence.part[other])
        least = min(evidence.comparisons[one], evidence.comparisons[other])
        settled = 2 * least >= median if ahead is None else ahead >= TOLD_APART
        if not (settled and linked):
            found.append(NextPair(one, other, ahead, linked))
    return found


def _chances(posterior: Posterior | None, pairs: Sequence[Sequence[int]]) -> Sequence[float | None]:
    """The probability that the first item of each pair is the better one, as in the matrix of the report."""
    if posterior is None or not pairs:
        return [None] * len(pairs)
    shown, place = np.unique(np.array(pairs), return_inverse=True)
    one, other = place.reshape(-1, 2).T
    found: list[float] = posterior.ahead(shown)[one, other].tolist()
    return found
