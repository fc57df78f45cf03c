"""Asking: how long the next question takes, beside looking at every pair and beside one fixed item; and an update.

Everything is wall-clock time. `python -m benchmarks.asking` prints the tables, and `write` writes
docs/asking/figures.md: the tables of `crowdrank reproduce`, then these. With `--work DIR` both are taken from that
folder as far as they are there, and the rest is computed and kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.page import FiguresPage, Section, lines
from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs.filter_bank import Bank, FilterState, fold_compiled
from crowdrank.models.pairs.online_crowd_bt import OnlineCrowdBT
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.results import Beliefs
from crowdrank.select.boxes import Judge, Taken
from crowdrank.select.desk import Desk
from crowdrank.select.gains import GAIN, pair_gain
from crowdrank.select.history import History
from crowdrank.select.policy import Policy
from crowdrank.select.rules import Rules

SIZES = (100, 1_000, 10_000, 100_000)
STEPS = 2_000
OPEN = 400
"""How many questions are open."""
JUDGES = 1_000
SLOW = 10_000
"""With more items, nothing that looks at every pair is timed."""
FIRST = 100
"""The first so many questions are shown apart."""


def random_beliefs(items: int, seed: int = 0) -> Beliefs:
    """A campaign after about eight votes an item."""
    rng = np.random.default_rng(seed)
    variance = 1.0 / (1.0 + 0.2 * rng.poisson(8, items))
    return Beliefs(
        rng.normal(0, 1.5, items), variance, np.ones(JUDGES), rng.uniform(5, 20, JUDGES), rng.uniform(1, 4, JUDGES)
    )


def milliseconds(seconds: list[float]) -> dict[str, Any]:
    own = 1000 * np.array(seconds)
    return {"p50": float(np.median(own)), "p99": float(np.quantile(own, 0.99)), "most": float(own.max())}


def time_desk(key: Key) -> dict[str, Any]:
    """The next question for a judge who asks, with 400 questions open, while answers come in."""
    rng, items = np.random.default_rng(1), key["items"]
    cold = key["state"] == "cold"
    beliefs = random_beliefs(items)
    if cold:
        beliefs.mean[:], beliefs.variance[:] = 0.0, 1.0
    history = History(items, JUDGES)
    if not cold:
        history.asked[:] = history.voted[:] = 8
    policy = Policy(gamma=key["gamma"])
    desk = Desk(beliefs, policy, history, Rules.none(items, JUDGES), compiled=True)
    warm = Desk(random_beliefs(50), policy, History(50, JUDGES), Rules.none(50, JUDGES), compiled=True)
    warm.ask(0)  # load the compiled search
    opened = [] if cold else [desk.ask(int(rng.integers(JUDGES))) for _ in range(OPEN)]
    seconds = []
    for _ in range(FIRST if cold else STEPS):
        judge = int(rng.integers(JUDGES))
        began = time.perf_counter()
        question = desk.ask(judge)
        seconds.append(time.perf_counter() - began)
        opened.append(question)
        if len(opened) > OPEN:
            done = opened.pop(int(rng.integers(len(opened))))
            desk.end(done)
            pair = list(done[:2])
            desk.learn(pair, desk.mean[pair] + rng.normal(0, 0.2, 2), desk.variance[pair] * 0.97)
    return milliseconds(seconds)


def time_brute(key: Key) -> dict[str, Any]:
    """Every pair, with NumPy, in blocks of rows; or the best partner of one random item, as gavel chooses."""
    own, rng = random_beliefs(key["items"]), np.random.default_rng(1)
    judge, gamma = (1.0, 10.0, 1.0), key["gamma"]
    mean, variance, seconds = own.mean, own.variance, []

    def row(item: int, others: Any) -> float:
        gains = pair_gain(GAIN, mean[item] - mean[others], variance[item], variance[others], 1.0, *judge, gamma)
        return float(np.max(gains))

    for _ in range(key["repeats"]):
        began = time.perf_counter()
        if key["form"] == "one item":
            item = int(rng.integers(len(mean)))
            row(item, np.delete(np.arange(len(mean)), item))
        else:
            for item in range(len(mean) - 1):
                row(item, slice(item + 1, None))
        seconds.append(time.perf_counter() - began)
    return milliseconds(seconds)


def time_scan(key: Key) -> dict[str, Any]:
    """The search without compiling."""
    desk = Desk(
        random_beliefs(key["items"]), Policy(), History(key["items"]), Rules.none(key["items"]), compiled=False
    )
    seconds = []
    for _ in range(key["repeats"]):
        began = time.perf_counter()
        desk.boxes.scan(GAIN, Judge(1.0, 10.0, 1.0), key["gamma"], Taken())
        seconds.append(time.perf_counter() - began)
    return milliseconds(seconds)


def choice_table(ledger: Ledger) -> Iterator[str]:
    rows = []
    for items in SIZES:
        for gamma in (0.0, 1.0):
            where = {"items": items, "gamma": gamma}
            ours = {"experiment": "desk", **where, "state": "warm"}
            cold = {"experiment": "desk", **where, "state": "cold"}
            scan = {"experiment": "scan", **where, "repeats": 20 if items < 10_000 else 3}
            one = {"experiment": "brute", **where, "form": "one item", "repeats": 50}
            brute = {"experiment": "brute", **where, "form": "every pair", "repeats": 3 if items <= 1000 else 1}
            ledger.fill([ours, cold], time_desk)
            ledger.fill([one], time_brute)
            slow = []
            if items <= SLOW:
                ledger.fill([scan], time_scan)
                ledger.fill([brute], time_brute)
                ratio = ledger[brute]["p50"] / ledger[ours]["p50"]
                slow = [f"{ledger[scan]['p50']:,.1f}", f"{ledger[brute]['p50']:,.0f}", f"{ratio:,.0f}"]
            shown = [f"{ledger[key]['p50']:.2f} / {ledger[key]['p99']:.2f}" for key in (ours, cold, one)]
            rows.append([f"{items:,}", f"{gamma:g}", *shown, *(slow or ["-", "-", "-"])])
    columns = (
        "items", "gamma", "ours", "first 100 questions", "one fixed item", "search not compiled", "every pair",
        "every pair / ours",
    )  # fmt: skip
    yield from lines(columns, rows)


def time_update(key: Key) -> dict[str, Any]:
    """A vote by ids, learned vote by vote; or a batch of 100,000 votes in the compiled loop."""
    rng, items = np.random.default_rng(2), key["items"]
    if key["form"] == "compiled":
        bank = Bank.of(None, None) if key["filters"] == 32 else Bank.of(1.0, (10.0, 1.0))
        state = FilterState(bank, LOGISTIC, printed=False, position="none", threshold=0.0)
        state.grow(items, JUDGES)
        left = rng.integers(0, items, 100_000)
        right = (left + rng.integers(1, items, 100_000)) % items
        columns = (left, right, np.ones(100_000, np.int64), None, rng.integers(0, JUDGES, 100_000))
        fold_compiled(state, *(None if column is None else column[:10] for column in columns))
        began = time.perf_counter()
        fold_compiled(state, *columns)
        return {"microseconds": (time.perf_counter() - began) * 10.0}
    given = {} if key["filters"] == 32 else {"variance": 1.0, "prior": (10, 1)}
    model = OnlineCrowdBT(**given)
    state = model.start()
    for code in range(items):
        state.index.node(f"item-{code}")
    state.grow(items, 0)
    pairs = [tuple(f"item-{code}" for code in rng.choice(items, 2, replace=False)) for _ in range(3000)]
    began = time.perf_counter()
    for place, (left, right) in enumerate(pairs):
        model.update(state, state.vote(left, right, winner=left, worker=f"w{place % 50}"))
    return {"microseconds": (time.perf_counter() - began) / len(pairs) * 1e6}


def update_table(ledger: Ledger) -> Iterator[str]:
    rows = []
    for items in SIZES:
        keys = [
            {"experiment": "update", "items": items, "form": form, "filters": filters}
            for form in ("one by one", "compiled")
            for filters in (32, 1)
        ]
        ledger.fill(keys, time_update)
        rows.append([f"{items:,}", *(f"{ledger[key]['microseconds']:.2f}" for key in keys)])
    columns = ("items", "vote by vote, 32 filters", "one filter", "compiled, 32 filters", "compiled, one filter")
    yield from lines(columns, rows)


PAGE = FiguresPage(
    "asking",
    "asking/figures.md",
    """# Figures of asking

How many votes each [way of choosing questions](selectors.md) needs, and how long a choice takes. The table of
[seven crowds](crowds.md) is the one to look at first: *votes to .90* is after how many votes 90 % of the pairs
of items are in the right order, and *fewer than random* compares that with random questions. gamma says how
much learning about judges counts; *gain* without a gamma has gamma 1, the default.

Written by `python -m benchmarks.asking write`: the tables of `crowdrank reproduce`, and the times of
`benchmarks/asking.py`. No setting was chosen by looking at the seeds of these tables. With other seeds,
defaults such as gamma = 1 were chosen on the votes on reading level and on simulated crowds.
""",
    (
        "crowd-bt-table4",
        "crowd-bt-table5",
        "crowd-bt-figure2",
        "crowd-bt-figure3",
        "crowd-bt-figure5",
        "asking-crowds",
        "asking-flight",
        "asking-exposure",
        "asking-rogue",
    ),
    (
        Section(
            "The next question",
            "Milliseconds on one core, median / 99th percentile. Ours is the best pair by eq. 10 for a judge who "
            f"asks while 400 questions are open, over {STEPS:,} questions; then the first hundred questions of a "
            "new campaign; then the best partner of one random item, as gavel chooses. The last columns are "
            "medians: the search that is not compiled, and every pair with NumPy.",
            choice_table,
        ),
        Section("A vote", "Microseconds to learn one vote, by ids or in a batch.", update_table),
    ),
)


def main() -> None:
    PAGE.main(__doc__)


if __name__ == "__main__":
    main()
