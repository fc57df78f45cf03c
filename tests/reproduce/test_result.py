"""A reproduced table as JSON and back."""

from crowdrank.reproduce.chart import Panel
from crowdrank.reproduce.result import PaperTable


def test_a_table_comes_back_without_its_curves():
    table = PaperTable("a table", ("method", "ours", "p"), 1, [("bt", 0.5, "-"), ("tpp", 1.0, 0.25)], ["a remark"])
    assert PaperTable.from_json(table.to_json()) == table
    drawn = PaperTable("a table", ("method",), 1, [("bt",)], panels=(Panel("a panel", "x", "y", [1.0]),))
    assert PaperTable.from_json(drawn.to_json()) == PaperTable("a table", ("method",), 1, [("bt",)])
