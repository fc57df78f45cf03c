"""Votes dealt into folds by a fixed hash h of the ids' text, so the order of the rows has no influence.

With workers, the votes of worker u on the pair {i, j} of query q are one unit, so no fold is predicted
from the same worker's vote on the same pair. The units of a worker are ordered by
h(u, q, {i, j}) and dealt in turn,

    fold = (h(u) + place of the unit among those of u) mod k,

so the units of every worker are spread over the folds evenly, to within one. Without workers every
vote is its own unit, sorted by h(q, {i, j}), then by winner, weight and side: votes on one pair are
neighbors and go to different folds.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import LEFT, TIE, Pairs, SpooledPairs, join_pairs
from crowdrank.errors import UsageError
from crowdrank.random import Hashes, scramble

NOTHING = np.uint64(0x9E3779B97F4A7C15)
"""The hash of a missing id."""


class _Units(NamedTuple):
    """For each vote the hash of its unit, the columns that define the unit, and those that define the vote."""

    key: Hashes
    worker: NDArray[Any]
    query: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    winner: NDArray[Any]
    weight: NDArray[Any]
    reversed_pair: NDArray[Any]


UNIT, VOTE = 4, 7
"""How many columns after the hash define a unit, and a vote."""


def deal(pairs: Pairs, folds: int, seed: int = 0) -> NDArray[np.int64]:
    """The fold of each vote, 0 to ``folds`` - 1; other seeds give other folds."""
    if folds < 2:
        raise UsageError(f"The number of folds must be at least 2. Got {folds}.")
    units = _units(pairs, seed)
    order = _order(units)
    same = _find_repeats(units, order, UNIT) if pairs.worker is not None else np.zeros(pairs.rows, bool)
    place = np.cumsum(~same) - 1
    worker = units.worker[order]
    first = np.r_[True, worker[1:] != worker[:-1]]
    place = place - place[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    start = hash_ids(pairs.index.workers, pairs.worker, seed) % np.uint64(folds)
    fold = np.empty(pairs.rows, np.int64)
    fold[order] = place
    return np.asarray((fold + start.astype(np.int64)) % folds)


def sample_votes(pairs: Pairs | SpooledPairs, most: int, seed: int = 0) -> Pairs:
    """About ``most`` of the votes, chosen by the hash; the votes of a worker on a pair stay together.

    If there are no more than that, all votes are returned. Votes on disk are read a batch at a time; votes
    without workers are then distinguished by their batch as well.
    """
    share = most / max(pairs.rows, 1)
    if share >= 1 and isinstance(pairs, Pairs):
        return pairs
    parts = [batch.take(_choose(batch, share, seed, number)) for number, batch in enumerate(pairs.batches())]
    return join_pairs(parts)


def hash_ids(ids: pl.Series | None, codes: NDArray[Any] | None, seed: int) -> Any:
    """The hash of the id behind each code; a single number if there are no ids."""
    if ids is None or codes is None:
        return mix_hashes(np.full(1, seed, np.uint64), NOTHING)
    salt = seed.to_bytes(16, "little", signed=True)
    digests = (blake2b(text.encode(), digest_size=8, salt=salt).digest() for text in ids)
    table = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
    return table[codes]


def mix_hashes(one: Any, other: Any) -> Hashes:
    """A hash of two hashes: the last steps of splitmix64 on their sum, with the first one multiplied."""
    return scramble(np.asarray(one, np.uint64) * np.uint64(0xD1342543DE82EF95) + np.asarray(other, np.uint64))


def _units(pairs: Pairs, seed: int) -> _Units:
    index, nothing = pairs.index, np.zeros(pairs.rows, np.int32)
    left, right = (hash_ids(index.items, side, seed) for side in (pairs.left, pairs.right))
    key = mix_hashes(np.minimum(left, right), np.maximum(left, right))
    key = mix_hashes(key, hash_ids(index.queries, pairs.query, seed))
    key = mix_hashes(key, hash_ids(index.workers, pairs.worker, seed))
    reversed_pair = pairs.left > pairs.right
    tie = pairs.outcome == TIE
    return _Units(
        key=key,
        worker=nothing if pairs.worker is None else pairs.worker,
        query=nothing if pairs.query is None else pairs.query,
        low=np.minimum(pairs.left, pairs.right),
        high=np.maximum(pairs.left, pairs.right),
        winner=np.where(tie, 2, (pairs.outcome == LEFT) == reversed_pair),
        weight=nothing if pairs.weight is None else pairs.weight,
        reversed_pair=reversed_pair,
    )


def _order(units: _Units) -> NDArray[np.int64]:
    """The votes sorted by worker, then by hash, then by every other column."""
    key, worker, *others = units
    return np.lexsort((*reversed(others), key, worker))


def _find_repeats(units: _Units, order: NDArray[np.int64], columns: int) -> NDArray[np.bool_]:
    """Which votes, in this order, equal the previous one in the first ``columns`` columns after the hash."""
    same = np.ones(len(order), bool)
    for column in units[1 : 1 + columns]:
        own = column[order]
        same[1:] &= own[1:] == own[:-1]
    same[:1] = False
    return same


def _choose(pairs: Pairs, share: float, seed: int, batch: int) -> NDArray[np.bool_]:
    units = _units(pairs, seed)
    key = units.key
    if pairs.worker is None:
        key = mix_hashes(key, _number_repeats(units) + np.uint64(batch << 40))
    return np.asarray(key.astype(np.float64) < share * 2.0**64)


def _number_repeats(units: _Units) -> Hashes:
    """A hash of each vote's number among identical votes (0, 1, ...); each outcome is numbered separately."""
    order = _order(units)
    rows = np.arange(len(order))
    begin = np.maximum.accumulate(np.where(_find_repeats(units, order, VOTE), 0, rows))
    occurrence = np.empty(len(order), np.uint64)
    occurrence[order] = rows - begin
    return mix_hashes(occurrence, 2 * units.winner.astype(np.uint64) + units.reversed_pair)
