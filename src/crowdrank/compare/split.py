"""Judgments dealt into folds, and the votes of each fold, which models fitted to the other folds predict.

Pairs are dealt vote by vote (see ``folds``). Lists are held out whole: those of one worker about one query
are one unit, and the units of a worker are spread over the folds; a list without a worker is its own
unit. Ratings are held out label by label, spread in the same way. Models always predict votes between two
items: every pair of a held-out list, or of one worker's held-out labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.compare.folds import deal, hash_ids, mix_hashes, sample_votes
from crowdrank.data import Judgments, Pairs, Rankings, Ratings, count_pairs, join_pairs, make_pairs
from crowdrank.errors import InputError, Remedy, UsageError
from crowdrank.random import Hashes

Folds = NDArray[np.int64]
LARGE = 4_000_000
"""If a fold has more pairs than this, lists or labels are sampled before the pairs are made."""


@dataclass(frozen=True, eq=False)
class Split:
    """``judgments`` and the fold of each row; the votes to predict (``asked``) and the ``fold`` of each."""

    judgments: Judgments
    row_fold: Folds
    asked: Pairs
    fold: Folds

    @property
    def numbers(self) -> Folds:
        """The folds that hold votes."""
        return np.unique(self.fold)

    def given(self, number: int) -> Judgments:
        """The judgments to fit a model that predicts this fold: all other folds."""
        return self.judgments.take(self.row_fold != number).compact()


def split(judgments: Pairs | Rankings | Ratings, folds: int, seed: int, ties: str, most: int) -> Split:
    """Deal the judgments into ``folds``, with about ``most`` votes to predict; an error if all are in one."""
    if folds < 2:
        raise UsageError(f"The number of folds must be at least 2. Got {folds}.")
    if isinstance(judgments, Pairs):
        fold = deal(judgments, folds, seed)
        found = Split(judgments, fold, judgments, fold)
    else:
        found = _split_units(judgments, folds, seed, ties, most)
    if not found.asked.rows or (found.row_fold == found.row_fold[0]).all():
        raise _too_few_votes()
    return found


def sample_units(judgments: Rankings | Ratings, share: float, seed: int = 0) -> Rankings | Ratings:
    """About this share of the lists or labels, chosen by a hash; the index stays the same."""
    units, first, _ = _units(judgments, seed)
    return _choose(judgments, first[units], share)


def sample_queries(judgments: Rankings | Ratings, share: float, seed: int = 0) -> Rankings | Ratings:
    """About this share of the queries with all their judgments; with too few queries, of the lists or labels."""
    queries = judgments.index.queries
    if queries is None or len(queries) * share < 1:
        return sample_units(judgments, share, seed)
    return _choose(judgments, hash_ids(queries, judgments.query, seed), share)


def _choose(judgments: Rankings | Ratings, key: Hashes, share: float) -> Rankings | Ratings:
    rows = key.astype(np.float64) < share * 2.0**64
    return judgments.take(rows) if rows.any() else judgments


def _too_few_votes() -> InputError:
    hint = ("To compare by gold alone: ", Remedy("folds", "0"), " ", Remedy("gold", "FILE"))
    return InputError("There are too few votes to hold some of them out.", hint=hint)


def _split_units(judgments: Rankings | Ratings, folds: int, seed: int, ties: str, most: int) -> Split:
    if isinstance(judgments, Rankings):
        judgments = judgments.complete()  # a missing item stays below, whatever else is held out
    rows = _deal_rows(judgments, folds, seed)
    # every model predicts all pairs, whichever ones it learns from
    scored = replace(judgments, pairs="all")
    held = [scored.take(rows == number) for number in range(folds)]
    counts = [count_pairs(part) for part in held]
    if not any(counts):
        raise _too_few_votes()
    share = min(1.0, most / sum(counts))
    parts = [
        (number, found)
        for number, (part, count) in enumerate(zip(held, counts, strict=True))
        if count and (found := _make_votes(part, count, share, ties, seed)).rows
    ]
    if not parts:
        raise _too_few_votes()
    fold = np.repeat([number for number, _ in parts], [part.rows for _, part in parts])
    return Split(judgments, rows, join_pairs([part for _, part in parts]), fold)


def _make_votes(held: Rankings | Ratings, count: int, share: float, ties: str, seed: int) -> Pairs:
    """About this share of the pairs that a fold's judgments make.

    If there are very many, lists or labels are sampled before the pairs are made: the number of pairs grows with
    the square of a worker's labels.
    """
    if count > LARGE and share < 1.0:
        held = sample_units(held, share if isinstance(held, Rankings) else share**0.5, seed)
        share = 1.0
    found = make_pairs(held, ties=ties)
    return sample_votes(found, max(1, round(share * found.rows)), seed)


def _deal_rows(judgments: Rankings | Ratings, folds: int, seed: int) -> Folds:
    """The fold of each row."""
    units, first, worker = _units(judgments, seed)
    fold = np.empty(len(first), np.int64)
    fold[np.lexsort((first, worker))] = np.arange(len(first)) % folds  # worker by worker, in turn
    return np.asarray(fold[units])


def _units(judgments: Rankings | Ratings, seed: int) -> tuple[NDArray[Any], Hashes, Hashes]:
    """The unit of each row, and for each unit its hash and its worker's hash."""
    index, rows = judgments.index, len(judgments.item)
    query = np.broadcast_to(hash_ids(index.queries, judgments.query, seed), rows)
    worker = np.broadcast_to(hash_ids(index.workers, judgments.worker, seed), rows)
    item = hash_ids(index.items, judgments.item, seed)
    if isinstance(judgments, Ratings):
        key = mix_hashes(mix_hashes(query, item), worker)
        if judgments.worker is None:
            key = mix_hashes(key, np.lexsort((judgments.label, key)).argsort().astype(np.uint64))
    elif judgments.worker is not None:
        key = mix_hashes(query, worker)
    else:  # only its content identifies a list; equal lists are numbered
        said = mix_hashes(item, np.nan_to_num(judgments.rank, nan=-1.0).view(np.uint64))
        total = np.zeros(judgments.lists, np.uint64)
        np.add.at(total, judgments.list, said)
        order = np.argsort(total, kind="stable")
        again = np.arange(len(order)) - np.searchsorted(total[order], total[order])
        total[order] = mix_hashes(total[order], again.astype(np.uint64))
        key = mix_hashes(query, total[judgments.list])
    hashes, first, units = np.unique(key, return_index=True, return_inverse=True)
    return units, hashes, worker[first]
