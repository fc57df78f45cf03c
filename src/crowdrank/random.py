"""One keyed source of random numbers: each draw depends only on (seed, step, key).

The order in which numbers are drawn does not matter, so other shards, more threads or a cluster change nothing.
No global state is touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The step of splitmix64: 2^64 over the golden ratio."""


def generator(seed: int, step: int = 0, key: int = 0) -> np.random.Generator:
    """The generator for this seed, step and key. Any two differ in every number they draw."""
    return np.random.Generator(np.random.Philox(key=[seed, step], counter=[0, 0, 0, key]))


def uniforms(keys: tuple[NDArray[np.int64], ...], seed: int) -> NDArray[np.float64]:
    """Numbers in [0, 1), one per row, that depend only on the keys of the row."""
    return np.asarray((_hash_rows(keys, seed) >> np.uint64(11)) * 2.0**-53)


def stream_starts(keys: Hashes, seed: int, step: int) -> Hashes:
    """Where the stream of random numbers of each key starts, for this seed and step."""
    return _hash_rows((np.full(len(keys), step, np.int64), keys.view(np.int64)), seed)


def stream_uniforms(starts: Hashes, first: int, count: int) -> NDArray[np.float64]:
    """The numbers ``first``, ``first + 1``, ... of each stream, in [0, 1): (streams, count)."""
    with np.errstate(over="ignore"):
        steps = np.arange(first, first + count, dtype=np.uint64) * _GOLDEN
        return np.asarray((_mix(starts[:, None] + steps) >> np.uint64(11)) * 2.0**-53)


def signs(keys: tuple[NDArray[np.int64], ...], draws: int, seed: int) -> NDArray[np.int8]:
    """Signs +-1 (rows, draws) that depend only on the keys of the row."""
    rows = _hash_rows(keys, seed)
    with np.errstate(over="ignore"):
        words = [_mix(rows + np.uint64(number)) for number in range(1, -(-draws // 64) + 1)]
    bits = np.stack(words, axis=1).view(np.uint8)
    return (np.unpackbits(bits, axis=1)[:, :draws].astype(np.int8) << 1) - 1


def _hash_rows(keys: tuple[NDArray[np.int64], ...], seed: int) -> Hashes:
    with np.errstate(over="ignore"):
        rows = _mix(np.full(len(keys[0]), seed, np.uint64))  # or (seed, key + 1) would be (seed + 1, key)
        for key in keys:
            rows = _mix(rows + key.astype(np.uint64))
    return rows


def _mix(x: Hashes) -> Hashes:
    """One round of splitmix64."""
    return scramble(x + _GOLDEN)


def scramble(x: Any) -> Hashes:
    """The last steps of splitmix64: every bit of the result depends on every bit of x."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
