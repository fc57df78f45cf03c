"""Probabilities of votes to come."""

import polars as pl
import pytest

import crowdrank as cr
from helpers import random_votes


def test_only_pairs_have_probabilities():
    model = cr.BradleyTerry().fit(random_votes(seed=3, votes=100))
    with pytest.raises(cr.UsageError, match="Got ratings"):
        model.probabilities(pl.DataFrame({"item": ["a", "b"], "label": [1, 2]}))
