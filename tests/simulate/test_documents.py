"""Documents of a simulated search engine."""

import numpy as np
import polars as pl
import pytest

from crowdrank.errors import UsageError
from crowdrank.simulate import simulate


def test_grades_lie_at_the_quantiles():
    crowd = simulate("search", seed=1, queries=200)
    share = crowd.gold["grade"].value_counts().sort("grade")["count"].to_numpy() / len(crowd.gold)
    np.testing.assert_allclose(share, [0.50, 0.25, 0.14, 0.08, 0.03], atol=0.001)


def test_two_seeds_of_one_world_share_the_relevance():
    """A ridge fitted to one sample predicts the other, but not a sample of another world."""
    samples = [simulate("search", seed=seed, world=world, queries=300) for seed, world in ((1, 5), (2, 5), (3, 6))]
    x, y = zip(
        *((own.features.drop("query", "item").to_numpy(), own.gold["grade"].to_numpy()) for own in samples),
        strict=True,
    )
    weights = np.linalg.lstsq(x[0], y[0] - y[0].mean(), rcond=None)[0]
    same, other = (np.corrcoef(x[place] @ weights, y[place])[0, 1] for place in (1, 2))
    assert same > 0.5
    assert abs(other) < 0.35


def test_honest_workers_agree_with_the_grades_as_often_as_their_quality():
    crowd = simulate("search", seed=2, queries=400)
    joined = crowd.judgments.join(crowd.gold, on=["query", "item"]).join(crowd.workers, on="worker")
    right = (joined["grade"] > joined["rigor"]) == (joined["label"] == 1)
    honest = joined.with_columns(right=right).filter(pl.col("kind") == "honest")
    for (quality,), own in honest.group_by("quality"):
        assert own["right"].mean() == pytest.approx(quality, abs=0.03)
    assert joined.filter(pl.col("kind") == "yes")["label"].min() == 1
    assert joined.filter(pl.col("kind") == "no")["label"].max() == 0


def test_every_document_has_its_labels():
    crowd = simulate("search", seed=0, queries=10, labels=4)
    counts = crowd.judgments.group_by("query", "item").agg(pl.col("worker").n_unique())
    assert counts["worker"].to_list() == [4] * 150


def test_too_few_features_are_an_error():
    with pytest.raises(UsageError, match="at least 10 features"):
        simulate("search", features=5)
