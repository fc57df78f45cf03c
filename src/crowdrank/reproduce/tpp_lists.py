"""Figure 4 of Wang et al., Blind Men and The Elephant: lists by 25 retrieval systems, and pairs made from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crowdrank.data import Judgments, Pairs, Rankings, Scored, read, read_gold, read_ranking, to_pairs
from crowdrank.errors import InputError, Remedy
from crowdrank.measures import evaluate
from crowdrank.models.registry import make
from crowdrank.progress import in_steps
from crowdrank.reproduce.result import PaperTable

MEASURES = ("nDCG@2", "nDCG@4", "nDCG@6", "nDCG@8")
SHORT = 8
"""The paper keeps the queries with at most this many documents."""
SPARSITIES = (1.0, 0.2)
LISTS: dict[str, tuple[str, dict[str, Any]]] = {"TRM": ("trm", {}), "BordaCount": ("borda", {})}
PAIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "CrowdBT": ("crowd-bt", {}),
    "TPP, 1 domain": ("tpp", {"domains": 1}),
    "TPP, 3 domains": ("tpp", {"domains": 3}),
    "TPP, 5 domains": ("tpp", {"domains": 5}),
}
MOST_VOTES = {"CrowdBT": 1_000_000}
"""A method is left out if there are more votes than this."""


def runs(data: Path | None) -> tuple[Rankings, Scored]:
    """The systems' lists, with unranked documents below, and the grades of the documents."""
    folder = (data or Path("../shared/data")) / "MQ2008-agg"
    files = sorted(folder.glob("S*.txt.gz"))
    if not files:
        raise InputError(
            "The MQ2008-agg data was not found.", source=str(folder),
            hint=("Name the folder that holds MQ2008-agg/: ", Remedy("data", "DIR"), ", or set CROWDRANK_DATA."),
        )  # fmt: skip
    lists = read(files)
    assert isinstance(lists, Rankings)
    return lists, read_gold(files)


def short(lists: Rankings, most: int = SHORT) -> Rankings:
    """The lists of the queries with at most ``most`` documents."""
    assert lists.query is not None
    documents = np.unique(np.stack([lists.query, lists.item]), axis=1)[0]
    kept = np.bincount(documents)[lists.query] <= most
    own, code = np.unique(lists.list[kept], return_inverse=True)
    return replace(lists.take(kept), list=code.astype(np.int32), lists=len(own)).compact()


def sparse(pairs: Pairs, ratio: float, seed: int) -> Pairs:
    """A random share, rounded down, of each system's pairs within a query."""
    assert pairs.query is not None
    assert pairs.worker is not None
    cell = np.unique(np.stack([pairs.query, pairs.worker]), axis=1, return_inverse=True)[1].ravel()
    order = np.lexsort((np.random.default_rng(seed).random(pairs.rows), cell))
    size = np.bincount(cell)
    place = np.arange(pairs.rows) - np.repeat(np.cumsum(size) - size, size)
    return pairs.take(np.sort(order[place < np.floor(ratio * size + 1e-9)[cell[order]]]))


def _ndcg(method: tuple[str, dict[str, Any]], table: Judgments, gold: Scored) -> tuple[float, ...]:
    """The measures over the queries of the table."""
    name, parameters = method
    ranking = make(name, parameters).fit(table).ranking_.polars()
    known = Scored(gold.frame.join(ranking.select("query").unique(), on="query", how="semi"))
    found = evaluate(read_ranking(ranking.select("query", "item", "score")), known, " ".join(MEASURES))
    return tuple(found[measure] for measure in MEASURES)


def _rows(name: str, lists: Rankings, gold: Scored, seeds: int) -> tuple[list[tuple[Any, ...]], list[str]]:
    """The rows of one data set, and a remark for each method left out."""
    pairs = to_pairs(lists, ties="drop")
    assert isinstance(pairs, Pairs)
    drawn: dict[str, list[Judgments]] = {"lists": [lists]}
    for ratio in SPARSITIES:
        drawn[f"SR {ratio:g}"] = [pairs] if ratio == 1 else [sparse(pairs, ratio, seed) for seed in range(seeds)]
    able, left = [], []
    for kind, tables in drawn.items():
        for method, how in (LISTS if kind == "lists" else PAIRS).items():
            if tables[0].rows > MOST_VOTES.get(method, np.inf):
                left.append(f"{method} on the {tables[0].rows:,} pairs of {name}, {kind}, takes too long.")
            else:
                able.append((kind, method, how))

    def row(cell: tuple[str, str, tuple[str, dict[str, Any]]]) -> tuple[Any, ...]:
        kind, method, how = cell
        found = np.mean([_ndcg(how, table, gold) for table in drawn[kind]], axis=0)
        return name, kind, method, *found.tolist()

    return in_steps(able, row, lambda cell: f"{cell[0]}, {cell[1]}"), left


def figure4(seeds: int, data: Path | None) -> PaperTable:
    """nDCG of aggregated lists, and of pairs made from them."""
    lists, gold = runs(data)
    few = short(lists)
    sets = ((f"at most {SHORT} documents", few, seeds), ("all queries", lists, 1))
    found = in_steps(sets, lambda own: _rows(own[0], own[1], gold, own[2]), lambda own: own[0])
    rows, left = [row for own, _ in found for row in own], [remark for _, own in found for remark in own]
    queries = [0 if own.index.queries is None else len(own.index.queries) for own in (few, lists)]
    return PaperTable(
        f"TPP figure 4: MQ2008-agg, {queries[0]} queries of at most {SHORT} documents and all {queries[1]}",
        ("queries", "data", "method", *MEASURES),
        3,
        rows,
        [
            f"SR: the share kept of each system's pairs within a query. Below 1, the figure is the mean of "
            f"{seeds} draws for the short lists, and of one draw for all queries.",
            "The paper shows a plot without numbers. Its data has the queries with at most 8 documents and no "
            'ties, and its "NDCG@n" sums the ranks below n. Here nDCG is the standard measure, with gains '
            "2^grade - 1, and a query without a relevant document counts 0.",
            "A document that a system does not rank is below those that it ranks; two such form no pair.",
            *left,
        ],
    )
