"""Crowds that compare pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import UsageError
from crowdrank.simulate.crowd import Crowd, ids


def flip_crowd(
    *,
    seed: int = 0,
    items: int = 100,
    workers: int = 100,
    pairs: int = 400,
    labels: int = 10,
    alpha: float = 2.0,
    beta: float = 1.0,
    gold_pairs: int = 0,
) -> Crowd:
    """The generator of Crowd-BT sections 5.1.1 to 5.1.3.

    Items have the true scores 1 .. items. ``pairs`` distinct pairs are drawn, each judged by ``labels``
    distinct workers. Worker k gives the true order with probability eta_k ~ Beta(alpha, beta), regardless of
    how far apart the items are. With ``gold_pairs`` every worker also judges that many pairs of known order.
    """
    rng = np.random.default_rng(seed)
    most = items * (items - 1) // 2
    if alpha <= 0 or beta <= 0:
        raise UsageError(f"alpha and beta of the qualities must be above 0. Got {alpha} and {beta}.")
    if not 0 < pairs <= most or not 0 < labels <= workers or gold_pairs > most:
        raise UsageError(
            f"{pairs} distinct pairs with {labels} labels each need at least as many pairs and workers: "
            f"{items} items have {most} pairs, and there are {workers} workers."
        )
    names = rng.permutation(ids("item", items))
    quality = rng.beta(alpha, beta, workers)
    low, high = np.triu_indices(items, 1)
    asked = np.sort(rng.choice(most, pairs, replace=False))
    judges = rng.random((pairs, workers)).argsort(axis=1)[:, :labels]
    worse, better = np.repeat(low[asked], labels), np.repeat(high[asked], labels)
    worker = judges.ravel()
    known = None
    if gold_pairs:
        rest = np.setdiff1d(np.arange(most), asked)
        chosen = rng.choice(rest if len(rest) >= gold_pairs else most, gold_pairs, replace=False)
        worse = np.append(worse, np.tile(low[chosen], workers))
        better = np.append(better, np.tile(high[chosen], workers))
        worker = np.append(worker, np.repeat(np.arange(workers), gold_pairs))
        known = pl.DataFrame(
            {"left": names[low[chosen]], "right": names[high[chosen]], "label": names[high[chosen]]}
        )
    right = rng.random(len(worker)) < quality[worker]
    grades = np.arange(1, items + 1).astype(np.float64)
    winner, loser = np.where(right, better, worse), np.where(right, worse, better)
    return _crowd(rng, names, grades, quality, winner, loser, worker, known)


def bt_crowd(
    *,
    seed: int = 0,
    items: int = 30,
    workers: int = 40,
    votes: int = 3000,
    spread: float = 1.5,
    alpha: float = 8.0,
    beta: float = 1.5,
    spammers: float = 0.2,
    malicious: float = 0.0,
) -> Crowd:
    """Votes drawn from Crowd-BT itself (eq. 5).

    Scores are normal with standard deviation ``spread``; qualities are Beta(alpha, beta), except for a share
    of ``spammers`` (1/2) and of ``malicious`` workers (0.1). Each vote has a random pair and worker.
    """
    rng = np.random.default_rng(seed)
    if items < 2 or workers < 1 or votes < 1:
        raise UsageError(
            f"Votes need two items and a worker. Got items={items}, workers={workers}, votes={votes}."
        )
    if alpha <= 0 or beta <= 0:
        raise UsageError(f"alpha and beta of the qualities must be above 0. Got {alpha} and {beta}.")
    if not (spammers >= 0 and malicious >= 0 and spammers + malicious <= 1):
        raise UsageError(
            "The shares of spammers and malicious workers must not be negative, and their sum must not exceed 1."
        )
    scores = rng.normal(0.0, spread, items)
    quality = rng.beta(alpha, beta, workers)
    kinds = rng.permutation(workers)
    bad, worse = round(spammers * workers), round(malicious * workers)
    quality[kinds[:bad]] = 0.5
    quality[kinds[bad : bad + worse]] = 0.1
    first = rng.integers(0, items, votes)
    second = (first + rng.integers(1, items, votes)) % items
    worker = rng.integers(0, workers, votes)
    ahead = 1.0 / (1.0 + np.exp(scores[second] - scores[first]))
    chance = quality[worker] * ahead + (1 - quality[worker]) * (1 - ahead)
    wins = rng.random(votes) < chance
    winner, loser = np.where(wins, first, second), np.where(wins, second, first)
    return _crowd(rng, rng.permutation(ids("item", items)), scores, quality, winner, loser, worker)


def judge_crowd(
    *,
    seed: int = 0,
    items: int = 30,
    workers: int = 40,
    votes: int = 3000,
    spread: float = 1.5,
    sharpness: float = 0.4,
    lapses: float = 0.02,
    bias: float = 0.2,
    sides: float = 0.3,
    ties: float = 0.4,
    readiness: float = 0.5,
) -> Crowd:
    """Votes drawn from judge-bt itself: judges differ in sharpness, position bias and readiness to call a tie.

    Scores are normal with standard deviation ``spread``, slopes normal around 1 with ``sharpness``, position
    biases around ``bias`` with ``sides``, ln thresholds around ln ``ties`` (0: no ties) with ``readiness``; a
    decided vote is reversed with probability ``lapses``.
    """
    rng = np.random.default_rng(seed)
    if items < 2 or workers < 1 or votes < 1:
        raise UsageError(
            f"Votes need two items and a worker. Got items={items}, workers={workers}, votes={votes}."
        )
    if lapses > 0.5:
        raise UsageError(f"At most half of the votes can be lapses. Got lapses={lapses}.")
    scores = rng.normal(0.0, spread, items)
    slope, side = rng.normal(1.0, sharpness, workers), rng.normal(bias, sides, workers)
    threshold = ties * np.exp(rng.normal(0.0, readiness, workers))
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    worker = rng.integers(0, workers, votes)
    x, t = slope[worker] * (scores[left] - scores[right]) + side[worker], threshold[worker]
    first, second = 1.0 / (1.0 + np.exp(t - x)), 1.0 / (1.0 + np.exp(t + x))
    chance = (1 - lapses) * first + lapses * second
    drawn = rng.random(votes)
    names, people = rng.permutation(ids("item", items)), ids("worker", workers)
    decided = np.where(drawn < chance, names[left], names[right])
    judgments = pl.DataFrame(
        {
            "worker": people[worker],
            "left": names[left],
            "right": names[right],
            "label": np.where(drawn < first + second, decided, "tie"),
        }
    )
    gold = pl.DataFrame({"item": names, "grade": scores}).sort("item")
    truth = {"worker": people, "slope": slope, "position": side, "threshold": threshold}
    return Crowd(judgments, gold, pl.DataFrame(truth))


def _crowd(
    rng: np.random.Generator,
    items: NDArray[Any],
    grades: Floats,
    quality: Floats,
    winner: Integers,
    loser: Integers,
    worker: Integers,
    gold_pairs: pl.DataFrame | None = None,
) -> Crowd:
    """The tables, with the sides of each pair drawn at random."""
    workers = ids("worker", len(quality))
    swap = rng.random(len(winner)) < 0.5
    judgments = pl.DataFrame(
        {
            "worker": workers[worker],
            "left": items[np.where(swap, loser, winner)],
            "right": items[np.where(swap, winner, loser)],
            "label": items[winner],
        }
    )
    gold = pl.DataFrame({"item": items, "grade": grades}).sort("item")
    truth = pl.DataFrame({"worker": workers, "quality": quality})
    return Crowd(judgments, gold, truth, gold_pairs)
