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
from crowdrank.rankers.ltrma.dispersion import Dispersion
from crowdrank.rankers.ltrma.expectation import Spread
from crowdrank.rankers.ltrma.expertise import Expertise
from crowdrank.rankers.ltrma.information import theta_errors
from crowdrank.results import Frame, Workers, Z, agreement_interval, verdicts


def workers_table(
    judged: Judged,
    dispersion: Dispersion,
    expertise: Expertise,
    spread: Spread,
    constraints: Constraints | None,
    penalty: float,
) -> Workers:
    """The workers: theta with its interval, and as quality the agreement with the true order on an average pair.

    A worker with lists and pairs has a row for the lists, and theta_pairs besides. If all share one expertise,
    quality is how often the worker's own judgments agree with the drawn orders.
    """
    voices, statements, sizes = judged.voices, judged.statements, judged.sizes
    error = Z * theta_errors(expertise, spread, dispersion.weights, penalty) * dispersion.weights
    ends = [expertise.theta, expertise.theta - error, expertise.theta + error]
    if constraints is not None:
        ends = [np.clip(own, *constraints.bounds) for own in ends]
    if dispersion.kind == "by-worker":
        quality = [_qualities(own, judged) for own in ends]
    else:
        pairs = statements.ordered_pairs(sizes)
        share = 1.0 - spread.distance.reshape(len(voices), -1)[:, 0] / np.maximum(pairs, 1e-300)
        quality = list(agreement_interval(share, statements.comparisons(sizes)))
    first = np.unique(voices.worker, return_index=True)[1]
    further = {name: own[first] for name, own in zip(("theta", "theta_low", "theta_high"), ends, strict=True)}
    if len(voices) > len(first):
        further |= _pair_columns(voices.worker, np.array(voices.kind), ends[0], len(first))
    if dispersion.kind == "weighted":
        further["weight"] = dispersion.weights[first]
    return Workers(
        worker=voices.workers,
        judgments=summed(voices.worker, statements.weights(), len(first)),
        quality=quality[0][first],
        low=quality[1][first],
        high=quality[2][first],
        verdict=verdicts(quality[1][first], quality[2][first]),
        further=further,
        backend=judged.documents.features.backend,
    )


def _qualities(theta: Floats, judged: Judged) -> Floats:
    """The agreement of each voice on an average pair of all judgments of its kind."""
    counts, kinds = judged.statements.shapes(judged.sizes), np.array(judged.voices.kind)
    found = np.empty(len(theta))
    for kind in (LISTS, PAIRS):
        found[kinds == kind] = agreement(theta[kinds == kind], counts[kinds == kind].sum(axis=0))
    return found


def _pair_columns(
    worker: NDArray[np.int64], kind: NDArray[np.str_], theta: Floats, count: int
) -> dict[str, Floats]:
    found = np.full(count, np.nan)
    found[worker[kind == PAIRS]] = theta[kind == PAIRS]
    return {"theta_pairs": found}


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
    frame = frame.with_columns(rank).with_columns(
        rank_low=pl.min_horizontal("rank", "rank_low"), rank_high=pl.max_horizontal("rank", "rank_high")
    )
    return Frame(frame.select(columns), backend=documents.features.backend)


def iterations_table(seen: Sequence[tuple[int, float, float]]) -> Frame:
    """The steps of EM: how far the mean expertise moved, and the mean distance of drawn orders from the gold."""
    schema = {"step": pl.Int64, "change": pl.Float64, "distance": pl.Float64}
    frame = pl.DataFrame(seen, schema=schema, orient="row")
    return Frame(frame.with_columns(pl.when(pl.col("change").is_finite()).then("change").alias("change")))
