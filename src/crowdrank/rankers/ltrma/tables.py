"""The tables of LTRMA: workers with their expertise, the estimated true orders, and the steps of EM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import Constraints, Floats, summed
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.kernels.segments import segment_of
from crowdrank.rankers.judged import LISTS, PAIRS, Judged
from crowdrank.rankers.ltrma.dispersion import WeighedCrowd
from crowdrank.rankers.ltrma.expectation import Spread
from crowdrank.rankers.ltrma.expertise import Expertise
from crowdrank.results import Frame, Workers, Z, verdicts

LEAST = 0.05
"""The information about an expertise is at least this part of what it would be if the true orders were known."""


def workers_table(
    crowd: WeighedCrowd, counts: Floats, expertise: Expertise, spread: Spread, constraints: Constraints | None
) -> Workers:
    """The workers: theta with its interval, and as quality the agreement with the true order on an average pair.

    A worker with lists and pairs has a row for the lists, and theta_pairs besides.
    """
    judged, voices = crowd.judged, crowd.judged.voices
    stderr = theta_errors(expertise, spread)
    low, high = expertise.theta - Z * stderr, expertise.theta + Z * stderr
    if constraints is not None:
        low, high = (np.clip(own, *constraints.bounds) for own in (low, high))
    own = [end * crowd.weights for end in (expertise.theta, low, high)]
    kind = np.array(voices.kind)
    average = {one: counts[kind == one].sum(axis=0) for one in (LISTS, PAIRS)}
    quality = np.array(
        [[agreement(end, average[one])[0] for one, end in zip(kind, ends[:, None], strict=True)] for ends in own]
    )
    first = np.array([int(np.flatnonzero(voices.worker == code)[0]) for code in range(len(voices.workers))])
    said = np.bincount(judged.statements.voice, judged.statements.weight, len(voices) + 2)[: len(voices)]
    said += np.bincount(judged.statements.pair_voice, judged.statements.pair_weight, len(voices) + 2)[
        : len(voices)
    ]
    further = {name: end[first] for name, end in zip(("theta", "theta_low", "theta_high"), own, strict=True)}
    if len(voices) > len(first):
        further |= _pair_columns(voices.worker, kind, own[0], len(first))
    if crowd.dispersion == "weighted":
        further["weight"] = crowd.weights[first]
    return Workers(
        worker=voices.workers,
        judgments=summed(voices.worker, said / crowd.weights, len(first)),
        quality=quality[0][first],
        low=quality[1][first],
        high=quality[2][first],
        verdict=verdicts(quality[1][first], quality[2][first]),
        further=further,
        backend=judged.documents.features.backend,
    )


def _pair_columns(
    worker: NDArray[np.int64], kind: NDArray[np.str_], theta: Floats, count: int
) -> dict[str, Floats]:
    found = np.full(count, np.nan)
    found[worker[kind == PAIRS]] = theta[kind == PAIRS]
    return {"theta_pairs": found}


def theta_errors(expertise: Expertise, spread: Spread) -> Floats:
    """The standard error of each theta, from the observed information (Louis 1982).

        I = information if the true orders were known - covariance of the distances over the drawn orders

    plus prior and side information. The ranker is taken as it is.
    """
    group, count = expertise.group, int(expertise.group.max()) + 1
    complete = np.bincount(group, expertise.information, count)
    if count < len(group):
        complete = np.maximum(complete / np.maximum(np.bincount(group, minlength=count), 1), 0.0) * np.bincount(
            group
        )
    unknown = np.zeros((count, count))
    np.add.at(unknown, (group[:, None], group[None, :]), spread.covariance)
    fixed = np.asarray(expertise.side.todense() if hasattr(expertise.side, "todense") else expertise.side)
    matrix = np.diag(complete + expertise.prior) - unknown + (fixed if fixed.shape == unknown.shape else 0.0)
    value, vector = np.linalg.eigh(
        matrix / np.sqrt(np.outer(complete + expertise.prior, complete + expertise.prior))
    )
    inverse = (vector / np.maximum(value, LEAST)) @ vector.T
    return np.asarray(np.sqrt(np.diag(inverse) / (complete + expertise.prior))[group])


def agreement(theta: Floats, counts: Floats) -> Floats:
    """How often a worker of each theta agrees with the true order on an average pair of the statements counted."""
    m = np.arange(len(counts))
    pairs = max(float(counts @ (m * (m - 1) / 2.0)), 1e-300)
    distance = -(log_normalizers(theta, len(counts) - 1)[1] * counts).sum(axis=1)
    return np.asarray(1.0 - distance / pairs)


def estimated_orders(judged: Judged, spread: Spread) -> Frame:
    """The estimated true order of each training list: query, item, rank, score, rank_low, rank_high, above_next.

    ``score`` is the mean number of documents below it, and ``above_next`` the probability that it is above the
    document that follows.
    """
    documents = judged.documents
    ids = documents.features.take(documents.rows).ids()
    if documents.features.query is None:
        ids = ids.with_columns(query=documents.query.gather(segment_of(documents.start)))
    frame = ids.with_columns(
        list=pl.Series(segment_of(documents.start)),
        score=pl.Series(spread.score),
        rank_low=pl.Series(spread.low.astype(np.int64)),
        rank_high=pl.Series(spread.high.astype(np.int64)),
        above_next=pl.Series(spread.ahead).fill_nan(None),
    )
    frame = frame.sort("query", "list", "score", descending=[False, False, True], maintain_order=True)
    rank = pl.int_range(1, pl.len() + 1).over("list").alias("rank")
    columns = ("query", "item", "rank", "score", "rank_low", "rank_high", "above_next")
    return Frame(frame.with_columns(rank).select(columns), backend=documents.features.backend)


def iterations_table(seen: Sequence[tuple[int, float, float]]) -> Frame:
    """The steps of EM: how far the mean expertise moved, and the mean distance of drawn orders from the gold."""
    frame = pl.DataFrame(
        seen, schema={"step": pl.Int64, "change": pl.Float64, "distance": pl.Float64}, orient="row"
    )
    return Frame(frame.with_columns(pl.when(pl.col("change").is_finite()).then("change").alias("change")))
