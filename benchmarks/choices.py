"""Choices from a set and lists by honest workers, spammers and liars: crowd-luce beside other models.

Workers repeat lists of Plackett-Luce with probability eta and reverse them otherwise. Of 20 workers about 70 % are
honest (eta from Beta(8, 1)), 20 % spammers (1/2) and 10 % liars (1 - eta). Standard errors are over draws.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

import crowdrank as cr
from crowdrank.measures import kendall_tau

SETTINGS = (
    {"size": 3, "form": "best", "each": 40},
    {"size": 4, "form": "best", "each": 10},
    {"size": 4, "form": "best", "each": 40},
    {"size": 4, "form": "worst", "each": 40},
    {"size": 4, "form": "both", "each": 40},
    {"size": 6, "form": "best", "each": 40},
    {"size": 5, "form": "list", "each": 10},
)
ITEMS, WORKERS, SPREAD = 20, 20, 1.2
MODELS = {
    "crowd-luce": (cr.CrowdLuce, "all"),
    "plackett-luce": (cr.PlackettLuce, "all"),
    "crowd-bt": (cr.CrowdBT, "all"),
    "crowd-bt, adjacent": (cr.CrowdBT, "adjacent"),
}
RANKS = {
    "best": lambda size: [1] + [2] * (size - 1),
    "worst": lambda size: [1] * (size - 1) + [2],
    "both": lambda size: [1] + [2] * (size - 2) + [3],
    "list": lambda size: list(range(1, size + 1)),
}


def draw(seed, *, size, form, each):
    """True scores, true qualities, and the lists."""
    rng = np.random.default_rng([seed, size, each, list(RANKS).index(form)])
    scores = rng.normal(0, SPREAD, ITEMS)
    kind, honest = rng.random(WORKERS), rng.beta(8, 1, WORKERS)
    eta = np.where(kind < 0.2, 0.5, np.where(kind < 0.3, 1 - honest, honest))
    rows, ranks = [], RANKS[form](size)
    for worker, own in enumerate(eta):
        for number in range(each):
            shown = rng.permutation(ITEMS)[:size]
            order = shown[np.argsort(-(scores[shown] + rng.gumbel(size=size)))]
            order = order if rng.random() < own else order[::-1]
            rows += [
                (f"w{worker:02d}", number, f"i{item:02d}", rank) for item, rank in zip(order, ranks, strict=True)
            ]
    return scores, eta, pl.DataFrame(rows, schema=["worker", "list", "item", "rank"], orient="row")


def share(low, high, truth):
    return float(np.mean((low.to_numpy() <= truth) & (truth <= high.to_numpy())))


def measure(seed, setting):
    """By model: tau to the true order, coverage of the scores and, if there is an eta, of the qualities."""
    scores, eta, frame = draw(seed, **setting)
    found = {}
    for name, (model, pairs) in MODELS.items():
        fitted = model().fit(cr.read(frame, pairs=pairs))
        ranking = fitted.ranking_.polars().sort("item")
        seen = np.array([int(item[1:]) for item in ranking["item"]])
        truth = scores[seen] - scores[seen].mean()
        workers = fitted.workers_.polars().sort("worker")
        of_eta = share(workers["eta_low"], workers["eta_high"], eta) if "eta" in workers.columns else np.nan
        tau = kendall_tau(ranking["score"].to_numpy(), truth)
        found[name] = (tau, share(ranking["low"], ranking["high"], truth), of_eta)
    return found


def words(values):
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def main(arguments=()):
    given = argparse.ArgumentParser()
    given.add_argument("--draws", type=int, default=30)
    draws = given.parse_args(arguments).draws
    for setting in SETTINGS:
        found = [measure(seed, setting) for seed in range(draws)]
        print(f"{setting}, {draws} draws")
        for name in MODELS:
            tau, held, of_eta = np.array([one[name] for one in found]).T
            less = np.array([one["crowd-luce"][0] for one in found]) - tau
            print(
                f"  {name:20} tau {words(tau)}  crowd-luce has {words(less)} more  low tau {tau.min():.2f}  "
                f"coverage: scores {words(held)}, eta {words(of_eta)}",
                flush=True,
            )


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
