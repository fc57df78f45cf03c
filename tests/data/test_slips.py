"""Slips that a person sees at once: rows of totals, a rank that no list can have, spaces before every id."""

import polars as pl
import pytest

import crowdrank as cr

RATINGS = [(f"w{worker}", f"film{item}", 1 + (worker + item) % 5) for worker in range(4) for item in range(6)]
RANKS = [(f"w{worker}", f"film{item}", 1 + (worker + item) % 6) for worker in range(6) for item in range(6)]


def frame(rows, value):
    return pl.DataFrame(rows, schema=["worker", "item", value], orient="row")


def said(given, code, **options):
    """What the notes with this code say about a file."""
    return [note.wording() for note in cr.read(given, **options).notes if note.code == code]


class TestTotals:
    @pytest.mark.parametrize(
        ("rows", "value", "total"),
        [
            (RATINGS, "label", ("w0", "Total", 310)),
            (RATINGS, "label", ("Total", "Total", 3)),
            (RANKS, "rank", ("sum", "grand total", 126)),
        ],
    )
    def test_a_row_of_totals(self, tmp_path, rows, value, total):
        path = tmp_path / "rows.csv"
        frame([*rows, total], value).write_csv(path)
        text = f"{path}, row {len(rows) + 1} looks like a total: its item is {total[1]!r}. If it is one, remove it"
        [note] = said(path, "totals-row")
        assert note.startswith(text)

    @pytest.mark.parametrize("item", ["Total Recall", "film7"])
    def test_other_items_with_a_large_number(self, item):
        assert said(frame([*RATINGS, ("w0", item, 310)], "label"), "totals-row") == []

    def test_an_item_that_is_rated_like_the_others(self):
        rows = [*RATINGS, *((f"w{worker}", "all", 6) for worker in range(4))]
        assert said(frame(rows, "label"), "totals-row") == []
        assert said(frame([*RATINGS, ("w0", "all", 3)], "label"), "totals-row") == []

    @pytest.mark.parametrize(
        "content", ["worker,item,label\nu,a,5\nu,b,3\nTotal,,8\n", "left,right,winner\na,b,a\nb,a,a\nTotal,,2\n"]
    )
    def test_a_row_of_totals_without_an_item(self, tmp_path, content):
        path = tmp_path / "rows.csv"
        path.write_text(content)
        with pytest.raises(cr.InputError, match="the value is missing") as caught:
            cr.read(path)
        assert str(caught.value).endswith("Hint: Row 3 looks like a total; remove it.")
        path.write_text(content.replace("Total", "v"))
        with pytest.raises(cr.InputError, match="the value is missing") as caught:
            cr.read(path)
        assert caught.value.hint is None


class TestRanks:
    def test_a_rank_that_no_list_can_have(self, tmp_path):
        rows = [*RANKS[:7], ("w1", "film1", 11), *RANKS[8:]]
        path = tmp_path / "rows.csv"
        frame(rows, "rank").write_csv(path)
        [note] = said(path, "odd-rank")
        assert note.startswith(f"1 rank of 36 is 11, and no list has more than 6 items ({path}, row 8).")

    @pytest.mark.parametrize("step", [1, 2])
    def test_ranks_with_gaps_throughout(self, step):
        assert said(frame([(worker, item, rank * step) for worker, item, rank in RANKS], "rank"), "odd-rank") == []

    def test_a_list_that_lacks_an_item(self):
        rows = [row for row in RANKS if row[0] != "w0" or row[2] != 3]
        assert said(frame(rows, "rank"), "odd-rank") == []


class TestSpaces:
    def test_spaces_after_the_commas(self, tmp_path):
        path = tmp_path / "votes.csv"
        path.write_text("judge, model_a, model_b, winner\nu, x, y, model_a\nv, y, z, model_b\n")
        [note] = said(path, "padded-ids")
        assert note.startswith("Every item id begins with a space, such as ' x'. The space is part of the id.")

    def test_spaces_before_the_commas(self):
        rows = [(f"{worker} ", item, label) for worker, item, label in RATINGS]
        assert said(frame(rows, "label"), "padded-ids")[0].startswith("Every worker id ends with a space")

    def test_some_spaces(self):
        assert said(frame([*RATINGS, ("w0", " new", 3)], "label"), "padded-ids") == []


class TestTypingErrors:
    def hint(self, given, **options):
        with pytest.raises(cr.InputError) as caught:
            cr.read(given, **options)
        return str(caught.value).partition("Hint: ")[2]

    def test_a_label_among_numbers(self):
        rows = [(worker, item, str(label)) for worker, item, label in RATINGS]
        hint = self.hint(frame([*rows, ("w0", "film9", "4o")], "label"))
        assert hint == "Most other labels are numbers, 1 to 5. Correct this one, or remove its row."

    def test_labels_that_are_mostly_words(self):
        rows = [("w0", "x", "yes"), ("w0", "y", "no"), ("w0", "z", "1")]
        assert "1 for yes and 0 for no" in self.hint(frame(rows, "label"))

    def test_a_word_for_a_side(self):
        columns = {
            "model_a": list("xyxz"),
            "model_b": list("yzzx"),
            "winner": ["model_a", "model_b", "modle_a", "tie"],
        }
        hint = self.hint(pl.DataFrame(columns))
        assert hint.endswith("""If 'modle_a' means left: read(..., outcomes="modle_a=left")""")
        assert hint.startswith("'modle_a' looks like 'model_a'. ")
        assert cr.read(pl.DataFrame(columns), outcomes="modle_a=left").rows == 4

    def test_a_third_side_is_no_typing_error(self):
        columns = {"model_a": list("xyx"), "model_b": list("yzz"), "winner": ["model_a", "model_c", "model_a"]}
        assert 'outcomes="model_c=MEANING"' in self.hint(pl.DataFrame(columns))

    def test_labels_that_an_order_lacks_are_listed(self):
        rows = [("w0", "x", "very good"), ("w0", "y", "bad"), ("w0", "z", "very bad"), ("w1", "z", "good")]
        hint = self.hint(frame(rows, "label"), order="bad,good")
        assert hint == (
            "It lacks 'very bad', 'very good'. Name all labels, from worst to best. The order is 'bad', 'good'."
        )
