"""EM-Elo: directions of pairs and accuracies of workers, then ratings."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.special import betaincinv

import crowdrank as cr
from crowdrank.models.pairs import em_elo
from helpers import random_votes

ROWS = [
    ("u", "a", "b"), ("v", "a", "b"), ("w", "b", "a"), ("u", "b", "c"), ("v", "b", "c"),
    ("w", "b", "c"), ("u", "a", "c"), ("w", "c", "a"), ("v", "a", "c"), ("v", "a", "c"),
]  # fmt: skip


def votes_of(rows):
    return pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")


def likelihood(quality, rows=ROWS):
    """The probability of the votes, summed over every set of directions of the three pairs."""
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    total = 0.0
    for better in itertools.product(*pairs):
        truth = dict(zip(pairs, better, strict=True))
        chance = 0.5 ** len(pairs)
        for worker, winner, loser in rows:
            right = truth[tuple(sorted((winner, loser)))] == winner
            chance *= quality[worker] if right else 1 - quality[worker]
        total += chance
    return math.log(total)


def accuracies(model):
    return dict(model.workers_.polars().select("worker", "accuracy").iter_rows())


def test_the_log_likelihood_is_the_sum_over_all_directions():
    model = cr.EMElo().fit(votes_of(ROWS))
    assert model.fit_.log_likelihood == pytest.approx(likelihood(accuracies(model)), abs=1e-10)


def test_em_never_lowers_the_likelihood_and_ends_at_a_maximum():
    seen = []
    model = cr.EMElo(prior=(1, 1)).fit(votes_of(ROWS), progress=lambda _, value, change: seen.append(value))
    rounds = model.fit_.iterations
    em = [value for value in seen[:rounds] if value <= model.fit_.log_likelihood + 1e-9]
    assert len(em) > 5
    assert (np.diff(em) > -1e-10).all()


@pytest.mark.parametrize("prior", [(4, 2), (2, 1.5)])
def test_the_accuracies_are_a_maximum_of_the_posterior(prior):
    found = accuracies(cr.EMElo(prior=prior).fit(votes_of(ROWS)))

    def posterior(quality):
        log_prior = sum((prior[0] - 1) * math.log(q) + (prior[1] - 1) * math.log(1 - q) for q in quality.values())
        return likelihood(quality) + log_prior

    for worker in found:
        up, down = ({**found, worker: found[worker] + step} for step in (1e-4, -1e-4))
        assert (posterior(up) - posterior(down)) / 2e-4 == pytest.approx(0, abs=1e-5)
        assert posterior(up) + posterior(down) < 2 * posterior(found)


def test_the_ratings_are_at_rest():
    """sum_j (P_ij - E_ij) + 2 lambda (1/2 - E_i0) = 0, the directions computed from the accuracies."""
    frame = random_votes(seed=4, items=6, votes=200)
    model = cr.EMElo(regularization=0.3, scale=100, base=2).fit(frame)
    rating = dict(model.ranking_.polars().select("item", "score").iter_rows())
    odds = {worker: math.log(q / (1 - q)) for worker, q in accuracies(model).items()}
    pairs = {}
    for worker, left, right, label in frame.iter_rows():
        one, two = sorted((left, right))
        said = 0 if label == "tie" else (1 if label == one else -1)
        pairs[one, two] = pairs.get((one, two), 0) + said * odds[worker]
    owed = dict.fromkeys(rating, 0.0)
    for (one, two), log_odds in pairs.items():
        step = 1 / (1 + math.exp(-log_odds)) - 1 / (1 + 2 ** ((rating[two] - rating[one]) / 100))
        owed[one] += step
        owed[two] -= step

    # the scores are centred, so the rating of item 0 is where what it gives adds up to nothing
    def drawn(item, level):
        return 0.6 * (0.5 - 1 / (1 + 2 ** ((level - rating[item]) / 100)))

    level = brentq(lambda level: sum(drawn(item, level) for item in rating), -1000, 1000, xtol=1e-10)
    for item, own in owed.items():
        assert own + drawn(item, level) == pytest.approx(0, abs=1e-7)


def test_liars_are_found_and_reversed():
    rng = np.random.default_rng(0)
    rows = []
    for worker in ["good-1", "good-2", "good-3", "liar"]:
        for i, j in itertools.combinations(range(8), 2):
            right = rng.random() < 0.95
            better, worse = (i, j) if right != (worker == "liar") else (j, i)
            rows.append((worker, str(better), str(worse)))
    model = cr.EMElo().fit(votes_of(rows))
    people = {row["worker"]: row for row in model.workers_.polars().iter_rows(named=True)}
    assert people["liar"]["verdict"] == "malicious"
    assert people["liar"]["accuracy"] < 0.25
    assert people["good-1"]["verdict"] == "reliable"
    assert model.ranking_.polars()["item"].to_list()[0] == "0"


def test_the_mirror_is_the_larger_mean_accuracy_and_is_said(monkeypatch):
    """From a start below one half EM ends at the mirror image, and is reversed."""
    rows = []
    for i, j in itertools.combinations(range(6), 2):
        rows += [(f"v{n}", str(i), str(j)) for n in range(3)]
        rows += [(f"w{n}", str(j), str(i)) for n in range(2)]
    upright = cr.EMElo(prior=(1.5, 1.5)).fit(votes_of(rows))
    assert upright.fit_.details["mirror"] == {"by": "mean quality", "turned": 0}
    monkeypatch.setattr(em_elo, "START", 0.25)
    turned = cr.EMElo(prior=(1.5, 1.5)).fit(votes_of(rows))
    assert turned.fit_.details["mirror"] == {"by": "mean quality", "turned": 1}
    assert any("decided by the mean quality" in note.message for note in turned.fit_.warnings)
    assert accuracies(turned) == pytest.approx(accuracies(upright))
    assert accuracies(turned)["v0"] > 0.9 > 0.1 > accuracies(turned)["w0"]


def test_votes_of_which_nothing_is_known_leave_the_prior():
    """Pairs that one worker judged alone say nothing of the worker: the interval is the prior's."""
    rows = [("u", "a", "b"), ("v", "b", "c"), ("w", "c", "d")]
    table = cr.EMElo(prior=(4, 2)).fit(votes_of(rows)).workers_.polars()
    assert table["accuracy"].to_list() == pytest.approx([0.75] * 3)
    assert table["accuracy_low"].to_list() == pytest.approx([betaincinv(4, 2, 0.05)] * 3)
    assert table["accuracy_high"].to_list() == pytest.approx([betaincinv(4, 2, 0.95)] * 3)


def test_predicts_by_the_workers_accuracy():
    frame = votes_of(ROWS)
    model = cr.EMElo().fit(frame)
    rating = dict(model.ranking_.polars().select("item", "score").iter_rows())
    win = 1 / (1 + 10 ** ((rating["b"] - rating["a"]) / 400))
    q = accuracies(model)["u"]
    left, _, right = model.predict_proba(frame)[0]
    assert left / (left + right) == pytest.approx(q * win + (1 - q) * (1 - win))


def test_accuracies_at_their_limit_are_said():
    rows = [("u", "a", "b"), ("v", "a", "b"), ("u", "b", "c"), ("v", "b", "c")]
    said = {
        prior: [
            note.message
            for note in cr.EMElo(prior=prior).fit(votes_of(rows)).fit_.warnings
            if note.code == "bound"
        ]
        for prior in (None, (4, 2))
    }
    assert "2 of 2 workers" in said[None][0]
    assert said[4, 2] == []
