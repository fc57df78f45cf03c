"""Ratings whose labels are text: names for the models of labels, numbers if their order is given."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models.labels.consensus import agreement

MODELS = [cr.DawidSkene, cr.GLAD, cr.MajorityVote]


def labels(*names, seed=0, items=20):
    """Six workers, the last of whom guesses."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(names), size=items)
    rows = [
        (f"d{item}", f"w{worker}", names[truth[item] if rng.random() < chance else rng.integers(len(names))])
        for item in range(items)
        for worker, chance in enumerate([0.9] * 5 + [0.1])
    ]
    return pl.DataFrame(rows, schema=["item", "worker", "label"], orient="row")


def test_the_probabilities_of_labels_name_them():
    fitted = cr.DawidSkene().fit(labels("relevant", "spam", "unsure"))
    frame = fitted.labels_.frame()
    assert frame.columns[2:] == ["label", "probability", "p_relevant", "p_spam", "p_unsure"]
    assert set(frame["label"]) == {"relevant", "spam", "unsure"}
    assert set(fitted.confusion_.frame()["said"]) == {"relevant", "spam", "unsure"}
    assert fitted.ranking_.score.tolist() == pytest.approx(
        fitted.labels_.probability.max(axis=1).tolist(), abs=1e-9
    )
    assert "nominal-labels" in [note.code for note in fitted.fit_.warnings]
    assert fitted.fit_.judgments["labels"] == ["relevant", "spam", "unsure"]


@pytest.mark.parametrize("model", MODELS)
def test_names_of_labels_do_not_matter(model):
    frame = labels("a", "b", "c")
    renamed = frame.with_columns(pl.col("label").replace({"a": "z", "b": "y", "c": "x"}))
    one, other = model().fit(frame), model().fit(renamed)
    assert one.ranking_.score == pytest.approx(other.ranking_.score, abs=1e-9)
    assert one.workers_.quality == pytest.approx(other.workers_.quality, abs=1e-9)
    assert one.workers_.low == pytest.approx(other.workers_.low, abs=1e-9)
    assert one.workers_.quality[5] < one.workers_.quality[:5].min()


def test_two_names_are_as_good_as_two_numbers():
    frame = labels("no", "yes")
    named, ordered = (cr.DawidSkene().fit(cr.read(frame, order=order)) for order in (None, ["no", "yes"]))
    numbers = cr.DawidSkene().fit(frame.with_columns(pl.col("label").replace_strict({"no": 0, "yes": 1})))
    assert named.workers_.quality == pytest.approx(ordered.workers_.quality, abs=1e-12)
    assert named.workers_.low == pytest.approx(ordered.workers_.low, abs=1e-12)
    assert ordered.ranking_.score.tolist() == numbers.ranking_.score.tolist()
    assert ordered.labels_.frame()["label"].to_list() == [
        "yes" if value else "no" for value in numbers.labels_.frame()["label"]
    ]


def test_the_quality_is_the_mean_over_all_orders():
    """The formula against all orders of four labels, and its derivatives against differences."""
    from itertools import permutations

    rng = np.random.default_rng(1)
    confusion, shares = rng.dirichlet(np.ones(4), size=(3, 4)), rng.dirichlet(np.ones(4))
    quality, slope = agreement(confusion, shares, nominal=True)
    orders = [np.array(order) for order in permutations(range(4))]
    pairs = [agreement(confusion[:, order][:, :, order], shares[order])[0] for order in orders]
    weight = [np.tril(np.outer(shares[order], shares[order]), -1).sum() for order in orders]
    assert quality == pytest.approx(np.average(pairs, axis=0, weights=weight), abs=1e-12)
    step = np.zeros_like(confusion)
    step[:, 1, 2] = 1e-6
    ends = [agreement(confusion + sign * step, shares, nominal=True)[0] for sign in (1, -1)]
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope[:, 1, 2], abs=1e-8)


@pytest.mark.parametrize("model", [cr.Average, cr.OrdinalLabels, cr.BradleyTerry, cr.PlackettLuce])
def test_models_that_need_numbers_ask_for_an_order(model):
    frame = labels("bad", "good", "best", items=6)
    with pytest.raises(cr.InputError, match=r"needs labels that are numbers.*'bad', 'best', 'good'") as caught:
        model().fit(frame)
    assert 'order="WORST,...,BEST"' in str(caught.value)
    assert len(model().fit(cr.read(frame, order="bad,good,best")).ranking_) == 6


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("ask", ["predict_proba", "predict"])
def test_names_without_an_order_predict_no_pairs(model, ask):
    """Which of two items is better would rest on the alphabetical order of the labels."""
    frame = labels("bad", "good", "excellent")
    named, ordered = (model().fit(cr.read(frame, order=order)) for order in (None, "bad,good,excellent"))
    said = r"(?s)have an order. The labels are 'bad', 'excellent'.*: read\(\.\.\., order="
    with pytest.raises(cr.InputError, match=said):
        getattr(named, ask)("d0", "d1")
    assert not named.predicts
    assert ordered.predicts
    assert getattr(ordered, ask)("d0", "d1") is not None


def test_on_the_command_line(crowdrank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels("bad", "good", "best").write_csv("labels.csv")
    ran = crowdrank("rank", "labels.csv", "--set", "order=bad,good,best", "--model", "average")
    assert ran.code == 0
    ran = crowdrank("rank", "labels.csv", "--out", "out")
    assert "--set order=WORST,...,BEST" in ran.err
    assert "p_best" in (tmp_path / "out" / "labels.csv").read_text().splitlines()[0]
    assert "| best (" in (tmp_path / "out" / "report.md").read_text()
    ran = crowdrank("rank", "labels.csv", "--set", "order=bad,goof,best")
    assert (ran.code, "It lacks 'good'" in ran.err) == (2, True)
    ran = crowdrank("rank", "labels.csv", "--gold", "labels.csv")
    assert "A comparison with gold needs labels that are numbers" in ran.err


@pytest.mark.parametrize(
    ("rows", "how", "words"),
    [
        ([("a", "1"), ("b", "two")], {}, r"row 2, column 'label': a number is needed here\. Got 'two'"),
        ([("a", "good"), ("b", None)], {}, "row 2, column 'label': the label is missing"),
        (
            [("a", "good"), ("b", "gut")],
            {"order": "bad,good"},
            "row 2, column 'label': the label is not in the order",
        ),
        ([("a", "4,5"), ("b", "3,5")], {}, "row 1, column 'label': a number is needed"),
        ([("a", "good")], {"order": "bad,bad"}, "names each label once"),
    ],
)
def test_mistakes(rows, how, words):
    frame = pl.DataFrame(rows, schema=["item", "label"], orient="row")
    with pytest.raises(cr.CrowdrankError, match=words):
        cr.read(frame, **how)


def test_an_order_of_pairs():
    with pytest.raises(cr.UsageError, match="'order' applies only to ratings"):
        cr.read(pl.DataFrame({"winner": ["a"], "loser": ["b"]}), order="a,b")


def test_numbers_in_one_file_and_text_in_another():
    text, number = (pl.DataFrame({"item": ["a"], "label": [label]}) for label in ("good", "1"))
    with pytest.raises(cr.InputError, match="has labels that are text, but other files have numbers"):
        cr.read([number, text])


def test_known_labels_are_numbers():
    known = pl.DataFrame({"item": ["d0"], "label": [1]})
    with pytest.raises(cr.InputError, match="Known labels are numbers"):
        cr.DawidSkene().fit(labels("a", "b"), anchors=known)


def known(*, share=0.4, **names):
    """The labels of the first items by majority, under other names if there are any."""
    frame = labels("yes", "no", items=60)
    best = cr.MajorityVote().fit(frame).labels_.polars().head(int(60 * share))
    return best.select("item", pl.col("label").replace(names))


@pytest.mark.parametrize("model", [cr.DawidSkene, cr.GLAD])
def test_known_labels_may_be_text(model):
    """As text and as numbers, known labels give the same answer."""
    frame, anchors = labels("yes", "no", items=60), known()
    named = model().fit(frame, anchors=anchors)
    assert named.fit_.details["calibration"]["known"] == anchors.height
    numbers = {"no": "0", "yes": "1"}
    coded = model().fit(frame.with_columns(pl.col("label").replace(numbers)), anchors=known(**numbers))
    assert named.labels_.probability == pytest.approx(coded.labels_.probability, abs=1e-12)


def test_known_labels_follow_a_given_order():
    frame = labels("yes", "no", items=60)
    ordered = cr.OrdinalLabels().fit(cr.read(frame, order="no,yes"), anchors=known())
    coded = frame.with_columns(pl.col("label").replace({"no": "0", "yes": "1"}))
    numbers = cr.OrdinalLabels().fit(coded, anchors=known(no="0", yes="1"))
    assert ordered.ranking_.score == pytest.approx(numbers.ranking_.score, abs=1e-12)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"yes": "Yes"}, "known label 'Yes' is none of the labels of these judgments.*Did you mean 'yes'"),
        ({"yes": "1", "no": "0"}, "Known labels are numbers, and the labels of these judgments are text"),
    ],
)
def test_known_labels_are_written_as_in_the_judgments(names, words):
    with pytest.raises(cr.InputError, match=f"(?s){words}"):
        cr.DawidSkene().fit(labels("yes", "no", items=60), anchors=known(**names))


def test_text_is_not_known_of_labels_that_are_numbers():
    frame = labels("1", "2", items=60)
    with pytest.raises(
        cr.InputError, match="Known labels are text, and the labels of these judgments are numbers"
    ):
        cr.DawidSkene().fit(frame, anchors=known())


def test_gold_may_be_text_if_labels_have_an_order(crowdrank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels("yes", "no", items=60).write_csv("labels.csv")
    known().write_csv("gold.csv")
    ran = crowdrank(
        "rank", "labels.csv", "--model", "majority-vote", "--set", "order=no,yes", "--gold", "gold.csv"
    )
    assert (ran.code, "labels" in ran.err, "1.0000" in ran.err) == (0, True, True)
    ran = crowdrank("rank", "labels.csv", "--gold", "gold.csv")
    assert "To see how often labels are right: --anchors gold.csv" in " ".join(ran.err.split())


def test_a_file_without_anchors_says_what_anchors_are():
    with pytest.raises(
        cr.InputError, match=r"(?s)holds no anchors; its columns are 'text', 'class'\..*item and label"
    ):
        cr.DawidSkene().fit(labels("yes", "no"), anchors=pl.DataFrame({"text": ["d1"], "class": ["yes"]}))
