"""Measures: by hand, against all orders of ties, and against ir-measures and SciPy."""

from itertools import permutations

import ir_measures
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import crowdrank as cr
from crowdrank import measures as m
from crowdrank.data import read_gold, read_ranking

LISTWISE = [
    (m.ndcg, {}),
    (m.ndcg, {"cut": 3, "gain": "linear"}),
    (m.dcg, {"cut": 2}),
    (m.rbp, {"p": 0.7}),
    (m.ap, {}),
    (m.ap, {"cut": 3}),
    (m.precision, {"cut": 2}),
    (m.rr, {}),
    (m.rr, {"cut": 2}),
    (m.err, {}),
    (m.err, {"cut": 3}),
]


@pytest.mark.parametrize(("measure", "parameters"), LISTWISE)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=5))
def test_ties_give_the_mean_over_all_their_orders(measure, parameters, rows):
    scores, grades = (np.array(column, float) for column in zip(*rows, strict=True))
    orders = [scores + 1e-6 * np.array(order) for order in permutations(range(len(rows)))]
    expected = np.mean([measure(order, grades, **parameters) for order in orders])
    assert measure(scores, grades, **parameters) == pytest.approx(expected, abs=1e-12)


def test_a_measure_is_the_mean_of_its_values_in_the_queries():
    gold = read_gold(pl.DataFrame({"query": list("qqpp"), "item": list("abab"), "grade": [1, 0, 0, 1]}))
    ranking = read_ranking(
        pl.DataFrame({"query": list("ppqq"), "item": list("abab"), "score": [2.0, 1.0, 2.0, 1.0]})
    )
    found = m.evaluate_queries(ranking, gold, "RR P@1")
    assert {name: values.tolist() for name, values in found.items()} == {"RR": [1.0, 0.5], "P@1": [1.0, 0.0]}
    assert m.evaluate(ranking, gold, "RR P@1") == {"RR": 0.75, "P@1": 0.5}


class TestByHand:
    scores, grades = np.array([4.0, 3.0, 2.0]), np.array([1.0, 0.0, 2.0])

    def test_dcg(self):
        assert m.dcg(self.scores, self.grades) == pytest.approx(1 / np.log2(2) + 0 + 3 / np.log2(4))

    def test_ndcg(self):
        best = 3 / np.log2(2) + 1 / np.log2(3)
        assert m.ndcg(self.scores, self.grades) == pytest.approx((1 + 3 / 2) / best)

    def test_linear_gains(self):
        assert m.dcg(self.scores, self.grades, gain="linear") == pytest.approx(1 + 2 / 2)

    def test_rbp(self):
        assert m.rbp(self.scores, self.grades, p=0.5, most=2) == pytest.approx(0.5 * (1 / 3 + 0 + 0.25 * 1))

    def test_ap(self):
        assert m.ap(self.scores, self.grades) == pytest.approx((1 / 1 + 2 / 3) / 2)

    def test_err(self):
        stop1, stop3 = 1 / 4, 3 / 4
        assert m.err(self.scores, self.grades) == pytest.approx(stop1 + (1 - stop1) * stop3 / 3)

    def test_rr_and_precision(self):
        assert m.rr(self.scores, self.grades, rel=2) == pytest.approx(1 / 3)
        assert m.precision(self.scores, self.grades, cut=2) == pytest.approx(1 / 2)

    def test_fractional_grades(self):
        assert m.dcg(np.array([1.0]), np.array([0.5])) == pytest.approx(2**0.5 - 1)

    def test_nothing_relevant_counts_nothing(self):
        nothing = np.zeros(3)
        for measure in (m.ndcg, m.dcg, m.ap, m.rr, m.err):
            assert measure(self.scores, nothing) == 0

    def test_pairwise_accuracy(self):
        # eq. 20: of the 3 pairs of different grades, (1 > 0) is right, (2 > 1) and (2 > 0) are wrong
        assert m.pairwise_accuracy(self.scores, self.grades) == pytest.approx(1 / 3)
        assert np.isnan(m.pairwise_accuracy(self.scores, np.ones(3)))

    def test_auc_of_worker_detection(self):
        quality = np.array([0.9, 0.8, 0.5, 0.6])
        assert m.roc_auc(1 - quality, np.array([False, False, True, True])) == 1.0

    def test_distance(self):
        assert m.kendall_distance(np.array([1, 2, 3.0]), np.array([3, 2, 1.0])) == 3
        assert m.kendall_distance(np.array([1, 1.0]), np.array([1, 2.0])) == 0.5


numbers = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=60)


@given(numbers)
def test_orders_against_scipy(rows):
    x, y = (np.array(column, float) for column in zip(*rows, strict=True))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(m.kendall_tau(x, y))
        assert np.isnan(m.spearman(x, y))
        return
    assert m.kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert m.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    above = y[:, None] > y[None, :]
    expected = (above & (x[:, None] > x[None, :])).sum() + 0.5 * (above & (x[:, None] == x[None, :])).sum()
    assert m.pairwise_accuracy(x, y) == pytest.approx(expected / above.sum())


class TestAgainstIrMeasures:
    """On runs without ties, over queries of which one is missing and one has nothing relevant."""

    @pytest.fixture
    def case(self):
        rng = np.random.default_rng(0)
        gold, run = [], []
        for query in map(str, range(8)):
            for item in range(30):
                grade = int(rng.integers(0, 3)) * (query != "6")
                if rng.random() < 0.8:
                    gold.append((query, f"d{item}", grade))
                if query != "7" and rng.random() < 0.8:
                    run.append((query, f"d{item}", float(rng.normal())))
        return gold, run

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            ("nDCG@10", ir_measures.nDCG(gains={0: 0, 1: 1, 2: 3}) @ 10),
            ("nDCG(gain=linear)@10", ir_measures.nDCG @ 10),
            ("nDCG(gain=linear)", ir_measures.nDCG),
            ("AP", ir_measures.AP),
            ("AP(rel=2)@20", ir_measures.AP(rel=2) @ 20),
            ("P@5", ir_measures.P @ 5),
            ("RR", ir_measures.RR),
        ],
    )
    def test_equal(self, case, ours, theirs):
        gold, run = case
        qrels = [ir_measures.Qrel(*row) for row in gold]
        scored = [ir_measures.ScoredDoc(*row) for row in run]
        expected = ir_measures.calc_aggregate([theirs], qrels, scored)[theirs]
        found = m.evaluate(
            read_ranking(pl.DataFrame(run, schema=["query", "item", "score"], orient="row")),
            read_gold(pl.DataFrame(gold, schema=["query", "item", "grade"], orient="row")),
            ours,
        )
        assert found[ours] == pytest.approx(expected, abs=1e-9)


class TestEvaluate:
    ranking = pl.DataFrame({"item": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})
    gold = pl.DataFrame({"item": ["a", "b", "d"], "grade": [0.0, 1.0, 2.0]})

    def test_names(self):
        found = m.evaluate(read_ranking(self.ranking), read_gold(self.gold), "nDCG@10 RBP(p=0.95) AP tau acc")
        assert list(found) == ["nDCG@10", "RBP(p=0.95)", "AP", "tau", "acc"]
        assert found["acc"] == 0.0  # of the items that both have
        assert found["AP"] == pytest.approx((1 / 2) / 2)  # d is relevant and not ranked

    def test_the_cut_may_stand_before_or_after_the_parameters(self):
        one, two = (
            m.evaluate(read_ranking(self.ranking), read_gold(self.gold), text)[text]
            for text in ("nDCG(gain=linear)@2", "nDCG@2(gain=linear)")
        )
        assert one == two

    def test_grades_of_any_size(self):
        gold = read_gold(pl.DataFrame({"item": ["a", "b", "c"], "true_rank": [3000, 1, 2]}))
        text = "nDCG(gain=exponential) RBP(gain=exp) ERR(gain=exponential)"
        found = m.evaluate(read_ranking(self.ranking), gold, text)
        # gains of 2^2999 and 2^2998 against nothing: the two best stand second and third
        expected = (1 / np.log2(3) + 0.5 / 2) / (1 + 0.5 / np.log2(3))
        assert found["nDCG(gain=exponential)"] == pytest.approx(expected)
        assert all(np.isfinite(value) for value in found.values())
        with pytest.raises(cr.UsageError, match="gain=linear"):
            m.evaluate(read_ranking(self.ranking), gold, "DCG(gain=exponential)")

    @pytest.mark.parametrize(
        "text", ["nope", "nDCG@", "tau@5", "AP(p=2)", "RBP(p=2)", "RBP(p=x)", "nDCG@0", "nDCG(gain=cubic)@3", ""]
    )
    def test_unknown_measures_are_named(self, text):
        with pytest.raises(cr.UsageError):
            m.evaluate(read_ranking(self.ranking), read_gold(self.gold), text)

    def test_nothing_in_common_is_an_error(self):
        other = self.gold.with_columns(item=pl.Series(["x", "y", "z"]))
        with pytest.raises(cr.InputError, match="no item in common"):
            m.evaluate(read_ranking(self.ranking), read_gold(other), "AP")

    def test_queries_on_one_side_only(self):
        gold = self.gold.with_columns(query=pl.Series(["p", "q", "q"]))
        with pytest.raises(cr.InputError, match="gold has queries"):
            m.evaluate(read_ranking(self.ranking), read_gold(gold), "AP")
