"""Reading: every layout, every form, and every mistake named to the cell."""

import gzip
import io

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import LEFT, RIGHT, TIE, Pairs, Rankings, Ratings, parse_mapping
from helpers import random_votes

PAIRS = "worker,left,right,label\nx,a,b,a\ny,b,c,c\nx,c,a,tie\n"


@pytest.fixture
def file(tmp_path):
    def write(content, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def votes(table):
    """(worker, left, right, outcome) of each row, by their ids."""
    items, workers = table.index.items, table.index.workers
    names = [None] * table.rows if workers is None else [workers[int(k)] for k in table.worker]
    return [
        (name, items[int(i)], items[int(j)], int(o))
        for name, i, j, o in zip(names, table.left, table.right, table.outcome, strict=True)
    ]


EXPECTED = [("x", "a", "b", LEFT), ("y", "b", "c", RIGHT), ("x", "c", "a", TIE)]


class TestLayouts:
    def test_left_right_label(self, file):
        assert votes(cr.read(file(PAIRS))) == EXPECTED

    def test_left_right_winner(self, file):
        table = cr.read(file("worker,left,right,winner\nx,a,b,left\ny,b,c,right\nx,c,a,tie\n"))
        assert votes(table) == EXPECTED
        assert table.sided

    def test_winner_loser(self, file):
        table = cr.read(file("worker,winner,loser\nx,a,b\ny,c,b\n"))
        assert votes(table) == [("x", "a", "b", LEFT), ("y", "c", "b", LEFT)]
        assert not table.sided

    @pytest.mark.parametrize("word", ["tie", "both_bad", "tie (bothbad)", "Tie", "tie (inconsistent)"])
    def test_arena(self, file, word):
        text = f"judge,model_a,model_b,winner\nx,a,b,model_a\ny,b,c,model_b\nx,c,a,{word}\n"
        assert votes(cr.read(file(text))) == EXPECTED

    def test_ties_of_a_special_sort_are_said(self, file):
        rows = ["both_bad", "tie (bothbad)", "tie", "tie (inconsistent)", "model_a"]
        text = "judge,model_a,model_b,winner\n" + "".join(f"x,a,b,{word}\n" for word in rows)
        assert [(note.code, note.message.partition(": ")[2]) for note in cr.read(file(text)).notes] == [
            ("both-bad", "2 rows say that both were bad; they count as ties."),
            ("inconsistent", "1 row says that the answer changed with the order; it counts as a tie."),
        ]

    def test_several_items_in_one_cell_share_the_rank(self, file):
        text = 'worker,systems,rank\nx,"a, b",2\nx,c,1\n'
        table = cr.read(file(text), columns="items=systems")
        assert [table.index.items[int(code)] for code in table.item] == ["a", "b", "c"]
        assert table.rank.tolist() == [2, 2, 1]

    def test_the_row_of_a_mistake_is_the_file_s_where_rows_were_split(self, file):
        text = 'worker,systems,rank\nx,"a,b,c,d",2\nx,e,one\n'
        with pytest.raises(cr.InputError, match=r"row 2, column 'rank'.*Got 'one'"):
            cr.read(file(text), columns="items=systems")

    def test_the_row_of_a_mistake_is_the_file_s_in_a_wide_table(self, file):
        with pytest.raises(cr.InputError, match=r"row 2.*Got 'x'"):
            cr.read(file("worker,P1,P2,P3\nw,1,2,3\nv,1,2,x\n"), columns="rank=P*")

    def test_top_and_bottom_item(self, file):
        table = cr.read(file(",assessor,bottom_item,top_item\n1,x,b,a\n"))
        assert votes(table) == [("x", "a", "b", LEFT)]

    def test_ratings(self, file):
        table = cr.read(file("item,worker,label\na,x,5\nb,x,2.5\n"))
        assert isinstance(table, Ratings)
        assert table.label.tolist() == [5, 2.5]

    def test_rankings(self, file):
        table = cr.read(file("worker,item,rank\nx,a,1\nx,b,2\ny,a,1\ny,b,\n"))
        assert isinstance(table, Rankings)
        assert table.rows == 3  # an item without a rank is not ranked
        assert table.lists == 2

    def test_case_of_names_does_not_matter(self, file):
        assert votes(cr.read(file("Worker,Left,Right,Label\nx,a,b,a\n"))) == EXPECTED[:1]

    def test_names_of_ones_own(self, file):
        table = cr.read(
            file("who,a,b,choice,query\nx,a,b,a\n"),
            columns={"worker": "who", "left": "a", "right": "b", "winner": "choice", "query": ""},
        )
        assert votes(table) == EXPECTED[:1]
        assert table.query is None

    def test_a_mapping_settles_which_kind_is_meant(self, file):
        path = file("worker,item,rank,label\nx,a,1,7\nx,b,2,5\n")
        with pytest.raises(cr.InputError, match="more than one kind"):
            cr.read(path)
        assert isinstance(cr.read(path, columns={"rank": "rank"}), Rankings)
        assert isinstance(cr.read(path, columns={"label": "label"}), Ratings)

    def test_an_item_may_have_the_name_of_a_side(self, file):
        """A label is an id; a winner that is an id and a word for the other side is an error."""
        assert votes(cr.read(file("left,right,label\nright,left,left\n")))[0][3] == RIGHT
        assert votes(cr.read(file("left,right,winner\na,b,a\n")))[0][3] == LEFT
        with pytest.raises(cr.InputError, match="row 2, column 'winner': the outcome is the id of one item and"):
            cr.read(file("left,right,winner\na,b,a\nb,a,a\n"))

    def test_a_winner_may_be_an_id(self, file):
        assert votes(cr.read(file("left,right,winner\nx1,x2,x2\n")))[0][3] == RIGHT


class TestForms:
    def test_ids_are_text(self, file):
        table = cr.read(file("winner,loser\n01,1\n"))
        assert table.index.items.to_list() == ["01", "1"]

    @pytest.mark.parametrize("separator", [",", "\t", ";"])
    def test_separators(self, file, separator):
        assert votes(cr.read(file(PAIRS.replace(",", separator), "votes.txt"))) == EXPECTED

    def test_windows_lines_and_a_byte_order_mark(self, file):
        assert votes(cr.read(file(b"\xef\xbb\xbf" + PAIRS.replace("\n", "\r\n").encode()))) == EXPECTED

    def test_quotes(self, file):
        table = cr.read(file('winner,loser\n"a, the first","b\nsecond"\n'))
        assert table.index.items.to_list() == ["a, the first", "b\nsecond"]

    def test_json_lines(self, file):
        frame = pl.read_csv(io.StringIO(PAIRS))
        assert votes(cr.read(file(frame.write_ndjson().encode(), "votes.jsonl"))) == EXPECTED

    def test_json_numbers_are_text(self, file):
        table = cr.read(file('{"winner": 1, "loser": 2}\n', "votes.jsonl"))
        assert table.index.items.to_list() == ["1", "2"]

    def test_parquet(self, tmp_path):
        path = tmp_path / "votes.parquet"
        pl.read_csv(io.StringIO(PAIRS)).write_parquet(path)
        assert votes(cr.read(path)) == EXPECTED

    @pytest.mark.parametrize("name", ["votes.csv.gz", "votes"])
    def test_gzip_is_told_by_its_content(self, file, name):
        assert votes(cr.read(file(gzip.compress(PAIRS.encode()), name))) == EXPECTED

    def test_several_files_are_one_table(self, file):
        one, two = (
            file("worker,winner,loser\nx,a,b\n", "1.csv"),
            file("winner,loser,worker\nc,b,y\n", "2.csv"),
        )
        table = cr.read([one, two])
        assert votes(table) == [("x", "a", "b", LEFT), ("y", "c", "b", LEFT)]

    def test_weights_in_one_file_only(self, file):
        one, two = file("winner,loser,weight\na,b,2\n", "1.csv"), file("winner,loser\nc,b\n", "2.csv")
        assert cr.read([one, two]).weight.tolist() == [2.0, 1.0]
        assert cr.read([two, one]).weight.tolist() == [1.0, 2.0]

    def test_frames(self):
        frame = pl.read_csv(io.StringIO(PAIRS))
        for given in (frame, frame.lazy(), frame.to_pandas(), frame.to_arrow()):
            assert votes(cr.read(given)) == EXPECTED

    def test_queries_weights_and_timestamps(self, file):
        table = cr.read(file("query,winner,loser,weight,timestamp\nq,a,b,2,2024-01-01T00:00:01\np,b,a,0.5,7\n"))
        assert table.index.queries.to_list() == ["p", "q"]
        assert table.query.tolist() == [1, 0]
        assert table.weight.tolist() == [2.0, 0.5]
        assert table.timestamp.tolist() == [1704067201.0, 7.0]

    def test_trec_run(self, file):
        table = cr.read(file("1 Q0 d1 1 9.5 sys\n1 Q0 d2 2 3.5 sys\n"))
        assert isinstance(table, Rankings)
        assert table.index.workers.to_list() == ["sys"]


class TestHandled:
    def test_a_missing_outcome_is_left_out_and_said(self, file):
        table = cr.read(file("left,right,winner\na,b,left\na,b,\nb,a,#N/A\n"), allow_dropped=True)
        assert table.rows == 1
        assert [(note.code, "2 rows" in note.message) for note in table.notes] == [("no-outcome", True)]

    def test_blank_lines_are_skipped(self, file):
        assert cr.read(file("worker,winner,loser\nx,a,b\n\ny,b,a\n\n\n")).rows == 2

    def test_whole_floats_are_ids_without_a_point(self):
        import pandas as pd

        frame = pd.DataFrame({"left": [1, 2], "right": [2, 3], "label": [1.0, 3.0]})
        assert cr.read(frame).outcome.tolist() == [LEFT, RIGHT]
        assert cr.read(pd.DataFrame({"winner": [1.0, 2.5], "loser": [2.0, 1.0]})).index.items.to_list() == [
            "1",
            "2",
            "2.5",
        ]

    def test_an_item_compared_with_itself_is_left_out_and_said(self, file):
        table = cr.read(file("worker,winner,loser\nx,a,b\nx,a,a\n"), allow_dropped=True)
        assert table.rows == 1
        assert [note.code for note in table.notes] == ["self-pairs"]

    @pytest.mark.parametrize("missing", ["", "#N/A"])
    def test_a_missing_worker_is_kept_and_said(self, file, missing):
        table = cr.read(file(f"worker,winner,loser\nx,a,b\n{missing},b,a\n"))
        assert table.rows == 2
        assert table.index.workers.to_list() == ["(unknown)", "x"]
        assert [note.code for note in table.notes] == ["unknown-workers"]


class TestMistakes:
    """Each is named by file, row, column and value, with a hint where there is one."""

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("", ["the file is empty"]),
            ("\n\n", ["the file is empty"]),
            ("\ufeff", ["the file is empty"]),
            ("\ufeff\n", ["the file is empty"]),
            ("worker,items,right,label\nw,a,b,a\nw,b,c,c\nv,c,a,tie\n", ["'items' and 'right' are the items"]),
            ("worker,winner,loser\n", ["there are no rows"]),
            ("worker,left,right\nx,a,b\n", ["column 'label'", "missing", 'columns="label=NAME"']),
            ("a,b,c\n1,2,3\n", ["not judgments", "'a', 'b', 'c'", "columns="]),
            ("left,right,label\na,b,a\na,b,c\n", ["row 2, column 'label'", "tie, 'a', 'b'. Got 'c'"]),
            ("left,right,label\na,b,\n", ["no usable rows", "1 row has no outcome"]),
            ("left,right,winner\na,b,perhaps\n", ["row 1, column 'winner'", "of left, right, tie", "'perhaps'"]),
            ("winner,loser\na,b\n,b\n", ["row 2", "column 'winner'", "missing"]),
            ("winner,loser\na,tie\n", ["row 1", "column 'loser'", "cannot be an item"]),
            ("winner,loser,weight\na,b,1\na,b,NaN\n", ["row 2", "column 'weight'", "Got 'NaN'"]),
            ("winner,loser,weight\na,b,-2\n", ["row 1", "column 'weight'", "Got '-2'"]),
            ("winner,loser,weight\na,b,much\n", ["row 1", "column 'weight'", "Got 'much'"]),
            ("winner,loser,weight\na,b,\n", ["row 1", "column 'weight'", "The cell is empty"]),
            ("winner,loser,timestamp\na,b,noon\n", ["row 1", "column 'timestamp'", "Got 'noon'"]),
            ("query,winner,loser\nq,a,b\n,a,b\n", ["row 2", "column 'query'"]),
            ("item,label\na,1\nb,good\n", ["row 2", "column 'label'", "a number is needed", "Got 'good'"]),
            ("item,label\na,inf\n", ["row 1", "column 'label'", "Got 'inf'"]),
            ("worker,item,rank\nx,a,1\nx,b,2\nx,a,3\n", ["row 3, column 'item'", "ranked twice", "'a'"]),
            ("left,right,label,item,rank\na,b,a,a,1\n", ["more than one kind"]),
            ("winner,loser\na,b\na,b,c,d\n", ["row 2", "4 fields; the header has 2"]),
            (b"winner,loser\na,b\n\xff\xfe,b\n", ["row 2", "not UTF-8"]),
            (gzip.compress(PAIRS.encode() * 500)[:-20], ["gzip data is damaged or cut off"]),
            ('{"winner": [1, 2], "loser": "b"}\n', ["column 'winner'", "lists or objects"]),
            ('{"winner": "a"\n', ["row 1", "not a JSON object"]),
            ("1 Q0 d1 1 9.5 s\n1 Q0 d2\n", ["row 2", "3 fields; the first line has 6"]),
            ("PAR1 but no more", ["damaged or cut off"]),
            ("winner,loser\na,b\n".encode("utf-16-le"), ["UTF-16"]),
            ("worker,left,right,label,Label\nx,a,b,a,b\n", ["column 'label'", "two columns with this name"]),
            ("worker,left,right,label,label\nx,a,b,a,b\n", ["column 'label'", "two columns with this name"]),
            ("winner,loser,weight\na,b,1e300\n", ["row 1, column 'weight'", "from 0 to 1e+12"]),
            ("winner,loser\na,b\n\na,\n", ["row 3, column 'loser'"]),
        ],
    )  # fmt: skip
    def test_is_named(self, file, content, words):
        path = file(content)
        with pytest.raises(cr.InputError) as caught:
            cr.read(path)
        message = str(caught.value)
        assert str(path) in message
        for word in words:
            assert word in message

    def test_no_such_file(self, tmp_path):
        with pytest.raises(cr.InputError, match="no such file"):
            cr.read(tmp_path / "nothing.csv")

    def test_a_folder(self, tmp_path):
        with pytest.raises(cr.InputError, match="is a folder"):
            cr.read(tmp_path)

    def test_a_mapped_column_that_is_not_there(self, file):
        with pytest.raises(cr.InputError, match="no column 'who', which was given for 'worker'"):
            cr.read(file(PAIRS), columns={"worker": "who"})

    def test_a_role_that_is_not_there(self, file):
        with pytest.raises(cr.UsageError, match="no column role 'person'"):
            cr.read(file(PAIRS), columns={"person": "worker"})

    def test_a_mapping_that_is_none(self):
        with pytest.raises(cr.UsageError, match="role=name"):
            parse_mapping("worker")

    def test_two_kinds_in_two_files(self, file):
        one, two = file("winner,loser\na,b\n", "1.csv"), file("item,label\na,3\n", "2.csv")
        with pytest.raises(cr.InputError, match=r"2\.csv: holds ratings, but .*1\.csv holds pairs"):
            cr.read([one, two])

    def test_a_column_in_one_file_only(self, file):
        one, two = file("worker,winner,loser\nx,a,b\n", "1.csv"), file("winner,loser\na,b\n", "2.csv")
        with pytest.raises(cr.InputError, match=r"2\.csv, column 'worker': is missing"):
            cr.read([one, two])

    def test_a_pandas_column_of_mixed_types(self):
        import pandas as pd

        frame = pd.DataFrame({"winner": pd.Series([1, "x"], dtype=object), "loser": ["b", "c"]})
        assert set(cr.read(frame).index.items) == {"1", "x", "b", "c"}
        with pytest.raises(cr.InputError, match="not plain values"):
            cr.read(pd.DataFrame({"winner": [{"a"}, 1], "loser": ["b", "c"]}))

    def test_two_pandas_columns_of_one_name(self):
        import pandas as pd

        with pytest.raises(cr.InputError, match="two columns with the same name"):
            cr.read(pd.DataFrame([["a", "b", "c"]], columns=["winner", "loser", "loser"]))

    def test_something_else_altogether(self):
        with pytest.raises(cr.InputError, match="a path or a frame"):
            cr.read(42)


class TestDamage:
    """What a file says that was cut off or garbled on its way."""

    def test_parquet(self, tmp_path):
        path = tmp_path / "votes.parquet"
        random_votes().write_parquet(path)
        path.write_bytes(path.read_bytes()[:300])
        with pytest.raises(cr.InputError, match=r"votes.parquet: the Parquet file is damaged or cut off"):
            cr.read(path)

    @pytest.mark.parametrize("line", ['{"worker":"w","left":"a"', "[1]", "nonsense"])
    def test_json_lines(self, file, line):
        good = '{"worker":"w","left":"a","right":"b","winner":"left"}\n'
        with pytest.raises(cr.InputError, match=r"row 3: is not a JSON object. Got "):
            cr.read(file(f"{good}{good}{line}\n"))

    def test_a_quote_that_is_not_closed(self, file):
        rows = "w,a,b,a\n" * 40_000
        with pytest.raises(cr.InputError, match=r"row 3: has a quote that is not closed"):
            cr.read(file(f'worker,left,right,label\nw,a,b,a\nw,a,b,a\nw,"a,b,a\n{rows}'))

    def test_a_timestamp_that_is_no_number(self, file):
        with pytest.raises(cr.InputError, match=r"row 1, column 'timestamp'.*Got 'nan'"):
            cr.read(file("winner,loser,timestamp\na,b,nan\n"))

    def test_a_list_of_items_in_json(self, file):
        table = cr.read(file('{"worker":"w","items":["a","b"],"rank":1}\n{"worker":"w","items":["c"],"rank":2}\n'))
        assert table.rows == 3

    def test_one_file_of_self_pairs_among_others(self, tmp_path):
        for name, right in (("a.csv", "x"), ("b.csv", "y")):
            (tmp_path / name).write_text(f"winner,loser\nx,{right}\n")
        files = [tmp_path / "a.csv", tmp_path / "b.csv"]
        with pytest.raises(cr.InputError, match=r"a\.csv: 1 of 1 rows cannot be used"):
            cr.read(files)
        table = cr.read(files, allow_dropped=True)
        assert table.rows == 1
        assert "a.csv: 1 row compares an item with itself" in table.notes[0].message

    def test_an_order_that_does_not_end(self, file):
        with pytest.raises(cr.InputError, match=r"row 2"):
            cr.read(file("1: 1,2\n2: {1,2\n"))


class TestRealFiles:
    @pytest.mark.parametrize(
        ("name", "columns", "kind", "rows", "items"),
        [
            ("readinglevel/pairs.csv", None, Pairs, 12726, 490),
            ("mtbench-human/human.csv", None, Pairs, 3355, 6),
            ("mtbench-human/gpt4_pair.csv", None, Pairs, 2400, 6),
            ("llmfao/crowd-comparisons.csv", None, Pairs, 8931, 59),
            ("potato-beach/sounds.csv", None, Pairs, 1380, 12),
            ("websearch5/labels.csv", None, Ratings, 15567, 2665),
            ("trec2010/labels.csv", None, Ratings, 88385, 19033),
            (
                "wmt16-rankings/rankings_long.csv.gz",
                {"items": "systems", "query": "langpair", "list": "ranking"},
                Rankings,
                196596,
                138,
            ),
        ],
    )
    def test_is_read(self, real, name, columns, kind, rows, items):
        table = cr.read(real / name, columns=columns)
        assert isinstance(table, kind)
        assert table.rows == rows
        assert len(table.index.items) == items


class TestWhatPeopleReallySend:
    def test_files_put_one_after_the_other(self, file):
        with pytest.raises(cr.InputError, match=r"row 2.*the header is repeated here"):
            cr.read(file("worker,winner,loser\nx,a,b\nworker,winner,loser\nx,b,a\n"))

    def test_an_item_that_is_called_like_its_column(self, file):
        assert cr.read(file("worker,winner,loser\nx,winner,b\n")).rows == 1

    def test_a_negative_rank(self, file):
        with pytest.raises(cr.InputError, match=r"row 2, column 'rank': a rank cannot be negative.*'-1'"):
            cr.read(file("worker,item,rank\nx,a,1\nx,b,-1\n"))

    def test_the_line_that_excel_writes_first(self, file):
        assert cr.read(file("sep=;\nworker;winner;loser\nx;a;b\n")).rows == 1

    def test_a_workbook(self, tmp_path):
        path = tmp_path / "votes.xlsx"
        path.write_bytes(b"PK\x03\x04rest")
        with pytest.raises(cr.InputError, match="Excel workbook"):
            cr.read(path)

    def test_a_decimal_comma(self, file):
        with pytest.raises(cr.InputError, match="decimal point"):
            cr.read(file("winner;loser;weight\na;b;0,5\n"))

    def test_a_quote_left_open_in_a_short_file(self, file):
        with pytest.raises(cr.InputError, match=r"row 2: has a quote that is not closed"):
            cr.read(file('worker,left,right,label\nw,a,b,a\nw,"a,b,a\nw,a,b,a\n'))
