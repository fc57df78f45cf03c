"""The next questions from files and frames: who takes part, rules by attributes, gold, models."""

import json

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data.roster import Roster
from crowdrank.errors import InputError, UsageError, word_hint
from crowdrank.select.questions import next_questions
from helpers import random_votes


def pairs_of(found):
    return [frozenset(row) for row in found.frame().select("left", "right").iter_rows()]


def votes(**more):
    return random_votes(3, items=10, workers=5, votes=150, **more)


def test_best_first_and_numbered_after_the_votes():
    found = next_questions(votes(), 12)
    assert found.tasks().columns == ["question", "query", "left", "right"]
    assert found.frame()["question"].to_list() == list(range(151, 163))
    assert len({*pairs_of(found)}) == 12


def test_the_first_question_has_the_largest_gain_of_all():
    frame = votes()
    best = next_questions(frame, 1).frame()["gain"][0]
    every = next_questions(frame, 45).frame()
    assert best == pytest.approx(every["gain"].max())


@pytest.mark.parametrize("model", ["bt", "crowd-bt", "judge-bt", "thurstone", "online-crowd-bt", "elo"])
def test_any_model_with_a_posterior(model):
    assert len(next_questions(votes(), 5, model=model).frame()) == 5


def test_a_model_without_a_posterior_is_refused():
    with pytest.raises(UsageError, match="no posterior"):
        next_questions(votes(), 5, model="win-rate")


def test_votes_of_unknown_people():
    assert len(next_questions(votes().drop("worker"), 5).frame()) == 5


def test_queries_are_kept_apart():
    frame = votes(queries=3)
    found = next_questions(frame, 30)
    known = {
        (query, item) for query, *sides in frame.select("query", "left", "right").iter_rows() for item in sides
    }
    for query, *sides in found.frame().select("query", "left", "right").iter_rows():
        assert all((query, item) in known for item in sides)
    assert found.frame()["query"].n_unique() == 3


def test_before_the_first_vote_the_listed_items_are_asked_about_evenly():
    items = pl.DataFrame({"item": list("abcdef")})
    found = next_questions(None, 6, items=items)
    counts = pl.concat([found.frame()["left"], found.frame()["right"]]).value_counts()["count"]
    assert counts.sum() == 12
    assert 1 <= counts.min() <= counts.max() <= 3
    with pytest.raises(UsageError, match="listed"):
        next_questions(None, 6)


def test_only_listed_items_are_asked_about_and_new_ones_first():
    items = pl.DataFrame({"item": ["i1", "i2", "i3", "new"]})
    found = next_questions(votes(), 4, items=items)
    assert {*found.frame()["left"], *found.frame()["right"]} <= {"i1", "i2", "i3", "new"}
    assert "new" in pairs_of(found)[0]
    assert [note.code for note in found.notes] == ["not-listed"]


def test_judges_are_named_and_nobody_gets_too_many():
    found = next_questions(votes(), 12, judges=["w1", "w2", "newcomer"])
    assert {*found.frame()["worker"]} <= {"w1", "w2", "newcomer"}
    assert found.frame()["worker"].value_counts()["count"].max() <= 8


def test_rules_by_attributes():
    items = pl.DataFrame(
        {"item": [f"i{code}" for code in range(10)], "team": list("ABABABABAB"), "arm": list("xxxxxyyyyy")}
    )
    judges = pl.DataFrame({"worker": ["w1", "w2"], "team": ["A", "B"]})
    team, arm = (dict(zip(items["item"], items[name], strict=True)) for name in ("team", "arm"))
    own = dict(judges.iter_rows())
    found = next_questions(votes(), 10, items=items, judges=judges, settings={"own": "team"})
    for left, right, worker in found.frame().select("left", "right", "worker").iter_rows():
        assert own[worker] not in (team[left], team[right])
    across = next_questions(votes(), 10, items=items, settings={"differ": "arm"})
    assert all(arm[left] != arm[right] for left, right in across.frame().select("left", "right").iter_rows())
    within = next_questions(votes(), 10, items=items, settings={"same": "arm", "differ": "team"})
    for left, right in within.frame().select("left", "right").iter_rows():
        assert arm[left] == arm[right]
        assert team[left] != team[right]
    with pytest.raises(InputError, match="color"):
        next_questions(votes(), 10, items=items, settings={"differ": "color"})
    with pytest.raises(UsageError, match="judges"):
        next_questions(votes(), 10, items=items, settings={"own": "team"})


def test_exclusions_by_pair_and_by_judge():
    first = pairs_of(next_questions(votes(), 3))
    rows = [tuple(own) for own in first]
    exclude = pl.DataFrame(rows, schema=["left", "right"], orient="row")
    assert not {*first} & {*pairs_of(next_questions(votes(), 20, exclude=exclude))}
    hidden = pl.DataFrame({"worker": ["new"] * 8, "item": [f"i{code}" for code in range(8)]})
    found = next_questions(votes(), 1, judges=["new"], exclude=hidden)
    assert pairs_of(found) == [{"i8", "i9"}]
    with pytest.raises(InputError, match="exclusions need"):
        next_questions(votes(), 3, exclude=pl.DataFrame({"a": ["x"]}))


def test_caps_may_leave_fewer_questions():
    found = next_questions(None, 50, items=list("abcd"), settings={"pair_cap": 1})
    assert len(found.frame()) == 6
    assert [note.code for note in found.notes] == ["fewer-questions"]


def test_gold_pairs_are_mixed_in():
    gold = pl.DataFrame({"left": ["i1", "i2"], "right": ["i3", "i4"], "label": ["i1", "i4"]})
    found = next_questions(
        votes(), 40, judges=["newcomer", "other"], anchors=gold, settings={"gold_share": 0.5, "judge_share": 0.9},
        model="crowd-bt",
    )  # fmt: skip
    assert len(found.frame()) == 40


def test_gamma_by_gold_pairs():
    gold = pl.DataFrame({"left": ["i1", "i2"], "right": ["i3", "i4"], "label": ["i1", "i4"]})
    people = ["w1", "w2"]
    assert len(next_questions(votes(), 3, judges=people, anchors=gold, settings={"gamma": "gold"}).frame()) == 3
    with pytest.raises(UsageError, match="gold pairs"):
        next_questions(votes(), 3, judges=people, settings={"gamma": "gold"})


def test_no_judge_gets_too_much():
    people = [f"w{code}" for code in range(6)]

    def most(people, **more):
        found = next_questions(votes(), 30, judges=people, **more).frame()
        assert len(found) == 30
        return found["worker"].value_counts()["count"].max()

    assert most(people) <= 10
    assert most(people[:2]) == 15
    assert most(people, each=6) <= 6
    assert most(people, settings={"judge_share": 0.2}) <= 6


@pytest.mark.parametrize("settings", [{"gamma": 2}, {"item_cap": 1}, {"judge_share": 0.5}, {"rest": 0}])
def test_what_is_about_judges_needs_judges(settings):
    with pytest.raises(UsageError, match=f"'{next(iter(settings))}' is about the judge"):
        next_questions(votes(), 3, settings=settings)
    with pytest.raises(UsageError, match="'each' is about the judge"):
        next_questions(votes(), 3, each=3)


def test_exclusions_and_gold_that_name_something_unknown_are_noted():
    never = pl.DataFrame({"left": ["i1", "i1"], "right": ["i2", "i999"]})
    gold = pl.DataFrame({"left": ["i1", "zz"], "right": ["i3", "i4"], "label": ["i1", "i4"]})
    found = next_questions(votes(), 3, exclude=never, anchors=gold)
    messages = {note.code: note.message for note in found.notes}
    assert "1 of 2 exclusions" in messages["unknown-exclusions"]
    assert "1 of 2 gold pairs" in messages["anchors"]
    with pytest.raises(UsageError, match="hides items from judges"):
        next_questions(votes(), 3, exclude=pl.DataFrame({"worker": ["w1"], "item": ["i1"]}))


def test_few_items_and_many_judges():
    people = [f"w{code}" for code in range(9)]
    found = next_questions(None, 200, items=["a", "b", "c", "d"], judges=people)
    assert len(found.frame()) == 9 * 6  # every judge every pair once
    assert found.frame().select("worker", pl.concat_list("left", "right").list.sort()).is_unique().all()
    assert "fewer-questions" in {note.code for note in found.notes}


@pytest.mark.parametrize(
    ("settings", "words", "hint"),
    [
        ({}, "the judges have judged every pair that they may be asked", "repeats=true"),
        ({"repeats": True, "pair_cap": 2}, "every pair was asked as often as pair_cap=2 allows", "pair_cap=null"),
        (
            {"repeats": True, "item_cap": 1},
            "the judges have seen the items as often as item_cap=1",
            "item_cap=null",
        ),
        ({"pair_cap": 1}, "several rules together leave no pair", None),
    ],
)
def test_the_rule_that_leaves_no_question_is_named(settings, words, hint):
    asked = [("ann", "a", "b"), ("bob", "b", "a")]
    with pytest.raises(InputError, match=f"No question is allowed: .*{words}") as raised:
        next_questions(asked, 3, judges=["ann", "bob"], settings=settings)
    if hint is None:
        return
    assert word_hint(raised.value.hint).endswith(f": {hint}")
    name, value = hint.split("=")
    followed = {**settings, name: json.loads(value)}
    assert len(next_questions(asked, 3, judges=["ann", "bob"], settings=followed).frame())


def test_exclusions_or_a_floor_that_leave_no_question():
    never = pl.DataFrame({"left": ["a"], "right": ["b"]})
    with pytest.raises(InputError, match="all pairs are excluded"):
        next_questions(None, 5, items=["a", "b"], exclude=never)
    with pytest.raises(InputError, match=r"(?s)all pairs are closer than floor=0\.99 allows.*floor=0\.5"):
        next_questions(None, 5, items=["a", "b"], settings={"floor": 0.99})


def test_tasks_show_what_people_judge():
    items = pl.DataFrame({"item": ["a", "b", "c"], "text": ["ape", "bee", "cat"]})
    roster = Roster.read(items, "item")
    found = next_questions(None, 3, items=roster).tasks(roster, ["text"])
    shown = dict(zip("abc", ("ape", "bee", "cat"), strict=True))
    for row in found.iter_rows(named=True):
        assert (row["left_text"], row["right_text"]) == (shown[row["left"]], shown[row["right"]])


def test_the_same_seed_asks_the_same():
    one, two, other = (next_questions(votes(), 10, seed=seed).tasks() for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


def test_no_search_is_better_than_looking_at_every_pair(monkeypatch):
    frame = random_votes(4, items=60, workers=5, votes=400)
    fast = next_questions(frame, 10).frame()
    monkeypatch.setattr("crowdrank.select.desk.FEW", 10)
    assert next_questions(frame, 10).frame()["gain"].to_list() == pytest.approx(fast["gain"].to_list(), abs=1e-12)


class TestRoster:
    def test_ids_by_several_names(self):
        for name in ("item", "ID", "doc"):
            assert Roster.read(pl.DataFrame({name: ["a", "b"], "x": ["1", "2"]}), "item").ids == ["a", "b"]
        assert Roster.read(pl.DataFrame({"judge": ["v"]}), "worker").ids == ["v"]
        assert Roster.read(pl.DataFrame({"whatever": ["v"]}), "worker").ids == ["v"]

    def test_mistakes_name_the_row(self):
        with pytest.raises(InputError, match=r"row 3.*twice"):
            Roster.read(pl.DataFrame({"item": ["a", "b", "a"]}), "item")
        with pytest.raises(InputError, match=r"row 2.*missing"):
            Roster.read(pl.DataFrame({"item": ["a", None], "x": ["1", "2"]}), "item")
        with pytest.raises(InputError, match="column 'item'"):
            Roster.read(pl.DataFrame({"name": ["a"], "x": ["1"]}), "item")

    def test_the_same_item_may_be_in_several_queries(self):
        roster = Roster.read(pl.DataFrame({"query": ["p", "q"], "item": ["a", "a"]}), "item")
        assert roster.by_query


def test_many_votes_are_learned_one_by_one(monkeypatch):
    monkeypatch.setattr("crowdrank.select.field.MANY_VOTES", 100)
    assert [note.code for note in next_questions(votes(), 3).notes] == ["many-votes"]


def test_files_larger_than_memory(tmp_path):
    path = tmp_path / "votes.csv"
    random_votes(3, items=10, workers=5, votes=3000).write_csv(path)
    table = cr.read(path, memory="100KB")
    assert len(next_questions(table, 5).frame()) == 5
    assert np.isfinite(next_questions(table, 5).frame()["gain"].to_numpy()).all()


def test_groups_that_were_never_compared_are_noted():
    apart, linked = [("a", "b"), ("b", "a"), ("x", "y"), ("y", "x")], [("a", "x")]
    assert [note.code for note in next_questions(apart, 2).notes] == ["disconnected"]
    assert next_questions(apart + linked, 2).notes == ()
