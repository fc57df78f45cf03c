"""What any person would notice in a file is noted, and nothing of it in clean files."""

import json
import re
import shlex

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from conftest import ROOT
from crowdrank.compare import measure_by_gold
from crowdrank.data import read_gold
from helpers import random_votes

SOURCES = "".join(path.read_text() for path in (ROOT / "src/crowdrank/data/suspicions").glob("*.py"))
CODES = set(re.findall(r'Note\(\s*"([a-z-]+)"', SOURCES))
RNG = np.random.default_rng(0)
RATINGS = [(f"w{row % 5}", f"d{row // 5}", int(RNG.integers(1, 6))) for row in range(100)]


def suspicions(table):
    return [note for note in table.notes if note.code in CODES]


def said(given, **options):
    """The one suspicion about this."""
    [note] = suspicions(cr.read(given, **options))
    return note.code, note.wording()


def votes(items, rows=60, workers=4):
    pairs = [RNG.choice(items, 2, replace=False) for _ in range(rows)]
    winner, loser = zip(*pairs, strict=True)
    return pl.DataFrame({"worker": [f"w{row % workers}" for row in range(rows)], "winner": winner, "loser": loser})


def ratings(rows):
    return pl.DataFrame(rows, schema=["worker", "item", "label"], orient="row")


def test_clean_judgments_are_not_suspected():
    for frame in (votes(["a", "b", "Berlin", "Zürich", "item 1 1", "item 11", "x2", "10"]), ratings(RATINGS)):
        assert suspicions(cr.read(frame)) == []


class TestIds:
    def test_case_and_spaces(self):
        code, text = said(votes(["GPT-4", "gpt-4 ", "Llama 2", "Llama2", "claude"]))
        assert code == "similar-ids"
        assert text.startswith(
            "2 items differ from another only by case or spaces: 'GPT-4' and 'gpt-4 ', 'Llama 2' and 'Llama2'."
        )

    @pytest.mark.parametrize("column", ["worker", "query"])
    def test_of_workers_and_queries(self, column):
        frame = votes(["a", "b", "c"]).with_columns(pl.Series(column, ["Ann", "ann", "bob"] * 20))
        code, text = said(frame)
        assert code == "similar-ids"
        word = "1 worker differs" if column == "worker" else "1 query differs"
        assert text.startswith(f"{word} from another only by case or spaces: 'Ann' and 'ann'.")

    def test_three_examples_at_most(self):
        _, text = said(votes([*"abcde", *"ABCDE"]))
        assert text.startswith("5 items differ")
        assert "'C' and 'c', ..." in text

    @pytest.mark.parametrize("other", ["cafe\u0301", "caf\u00e9\u200b", "\ufeffcaf\u00e9", "caf\u00ad\u00e9"])
    def test_signs_that_cannot_be_seen(self, other):
        code, text = said(votes(["caf\u00e9", other, "tea"]))
        assert code == "invisible-ids"
        assert ascii(other) in text

    def test_spaces_that_do_not_break(self):
        code, _ = said(votes(["green tea", "green\u00a0tea", "milk"]))
        assert code == "invisible-ids"

    def test_a_broken_encoding(self):
        code, text = said(votes(["CafÃ©", "ZÃ¼rich", "na\ufffdve", "São Paulo", "Straße", "œuvre", "Ãlp"]))
        assert code == "broken-text"
        assert text.startswith("3 items are in a broken encoding: 'CafÃ©' (probably 'Café'), 'ZÃ¼rich' (probably")

    @pytest.mark.parametrize("form", ["jsonl", "json"])
    def test_whole_numbers_of_json_are_exact(self, tmp_path, form):
        """Also in a column that has a fraction elsewhere."""
        rows = [
            {"winner": 2**53, "loser": 1.5},
            {"winner": 1.0, "loser": 2**53 + 1},
            {"winner": 3, "loser": 2**64},
        ]
        table = cr.read(json_file(tmp_path, rows, form))
        assert table.index.items.to_list() == ["1", "1.5", str(2**64), "3", str(2**53), str(2**53 + 1)]
        assert suspicions(table) == []

    @pytest.mark.parametrize("form", ["jsonl", "json"])
    def test_true_is_not_1(self, tmp_path, form):
        rows = [{"winner": 1, "loser": 2}, {"winner": True, "loser": 3}]
        code, text = said(json_file(tmp_path, rows, form))
        assert code == "boolean-ids"
        assert text.startswith("'true' is an id among item ids that are numbers.")

    def test_ids_that_a_float_rounds(self):
        frame = pl.DataFrame({"winner": [2.0**53, 1.0], "loser": [2.0, 2.0]})
        code, text = said(frame)
        assert code == "rounded-ids"
        assert "frame: 1 id of more than 15 digits in columns of decimal numbers (winner, loser)" in text
        assert suspicions(cr.read(frame.cast(pl.Int64))) == []


def json_file(folder, rows, form):
    path = folder / f"votes.{form}"
    path.write_text("\n".join(map(json.dumps, rows)) if form == "jsonl" else json.dumps(rows))
    return path

    def test_ids_that_a_spreadsheet_has_shortened(self):
        code, text = said(votes(["1.23457E+15", "9.1E+12", "a", "1E+5", "2.5"]))
        assert code == "rounded-ids"
        assert text.startswith(
            "2 ids have the form in which a spreadsheet writes long numbers: 1.23457E+15, 9.1E+12."
        )


class TestFiles:
    def frame(self, worker=True):
        frame = votes(list("abcdef"))
        return frame if worker else frame.drop("worker")

    @pytest.mark.parametrize("worker", [True, False])
    def test_the_same_file(self, tmp_path, worker):
        one, two = tmp_path / "one.csv", tmp_path / "two.csv"
        frame = self.frame(worker)
        frame.write_csv(one)
        frame.write_csv(two)
        code, text = said([one, two])
        assert code == "same-file"
        assert text.startswith(f"{two} has the same content as {one}, so its rows count twice.")
        assert said([one, one])[0] == "same-file"

    @pytest.mark.parametrize("worker", [True, False])
    def test_the_same_rows_in_another_order(self, worker):
        frame = self.frame(worker)
        code, text = said([frame, frame.reverse()])
        assert code == "same-file"
        assert text.startswith("60 of 60 rows of frame are also in frame, and count twice.")

    def test_rows_of_a_part(self):
        frame = self.frame()
        assert said([frame, frame.head(30)])[1].startswith("30 of 30 rows of frame are also in frame")
        assert suspicions(cr.read([frame.head(30), frame.tail(30)])) == []

    def test_a_part_that_was_pasted_twice(self, tmp_path):
        path, frame = tmp_path / "votes.csv", random_votes(votes=200)
        pl.concat([frame, frame.slice(50, 30)]).write_csv(path)
        code, text = said(path)
        assert code == "repeated-rows"
        words = "30 lines repeat earlier ones in the same order, the first of them is line 202."
        assert text.startswith(f"{path}: {words}")
        pl.read_csv(path).with_row_index("question").write_csv(path)  # the same votes on other questions
        assert suspicions(cr.read(path)) == []

    @pytest.mark.parametrize("rows", [slice(50, 69), slice(79, 49, -1), slice(0, 0)])
    def test_few_rows_or_another_order_are_no_copy(self, tmp_path, rows):
        frame = random_votes(votes=200)
        pl.concat([frame, frame[rows]]).write_csv(tmp_path / "votes.csv")
        assert suspicions(cr.read(tmp_path / "votes.csv")) == []

    def test_votes_that_are_all_alike_are_no_copy(self, tmp_path):
        frame = pl.DataFrame({"worker": ["ann", "bob"] * 100, "winner": "a", "loser": "b"})
        frame.write_csv(tmp_path / "votes.csv")
        assert suspicions(cr.read(tmp_path / "votes.csv")) == []

    def test_unknown_people_may_agree(self):
        assert suspicions(cr.read([self.frame(False), self.frame(False)])) == []

    def test_other_kinds(self):
        assert said([ratings(RATINGS), ratings(RATINGS[::-1])])[0] == "same-file"
        lists = ratings(RATINGS).rename({"label": "rank"})
        assert said([lists, lists])[0] == "same-file"


class TestNumbers:
    def test_a_worker_per_row(self):
        frame = votes(list("abc")).with_columns(worker=pl.int_range(60).cast(pl.String))
        code, text = said(frame)
        assert code == "worker-per-row"
        assert text.startswith("Every one of the 60 rows has a worker of its own: '0', '1', ...")
        assert suspicions(cr.read(frame, columns="worker=")) == []  # what the note says helps

    @pytest.mark.parametrize("least", [1.4e9, 1.9e9])
    def test_times_as_weights(self, least):
        frame = votes(list("abc")).with_columns(weight=least + 37.0 * pl.int_range(60))
        code, text = said(frame)
        assert code == "time-weights"
        assert text.endswith('If they are times: columns="weight=,timestamp=weight"')
        mended = cr.read(frame, columns="weight=,timestamp=weight")
        assert mended.weight is None
        assert suspicions(mended) == []

    def test_dates_as_weights(self):
        dates = [20_240_100 + row % 31 + 1 for row in range(60)]
        code, text = said(votes(["a", "b", "c"]).with_columns(weight=pl.Series(dates)))
        assert code == "time-weights"
        assert text.startswith("Every weight is between 20240101 and 20240131, as dates are (frame, row 1")
        assert text.endswith('If they are dates: columns="weight="')
        assert suspicions(cr.read(votes(["a", "b", "c"]).with_columns(weight=pl.lit(20_241_399)))) == []

    def test_one_row_outweighs_all_others(self):
        frame = votes(list("abc")).with_columns(weight=pl.Series([1.0] * 41 + [1e12] + [1.0] * 18))
        code, text = said(frame)
        assert code == "one-weight"
        assert text.startswith("One row weighs 1e+12 (frame, row 42), and all others together 59: ")
        assert suspicions(cr.read(frame.with_columns(pl.col("weight").clip(upper_bound=59e4)))) == []

    def test_milliseconds_as_weights(self):
        frame = votes(list("abc")).with_columns(weight=pl.lit(1.7e12))
        with pytest.raises(cr.InputError, match='If it is a time: columns="weight=,timestamp=weight"'):
            cr.read(frame)

    def test_times_on_disk(self, tmp_path):
        votes(list("abc")).with_columns(weight=pl.lit(1.7e9)).write_csv(tmp_path / "votes.csv")
        assert said(tmp_path / "votes.csv", memory=1)[0] == "time-weights"

    def test_every_vote_is_a_tie(self, tmp_path):
        frame = pl.DataFrame(
            {"left": list("abc"), "right": list("bca"), "label": ["tie"] * 3, "winner": list("aba")}
        )
        ties = frame.drop("winner")
        code, text = said(ties)
        assert code == "all-ties"
        assert text.startswith("Every one of the 3 votes is a tie, so nothing is ordered. If the outcomes are in")
        ties.write_csv(tmp_path / "ties.csv")
        assert said(tmp_path / "ties.csv", memory=1)[0] == "all-ties"
        assert suspicions(cr.read(frame.drop("label").rename({"winner": "best"}), columns="label=best")) == []

    def test_every_rank_is_1(self):
        frame = ratings(RATINGS).select("worker", "item", rank=1)
        code, text = said(frame)
        assert code == "one-rank"
        assert text.startswith("Every one of the 100 ranks is 1, so no list orders its items.")
        with pytest.raises(cr.InputError, match="Every one of the 100 ranks is 1"):
            cr.PlackettLuce().fit(frame)


class TestLabels:
    def test_items_and_labels_swapped(self, tmp_path):
        swapped = ratings([(worker, str(label), int(item[1:])) for worker, item, label in RATINGS])
        code, text = said(swapped)
        assert code == "swapped-columns"
        assert 'columns="item=label,label=item"' in text
        assert suspicions(cr.read(swapped, columns="item=label,label=item")) == []

    def test_swapped_if_there_are_as_many_items_as_grades(self):
        rows = [(f"w{row // 5}", str(RNG.integers(1, 4)), 100 + row % 5) for row in range(100)]
        assert said(ratings(rows))[0] == "swapped-columns"
        assert (
            suspicions(cr.read(ratings([(worker, str(item), int(label)) for worker, label, item in rows]))) == []
        )

    def test_swapped_with_items_that_are_names(self, tmp_path):
        swapped = ratings([(worker, str(label), item) for worker, item, label in RATINGS])
        code, text = said(swapped)
        assert code == "swapped-columns"
        assert f"frame, row 1: item '{RATINGS[0][2]}', label 'd0'." in text
        assert suspicions(cr.read(swapped, columns="item=label,label=item")) == []

    def test_names_of_few_numbered_items_are_not_swapped(self):
        rows = [(f"w{row % 5}", str(row // 5), "good" if RNG.random() < 0.5 else "bad") for row in range(50)]
        assert suspicions(cr.read(ratings(rows))) == []

    def test_swapped_without_workers(self):
        frame = pl.DataFrame({"item": [row % 5 for row in range(200)], "label": range(200)})
        assert said(frame)[0] == "swapped-columns"

    def test_sliders_on_few_numbered_items_are_not_swapped(self):
        rows = [(f"w{row // 5}", str(row % 5), int(RNG.integers(0, 101))) for row in range(300)]
        assert suspicions(cr.read(ratings(rows))) == []

    @pytest.mark.parametrize("code", [99, 9, -1, 0, 55, 999, -99])
    def test_an_odd_label(self, tmp_path, code):
        rows = list(RATINGS)
        rows[37] = (*rows[37][:2], code)
        path = tmp_path / "labels.csv"
        ratings(rows).write_csv(path)
        kind, text = said(path)
        assert kind == "odd-label"
        assert text.startswith(f"1 label of 100 is {code}, and all others are 1 to 5 ({path}, row 38).")

    def test_two_odd_labels(self):
        rows = [(*row[:2], {7: 98, 8: 99, 9: 99}.get(place, row[2])) for place, row in enumerate(RATINGS)]
        assert said(ratings(rows))[1].startswith("3 labels of 100 are 98 and 99, and all others are 1 to 5")

    @pytest.mark.parametrize(
        "labels",
        [
            [0, 1],
            [-1, 1],
            [-1, 0, 1],
            [-2, -1, 0, 1, 2],
            range(11),
            [1, 2, 3, 4, 5, 6, 7],
            range(0, 101),
            [0, 50, 100],
        ],
    )
    def test_scales_have_no_odd_label(self, labels):
        rows = [(worker, item, int(RNG.choice(list(labels)))) for worker, item, _ in RATINGS * 3]
        rows = [(f"{worker}{place // 100}", item, label) for place, (worker, item, label) in enumerate(rows)]
        assert suspicions(cr.read(ratings(rows))) == []

    def test_two_scales(self):
        wide = [(worker, item, label if worker < "w2" else 20 * label - 3) for worker, item, label in RATINGS]
        code, text = said(ratings(wide))
        assert code == "two-scales"
        assert text.startswith(
            "2 workers (such as 'w0') gave labels up to 5, and 3 others (such as 'w2') up to 97:"
        )

    def test_modest_workers_use_the_same_scale(self):
        """Two workers rated only poor items: on these, the others gave labels as small as theirs."""
        rows = [
            (f"w{worker}", f"d{item}", int(RNG.integers(0, 6)) if item < 10 else int(RNG.integers(40, 101)))
            for worker in range(6)
            for item in range(30)
            if worker > 1 or item < 10
        ]
        assert suspicions(cr.read(ratings(rows))) == []


class TestTopLists:
    """Lists of the best 4 of 20 items, or of 4 items that were shown."""

    def lists(self, workers, shown=None, queries=1):
        rng = np.random.default_rng(3)
        rows = []
        for query in range(queries):
            for worker in range(workers):
                seen = np.arange(20) if shown is None else rng.choice(20, shown, replace=False)
                best = seen[np.argsort(seen / 4 + rng.gumbel(size=len(seen)))][:4]
                rows += [(f"q{query}", f"w{worker}", f"i{item}", rank + 1) for rank, item in enumerate(best)]
        frame = pl.DataFrame(rows, schema=["query", "worker", "item", "rank"], orient="row")
        return frame if queries > 1 else frame.drop("query")

    def test_the_best_of_all(self):
        frame = self.lists(30)
        code, text = said(frame)
        assert code == "top-lists"
        items = frame["item"].n_unique()
        assert text.startswith(
            f"Each of the 30 lists ranks 4 of {items} items, and some items are in far more lists"
        )
        assert text.endswith("If a list is the best 4 of all items, the others are below: missing=below")

    def test_in_several_queries(self):
        assert said(self.lists(12, queries=3))[1].startswith("Each of the 36 lists ranks 4 of up to ")

    @pytest.mark.parametrize("missing", ["below", "unknown"])
    def test_not_if_the_user_has_said_it(self, missing):
        assert suspicions(cr.read(self.lists(30), missing=missing)) == []

    def test_all_that_was_shown(self):
        assert suspicions(cr.read(self.lists(30, shown=4))) == []

    def test_several_lists_by_a_worker_are_sets_that_were_shown(self):
        frame = self.lists(30).with_columns(list=pl.col("worker"), worker=pl.col("worker").str.slice(1, 1))
        assert suspicions(cr.read(frame)) == []

    def test_lists_of_nearly_all_items(self):
        kept = self.lists(30).filter(pl.col("item").is_in(["i0", "i1", "i2", "i3"]))
        assert suspicions(cr.read(kept)) == []


def _clean_files():
    """The real files, with the columns that the docs name for them."""
    page = (ROOT / "docs" / "formats.md").read_text().replace("\\\n", " ")
    shown = [shlex.split(line) for line in re.findall(r"^    crowdrank rank (.*)$", page, re.M)]
    found = {file: dict(zip(words[::2], words[1::2], strict=True)).get("--columns") for file, *words in shown}
    snow = "item=item,label=response,query=task"
    return {
        **found,
        "snow2008/labels.csv": snow,
        "trec2010/labels.csv": None,
        "llmfao/gpt3-crowd-comparisons.csv": None,
        "llmfao/gpt4-crowd-comparisons.csv": None,
        "potato-beach/potato_weighing.csv": "worker=dim_0,rank=P*",
        "potato-beach/beach_preferences.csv": None,
        "sushi/00014-00000002.soi": None,
        "sushi/00014-00000003.toi": None,
        **{
            f"preflib-mturk/{kind}-0000000{n}.soc": None
            for kind in ("dots_00024", "puzzle_00025")
            for n in range(1, 5)
        },
        **{f"MQ2008-agg/S{fold}.txt.gz": None for fold in range(1, 6)},
    }


GOLD = [
    (cr.WinRate, "readinglevel/pairs.csv", "readinglevel/gold.csv"),
    (cr.Average, "websearch5/labels.csv", "websearch5/gold.csv"),
    (cr.Average, "trec2010/labels.csv", "trec2010/gold.csv"),
    (cr.Borda, "MQ2008-agg/S1.txt.gz", "MQ2008/S1.txt.gz"),
]


@pytest.mark.parametrize(("model", "judgments", "gold"), GOLD, ids=lambda value: str(value))
def test_clean_gold_is_not_suspected(real, model, judgments, gold):
    """Only the gains of grades above 10 are noted, those of the reading levels 1 to 12."""
    fitted = model().fit(cr.read(real / judgments))
    found = measure_by_gold(fitted, read_gold(real / gold), "acc tau nDCG@10 AP")
    assert {note.code for note in found.notes} <= {"linear-gain"}
    assert found.coverage.items > 50


def test_clean_files_are_not_suspected(real):
    found = {file: suspicions(cr.read(real / file, columns=columns)) for file, columns in _clean_files().items()}
    folds = [real / f"MQ2008-agg/S{fold}.txt.gz" for fold in range(1, 6)]
    found["all folds"] = suspicions(cr.read(folds))
    assert {file: notes for file, notes in found.items() if notes} == {}
