"""What a first file often holds: each mistake is named, with a remedy that is right when followed."""

import polars as pl
import pytest

import crowdrank as cr


def codes(table):
    return [note.code for note in table.notes]


class TestColumnsThatAreNotUsed:
    @pytest.mark.parametrize("name", ["count", "n", "freq", "Votes", "times", "num_votes"])
    def test_counts(self, name):
        frame = pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], name: [12, 3]})
        [note] = cr.read(frame).notes
        assert note.code == "unused-counts"
        assert note.wording() == (
            f"frame: the column {name!r} is not used. If it says how often the row occurred: "
            f'columns="weight={name}"'
        )
        assert cr.read(frame, columns=f"weight={name}").weight.tolist() == [12, 3]
        assert codes(cr.read(frame, columns="weight=")) == []

    @pytest.mark.parametrize("values", [["x", "2"], ["1", "1"], ["0", "3"], ["1.5", "2"]])
    def test_what_is_no_count(self, values):
        assert codes(cr.read(pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "n": values}))) == []

    @pytest.mark.parametrize(
        "name", ["worker_id", "rater", "rater_id", "annotator_id", "judge_id", "assessor_id", "Rater"]
    )
    def test_workers_with_another_clear_name_are_read(self, name):
        table = cr.read(pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], name: ["u", "v"]}))
        assert table.index.workers.to_list() == ["u", "v"]
        assert codes(table) == []

    @pytest.mark.parametrize(
        "name", ["user", "user_id", "participant", "voter", "evaluator", "Worker ID", "rater-id"]
    )
    def test_people(self, name):
        frame = pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], name: ["u", "v"]})
        [note] = cr.read(frame).notes
        assert note.code == "unused-worker"
        assert note.wording().endswith(f'If it says who judged: columns="worker={name}"')
        assert codes(cr.read(frame, columns=f"worker={name}")) == []
        assert codes(cr.read(frame, columns="worker=")) == []
        assert codes(cr.read(frame.with_columns(worker=pl.lit("w")))) == []

    def test_a_rating_is_a_label(self):
        with pytest.raises(
            cr.InputError, match="seems to be a rating: 'item' the item, and 'rating' its"
        ) as caught:
            cr.read(pl.DataFrame({"item": ["a"], "rating": ["1"]}))
        assert 'columns="label=rating"' in str(caught.value)


class TestOutcomesThatAreNearlyIds:
    @pytest.mark.parametrize(
        ("items", "said", "by"),
        [
            (("plum", "pear"), "Plum", "'plum' only by case."),
            (("plum", "pear"), " pear", "'pear' only by spaces."),
            (("plum ", "pear"), "PLUM", "'plum ' only by spaces and case."),
            (("12", "13"), "13.0", "'13' only by a final .0."),
        ],
    )
    def test_the_difference_is_named(self, items, said, by):
        rows = {"left": [items[0]] * 2, "right": [items[1]] * 2, "winner": [items[0], said]}
        with pytest.raises(cr.InputError) as caught:
            cr.read(pl.DataFrame(rows))
        assert f"row 2, column 'winner': the outcome differs from {by} Got {said!r}." in str(caught.value)
        assert "outcomes=" not in str(caught.value)

    def test_another_word_is_no_id(self):
        with pytest.raises(cr.InputError, match="outcome must be one of"):
            cr.read(pl.DataFrame({"left": ["plum"], "right": ["pear"], "winner": ["plums"]}))


class TestCells:
    @pytest.mark.parametrize("date", ["01/05/2024", "31/05/2024", "01.05.2024", "01-05-2024", "1/5/24"])
    def test_dates_with_the_day_first_or_the_month(self, date):
        frame = pl.DataFrame({"winner": ["a"], "loser": ["b"], "timestamp": [date]})
        with pytest.raises(cr.InputError, match="an ISO date is needed") as caught:
            cr.read(frame)
        assert str(caught.value).endswith('To leave the times out: columns="timestamp="')
        assert cr.read(frame, columns="timestamp=").rows == 1

    @pytest.mark.parametrize("date", ["2024-05-31T18:30:00Z", "2024-05-31 18:30", "20240531T183000"])
    def test_iso_dates(self, date):
        frame = pl.DataFrame({"winner": ["a"], "loser": ["b"], "timestamp": [date]})
        assert cr.read(frame).timestamp.tolist() == [1717180200.0]

    @pytest.mark.parametrize("label", ["n/a", "-", "", "N/A", None])
    def test_a_label_that_was_not_given(self, label):
        with pytest.raises(cr.InputError, match="row 2, column 'label'") as caught:
            cr.read(pl.DataFrame({"item": ["a", "b"], "label": ["1", label]}))
        assert str(caught.value).endswith("Hint: If the item was not rated, remove this row and others like it.")

    def test_several_ranks_of_0(self):
        frame = pl.DataFrame(
            {"worker": [*"uuuuvvvv"], "item": [*"abcdabcd"], "rank": ["2", "1", "0", "0", "1", "2", "3", "4"]}
        )
        [note] = cr.read(frame).notes
        assert note.code == "zero-ranks"
        assert note.message.startswith("1 list of 2 has several ranks of 0 besides a rank of 1 (frame, row 3)")
        assert codes(cr.read(frame.with_columns(rank=pl.int_range(8) % 4))) == []


class TestLoneQueries:
    def votes(self, items):
        rows = [(f"q{row}", items(row), items(row + 1)) for row in range(12)]
        return pl.DataFrame(rows, schema=["query", "winner", "loser"], orient="row")

    def test_one_judgment_per_query(self):
        frame = self.votes(lambda row: f"m{row % 4}")
        [note] = cr.read(frame).notes
        assert note.code == "split-queries"
        assert "nearly every one of the 12 values of the column 'query' has one judgment" in note.message
        assert note.wording().endswith('columns="query="')

    def test_items_of_their_own(self):
        assert codes(cr.read(self.votes(lambda row: f"m{row}"))) == []


class TestWords:
    def test_one_item_has_few_judgments(self):
        frame = pl.DataFrame({"winner": [*"aabbcd"], "loser": [*"bccaab"]})
        assert "1 of 4 items has fewer than 3 judgments: d." in [
            note.message for note in cr.BradleyTerry().fit(frame).fit_.warnings
        ]

    def test_the_same_file_given_twice(self, tmp_path):
        path = tmp_path / "votes.csv"
        path.write_text("winner,loser\na,b\nb,c\n")
        assert f"{path} was given twice, so its rows count twice." in [
            note.message for note in cr.read([path, path]).notes
        ]

    def test_the_report_words_remedies_as_the_command_line(self, tmp_path, crowdrank):
        path = tmp_path / "votes.csv"
        path.write_text("winner,loser,count\na,b,3\nb,c,2\n")
        assert crowdrank("rank", path, "--model", "bt", "--out", tmp_path / "out").code == 0
        report = (tmp_path / "out" / "report.md").read_text().replace("\\", "")
        assert "how often the row occurred: --columns weight=count. Every row counts once" in report
