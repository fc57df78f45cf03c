"""The lead of a ranker over its baselines, and the step that is kept, as fit.json and the tables have them."""

import json

import numpy as np
import polars as pl
import pytest

from crowdrank.rankers.registry import make_ranker
from crowdrank.rankers.validation import paired_difference


def test_a_lead_is_the_mean_over_queries_with_its_interval():
    found = paired_difference(np.array([0.5, 0.7, 0.9, np.nan]), np.array([0.4, 0.7, 0.5, 0.1]))
    away = [0.1, 0.0, 0.4]
    mean = sum(away) / 3
    error = (sum((one - mean) ** 2 for one in away) / 2 / 3) ** 0.5
    quantile = 2.9199856  # of Student's t with 2 degrees of freedom at 0.95, from a printed table
    assert found["queries"] == 3
    assert [found[name] for name in ("mean", "stderr")] == pytest.approx([mean, error])
    assert [found["low"], found["high"]] == pytest.approx([mean - quantile * error, mean + quantile * error])


@pytest.mark.parametrize(("values", "mean"), [([0.25], 0.25), ([np.nan], None)])
def test_one_query_has_no_interval(values, mean):
    found = paired_difference(np.array(values), np.zeros(1))
    assert (found["mean"], found["stderr"], found["low"], found["high"]) == (mean, None, None, None)


def features(queries=12, rows=8):
    random = np.random.default_rng(5)
    signal, noise = random.normal(size=(2, queries * rows))
    label = np.clip(np.round(signal + random.normal(size=queries * rows)), 0, 2)
    query = [f"q{place // rows}" for place in range(queries * rows)]
    item = [f"d{place}" for place in range(queries * rows)]
    return pl.DataFrame({"query": query, "item": item, "label": label, "good": signal, "bad": noise})


def test_the_lead_is_the_difference_of_the_means_and_in_fit_json():
    ranker = make_ranker("listmle", "linear").fit(features(), validation=0.5)
    measured = json.loads(json.dumps(ranker.fit_.as_dict()))["details"]["measured"]
    for name in ("best_feature", "mean_feature"):
        lead, gap = measured[name]["lead"], measured["ranker"]["nDCG@10"] - measured[name]["nDCG@10"]
        assert lead["mean"] == pytest.approx(gap, abs=1e-12)
        assert lead["low"] <= lead["mean"] <= lead["high"]
        assert lead["queries"] == 6
    assert "lead" not in measured["ranker"]


@pytest.mark.parametrize("scorer", ["linear", "net"])
def test_the_chosen_step_has_the_value_of_the_ranker_and_is_shown(scorer):
    ranker = make_ranker("listmle", scorer, {"measure": "AP", "patience": 5, "seed": 1})
    curve = ranker.fit(features(), validation=0.5).validation_
    assert curve.kept == pytest.approx(ranker.fit_.details["measured"]["ranker"]["AP"], abs=1e-9)
    assert curve.kept == max(curve.value) if scorer == "net" else curve.chosen == curve.step[-1]
    assert f"AP {curve.kept:.3f} on the validation queries" in repr(ranker.trained_)
