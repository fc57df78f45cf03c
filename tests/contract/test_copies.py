"""Copies of every model and ranker: by pickle, by copy, and by scikit-learn, which takes models for estimators."""

import copy
import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.utils.validation import check_is_fitted

import crowdrank as cr
from cases import cases_of, every_model
from crowdrank.rankers.registry import make_ranker, ranker_entries
from helpers import random_votes

COPIES = {"pickle": lambda own: pickle.loads(pickle.dumps(own)), "deepcopy": copy.deepcopy, "copy": copy.copy}
VOTES = random_votes(seed=3, votes=150)


@every_model()
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_a_fitted_model_says_the_same(entry, way):
    case = cases_of(entry)[0]
    model, again = case.model, COPIES[way](case.model)
    assert again.name == model.name
    assert again.get_params() == model.get_params()
    for name, table in model.result_.tables.items():
        assert getattr(again, f"{name}_").polars().equals(table.polars(), null_equal=True)
    if isinstance(model.posterior_, cr.Posterior):
        ours, theirs = (own.posterior_.sample(3).scores for own in (again, model))
        np.testing.assert_array_equal(ours, theirs)
    if model.predicts:
        np.testing.assert_array_equal(again.predict_proba("i0", "i1"), model.predict_proba("i0", "i1"))
    for table in (*model.result_.tables.values(), model.result_, model.fit_):
        assert type(COPIES[way](table)) is type(table)


@every_model()
def test_a_copy_of_an_unfitted_model_is_unfitted(entry):
    model = entry.make({"seed": 3})
    for again in (*(own(model) for own in COPIES.values()), clone(model), clone(cases_of(entry)[0].model)):
        assert again.name == entry.name
        assert not hasattr(again, "ranking_")
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("name", ranker_entries())
def test_an_unfitted_ranker_is_copied(name):
    ranker = make_ranker(name)
    for again in (*(own(ranker) for own in COPIES.values()), clone(ranker)):
        assert again.name == name
        assert not hasattr(again, "importance_")
        assert repr(again) == repr(ranker)


@pytest.mark.parametrize("scorer", ["linear", "net", pytest.param("trees", marks=pytest.mark.lightgbm)])
def test_a_copy_of_a_trained_ranker_scores_the_same(scorer):
    generator = np.random.default_rng(0)
    values = pl.DataFrame(generator.normal(size=(40, 3)), schema=["f", "g", "h"])
    features = values.with_columns(
        query=pl.Series([str(row // 10) for row in range(40)]),
        item=pl.Series([str(row) for row in range(40)]),
        label=(values["f"] > 0).cast(pl.Int64),
    )
    ranker = cr.ListMLE(scorer=scorer).fit(features)
    for own in COPIES.values():
        np.testing.assert_array_equal(own(ranker).score(features).score, ranker.score(features).score)


class TestScikitLearn:
    @pytest.mark.parametrize("given", [VOTES, VOTES.to_pandas(), VOTES.rows()], ids=["polars", "pandas", "rows"])
    def test_cross_validation(self, given):
        folds = [(np.arange(0, 100), np.arange(100, 150)), (np.arange(50, 150), np.arange(0, 50))]
        found = cross_val_score(cr.BradleyTerry(), given, cv=folds)
        direct = [cr.BradleyTerry().fit(VOTES[fit.tolist()]).score(VOTES[held.tolist()]) for fit, held in folds]
        assert found == pytest.approx(direct)

    def test_folds_of_whole_workers(self):
        workers = VOTES["worker"].to_numpy()
        found = cross_val_score(cr.CrowdBT(), VOTES.to_pandas(), groups=workers, cv=GroupKFold(2))
        assert np.isfinite(found).all()

    def test_search_over_parameters(self):
        grid = {"regularization": [0.1, 1.0, 1000.0]}
        search = GridSearchCV(cr.BradleyTerry(), grid, cv=KFold(2)).fit(VOTES)
        assert search.best_params_["regularization"] < 1000
        assert search.best_estimator_.ranking_.frame().height == len(set(VOTES["left"]) | set(VOTES["right"]))
        assert search.score(VOTES) == search.best_estimator_.score(VOTES)
        assert "BradleyTerry" in search._repr_html_()

    def test_what_is_fitted(self):
        check_is_fitted(cr.BradleyTerry().fit(VOTES))
        with pytest.raises(AttributeError, match="not fitted"):
            check_is_fitted(cr.BradleyTerry())

    def test_outcomes_are_no_y(self):
        with pytest.raises(cr.UsageError, match="Outcomes are part of the judgments"):
            cr.BradleyTerry().fit(VOTES).score(VOTES, VOTES["label"])
