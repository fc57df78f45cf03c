"""CrowdAgg by its definition, for tests: one contest after the other."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.data import to_pairs
from crowdrank.kernels.rank_distribution import rank_distribution
from crowdrank.models.lists.expected import NDCG, RBP, ExpectedLists
from crowdrank.models.lists.judge_contests import PAIRS, JudgeContests
from crowdrank.prepared.votes import Votes

MODELS = [cr.CrowdAggNDCG, cr.CrowdAggRBP]
both = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
every_pair = pytest.mark.parametrize("pair", PAIRS)


def discount(model, n):
    return 1 / np.log2(2 + np.arange(n)) if model is cr.CrowdAggNDCG else 0.95 ** np.arange(n)


def gain(model, n):
    kappa = (n - np.arange(n)) / n
    if model is cr.CrowdAggRBP:
        return 0.05 * kappa
    return (2**kappa - 1) / ((2**kappa - 1) @ discount(model, n))


def verdicts(frame, worker, items):
    """tau(s, t) of a worker: the share of the votes for s, a tie being half; NaN where there are none."""
    won, voted = np.zeros((2, len(items), len(items)))
    for row in frame.filter(worker=worker).iter_rows(named=True):
        s, t = items.index(row["left"]), items.index(row["right"])
        share = 0.5 if row["label"] == "tie" else float(row["label"] == row["left"])
        for a, b, own in ((s, t, share), (t, s, 1 - share)):
            won[a, b] += own
            voted[a, b] += 1
    return np.where(voted > 0, won / np.maximum(voted, 1), np.nan)


def chances(tau, pair):
    """P(s above t) by the formulas of contests.py."""
    n = len(tau)
    told = ~np.isnan(tau) & (tau != 0.5)
    won = np.where(told, tau, 0).sum(axis=1)
    lost = np.where(told, 1 - tau, 0).sum(axis=1)
    ahead, net = won[:, None] - won, (won - lost)[:, None] - (won - lost)
    if pair == "logistic":
        return 1 / (1 + np.exp(-net))
    if pair == "direct":
        found = tau
    elif pair == "centred":
        found = 0.5 + ahead / (2 * n)
    else:
        ahead = np.round(ahead, 9)
        found = np.where(ahead > 0, ahead / n, np.where(ahead < 0, 1 + ahead / n, 0.5))
    return np.where(told, found, 0.5)


def utilities(model, frame, pair, eta):
    """f_ij of every worker and item by algorithm 1, one contest after the other."""
    items = sorted({*frame["left"], *frame["right"]})
    found = []
    for worker in sorted(set(frame["worker"])):
        p = chances(verdicts(frame, worker, items), pair)
        p = eta[worker] * p + (1 - eta[worker]) * (1 - p)
        found.append(
            [rank_distribution(np.delete(p[j], j)) @ discount(model, len(items)) for j in range(len(items))]
        )
    return np.array(found)


def lists_of(model, frame, pair="direct", pool=True):
    votes = Votes(to_pairs(cr.read(frame)))
    contests = JudgeContests.of(votes, pair, pool=pool)
    most = {n: n - 1 for n in np.bincount(votes.nodes.query).tolist()}
    measure = NDCG(most) if model is cr.CrowdAggNDCG else RBP(0.95)
    return ExpectedLists(contests, measure, votes)
