"""Every model's answers on a few small inputs of each kind, to be the same after a change of the code.

    python -m benchmarks.answers write before.json
    python -m benchmarks.answers compare before.json after.json

``write`` fits every registered model to pairs with ties and queries, to partial lists and to labels, with fixed
seeds, and writes scores, intervals, ranks, workers, further tables, log likelihoods and predictions. ``compare``
lists the numbers that differ by more than 1e-9. For models that draw random numbers it writes the mean and the
standard deviation over 20 seeds; these are equal if the means agree within 4 Monte Carlo standard errors.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import crowdrank as cr
from crowdrank.models import entries

TOLERANCE = 1e-9
SEEDS = 20
ERRORS = 4.0

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "bt": [
        {"regularization": 0.5},
        {"regularization": 0.5, "ties": "half"},
        {"ties": "davidson", "position": "shared"},
        {"ties": "rao-kupper-by-worker"},
    ],
    "thurstone": [{"regularization": 0.5}],
    "crowd-bt": [
        {"prior": (1, 1), "regularization": 0.5},
        {"start": "agreed", "ties": "half"},
        {"position": "by-worker"},
    ],
    "variance-bt": [{"signed": True}, {"slope_sd": 0.4, "regularization": 0.5}],
    "judge-bt": [{"position": "none", "ties": "half"}],
    "mpm": [{"adherence_sd": 0.3}],
    "crowdagg-ndcg": [{"pair": "logistic"}, {"pool": False}],
    "st-agg": [{"measure": "rank"}, {"measure": "rbp", "pair": "centred"}],
    "svp": [{"differences": "logodds"}],
    "plackett-luce": [{"regularization": 0.5}, {"direction": "auto"}, {"slope": "by-worker"}],
    "mallows": [{"dispersion": "shared"}],
    "dawid-skene": [{"shrinkage": 0}],
    "glad": [{"shares": "fitted"}],
    "tpp": [{"domains": 1}, {"domains": 2}],
    "elo": [{"initial": 1500}],
    "crowd-lists": [{"quality": "equal"}],
}
"""Settings besides the defaults."""

STOCHASTIC: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "pairs": [
        ("bt", {"intervals": "bootstrap", "resamples": 200, "regularization": 0.5}),
        ("crowd-bt", {"intervals": "bootstrap-workers", "resamples": 40}),
        ("elo", {"orders": 10}),
        ("trueskill", {"orders": 10}),
        ("tpp", {"inference": "gibbs", "domains": 2}),
    ],
    "lists": [("trm", {"inference": "gibbs", "rounds": 40})],
}


def votes(seed: int, items: int, workers: int, count: int, queries: int, ties: float) -> pl.DataFrame:
    """Votes of workers of different quality, with ties."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1.2, (max(queries, 1), items))
    quality = rng.uniform(0.55, 1.0, workers)
    query, worker = rng.integers(0, max(queries, 1), count), rng.integers(0, workers, count)
    left = rng.integers(0, items, count)
    right = (left + rng.integers(1, items, count)) % items
    ahead = 1 / (1 + np.exp(scores[query, right] - scores[query, left]))
    wins = rng.random(count) < quality[worker] * ahead + (1 - quality[worker]) * (1 - ahead)
    label = [f"i{code}" for code in np.where(wins, left, right)]
    columns: dict[str, Any] = {
        "worker": [f"w{code}" for code in worker],
        "left": [f"i{code}" for code in left],
        "right": [f"i{code}" for code in right],
        "label": np.where(rng.random(count) < ties, "tie", label),
    }
    return pl.DataFrame(columns | ({"query": [f"q{code}" for code in query]} if queries else {}))


def lists(seed: int, items: int, workers: int, queries: int, most: int, ties: float, below: bool) -> pl.DataFrame:
    """Two lists of each worker about each query, of some of the items, with ties."""
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(max(queries, 1)):
        scores = rng.normal(0, 1.5, items)
        for worker in range(workers):
            for number in range(2):
                seen = np.sort(rng.permutation(items)[: rng.integers(3, most + 1)])
                order = seen[np.argsort(-(scores[seen] + rng.gumbel(0, 0.5 + worker / workers, len(seen))))]
                rank = np.cumsum(np.concatenate([[1], rng.random(len(order) - 1) > ties]))
                rest = [(item, None) for item in sorted(set(range(items)) - set(seen.tolist()))] if below else []
                rows += [
                    (f"q{query}", f"w{worker}", f"l{number}", f"i{item}", None if place is None else int(place))
                    for item, place in [*zip(order, rank, strict=True), *rest]
                ]
    frame = pl.DataFrame(rows, schema=["query", "worker", "list", "item", "rank"], orient="row")
    return frame if queries else frame.drop("query")


def labels(seed: int, items: int, workers: int, count: int, queries: int, classes: int) -> pl.DataFrame:
    """Labels by workers of different quality."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, classes + 1, (max(queries, 1), items))
    quality = rng.uniform(0.5, 0.95, workers)
    query, item = rng.integers(0, max(queries, 1), count), rng.integers(0, items, count)
    worker = rng.integers(0, workers, count)
    right = rng.random(count) < quality[worker]
    columns: dict[str, Any] = {
        "worker": [f"w{code}" for code in worker],
        "item": [f"i{code:02d}" for code in item],
        "label": np.where(right, truth[query, item], rng.integers(1, classes + 1, count)),
    }
    return pl.DataFrame(columns | ({"query": [f"q{code}" for code in query]} if queries else {}))


INPUTS: dict[str, tuple[str, pl.DataFrame]] = {
    "votes": ("pairs", votes(11, 12, 8, 700, 0, 0.1)),
    "votes in queries": ("pairs", votes(12, 8, 9, 900, 3, 0.0)),
    "lists": ("rankings", lists(5, 8, 7, 0, 6, 0.15, below=False)),
    "lists with the rest below": ("rankings", lists(6, 7, 6, 2, 5, 0.0, below=True)),
    "labels": ("ratings", labels(7, 25, 8, 400, 0, 4)),
    "labels in queries": ("ratings", labels(8, 12, 8, 500, 2, 2)),
}


def numbers(frame: pl.DataFrame) -> dict[str, Any]:
    """A table by its columns; floats stay as they are."""
    return {name: frame[name].to_list() for name in frame.columns}


def answer(model: Any, given: pl.DataFrame) -> dict[str, Any]:
    """Everything that a fitted model says."""
    tables = {"ranking": model.ranking_, "workers": model.workers_}
    tables |= {name: getattr(model, f"{name}_") for name in ("labels", "queries", "skills")}
    found: dict[str, Any] = {
        name: numbers(
            table.polars().sort(
                [key for key in ("query", "item", "worker", "domain") if key in table.polars().columns]
            )
        )
        for name, table in tables.items()
        if table is not None
    }
    found["fit"] = {"log_likelihood": model.fit_.log_likelihood, "converged": model.fit_.converged}
    found["notes"] = sorted({note.code for note in model.fit_.warnings})
    if model.predicts and "left" in given.columns:
        found["probabilities"] = model.predict_proba(given.head(50)).tolist()
    if "rank" in given.columns and model.predicts_lists:
        found["list_log_likelihood"] = model.list_log_likelihood(given).tolist()
    return found


def deterministic() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every model with its default and further settings on every input that it takes."""
    for entry in entries().values():
        if entry.name == "auto":
            continue
        for name, (kind, frame) in INPUTS.items():
            if kind not in entry.kinds:
                continue
            for settings in [{}, *SETTINGS.get(entry.name, [])]:
                try:
                    model = entry.make(settings).fit(frame)
                except cr.CrowdrankError as error:
                    yield f"{entry.name} {settings} on {name}", {"error": type(error).__name__}
                    continue
                yield f"{entry.name} {settings} on {name}", answer(model, frame)
    frame = INPUTS["votes"][1]
    gold = frame.select(left="left", right="right", label=pl.max_horizontal("left", "right")).head(3)
    for name in ("bt", "crowd-bt", "judge-bt", "tpp"):
        yield f"{name} with gold pairs", answer(cr_make(name, {}).fit(frame, anchors=gold), frame)
    yield "auto on votes", answer(cr.Auto().fit(frame), frame)


def cr_make(name: str, settings: dict[str, Any]) -> Any:
    return entries()[name].make(settings)


def stochastic() -> Iterator[tuple[str, dict[str, Any]]]:
    """The mean and the standard deviation of scores and intervals over the seeds."""
    for kind, cases in STOCHASTIC.items():
        frame = INPUTS["votes in queries" if kind == "pairs" else "lists"][1]
        for name, settings in cases:
            drawn = []
            for seed in range(SEEDS):
                table = (
                    cr_make(name, {**settings, "seed": seed}).fit(frame).ranking_.polars().sort("query", "item")
                )
                drawn.append(table.select("score", "stderr").to_numpy())
            values = np.array(drawn)
            yield (
                f"{name} {settings}",
                {"mean": values.mean(axis=0).tolist(), "sd": values.std(axis=0, ddof=1).tolist()},
            )


def differences(one: Any, other: Any, place: str) -> Iterator[tuple[float, str]]:
    """Where two answers differ, and by how much."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(set(one) | set(other)):
            if key not in one or key not in other:
                yield np.inf, f"{place}.{key} is in one only"
            else:
                yield from differences(one[key], other[key], f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differences(a, b, f"{place}[{number}]")
    elif isinstance(one, float | int) and isinstance(other, float | int):
        if one != other and not (one != one and other != other):
            yield abs(one - other), f"{place}: {one!r} and {other!r}"
    elif one != other:
        yield np.inf, f"{place}: {one!r} and {other!r}"


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; how many answers do."""
    differ = 0
    for name in sorted(set(before["deterministic"]) | set(after["deterministic"])):
        pair = (before["deterministic"].get(name), after["deterministic"].get(name))
        found = [own for own in differences(*pair, "") if own[0] > TOLERANCE]
        if found:
            differ += 1
            print(f"{name}: {len(found)} numbers differ, by up to {max(own[0] for own in found):.2e}")
            for _, words in sorted(found, reverse=True)[:3]:
                print(f"    {words}")
    for name, own in before["stochastic"].items():
        there = after["stochastic"][name]
        means, sds = (np.array([part[key] for part in (own, there)]) for key in ("mean", "sd"))
        error = np.sqrt((sds**2).sum(axis=0) / SEEDS)
        with np.errstate(invalid="ignore", divide="ignore"):
            away = np.abs(means[0] - means[1]) / np.maximum(error, 1e-12)
        worst = float(np.nanmax(np.where(np.isfinite(means).all(axis=0), away, 0.0)))
        same = float(np.nanmax(np.abs(means[0] - means[1])))
        print(f"{name}: means within {worst:.1f} Monte Carlo errors (at most {same:.2e} apart)")
        differ += worst > ERRORS
    print(
        f"{len(before['deterministic'])} answers and {len(before['stochastic'])} stochastic ones; {differ} differ."
    )
    return differ


def main() -> None:
    command, *paths = sys.argv[1:]
    if command == "write":
        found: dict[str, Any] = {"deterministic": dict(deterministic())}
        found["stochastic"] = {} if "--quick" in paths else dict(stochastic())
        with open(paths[0], "w") as file:
            json.dump(found, file)
        counts = f"{len(found['deterministic'])} answers and {len(found['stochastic'])} stochastic ones"
        print(f"{counts} are in {paths[0]}.")
    elif command == "compare":
        before, after = (json.load(open(path)) for path in paths[:2])  # noqa: SIM115
        if not after["stochastic"]:
            before["stochastic"] = {}
        sys.exit(min(compare(before, after), 1))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
