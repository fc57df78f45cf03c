"""Judgments by their numbers, as scikit-learn deals them into folds."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, train_test_split

import crowdrank as cr
from helpers import random_lists, random_votes

VOTES = random_votes(seed=5, votes=90, queries=2)
FOLDS = KFold(3, shuffle=True, random_state=0)


def test_a_vote_has_a_number():
    votes = cr.read(VOTES)
    assert (len(votes), votes.shape) == (90, (90,))
    chosen = votes[[4, 2, 2]]
    assert chosen.rows == 3
    assert chosen.index.items.gather(chosen.left).to_list() == [VOTES["left"][row] for row in (4, 2, 2)]
    assert set(chosen.index.items) == set(VOTES[[4, 2]].select("left", "right").unpivot()["value"])
    assert [votes[key].rows for key in (7, -1, slice(10), np.arange(90) < 5, [])] == [1, 1, 10, 5, 0]
    with pytest.raises(IndexError):
        votes[90]


@pytest.mark.parametrize("make", [pl.DataFrame, lambda frame: frame.to_pandas()])
def test_votes_that_were_read_score_like_their_frame(make):
    frame = make(VOTES)
    by_frame = cross_val_score(cr.BradleyTerry(), frame, cv=FOLDS)
    np.testing.assert_allclose(cross_val_score(cr.BradleyTerry(), cr.read(frame), cv=FOLDS), by_frame)
    whole_workers = {"cv": GroupKFold(3), "groups": VOTES["worker"].to_numpy()}
    found = cross_val_score(cr.CrowdBT(), cr.read(frame), **whole_workers)
    np.testing.assert_allclose(found, cross_val_score(cr.CrowdBT(), frame, **whole_workers))


def test_a_search_takes_what_read_returned():
    search = GridSearchCV(cr.BradleyTerry(), {"regularization": [0.1, 10]}, cv=FOLDS).fit(cr.read(VOTES))
    by_frame = GridSearchCV(cr.BradleyTerry(), {"regularization": [0.1, 10]}, cv=FOLDS).fit(VOTES.to_pandas())
    assert search.best_params_ == by_frame.best_params_
    assert search.best_score_ == pytest.approx(by_frame.best_score_)


def test_labels_one_by_one():
    rng = np.random.default_rng(0)
    rows = [(f"w{worker}", f"i{item}", int(rng.integers(3))) for worker in range(6) for item in range(6)]
    frame = pd.DataFrame(rows, columns=["worker", "item", "label"])
    found = cross_val_score(cr.DawidSkene(), cr.read(frame), cv=FOLDS)
    np.testing.assert_allclose(found, cross_val_score(cr.DawidSkene(), frame, cv=FOLDS))


class TestLists:
    FRAME = random_lists(seed=2)

    def test_a_list_has_a_number_and_stays_whole(self):
        lists = cr.read(self.FRAME)
        assert len(lists) == lists.lists
        chosen = lists[[3, 1, 3]]
        assert len(chosen) == chosen.lists == 3
        for place, number in enumerate([3, 1, 3]):
            was, now = lists.take(lists.list == number), chosen.take(chosen.list == place)
            assert now.rank.tolist() == was.rank.tolist()
            assert now.index.items.gather(now.item).to_list() == was.index.items.gather(was.item).to_list()

    def test_folds_of_lists(self):
        lists = cr.read(self.FRAME)
        found = cross_val_score(cr.PlackettLuce(), lists, cv=FOLDS)
        by_hand = [
            cr.PlackettLuce()
            .fit(lists.take(np.isin(lists.list, train)))
            .score(lists.take(np.isin(lists.list, held)))
            for train, held in FOLDS.split(np.zeros(len(lists)))
        ]
        np.testing.assert_allclose(found, by_hand)

    def test_a_split_in_two(self):
        train, held = train_test_split(cr.read(self.FRAME), test_size=0.25, random_state=0)
        assert len(train) + len(held) == len(cr.read(self.FRAME))
        assert np.isfinite(cr.PlackettLuce().fit(train).score(held))


def test_judgments_are_no_array():
    with pytest.raises(cr.UsageError, match="are no array"):
        np.asarray(cr.read(VOTES))
