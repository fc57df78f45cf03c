"""LTRMA's eight annotators: rankers that see one group of features each."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import read_features
from crowdrank.reproduce.annotators import FIELDS, annotators, feature_groups, split_by_number


def letor(queries=20, documents=10, seed=0):
    """Documents with 46 features: the label follows TF*IDF and BM25 of the whole document, and nothing else."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(queries * documents, 46))
    score = x[:, 14] + x[:, 36]
    frame = pl.DataFrame(x, schema=[str(number) for number in range(1, 47)])
    return read_features(
        frame.with_columns(
            query=np.repeat([f"q{code:02d}" for code in range(queries)], documents),
            item=np.tile([f"d{code:02d}" for code in range(documents)], queries),
            label=np.digitize(score, [0.0, 1.5]),
        )
    )


def test_the_groups_are_those_of_table_one():
    groups = feature_groups()
    assert list(groups) == [f"function-{number}" for number in range(1, 9)]
    assert groups["function-1"] == (3, 13)
    assert groups["function-5"] == (5, 15, 37)
    assert groups["function-4"] == (3, 13, 30, 31, 32)
    assert set(groups["function-8"]) == set(groups["function-7"]) | set(
        groups["function-5"] + groups["function-6"]
    )
    assert feature_groups("body")["function-3"] == (1, 11, 21)
    with pytest.raises(cr.UsageError, match=r"no field 'abstract'(.|\n)*body, anchor, title, url, document"):
        feature_groups("abstract")


def test_every_feature_has_one_field():
    numbers = [number for field in FIELDS.values() for group in field.values() for number in group]
    assert sorted(numbers) == [*range(1, 6), *range(11, 16), *range(21, 41)]


def test_even_documents_are_ranked_and_odd_ones_measure():
    even, odd = split_by_number(letor(queries=2, documents=5))
    assert even.ids()["item"].to_list() == ["d01", "d03"] * 2
    assert odd.ids()["item"].to_list() == ["d00", "d02", "d04"] * 2
    found = annotators(letor())
    assert set(found.judgments["item"]) == {"d01", "d03", "d05", "d07", "d09"}
    assert found.features.rows == 100
    lists = found.judgments.group_by("query", "worker").agg(pl.col("rank").sort())["rank"].to_list()
    assert lists == [[1, 2, 3, 4, 5]] * (20 * 8)


def test_who_sees_the_right_features_comes_first():
    found = annotators(letor(queries=60))
    order = found.workers["worker"].to_list()
    assert set(order[:2]) == {"function-5", "function-8"}
    assert set(order[2:4]) == {"function-2", "function-6"}
    values = found.workers["nDCG@10"].to_list()
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1] + 0.1


def test_lists_follow_the_features_of_their_annotator():
    """The lists of function-2 do not change with the other features; those of function-3 do."""
    features = letor()
    values = np.array(features.dense())
    values[:, [number - 1 for number in (3, 29, 37, 38)]] *= -np.linspace(0.1, 3.0, features.rows)[:, None]
    changed = type(features)(**{**vars(features), "values": values})
    first, second = annotators(features).judgments, annotators(changed).judgments
    for worker, same in (("function-2", True), ("function-3", False)):
        assert first.filter(worker=worker).equals(second.filter(worker=worker)) == same


def test_ties_are_broken_by_the_seed():
    features = letor()
    values = np.array(features.dense())
    values[:, [2, 12]] = 0.0
    values[::4, 2] = 1.0
    tied = type(features)(**{**vars(features), "values": values})
    first, again, other = (annotators(tied, seed).judgments for seed in (0, 0, 1))
    assert first.equals(again)
    assert not first.filter(worker="function-1").equals(other.filter(worker="function-1"))
    assert first.filter(worker="function-8").equals(other.filter(worker="function-8"))


def test_short_queries_get_no_list():
    frame = letor(queries=5).take(np.array([*range(40), 41, 42]))
    assert set(annotators(frame).judgments["query"]) == {"q00", "q01", "q02", "q03"}


def test_features_that_cannot_be_split_are_named():
    features = letor()
    with pytest.raises(cr.InputError, match="no queries"):
        annotators(type(features)(**{**vars(features), "query": None}))
    with pytest.raises(cr.InputError, match="missing: '37'"):
        annotators(features.select([str(number) for number in range(1, 37)] + ["38", "39", "40"]))


def test_the_files_have_bm25_and_lmir_by_field(real):
    """BM25 of a field is 0 just if its TF is; LMIR nearly so. Counted by function, these would not match."""
    features = read_features(real / "MQ2008" / "S1.txt.gz")
    none = {int(name): features.dense()[:, place] == 0 for place, name in enumerate(features.names)}
    for field in ("anchor", "title", "url"):
        tf, bm25, lmir = FIELDS[field]["TFIDF"][0], FIELDS[field]["BM25"][0], FIELDS[field]["LMIR"]
        assert (none[tf] == none[bm25]).mean() > 0.995
        assert min((none[tf] == none[number]).mean() for number in lmir) > 0.9
        others = [number for number in range(21, 41) if number not in (bm25, *lmir)]
        assert max((none[tf] == none[number]).mean() for number in others) < 0.8
