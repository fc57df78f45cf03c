"""What asking reaches beyond the paper: seven crowds, many judges at once, exposure, new items, an early rogue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from crowdrank.random import generator
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import NONE, differences, draws, mean_and_error, paired_p
from crowdrank.select.loop import Loop
from crowdrank.select.policy import Policy
from crowdrank.select.replay import Plan, Truth, replay_simulated
from crowdrank.simulate.respondents import CROWDS, Respondents

LEVEL = 0.9
LOOK = 25
WAYS: dict[str, dict[str, Any]] = {
    "random": {"select": "random"},
    "even": {"select": "even"},
    "uncertainty": {"select": "uncertainty", "gamma": 0.0},
    "gain, gamma 0": {"gamma": 0.0},
    "gain": {},
    "gain, gamma by itself": {"gamma": "auto"},
    "joint": {"select": "joint"},
    "information": {"select": "information"},
}
IN_FLIGHT = 600
"""The first draw of many judges at once: what an open question counts was changed after a look at smaller ones."""
NEAR = 10
"""How many items count as the neighbors of a new one."""
ROGUE = 0.1
"""The share of the votes that the rogue casts, all at the beginning."""


def _first(accuracy: list[float]) -> float:
    reached = np.flatnonzero(np.array(accuracy) >= LEVEL)
    return float((reached[0] + 1) * LOOK) if len(reached) else np.inf


def _words(values: list[float]) -> tuple[str, str]:
    """Mean and standard error of votes, if every draw got there."""
    if not np.isfinite(values).all():
        return f"{np.isfinite(values).mean():.0%} of draws", NONE
    mean, error = mean_and_error(values)
    return f"{mean:.0f}", NONE if isinstance(error, str) else f"{error:.0f}"


def crowds(
    seeds: int, data: Path | None, *, ledger: Ledger, items: int = 100, workers: int = 20, budget: int = 3000
) -> PaperTable:
    """Votes to an accuracy of .90 in every crowd, by every selector."""

    def cell(key: Key) -> dict[str, Any]:
        people = Respondents.make(key["crowd"], seed=key["seed"], items=items, workers=workers)
        policy, plan = Policy(**WAYS[key["way"]]), Plan(key["budget"], LOOK)
        curve = replay_simulated(people, policy, plan, seed=key["seed"])
        return {
            "accuracy": [round(value, 6) for value in curve.accuracy.tolist()],
            "predicted": curve.predicted[-1],
        }

    rows: list[tuple[object, ...]] = []
    for crowd in CROWDS:
        random: list[float] = []
        for way in WAYS:
            where = {"experiment": "crowds", "crowd": crowd, "way": way, "items": items, "workers": workers}
            keys = [{**where, "budget": budget, "seed": seed} for seed in draws(seeds)]
            ledger.fill(keys, cell)
            found = [_first(ledger[key]["accuracy"]) for key in keys]
            ends = [ledger[key]["accuracy"][-1] for key in keys]
            random = found if way == "random" else random
            both = np.isfinite(found).all() and np.isfinite(random).all() and way != "random"
            fewer = f"{1 - np.mean(found) / np.mean(random):.0%}" if both else NONE
            p = paired_p(found, random) if both else NONE
            rows.append((crowd, way, *_words(found), fewer, p, *mean_and_error(ends)))
    columns = (
        "crowd",
        "way of asking",
        "votes to .90",
        "error",
        "fewer than random",
        "p",
        "accuracy at the end",
        "its error",
    )
    title = f"Asking: {items} items, {workers} judges who arrive at random, {budget} votes, {seeds} draws"
    remarks = [
        "The ranking sorts the means of online Crowd-BT, with prior Beta(10, 1) and a variance chosen by "
        "evidence; it is looked at every 25 votes. p: paired t-test of the votes against those at random.",
    ]
    return PaperTable(title, columns, 2, rows, remarks)


def flight(
    seeds: int,
    data: Path | None,
    *,
    ledger: Ledger,
    sizes: tuple[int, ...] = (100, 200),
    open_questions: int = 200,
) -> PaperTable:
    """Votes to .90 with one question at a time and with many open at once."""

    def cell(key: Key) -> dict[str, Any]:
        people = Respondents.make(key["crowd"], seed=key["seed"], items=key["items"], workers=open_questions)
        policy, plan = Policy(pending=key["pending"]), Plan(30 * key["items"], LOOK)
        curve = replay_simulated(people, policy, plan, seed=key["seed"], flight=key["flight"])
        return {"accuracy": [round(value, 6) for value in curve.accuracy.tolist()]}

    rows: list[tuple[object, ...]] = []
    for crowd in ("bt", "beta-5-1"):
        for items in sizes:
            alone: list[float] = []
            for count, pending in ((1, 1.0), (open_questions, 1.0), (open_questions, 0.0)):
                where = {
                    "experiment": "flight",
                    "crowd": crowd,
                    "items": items,
                    "flight": count,
                    "pending": pending,
                }
                keys = [{**where, "seed": seed} for seed in draws(seeds, IN_FLIGHT)]
                ledger.fill(keys, cell)
                found = [_first(ledger[key]["accuracy"]) for key in keys]
                alone = found if count == 1 else alone
                more = f"{np.mean(found) / np.mean(alone) - 1:+.0%}" if count > 1 else NONE
                p = paired_p(found, alone) if count > 1 else NONE
                rows.append((crowd, items, count, "yes" if pending else "no", *_words(found), more, p))
    columns = ("crowd", "items", "open questions", "count already", "votes to .90", "error", "more", "p")
    title = f"Asking: many judges at once, {open_questions} of them, {seeds} draws"
    remarks = [
        "Count already: whether what an open question is expected to teach counts while it is open. A random open "
        "question is answered next."
    ]
    return PaperTable(title, columns, 4, rows, remarks)


def exposure(seeds: int, data: Path | None, *, ledger: Ledger, items: int = 100, workers: int = 20) -> PaperTable:
    """How evenly items are asked about, and how fast a new item is known as well as the others."""

    def cell(key: Key) -> dict[str, Any]:
        people = Respondents.make(key["crowd"], seed=key["seed"], items=items + 1, workers=workers)
        people.scores[-1] = np.quantile(people.scores[:-1], key["place"])
        near = np.argsort(np.abs(people.scores[:-1] - people.scores[-1]))[:NEAR]
        loop = Loop(items, workers, Policy(), seed=key["seed"])
        random, total = generator(key["seed"], 6), 5 * items  # ten votes an item
        found: dict[str, Any] = {}
        for count in range(2 * total):
            if count == total:
                asked = loop.desk.history.asked
                found |= {"least": int(asked.min()), "median": float(np.median(asked))}
                loop.add_items(1)
            question = loop.ask(int(random.integers(workers)))
            assert question is not None
            assert question.judge is not None
            loop.learn(question, people.answer(question.judge, question.left, question.right))
            if count < total:
                continue
            error, own = np.sqrt(loop.model.estimate(loop.state).variance), loop.desk.history.voted
            for name, others in (("all", slice(0, items)), ("near", near)):
                if name not in found and error[-1] <= 1.2 * np.median(error[others]):
                    found[name] = float(own[-1] / np.mean(own[:-1]))
        return found

    rows: list[tuple[object, ...]] = []
    for crowd in CROWDS[:-1]:
        for place, words in ((0.5, "an average item"), (0.9, "a good item"), (1.0, "the best item")):
            where = {"experiment": "exposure", "crowd": crowd, "items": items, "place": place}
            keys = [{**where, "seed": seed} for seed in draws(seeds)]
            ledger.fill(keys, cell)
            cells = [ledger[key] for key in keys]
            least = min(own["least"] / own["median"] for own in cells)
            rows.append((crowd, words, f"{least:.2f}", *_caught(cells, "all"), *_caught(cells, "near")))
    columns = (
        "crowd", "added", "least asked / median", "by all: votes / fair share", "draws",
        "by neighbors: votes / fair share", "in draws",
    )  # fmt: skip
    title = f"Asking: exposure of {items} items at 10 votes an item, and of one added then, {seeds} draws"
    remarks = [
        "Least asked / median: before the new item, the smallest over the draws. Votes / fair share: the votes of "
        "the new item when its standard error first was at most 1.2 times the median one, of all items or of the "
        f"{NEAR} nearest to it in truth, as a share of the mean votes of an item at that time: the mean and the "
        "largest over the draws that got there, and how many did, within as many votes again. A very good item is "
        "less certain than the median one, however often it is asked about, because it beats nearly all others.",
    ]
    return PaperTable(title, columns, 2, rows, remarks)


def _caught(cells: list[dict[str, Any]], name: str) -> tuple[str, str]:
    found = [own[name] for own in cells if name in own]
    shown = f"{np.mean(found):.2f}, at most {max(found):.2f}" if found else NONE
    return shown, f"{len(found)} of {len(cells)}"


def rogue(
    seeds: int, data: Path | None, *, ledger: Ledger, items: int = 40, workers: int = 20, budget: int = 800
) -> PaperTable:
    """What a judge who answers in reverse and casts the first tenth of the votes costs."""

    def cell(key: Key) -> dict[str, Any]:
        people = Respondents.make("bt", seed=key["seed"], items=items, workers=workers)
        loop = Loop(items, workers + 1, Policy(), seed=key["seed"], refit=key["refit"] or None)
        random = generator(key["seed"], 7)
        early = round(ROGUE * budget) if key["rogue"] else 0
        for count in range(budget):
            judge = workers if count < early else int(random.integers(workers))
            question = loop.ask(judge)
            assert question is not None
            said = people.answer(min(judge, workers - 1), question.left, question.right)
            loop.learn(question, -said if count < early else said)
        score = loop.model.estimate(loop.state).score
        refitted = loop.place(loop.fit_batch())[0]
        truth = Truth(people.scores)
        return {"means": truth.accuracy(score), "refit": truth.accuracy(refitted)}

    rows: list[tuple[object, ...]] = []
    for refit in (0, 50):
        cells = {}
        for is_there in (False, True):
            where = {"experiment": "rogue", "refit": refit, "rogue": is_there, "budget": budget}
            keys = [{**where, "seed": seed} for seed in draws(seeds)]
            ledger.fill(keys, cell)
            cells[is_there] = [ledger[key] for key in keys]
        for rank in ("means", "refit"):
            clean, hurt = ([own[rank] for own in cells[is_there]] for is_there in (False, True))
            lost = differences(clean, hurt)
            words = f"every {refit} votes" if refit else "never"
            rows.append((words, rank, *mean_and_error(clean), *mean_and_error(hurt), *mean_and_error(lost)))
    columns = ("refits", "ranked by", "without", "error", "with the rogue", "its error", "lost", "error of this")
    title = (
        f"Asking: a reversed judge casts the first {ROGUE:.0%} of {budget} votes on {items} items, {seeds} draws"
    )
    return PaperTable(title, columns, 2, rows, ["Accuracy at the end. The other judges vote as in Bradley-Terry."])
