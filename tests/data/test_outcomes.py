"""What the outcomes of pairs mean: what is guessed, what the user says, and what is not understood."""

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import LEFT, RIGHT, TIE

WORDS = {
    "left": LEFT, "Right": RIGHT, "A": LEFT, "b": RIGHT, "model_a": LEFT, "a2": RIGHT, "first": LEFT,
    "option B": RIGHT, "draw": TIE, "tie": TIE, "no preference": TIE, "both_bad": TIE, "doc1": LEFT, "doc2": RIGHT,
}  # fmt: skip
"""Words that are read without being told; the last two are the names of the columns."""


def outcomes(values, **how):
    frame = pl.DataFrame({"doc1": ["x"] * len(values), "doc2": ["y"] * len(values), "choice": values})
    return cr.read(frame, columns="left=doc1,right=doc2,winner=choice", **how).outcome.tolist()


@pytest.mark.parametrize("word", WORDS)
def test_words_are_read_without_being_told(word):
    assert outcomes([word]) == [WORDS[word]]


def test_words_are_read_in_a_label_too():
    frame = pl.DataFrame({"left": ["x", "y"], "right": ["y", "z"], "label": ["left", "B"]})
    assert cr.read(frame).outcome.tolist() == [LEFT, RIGHT]


def test_one_and_two_are_the_first_and_the_second_item():
    frame = pl.DataFrame({"left": ["x", "y", "x"], "right": ["y", "z", "z"], "winner": ["1", "2", "draw"]})
    table = cr.read(frame)
    assert table.outcome.tolist() == [LEFT, RIGHT, TIE]
    assert [note.code for note in table.notes] == ["outcomes"]
    assert 'outcomes="2=left,1=right"' in table.notes[0].wording()
    turned = cr.read(frame, outcomes="2=left,1=right")
    assert turned.outcome.tolist() == [RIGHT, LEFT, TIE]
    assert turned.notes == ()


@pytest.mark.parametrize(
    ("values", "example"),
    [
        (["1", "0"], "1=left,0=right"),
        (["1", "1"], "1=left"),
        (["-1", "1"], "1=left,-1=right"),
        (["0", "1", "2"], "1=left,2=right,0=tie"),
        (["1", "2", "3"], "1=left,2=right,3=tie"),
        ([True, False], "true=left,false=right"),
        (["left", "rihgt"], "rihgt=right"),
        (["left", "skip", "lef,t"], "lef\\,t=left,skip="),
    ],
)
def test_values_that_may_mean_more_than_one_thing_are_an_error_with_an_example_that_works(values, example):
    with pytest.raises(cr.InputError, match=r"row \d, column 'choice'") as caught:
        outcomes(values)
    assert f'outcomes="{example}"' in str(caught.value)
    outcomes(values, outcomes=example)


def test_a_value_that_nobody_can_guess_has_a_placeholder_that_is_refused():
    with pytest.raises(cr.InputError) as caught:
        outcomes(["left", "maybe so"])
    assert str(caught.value).endswith('Complete read(..., outcomes="maybe so=MEANING")')
    with pytest.raises(cr.UsageError, match="cannot mean 'MEANING'"):
        outcomes(["left", "maybe so"], outcomes="maybe so=MEANING")


def test_what_the_user_says_comes_before_ids_and_words():
    frame = pl.DataFrame({"left": ["1", "2"], "right": ["2", "3"], "winner": ["1", "2"]})
    assert cr.read(frame).outcome.tolist() == [LEFT, LEFT]
    assert cr.read(frame, outcomes={"1": "left", "2": "right"}).outcome.tolist() == [LEFT, RIGHT]


def test_a_value_without_a_meaning_leaves_its_rows_out_whatever_their_number():
    frame = pl.DataFrame({"left": ["x"] * 3, "right": ["y"] * 3, "winner": ["left", "skip", "skip"]})
    table = cr.read(frame, outcomes="skip=")
    assert table.outcome.tolist() == [LEFT]
    assert [note.code for note in table.notes] == ["outcomes-left-out"]


def test_a_word_that_is_the_id_of_an_item_elsewhere_is_no_word():
    frame = pl.DataFrame({"left": ["a", "b"], "right": ["b", "c"], "winner": ["a", "a"]})
    with pytest.raises(cr.InputError, match="row 2, column 'winner': the outcome is neither item"):
        cr.read(frame)


def test_numbers_that_are_ids_elsewhere_are_not_guessed():
    frame = pl.DataFrame({"left": ["x", "1"], "right": ["y", "z"], "winner": ["1", "2"]})
    with pytest.raises(cr.InputError, match="it is both a word for an outcome and an item's id"):
        cr.read(frame)


def test_the_guess_looks_at_all_files(tmp_path):
    for name, values in (("one", ["1", "2"]), ("two", ["0", "1"])):
        pl.DataFrame({"left": ["x", "y"], "right": ["y", "z"], "winner": values}).write_csv(tmp_path / name)
    assert cr.read(tmp_path / "one").outcome.tolist() == [LEFT, RIGHT]
    with pytest.raises(cr.InputError, match='outcomes="1=left,2=right,0=tie"'):
        cr.read([tmp_path / "one", tmp_path / "two"])


@pytest.mark.parametrize("memory", [None, 1])
def test_the_guess_is_the_same_on_disk(tmp_path, memory):
    frame = pl.DataFrame({"left": ["x", "y"], "right": ["y", "z"], "winner": ["1", "2"]})
    frame.write_csv(tmp_path / "votes.csv")
    table = cr.read(tmp_path / "votes.csv", memory=memory)
    assert [int(code) for part in table.batches() for code in part.outcome] == [LEFT, RIGHT]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("1:left", "value=meaning pairs. Got '1:left'"),
        ("1=lft", "Did you mean 'left'"),
        ("7=left,8=right", "None of the given outcomes occurs. The values are 'left'"),
    ],
)
def test_outcomes_that_say_nothing(how, message):
    with pytest.raises(cr.UsageError, match=message):
        outcomes(["left"], outcomes=how)


def test_outcomes_of_ratings():
    with pytest.raises(cr.UsageError, match=r"applies only to pairs with an outcome\. frame has ratings"):
        cr.read(pl.DataFrame({"item": ["a"], "label": ["1"]}), outcomes="1=left")


def test_numbers_with_decimals_are_those_without():
    frame = pl.DataFrame({"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": ["1.0", "2.0", "1.0"]})
    assert (
        cr.read(frame).outcome.tolist()
        == cr.read(frame.with_columns(winner=pl.Series(["1", "2", "1"]))).outcome.tolist()
    )
    assert (
        cr.read(frame, outcomes="1=right,2=left").outcome.tolist()
        == cr.read(frame, outcomes="1.0=right,2.0=left").outcome.tolist()
    )


@pytest.mark.parametrize(("items", "sides"), [("ABC", "AB"), ("123", "12")])
def test_sides_that_are_ids_too_have_the_command_that_reads_them(items, sides):
    pairs = [(a, b) for a in items for b in items if a != b]
    frame = pl.DataFrame(pairs, schema=["left", "right"], orient="row")
    frame = frame.with_columns(
        winner=pl.when(pl.col("left") < pl.col("right")).then(pl.lit(sides[0])).otherwise(pl.lit(sides[1]))
    )
    meant = f"{sides[0]}=left,{sides[1]}=right"
    with pytest.raises(cr.InputError) as caught:
        cr.read(frame)
    assert f'If outcomes are sides and not ids: read(..., outcomes="{meant}")' in str(caught.value)
    assert cr.WinRate().fit(cr.read(frame, outcomes=meant)).ranking_.frame()["item"].to_list() == list(items)


def test_ids_that_are_words_too_are_still_ids_if_each_row_has_one():
    frame = pl.DataFrame({"left": ["b", "a", "c"], "right": ["a", "c", "b"], "winner": ["a", "a", "b"]})
    with pytest.raises(cr.InputError, match="Say that it is an id"):
        cr.read(frame)
