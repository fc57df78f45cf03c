"""Remap as a whole, on small simulated crowds."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from crowdrank.data import read_features
from crowdrank.errors import InputError, UsageError
from crowdrank.rankers.labeled import label_documents
from crowdrank.rankers.remap.processing import FILE, UNLIKE, Moments, Processing
from crowdrank.rankers.remap.remap import Remap
from crowdrank.rankers.remap.setup import Setup
from crowdrank.rankers.saved import load
from crowdrank.rankers.validation import one_measure

from .made import QUICK, crowd, fit, fitted


def dcg(ranker, made, name=None):
    """DCG@10 on the test queries, of the ranker or of something that it was compared with."""
    test = label_documents(read_features(made.labeled("test")), None)
    scoring = ranker.trained_.scoring if name is None else ranker.trained_.candidates[name]
    return test.queries.mean(one_measure("DCG@10"), scoring.scores(test.features)[0][test.rows])


@pytest.fixture(scope="module")
def compared():
    """Everything that is compared, on a crowd in which many follow a cue that has no effect."""
    return fitted(baselines="all", learner="auto", trees="auto")


def test_many_who_follow_a_cue_are_found_out(compared):
    made = crowd()
    found = {name: dcg(compared, made, name) for name in compared.trained_.candidates}
    assert found["remap, ridge"] > found["average, ridge"] + 0.5
    assert found["remap, ridge"] > found["soft dawid-skene, ridge"] + 0.5
    assert abs(found["placebo, ridge"] - found["average, ridge"]) < 0.5 * (
        found["remap, ridge"] - found["average, ridge"]
    )
    workers = compared.workers_.polars().join(made.workers.rename({"quality": "true"}), on="worker")
    weight = dict(workers.group_by("kind").agg(pl.col("weight").mean()).iter_rows())
    assert weight["honest"] > weight["cue"]


def test_the_books(compared):
    details = compared.fit_.details
    measured = details["measured"]
    assert {name.partition(",")[0] for name in measured if "," in name} == {
        "remap", "majority", "average", "dawid-skene", "soft dawid-skene", "glad", "naive bayes", "target alone",
        "reweighting by deviations", "placebo",
    }  # fmt: skip
    kept = f"remap, {details['learner']}" if details["chosen"] == "remap" else details["chosen"]
    assert measured["ranker"]["DCG@10"] == measured[kept]["DCG@10"]
    assert measured["queries"] == 20
    assert {own["trees"] for own in details["processing"]["tried"]} == {0, 100}
    assert compared.queries_.polars().height == 20
    frame = compared.workers_.polars()
    assert {"weight", "value_0", "value_1", "honeypots_right"} <= set(frame.columns)
    assert frame["weight"].is_between(0, 1).all()


@pytest.mark.parametrize("method", ["rw", "rm"])
def test_only_weights_or_only_values(method):
    frame = fitted(method=method).workers_.polars()
    weights, values = frame["weight"].drop_nans(), frame["value_1"].drop_nans()
    assert (np.ptp(weights.to_numpy()) > 0.05) == (method == "rw")
    assert (np.ptp(values.to_numpy()) > 0.05) == (method == "rm")
    if method == "rm":
        np.testing.assert_allclose(weights, 0.5)


@pytest.mark.parametrize("settings", [{"gradient": "softrank"}, {"objective": "err"}, {"objective": "ndcg"}])
def test_other_objectives(settings):
    made = crowd()
    assert dcg(fitted(**settings), made) > dcg(fitted(iterations=0), made) + 0.3


def test_no_step_is_the_ridge_on_the_average_label():
    """Weights of 1/2 and values sigma(label): half of the labels' difference, and a penalty of twice mu."""
    made = crowd()
    start = fitted(iterations=0, start="label", target_weight=0.0)
    plain = fitted(iterations=0, baselines="all", mu=0.05)
    test = made.part("test")
    one, two = start.score(test).score, plain.trained_.candidates["average, ridge"]
    assert np.corrcoef(one, two.scores(read_features(test))[0])[0, 1] > 0.99
    np.testing.assert_allclose(start.workers_.polars()["weight"], 0.5)


def test_plain_consensus_where_it_is_enough():
    """Perfect workers: nothing can be gained, and the user hears which labels were taken."""
    made = crowd()
    sure = made.gold.join(made.judgments.select("query", "item").unique(), on=["query", "item"])
    perfect = pl.concat([
        sure.select("query", "item", worker=pl.lit(f"w{number}"), label=(pl.col("grade") > 1).cast(pl.Int64))
        for number in range(3)
    ])  # fmt: skip
    ranker = fit(replace(made, judgments=perfect), baselines="few", learner="auto")
    codes = {note.code for note in ranker.fit_.warnings}
    assert (ranker.fit_.details["chosen"] != "remap") == ("fallback" in codes)


def test_label_features_are_kept_if_asked_for():
    ranker = fitted(keep_features=True)
    frame = ranker.trained_.tables["label_features"].polars()
    assert frame.columns[:4] == ["query", "item", "worker", "label_given"]
    assert len(frame.columns) == 4 + 29
    honeypots = crowd().honeypots
    assert frame.height == crowd().judgments.join(honeypots, on=["query", "item"], how="anti").height
    assert frame.join(honeypots, on=["query", "item"], how="semi").height == 0


def test_own_and_different_label_features():
    made = crowd()
    seconds = made.judgments.join(made.workers, on="worker").select(
        "query", "item", "worker", honest=(pl.col("kind") == "honest").cast(pl.Float64)
    )
    ranker = fit(
        made, given={"label_features": seconds}, weight_features="own", value_features="label", crossed=False
    )
    frame = ranker.workers_.polars().join(made.workers.rename({"quality": "true"}), on="worker")
    weight = dict(frame.group_by("kind").agg(pl.col("weight").mean()).iter_rows())
    assert weight["honest"] > 2 * weight["cue"]
    np.testing.assert_allclose(frame["value_1"].drop_nans(), frame["value_1"].drop_nans()[0], rtol=1e-9)


def test_ranking_features_by_a_switch():
    ranker = fitted(value_features="all,ranking", keep_features=True)
    names = Processing.read_text(ranker.trained_.texts[FILE]).value_names
    assert len(names) == 29 + 2 * 30
    assert "x_f00|1" in names


class TestProcessing:
    def test_saved_apart_and_applied_to_another_source(self, tmp_path):
        first, other = fitted(), crowd(seed=2)
        first.save(tmp_path / "ranker")
        again = Processing.read(tmp_path / "ranker")
        np.testing.assert_array_equal(again.alpha, Processing.read_text(first.trained_.texts[FILE]).alpha)
        moved = Remap().fit(
            other.part("source"), other.judgments, honeypots=other.honeypots, processing=tmp_path / "ranker"
        )
        assert moved.fit_.details["learner"] == "ridge"
        same = fit(crowd(), given={"processing": again, "target": None})
        mine = first.workers_.polars()["weight", "value_1"]
        np.testing.assert_allclose(
            same.workers_.polars()["weight", "value_1"].to_numpy(), mine.to_numpy(), rtol=1e-9
        )
        assert moved.validation_ is None
        assert moved.queries_ is None

    def test_an_unlike_crowd_is_noted(self):
        processing = Processing.read_text(fitted().trained_.texts[FILE])
        shifted = {
            name: Moments(own.mean + 2 * UNLIKE * own.sd, own.sd) if name == "glad_ability|1" else own
            for name, own in processing.by_label.items()
        }
        ranker = fit(crowd(), given={"processing": replace(processing, by_label=shifted), "target": None})
        notes = [note.message for note in ranker.fit_.warnings if note.code == "unlike-crowd"]
        assert len(notes) == 1
        assert "1 of 28" in notes[0]
        assert "glad_ability|1 (2.0)" in notes[0]
        same = fit(crowd(), given={"processing": processing, "target": None})
        assert "unlike-crowd" not in {note.code for note in same.fit_.warnings}

    def test_what_it_lacks_is_an_error(self):
        processing = Processing.read_text(fitted().trained_.texts[FILE])
        made = crowd()
        with pytest.raises(InputError, match="honeypots_right"):
            Remap().fit(made.part("source"), made.judgments, processing=processing)
        graded = made.judgments.with_columns(label=pl.col("label") + 1)
        with pytest.raises(InputError, match="labels are 1, 2"):
            Remap().fit(made.part("source"), graded, processing=processing)

    def test_label_features_are_found_by_name(self):
        """Columns in another order, further columns, or honeypots that P does not know change nothing."""
        made = crowd()
        own = made.judgments.select(
            "query", "item", "worker", one=pl.col("item").hash(1) % 7, two=pl.col("item").hash(2) % 5
        )
        given = {"label_features": own, "honeypots": None}
        first = fit(made, given=given, guard=0.0)
        processing = Processing.read_text(first.trained_.texts[FILE])
        moved = {
            "processing": processing,
            "target": None,
            "honeypots": None,
            "label_features": own.with_columns(three=pl.lit(1.0)),
        }
        again = fit(
            made,
            given={
                **moved,
                "label_features": moved["label_features"].select([*own.columns[:3], "three", "two", "one"]),
            },
        )
        one, two = (ranker.workers_.polars()["weight", "value_1"].to_numpy() for ranker in (first, again))
        np.testing.assert_allclose(one, two, rtol=1e-9)

    def test_its_penalty_is_kept_or_given(self):
        processing = Processing.read_text(fitted(mu=0.3).trained_.texts[FILE])
        assert processing.mu == 0.3
        found = [
            fit(crowd(), given={"processing": processing, "target": None, "validation": None}, mu=mu)
            .score(crowd().part("test"))
            .score
            for mu in ("auto", 0.3, 30.0)
        ]
        np.testing.assert_array_equal(found[0], found[1])
        assert np.abs(found[0]).mean() > 2 * np.abs(found[2]).mean()

    @pytest.mark.parametrize("content", ["", "{}", '{"kind": "crowdrank processing", "format": 9}', "[1]"])
    def test_a_damaged_file(self, tmp_path, content):
        (tmp_path / "p.json").write_text(content)
        with pytest.raises(InputError, match=r"p\.json"):
            Processing.read(tmp_path / "p.json")
        with pytest.raises(InputError, match="no such file"):
            Processing.read(tmp_path / "absent.json")


def test_saved_with_trees_and_loaded(tmp_path):
    ranker = fitted(trees=20)
    ranker.save(tmp_path / "ranker")
    again = load(tmp_path / "ranker")
    test = crowd().part("test")
    np.testing.assert_array_equal(again.score(test).score, ranker.score(test).score)
    assert again.trained_.scorer == "extended"


def test_features_are_standardized_over_all_documents_of_a_query():
    """Also over those that nobody labeled, as in scoring."""
    made = crowd()
    first = made.part("source").group_by("query", maintain_order=True).head(4)
    few = replace(made, judgments=made.judgments.join(first, on=["query", "item"], how="semi"))
    setups = []
    kept = Setup.__post_init__

    def look(self):
        kept(self)
        setups.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Setup, "__post_init__", look)
        fit(few, iterations=0)
    documents, table = setups[0].documents, made.part("source")
    own = table.with_columns(
        ((pl.col("f05") - pl.col("f05").mean()) / pl.col("f05").std(ddof=0)).over("query").alias("z")
    )
    wanted = setups[0].given.source.keys().join(own, on=["query", "item"], maintain_order="left")["z"]
    np.testing.assert_allclose(documents.values[:, 5], wanted.to_numpy(), atol=1e-5)


def test_what_the_target_adds():
    made = crowd()
    assert dcg(fitted(), made) > dcg(fitted(target_weight=0.0), made) - 0.3
    much = fitted(target_weight=1e6, baselines="few")
    test = read_features(made.part("test"))
    alone = much.trained_.candidates["target alone, ridge"].scores(test)[0]
    assert np.corrcoef(much.score(made.part("test")).score, alone)[0, 1] > 0.95


def test_measures_are_of_queries_that_did_not_choose():
    """Each half of the validation queries is measured with what the other half would choose."""
    ranker = fitted(mu="auto", start="auto")
    shown = ranker.fit_.details["measured"]["ranker"]["DCG@10"]
    assert shown <= ranker.validation_.polars()["value"].max() + 0.3
    assert shown != ranker.validation_.polars()["value"].max()


class TestInput:
    def test_without_queries_in_the_judgments(self):
        made = replace(crowd(), judgments=crowd().judgments.drop("query"))
        honeypots = crowd().honeypots.drop("query")
        one = fit(made, given={"honeypots": honeypots}, baselines="few").fit_.details["measured"]
        two = fitted(baselines="few").fit_.details["measured"]
        for name in ("target alone, ridge", "soft dawid-skene, ridge", "remap, ridge"):
            assert one[name]["DCG@10"] == pytest.approx(two[name]["DCG@10"])

    def test_gold_of_some_documents(self):
        gold = crowd().gold.with_columns(
            grade=pl.when(pl.col("query") < "query-100").then(pl.col("grade")).otherwise(-1)
        )
        half = gold.filter(pl.col("item").hash() % 2 == 0)
        measured = fit(crowd(), given={"gold": half}, baselines="few").fit_.details["measured"]
        assert np.isfinite(measured["oracle, ridge"]["DCG@10"])
        assert np.isfinite(measured["oracle, regression"]["DCG@10"])

    @pytest.mark.parametrize("part", ["target", "validation"])
    def test_a_missing_value_elsewhere(self, part):
        frame = crowd().labeled(part)
        holed = frame.with_columns(f02=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("f02")))
        with pytest.raises(InputError, match=f"{part}.* missing values") as caught:
            fit(crowd(), given={part: holed})
        assert "impute" in str(caught.value)
        assert np.isfinite(
            fit(crowd(), given={part: holed}, impute="mean").score(crowd().part("test")).score
        ).all()

    def test_few_queries(self):
        made = crowd()
        names = made.part("source")["query"].unique().sort()[:3].to_list()
        few = replace(made, judgments=made.judgments.filter(pl.col("query").is_in(names)))
        ranker = fit(few, given={"honeypots": None}, baselines="all", trees="auto")
        assert {own["trees"] for own in ranker.fit_.details["processing"]["tried"]} == {0}
        one = replace(made, judgments=made.judgments.filter(pl.col("query") == names[0]))
        assert np.isfinite(
            fit(one, given={"honeypots": None}, baselines="all").score(made.part("test")).score
        ).all()

    def test_validation_without_an_order(self):
        flat = crowd().labeled("validation").with_columns(label=0)
        with pytest.raises(InputError, match="no validation query"):
            fit(crowd(), given={"validation": flat})

    def test_validation_within_the_target(self):
        target = crowd().labeled("target")
        with pytest.raises(InputError, match="every validation query is in the target"):
            fit(crowd(), given={"validation": target})
        both = pl.concat([crowd().labeled("validation"), target.filter(pl.col("query") == target["query"][0])])
        codes = {note.code for note in fit(crowd(), given={"validation": both}).fit_.warnings}
        assert "validation-overlap" in codes

    def test_a_honeypot_of_several_queries(self):
        made = crowd()
        local = pl.col("item").rank("dense").over("query").cast(pl.String)
        judgments, source = (frame.with_columns(item=local) for frame in (made.judgments, made.part("source")))
        short = made.judgments.with_columns(short=local).join(made.honeypots, on=["query", "item"])
        honeypots = (
            short.group_by("short")
            .agg(pl.col("label_right").first())
            .rename({"short": "item", "label_right": "label"})
        )
        with pytest.raises(InputError, match="names no query, but was labeled for"):
            Remap(**QUICK).fit(
                source, judgments, target=made.labeled("target"), validation=made.labeled("validation"),
                honeypots=honeypots,
            )  # fmt: skip

    def test_odd_labels_are_noted(self):
        made = crowd()
        first = made.judgments.head(3)
        odd = pl.concat([
            made.judgments, first, first.with_columns(label=1 - pl.col("label")),
            first.head(1).with_columns(label=pl.lit(2, pl.Int64)),
        ])  # fmt: skip
        ranker = fit(replace(made, judgments=odd), given={"honeypots": None})
        said = [note.message for note in ranker.fit_.warnings if note.code == "labels"]
        assert said[0].startswith("3 rows repeat")
        assert said[1].startswith("For 3 documents a worker gave different labels")
        assert said[2].startswith("The label 2 occurs only once")

    def test_gold_of_other_documents(self):
        with pytest.raises(InputError, match="no item in common"):
            fit(crowd(), given={"gold": crowd().gold.with_columns(item="z" + pl.col("item"))})

    def test_names_that_are_taken(self):
        own = crowd().judgments.select("query", "item", "worker", share_0=1.0)
        with pytest.raises(InputError, match="share_0"):
            fit(crowd(), given={"label_features": own})

    def test_trees_need_their_labels(self):
        with pytest.raises(UsageError, match="honeypots"):
            fit(crowd(), given={"honeypots": None}, trees=5, grow_on="naive bayes")

    def test_a_target_is_needed(self):
        made = crowd()
        with pytest.raises(UsageError, match="needs a target"):
            Remap().fit(made.part("source"), made.judgments)

    def test_a_target_without_an_order(self):
        flat = crowd().labeled("target").with_columns(label=1)
        with pytest.raises(InputError, match="all labels are equal"):
            fit(crowd(), given={"target": flat})

    def test_a_target_with_other_features(self):
        with pytest.raises(InputError, match="f03"):
            fit(crowd(), given={"target": crowd().labeled("target").drop("f03")})
        more = crowd().labeled("target").with_columns(extra=1.0)
        ranker = fit(crowd(), given={"target": more})
        assert any("'extra'" in note.message for note in ranker.fit_.warnings)

    def test_queries_in_source_and_target_are_noted(self):
        names = crowd().part("source")["query"].unique().sort()[:20]
        old = crowd().labeled("target")["query"].unique().sort()
        same = crowd().labeled("target").with_columns(pl.col("query").replace(dict(zip(old, names, strict=True))))
        ranker = fit(crowd(), given={"target": same})
        assert "20 queries are both in the source and in the target." in [
            note.message for note in ranker.fit_.warnings
        ]

    def test_a_share_of_the_target_validates(self):
        ranker = fit(crowd(), given={"validation": None})
        assert ranker.fit_.details["measured"]["queries"] == 10
        assert "validation" in {note.code for note in ranker.fit_.warnings}
        assert fit(crowd(), given={"validation": 0.25}).fit_.details["measured"]["queries"] == 5

    def test_without_honeypots(self):
        ranker = fit(crowd(), given={"honeypots": None})
        assert "honeypots_right" not in ranker.workers_.polars().columns
        assert len(Processing.read_text(ranker.trained_.texts[FILE]).weight_names) == 27

    @pytest.mark.parametrize(
        ("settings", "words"),
        [({"method": "both"}, "method"), ({"gradient": "softrank", "objective": "err"}, "SoftRank"),
         ({"grow_on": "truth"}, "grow_on"), ({"probability": "x"}, "probability"), ({"mu": -1}, "mu")],
    )  # fmt: skip
    def test_wrong_parameters(self, settings, words):
        with pytest.raises(UsageError, match=words):
            fit(crowd(), **settings)
