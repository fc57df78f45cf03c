"""Elo and TrueSkill: one vote after the other."""

import math
import sys

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import to_pairs
from crowdrank.random import generator
from helpers import random_votes


def votes_of(*rows, **more):
    frame = pl.DataFrame(rows, schema=["left", "right", "label"], orient="row")
    return frame.with_columns(**{name: pl.Series(values) for name, values in more.items()})


def scores(model):
    return dict(model.ranking_.polars().select("item", "score").iter_rows())


def expected(ahead, scale=400, base=10):
    return 1 / (1 + base ** (-ahead / scale))


class TestElo:
    def test_three_votes_by_hand(self):
        found = scores(cr.Elo(k=32).fit(votes_of(("a", "b", "a"), ("b", "c", "tie"), ("c", "a", "c"))))
        first = 32 * (1 - 0.5)
        second = 32 * (0.5 - expected(-first))  # what b gains by a tie with c
        c = -second
        third = 32 * (1 - expected(c - first))  # what c takes from a
        assert found == pytest.approx({"a": first - third, "b": -first + second, "c": c + third}, abs=1e-9)

    def test_the_scale_the_base_and_the_first_rating(self):
        frame = votes_of(("a", "b", "a"), ("a", "b", "a"))
        found = scores(cr.Elo(k=10, scale=100, base=2, initial=1500).fit(frame))
        gained = 5 + 10 * (1 - expected(10, 100, 2))
        assert found == pytest.approx({"a": 1500 + gained, "b": 1500 - gained}, abs=1e-9)

    def test_the_weight_multiplies_the_step(self):
        frame = votes_of(("a", "b", "a"), ("a", "b", "b"), weight=[2.0, 0.5])
        gained = 64 * 0.5 - 16 * expected(2 * 64 * 0.5)
        assert scores(cr.Elo(k=32).fit(frame))["a"] == pytest.approx(gained, abs=1e-9)

    def test_predicts_by_its_formula(self):
        frame = votes_of(("a", "b", "a"), ("b", "c", "b"), ("a", "c", "a"))
        model = cr.Elo(initial=1500).fit(frame)
        left, tie, right = model.predict_proba(frame)[2]
        found = scores(model)
        assert left / (left + right) == pytest.approx(expected(found["a"] - found["c"]))
        assert tie == pytest.approx(0.5 / 4)  # the share of ties with half a vote more of either kind

    def test_each_query_has_its_own_ratings(self):
        frame = votes_of(("a", "b", "a"), ("a", "b", "b"), ("a", "b", "a"), query=["x", "y", "x"])
        table = cr.Elo().fit(frame).ranking_.polars()
        one, two = (dict(table.filter(query=q).select("item", "score").iter_rows()) for q in "xy")
        assert two == pytest.approx({"a": -16, "b": 16})
        assert one["a"] == pytest.approx(16 + 32 * (1 - expected(32)))

    def test_far_ratings_do_not_overflow(self):
        found = scores(cr.Elo(k=1e6).fit(votes_of(("a", "b", "a"), ("a", "b", "b"))))
        assert found["a"] == pytest.approx(-5e5)

    def test_intervals_hold_the_truth_about_as_often_as_they_say(self):
        held = []
        for seed in range(30):
            rng = np.random.default_rng(seed)
            true = rng.normal(0, 1, 20)
            i = rng.integers(0, 20, 3000)
            j = (i + rng.integers(1, 20, 3000)) % 20
            wins = rng.random(3000) < 1 / (1 + np.exp(true[j] - true[i]))
            names = np.array([f"{code:02d}" for code in range(20)])
            votes = cr.Pairs.from_votes(winner=names[np.where(wins, i, j)], loser=names[np.where(wins, j, i)])
            table = cr.Elo().fit(votes).ranking_.polars().sort("item")
            points = (true - true.mean()) * 400 / math.log(10)
            low, high = table["low"].to_numpy(), table["high"].to_numpy()
            held += [*((low <= points) & (points <= high))]
        assert 0.8 < np.mean(held) < 0.97


@pytest.mark.parametrize("kind", [cr.Elo, cr.TrueSkill])
class TestOrder:
    def test_timestamps_go_before_rows(self, kind):
        rows = [("a", "b", "a"), ("b", "c", "b"), ("a", "b", "b")]
        timed = kind().fit(votes_of(*rows, timestamp=[3.0, 1.0, 2.0]))
        sorted_rows = kind().fit(votes_of(rows[1], rows[2], rows[0]))
        assert scores(timed) == scores(sorted_rows)
        assert "row-order" not in {note.code for note in timed.fit_.warnings}
        assert "row-order" in {note.code for note in sorted_rows.fit_.warnings}

    def test_equal_timestamps_stay_as_they_stand_and_missing_ones_come_last(self, kind, tmp_path):
        rows = [("a", "b", "a"), ("b", "c", "b"), ("a", "b", "b"), ("c", "a", "c")]
        votes_of(rows[0]).write_csv(tmp_path / "untimed.csv")
        votes_of(*rows[1:], timestamp=[1.0, 1.0, 0.0]).write_csv(tmp_path / "timed.csv")
        timed = kind().fit([tmp_path / "untimed.csv", tmp_path / "timed.csv"])
        assert scores(timed) == scores(kind().fit(votes_of(rows[3], rows[1], rows[2], rows[0])))

    def test_timed_votes_on_disk(self, kind):
        rng = np.random.default_rng(0)
        frame = random_votes(votes=300).with_columns(timestamp=pl.Series(rng.permutation(300).astype(float)))
        for options in ({}, {"orders": 3}):
            one, two = (kind(**options).fit(cr.read(frame, memory=memory)) for memory in (None, 0))
            assert one.ranking_.polars().equals(two.ranking_.polars())

    def test_a_mean_over_orders_is_that_of_single_ones_and_says_how_they_differ(self, kind):
        frame = random_votes(votes=200)
        model = kind(orders=2, seed=5).fit(frame)
        runs = []
        for number in range(2):
            order = generator(5, number).permutation(200)
            runs.append(kind().fit(frame[order]).ranking_.polars().sort("item")["score"].to_numpy())
        found = model.ranking_.polars().sort("item")["score"].to_numpy()
        np.testing.assert_allclose(found, np.mean(runs, axis=0), atol=1e-9)
        said = model.fit_.details["deviation_between_orders"]
        raw = np.std(runs, axis=0, ddof=1)
        if kind is cr.Elo:  # which moves no mean, so that centring changes nothing
            assert said["mean"] == pytest.approx(raw.mean())
            assert said["largest"] == pytest.approx(raw.max())
        assert "row-order" not in {note.code for note in model.fit_.warnings}

    def test_converted_lists_do_not_depend_on_names(self, kind):
        lists = pl.DataFrame({"worker": list("xxxyyy"), "item": list("abcbca"), "rank": [1, 2, 3, 1, 2, 3]})
        names = {"x": "2", "y": "1", "a": "r", "b": "q", "c": "p"}
        other = lists.with_columns(pl.col("worker", "item").replace(names))
        renamed = {names[item]: score for item, score in scores(kind().fit(lists)).items()}
        assert scores(kind().fit(other)) == pytest.approx(renamed, abs=1e-12)
        assert to_pairs(cr.read(lists)).rows == 6

    @pytest.mark.parametrize("orders", [0, 1.5, "many"])
    def test_orders_must_be_whole_and_at_least_one(self, kind, orders):
        with pytest.raises(cr.UsageError, match="'orders'"):
            kind(orders=orders).fit(random_votes(votes=10))


def phi(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def Phi(x):  # noqa: N802
    return math.erfc(-x / math.sqrt(2)) / 2


class TestTrueSkill:
    DRAW = 0.2
    MARGIN = 0.358286909086  # sqrt 2 Phi^-1((1 + .2) / 2) = sqrt 2 * .253347103136

    def moments(self, d, e, tie):
        """V and W of Herbrich et al., table 1."""
        if not tie:
            v = phi(d - e) / Phi(d - e)
            return v, v * (v + d - e)
        total = Phi(e - d) - Phi(-e - d)
        v = (phi(-e - d) - phi(e - d)) / total
        return v, v * v + ((e - d) * phi(e - d) + (e + d) * phi(e + d)) / total

    def update(self, one, other, tie=False):
        (m1, s1), (m2, s2) = one, other
        c = math.sqrt(2 + s1 + s2)
        v, w = self.moments((m1 - m2) / c, self.MARGIN / c, tie)
        return (m1 + s1 / c * v, s1 * (1 - s1 / c**2 * w)), (m2 - s2 / c * v, s2 * (1 - s2 / c**2 * w))

    def by_hand(self):
        a = b = c = (0.0, 4.0)
        a, b = self.update(a, b)
        b, c = self.update(b, c, tie=True)
        c, a = self.update(c, a)
        return np.array([a, b, c])

    def test_three_votes_by_hand(self):
        frame = votes_of(("a", "b", "a"), ("b", "c", "tie"), ("a", "c", "c"))
        model = cr.TrueSkill(draw=self.DRAW).fit(frame)
        mean, variance = self.by_hand().T
        table = model.ranking_.polars().sort("item")
        np.testing.assert_allclose(table["score"], mean - mean.mean(), atol=1e-5)
        # the deviation of the centred score: x_i - mean x of three independent ones
        centred = [(4 * own + variance.sum() - own) / 9 for own in variance]
        np.testing.assert_allclose(table["stderr"], np.sqrt(centred), atol=1e-5)

    def test_predicts_by_its_formula(self):
        frame = votes_of(("a", "b", "a"), ("b", "c", "tie"), ("a", "c", "c"))
        model = cr.TrueSkill(draw=self.DRAW).fit(frame)
        (a, va), (b, vb), _ = self.by_hand()
        c = math.sqrt(2 + va + vb)
        left, tie, right = model.predict_proba(frame)[0]
        assert left == pytest.approx(Phi((a - b - self.MARGIN) / c), abs=1e-5)
        assert right == pytest.approx(Phi((b - a - self.MARGIN) / c), abs=1e-5)
        assert tie == pytest.approx(1 - left - right)

    def test_a_weight_is_a_power_of_the_message(self):
        """Precisions and precision means add: a weight of m adds m times what one vote adds."""
        frame = votes_of(("a", "b", "a"), weight=[2.5])
        model = cr.TrueSkill(draw=self.DRAW).fit(frame)
        (mean, variance), _ = self.update((0.0, 4.0), (0.0, 4.0))
        precision = 1 / 4 + 2.5 * (1 / variance - 1 / 4)
        assert scores(model)["a"] == pytest.approx(2.5 * mean / variance / precision, abs=1e-5)

    def test_drift_widens_before_each_vote(self):
        frame = votes_of(("a", "b", "a"))
        model = cr.TrueSkill(draw=self.DRAW, tau=0.5).fit(frame)
        (mean, _), _ = self.update((0.0, 4.25), (0.0, 4.25))
        assert scores(model)["a"] == pytest.approx(mean, abs=1e-5)

    def test_the_draw_probability_is_the_share_of_ties(self):
        frame = votes_of(("a", "b", "a"), ("b", "c", "tie"), ("a", "c", "c"), ("a", "c", "tie"))
        margin = cr.TrueSkill().fit(frame).fit_.details["margin"]
        assert 2 * Phi(margin / math.sqrt(2)) - 1 == pytest.approx(2.5 / 5, abs=1e-6)

    def test_a_great_surprise_is_no_fault(self):
        rows = [("a", "b", "a")] * 50 + [("b", "a", "b"), ("a", "b", "tie")]
        model = cr.TrueSkill(sigma=1e4, draw=0.1).fit(votes_of(*rows))
        assert model.ranking_.polars()["score"].is_finite().all()

    @pytest.mark.parametrize("name", ["sigma", "tau"])
    def test_the_margin_of_ties_is_not_lost(self, name):
        frame = votes_of(("a", "b", "a"), ("b", "a", "tie"))
        assert cr.TrueSkill(**{name: 1e6}, draw=1e-6).fit(frame).ranking_.polars()["score"].is_finite().all()
        with pytest.raises(cr.UsageError, match=f"{name!r} must be a number between .* and 1e.06"):
            cr.TrueSkill(**{name: 1e12}).fit(frame)

    def test_without_the_package(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "trueskillthroughtime", None)
        with pytest.raises(cr.UsageError, match=r"(?s)needs the package.*crowdrank\[trueskill\]"):
            cr.TrueSkill().fit(random_votes(votes=10))


@pytest.mark.parametrize("kind", [cr.Elo, cr.TrueSkill])
class TestVoteByVote:
    def test_the_fit_is_the_fold_over_the_votes(self, kind):
        frame = random_votes(votes=300, queries=2)
        model = kind()
        share = model.fit(frame).fit_.details.get("margin", 0) and ((frame["label"] == "tie").sum() + 0.5) / (
            len(frame) + 1
        )
        state = model.start(ties=share or 0.1)
        for row in frame.iter_rows(named=True):
            winner = None if row["label"] == "tie" else row["label"]
            model.update(
                state, state.vote(row["left"], row["right"], winner, worker=row["worker"], query=row["query"])
            )
        found, fitted = model.posterior(state), model.posterior_
        both = found.frame().join(fitted.frame(), on=["query", "item"], suffix="_fit", nulls_equal=True)
        assert len(both) == len(fitted.score)
        np.testing.assert_allclose(both["score"], both["score_fit"], atol=1e-9)
        np.testing.assert_allclose(both["stderr"], both["stderr_fit"], atol=1e-9)
        assert sorted(found.worker) == sorted(fitted.worker)

    def test_a_new_item_changes_no_code(self, kind):
        model = kind()
        state = model.start()
        model.update(state, state.vote("m", "z", "m"))
        before = model.posterior(state)
        model.update(state, state.vote("a", "b", "b"))
        after = model.posterior(state)
        assert after.item.to_list() == ["m", "z", "a", "b"]
        ahead = [own.difference("m", "z").mean for own in (before, after)]
        assert ahead[0] == pytest.approx(ahead[1])

    def test_before_the_first_vote_and_a_wrong_winner(self, kind):
        state = kind().start()
        assert len(kind().posterior(state).score) == 0
        with pytest.raises(cr.UsageError, match="must be one of the two, or None"):
            state.vote("a", "b", "c")
        with pytest.raises(cr.UsageError, match="must be one of the two, or None"):
            state.vote("a", "a", "a")
        assert not state.index.nodes

    def test_ids_are_text_and_a_weight_is_a_number(self, kind):
        model = kind()
        state = model.start()
        model.update(state, state.vote(1, 2, 1))
        assert model.posterior(state).item.to_list() == ["1", "2"]
        for weight in (float("nan"), -1.0):
            with pytest.raises(cr.UsageError, match="'weight' must be a number"):
                state.vote("1", "2", "1", weight=weight)


def test_the_posterior_of_a_state_has_the_level_of_the_ranking():
    model = cr.Elo(initial=1500)
    state = model.start()
    model.update(state, state.vote("a", "b", "a"))
    assert model.posterior(state).frame()["score"].to_list() == pytest.approx([1516, 1484])
