"""How often the 90 % intervals hold the truth, on simulated crowds."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

import numpy as np
import polars as pl

import crowdrank as cr
from crowdrank.simulate import Crowd, bt_crowd, judge_crowd

SETTINGS = (
    {"items": 20, "workers": 20, "votes": 2000},
    {"items": 50, "workers": 40, "votes": 1000},
    {"items": 100, "workers": 100, "votes": 10000},
    {"items": 30, "workers": 40, "votes": 3000, "spread": 0.3},
    {"items": 30, "workers": 200, "votes": 3000},
)
FRESH = (
    {"items": 40, "workers": 25, "votes": 800},
    {"items": 80, "workers": 150, "votes": 6000},
    {"items": 25, "workers": 400, "votes": 4000},
    {"items": 12, "workers": 60, "votes": 900},
    {"items": 30, "workers": 100, "votes": 2000, "spread": 3.0},
)
"""Sizes that no setting was chosen on."""
FEW = (
    {"items": 20, "workers": 20, "votes": 100, "spread": 3.0},
    {"items": 20, "workers": 20, "votes": 300, "spread": 3.0},
    {"items": 20, "workers": 20, "votes": 1000, "spread": 3.0},
    {"items": 15, "workers": 20, "votes": 60, "spread": 2.5},
    {"items": 60, "workers": 20, "votes": 600, "spread": 4.0},
    {"items": 50, "workers": 20, "votes": 200, "spread": 1.5},
    {"items": 200, "workers": 20, "votes": 2000, "spread": 1.5},
    {"items": 35, "workers": 20, "votes": 500, "spread": 1.0},
    {"items": 25, "workers": 20, "votes": 2500, "spread": 1.0},
    {"items": 40, "workers": 20, "votes": 400, "spread": 0.3},
    {"items": 40, "workers": 20, "votes": 4000, "spread": 0.3},
)
"""Crowds with few votes, and others beside them in which intervals should not become wider."""
FEW_FIRST = 20_000
"""The first seed of these. Their constants were chosen on smaller ones."""
SPARSE = {"items": 50, "workers": 10, "votes": 200}
PERFECT = {"alpha": 1e9, "beta": 1.0, "spammers": 0.0}
BETA = {"alpha": 8.0, "beta": 1.5, "spammers": 0.0}
MIXED = {"alpha": 8.0, "beta": 1.5, "spammers": 0.2}
SHARP = {"lapses": 0.0, "bias": 0.0, "sides": 0.0, "ties": 0.0}
FIRST = 300
"""The first seed. Settings were chosen on smaller ones."""
PARAMETERS = ("eta", "slope", "position", "threshold")


def thurstone_crowd(*, seed, items, workers, votes, spread=1.5):
    """Votes of perfect workers who perceive each item with a normal error of variance 1."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, spread, items)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    ahead = scores[left] - scores[right] + np.sqrt(2) * rng.normal(size=votes) > 0
    names = np.array([f"i{place:03d}" for place in range(items)])
    worker = rng.integers(0, workers, votes).astype(str)
    label = np.where(ahead, names[left], names[right])
    votes_of = pl.DataFrame({"worker": worker, "left": names[left], "right": names[right], "label": label})
    people = pl.DataFrame({"worker": np.unique(worker)})
    return Crowd(votes_of, pl.DataFrame({"item": names, "grade": scores}), people)


def choice_crowd(*, seed, items, workers, votes, spread=1.5, shown=4):
    """Choices of the best of four items by workers of a quality: Plackett-Luce, reversed with the chance 1 - eta.

    A choice counts as three votes.
    """
    rng = np.random.default_rng(seed)
    scores, choices = rng.normal(0, spread, items), votes // (shown - 1)
    eta = rng.beta(BETA["alpha"], BETA["beta"], workers)
    drawn = np.argsort(rng.random((choices, items)), axis=1)[:, :shown]
    noisy = scores[drawn] + rng.gumbel(size=drawn.shape)
    worker = rng.integers(0, workers, choices)
    faithful = rng.random(choices) < eta[worker]
    best = np.where(faithful, noisy.argmax(axis=1), noisy.argmin(axis=1))
    rank = np.where(np.arange(shown) == best[:, None], 1, 2)
    names = np.array([f"i{place:03d}" for place in range(items)])
    lists = pl.DataFrame({
        "list": np.repeat(np.arange(choices), shown).astype(str),
        "worker": np.repeat(worker, shown).astype(str),
        "item": names[drawn.ravel()],
        "rank": rank.ravel(),
    })  # fmt: skip
    people = pl.DataFrame({"worker": np.arange(workers).astype(str), "quality": eta})
    return Crowd(lists, pl.DataFrame({"item": names, "grade": scores}), people)


def held(low, high, truth):
    return float(np.mean((np.asarray(low) <= truth + 1e-12) & (truth - 1e-12 <= np.asarray(high))))


def _unit(model, workers):
    """The slope of the average judge, which is the unit of scores."""
    if "slope" not in workers.columns:
        return 1.0
    if isinstance(model, cr.VarianceBT) and not model.signed:
        return float(np.exp(workers["slope"].log().mean()))
    return workers["slope"].mean()


def one(model, crowd):
    """How often scores, ranks and worker parameters lie in their intervals, and how wide those are."""
    fitted = model.fit(crowd.judgments)
    ranking = fitted.ranking_.polars().join(crowd.gold, on="item")
    unit = _unit(model, crowd.workers)
    truth = unit * (ranking["grade"].to_numpy() - ranking["grade"].mean())
    true_rank = (-truth).argsort().argsort() + 1
    found = [
        held(ranking["low"], ranking["high"], truth),
        held(ranking["rank_low"], ranking["rank_high"], true_rank),
        float((ranking["rank_high"] - ranking["rank_low"]).mean()),
        float((ranking["high"] - ranking["low"]).mean()),
    ]
    truths = crowd.workers.rename({"quality": "eta"} if "quality" in crowd.workers.columns else {})
    if "slope" in truths.columns:
        truths = truths.with_columns(pl.col("slope") / unit)
    joined = fitted.workers_.polars().join(truths, on="worker", suffix="_true")
    for column in PARAMETERS:
        known = f"{column}_true" in joined.columns and f"{column}_low" in joined.columns
        own = (
            held(joined[f"{column}_low"], joined[f"{column}_high"], joined[f"{column}_true"].to_numpy())
            if known
            else np.nan
        )
        found.append(own)
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


def graded_crowd(seed, *, items=400, workers=40, each=6, pull=0.0):
    """Labels of workers with a bias, a slope and a noise of their own, as the model ordinal has them, in tenths. A
    share ``pull`` of the labels is the middle of the scale instead. The truth is what an average worker
    would say without noise and pull."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(5, 1.5, items)
    bias, slope, noise = rng.normal(0, 0.5, workers), rng.normal(1, 0.2, workers), rng.uniform(0.8, 2, workers)
    item = np.repeat(np.arange(items), each)
    worker = np.concatenate([rng.choice(workers, each, replace=False) for _ in range(items)])
    said = 5 + bias[worker] + slope[worker] * (truth[item] - 5) + noise[worker] * rng.normal(size=len(item))
    said = np.where(rng.random(len(item)) < pull, 5.0, np.clip(said, 0, 10)).round(1)
    labels = pl.DataFrame({"item": [f"i{i}" for i in item], "worker": [f"w{w}" for w in worker], "label": said})
    gold = 5 + bias.mean() + slope.mean() * (truth - 5)
    return labels, pl.DataFrame({"item": [f"i{i}" for i in range(items)], "gold": gold})


def graded(seeds: int = 20) -> None:
    """ordinal: how often intervals hold the truth, with their width: as the model has them, with both readings of
    the scale, and with 50 known labels, on the other items."""
    for pull in (0.0, 0.2, 0.4):
        rows = []
        for seed in range(seeds):
            labels, gold = graded_crowd(seed, pull=pull)
            for calibrate, known in ((False, None), (True, None), (True, gold.head(50))):
                model = cr.OrdinalLabels(calibrate=calibrate).fit(labels, anchors=known)
                table = model.ranking_.polars().join(gold.tail(len(gold) - 50), on="item")
                rows += [held(table["low"], table["high"], table["gold"].to_numpy())]
                rows += [float((table["high"] - table["low"]).mean())]
        found = np.reshape(rows, (seeds, 6)).mean(axis=0)
        print(f"| {pull:g} |" + "".join(f" {found[k]:.3f} ({found[k + 1]:.2f}) |" for k in (0, 2, 4)), flush=True)


MODELS = (
    ("bt", cr.BradleyTerry(), bt_crowd, PERFECT),
    ("thurstone", cr.Thurstone(), thurstone_crowd, {}),
    ("variance-bt, signed", cr.VarianceBT(signed=True), judge_crowd, SHARP),
    ("variance-bt", cr.VarianceBT(), judge_crowd, {**SHARP, "sharpness": 0.25}),
    ("judge-bt", cr.JudgeBT(), judge_crowd, {}),
    ("crowd-bt", cr.CrowdBT(), bt_crowd, BETA),
    ("crowd-bt, paper's prior", cr.CrowdBT(prior=(1, 1), regularization=0.5), bt_crowd, BETA),
    ("crowd-bt, a fifth spammers", cr.CrowdBT(), bt_crowd, MIXED),
    ("crowd-luce, best of 4", cr.CrowdLuce(), choice_crowd, {}),
)


def main(seeds: int = 40, names: Collection[str] = ()) -> None:
    """Each model on crowds drawn from it, as a table in Markdown, or some by name. The errors are over crowds."""
    columns = ["model", "items", "workers", "votes", "spread", "scores (width)", "ranks (width)", *PARAMETERS]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for name, model, draw, settings in MODELS:
        if names and name not in names:
            continue
        for setting in (*SETTINGS, *FRESH):
            crowds = (draw(seed=FIRST + seed, **setting, **settings) for seed in range(seeds))
            rows = np.array([one(model.clone(), crowd) for crowd in crowds])
            found, error = rows.mean(axis=0), rows[:, 0].std(ddof=1) / np.sqrt(seeds)
            size = [str(setting.get(key, 1.5)) for key in ("items", "workers", "votes", "spread")]
            own = ["-" if np.isnan(value) else f"{value:.3f}" for value in found[4:]]
            scores = f"{found[0]:.3f} ± {error:.3f} ({found[3]:.2f})"
            cells = [name, *size, scores, f"{found[1]:.3f} ({found[2]:.1f})", *own]
            print("| " + " | ".join(cells) + " |", flush=True)


def few(seeds: int = 40) -> None:
    """Models whose workers are alike with few votes: by the information alone, and with what it leaves out."""
    print("| model | items | votes | spread | information (width) | intervals (width) | ranks (width) |")
    print("|---|---|---|---|---|---|---|")
    for name, model, draw, settings in MODELS[:2]:
        for setting in FEW:
            crowds = [draw(seed=FEW_FIRST + seed, **setting, **settings) for seed in range(seeds)]
            rows = np.array([_few(model.clone(), crowd) for crowd in crowds])
            error = rows.std(axis=0, ddof=1) / np.sqrt(seeds)
            own = rows.mean(axis=0)
            size = [str(setting[key]) for key in ("items", "votes", "spread")]
            cells = [f"{own[k]:.3f} ± {error[k]:.3f} ({own[k + 1]:.2f})" for k in (0, 2)]
            print(f"| {' | '.join([name, *size, *cells])} | {own[4]:.3f} ({own[5]:.1f}) |", flush=True)


def _few(model, crowd):
    score, rank, rank_width, width, *_ = one(model, crowd)
    table = model.ranking_.polars().join(crowd.gold, on="item")
    truth = (table["grade"] - table["grade"].mean()).to_numpy()
    half = 1.645 * table["stderr"]
    return [
        held(table["score"] - half, table["score"] + half, truth),
        2 * half.mean(),
        score,
        width,
        rank,
        rank_width,
    ]


HALVED = (cr.BradleyTerry(), cr.VarianceBT(), cr.JudgeBT(), cr.CrowdBT())
REAL = {
    "readinglevel/pairs.csv": {},
    "llmfao/crowd-comparisons.csv": {"worker": "worker", "left": "left", "right": "right", "winner": "winner"},
    "mtbench-human/human.csv": {"worker": "judge", "left": "model_a", "right": "model_b", "winner": "winner"},
}


def halves(seeds: int, data: Path) -> None:
    """How often the difference of two scores, each from half of the votes, is within its 90 % interval."""
    print("| votes | model | within (width) |\n|---|---|---|")
    for file, columns in REAL.items():
        votes = cr.read(data / file, columns=columns or None)
        for model in HALVED:
            rows = np.array([_halves(model.clone(), votes, seed) for seed in range(seeds)])
            error = rows[:, 0].std(ddof=1) / np.sqrt(seeds)
            cells = f"{rows[:, 0].mean():.3f} ± {error:.3f} ({rows[:, 1].mean():.2f})"
            print(f"| {file.split('/')[0]} | {model.name} | {cells} |", flush=True)


def _halves(model, votes, seed):
    half = np.random.default_rng(seed).permutation(votes.rows) % 2 == 0
    one, other = (model.clone().fit(votes.take(rows).compact()).ranking_.polars() for rows in (half, ~half))
    both = one.join(other, on="item", suffix="_other")
    wide = 1.645 * (both["stderr"] ** 2 + both["stderr_other"] ** 2).sqrt()
    return ((both["score"] - both["score_other"]).abs() <= wide).mean(), (one["high"] - one["low"]).mean()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--bootstrap", action="store_true", help="information and resamples of bt instead")
    parser.add_argument("--halves", type=Path, help="halves of the real votes in this folder instead")
    parser.add_argument("--few", action="store_true", help="bt and thurstone with few votes instead")
    parser.add_argument("--labels", action="store_true", help="ordinal instead")
    given = parser.parse_args()
    if given.halves:
        halves(given.seeds, given.halves)
    else:
        (resamples if given.bootstrap else few if given.few else graded if given.labels else main)(given.seeds)
