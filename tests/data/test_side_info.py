"""Side information: what is read, what is refused, and what it demands of the workers."""

import io
import sys
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import SideInfo
from crowdrank.data.contradictions import refuse_contradictions

ABC = pl.Series(["a", "b", "c"])


def side(text, path=None):
    """The side information of CSV text without spaces."""
    frame = pl.read_csv(io.StringIO(text), infer_schema=False)
    if path is None:
        return SideInfo.read(frame)
    path.write_text(text)
    return SideInfo.read(path)


def edges(demands):
    return sorted(zip(demands.above.tolist(), demands.below.tolist(), strict=True))


class TestReading:
    text = "worker,kind,value,low,high,than,confidence\na,known,1.5,,,,\nb,range,,,0,,20\nc,order,,,,b,\n"

    def test_a_file_a_frame_and_itself(self, tmp_path):
        info = side(self.text, tmp_path / "side.csv")
        assert info.frame.rows() == side(self.text).frame.rows()
        assert info.frame.rows() == [
            ("a", "known", 1.5, 1.5, None, None, 1),
            ("b", "range", None, 0.0, None, 20.0, 2),
            ("c", "order", None, None, "b", None, 3),
        ]
        assert SideInfo.read(info) is info
        assert info.notes == ()

    def test_standard_input(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(self.text.encode()))))
        assert SideInfo.read("-").frame.height == 3

    def test_columns_that_no_row_needs_may_be_absent(self):
        assert side("worker,kind,than\na,order,b\n").bind(ABC).orders.above.tolist() == [0]
        assert side("worker,kind,high\na,range,0\n").bind(ABC).high.tolist() == [0, np.inf, np.inf]

    def test_ids_are_text(self):
        found = side("worker,kind,value\n01,known,1\n").bind(pl.Series(["01", "1"]))
        assert [part.tolist() for part in found.fixed] == [[0], [1.0]]

    def test_blank_lines_are_counted(self, tmp_path):
        with pytest.raises(cr.InputError, match="row 3, column 'value'"):
            side("worker,kind,value\na,known,1\n,,\nb,known,x\n", tmp_path / "side.csv")

    def test_an_unknown_column_is_noted(self):
        info = side("worker,kind,value,city\na,known,1,Rome\n")
        assert [note.message for note in info.notes] == ["frame: the column is not used: 'city'."]
        assert info.bind(ABC).notes == info.notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "worker,kind,value\na,knwon,1\n",
            r"row 1, column 'kind': .* Got 'knwon'\.\nHint: Did you mean 'known'\?",
        ),
        ("worker,kind,value\na,zzz,1\n", "the kind is known, range or order"),
        ("worker,kind,value\na,,1\n", "row 1, column 'kind': the value is missing"),
        ("worker,kind,value\n,known,1\n", "row 1, column 'worker': the value is missing"),
        ("worker,kind,value\n*,known,1\n", "row 1, column 'worker': '\\*' stands for all other workers"),
        ("worker,kind,value\na,known,\n", "row 1, column 'value': a known expertise needs its value"),
        ("worker,kind,value\na,known,inf\n", "row 1, column 'value': a number is needed here. Got 'inf'"),
        ("worker,kind,value\na,known,high\n", "row 1, column 'value': a number is needed here. Got 'high'"),
        ("worker,kind,value\na,known,31\n", "column 'value': a number from -30 to 30 is needed here. Got '31'"),
        ("worker,kind,low,high\na,range,,\n", "row 1, column 'low': a range needs low, high or both"),
        ("worker,kind,low,high\na,range,2,1\n", "row 1, column 'low': the low end is above the high end. Got '2'"),
        ("worker,kind,low,high\na,range,nan,x\n", "row 1, column 'high': a number is needed here"),
        ("worker,kind,than\na,order,\n", "row 1, column 'than': an order needs the other worker"),
        ("worker,kind,than\na,order,a\n", "row 1, column 'than': a worker is not compared with itself. Got 'a'"),
        ("worker,kind,value,confidence\na,known,1,-1\n", "column 'confidence': a number from 0 to 1e\\+06"),
        ("worker,kind,value,confidence\na,known,1,1e7\n", "empty if the row is certain"),
        (
            "worker,kind,value,low\na,known,1,2\n",
            "column 'low': the kind 'known' does not use this column. Got '2'",
        ),
        (
            "worker,kind,value\nb,known,1\na,order,\n",
            "column 'than': missing: the kind 'order' needs it, as in row 2",
        ),
        ("worker,kind,value\na,range,\n", "column 'low': missing: the kind 'range' needs it, as in row 1"),
        ("worker,value\na,1\n", "column 'kind': missing: side information needs it"),
        (
            "worker,kind,value,confidance\na,known,1,2\n",
            r"'confidance': .*no such column.\nHint: Did you mean 'confidence'",
        ),
        ("worker,kind,value\n", "no rows"),
    ],
)
def test_mistakes_are_named(tmp_path, text, words):
    with pytest.raises(cr.InputError, match=words) as caught:
        side(text, tmp_path / "side.csv")
    assert "side.csv" in str(caught.value)


def test_no_frame():
    with pytest.raises(cr.InputError, match="Rows of side information are read from a path"):
        SideInfo.read(3)


HEAD = "worker,kind,value,low,high,than,confidence\n"


class TestContradictions:
    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ("a,known,1\na,known,2", r"rows 1 and 2 .*'a' cannot be 2 \(row 2\) and 1 \(row 1\)"),
            ("a,known,1\na,range,,2", r"rows 1 and 2 .*'a' cannot be at least 2 \(row 2\) and 1 \(row 1\)"),
            ("a,range,,,1\na,range,,2", r"'a' cannot be at least 2 \(row 2\) and at most 1 \(row 1\)"),
            (
                "a,order,,,,b\na,range,,,1\nb,range,,2",
                "rows 1, 2 and 3 .*'a' >= 'b' .*'b' is at least 2 .*'a' is at most 1",
            ),
            (
                "a,order,,,,b\nc,known,2\nb,order,,,,c\na,known,1",
                "rows 1, 2, 3 and 4 .*'a' >= 'b' >= 'c' by the orders",
            ),
            ("a,order,,,,*\nb,known,2\na,known,1", "rows 1, 2 and 3 .*'a' >= 'b' by the orders"),
            ("a,order,,,,*\nb,order,,,,*\nb,known,2\na,known,1", "rows .*'a' >= 'b' by the orders"),
            ("a,order,,,,b\nb,order,,,,a\nb,known,1\na,known,2", "rows 2, 3 and 4 .*'b' >= 'a'"),
        ],
    )
    def test_name_workers_and_rows(self, tmp_path, rows, words):
        lines = [line + "," * (6 - line.count(",")) for line in rows.split("\n")]
        with pytest.raises(cr.InputError, match=words) as caught:
            side(HEAD + "\n".join(lines) + "\n", tmp_path / "side.csv")
        assert str(caught.value).startswith(str(tmp_path / "side.csv"))

    @pytest.mark.parametrize(
        "rows",
        [
            "a,known,1,,,,\na,known,1,,,,",
            "a,known,1,,,,\na,known,2,,,,5",
            "a,range,,1,2,,\na,known,2,,,,",
            "a,order,,,,b,\nb,order,,,,a,\na,known,1,,,,",
            "a,order,,,,*,\nb,order,,,,*,\na,known,1,,,,",
            "a,order,,,,b,3\na,range,,,1,,\nb,range,,2,,,",
        ],
    )
    def test_what_can_hold_is_accepted(self, rows):
        assert side(HEAD + rows + "\n").frame.height > 0

    def test_against_all_orders_of_a_grid(self):
        """Random bounds and orders on four workers: an error exactly if no grid of thetas meets them."""
        rng = np.random.default_rng(0)
        grid = np.stack(np.meshgrid(*[np.arange(4)] * 4), -1).reshape(-1, 4)
        refused = 0
        for _ in range(150):
            low, pairs = (
                rng.integers(0, 4, (2, 2)),
                rng.permutation(list(permutations(range(4), 2)))[: rng.integers(1, 5)],
            )
            rows = [(w, "range", float(v), None, None) for w, v in enumerate(low[0])]
            rows += [(w, "range", None, float(v), None) for w, v in enumerate(low[1], 2)]
            rows += [(a, "order", None, None, str(b)) for a, b in pairs]
            frame = pl.DataFrame(rows, ["worker", "kind", "low", "high", "than"], orient="row")
            frame = frame.with_columns(pl.col("worker").cast(pl.String)).with_row_index("row", 1)
            met = (grid[:, :2] >= low[0]).all(1) & (grid[:, 2:] <= low[1]).all(1)
            met &= np.all([grid[:, a] >= grid[:, b] for a, b in pairs], axis=0)
            try:
                refuse_contradictions(frame, "frame")
                assert met.any()
            except cr.InputError:
                refused += 1
                assert not met.any()
        assert 20 < refused < 130


class TestBinding:
    def test_bounds_pass_along_orders(self):
        found = side("worker,kind,low,high,than\na,order,,,b\nb,order,,,c\na,range,,3,\nc,range,1,,\n").bind(ABC)
        assert found.low.tolist() == [1, 1, 1]
        assert found.high.tolist() == [3, 3, 3]
        assert edges(found.orders) == [(0, 1), (1, 2)]
        assert found.group.tolist() == [0, 1, 2]

    def test_a_cycle_is_one_group(self):
        info = side("worker,kind,value,than\nc,order,,a\na,order,,c\nb,order,,a\nc,known,2,\n")
        found = info.bind(ABC)
        assert found.group.tolist() == [0, 1, 0]
        assert found.low.tolist() == [2, 2]
        assert [part.tolist() for part in found.fixed] == [[0, 2], [2, 2]]
        assert edges(found.orders) == []  # the bounds imply them

    def test_all_others(self):
        assert edges(side("worker,kind,than\nb,order,*\n").bind(ABC).orders) == [(1, 0), (1, 2)]
        both = side("worker,kind,than\nb,order,*\na,order,*\n").bind(ABC)
        assert both.group.tolist() == [0, 0, 1]
        assert edges(both.orders) == [(0, 1)]

    def test_all_others_softly(self):
        found = side("worker,kind,than,confidence\nb,order,*,5\n").bind(ABC)
        assert edges(found.soft) == [(1, 0), (1, 2)]
        assert found.confidence.tolist() == [5, 5]
        assert len(found.orders) == 0

    def test_workers_who_judged_nothing(self):
        text = "worker,kind,high,than\na,order,,x\nx,order,,y\ny,order,,b\nx,range,2,\nz,range,0,\nu,order,,*\n"
        found = side(text).bind(ABC)
        assert edges(found.orders) == [(0, 1)]
        assert found.high.tolist() == [np.inf, 2, np.inf]
        assert [note.message for note in found.notes] == [
            "4 of 6 workers in the side information judged nothing: 'x', 'y', 'z' and 1 more."
        ]

    def test_an_order_of_a_stranger_above_all(self):
        found = side("worker,kind,high,than\nx,order,,*\nx,range,1,\n").bind(ABC)
        assert found.high.tolist() == [1, 1, 1]
        assert len(found.orders) == 0

    def test_soft_rows(self):
        text = (
            "a,known,2,,,,3\nb,range,,-1,1,,4\nb,range,,,5,,6\nc,order,,,,a,7\nc,range,,0,,,0\n"
            "x,range,,0,,,8\nc,order,,,,x,9\n"
        )
        found = side(HEAD + text).bind(ABC)
        rows = zip(found.soft.above, found.soft.below, found.soft.offset, found.confidence, strict=True)
        assert sorted(rows) == [
            (-1, 0, -2, 3),
            (-1, 1, -5, 6),
            (-1, 1, -1, 4),
            (0, -1, 2, 3),
            (1, -1, -1, 4),
            (2, 0, 0, 7),
        ]
        assert np.isinf(found.low).all()

    def test_a_soft_row_on_the_equal_of_a_worker_counts(self):
        found = side(HEAD + "a,order,,,,x,\nx,order,,,,a,\nx,range,,,1,,2\na,order,,,,x,3\n").bind(ABC)
        assert edges(found.soft) == [(-1, 0)]

    def test_other_workers_other_codes(self):
        """Any order of the workers gives the same demands by name."""
        text = HEAD + "a,order,,,,b,\nb,order,,,,a,\nc,order,,,,d,\nd,range,,,1,,\nb,known,2,,,,3\n"
        wanted = None
        for order in permutations("abcd"):
            found = side(text).bind(pl.Series(order))
            name = {
                group: min(w for w, own in zip(order, found.group, strict=True) if own == group)
                for group in range(3)
            }
            named = {
                "orders": [(name[a], name[b]) for a, b in edges(found.orders)],
                "bounds": sorted((name[g], found.low[g], found.high[g]) for g in range(3)),
                "soft": sorted((name.get(a, ""), name.get(b, "")) for a, b in edges(found.soft)),
            }
            wanted = wanted or named
            assert named == wanted
