"""crowdrank train with the labels of a crowd and of experts, as a user runs it; every hint is followed."""

import json

import polars as pl
import pytest

from crowdrank.simulate.presets import simulate

SIZES = {"source": 24, "target": 8, "validation": 8, "test": 4, "documents": 10, "workers": 15, "honeypots": 8}
QUICK = ("--set", "rounds=5", "--set", "mu=0.3", "--set", "trees=0", "--set", "learner=ridge")
BARE = ("train", "features.csv", "--judgments", "judgments.csv", "--out", "ranker", *QUICK)
TRAIN = (*BARE, "--set", "baselines=none")
TARGET = ("--target", "target.csv", "--validation", "validation.csv")
NEEDED = "remap needs a target: documents of some queries with the labels of experts."
FULL = (*TRAIN, *TARGET, "--honeypots", "honeypots.csv")


@pytest.fixture(scope="module")
def crowd():
    """15 workers label 24 queries, and experts grade 20 others."""
    return simulate("remap-real", **SIZES).tables()


@pytest.fixture(scope="module")
def second():
    """Another crowd of the same kind, on queries of its own."""
    return simulate("remap-real", seed=1, **SIZES).tables()


@pytest.fixture
def files(crowd, tmp_path):
    for name, table in crowd.items():
        table.write_csv(tmp_path / f"{name}.csv")
    return crowd


@pytest.fixture
def fails(run):
    """Check the error of a command, and that ``instead``, which does what its hint says, works."""

    def fails(words, problem, hint, *instead):
        assert run(*words) == (2, [problem, f"Hint: {hint}"])
        code, said = run(*instead)
        assert code == 0, said

    return fails


def names_in(folder):
    return {path.name for path in folder.iterdir()}


class TestOutput:
    def test_a_folder_gets_all_files_and_three_lines(self, run, files, tmp_path):
        code, said = run(*BARE, *TARGET, "--honeypots", "honeypots.csv", "--set", "baselines=few")
        assert code == 0
        assert names_in(tmp_path / "ranker") == {
            "fit.json", "importance.csv", "model.json", "processing.json", "queries.csv", "report.html",
            "report.json", "report.md", "validation.csv", "weights.npz", "workers.csv",
        }  # fmt: skip
        assert said[-3] == (
            "remap was trained from 696 labels of 15 workers on 232 documents of 24 queries, with 46 features and "
            "8 target queries."
        )
        assert said[-2].startswith("Kept: remap with ridge (weights and values of ")
        assert said[-2].endswith("penalty 0.3).")
        assert said[-1].startswith("DCG@10 on 8 validation queries: ")
        assert " (best baseline, target alone with ridge: " in said[-1]
        fit = json.loads((tmp_path / "ranker" / "fit.json").read_text())
        given = {name: fit["judgments"][name] for name in ("kind", "rows", "workers", "labels", "judgments")}
        assert given == {
            "kind": "features+ratings", "rows": 240, "workers": 15, "labels": 696, "judgments": {"ratings": 816}
        }  # fmt: skip
        assert (fit["details"]["target_queries"], fit["details"]["validation_queries"]) == (8, 8)

    def test_the_folder_scores_new_documents(self, crowdrank, files):
        assert crowdrank(*FULL).code == 0
        ran = crowdrank("score", "ranker", "test.csv")
        assert ran.code == 0
        assert pl.read_csv(ran.out.encode()).height == 40

    def test_another_ranker_removes_its_parts(self, crowdrank, files, tmp_path):
        assert crowdrank(*FULL, "--set", "trees=2").code == 0
        assert {"extended.npz", "processing.json"} <= names_in(tmp_path / "ranker")
        gold = ("--gold", "gold.csv", "--missing", "drop")
        assert crowdrank("train", "features.csv", *gold, "--out", "ranker").code == 0
        assert not {"extended.npz", "processing.json", "workers.csv"} & names_in(tmp_path / "ranker")

    def test_weights_and_values_are_used_for_a_second_crowd(self, run, files, second, tmp_path):
        assert run(*FULL)[0] == 0
        (tmp_path / "ranker").rename(tmp_path / "first")
        for name in ("features", "judgments", "honeypots", "validation"):
            second[name].write_csv(tmp_path / f"{name}.csv")
        code, said = run(*TRAIN, "--honeypots", "honeypots.csv", "--processing", "first")
        assert code == 0
        assert said[-4].endswith("with 46 features and weights and values that were learned before.")
        assert said[-3:] == [
            "Kept: remap with ridge.",
            "Nothing was measured.",
            "Hint: Give queries with the labels of experts: --validation FILE",
        ]
        given = ("--honeypots", "honeypots.csv", "--processing", "first", "--validation", "validation.csv")
        code, said = run(*TRAIN, *given)
        assert (code, said[-1][:32]) == (0, "DCG@10 on 8 validation queries: ")
        old, new = (json.loads((tmp_path / one / "processing.json").read_text()) for one in ("first", "ranker"))
        assert (old["alpha"], old["beta"]) == (new["alpha"], new["beta"])

    def test_a_column_becomes_a_label_feature(self, run, files, tmp_path):
        rows = pl.int_range(pl.len()).cast(pl.Float64)
        seconds = files["judgments"].drop("label").with_columns(seconds=rows % 7 + 1)
        seconds.write_csv(tmp_path / "seconds.csv")
        assert run(*FULL, "--label-features", "seconds.csv")[0] == 0
        found = json.loads((tmp_path / "ranker" / "processing.json").read_text())
        assert {"seconds|0", "seconds|1"} <= set(found["weight_names"])


def test_a_column_of_the_target_alone_may_be_ignored(crowdrank, files, tmp_path):
    frame = files["target"].with_columns(url=pl.lit("a page"))
    frame.write_csv(tmp_path / "urls.csv")
    quick = ("--set", "baselines=none", "--set", "trees=0", "--set", "learner=ridge")
    words = (
        "train",
        "features.csv",
        "--judgments",
        "judgments.csv",
        "--target",
        "urls.csv",
        *quick,
        "--out",
        "own",
    )
    assert crowdrank(*words).code == 2
    assert crowdrank(*words, "--columns", "ignore=url").code == 0


class TestMistakes:
    def test_a_target_without_labels(self, fails, files, tmp_path):
        files["target"].drop("label").write_csv(tmp_path / "bare.csv")
        given = (*TRAIN, "--target", "bare.csv", "--validation", "validation.csv")
        fails(
            given, "bare.csv: there are no labels to learn from.", "Give the target a column named label.", *FULL
        )

    def test_a_target_without_a_feature(self, fails, files, tmp_path):
        files["target"].drop("f03").write_csv(tmp_path / "few.csv")
        given = (*TRAIN, "--target", "few.csv", "--validation", "validation.csv")
        hint = "Give the features under the names that they had in training."
        fails(given, "few.csv: a feature is missing: 'f03'.", hint, *FULL)

    def test_a_target_whose_labels_are_equal(self, fails, files, tmp_path):
        files["target"].with_columns(label=1).write_csv(tmp_path / "equal.csv")
        problem = "equal.csv: in each query of the target all labels are equal, so there is no order to learn."
        hint = "Give queries with several documents and different labels."
        fails((*TRAIN, "--target", "equal.csv", "--validation", "validation.csv"), problem, hint, *FULL)

    def test_pairs(self, fails, files, tmp_path):
        items = files["features"].filter(query="query-01")["item"]
        pairs = {"query": "query-01", "worker": "ann", "winner": items[:-1], "loser": items[1:]}
        pl.DataFrame(pairs).write_csv(tmp_path / "pairs.csv")
        given = ("train", "features.csv", "--judgments", "pairs.csv", "--out", "ranker")
        problem = "remap learns from labels (item, label), and these judgments are pairs."
        hint = "Other rankers learn from them, without a target: --model ltrma-mle"
        instead = (*given, "--model", "ltrma-mle", "--set", "iterations=3")
        fails((*given, *TARGET), problem, hint, *instead)

    def test_labels_without_workers(self, fails, files, tmp_path):
        files["judgments"].rename({"worker": "who"}).write_csv(tmp_path / "judgments.csv")
        problem = (
            "the labels do not say which worker gave them, and remap learns what each worker's labels are worth."
        )
        hint = "Name their column: --judgment-columns worker=NAME"
        fails((*TRAIN, *TARGET), problem, hint, *TRAIN, *TARGET, "--judgment-columns", "worker=who")

    def test_a_honeypot_outside_the_scale(self, fails, files, tmp_path):
        files["honeypots"].with_columns(label=pl.lit(3)).write_csv(tmp_path / "odd.csv")
        first = files["honeypots"]["item"][0]
        problem = f"odd.csv: the honeypot '{first}' has the label 3; the crowd's labels are 0, 1."
        hint = "A honeypot's label is what the crowd should have said, on its own scale."
        fails((*TRAIN, *TARGET, "--honeypots", "odd.csv"), problem, hint, *FULL)

    def test_honeypots_that_nobody_labeled(self, fails, files, tmp_path):
        files["honeypots"].with_columns(item="0" + pl.col("item")).write_csv(tmp_path / "odd.csv")
        problem = "odd.csv: nobody labeled a honeypot: the labels and the honeypots have no item in common."
        hint = "The judgments must contain the workers' labels of honeypots. Ids are text: '01' is not '1'."
        fails((*TRAIN, *TARGET, "--honeypots", "odd.csv"), problem, hint, *FULL)

    def test_a_target_for_another_ranker(self, fails, files):
        given = ("train", "features.csv", "--judgments", "judgments.csv", "--out", "ranker", *TARGET)
        hint = "Leave out what comes with a target, or use --model remap"
        problem = "ltrma-mle has no use for a target."
        fails((*given, "--model", "ltrma-mle"), problem, hint, *FULL, "--model", "remap")

    def test_no_target(self, fails, files):
        hint = "Give it, and the labels of a crowd: --judgments FILE --target FILE"
        fails((*TRAIN, "--model", "remap"), NEEDED, hint, *FULL)

    def test_honeypots_and_no_target(self, fails, files):
        hint = "Give it: --target FILE, or use the weights and values of another ranker: --processing DIR"
        fails((*TRAIN, "--honeypots", "honeypots.csv"), NEEDED, hint, *FULL)

    def test_honeypots_and_no_judgments(self, fails, files):
        given = ("train", "features.csv", "--out", "ranker", "--honeypots", "honeypots.csv")
        fails(given, "--honeypots needs judgments.", "Give them: --judgments FILE", *FULL)

    def test_an_unknown_label_feature(self, fails, files):
        problem = "The parameter 'weight_features' names 'speed', which is no label feature."
        hint = (
            "It takes all, or any of basic, ds, glad, own, ranking, label, ds_confusion_0_0, ds_confusion_0_1, "
            "ds_confusion_1_0, ds_confusion_1_1, ds_correct, ds_says_0, ds_says_1, glad_ability, glad_correct, "
            "glad_says_0, glad_says_1, log_labels, share_0, honeypots_right."
        )
        instead = ("--set", "weight_features=basic,glad_ability")
        fails((*FULL, "--set", "weight_features=speed"), problem, hint, *FULL, *instead)

    def test_a_damaged_processing(self, run, files, tmp_path):
        assert run(*FULL)[0] == 0
        (tmp_path / "ranker").rename(tmp_path / "first")
        file = tmp_path / "first" / "processing.json"
        whole = file.read_text()
        given = (*TRAIN, "--honeypots", "honeypots.csv", "--processing", "first")
        for content in (whole[:-40], whole.replace('"alpha"', '"gamma"'), "[1]", "\xff"):
            file.write_text(content)
            assert run(*given) == (
                2,
                [
                    "first/processing.json: is no processing that remap has saved, or is damaged.",
                    "Hint: Name processing.json, or the folder of a ranker that remap trained.",
                ],
            )
        file.write_text(whole)
        assert run(*given)[0] == 0

    def test_a_share_to_validate_without_a_target(self, fails, files, run, tmp_path):
        assert run(*FULL)[0] == 0
        (tmp_path / "ranker").rename(tmp_path / "first")
        given = (*TRAIN, "--honeypots", "honeypots.csv", "--processing", "first", "--validation")
        problem = "Validation takes a share of the target's queries, and there is no target."
        hint = "Give queries with the labels of experts: --validation FILE"
        fails((*given, "0.3"), problem, hint, *given, "validation.csv")
