"""Bradley-Terry, Thurstone and their crowd versions: fixed points, brute force, peers, odd data."""

import choix
import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import read
from crowdrank.simulate import bt_crowd, flip_crowd
from helpers import random_votes

PLAIN = {"regularization": 0.5, "ties": "half"}
PAPER = {**PLAIN, "prior": (1, 1)}  # Crowd-BT as it is printed
PAIRED = [cr.BradleyTerry, cr.Thurstone, cr.CrowdBT, cr.CrowdThurstone]


def scores_of(model):
    frame = model.ranking_.polars()
    return dict(zip(frame["item"], frame["score"], strict=True))


def codes(model):
    return {note.code for note in model.fit_.warnings}


class TestBradleyTerry:
    def test_two_items_by_hand(self):
        # 3 wins to 1 and one virtual win and loss each of weight 1/2, solved by s_a = -s_b = s:
        # 3 F(-2s) - 1 F(2s) + F(-s)/2 - F(s)/2 = 0
        model = cr.BradleyTerry(regularization=0.5).fit(
            cr.Pairs.from_votes(winner=list("aaab"), loser=list("bbba"))
        )
        s = scores_of(model)["a"]

        def f(x):
            return 1 / (1 + np.exp(-x))

        assert 3 * f(-2 * s) - f(2 * s) + 0.5 * f(-s) - 0.5 * f(s) == pytest.approx(0, abs=1e-12)

    def test_without_regularisation_two_items_have_the_log_odds(self):
        model = cr.BradleyTerry(regularization=0).fit(cr.Pairs.from_votes(winner=list("aaab"), loser=list("bbba")))
        assert scores_of(model)["a"] - scores_of(model)["b"] == pytest.approx(np.log(3))

    def test_equals_choix(self):
        frame = random_votes(seed=5, votes=600, ties=0.0)
        model = cr.BradleyTerry(regularization=0).fit(frame)
        items = sorted(scores_of(model))
        wins = [
            (
                items.index(row["label"]),
                items.index(row["right"] if row["label"] == row["left"] else row["left"]),
            )
            for row in frame.to_dicts()
        ]
        theirs = choix.opt_pairwise(len(items), wins, alpha=0, method="Newton-CG", tol=1e-12)
        ours = np.array([scores_of(model)[item] for item in items])
        np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=1e-6)

    def test_stderr_is_that_of_the_centred_score(self):
        """Against the pseudo-inverse of the information of the unregularised model."""
        frame = random_votes(seed=2, votes=500)
        model = cr.BradleyTerry(regularization=0, ties="half").fit(frame)
        result = model.ranking_.polars()
        items, s = result["item"].to_list(), result["score"].to_numpy()
        information = np.zeros((len(items), len(items)))
        for row in frame.to_dicts():
            i, j = items.index(row["left"]), items.index(row["right"])
            p = 1 / (1 + np.exp(s[j] - s[i]))
            step = np.zeros(len(items))
            step[i], step[j] = 1, -1
            information += p * (1 - p) * np.outer(step, step)
        expected = np.sqrt(np.linalg.pinv(information).diagonal())
        np.testing.assert_allclose(result["stderr"].to_numpy(), expected, rtol=1e-8)

    def test_no_finite_maximum_is_an_error(self):
        votes = cr.Pairs.from_votes(winner=["a", "b", "c"], loser=["b", "c", "d"])
        with pytest.raises(cr.FitError, match="no finite maximum"):
            cr.BradleyTerry(regularization=0).fit(votes)

    def test_anchors_count_as_votes(self):
        votes = cr.Pairs.from_votes(winner=["a", "b"], loser=["b", "a"])
        gold = pl.DataFrame({"winner": ["b"], "loser": ["a"]})
        model = cr.BradleyTerry(anchor_weight=3).fit(votes, anchors=gold)
        same = cr.BradleyTerry().fit(cr.Pairs.from_votes(winner=list("abbbb"), loser=list("baaaa")))
        assert scores_of(model) == pytest.approx(scores_of(same), abs=1e-12)


@pytest.mark.parametrize("kind", PAIRED)
def test_the_fixed_point_is_a_maximum(kind):
    """No small step in any direction raises the penalised likelihood."""
    from crowdrank.engine import LocalEngine
    from crowdrank.models.pairs.likelihood import PairedSums
    from crowdrank.models.priors import BetaPrior, Priors, VirtualNode
    from crowdrank.prepared.votes import Votes
    from crowdrank.solve import At, Point

    frame = random_votes(seed=3, votes=800)
    crowd = kind.needs_workers
    model = kind(**PAPER if crowd else PLAIN).fit(frame)
    assert model.fit_.converged
    votes = Votes(read(frame))
    shards = votes.count_votes("worker" if crowd else "pair").shards
    session, sums = LocalEngine(1).open(shards), PairedSums(model.link, "half", model.columns)
    penalty = Priors(VirtualNode(model.link, 0.5), (BetaPrior(1, 1),) if crowd else ())
    place = {item: number for number, item in enumerate(votes.items().to_list())}
    scores = np.empty(len(place))
    for item, score in scores_of(model).items():
        scores[place[item]] = score
    eta = model.workers_.further["eta"][:, None] if crowd else np.zeros((0, 1))
    # the ranking's scores are centred; the virtual item fixes their level, so find it again
    levels = scores[None, :] + np.linspace(-1, 1, 2001)[:, None]
    level = max(levels, key=lambda s: penalty(Point(s, eta)).value)

    def value(s, e):
        return session.evaluate(sums.gradient, At(s, e)).value + penalty(Point(s, e)).value

    best, rng = value(level, eta), np.random.default_rng(0)
    for _ in range(50):
        step = 0.02 * rng.normal(size=len(level))
        moved = np.clip(eta + 0.02 * rng.normal(size=eta.shape), 0, 1)
        assert value(level + step, moved) < best + 1e-3 * abs(step).max()


class TestCrowdBT:
    def test_brute_force_on_a_tiny_case(self):
        """Two items, two workers: the maximum over a fine grid of (s, eta1, eta2)."""
        frame = pl.DataFrame(
            {
                "worker": ["x"] * 9 + ["y"] * 5,
                "winner": ["a"] * 7 + ["b"] * 2 + ["a"] * 3 + ["b"] * 2,
                "loser": ["b"] * 7 + ["a"] * 2 + ["b"] * 3 + ["a"] * 2,
            }
        )
        model = cr.CrowdBT(prior=(4, 2), regularization=1.0).fit(frame)
        s = np.linspace(0, 4, 401)[:, None, None]
        x, y = np.linspace(0.01, 0.99, 99)[None, :, None], np.linspace(0.01, 0.99, 99)[None, None, :]

        def f(d):
            return 1 / (1 + np.exp(-d))

        def votes(eta, a, b):
            p = eta * f(2 * s) + (1 - eta) * f(-2 * s)
            return a * np.log(p) + b * np.log(1 - p) + 3 * np.log(eta) + np.log(1 - eta)

        objective = votes(x, 7, 2) + votes(y, 3, 2) + 2 * (np.log(f(s)) + np.log(f(-s)))
        best = np.unravel_index(objective.argmax(), objective.shape)
        assert scores_of(model)["a"] == pytest.approx(s.ravel()[best[0]], abs=0.011)
        eta = dict(zip(model.workers_.worker, model.workers_.further["eta"], strict=True))
        assert eta["x"] == pytest.approx(x.ravel()[best[1]], abs=0.011)
        assert eta["y"] == pytest.approx(y.ravel()[best[2]], abs=0.011)

    @pytest.mark.parametrize("prior", [(1, 1), (3, 1), (1, 3), (4, 1.5), (50, 50)])
    def test_every_prior_converges(self, prior):
        model = cr.CrowdBT(prior=prior).fit(random_votes(seed=12, workers=20, votes=600))
        assert model.fit_.converged
        eta = model.workers_.further["eta"]
        assert (eta > 0).all() or prior[0] == 1
        assert (eta < 1).all() or prior[1] == 1
        assert prior != (3, 1) or (eta == 1).any()  # without a barrier at 1 good workers reach it

    def test_finds_spammers_and_liars(self):
        crowd = bt_crowd(seed=1, items=40, workers=50, votes=15000, spammers=0.3, malicious=0.2)
        model = cr.CrowdBT().fit(crowd.judgments)
        joined = model.workers_.polars().join(crowd.workers, on="worker", suffix="_true")
        liars = joined.filter(pl.col("quality_true") == 0.1)
        assert (liars["verdict"] == "malicious").all()
        spammers = joined.filter(pl.col("quality_true") == 0.5)
        assert not spammers["verdict"].is_in(["reliable"]).any()
        assert np.corrcoef(joined["eta"], joined["quality_true"])[0, 1] > 0.98

    def test_perfect_workers_make_it_bradley_terry(self):
        frame = random_votes(seed=4, votes=600)
        known = pl.DataFrame({"worker": [f"w{k}" for k in range(8)], "quality": [1.0] * 8})
        crowd = cr.CrowdBT(**PAPER).fit(frame, anchors=known)
        assert scores_of(crowd) == pytest.approx(scores_of(cr.BradleyTerry(**PLAIN).fit(frame)), abs=1e-9)
        assert (crowd.workers_.further["eta"] == 1).all()

    def test_a_known_worker_keeps_his_quality(self):
        known = pl.DataFrame({"worker": ["w3"], "quality": [0.7]})
        model = cr.CrowdBT().fit(random_votes(seed=4), anchors=known)
        row = model.workers_.polars().filter(pl.col("worker") == "w3").to_dicts()[0]
        assert row["eta"] == row["eta_low"] == row["eta_high"] == 0.7

    def test_spammers_votes_carry_nothing(self):
        frame = random_votes(seed=6, votes=500)
        extra = random_votes(seed=7, votes=100).with_columns(worker=pl.lit("spam"))
        both = pl.concat([frame, extra])
        known = pl.DataFrame({"worker": ["spam"], "quality": [0.5]})
        alone, together = cr.CrowdBT(**PAPER).fit(frame), cr.CrowdBT(**PAPER).fit(both, anchors=known)
        assert scores_of(together) == pytest.approx(scores_of(alone), abs=1e-8)

    def test_gold_pairs_turn_a_crowd_of_liars_round(self):
        crowd = flip_crowd(seed=0, alpha=1, beta=5, gold_pairs=5)
        truth = dict(crowd.gold.rows())

        def agreement(model):
            scores = scores_of(model)
            return np.corrcoef([scores[item] for item in truth], list(truth.values()))[0, 1]

        assert agreement(cr.CrowdBT(**PAPER).fit(crowd.judgments)) < -0.5
        model = cr.CrowdBT(**PAPER).fit(crowd.judgments, anchors=crowd.gold_pairs)
        assert agreement(model) > 0.5
        assert model.fit_.details["mirror"]["by"] == "anchors"

    def test_the_mirror_is_chosen_by_the_mean_quality(self):
        """The negated start leads to the negated maximum, which is turned round and said."""
        frame = bt_crowd(seed=3, items=10, workers=10, votes=2000, spammers=0).judgments
        known = {f"worker-{k:02d}": 0.5 for k in range(1, 11)}
        assert cr.CrowdBT().fit(frame).fit_.details["mirror"] == {"by": "mean quality", "turned": 0}
        assert cr.CrowdBT().fit(frame, anchors=cr.Anchors(workers=known)).fit_.details["mirror"]["by"] == (
            "known workers"
        )

    def test_queries_share_workers(self):
        """A worker who lies on a long query is not believed on a short one."""
        long = bt_crowd(seed=5, items=12, workers=3, votes=1500, alpha=1e6, beta=1, spammers=0, malicious=0.34)
        liar = long.workers.filter(pl.col("quality") < 0.5)["worker"][0]
        honest = long.workers.filter(pl.col("quality") > 0.5)["worker"][0]
        short = pl.DataFrame(
            {
                "worker": [liar, liar, honest],
                "left": ["a", "a", "b"],
                "right": ["b", "b", "a"],
                "label": ["a", "a", "b"],
                "query": ["short"] * 3,
            }
        )
        frame = pl.concat([long.judgments.with_columns(query=pl.lit("long")), short])
        ranking = cr.CrowdBT().fit(frame).ranking_.polars().filter(pl.col("query") == "short")
        assert ranking["item"].to_list() == ["b", "a"]

    def test_start_by_agreed_pairs(self):
        """Footnote 4: enough workers agree on some pairs to start from."""
        crowd = flip_crowd(seed=1, items=20, workers=40, pairs=60, labels=25, alpha=5, beta=1)
        one = cr.CrowdBT(**PAPER).fit(crowd.judgments)
        agreed = cr.CrowdBT(**PAPER, start="agreed").fit(crowd.judgments)
        assert scores_of(agreed) == pytest.approx(scores_of(one), abs=1e-6)

    def test_a_crowd_half_of_liars_is_said(self):
        crowd = bt_crowd(seed=2, items=10, workers=20, votes=4000, spammers=0, malicious=0.5)
        assert "mirror" in codes(cr.CrowdBT().fit(crowd.judgments))

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"prior": (0.5, 1)}, "'prior' must be two numbers of at least 1"),
            ({"prior": 3}, "'prior' must be two numbers of at least 1"),
            ({"regularization": float("inf")}, "'regularization' must be a number"),
            ({"seed": 1.5}, "'seed' must be a whole number"),
            ({"regularization": -1}, "'regularization' must be a number of at least 0"),
            ({"regularization": "x"}, "Got 'x'"),
            ({"start": "two"}, "'start' must be one of one, agreed"),
        ],
    )
    def test_a_wrong_parameter_is_named(self, parameters, words):
        with pytest.raises(cr.UsageError, match=words):
            cr.CrowdBT(**parameters).fit(random_votes())


@pytest.mark.parametrize("kind", PAIRED)
def test_large_problems_agree_with_small_ones(kind, monkeypatch):
    """Conjugate gradients and draws, forced on a small case, against the exact way."""
    from crowdrank.solve import Arrow

    frame = bt_crowd(seed=1, items=60, workers=60, votes=20000).judgments
    plain = PAPER if kind.needs_workers else PLAIN
    exact = kind(**plain).fit(frame).ranking_.polars().sort("item")
    monkeypatch.setattr(Arrow, "method", "iterative")
    model = kind(**plain).fit(frame)
    found = model.ranking_.polars().sort("item")
    assert model.fit_.converged
    assert model.fit_.details["intervals"].startswith("posterior draws")
    np.testing.assert_allclose(found["score"], exact["score"], atol=1e-7)
    ratio = found["stderr"].to_numpy() / exact["stderr"].to_numpy()
    assert np.abs(ratio - 1).max() < 0.3  # 128 draws: 6 % each, and expected for observed information
    assert np.abs(ratio.mean() - 1) < 0.1


def test_sparse_matrices_agree_with_dense_ones(monkeypatch):
    from crowdrank.solve import matrices

    frame = random_votes(seed=9, votes=900, queries=3)
    dense = cr.CrowdBT().fit(frame).ranking_.polars()
    monkeypatch.setattr(matrices, "DENSE_CELLS", 0)
    sparse = cr.CrowdBT().fit(frame).ranking_.polars()
    for column in ("score", "stderr", "low", "high"):
        np.testing.assert_allclose(sparse[column], dense[column], atol=1e-9)


class TestGold:
    def test_gold_between_groups_that_were_never_compared(self):
        """Two gold pairs join two groups of votes: their scores become comparable, and finite."""
        votes = cr.Pairs.from_votes(
            winner=list("ab" * 10) + list("cd" * 10),
            loser=list("ba" * 10) + list("dc" * 10),
            worker=["w", "v"] * 20,
        )
        gold = pl.DataFrame({"winner": ["a", "b"], "loser": ["c", "d"]})
        for kind, plain in ((cr.BradleyTerry, PLAIN), (cr.CrowdBT, PAPER)):
            model = kind(**plain, anchor_weight=5).fit(votes, anchors=gold)
            assert model.fit_.converged
            assert "disconnected" not in codes(model)
            assert np.isfinite(model.ranking_.stderr).all()
            assert min(scores_of(model)[item] for item in "ab") > max(scores_of(model)[item] for item in "cd")

    def test_gold_of_one_query_does_not_turn_another(self):
        """Liars judged q1, good workers q2, nobody both: each direction is decided by its own gold."""
        frames = []
        for query, quality, seed in (("q1", 0.05, 0), ("q2", 0.95, 1)):
            crowd = flip_crowd(
                seed=seed, items=8, workers=4, pairs=20, labels=4, alpha=1e3 * quality, beta=1e3 - 1e3 * quality
            )
            known = dict(crowd.gold.rows())
            frames.append((query, crowd, known))
        votes = pl.concat(
            crowd.judgments.with_columns(query=pl.lit(query), worker=pl.lit(query) + pl.col("worker"))
            for query, crowd, _ in frames
        )
        gold = pl.DataFrame(
            [
                {"query": query, "winner": better, "loser": worse}
                for query, _, known in frames
                for worse, better in zip(
                    sorted(known, key=known.get)[:4], sorted(known, key=known.get)[4:], strict=True
                )
            ]
        )
        ranking = cr.CrowdBT(anchor_weight=0).fit(votes, anchors=gold).ranking_.polars()
        for query, _, known in frames:
            own = ranking.filter(pl.col("query") == query)
            assert np.corrcoef(own["score"], [known[item] for item in own["item"]])[0, 1] > 0.7, query

    def test_gold_does_not_count_as_judgments(self):
        votes = random_votes(seed=3)
        gold = pl.DataFrame({"winner": ["i0"], "loser": ["i1"]})
        plain = cr.CrowdBT().fit(votes)
        heavy = cr.CrowdBT(anchor_weight=1e5).fit(votes, anchors=gold)
        assert heavy.fit_.log_likelihood == pytest.approx(plain.fit_.log_likelihood, rel=0.2)
        assert heavy.workers_.judgments.sum() == plain.workers_.judgments.sum()

    def test_anchors_of_no_use_are_said(self):
        votes = random_votes()
        unknown = pl.DataFrame({"winner": ["x", "i0"], "loser": ["y", "i1"]})
        assert "anchors" in codes(cr.BradleyTerry().fit(votes, anchors=unknown))
        known = pl.DataFrame({"worker": ["nobody"], "quality": [0.9]})
        for kind in (cr.WinRate, cr.BradleyTerry, cr.CrowdBT):
            assert "anchors" in codes(kind().fit(votes, anchors=known))


def test_quality_intervals_of_workers_with_very_many_votes():
    crowd = bt_crowd(seed=0, items=20, workers=3, votes=200_000, spammers=0, alpha=8, beta=2)
    people = cr.CrowdBT().fit(crowd.judgments).workers_.polars()
    assert (people["eta_low"] < people["eta"]).all()
    assert (people["eta"] <= people["eta_high"]).all()
    width = people["eta_high"] - people["eta_low"]
    assert width.min() > 0.002
    assert width.max() < 0.05


def test_liars_can_make_the_unregularised_maximum_infinite():
    rows = [("good", "a", "b"), ("good", "b", "c"), ("good", "a", "c")] * 20
    rows += [("liar", "b", "a"), ("liar", "c", "b"), ("liar", "c", "a")] * 5
    frame = pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
    with pytest.raises(cr.FitError, match="no finite maximum"):
        cr.CrowdBT(regularization=0).fit(frame)


def test_a_worker_of_whom_nothing_is_known():
    frame = pl.concat(
        [
            random_votes(votes=300, ties=0),
            pl.DataFrame([["dull", "i1", "i1", "i1"]], schema=random_votes().schema, orient="row"),
        ]
    )
    only_ties = pl.DataFrame(
        {"worker": ["w", "v"], "left": ["a", "b"], "right": ["b", "a"], "label": ["tie", "tie"]}
    )
    assert len(cr.CrowdBT().fit(frame).workers_) == 9
    assert cr.CrowdBT(**PAPER).fit(only_ties).workers_.further["eta"].tolist() == pytest.approx([0.5, 0.5])


def test_an_item_met_only_by_itself_is_unknown():
    frame = pl.DataFrame({"worker": list("wwv"), "winner": list("aba"), "loser": list("baa")})
    frame = pl.concat([frame, pl.DataFrame({"worker": ["w"], "winner": ["z"], "loser": ["z"]})])
    model = cr.BradleyTerry().fit(cr.read(frame, allow_dropped=True))
    row = model.ranking_.polars().filter(pl.col("item") == "z").to_dicts()[0]
    assert row["stderr"] == np.inf
    assert {"unjudged", "self-pairs"} <= codes(model)
