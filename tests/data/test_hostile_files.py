"""Files and frames that would end a careless program: each is a clear error, or is read."""

import datetime
import io
import time

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import Anchors, read_gold, read_ranking
from crowdrank.data.io.trial import _TRIALS

DEEP = '{"item": "a", "label": 1}\n{"item": ' + "[" * 100_000 + "]" * 100_000 + ', "label": 2}\n'
LONG = '{"item": "a", "label": 1}\n{"item": "b", "label": ' + "1" * 4500 + "}\n"


def refuse(path, content, words, reader=cr.read):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(cr.InputError, match=words) as caught:
        reader(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name,winner,loser\nx,a,b\nSmith, J,a,b\n", "row 2: has 4 fields; the header has 3. Got 'Smith, J,a,b'"),
        ("winner,loser,note\na,b,x\na,b,x,y\n", "row 2: has 4 fields; the header has 3"),
        (f"winner,loser,{'x' * 140_000}\na,b,c,d\n", "the header has a quote .*, or a field of over 131072"),
        (DEEP, "row 2: is nested too deep"),
        (LONG, "row 2: has a number with too many digits"),
        ("winner,loser,weight\na,b,1\nb,a,1e-170\n", "row 2, column 'weight': .* be 0, or at least 1e-12"),
        ("winner,loser,weight\na,b,1e12\nb,a,1\nb,a,1e-6\n", "row 3, column 'weight': .* no effect .* row 1"),
        ("item,label\na,1\nb,1e200\n", "row 2, column 'label': a label must be 0, or from 1e-50 to 1e.50 in size"),
        ("winner,loser," + ",".join(map(str, range(100_000))) + "\na,b\n", "has 100002 columns; a table may have"),
    ],
)  # fmt: skip
def test_a_file_of_judgments(tmp_path, content, words):
    refuse(tmp_path / "votes.csv", content, words)


def test_weights_are_compared_across_files(tmp_path):
    for name, weight in (("one.csv", "1e12"), ("two.csv", "1e-5")):
        (tmp_path / name).write_text(f"winner,loser,weight\na,b,{weight}\n")
    with pytest.raises(
        cr.InputError, match=r"two.csv, row 1, column 'weight': .* beside that of \S+one.csv, row 1"
    ):
        cr.read([tmp_path / "one.csv", tmp_path / "two.csv"])


def test_a_number_of_a_feature_with_4500_digits(tmp_path):
    refuse(tmp_path / "f.txt", f"1 qid:1 {'1' * 4500}:1\n", "row 1: is not 'number:value'", cr.read_features)


def test_an_order_with_many_spaces_is_refused_at_once(tmp_path):
    began = time.perf_counter()
    refuse(tmp_path / "x.soc", "1: 1,2\n1: 1," + " " * 60 + "{" * 3 + "\n", "row 2: is not 'count: order'")
    assert time.perf_counter() - began < 5


def test_a_first_line_of_60000_digits_is_refused_at_once(tmp_path):
    began = time.perf_counter()
    refuse(tmp_path / "x.csv", "9" * 60_000 + "\nab\n", "these columns are not judgments")
    assert time.perf_counter() - began < 20


@pytest.mark.parametrize("reader", [read_gold, Anchors.read])
def test_blank_lines_are_skipped(tmp_path, reader):
    path = tmp_path / "gold.csv"
    path.write_text("query,item,label\nq,a,1\n\n   \nq,b,2\n,,\n\t\n\n")
    found = reader(path)
    frame = (found.labels if isinstance(found, Anchors) else found).frame
    assert frame.rows() == [("q", "a", 1.0), ("q", "b", 2.0)]
    path.write_text("item,label\n\n\n")
    with pytest.raises(cr.InputError, match="there are no rows"):
        reader(path)


def test_lines_of_spaces_are_blank_in_judgments_too(tmp_path):
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\n  \nb,a\n,\nb,\n")
    with pytest.raises(cr.InputError, match="row 5, column 'loser': the value is missing"):
        cr.read(tmp_path / "votes.csv")
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\n  \nb,a\n,\n")
    assert cr.read(tmp_path / "votes.csv").rows == 2


@pytest.mark.parametrize("memory", [None, 1])
def test_a_query_without_a_usable_row_is_named(tmp_path, memory):
    rows = [f"q{row % 3},a,b,a" for row in range(30)]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["query,left,right,label", *rows, "q1,a,a,a", "q7,a,b,", "q8,b,b,b"]))
    found = [note.message for note in cr.read(path, memory=memory).notes if note.code == "lost-queries"]
    assert found == ["2 queries have no ranking, because every row was left out: 'q7', 'q8'."]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("NaN", "NaN is not JSON: leave it out, or write null"),
        ("-Infinity", "Infinity is not JSON"),
        ("1" + 400 * "0", "has a number with too many digits"),
    ],
)
def test_numbers_that_are_no_json(tmp_path, value, problem):
    row = f'{{"item": "a", "label": {value}}}'
    (tmp_path / "labels.jsonl").write_text(f'{{"item": "b", "label": 1}}\n{row}\n')
    with pytest.raises(cr.InputError, match=f"row 2: -?{problem}"):
        cr.read(tmp_path / "labels.jsonl")
    (tmp_path / "labels.json").write_text(f"[{row}]")
    with pytest.raises(cr.InputError, match=problem):
        cr.read(tmp_path / "labels.json")


ODD = {
    "lists": pl.Series([["a"], ["b"]]),
    "array": pl.Series([["a"], ["b"]], dtype=pl.Array(pl.String, 1)),
    "struct": pl.Series([{"a": 1}, {"a": 2}]),
    "duration": pl.Series([datetime.timedelta(1), datetime.timedelta(2)]),
    "binary": pl.Series([b"\xff", b"\xfe"]),
}


@pytest.mark.parametrize("column", ODD.values(), ids=ODD)
@pytest.mark.parametrize("reader", [read_gold, Anchors.read, read_ranking, cr.read])
def test_columns_without_text(tmp_path, reader, column):
    """As an item an error, in a frame and in a file; in a column that is not used, nothing."""
    value = {read_ranking: "score"}.get(reader, "label")
    good = pl.DataFrame({"item": ["a", "b"], value: [1, 2]})
    bad = good.with_columns(item=column)
    unused = good.with_columns(more=column)
    paths = []
    for name, frame in (("bad", bad), ("unused", unused)):
        paths.append(tmp_path / f"{name}.parquet")
        frame.write_parquet(paths[-1])
    for given in (bad, paths[0]):
        with pytest.raises(cr.InputError, match="column 'item': holds"):
            reader(given)
    for given in (unused, paths[1]):
        reader(given)


def test_a_column_with_the_name_of_our_row_numbers(tmp_path):
    frame = pl.DataFrame({"worker": ["w", "w"], "#row": ["x", "y"], "items": ["a,b", "c"], "rank": [1, 2]})
    assert cr.read(frame).rows == 3
    votes = pl.DataFrame({"winner": ["a"], "loser": ["b"], "#row": ["x"]})
    assert cr.read(votes).rows == cr.read(votes, columns={"worker": "#row"}).rows == 1
    workers = pl.DataFrame({"worker": ["w"], "eta": [0.5], "#row": ["x"]})
    assert Anchors.read(workers).workers == {"w": 0.5}
    with pytest.raises(cr.InputError, match="column '#row': a feature cannot have this name"):
        cr.read_features(pl.DataFrame({"item": ["a"], "#row": [1], "f": [2]}))


def damaged_parquet(flips, names=("item", "label")):
    """A file of ratings with these bits flipped."""
    columns = ([f"i{row % 3}" for row in range(30)], [row % 4 for row in range(30)])
    frame = pl.DataFrame(dict(zip(names, columns, strict=True)))
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="uncompressed", statistics=False)
    data = bytearray(buffer.getvalue())
    for place, bit in flips:
        data[place] ^= 1 << bit
    return bytes(data)


@pytest.mark.parametrize("flip", [(43, 0), (150, 0)])
def test_a_flipped_bit_in_parquet_does_not_end_the_process(tmp_path, flip):
    """Either of these bits makes Polars ask for exabytes, and ends the process that does."""
    path = tmp_path / "ratings.parquet"
    refuse(path, damaged_parquet([flip]), "the Parquet file is damaged or cut off")
    refuse(path, damaged_parquet([flip], ("thin", "stars")), "the Parquet file is damaged or cut off")  # a sample
    path.write_bytes(damaged_parquet([]))
    assert cr.read(path).rows == 30  # the process that tries files was started again


def test_the_process_that_tries_files_waits_for_more(tmp_path):
    path = tmp_path / "ratings.parquet"
    path.write_bytes(damaged_parquet([]))
    cr.read(path)
    first = _TRIALS._process.pid
    cr.read(path)
    assert _TRIALS._process.pid == first


@pytest.mark.parametrize("name", ["*", "^x.*$"])
class TestNamesThatArePatterns:
    """Polars takes such a name for all columns that fit it."""

    def test_of_features(self, tmp_path, name):
        path = tmp_path / "features.csv"
        path.write_text(f"item,{name},y\na,1,1\nb,2,2\n")
        with pytest.raises(cr.InputError, match="cannot have this name"):
            cr.read_features(path)

    def test_of_judgments(self, tmp_path, name):
        path = tmp_path / "votes.csv"
        path.write_text(f"{name},loser,note\na,b,x\nb,c,y\n")
        with pytest.raises(cr.InputError, match="cannot have this name"):
            cr.read(path, columns=f"winner={name}")
        path.write_text(f"winner,loser,{name}\na,b,x\nb,c,y\n")
        assert cr.read(path).rows == 2
