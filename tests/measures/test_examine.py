"""What a reader of measures should know: what the gold covers, and why a figure is odd."""

import numpy as np
import polars as pl
import pytest

from crowdrank import measures as m
from crowdrank.data import read_gold, read_ranking
from crowdrank.errors import InputError

RANKING = pl.DataFrame({"item": list("abcde"), "score": [5.0, 4.0, 3.0, 2.0, 1.0]})


def examined(grades, measures="acc tau nDCG@10", *, column="grade", ranking=RANKING, columns=None):
    gold = pl.DataFrame({"item": list(grades), column: list(grades.values())})
    return m.examine(read_ranking(ranking), read_gold(gold, columns=columns), measures)


def codes(found):
    return [note.code for note in found.notes]


def message(found, code):
    return next(note.wording() for note in found.notes if note.code == code)


CLEAN = {"a": 3, "b": 2, "c": 1, "d": 1, "e": 0}


def test_clean_gold_has_no_note():
    found = examined(CLEAN)
    assert found.notes == ()
    assert found.values == m.evaluate(read_ranking(RANKING), read_gold(_frame(CLEAN)), "acc tau nDCG@10")


def _frame(grades):
    return pl.DataFrame({"item": list(grades), "grade": list(grades.values())})


class TestCoverage:
    def test_without_queries(self):
        found = examined({"a": 3, "b": 1, "z": 0})
        assert found.coverage.as_dict() == {
            "items": 2, "ranked_items": 5, "queries": 1, "ranked_queries": 1, "unranked": 1,
        }  # fmt: skip
        assert str(found.coverage) == "grades for 2 of 5 ranked items; 1 graded item is not ranked"

    def test_by_query(self):
        ranking = pl.DataFrame({"query": list("ppqq"), "item": list("abab"), "score": [1.0, 2, 1, 2]})
        gold = pl.DataFrame({"query": list("pprr"), "item": list("abab"), "grade": [1, 0, 1, 0]})
        found = m.examine(read_ranking(ranking), read_gold(gold), "AP")
        assert str(found.coverage) == (
            "grades for 2 of 4 ranked items, in 1 of 2 queries; 2 graded items are not ranked"
        )


class TestSimilarIds:
    def test_an_item_of_the_gold_that_is_spelled_otherwise_is_named(self):
        found = examined({"A": 3, "b ": 2, "c": 1, "d": 1, "e": 0, "C": 1})
        assert message(found, "similar-ids").startswith(
            "3 items of the gold differ from a ranked one only by case or spaces: 'A' and 'a', 'b ' and 'b', "
            "'C' and 'c'. They count as different."
        )

    def test_ranked_items_that_are_alike_are_no_matter_of_the_gold(self):
        ranking = pl.DataFrame({"item": list("abA"), "score": [3.0, 2.0, 1.0]})
        assert codes(examined({"a": 3, "b": 1, "A": 0}, ranking=ranking)) == []

    def test_if_every_item_is_spelled_otherwise_the_error_says_so(self):
        with pytest.raises(InputError, match="no item in common") as caught:
            examined({" a": 3, " b": 2})
        assert "These differ only by case or spaces: ' a' and 'a', ' b' and 'b'" in str(caught.value)
        with pytest.raises(InputError, match="'01' is not '1'"):
            examined({"x": 3, "y": 2})


class TestOddGrades:
    ranking = pl.DataFrame({"item": list("abcdefghijkl"), "score": list(range(12, 0, -1))})

    def test_a_grade_far_from_all_others(self):
        grades = dict(zip("abcdefghijkl", [33, 3, 3, 2, 2, 2, 1, 1, 0, 0, -1, -1], strict=True))
        found = message(examined(grades, ranking=self.ranking), "odd-label")
        assert found.startswith("1 grade of the gold is 33 ('a'), and all others are 0 to 3.")

    @pytest.mark.parametrize("column", ["grade", "rank"])
    def test_the_numbers_1_to_12_are_not_odd(self, column):
        grades = dict(zip("abcdefghijkl", range(12, 0, -1), strict=True))
        assert "odd-label" not in codes(examined(grades, column=column, ranking=self.ranking))


class TestNotJudged:
    def test_grades_below_0_are_left_out_and_this_is_said(self):
        found = examined({"a": -1, "b": 2, "c": 1, "d": -2, "e": 0})
        assert found.values["acc"] == 1.0  # not those of a and d
        assert found.coverage.items == 3
        assert message(found, "not-judged").startswith(
            "2 grades of the gold are below 0 (-1, -2), which means not judged"
        )

    def test_a_ranked_item_that_is_not_judged_keeps_its_place(self):
        known, unjudged = examined({"b": 1, "c": 0}), examined({"a": -1, "b": 1, "c": 0})
        assert known.values == unjudged.values

    def test_a_query_without_a_judgment_still_counts(self):
        ranking = pl.DataFrame({"query": list("pq"), "item": list("aa"), "score": [1.0, 1.0]})
        gold = pl.DataFrame({"query": list("ppq"), "item": list("aba"), "grade": [1, 0, -1]})
        assert m.evaluate(read_ranking(ranking), read_gold(gold), "AP") == {"AP": 0.5}

    @pytest.mark.parametrize("grades", [{"a": 1, "b": 1, "c": -1}, {"a": 1.5, "b": 0.5, "c": -0.5}])
    def test_a_scale_around_0_is_judged(self, grades):
        found = examined(grades)
        assert found.values["acc"] == 1.0
        assert codes(found) == ["negative-grades"]
        assert "below 0, down to -" in message(found, "negative-grades")
        assert "nDCG" in message(found, "negative-grades")
        assert examined(grades, measures="acc").notes == ()

    def test_ranks_below_0(self):
        found = examined({"a": 1, "b": 2, "c": 3, "d": -1}, column="rank")
        assert found.values["acc"] == 1.0
        assert "not-judged" in codes(found)

    def test_labels(self):
        labels = _frame({"a": 1.0, "b": 2.0}).select(pl.lit(None, pl.String).alias("query"), "item", label="grade")
        gold = read_gold(_frame({"a": 1, "b": -1, "c": 0}))
        assert m.label_accuracy(labels, gold) == 1.0
        signed = labels.with_columns(label=pl.Series([1.0, -1.0]))
        assert m.label_accuracy(signed, gold) == 1.0


AGES = {"a": 60, "b": 64, "c": 40, "d": 30, "e": 20}


class TestLinearGain:
    def test_large_grades_are_their_own_gains(self):
        found = examined(AGES, "nDCG@10 DCG RBP ERR")
        discount = 1 / np.log2(np.arange(2, 7))
        dcg = np.array([60, 64, 40, 30, 20]) @ discount
        assert found.values["nDCG@10"] == pytest.approx(dcg / (np.array([64, 60, 40, 30, 20]) @ discount))
        assert found.values["DCG"] == pytest.approx(dcg)
        assert found.values["RBP"] == pytest.approx(
            0.2 * np.array([60, 64, 40, 30, 20]) @ 0.8 ** np.arange(5) / 64
        )
        assert message(found, "linear-gain") == (
            "Grades go up to 64, so the gains of nDCG@10, DCG, RBP and ERR are the grades themselves. "
            "For gains of 2^grade - 1, write nDCG(gain=exponential)@10."
        )

    def test_err(self):
        found = examined({"a": 11, "b": 22, "c": 0}, "ERR", ranking=RANKING.head(2))
        first, second = 11 / 23, 22 / 23
        assert found.values["ERR"] == pytest.approx(first + (1 - first) * second / 2)

    def test_unless_the_measure_names_its_gain(self):
        found = examined(AGES, "nDCG(gain=exponential)@10 nDCG(gain=exp)@10 nDCG(gain=linear)@10")
        one, two, linear = found.values.values()
        assert one == two < linear
        assert found.notes == ()

    def test_parameters_stay_in_the_advice(self):
        assert message(examined(AGES, "RBP(p=0.95)"), "linear-gain").endswith("RBP(p=0.95,gain=exponential).")

    def test_grades_up_to_10_have_exponential_gains(self):
        ten = {"a": 10, "b": 0}
        assert examined(ten, "DCG").values["DCG"] == 2**10 - 1
        assert examined(ten, "DCG").notes == ()


class TestUndefined:
    @pytest.mark.parametrize(
        ("grades", "reason"),
        [
            ({"a": 1, "z": 0}, "only one ranked item has a grade, and two are needed"),
            ({"a": 1, "b": 1}, "no two ranked items have different grades"),
            ({"a": -1, "y": 1, "z": 0}, "no ranked item has a grade, and two are needed"),
        ],
    )
    def test_the_reason_is_given(self, grades, reason):
        found = examined(grades)
        assert np.isnan(found.values["tau"])
        assert message(found, "undefined") == f"acc and tau are undefined: {reason}."

    def test_tied_scores(self):
        found = examined(CLEAN, "tau", ranking=RANKING.with_columns(score=pl.lit(1.0)))
        reason = "no two items with different grades have different scores"
        assert message(found, "undefined") == f"tau is undefined: {reason}."

    def test_nothing_relevant(self):
        found = examined({"a": 0.5, "b": 0}, "AP P@1 nDCG")
        assert message(found, "nothing-relevant") == "AP and P@1 are 0: no grade is 1 or more."
        assert message(examined({"a": 0, "b": 0}, "nDCG"), "nothing-relevant") == "nDCG is 0: no grade is above 0."


class TestReversed:
    def test_ranks_read_as_grades(self):
        ranks = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
        found = examined(ranks)
        assert "Spearman's rho -1.00 over 5 items" in message(found, "reversed-gold")
        assert 'gold_columns="true_rank=grade"' in message(found, "reversed-gold")
        mended = examined(ranks, columns="true_rank=grade")  # the column is called grade, but was named a rank
        assert mended.values["tau"] == 1.0
        assert mended.notes == ()

    def test_grades_read_as_ranks(self):
        grades = {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}
        found = examined(grades, column="true_rank")
        assert 'gold_columns="grade=true_rank"' in message(found, "reversed-gold")
        mended = examined(grades, column="true_rank", columns="grade=true_rank")
        assert mended.values["tau"] == 1.0
        assert mended.notes == ()

    def test_within_queries(self):
        """Larger grades in the queries with larger scores do not hide that each query is reversed."""
        ranking = pl.DataFrame({"query": list("pppqqq"), "item": list("abc" * 2), "score": [3.0, 2, 1, 9, 8, 7]})
        gold = pl.DataFrame({"query": list("pppqqq"), "item": list("abc" * 2), "grade": [0, 1, 2, 4, 5, 6]})
        assert codes(m.examine(read_ranking(ranking), read_gold(gold), "tau")) == ["reversed-gold"]

    @pytest.mark.parametrize("items", [5, 10, 30])
    def test_chance_is_rarely_suspected(self, items):
        rng = np.random.default_rng(0)
        names = [str(item) for item in range(items)]
        ranking = read_ranking(pl.DataFrame({"item": names, "score": np.arange(items)}))
        found = [
            m.examine(
                ranking, read_gold(pl.DataFrame({"item": names, "grade": rng.permutation(items) / items})), "acc"
            )
            for _ in range(200)
        ]
        assert (
            np.mean([codes(one) == ["reversed-gold"] for one in found]) < 0.08
        )  # of rankings that have nothing to do with the gold


@pytest.mark.parametrize(
    ("name", "grade", "said"),
    [
        ("Total", 8, True),
        ("sum", 8, True),
        ("average", 2, True),
        ("ALL", 2, True),
        ("Total", 7, False),
        ("d", 8, False),
    ],
)
def test_a_row_of_totals(name, grade, said):
    found = examined({"a": 4, "b": 3, "c": 1, "e": 0, name: grade}, "acc")
    assert ("totals-row" in codes(found)) is said
