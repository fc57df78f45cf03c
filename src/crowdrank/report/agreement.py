"""What a crowd says of each true label, and how often its workers agree: squares of shares."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdrank.charts import Cell, Chart, draw_heatmap, short_share
from crowdrank.errors import count_noun
from crowdrank.report.content import Grid, WorkerAgreement
from crowdrank.report.words import percent, quote_name
from crowdrank.results import Agreement, Confusion, Workers, agreement_interval
from crowdrank.results.tables import label_names

COPIES = 0.95
"""Two workers may be copies if they almost certainly agree on more than this share of the pairs."""
NAMED = 5
MOST_LABELS = 12
"""A square of more labels would be hard to read."""


def crowd_confusion(confusion: Confusion | None, workers: Workers | None) -> Grid | None:
    """The mean of the workers' confusion, weighted by their judgments; None if a model has none."""
    if confusion is None or workers is None or len(confusion.values) > MOST_LABELS:
        return None
    given = dict(zip(workers.worker, workers.judgments, strict=True))
    weight = np.array([given.get(name, 0.0) for name in confusion.worker])
    mean = np.einsum("w,wts->ts", weight / max(float(weight.sum()), 1e-300), confusion.probability)
    names = (
        f"{label:g}" if isinstance(label, float) else str(label)
        for label in label_names(confusion.values, confusion.names).tolist()
    )
    return Grid(tuple(names), tuple(tuple(round(share, 3) for share in row) for row in mean.tolist()))


def explain_confusion(grid: Grid) -> str:
    """The sentence with the label that is most often right, and the most common error."""
    shares = np.array(grid.rows, dtype=float)
    wrong = np.where(np.eye(len(shares), dtype=bool), -1.0, shares)
    true, said = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return (
        "A row is a true label, by the model; a cell is the share of labels that workers then give. "
        f"An average label is right most often if the truth is {grid.names[int(shares.diagonal().argmax())]} "
        f"({percent(float(shares.diagonal().max()))}). The most common error: {grid.names[said]} instead of "
        f"{grid.names[true]} ({percent(float(wrong.max()))})."
    )


def draw_confusion(grid: Grid) -> Chart:
    """The square as a chart."""
    cells = [
        [
            Cell(share or 0.0, short_share(share or 0.0), f"True {true}, said {said}: {share:.2f}")
            for said, share in zip(grid.names, row, strict=True)
        ]
        for true, row in zip(grid.names, grid.rows, strict=True)
    ]
    return draw_heatmap(
        cells, grid.names, grid.names, beside="True", above="Said", description=explain_confusion(grid)
    )


def worker_agreement(found: Agreement | None, workers: pl.Series | None) -> WorkerAgreement | None:
    """The shares by worker, workers who agree beside each other; None if nothing is known."""
    if found is None or workers is None:
        return None
    share = np.divide(found.same, found.both, out=np.full(found.same.shape, np.nan), where=found.both > 0)
    order = _by_likeness(share)
    names = [workers[int(found.worker[place])] for place in order]
    rows = tuple(
        tuple(None if np.isnan(value) or i == j else round(float(value), 3) for j, value in enumerate(row))
        for i, row in enumerate(share[np.ix_(order, order)])
    )
    return WorkerAgreement(Grid(tuple(names), rows), len(workers), tuple(_copies(found, share, workers)))


def _by_likeness(share: np.ndarray) -> list[int]:
    """From the worker who agrees most with others on, each followed by the one left who agrees most with him."""
    known = np.where(np.isnan(share), 0.0, share)
    np.fill_diagonal(known, -1.0)
    order = [int(known.max(axis=1).argmax())]
    while len(order) < len(known):
        left = np.setdiff1d(np.arange(len(known)), order)
        order.append(int(left[known[order[-1], left].argmax()]))
    return order


def _copies(found: Agreement, share: np.ndarray, workers: pl.Series) -> list[tuple[str, str, float, int]]:
    """Pairs of workers whose agreement is almost certainly above ``COPIES``, most alike first."""
    one, other = np.triu_indices(len(share), 1)
    both = found.both[one, other]
    _, low, _ = agreement_interval(np.nan_to_num(share[one, other]), both)
    alike = np.flatnonzero(low > COPIES)
    ranked = alike[np.argsort(-low[alike], kind="stable")]
    return [
        (
            workers[int(found.worker[one[place]])], workers[int(found.worker[other[place]])],
            round(float(share[one[place], other[place]]), 3), int(both[place]),
        )
        for place in ranked
    ]  # fmt: skip


def explain_agreement(agreement: WorkerAgreement) -> str:
    """What the square shows, in sentences."""
    shown = len(agreement.grid.names)
    who = (
        "Workers"
        if shown == agreement.total
        else f"The {shown} of {agreement.total:,} workers with the most lists"
    )
    known = [value for row in agreement.grid.rows for value in row if value is not None]
    usual = (
        f" Two of them agree on {percent(float(np.median(known)))} of the pairs, at the median." if known else ""
    )
    start = (
        f"{who}, those who agree beside each other. A cell is the share of pairs that both order alike: "
        f"blue above a half, red below.{usual}"
    )
    if not agreement.alike:
        return f"{start} No two of them are near-duplicates."
    named = "; ".join(
        f"{quote_name(one)} and {quote_name(other)} ({percent(share)} of {count_noun(pairs, 'pair')})"
        for one, other, share, pairs in agreement.alike[:NAMED]
    )
    more = len(agreement.alike) - NAMED
    rest = f"; and {more:,} more" if more > 0 else ""
    return f"{start} Near-duplicates, which may be one person or system under two names: {named}{rest}."


def draw_agreement(agreement: WorkerAgreement) -> Chart:
    """The square as a chart; the number of a column is that of its row."""
    names = agreement.grid.names
    cells = [
        [
            None if share is None else Cell(2 * share - 1, short_share(share), f"{one} and {other}: {share:.2f}")
            for other, share in zip(names, row, strict=True)
        ]
        for one, row in zip(names, agreement.grid.rows, strict=True)
    ]
    numbered = [f"{place}. {name}" for place, name in enumerate(names, 1)]
    columns = [f"{place}" for place in range(1, len(names) + 1)]
    return draw_heatmap(
        cells, numbered, columns, beside="Worker", above="agrees with", description=explain_agreement(agreement)
    )
