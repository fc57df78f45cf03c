"""Small crowds of annotators for the tests, and their likelihood by enumeration of all orders."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import polars as pl

from crowdrank.data import read_features
from crowdrank.kernels.mallows import sample
from crowdrank.rankers.judged import join_judgments, read_judgments


def corpus(seed=0, queries=12, documents=5, thetas=(0.8, 0.3, -0.4), weights=(2.0, -1.0), sizes=None):
    """Features, lists of all annotators, and the true order (as grades) of each query."""
    rng = np.random.default_rng(seed)
    features, lists, gold = [], [], []
    for query in range(queries):
        n = documents if sizes is None else sizes[query % len(sizes)]
        x = rng.normal(size=(n, len(weights)))
        order = np.argsort(-(x @ weights + rng.gumbel(size=n)))
        for item in range(n):
            values = {f"f{place}": x[item, place] for place in range(len(weights))}
            features.append({"query": f"q{query:02d}", "item": f"d{item}", **values})
        for place, item in enumerate(order):
            gold.append({"query": f"q{query:02d}", "item": f"d{item}", "grade": float(n - 1 - place)})
        for worker, theta in enumerate(thetas):
            drawn = order[sample(np.array([theta]), n, rng)[0]]
            for rank, item in enumerate(drawn, 1):
                lists.append(
                    {"query": f"q{query:02d}", "worker": f"w{worker}", "item": f"d{item}", "rank": float(rank)}
                )
    return pl.DataFrame(features), pl.DataFrame(lists), pl.DataFrame(gold)


def join(features, *tables, **given):
    """The judged documents of frames."""
    return join_judgments(read_features(features), read_judgments(list(tables)), **given)


def says(statements, number, size):
    """The pairs (better, worse) that statement ``number`` orders, the documents below included."""
    rows = slice(statements.start[number], statements.start[number + 1])
    level = dict(zip(statements.document[rows].tolist(), statements.level[rows].tolist(), strict=True))
    if statements.below[number]:
        level = {**dict.fromkeys(range(size), max(level.values()) + 1), **level}
    return [(x, y) for x, y in permutations(level, 2) if level[x] < level[y]], level


def statement_distances(level):
    """The distances of all statements with these tied groups from one order of their documents."""
    groups = sorted(level.values())
    distinct = set(permutations(groups))
    return np.array([sum(own[j] < own[i] for i, j in combinations(range(len(own)), 2)) for own in distinct])


def mallows_normalizer(theta, level):
    """The sum of e^(-theta d) over all statements with these tied groups."""
    return float(np.exp(-theta * statement_distances(level)).sum())


class ExactLists:
    """The likelihood of what was said, by enumeration of all orders of each list."""

    def __init__(self, judged):
        self.judged, self.lists, said = judged, [], judged.statements
        shapes = {}
        for number, (first, last) in enumerate(pairwise(judged.documents.start)):
            orders = np.array(list(permutations(range(last - first))))
            place = np.argsort(orders, axis=1)
            distances, voices, weights, spreads = [], [], [], []
            for statement in np.flatnonzero(said.list == number):
                pairs, level = says(said, statement, last - first)
                shape = tuple(sorted(level.values()))
                shapes.setdefault(shape, statement_distances(level))
                distances.append(sum(place[:, x] > place[:, y] for x, y in pairs))
                voices.append(said.voice[statement])
                weights.append(said.weight[statement])
                spreads.append(shapes[shape])
            for pair in np.flatnonzero(said.pair_list == number):
                distances.append(place[:, said.better[pair]] > place[:, said.worse[pair]])
                voices.append(said.pair_voice[pair])
                weights.append(said.pair_weight[pair])
                spreads.append(np.array([0, 1]))
            self.lists.append((slice(first, last), orders, np.array(distances, float), voices, weights, spreads))

    def log_likelihood(self, theta, scores):
        """ln P(statements | scores) of each list; ``theta`` by voice, ``scores`` by document."""
        found = []
        for rows, orders, distances, voices, weights, spreads in self.lists:
            own = scores[rows][orders]
            places = own - np.log(np.cumsum(np.exp(own)[:, ::-1], axis=1)[:, ::-1])
            total = places.sum(axis=1)
            for distance, voice, weight, spread in zip(distances, voices, weights, spreads, strict=True):
                log_z = np.log(np.exp(-theta[voice] * spread).sum())
                total = total + weight * (-theta[voice] * distance - log_z)
            found.append(np.log(np.exp(total - total.max()).sum()) + total.max())
        return np.array(found)
