"""Lists by simulated annotators against Mallows' model, equation 56 and what each preset says."""

from collections import Counter
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.kernels.kendall import distances
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.simulate import letor_crowd, ltrma_crowd, mixed_crowd, simulate, weighted_crowd
from crowdrank.simulate.orders import sample_at_distance, sample_by_distance
from rankers.made import labeled_frame

ERRORS = 4.5
"""A mean may be this many standard errors off; about 1 of 150,000 is."""


def inversions(order):
    """The number of pairs that an order of 0, 1, ... reverses."""
    return sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))


def list_distances(crowd):
    """Worker and Kendall's distance from the truth, for each list."""
    rows = crowd.judgments.join(crowd.gold, on=["query", "item"]).sort("query", "worker", "rank")
    lists = rows.group_by("query", "worker", maintain_order=True).len()
    start = np.append(0, np.cumsum(lists["len"].to_numpy().astype(np.int64)))
    return lists.with_columns(distance=distances(rows["rank"].to_numpy(), -rows["grade"].to_numpy(), start))


def assert_expected_distances(crowd, size):
    """Every worker's mean distance is the expected one of lists of ``size`` documents."""
    found = list_distances(crowd).group_by("worker").agg(pl.len(), pl.col("distance").mean())
    found = found.join(crowd.workers, on="worker")
    _, slope, variance = (own[:, size] for own in log_normalizers(found["theta"].to_numpy(), size))
    error = np.sqrt(variance / found["len"].to_numpy())
    assert len(found) == len(crowd.workers)
    assert (np.abs(found["distance"].to_numpy() + slope) < ERRORS * error).all()


@pytest.fixture
def letor_file(tmp_path):
    """Ten queries of eight documents with labels 0 to 3, and one query with a single document."""
    frame = labeled_frame(seed=4, queries=10, documents=8)
    alone = frame.head(1).with_columns(query=pl.lit("alone"))
    path = tmp_path / "features.csv"
    pl.concat([frame, alone]).write_csv(path)
    return path


class TestDistances:
    def test_paper_lists_are_as_far_as_mallows_expects(self):
        assert_expected_distances(ltrma_crowd(seed=1, lists=400, test=0), 15)

    def test_poor_and_malicious_lists_are_as_far_as_mallows_expects(self):
        assert_expected_distances(weighted_crowd(seed=2, lists=400, test=0, thetas="0.3,0.05,0,-0.1"), 15)

    def test_partial_lists_are_as_far_as_mallows_expects(self, tmp_path):
        frame = labeled_frame(seed=0, queries=400, documents=6).with_columns(label=pl.int_range(pl.len()))
        frame.write_csv(tmp_path / "features.csv")
        assert_expected_distances(letor_crowd(file=str(tmp_path / "features.csv"), share=0.5), 3)

    def test_distances_of_equation_56_are_drawn_as_printed(self):
        """Chi-square over the distances 1 to 9, and 10 or more; 27.9 is its .999 quantile at 9 degrees."""
        lists, theta, most = 4000, 0.3, 15 * 14 // 2
        orders = sample_by_distance(np.full(lists, theta), 15, np.random.default_rng(3))
        found = distances(
            np.argsort(orders, axis=1).ravel(), np.tile(np.arange(15), lists), 15 * np.arange(lists + 1)
        )
        chance = np.exp(-theta * np.arange(1, most + 1))
        expected = lists * chance / chance.sum()
        expected = np.append(expected[:9], expected[9:].sum())
        counted = np.bincount(np.minimum(found.astype(int), 10), minlength=11)
        assert counted[0] == 0
        assert ((counted[1:] - expected) ** 2 / expected).sum() < 27.9

    def test_a_malicious_annotator_of_equation_56_is_near_the_reverse(self):
        orders = sample_by_distance(np.full(50, -30.0), 5, np.random.default_rng(0))
        assert (orders == [4, 3, 2, 1, 0]).all()

    @pytest.mark.parametrize("distance", range(7))
    def test_all_orders_at_a_distance_are_equally_likely(self, distance):
        """Chi-square over the orders of four documents; 20.5 is its .999 quantile at 5 degrees."""
        rng = np.random.default_rng(distance)
        found = Counter(map(tuple, sample_at_distance(np.full(1200, distance), 4, rng).tolist()))
        wanted = [order for order in permutations(range(4)) if inversions(order) == distance]
        assert set(found) == set(wanted)
        expected = 1200 / len(wanted)
        assert sum((found[order] - expected) ** 2 / expected for order in wanted) < 20.5

    def test_a_crowd_of_equation_56_never_gives_the_true_list(self):
        crowd = ltrma_crowd(seed=5, test=0, low=2.5, distances="paper")
        found = list_distances(crowd)["distance"]
        q = np.exp(-2.5)
        assert found.min() == 1
        assert abs(found.mean() - 1 / (1 - q)) < ERRORS * np.sqrt(q / (1 - q) ** 2 / len(found))


class TestPresets:
    def test_the_paper_by_the_numbers(self):
        crowd = simulate("ltrma-paper", seed=1)
        assert dict(crowd.queries["part"].value_counts().iter_rows()) == {
            "train": 100, "validation": 100, "test": 500,
        }  # fmt: skip
        assert len(crowd.judgments) == 100 * 10 * 15
        assert sorted(crowd.gold.filter(query="query-700")["grade"]) == list(range(1, 16))
        theta = crowd.workers["theta"].to_numpy()
        assert theta[0] == 2.5
        assert 0.5 < theta[1:].min() < theta[1:].max() < 2.5

    def test_grades_follow_the_papers_score(self):
        crowd = simulate("ltrma-paper", seed=1)
        rows = crowd.features.join(crowd.gold, on=["query", "item"])
        score = (pl.col("f1") + 10 * pl.col("f2")).rank().over("query")
        agreed = rows.select(score == pl.col("grade")).to_series().mean()
        assert 0.97 < agreed < 1  # the noise exchanges a few neighbors

    @pytest.mark.parametrize("name", ["ltrma-paper", "ltrma-h7", "ltrma-h5"])
    def test_only_training_queries_have_lists(self, name):
        crowd = simulate(name, seed=1)
        trained = crowd.queries.filter(part="train")["query"]
        assert set(crowd.judgments["query"]) == set(trained)
        assert crowd.gold.select("query", "item").equals(crowd.features.select("query", "item"))
        assert set(crowd.gold["query"]) == set(crowd.queries["query"])

    def test_ids_do_not_reveal_the_order(self):
        crowd = simulate("ltrma-paper", seed=2)
        place = crowd.gold.select(pl.int_range(pl.len()).over("query")).to_series()
        assert abs(np.corrcoef(place, crowd.gold["grade"])[0, 1]) < ERRORS / np.sqrt(len(place))

    def test_h7_draws_its_weights_afresh(self):
        first, second = (_weights(simulate("ltrma-h7", seed=seed)) for seed in (1, 2))
        assert np.linalg.norm(first - second) > 3
        more = [_weights(weighted_crowd(seed=seed, lists=1, test=40, noise=0.0)) for seed in range(60)]
        assert abs(np.mean(more)) < ERRORS * 3 / np.sqrt(600)
        crowd = simulate("ltrma-h7", seed=1)
        assert crowd.workers["theta"].to_list() == [0.3, 0.05, -0.1]
        assert sorted(crowd.gold.filter(query="query-001")["grade"]) == list(range(15))
        assert len(crowd.judgments) == 50 * 3 * 15

    def test_noise_of_h7_hides_part_of_the_truth(self):
        """The best linear fit explains all of the order only without noise."""
        clear, noisy = (_explained(weighted_crowd(seed=1, noise=noise)) for noise in (0.0, 4.0))
        assert clear > 0.9 > noisy

    def test_h5_has_its_shares_and_one_label_per_list(self):
        crowd = simulate("ltrma-h5", seed=3)
        theta = crowd.workers["theta"].to_numpy()
        assert ((theta >= 0.3) & (theta <= 1)).sum() == 10
        assert (theta == 0).sum() == 6
        assert (theta[:6] != 0).any()  # the kinds are mixed
        assert ((theta >= -0.6) & (theta <= -0.2)).sum() == 4
        by_list = crowd.judgments.group_by("query").agg(pl.col("worker").n_unique(), pl.len())
        assert by_list["worker"].to_list() == [1] * 100
        assert by_list["len"].to_list() == [15] * 100
        assert crowd.judgments["worker"].n_unique() > 15
        three = mixed_crowd(seed=3, labels=3).judgments.group_by("query").agg(pl.col("worker").n_unique())
        assert three["worker"].to_list() == [3] * 100

    def test_long_lists_are_the_top_of_many_documents(self):
        crowd = simulate("ltrma-long", seed=1, documents=80, lists=20, test=5, top=7, thetas="2,0,-2")
        ranks = crowd.judgments.group_by("query", "worker").agg(pl.col("rank").sort())["rank"].to_list()
        assert ranks == [list(range(1, 8))] * 60
        grades = (
            crowd.judgments.join(crowd.gold, on=["query", "item"]).group_by("worker").agg(pl.col("grade").mean())
        )
        good, idle, bad = grades.sort("worker")["grade"]
        assert good > 70
        assert abs(idle - 39.5) < ERRORS * np.sqrt(80**2 / 12 / 140)
        assert bad < 10

    @pytest.mark.parametrize(("seed", "same"), [(7, True), (8, False)])
    @pytest.mark.parametrize("make", [ltrma_crowd, weighted_crowd, mixed_crowd])
    def test_the_seed_decides_everything(self, make, seed, same):
        first, second = make(seed=7, test=3).tables(), make(seed=seed, test=3).tables()
        assert all(first[name].equals(second[name]) for name in first) == same
        assert first["features"].equals(second["features"]) == same
        assert first["judgments"].equals(second["judgments"]) == same

    def test_other_annotators_rank_the_same_documents(self):
        few, many = (ltrma_crowd(seed=1, annotators=count) for count in (5, 15))
        assert few.features.equals(many.features)
        assert few.gold.equals(many.gold)

    def test_lists_are_read_as_rankings(self):
        table = cr.read(simulate("ltrma-h5", seed=1).judgments)
        assert table.kind == "rankings"
        assert table.lists == 100

    def test_the_command_writes_features_and_parts(self, crowdrank, tmp_path):
        ran = crowdrank("simulate", "ltrma-h7", "--out", "crowd", "--set", "thetas=-1,2", "--set", "test=5")
        assert ran.code == 0
        written = {path.name for path in (tmp_path / "crowd").iterdir()}
        assert written == {f"{name}.csv" for name in ("judgments", "gold", "workers", "queries", "features")}
        assert pl.read_csv(tmp_path / "crowd" / "workers.csv")["theta"].to_list() == [-1.0, 2.0]


class TestFiles:
    def test_ids_labels_and_features_are_those_of_the_file(self, letor_file):
        crowd, frame = letor_crowd(file=str(letor_file)), pl.read_csv(letor_file)
        both = ["query", "item"]
        assert crowd.gold.select(*both, label=pl.col("grade").cast(pl.Int64)).equals(frame.select(*both, "label"))
        assert crowd.features.columns == [*both, "f0", "f1", "f2", "f3"]
        assert crowd.features.select(both).equals(frame.select(both))
        np.testing.assert_allclose(crowd.features["f2"], frame["f2"], rtol=1e-6)
        assert set(crowd.queries["part"]) == {"train"}
        assert len(crowd.queries) == 11

    def test_a_query_with_one_document_gets_no_list(self, letor_file):
        crowd = letor_crowd(file=str(letor_file))
        assert len(crowd.judgments) == 10 * 3 * 8
        assert "alone" not in set(crowd.judgments["query"])

    def test_a_perfect_annotator_never_contradicts_the_labels(self, letor_file):
        crowd = letor_crowd(file=str(letor_file), thetas="50,50")
        rows = crowd.judgments.join(crowd.gold, on=["query", "item"]).sort("query", "worker", "rank")
        lists = rows.group_by("query", "worker", maintain_order=True).agg("grade", "item")
        assert all(grades == sorted(grades, reverse=True) for grades in lists["grade"].to_list())
        orders = lists.group_by("query").agg(pl.col("item").n_unique())
        assert set(orders["item"]) == {1}  # ties are broken once for all annotators
        other = letor_crowd(seed=1, file=str(letor_file), thetas="50,50")
        assert not other.judgments.equals(crowd.judgments)

    def test_top_share_and_labels(self, letor_file):
        crowd = letor_crowd(file=str(letor_file), share=0.5, top=3, labels=2, thetas="1,0.5,0,-1")
        lists = crowd.judgments.group_by("query", "worker").agg(pl.col("rank").sort(), pl.col("item").n_unique())
        assert lists["rank"].to_list() == [[1, 2, 3]] * 20
        assert lists["item"].to_list() == [3] * 20
        assert set(lists["query"].value_counts()["count"]) == {2}
        half = letor_crowd(file=str(letor_file), share=0.5)
        seen = half.judgments.group_by("query", "worker").agg(pl.len(), pl.col("item").sort().str.join(" "))
        assert set(seen["len"]) == {4}
        assert seen["item"].n_unique() > 15  # annotators see different documents
        least = letor_crowd(file=str(letor_file), share=0.01).judgments
        assert set(least.group_by("query", "worker").len()["len"]) == {2}

    def test_documents_without_a_label_are_in_no_list(self, tmp_path):
        frame = labeled_frame(queries=5, documents=4)
        path = tmp_path / "features.csv"
        frame.with_columns(label=pl.when(pl.col("item") != "d001").then("label")).write_csv(path)
        crowd = letor_crowd(file=str(path))
        assert set(crowd.judgments["item"]) == set(crowd.gold["item"]) == {"d000", "d002", "d003"}
        assert len(crowd.features) == 20

    def test_several_files_are_one(self, tmp_path):
        paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
        for number, path in enumerate(paths):
            path.write_text(f"1 qid:{number} 1:0.5 #docid = a\n0 qid:{number} 1:0.7 #docid = b\n")
        crowd = simulate("ltrma-letor", file=f"{paths[0]}, {paths[1]}", thetas="20")
        assert crowd.queries["query"].to_list() == ["0", "1"]
        assert crowd.judgments["item"].to_list() == ["a", "b"] * 2
        strange = tmp_path / "with, comma.txt"
        paths[0].rename(strange)
        assert simulate("ltrma-letor", file=str(strange)).queries["query"].to_list() == ["0"]


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("ltrma-h7", {"thetas": "0.3,good"}, r"separated by commas. Got '0.3,good'(.|\n)*thetas=.0.3,0.05"),
        ("ltrma-h7", {"thetas": ""}, "numbers separated by commas"),
        ("ltrma-h7", {"thetas": "inf"}, "numbers separated by commas"),
        ("ltrma-h7", {"documents": 1}, "documents must be at least 2"),
        ("ltrma-h7", {"lists": 0}, "lists must be at least 1"),
        ("ltrma-h7", {"features": 0}, "features must be at least 1"),
        ("ltrma-paper", {"annotators": 0}, "annotators must be at least 1"),
        ("ltrma-paper", {"low": 3}, "must not be above the highest"),
        ("ltrma-paper", {"distances": "kendall"}, "'mallows' or 'paper'"),
        ("ltrma-paper", {"distances": "paper", "documents": 151}, "at most 150 documents"),
        ("ltrma-h5", {"labels": 21}, "labels must be from 1 to the number of annotators"),
        ("ltrma-h5", {"labels": 0}, "labels must be from 1 to the number of annotators"),
        ("ltrma-h5", {"malicious": 0.8}, "must not exceed 1 together"),
        ("ltrma-letor", {}, r"No file was named(.|\n)*file=PATH"),
        ("ltrma-letor", {"file": "x", "share": 0}, "above 0 and at most 1"),
        ("ltrma-letor", {"file": "x", "share": 1.5}, "above 0 and at most 1"),
        ("ltrma-letor", {"file": "x", "labels": 4}, "at most the number of annotators, 3"),
    ],
)
def test_wrong_settings_are_named(name, settings, words):
    with pytest.raises(cr.UsageError, match=words):
        simulate(name, **settings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "features.csv"),
        ("query,item,f1\nq,a,1\nq,b,2\n", r"no labels(.|\n)*column label"),
        ("item,label,f1\na,1,1\nb,0,2\n", r"no queries(.|\n)*column query"),
    ],
)
def test_files_that_cannot_be_ranked_are_named(tmp_path, text, words):
    path = tmp_path / "features.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(cr.InputError, match=words):
        letor_crowd(file=str(path))


def _centered(crowd):
    """Features and grades without the mean of their query."""
    rows = crowd.features.join(crowd.gold, on=["query", "item"])
    numbers = rows.select(pl.exclude("query", "item") - pl.exclude("query", "item").mean().over("query"))
    return numbers.drop("grade").to_numpy(), numbers["grade"].to_numpy()


def _weights(crowd):
    """The weights of the score, as far as grades show them, with the sum of squares of N(0, 3^2)."""
    x, grade = _centered(crowd)
    found = np.linalg.lstsq(x, grade, rcond=None)[0]
    return found / np.linalg.norm(found) * 3 * np.sqrt(len(found))


def _explained(crowd):
    """The correlation of the grades with their linear fit."""
    x, grade = _centered(crowd)
    return np.corrcoef(x @ np.linalg.lstsq(x, grade, rcond=None)[0], grade)[0, 1]
