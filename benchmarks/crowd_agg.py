"""CrowdAgg against the number of items, beside algorithm 2 of its paper.

As many workers as items, 10 judged pairs each. A round of CrowdAgg needs the expected discount of every item
on every worker's list. Ours computes those of the judged items; all others have one and the same. Algorithm 2
computes the distribution of each: it is timed on a sample of (worker, item) cells and multiplied up.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.timing import best
from crowdrank.data import Floats, Pairs
from crowdrank.kernels.rank_distribution import rank_distribution_halves
from crowdrank.models.lists.crowd_agg import CrowdAggNDCG
from crowdrank.models.lists.expected import NDCG, ExpectedLists
from crowdrank.models.lists.judge_contests import JudgeContests
from crowdrank.prepared.votes import Votes

PAIRS = 10
SIZES = (10, 100, 1_000, 10_000)
SAMPLE = 50
ETA = 0.8


def crowd(items: int) -> Pairs:
    """Worker k is asked about k and the next ten items of a shuffled round, and is right in four of five."""
    rng = np.random.default_rng(items)
    order = rng.permutation(items)
    worker = np.repeat(np.arange(items), PAIRS)
    place = worker + np.tile(np.arange(PAIRS), items) % (items - 1)
    first, second = order[place % items], order[(place + 1) % items]
    better, worse = np.minimum(first, second), np.maximum(first, second)
    wrong = rng.random(len(worker)) > ETA
    better, worse = np.where(wrong, worse, better), np.where(wrong, better, worse)
    return Pairs.from_votes(
        winner=[f"i{code:05d}" for code in better],
        loser=[f"i{code:05d}" for code in worse],
        worker=[f"w{code:05d}" for code in worker],
    )


def wins(contests: JudgeContests, worker: int, node: int, n: int) -> Floats:
    """The chances of an item to beat each other one on a worker's list."""
    own = contests.cell_judge[contests.first] == worker
    i, j = contests.cell_node[contests.first[own]], contests.cell_node[contests.second[own]]
    won, lost = contests.wins[own], contests.losses[own]
    chance = (won + ETA * (lost - won)) / (won + lost)  # of j to win
    found = np.full(n, 0.5)
    found[j[i == node]] = 1.0 - chance[i == node]
    found[i[j == node]] = chance[j == node]
    return np.delete(found, node)


class Line(NamedTuple):
    """Judged cells; seconds of a fit, a round, and algorithm 2 for one cell; how far the two differ at most."""

    cells: int
    fit: float
    round: float
    halves: float
    difference: float


def measured(items: int) -> Line:
    """All of a number of items."""
    pairs = crowd(items)
    votes = Votes(pairs)
    fit, _ = best(lambda: CrowdAggNDCG().fit(pairs))
    contests = JudgeContests.of(votes, "direct")
    measure = NDCG({items: max(cells.contests for cells in contests.groups)})
    lists, eta = ExpectedLists(contests, measure, votes), np.full(items, ETA)
    turn, values = best(lambda: lists.values(eta))
    seconds, worst = [], 0.0
    rng = np.random.default_rng(0)
    for _ in range(SAMPLE):
        group = int(rng.integers(len(contests.groups)))
        cell = int(rng.choice(contests.groups[group].cell))
        others = wins(contests, int(contests.cell_judge[cell]), int(contests.cell_node[cell]), items)
        took, ranks = best(partial(rank_distribution_halves, others))
        seconds.append(took)
        theirs = ranks @ measure.discounts(items) / measure.level(items) - 1.0
        worst = max(worst, abs(theirs - values.cells[cell]))
    cells = sum(len(cells.cell) for cells in contests.groups)
    return Line(cells, fit, turn, float(np.mean(seconds)), worst)


def main() -> None:
    """Print the table."""
    print(
        "| items | judged cells | fit, s | round, s | algorithm 2, s | ratio | judged cells alone | difference |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for items in SIZES:
        line = measured(items)
        total = line.halves * items * items
        print(
            f"| {items:,} | {line.cells:,} | {line.fit:.3f} | {line.round:.4f} | {total:,.2f} | "
            f"{total / line.round:,.0f} | {line.halves * line.cells / line.round:,.0f} | {line.difference:.0e} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
