"""Probabilities of votes to come."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models import entries
from helpers import random_votes

ENTRIES = [entry for entry in entries().values() if "pairs" in entry.kinds]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
class TestEveryModel:
    def test_probabilities_sum_to_one_and_follow_the_scores(self, entry):
        frame = random_votes(seed=3, votes=400, queries=2)
        model = entry.make().fit(frame)
        if not model.predicts:
            with pytest.raises(cr.UsageError, match="no probability"):
                model.probabilities(frame)
            return
        table = model.probabilities(frame)
        assert table.shape == (len(frame), 3)
        assert (table >= 0).all()
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
        votes = cr.read(frame)
        chosen = table[np.arange(votes.rows), np.array([0, 2, 1])[votes.outcome]]
        assert np.log(chosen).mean() > -np.log(3)

    def test_what_was_not_seen_is_average(self, entry):
        frame = random_votes(seed=3, votes=400)
        model = entry.make().fit(frame)
        if not model.predicts:
            return
        new = pl.DataFrame({"worker": ["nobody"], "left": ["x"], "right": ["y"], "label": ["x"]})
        left, tie, right = model.probabilities(new)[0]
        assert left + tie + right == pytest.approx(1.0)

    def test_ids_matter_and_codes_do_not(self, entry):
        frame = random_votes(seed=3, votes=400, queries=2)
        model = entry.make().fit(frame)
        if not model.predicts:
            return
        some = frame.slice(5, 3)
        np.testing.assert_allclose(model.probabilities(some), model.probabilities(frame)[5:8], atol=1e-12)


def test_only_pairs_have_probabilities():
    model = cr.BradleyTerry().fit(random_votes(seed=3, votes=100))
    with pytest.raises(cr.UsageError, match="Got ratings"):
        model.probabilities(pl.DataFrame({"item": ["a", "b"], "label": [1, 2]}))
