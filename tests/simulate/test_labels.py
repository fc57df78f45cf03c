"""Crowds that label the source queries while experts grade the others."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.simulate import label_crowd, simulate
from crowdrank.simulate.documents import draw_documents
from crowdrank.simulate.labels import CUE_QUANTILE
from rankers.made import labeled_frame

KEY = ["query", "item"]
SMALL = {"source": 40, "target": 4, "validation": 3, "test": 5}
ERRORS = 4.5
"""A share may be this many standard errors off; about 1 of 150,000 is."""


def judged(crowd):
    """Each judgment with the true grade, the worker's parameters and whether the document is a honeypot."""
    rows = crowd.judgments.join(crowd.gold, on=KEY).join(crowd.workers, on="worker")
    known = crowd.honeypots if crowd.honeypots is not None else crowd.gold.head(0)
    return rows.join(known.select(*KEY, honeypot=True), on=KEY, how="left").with_columns(
        pl.col("honeypot").fill_null(False)
    )


def counts(column):
    return dict(column.value_counts().iter_rows())


def assert_share(found, expected):
    """The mean of zeros and ones is the expected one."""
    error = np.sqrt(expected * (1 - expected) / len(found))
    assert abs(found.mean() - expected) <= ERRORS * error


@pytest.fixture(scope="module")
def real():
    return simulate("remap-real", seed=1)


@pytest.fixture(scope="module")
def cued():
    return simulate("remap-heur40", seed=1, source=300, test=30)


@pytest.fixture
def letor_file(tmp_path):
    """Sixty queries of ten documents with labels 0 to 2."""
    frame = labeled_frame(seed=4, queries=60, documents=10).with_columns(pl.col("label").clip(0, 2))
    frame.write_csv(tmp_path / "features.csv")
    return tmp_path / "features.csv"


class TestCrowds:
    def test_real_by_the_numbers(self, real):
        assert counts(real.workers["kind"]) == {"honest": 84, "random": 12, "yes": 12, "no": 12}
        assert set(real.workers["rigor"]) == {0, 1, 2, 3}
        assert set(real.workers["quality"]) == {0.75, 0.85, 0.95}
        assert counts(real.queries["part"]) == {"source": 600, "target": 30, "validation": 30, "test": 600}
        assert len(real.honeypots) == 120 * 25 / 20
        assert len(real.judgments) == 3 * (600 * 15 - 150) + 120 * 25

    def test_rigor_and_quality_are_uniform(self):
        workers = label_crowd(seed=3, **SMALL, workers=4000, honeypots=0).workers
        for rigor in range(4):
            assert_share(workers["rigor"] == rigor, 1 / 4)
        for quality in (0.75, 0.85, 0.95):
            assert_share(workers["quality"] == quality, 1 / 3)

    @pytest.mark.parametrize("kind", ["honest", "random", "yes", "no"])
    def test_workers_say_what_their_kind_says(self, real, kind):
        rows = judged(real).filter(kind=kind)
        if kind == "honest":
            for (quality,), own in rows.group_by("quality"):
                assert_share((own["grade"] > own["rigor"]).cast(int) == own["label"], quality)
        else:
            assert_share(rows["label"] == 1, {"random": 0.5, "yes": 1.0, "no": 0.0}[kind])

    def test_extreme_qualities_are_always_right_or_always_wrong(self):
        crowd = simulate("remap-both", seed=2, source=200, test=1)
        assert set(crowd.workers["kind"]) == {"honest"}
        for (quality,), own in judged(crowd).group_by("quality"):
            assert_share((own["grade"] > own["rigor"]).cast(int) == own["label"], quality)
        assert set(crowd.workers["quality"]) == {0, 0.5, 0.75, 1}

    def test_rigor_alone_decides_the_first_experiment(self):
        crowd = simulate("remap-rigor", seed=1, source=200, test=1)
        rows = judged(crowd)
        assert len(rows) == len(crowd.workers) == 200 * 15
        assert rows["worker"].n_unique() == rows.select(KEY).n_unique() == 200 * 15
        assert (rows["label"] == (rows["grade"] > rows["rigor"]).cast(int)).all()
        for rigor in range(4):
            assert_share(rows["rigor"] == rigor, 1 / 4)
        assert crowd.honeypots is None

    def test_quality_alone_decides_the_second_experiment(self):
        crowd = simulate("remap-quality", seed=1, source=200, test=1)
        assert set(crowd.workers["rigor"]) == {1}
        for (quality,), own in judged(crowd).group_by("quality"):
            assert_share((own["grade"] > 1).cast(int) == own["label"], quality)
        assert set(simulate("remap-quality", **SMALL, rigors=3).workers["rigor"]) == {3}

    def test_the_presets_of_a_seed_label_the_same_documents(self):
        first, *others = (simulate(f"remap-{name}", seed=3, **SMALL) for name in ("real", "both", "rigor"))
        for other in others:
            assert first.features.equals(other.features)
            assert first.gold.equals(other.gold)

    @pytest.mark.parametrize(("seed", "same"), [(7, True), (8, False)])
    def test_the_seed_decides_everything(self, seed, same):
        first, second = (simulate("remap-heur40", seed=own, **SMALL).tables() for own in (7, seed))
        for name in set(first) - {"queries"}:
            assert first[name].equals(second[name]) == same


class TestCue:
    def test_shares_are_those_among_the_others(self, cued):
        kinds = counts(cued.workers["kind"])
        assert kinds["cue"] == 0.4 * 120
        assert kinds["honest"] == 120 - 48 - round(0.3 * (120 - 48))
        assert {kinds["random"], kinds["yes"], kinds["no"]} == {7, 8}

    def test_cued_workers_follow_one_feature_and_slip(self, cued):
        source = cued.part("source")
        rows = judged(cued).filter(kind="cue").join(source, on=KEY)
        names = source.columns[2:]
        agreed = [((rows[name] > source[name].quantile(CUE_QUANTILE)) == (rows["label"] == 1)) for name in names]
        best = int(np.argmax([own.mean() for own in agreed]))
        assert_share(agreed[best], 0.9)
        assert sorted(own.mean() for own in agreed)[-2] < 0.6
        assert names[best] == names[draw_documents(2, 2, 46, 0, np.random.default_rng(0)).idle[-1]]

    @pytest.mark.parametrize("world", range(3))
    def test_an_idle_feature_has_no_effect_on_the_relevance(self, world):
        """Other values of the idle features leave every grade as it was; of another feature they do not."""
        made = draw_documents(40, 10, 46, world, np.random.default_rng(1))
        effective = np.setdiff1d(np.arange(46), made.idle)
        assert 10 <= len(effective) < 46

        def grades(columns):
            drawn = _Altered(np.random.default_rng(1), columns)
            return draw_documents(40, 10, 46, world, drawn).grade

        assert (grades(made.idle) == made.grade).all()
        assert all((grades([column]) != made.grade).any() for column in effective)

    def test_the_cue_says_nothing_about_the_grades(self, cued):
        rows = cued.features.join(cued.gold, on=KEY)
        cue = rows.columns[2:-1][draw_documents(2, 2, 46, 0, np.random.default_rng(0)).idle[-1]]
        assert abs(np.corrcoef(rows[cue], rows["grade"])[0, 1]) < ERRORS / np.sqrt(len(rows))

    def test_any_feature_may_be_the_cue(self):
        crowd = simulate("remap-heur40", **SMALL, cue="f03", slips=0, cued=1)
        rows = crowd.judgments.join(crowd.part("source"), on=KEY)
        above = rows["f03"] > crowd.part("source")["f03"].quantile(CUE_QUANTILE, "linear")
        assert (above.cast(int) == rows["label"]).all()


class _Altered:
    """Random numbers whose first matrix, the features, has other values in these columns."""

    def __init__(self, rng, columns):
        self.rng, self.columns, self.first = rng, columns, True

    def normal(self, size):
        drawn = self.rng.normal(size=size)
        if self.first:
            drawn[:, self.columns] = np.random.default_rng(9).normal(size=(len(drawn), len(self.columns)))
        self.first = False
        return drawn


class TestHoneypots:
    def test_honeypots_get_no_ordinary_labels(self, real):
        rows = judged(real)
        ordinary = rows.filter(~pl.col("honeypot")).group_by(KEY).agg(pl.len(), pl.col("worker").n_unique())
        assert len(ordinary) == 600 * 15 - 150
        assert set(ordinary["len"]) == set(ordinary["worker"]) == {3}
        by_worker = (
            rows.filter("honeypot").group_by("worker").agg(pl.len(), pl.struct(KEY).n_unique().alias("own"))
        )
        assert len(by_worker) == 120
        assert set(by_worker["len"]) == set(by_worker["own"]) == {25}
        judges = rows.filter("honeypot").group_by(KEY).len()["len"]
        assert len(judges) == 150
        assert judges.min() >= 5

    def test_their_label_is_that_of_a_faultless_worker(self, real):
        rows = real.honeypots.join(real.gold, on=KEY)
        assert (rows["label"] == (rows["grade"] > 1).cast(int)).all()
        other = simulate("remap-real", **SMALL, honeypot_rigor=3)
        rows = other.honeypots.join(other.gold, on=KEY)
        assert (rows["label"] == (rows["grade"] > 3).cast(int)).all()

    @pytest.mark.parametrize(("workers", "pool"), [(4, 10), (40, 20), (400, 60)])
    def test_their_number(self, workers, pool):
        """40 x 10 / 20 = 20; at least 10; at most 600 / 10."""
        assert len(simulate("remap-real", **SMALL, workers=workers, honeypots=10).honeypots) == pool

    def test_they_are_documents_of_the_source(self, real):
        assert len(real.honeypots.join(real.part("source"), on=KEY)) == len(real.honeypots)
        assert real.honeypots.select(KEY).is_unique().all()


class TestTables:
    def test_the_command_writes_a_table_for_each_part(self, crowdrank, tmp_path):
        settings = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
        ran = crowdrank("simulate", "remap-heur40", "--out", "crowd", *settings, "--set", "rigors=0,2")
        assert ran.code == 0
        found = {path.stem: pl.read_csv(path) for path in (tmp_path / "crowd").iterdir()}
        names = [
            "judgments",
            "gold",
            "workers",
            "queries",
            "features",
            "honeypots",
            "target",
            "validation",
            "test",
        ]
        assert sorted(found) == sorted(names)
        parts = {name: set(own["query"]) for name, own in found.items() if name in ("features", *SMALL)}
        assert {name: len(own) for name, own in parts.items()} == {
            "features": 40, "target": 4, "validation": 3, "test": 5,
        }  # fmt: skip
        assert len(set.union(*parts.values())) == 52
        assert set(found["judgments"]["query"]) == parts["features"]
        assert found["features"].columns == [*KEY, *(f"f{number:02d}" for number in range(46))]
        labeled = found["test"].join(found["gold"], on=KEY)
        assert (labeled["label"] == labeled["grade"]).all()
        assert len(labeled) == 5 * 15
        assert set(found["workers"]["rigor"]) == {0, 2}

    def test_tables_are_read_as_features_and_labels(self, tmp_path):
        tables = simulate("remap-real", **SMALL).tables()
        assert cr.read_features(tables["target"]).label is not None
        assert cr.read_features(tables["features"]).label is None
        assert cr.read(tables["judgments"]).kind == "ratings"


class TestFiles:
    def test_the_seed_deals_out_the_queries(self, letor_file):
        crowds = [simulate("remap-real", seed=seed, file=letor_file, honeypots=5) for seed in (1, 1, 2)]
        for crowd in crowds:
            assert counts(crowd.queries["part"]) == {"source": 36, "target": 6, "validation": 6, "test": 12}
            assert set(crowd.judgments["query"]) == set(crowd.queries.filter(part="source")["query"])
        dealt = [set(crowd.judgments["query"]) for crowd in crowds]
        assert dealt[0] == dealt[1] != dealt[2]

    def test_numbers_given_replace_the_shares(self, letor_file):
        crowd = simulate("remap-real", file=letor_file, honeypots=0, source=20, target=9, test=7)
        assert counts(crowd.queries["part"]) == {"source": 20, "target": 9, "validation": 6, "test": 7}
        assert set(crowd.gold["query"]) == set(crowd.queries["query"])
        assert set(crowd.features["query"]) == set(crowd.queries["query"])

    def test_grades_and_features_are_those_of_the_file(self, letor_file):
        crowd, frame = simulate("remap-real", file=letor_file, honeypots=5), pl.read_csv(letor_file)
        assert crowd.gold.rename({"grade": "label"}).equals(frame.select(*KEY, "label"))
        assert crowd.features.columns == [*KEY, "f0", "f1", "f2", "f3"]
        np.testing.assert_allclose(crowd.features["f2"], frame["f2"], rtol=1e-6)

    def test_three_grades_have_two_rigors(self, letor_file):
        crowd = simulate("remap-real", file=letor_file, honeypots=5)
        assert set(crowd.workers["rigor"]) == {0, 1}
        rows = crowd.honeypots.join(crowd.gold, on=KEY)
        assert (rows["label"] == (rows["grade"] > 0).cast(int)).all()

    def test_the_cue_of_a_file_is_its_last_feature(self, letor_file):
        crowd = simulate("remap-heur40", file=letor_file, honeypots=5, slips=0, cued=1)
        rows, source = crowd.judgments.join(crowd.features, on=KEY), crowd.part("source")
        above = rows["f3"] > source["f3"].quantile(CUE_QUANTILE, "linear")
        assert (above.cast(int) == rows["label"]).all()

    def test_letor_text_and_documents_without_a_label(self, tmp_path):
        text = "".join(f"{row % 3} qid:{row // 4} 1:{row % 5} 2:{row % 7}\n" for row in range(80))
        (tmp_path / "set.txt").write_text(text)
        crowd = simulate("remap-rigor", file=tmp_path / "set.txt")
        assert counts(crowd.queries["part"]) == {"source": 12, "target": 2, "validation": 2, "test": 4}
        rows = judged(crowd)
        assert (rows["label"] == (rows["grade"] > rows["rigor"]).cast(int)).all()
        frame = labeled_frame(queries=20).with_columns(
            label=pl.when(pl.col("item") != "d000").then("label").otherwise(None)
        )
        frame.write_csv(tmp_path / "some.csv")
        some = simulate("remap-rigor", file=tmp_path / "some.csv")
        assert len(some.gold) == len(some.features) == 20 * 7

    @pytest.mark.parametrize("label", [-1, 0.5, 0])
    def test_labels_that_are_no_grades_are_an_error(self, tmp_path, label):
        labeled_frame().with_columns(label=pl.lit(label)).write_csv(tmp_path / "features.csv")
        with pytest.raises(cr.InputError, match="must be grades"):
            simulate("remap-real", file=tmp_path / "features.csv")

    def test_too_few_queries_are_an_error(self, letor_file):
        with pytest.raises(cr.UsageError, match="60 queries with labels are too few for source=50, target=6"):
            simulate("remap-real", file=letor_file, source=50)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rigors": "0,4"}, "rigors must be all, middle, or whole numbers from 0 to 3. Got '0,4'"),
        ({"rigors": "0.5"}, "whole numbers from 0 to 3"),
        ({"rigors": "some"}, r"numbers separated by commas(.|\n)*rigors=.0,1"),
        ({"honeypot_rigor": "all"}, "a single number. Got 4 numbers"),
        ({"qualities": "0.5,1.5"}, "qualities must be from 0 to 1"),
        ({"qualities": "good"}, r"numbers separated by commas(.|\n)*qualities=.0.75"),
        ({"spammers": 1.1}, "must not exceed 1"),
        ({"cued": 2}, "must not exceed 1"),
        ({"slips": 1.5}, "must not exceed 1"),
        ({"labels": 121}, "as many workers as labels"),
        ({"labels": 0}, "at least one label"),
        ({"honeypots": 61}, "at most a tenth of the source's documents(.|\n)*honeypots=0"),
        ({"workers": 0}, "workers with more than one task"),
        ({"workers": 0, "honeypots": 0}, "own worker and one label. Got labels=3"),
        ({"features": 9}, "at least 10 features"),
        ({"documents": 0}, "a document per query"),
        ({"features": 10, "cued": 0.4}, r"All 10 features have an effect(.|\n)*cue=f09"),
        ({"cued": 0.4, "cue": "f46"}, "no feature 'f46'"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(cr.UsageError, match=words):
        simulate("remap-real", **{**SMALL, **settings})
