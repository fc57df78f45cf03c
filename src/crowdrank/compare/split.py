"""Judgments dealt into folds, and the votes of each fold that models fitted to the others predict.

Pairs are dealt vote by vote (see ``folds``). Lists are held out whole: those of one worker about one query
are one unit, and the units of a worker are spread over the folds; a list that nobody signed is a unit of its
own. Ratings are held out label by label, spread in the same way. What is predicted is always a vote between
two items: of a held-out list, or of two held-out labels of one worker, every pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.compare.folds import deal, hashed, mixed, sampled
from crowdrank.data import Judgments, Pairs, Rankings, Ratings, count_pairs, joined_pairs, made_pairs
from crowdrank.errors import InputError, UsageError
from crowdrank.random import Hashes

Folds = NDArray[np.int64]
LARGE = 4_000_000
"""With more pairs in a fold, a part of the lists or labels is chosen before they are made."""


@dataclass(frozen=True, eq=False)
class Split:
    """``judgments`` and the fold of each of their rows; the votes ``asked`` about and the ``fold`` of each."""

    judgments: Judgments
    row_fold: Folds
    asked: Pairs
    fold: Folds

    @property
    def numbers(self) -> Folds:
        """The folds that hold votes."""
        return np.unique(self.fold)

    def given(self, number: int) -> Judgments:
        """What a model is fitted to that predicts a fold: all the others."""
        return self.judgments.take(self.row_fold != number).compact()


def split(judgments: Pairs | Rankings | Ratings, folds: int, seed: int, ties: str, most: int) -> Split:
    """The judgments dealt into ``folds``, with about ``most`` votes to predict; an error where all are in one."""
    if folds < 2:
        raise UsageError(f"The number of folds must be at least 2. Got {folds}.")
    if isinstance(judgments, Pairs):
        fold = deal(judgments, folds, seed)
        found = Split(judgments, fold, judgments, fold)
    else:
        found = _of_others(judgments, folds, seed, ties, most)
    if not found.asked.rows or (found.row_fold == found.row_fold[0]).all():
        raise InputError("There are too few votes to hold some of them out.")
    return found


def thinned(judgments: Rankings | Ratings, share: float, seed: int = 0) -> Rankings | Ratings:
    """About this share of the lists or labels, chosen by a hash; the index stays."""
    units, first, _ = _units(judgments, seed)
    return _chosen(judgments, first[units], share)


def fewer(judgments: Rankings | Ratings, share: float, seed: int = 0) -> Rankings | Ratings:
    """About this share of the queries with all that was judged in them; of the lists or labels of a single one."""
    queries = judgments.index.queries
    if queries is None or len(queries) * share < 1:
        return thinned(judgments, share, seed)
    return _chosen(judgments, hashed(queries, judgments.query, seed), share)


def _chosen(judgments: Rankings | Ratings, key: Hashes, share: float) -> Rankings | Ratings:
    rows = key.astype(np.float64) < share * 2.0**64
    return judgments.take(rows) if rows.any() else judgments


def _of_others(judgments: Rankings | Ratings, folds: int, seed: int, ties: str, most: int) -> Split:
    if isinstance(judgments, Rankings):
        judgments = judgments.complete()  # what stands below stands below whatever else is held out
    rows = _deal_rows(judgments, folds, seed)
    held = [judgments.take(rows == number) for number in range(folds)]
    counts = [count_pairs(part) for part in held]
    if not any(counts):
        raise InputError("There are too few votes to hold some of them out.")
    share = min(1.0, most / sum(counts))
    parts = [
        (number, found)
        for number, (part, count) in enumerate(zip(held, counts, strict=True))
        if count and (found := _votes_of(part, count, share, ties, seed)).rows
    ]
    if not parts:
        raise InputError("There are too few votes to hold some of them out.")
    fold = np.repeat([number for number, _ in parts], [part.rows for _, part in parts])
    return Split(judgments, rows, joined_pairs([part for _, part in parts]), fold)


def _votes_of(held: Rankings | Ratings, count: int, share: float, ties: str, seed: int) -> Pairs:
    """About this share of the pairs that a fold's judgments make.

    Where these are very many, lists or labels are left out before they are made: pairs grow with the square of
    a worker's labels.
    """
    if count > LARGE and share < 1.0:
        held = thinned(held, share if isinstance(held, Rankings) else share**0.5, seed)
        share = 1.0
    found = made_pairs(held, ties=ties)
    return sampled(found, max(1, round(share * found.rows)), seed)


def _deal_rows(judgments: Rankings | Ratings, folds: int, seed: int) -> Folds:
    """The fold of each row."""
    units, first, worker = _units(judgments, seed)
    fold = np.empty(len(first), np.int64)
    fold[np.lexsort((first, worker))] = np.arange(len(first)) % folds  # worker by worker, in turn
    return np.asarray(fold[units])


def _units(judgments: Rankings | Ratings, seed: int) -> tuple[NDArray[Any], Hashes, Hashes]:
    """The unit of each row; of each unit a hash and its worker's."""
    index, rows = judgments.index, len(judgments.item)
    query = np.broadcast_to(hashed(index.queries, judgments.query, seed), rows)
    worker = np.broadcast_to(hashed(index.workers, judgments.worker, seed), rows)
    item = hashed(index.items, judgments.item, seed)
    if isinstance(judgments, Ratings):
        key = mixed(mixed(query, item), worker)
        if judgments.worker is None:
            key = mixed(key, np.lexsort((judgments.label, key)).argsort().astype(np.uint64))
    elif judgments.worker is not None:
        key = mixed(query, worker)
    else:  # what a list says is all that it goes by; equal lists are told apart by their number
        said = mixed(item, np.nan_to_num(judgments.rank, nan=-1.0).view(np.uint64))
        total = np.zeros(judgments.lists, np.uint64)
        np.add.at(total, judgments.list, said)
        order = np.argsort(total, kind="stable")
        again = np.arange(len(order)) - np.searchsorted(total[order], total[order])
        total[order] = mixed(total[order], again.astype(np.uint64))
        key = mixed(query, total[judgments.list])
    hashes, first, units = np.unique(key, return_index=True, return_inverse=True)
    return units, hashes, worker[first]
