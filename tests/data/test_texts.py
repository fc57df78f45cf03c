"""Line formats, on small texts and on the real files."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.data import Pairs, Rankings, read_gold

AGG = """\
2 qid:10 1:1 2:NULL 3:7 #docid = D1 inc = 1
0 qid:10 1:2 2:1 3:NULL #docid = D2 inc = 1
1 qid:11 1:NULL 2:1 3:NULL #D1
"""
FEATURES = "1 qid:10 1:0.5 2:1.0 # d7\n0 qid:10 1:0.25 2:0\n"
SOC = """\
# FILE NAME: x.toi
# NUMBER ALTERNATIVES: 4
# ALTERNATIVE NAME 1: ebi (shrimp)
# ALTERNATIVE NAME 2: tuna, raw
# ALTERNATIVE NAME 3: squid
# ALTERNATIVE NAME 4: egg
3: 2,{1,3},4
1: 4
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="data.txt"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def rows(table):
    """(query, worker, item, rank, weight) of each ranked row, by their ids."""
    table = table.take(table.ranked)
    index = table.index

    def names(ids, codes):
        return [None] * table.rows if ids is None else [ids[int(code)] for code in codes]

    weight = [1.0] * table.rows if table.weight is None else table.weight
    columns = (
        names(index.queries, table.query), names(index.workers, table.worker), names(index.items, table.item),
        table.rank, weight,
    )  # fmt: skip
    return sorted(zip(*columns, strict=True), key=str)


class TestLetor:
    def test_ranks_of_systems_are_rankings(self, file):
        assert rows(cr.read(file(AGG))) == sorted(
            [
                ("10", "1", "D1", 1.0, 1.0), ("10", "3", "D1", 7.0, 1.0), ("10", "1", "D2", 2.0, 1.0),
                ("10", "2", "D2", 1.0, 1.0), ("11", "2", "D1", 1.0, 1.0),
            ], key=str,
        )  # fmt: skip

    def test_labels_are_gold(self, file):
        for text, expected in (
            (AGG, [("10", "D1", 2.0), ("10", "D2", 0.0), ("11", "D1", 1.0)]),
            (FEATURES, [("10", "d7", 1.0), ("10", "2", 0.0)]),  # without a comment, the place in the query
        ):
            assert read_gold(file(text)).frame.rows() == expected

    def test_features_are_no_judgments(self, file):
        with pytest.raises(cr.InputError, match=r"row 1, column '1': holds features, not judgments.*Got '0.5'"):
            cr.read(file(FEATURES))

    @pytest.mark.parametrize("value", ["0", "00", "-1", "1.0", "2.5", "null", "", "x"])
    def test_a_rank_is_a_whole_number_from_1_on(self, file, value):
        with pytest.raises(cr.InputError, match=rf"row 3, column '1': holds features.*Got '{value}'"):
            cr.read(file(AGG.replace("1:NULL 2:1", f"1:{value} 2:1")))

    def test_a_note_says_that_it_was_read_as_ranks(self, file):
        path = file(AGG)
        assert cr.read(path).notes == (
            cr.Note("letor-ranks", f"{path}: was read as the ranks that 3 systems gave the items."),
        )

    def test_the_argument_decides_and_not_the_content(self, file):
        path = file("1 qid:1 1:3 2:1 #a\n0 qid:1 1:1 2:2 #b\n")
        assert cr.read(path).kind == "rankings"
        assert read_gold(path).frame.rows() == [("1", "a", 1.0), ("1", "b", 0.0)]
        assert cr.read_features(path).dense().tolist() == [[3, 1], [1, 2]]

    def test_without_queries_there_is_one(self, file):
        path = file("# made by hand\n2 1:1 2:NULL\n\n0 1:2 2:1 # B\n")
        assert cr.read(path).index.queries is None
        assert rows(cr.read(path)) == sorted(
            [(None, "1", "1", 1.0, 1.0), (None, "1", "B", 2.0, 1.0), (None, "2", "B", 1.0, 1.0)], key=str
        )
        assert read_gold(path).frame.rows() == [(None, "1", 2.0), (None, "B", 0.0)]

    def test_rows_without_an_id_are_counted_over_all_files(self, file):
        paths = [file("1 qid:7 1:1\n0 qid:8 1:2\n", "one"), file("2 qid:7 1:3\n", "two")]
        expected = [("7", "1"), ("8", "1"), ("7", "2")]
        assert cr.read_features(paths).ids().rows() == expected
        assert read_gold(paths).frame.select("query", "item").rows() == expected

    @pytest.mark.parametrize(
        ("line", "words"), [("0 1:2", "row 4: is not 'label qid"), ("0 qid:1 x", "row 4: is not 'number")]
    )
    def test_mistakes_are_named(self, file, line, words):
        with pytest.raises(cr.InputError, match=words):
            cr.read(file(AGG + line + "\n"))


class TestPrefLib:
    def test_a_line_is_a_list_with_a_weight(self, file):
        assert rows(cr.read(file(SOC))) == sorted(
            [
                (None, None, "tuna, raw", 1.0, 3.0), (None, None, "ebi (shrimp)", 2.0, 3.0),
                (None, None, "squid", 2.0, 3.0), (None, None, "egg", 3.0, 3.0), (None, None, "egg", 1.0, 1.0),
            ], key=str,
        )  # fmt: skip

    def test_names_that_do_not_tell_apart_are_not_used(self, file):
        table = cr.read(file(SOC.replace("squid", "egg")))
        assert table.index.items.to_list() == ["1", "2", "3", "4"]

    def test_mistakes_are_named(self, file):
        with pytest.raises(cr.InputError, match="row 9: is not 'count: order'"):
            cr.read(file(SOC + "1,2,3\n"))

    @pytest.mark.parametrize(
        ("order", "words"),
        [
            ("2: 4,7", "row 9: the order has an alternative that the header does not declare. Got '7'"),
            ("2: 4,{1,4}", "row 9: the order has an alternative twice. Got '4'"),
        ],
    )
    def test_an_order_has_the_alternatives_of_the_header(self, file, order, words):
        with pytest.raises(cr.InputError, match=words):
            cr.read(file(SOC + order))

    def test_an_alternative_can_be_declared_as_the_hint_says(self, file):
        text = SOC + "2: 4,7"
        with pytest.raises(cr.InputError) as raised:
            cr.read(file(text))
        line = raised.value.hint.partition(": ")[2]
        assert cr.read(file(text.replace("3: 2,", f"{line}\n3: 2,"))).index.items.to_list()[2] == "its name"

    @pytest.mark.parametrize(
        ("was", "now", "words"),
        [
            ("ALTERNATIVES: 4", "ALTERNATIVES: 5", ", row 2: the header says 5 alternatives, but names 4."),
            ("# NUM", "# NUMBER VOTERS: 5\n# NUM", ", row 2: the header says 5 voters, but the orders count 4."),
            ("# NUM", "# NUMBER UNIQUE ORDERS: 3\n# NUM", ", row 2: the header says 3 orders, but there are 2."),
            (
                "squid",
                "egg",
                ": alternatives 3 and 4 have the same name, 'egg', so all items go by their numbers.",
            ),
            (
                "# NUM",
                "# DATA TYPE: toc\n# NUM",
                ": 1 order does not have all 4 alternatives, but the type toc is for complete orders. "
                "Row 9: '1: 4'.",
            ),
        ],
    )
    def test_a_header_that_does_not_fit_is_noted(self, file, was, now, words):
        path = file(SOC.replace(was, now))
        (note,) = cr.read(path).notes
        assert (note.code, note.message) == ("preflib-header", f"{path}{words}")
        assert not cr.read(file(SOC)).notes


class TestWide:
    text = "who,P1,P2,P3\nA,1,2,3\nB,2,1,\n"

    def test_a_column_for_each_item(self, file):
        table = cr.read(file(self.text, "wide.csv"), columns={"worker": "who", "rank": "P*"})
        assert rows(table) == sorted(
            [(None, "A", "P1", 1.0, 1.0), (None, "A", "P2", 2.0, 1.0), (None, "A", "P3", 3.0, 1.0),
             (None, "B", "P1", 2.0, 1.0), (None, "B", "P2", 1.0, 1.0)], key=str,
        )  # fmt: skip

    def test_a_pattern_that_fits_nothing(self, file):
        with pytest.raises(cr.InputError, match="no column fits the pattern"):
            cr.read(file(self.text, "wide.csv"), columns={"rank": "X*"})


class TestRealFiles:
    @pytest.mark.parametrize(
        ("name", "columns", "kind", "count", "items"),
        [
            ("MQ2008-agg/S1.txt.gz", None, Rankings, 24804, 2885),
            ("preflib-mturk/dots_00024-00000001.soc", None, Rankings, 96, 4),
            ("sushi/00014-00000001.soc", None, Rankings, 49260, 10),
            ("sushi/00014-00000002.soi", None, Rankings, 50000, 100),
            ("sushi/00014-00000003.toi", None, Rankings, 50000, 100),
            ("potato-beach/potato_visual.csv", "worker=dim_0,rank=P*", Rankings, 240, 20),
            ("ukpconvarg1/pairs.csv.gz", "left=arg1,right=arg2,winner=answer,query=topic", Pairs, 84445, 1052),
            ("mirex2005-crowd/judgments.csv", "left=doc_a,right=doc_b,winner=answer", Pairs, 2805, 118),
        ],
    )
    def test_is_read(self, real, name, columns, kind, count, items):
        table = cr.read(real / name, columns=columns)
        assert isinstance(table, kind)
        assert (table.rows, len(table.index.items)) == (count, items)
        assert "preflib-header" not in [note.code for note in table.notes]

    def test_labels_of_a_feature_file_are_gold(self, real):
        gold = read_gold(real / "MQ2008" / "S1.txt.gz").frame
        assert set(gold["value"]) == {0.0, 1.0, 2.0}
        assert gold.equals(read_gold(real / "MQ2008-agg" / "S1.txt.gz").frame)

    def test_dots_come_out_in_their_true_order(self, real):
        for path in sorted((real / "preflib-mturk").glob("*.soc")):
            found = cr.BradleyTerry().fit(path).ranking_.polars()["item"].cast(int).to_numpy()
            assert (np.diff(found) > 0).all(), path.name


def test_lists_of_several_files_are_kept_apart(file):
    paths = [file("1: 1,2\n2: 2,1\n", "one.soi"), file("1: 3,4,5\n", "two.soi")]
    assert cr.to_pairs(cr.read(paths)).rows == 1 + 1 + 3
