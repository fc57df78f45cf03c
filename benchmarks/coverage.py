"""How often the 90 % intervals hold the truth, on simulated crowds."""

from __future__ import annotations

import argparse

import numpy as np

import crowdrank as cr
from crowdrank.simulate import bt_crowd

SETTINGS = (
    {"items": 20, "workers": 20, "votes": 2000},
    {"items": 50, "workers": 40, "votes": 1000},
    {"items": 100, "workers": 100, "votes": 10000},
    {"items": 30, "workers": 40, "votes": 3000, "spread": 0.3},
    {"items": 30, "workers": 200, "votes": 3000},
)
SPARSE = {"items": 50, "workers": 10, "votes": 200}
PERFECT = {"alpha": 1e9, "beta": 1.0, "spammers": 0.0}
MIXED = {"alpha": 8.0, "beta": 1.5, "spammers": 0.2}


def held(low, high, truth):
    return float(np.mean((np.asarray(low) <= truth + 1e-12) & (truth - 1e-12 <= np.asarray(high))))


def one(model, seed, **settings):
    crowd = bt_crowd(seed=seed, **settings)
    fitted = model.fit(crowd.judgments)
    ranking = fitted.ranking_.polars().join(crowd.gold, on="item")
    truth = ranking["grade"].to_numpy() - ranking["grade"].mean()
    true_rank = (-truth).argsort().argsort() + 1
    found = [
        held(ranking["low"], ranking["high"], truth),
        held(ranking["rank_low"], ranking["rank_high"], true_rank),
        float((ranking["rank_high"] - ranking["rank_low"]).mean()),
    ]
    workers = fitted.workers_.polars()
    if "eta" in workers.columns:
        joined = workers.join(crowd.workers, on="worker", suffix="_true")
        found.append(held(joined["eta_low"], joined["eta_high"], joined["quality_true"].to_numpy()))
        found.append(float((joined["eta_high"] - joined["eta_low"]).mean()))
    return found


def resampled(seed, **settings):
    """Of Bradley-Terry: held by the information, by quantiles of resamples, by their deviation; ranks."""
    crowd = bt_crowd(seed=seed, **settings)
    found = []
    for how in ("information", "bootstrap"):
        model = cr.BradleyTerry(intervals=how, resamples=400)
        table = model.fit(crowd.judgments).ranking_.polars().join(crowd.gold, on="item")
        truth = (table["grade"] - table["grade"].mean()).to_numpy()
        rank = (-truth).argsort().argsort() + 1
        found += [held(table["low"], table["high"], truth), held(table["rank_low"], table["rank_high"], rank)]
        found.append(float((table["rank_high"] - table["rank_low"]).mean()))
    half = 1.645 * table["stderr"]
    return [*found, held(table["score"] - half, table["score"] + half, truth)]


def resamples(seeds: int = 40) -> None:
    """Information against bootstrap, with a crowd of few votes besides."""
    print(f"\n{'bt':44} information: scores, ranks (width)   bootstrap: scores, ranks (width)   its normal form")
    for setting in (*SETTINGS, SPARSE):
        own = np.mean([resampled(seed, **setting, **PERFECT) for seed in range(seeds)], axis=0)
        words = " ".join(f"{key}={value}" for key, value in setting.items())
        by_information = f"{own[0]:.3f}  {own[1]:.3f} ({own[2]:4.1f})"
        print(
            f"{words:44} {by_information}   {own[3]:.3f}  {own[4]:.3f} ({own[5]:4.1f})   {own[6]:.3f}", flush=True
        )


def main(seeds: int = 40) -> None:
    print(f"{'model':28} {'crowd':44} scores  ranks (width)  eta (width)   over {seeds} crowds")
    for name, model, quality in (
        ("bt", cr.BradleyTerry(), PERFECT),
        ("crowd-bt", cr.CrowdBT(), MIXED),
        ("crowd-bt prior (4, 1.5)", cr.CrowdBT(prior=(4, 1.5)), MIXED),
    ):
        for setting in SETTINGS:
            found = np.mean([one(model.clone(), seed, **setting, **quality) for seed in range(seeds)], axis=0)
            eta = f"{found[3]:.3f} ({found[4]:.2f})" if len(found) > 3 else ""
            words = " ".join(f"{key}={value}" for key, value in setting.items())
            print(f"{name:28} {words:44} {found[0]:.3f}   {found[1]:.3f} ({found[2]:4.1f})   {eta}", flush=True)
    resamples(seeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--bootstrap", action="store_true", help="the resamples alone")
    given = parser.parse_args()
    (resamples if given.bootstrap else main)(given.seeds)
