"""The contract: every registered model passes by being registered.

A model gives the same answer to 1e-9 whatever the names, the order of the rows, the shards and the threads
are, and for a doubled row as for a weight of 2. If its entry says that it varies with one of them, it must really
do so.
The answer is everything: all tables, the likelihood, and the probabilities of votes and of lists.
"""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from answers import fit, held_to, same, translate
from cases import ROWS, drawn, every_case, every_model, fitted_in_shards, of_lists, of_votes
from crowdrank.prepared import comparisons, label_rows, list_shards, panels
from crowdrank.prepared.labels import Labels
from crowdrank.prepared.lists import Lists
from crowdrank.prepared.votes import Votes
from shards import small_shards


def other_names(frame):
    """New ids for all items, workers and queries, in another order."""
    rng = np.random.default_rng(0)
    columns = {"item": {"item", "left", "right"}, "worker": {"worker"}, "query": {"query"}}
    found = {}
    for role, among in columns.items():
        ids = sorted(set().union(*(frame[column] for column in among & set(frame.columns))))
        found[role] = dict(zip(ids, [f"x{k:03d}" for k in rng.permutation(len(ids))], strict=True))
    return found


@every_case()
def test_twice_to_the_bit_and_no_global_random_state(case):
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    same(case.model, fit(case.entry, case.frame), tolerance=0)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@every_case()
def test_under_other_names(case):
    names = other_names(case.frame)
    other = fit(case.entry, translate(case.frame, names))
    held_to(case.entry, "names", case.model, other, names=names)


@every_model(lambda entry: entry.sequential)
@pytest.mark.parametrize("queries", [0, 3])
@pytest.mark.parametrize("given", ["lists", "lists with items below", "labels"])
def test_lists_become_votes_in_an_order_that_no_name_decides(entry, given, queries):
    """Only the order of the rows may decide which pair of a list comes first; some labels are repeated here."""
    frame = drawn(given, queries)
    names = other_names(frame)
    same(fit(entry, frame), fit(entry, translate(frame, names)), names=names)


@every_case()
def test_under_shuffled_rows(case):
    shuffled = case.frame.sample(fraction=1, shuffle=True, seed=1)
    held_to(case.entry, "rows", case.model, fit(case.entry, shuffled))


@every_case(of_votes)
def test_under_shuffled_rows_with_timestamps(case):
    times = np.random.default_rng(4).permutation(len(case.frame)).astype(float)
    timed = case.frame.with_columns(timestamp=pl.Series(times))
    same(fit(case.entry, timed), fit(case.entry, timed.sample(fraction=1, shuffle=True, seed=1)))


@every_case(of_votes)
def test_under_swapped_sides(case):
    swapped = case.frame.rename({"left": "right", "right": "left"})
    held_to(case.entry, "sides", case.model, fit(case.entry, swapped), swapped=True)


@every_case()
@pytest.mark.parametrize("rows", [20, ROWS])
def test_under_other_shards(case, rows):
    if rows == ROWS:
        found = case.model_in_shards
    else:
        with small_shards(rows):
            found = fit(case.entry, case.frame, engine=cr.LocalEngine(1))
    held_to(case.entry, "shards", case.model, found)


@every_case()
def test_on_other_threads_to_the_bit(case):
    other, counts = fitted_in_shards(case, 3)
    held_to(case.entry, "threads", case.model_in_shards, other, tolerance=0)
    assert (
        not counts or not case.queries or max(counts) > 1
    )  # a model of whole queries has one shard for one query


@every_case()
def test_for_a_doubled_row_and_a_weight_of_two(case):
    frame = case.frame
    if of_lists(case.entry) and "label" in frame.columns:
        return  # the labels of a worker are one list, which has one weight
    if "list" in frame.columns:
        some = frame["list"] == "l0"
        again = frame.filter(some).with_columns(list=pl.lit("l9"))
    else:
        some = pl.Series(np.random.default_rng(2).random(len(frame)) < 0.4)
        again = frame.filter(some)
    weighted = frame.with_columns(weight=some.cast(pl.Float64) + 1)
    held_to(case.entry, "weights", fit(case.entry, pl.concat([frame, again])), fit(case.entry, weighted))


@pytest.mark.parametrize("queries", [0, 3])
@pytest.mark.parametrize("rows", [20, ROWS])
def test_small_shards_are_several(rows, queries):
    """Otherwise the tests of shards and threads would test nothing."""
    votes, lists, labels = (cr.read(drawn(name, queries)) for name in ("votes", "lists", "labels"))
    with small_shards(rows):
        counts = [
            len(comparisons.plan(Votes(votes).comparisons)),
            len(list_shards.shards(Lists(lists))),
            len(label_rows.plan_labels(Labels(labels))),
            len(panels.panels(Votes(votes))) + (not queries),  # whole queries are in a shard
        ]
    assert min(counts) > 1
