"""What train and score say to broken input, word by word, and that following a hint helps."""

import json
import shutil

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.rankers.registry import ranker_entries
from rankers.made import labeled_frame

AGAIN = "Hint: Copy the folder again, or train again."
FOLDER = "Hint: Name the folder that training wrote."
LABELS = "Hint: Give them in a column named label, or in a file of their own: --gold FILE"


@pytest.fixture
def frame(tmp_path):
    frame = labeled_frame()
    frame.write_csv(tmp_path / "features.csv")
    frame.drop("label").write_csv(tmp_path / "bare.csv")
    frame.select("query", "item", "label").write_csv(tmp_path / "gold.csv")
    return frame


@pytest.fixture
def run(crowdrank, tmp_path):
    """The exit code and stderr of a command that must print nothing and leave no folder after a mistake."""

    def run(*words):
        ran = crowdrank(*words, *(("--out", "result") if words[0] == "train" else ()))
        if ran.code:
            assert ran.out == ""
            assert not (tmp_path / "result").exists()
        return ran.code, ran.err.removeprefix("crowdrank: ").splitlines()

    return run


class TestSavedRankers:
    """Damage to the folder. Each is put right by doing what the hint says: a copy of the intact folder works."""

    @pytest.fixture
    def damaged(self, frame, tmp_path):
        def make(scorer):
            kind = cr.Trees(rounds=3, min_rows=5) if scorer == "trees" else scorer
            cr.ListMLE(scorer=kind).fit(frame).save(tmp_path / "intact")
            shutil.copytree(tmp_path / "intact", tmp_path / "ranker")
            return tmp_path / "ranker"

        return make

    @pytest.fixture
    def check(self, run, tmp_path):
        def check(*lines):
            assert run("score", "ranker", "features.csv") == (2, list(lines))
            shutil.rmtree(tmp_path / "ranker", ignore_errors=True)
            (tmp_path / "ranker").unlink(missing_ok=True)
            shutil.copytree(tmp_path / "intact", tmp_path / "ranker")
            assert run("score", "ranker", "features.csv") == (0, [])

        return check

    def test_trees_that_are_cut_off(self, damaged, check):
        part = damaged("trees") / "trees.txt"
        part.write_bytes(part.read_bytes()[:-500])
        problem = "is cut off or was edited: its checksum is not the one in model.json."
        check(f"ranker/trees.txt: {problem}", AGAIN)

    def test_weights_that_were_edited(self, damaged, check):
        part = damaged("linear") / "weights.npz"
        content = bytearray(part.read_bytes())
        content[len(content) // 2] ^= 1
        part.write_bytes(content)
        problem = "is cut off or was edited: its checksum is not the one in model.json."
        check(f"ranker/weights.npz: {problem}", AGAIN)

    def test_a_header_that_was_edited(self, damaged, check):
        header = damaged("linear") / "model.json"
        header.write_text(header.read_text().replace('"f1"', '"f7"'))
        check("ranker/model.json: was edited or damaged: its checksum differs.", AGAIN)

    def test_a_newer_format(self, damaged, check):
        header = damaged("linear") / "model.json"
        header.write_text(json.dumps({**json.loads(header.read_text()), "format": 2}))
        check(
            "ranker/model.json: has another format. Got 2.",
            "Hint: This version of crowdrank reads format 1. Install a newer version, or train again.",
        )

    def test_a_part_that_is_missing(self, damaged, check):
        (damaged("linear") / "weights.npz").unlink()
        check("ranker/weights.npz: the file is missing.", "Hint: Copy the whole folder.")

    def test_a_folder_that_is_no_ranker(self, damaged, check):
        (damaged("linear") / "model.json").unlink()
        check("ranker: there is no model.json in the folder.", FOLDER)

    def test_no_folder_at_all(self, damaged, check):
        shutil.rmtree(damaged("linear"))
        check("ranker: there is no such folder.", FOLDER)

    def test_a_file(self, damaged, check, tmp_path):
        shutil.rmtree(damaged("linear"))
        (tmp_path / "ranker").write_text("query,item,score\n")
        check("ranker: is a file, not the folder of a saved ranker.", FOLDER)


class TestFeatures:
    @pytest.fixture
    def ranker(self, frame, tmp_path):
        cr.ListMLE().fit(frame).save(tmp_path / "ranker")

    def test_one_of_46_is_missing_at_scoring(self, run, tmp_path):
        wide = labeled_frame(queries=6).with_columns(
            (pl.col("f0") * place + pl.col("f1")).alias(f"f{place}") for place in range(4, 46)
        )
        cr.ListMLE().fit(wide).save(tmp_path / "ranker")
        wide.rename({"f17": "F17"}).write_csv(tmp_path / "new.csv")
        assert run("score", "ranker", "new.csv") == (
            2,
            [
                "new.csv: a feature is missing: 'f17'.",
                "Hint: Give the features under the names that they had in training.",
            ],
        )
        wide.write_csv(tmp_path / "new.csv")
        assert run("score", "ranker", "new.csv") == (0, [])

    def test_one_more_is_a_note(self, run, frame, ranker, tmp_path):
        frame.with_columns(f9=pl.lit(1.0)).write_csv(tmp_path / "new.csv")
        assert run("score", "ranker", "new.csv") == (
            0,
            ["warning: 1 feature that the ranker does not know is ignored: 'f9'."],
        )

    def test_a_document_twice(self, run, frame, ranker, tmp_path):
        pl.concat([frame, frame[5:6]]).write_csv(tmp_path / "new.csv")
        expected = [
            "new.csv: 1 row repeats the (query, item) of an earlier row: ('q000', 'd005').",
            "Hint: Features have one row for each item of a query.",
        ]
        assert run("score", "ranker", "new.csv") == (2, expected)
        assert run("train", "new.csv") == (2, expected)
        frame.unique(["query", "item"], keep="first", maintain_order=True).write_csv(tmp_path / "new.csv")
        assert run("train", "new.csv")[0] == 0

    @pytest.mark.lightgbm
    def test_missing_values_and_the_linear_scorer(self, run, frame, tmp_path):
        gap = pl.when(pl.col("item") == "d003").then(None).otherwise("f1")
        frame.with_columns(f1=gap).write_csv(tmp_path / "gaps.csv")
        assert run("train", "gaps.csv") == (
            2,
            [
                "gaps.csv: the feature 'f1' has missing values (20 in all).",
                "Hint: Fill them, --set impute=mean, or use trees, which take them: --scorer trees",
            ],
        )
        code, said = run("train", "gaps.csv", "--set", "impute=mean")
        assert (code, said[0]) == (0, "warning: 20 values of 1 feature are filled.")
        code, said = run("train", "gaps.csv", "--scorer", "trees", "--set", "rounds=3")
        assert (code, said[0]) == (0, "warning: 20 values of 1 feature are kept, as trees take them.")

    def test_missing_values_in_scoring_alone(self, run, frame, ranker, tmp_path):
        gap = pl.when(pl.col("item") == "d003").then(None).otherwise("f1")
        frame.with_columns(f1=gap).write_csv(tmp_path / "gaps.csv")
        assert run("score", "ranker", "gaps.csv") == (
            2,
            [
                "gaps.csv, row 4, column 'f1': the value is missing, and this ranker was trained without a rule "
                "for missing values.",
                "Hint: Train it with one: --set impute=mean",
            ],
        )
        assert run("train", "features.csv", "--set", "impute=mean")[0] == 0
        assert run("score", "result", "gaps.csv") == (0, [])


class TestLabels:
    def test_words(self, run, frame, tmp_path):
        frame.with_columns(label=pl.when(pl.col("label") > 2).then(pl.lit("good")).otherwise("label")).write_csv(
            tmp_path / "words.csv"
        )
        first = frame["label"].to_list().index(3) + 1
        code, said = run("train", "words.csv")
        assert code == 2
        assert said[0] == f"words.csv, row {first}, column 'label': a number is needed here. Got 'good'."

    def test_none(self, run, frame):
        assert run("train", "bare.csv") == (2, ["bare.csv: there are no labels to learn from.", LABELS])
        assert run("train", "bare.csv", "--gold", "gold.csv")[0] == 0

    def test_none_for_validation(self, run, frame, tmp_path):
        """The gold may have the labels of both files."""
        frame[:120].write_csv(tmp_path / "train.csv")
        frame[120:].drop("label").write_csv(tmp_path / "validate.csv")
        words = ("train", "train.csv", "--validation", "validate.csv")
        assert run(*words) == (2, ["validate.csv: there are no labels to learn from.", LABELS])
        code, said = run(*words, "--gold", "gold.csv")
        assert code == 0
        assert said[-2].startswith("nDCG@10 on 5 validation queries: ")

    def test_of_other_queries(self, run, frame, tmp_path):
        frame.select(pl.col("query") + "x", "item", "label").write_csv(tmp_path / "other.csv")
        assert run("train", "bare.csv", "--gold", "other.csv") == (
            2,
            [
                "bare.csv: the features have no item in common with what is graded: features of ('q000', 'd000'), "
                "('q000', 'd001'), ('q000', 'd002'), ..., but graded ('q000x', 'd000'), ('q000x', 'd001'), "
                "('q000x', 'd002'), ....",
                "Hint: Ids are text: '01' is not '1'. Queries are compared too if both sides have them.",
            ],
        )

    def test_of_a_document_without_features(self, run, frame, tmp_path):
        extra = pl.DataFrame({"query": ["q001"], "item": ["d999"], "label": [1]}).cast(
            {"label": frame["label"].dtype}
        )
        pl.concat([frame.select("query", "item", "label"), extra]).write_csv(tmp_path / "more.csv")
        words = ("train", "bare.csv", "--gold", "more.csv")
        assert run(*words) == (
            2,
            [
                "bare.csv: 1 graded item has no features: ('q001', 'd999').",
                "Hint: To leave them out: --missing drop",
            ],
        )
        code, said = run(*words, "--missing", "drop")
        assert (code, said[0]) == (
            0,
            "warning: bare.csv: 1 graded item has no features and is left out: ('q001', 'd999').",
        )

    def test_all_equal(self, run, frame, tmp_path):
        frame.with_columns(label=pl.lit(1)).write_csv(tmp_path / "flat.csv")
        assert run("train", "flat.csv") == (
            2,
            [
                "flat.csv: in each query all labels are equal, so there is no order to learn.",
                "Hint: Give queries with several documents and different labels.",
            ],
        )
        assert run("train", "features.csv")[0] == 0


@pytest.mark.parametrize(
    ("words", "lines", "works"),
    [
        (
            ["--validation", "1.5"],
            ["The share of validation queries must be between 0 and 1. Got 1.5."],
            ["--validation", "0.5"],
        ),
        (
            ["--validation", "0.01"],
            ["20 queries cannot be split with a share of 0.01 for validation."],
            ["--validation", "0.1"],
        ),
        (
            ["--scorer", "forest"],
            ["There is no scorer 'forest'.", "Hint: The scorers are linear, trees, net."],
            ["--scorer", "trees", "--set", "rounds=2"],
        ),
        (
            ["--model", "magic"],
            ["There is no ranker 'magic'.", f"Hint: The rankers are {', '.join(ranker_entries())}."],
            ["--model", "regression"],
        ),
        (
            ["--set", "rounds=3"],
            [
                "listmle with the scorer linear has no parameter 'rounds'.",
                "Hint: The parameters are impute, k, limit, measure, patience, penalty, scorer, seed, "
                "standardize, tune.",
            ],
            ["--set", "limit=3"],
        ),
        (
            ["--set", "tune=true"],
            ["Tuning needs validation queries.", "Hint: Keep some: --validation 0.2"],
            ["--set", "tune=true", "--validation", "0.2"],
        ),
        (
            ["--measure", "magic@3"],
            [
                "There is no measure 'magic@3'.",
                "Hint: The measures are nDCG, DCG, RBP, AP, P, ERR, RR, tau, acc, spearman, distance. For example "
                "nDCG@10 or RBP(p=0.95).",
            ],
            ["--measure", "nDCG@10"],
        ),
        (
            ["--missing", "maybe", "--gold", "gold.csv"],
            ["--missing takes error or drop, and below or unknown. Got 'maybe'."],
            [],
        ),
        (
            ["--folds", "2"],
            [
                "Two parts are too few: one is for testing and one for validation.",
                "Hint: Validate on a share of the training queries: --validation 0.2",
            ],
            ["--folds", "2", "--validation", "0.2"],
        ),
    ],
)
@pytest.mark.lightgbm
def test_options(run, frame, words, lines, works):
    assert run("train", "features.csv", *words) == (2, lines)
    assert run("train", "features.csv", *works)[0] == 0
