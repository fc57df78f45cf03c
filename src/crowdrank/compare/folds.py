"""Votes dealt into folds, by a fixed hash h of the ids' text: the order of the rows has no influence.

With workers, the votes of worker u on the pair {i, j} of query q are one unit, so that no fold is
predicted from the same worker's vote on the same pair. The units of a worker are ordered by
h(u, q, {i, j}) and dealt in turn,

    fold = (h(u) + place of the unit among those of u) mod k,

so the units of every worker are spread over the folds evenly, to within one. Without workers every
vote is a unit of its own, in the order of h(q, {i, j}), then of winner, weight and side: votes on one
pair are neighbours, and go to different folds.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import LEFT, TIE, Pairs, SpooledPairs, joined_pairs
from crowdrank.errors import UsageError
from crowdrank.random import Hashes, scramble

NOTHING = np.uint64(0x9E3779B97F4A7C15)
"""The hash of an id that is not there."""


class _Units(NamedTuple):
    """Of each vote the hash of its unit, the columns that make the unit, and those that make the vote."""

    key: Hashes
    worker: NDArray[Any]
    query: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    winner: NDArray[Any]
    weight: NDArray[Any]
    turned: NDArray[Any]


UNIT, VOTE = 4, 7
"""How many columns after the hash make a unit, and a vote."""


def deal(pairs: Pairs, folds: int, seed: int = 0) -> NDArray[np.int64]:
    """The fold of each vote, 0 to ``folds`` - 1; other seeds deal otherwise."""
    if folds < 2:
        raise UsageError(f"The number of folds must be at least 2. Got {folds}.")
    units = _units(pairs, seed)
    order = _order(units)
    same = _repeats(units, order, UNIT) if pairs.worker is not None else np.zeros(pairs.rows, bool)
    place = np.cumsum(~same) - 1
    worker = units.worker[order]
    first = np.r_[True, worker[1:] != worker[:-1]]
    place = place - place[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    start = hashed(pairs.index.workers, pairs.worker, seed) % np.uint64(folds)
    fold = np.empty(pairs.rows, np.int64)
    fold[order] = place
    return np.asarray((fold + start.astype(np.int64)) % folds)


def sampled(pairs: Pairs | SpooledPairs, most: int, seed: int = 0) -> Pairs:
    """About ``most`` of the votes, chosen by the hash; the votes of a worker on a pair stay together.

    Where there are no more, all of them. Votes on disk are read a batch at a time; those of unknown
    workers are then told apart by their batch as well.
    """
    share = most / max(pairs.rows, 1)
    if share >= 1 and isinstance(pairs, Pairs):
        return pairs
    parts = [batch.take(_chosen(batch, share, seed, number)) for number, batch in enumerate(pairs.batches())]
    return joined_pairs(parts)


def hashed(ids: pl.Series | None, codes: NDArray[Any] | None, seed: int) -> Any:
    """The hash of the id behind each code; one number where there are no ids."""
    if ids is None or codes is None:
        return mixed(np.full(1, seed, np.uint64), NOTHING)
    salt = seed.to_bytes(16, "little", signed=True)
    digests = (blake2b(text.encode(), digest_size=8, salt=salt).digest() for text in ids)
    table = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
    return table[codes]


def mixed(one: Any, other: Any) -> Hashes:
    """A hash of two hashes: the last steps of splitmix64 on their sum, the first one multiplied."""
    return scramble(np.asarray(one, np.uint64) * np.uint64(0xD1342543DE82EF95) + np.asarray(other, np.uint64))


def _units(pairs: Pairs, seed: int) -> _Units:
    index, nothing = pairs.index, np.zeros(pairs.rows, np.int32)
    left, right = (hashed(index.items, side, seed) for side in (pairs.left, pairs.right))
    key = mixed(np.minimum(left, right), np.maximum(left, right))
    key = mixed(key, hashed(index.queries, pairs.query, seed))
    key = mixed(key, hashed(index.workers, pairs.worker, seed))
    turned = pairs.left > pairs.right
    tie = pairs.outcome == TIE
    return _Units(
        key=key,
        worker=nothing if pairs.worker is None else pairs.worker,
        query=nothing if pairs.query is None else pairs.query,
        low=np.minimum(pairs.left, pairs.right),
        high=np.maximum(pairs.left, pairs.right),
        winner=np.where(tie, 2, (pairs.outcome == LEFT) == turned),
        weight=nothing if pairs.weight is None else pairs.weight,
        turned=turned,
    )


def _order(units: _Units) -> NDArray[np.int64]:
    """The votes by worker, within each by the hash, then by everything that tells them apart."""
    key, worker, *others = units
    return np.lexsort((*reversed(others), key, worker))


def _repeats(units: _Units, order: NDArray[np.int64], columns: int) -> NDArray[np.bool_]:
    """Which votes, in this order, equal the one before them in so many columns after the hash."""
    same = np.ones(len(order), bool)
    for column in units[1 : 1 + columns]:
        own = column[order]
        same[1:] &= own[1:] == own[:-1]
    same[:1] = False
    return same


def _chosen(pairs: Pairs, share: float, seed: int, batch: int) -> NDArray[np.bool_]:
    units = _units(pairs, seed)
    key = units.key
    if pairs.worker is None:
        key = mixed(key, _occurrence(units) + np.uint64(batch << 40))
    return np.asarray(key.astype(np.float64) < share * 2.0**64)


def _occurrence(units: _Units) -> Hashes:
    """Of votes on one pair that are alike the first is 0, the next 1, ...; other outcomes count apart."""
    order = _order(units)
    rows = np.arange(len(order))
    begin = np.maximum.accumulate(np.where(_repeats(units, order, VOTE), 0, rows))
    occurrence = np.empty(len(order), np.uint64)
    occurrence[order] = rows - begin
    return mixed(occurrence, 2 * units.winner.astype(np.uint64) + units.turned)
