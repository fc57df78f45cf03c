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
