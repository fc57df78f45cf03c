"""Features from text, tables and frames; the fast ways against a slow one."""

import gzip
import io
import sys
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sparse

import crowdrank as cr
from crowdrank.data import FeatureFile
from crowdrank.data.io import feature_tables, letor
from crowdrank.data.io.letor_features import _same_features
from crowdrank.data.spool import values

LETOR = """\
2 qid:10 1:0.5 3:1 #docid = D1 inc = 1
0 qid:10 3:2 1:-1.5 # D2 x

1 qid:9 2:4
0 qid:10
"""
TABLE = "item,query,x,grade,y\nb,q2,1,0,\na,q1,-2.5,2,1e30\n"


@pytest.fixture
def file(tmp_path):
    def write(text, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def slow_letor(text):
    """(query, item), label and {feature: value} of each row, word by word."""
    places, rows = {}, []
    for line in text.splitlines():
        body, _, comment = line.partition("#")
        words = body.split()
        if not words:
            continue
        query = words.pop(1)[4:] if len(words) > 1 and words[1].startswith("qid:") else None
        places[query] = places.get(query, 0) + 1
        named = comment.split("docid =")[-1].split()
        pairs = dict(word.split(":") for word in words[1:])
        numbers = {int(key): np.nan if value == "NULL" else float(value) for key, value in pairs.items()}
        rows.append((query, named[0] if named else str(places[query]), float(words[0]), numbers))
    return rows


def check_letor(found, text):
    """Raise unless the features are those of the slow way."""
    rows = slow_letor(text)
    assert found.ids().rows() == [(query, item) for query, item, _, _ in rows]
    assert found.label.tolist() == [label for _, _, label, _ in rows]
    keys = sorted({key for *_, numbers in rows for key in numbers})
    assert found.names == tuple(map(str, keys))
    expected = np.array([[numbers.get(key, 0) for key in keys] for *_, numbers in rows], np.float32)
    np.testing.assert_array_equal(found.dense(), expected)
    assert found.dense().dtype == np.float32


def random_letor(rng, rows, width, *, absent=0.0, shuffled=False, queries=True, comments=("docid = ", " x:y")):
    lines = []
    for row in range(rows):
        keys = [key for key in range(1, width + 1) if rng.random() >= absent]
        if shuffled:
            rng.shuffle(keys)
        words = [str(rng.integers(0, 3)), *([f"qid:{rng.integers(0, 5)}"] if queries else [])]
        words += [f"{key}:{rng.normal():.6g}" for key in keys]
        words += [f"#{comments[0]}D{row}{comments[1]}"] if comments else []
        lines.append(" ".join(words) + "\n")
    return "".join(lines)


class TestLetor:
    def test_rows_that_differ(self, file):
        found = cr.read_features(file(LETOR))
        assert found.ids().rows() == [("10", "D1"), ("10", "D2"), ("9", "1"), ("10", "3")]
        assert found.names == ("1", "2", "3")
        assert found.dense().tolist() == [[0.5, 0, 1], [-1.5, 0, 2], [0, 4, 0], [0, 0, 0]]
        assert found.label.tolist() == [2, 0, 1, 0]
        assert found.index.queries.to_list() == ["10", "9"]
        assert found.query.tolist() == [0, 0, 1, 0]

    @pytest.mark.parametrize("size", [1, 400, letor.CHUNK], ids="chunk={}".format)
    @pytest.mark.parametrize(
        "options",
        [
            {}, {"absent": 0.5}, {"shuffled": True}, {"absent": 0.9, "shuffled": True}, {"queries": False},
            {"comments": None}, {"comments": ("docid = ", "")}, {"comments": (" ", " #second: 1")},
            {"comments": None, "queries": False, "absent": 0.3},
        ],
        ids=str,
    )  # fmt: skip
    def test_as_word_by_word(self, file, monkeypatch, size, options):
        monkeypatch.setattr(letor, "CHUNK", size)
        text = random_letor(np.random.default_rng(0), 60, 12, **options)
        check_letor(cr.read_features(file(text)), text)

    def test_equal_rows_take_the_fast_way_and_others_do_not(self):
        def fast(text):
            return _same_features(next(letor.read_chunks("x", text.encode())))

        text = random_letor(np.random.default_rng(1), 20, 5)
        assert fast(text) is not None
        row = "1 qid:2 1:1 2:2 3:3 4:4 5:5\n"
        assert fast(row * 3) is not None
        for odd in (
            "1 qid:2 1:1 2:2 3:3 4:4\n", "1 qid:2 1:1 2:2 3:3 4:4 5:5 6:6\n", "1 qid:2 1:1 2:2 3:3 5:4 4:5\n",
            "1 2:qid 1:1 2:2 3:3 4:4 5:5\n", "1 qid:2 1 1 2:2 3:3 4:4 5:5\n", "1 qid:2 1:1 2:2 3:3 4:4 5:x\n",
            "1 qid:2 1:1 2:2 3:3 4:4 4:5\n", "\n", "# note\n", "1 qid:2  1:1 2:2 3:3 4:4 5:5\n", "1\n",
            "qid:2 1:1 2:2 3:3 4:4 5:5\n",
        ):  # fmt: skip
            assert fast(row + odd + row) is None, odd

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace("\n", "\r\n"), lambda text: text.replace(" ", "\t"),
            lambda text: text.replace(" ", "  ").replace("\n", " \n "), lambda text: "\ufeff" + text,
            lambda text: text.rstrip("\n"), lambda text: "\n\n# made by hand\n" + text,
            lambda text: text.replace("\n", "\n\n"),
        ],
        ids=["crlf", "tabs", "spaces", "bom", "no newline", "comment first", "blank lines"],
    )  # fmt: skip
    @pytest.mark.parametrize("absent", [0.0, 0.5], ids="absent={}".format)
    def test_spaces_and_lines(self, file, change, absent):
        text = random_letor(np.random.default_rng(2), 20, 6, absent=absent)
        check_letor(cr.read_features(file(change(text))), text)

    def test_gzip_standard_input_and_several_files(self, file, monkeypatch):
        one, two = (random_letor(np.random.default_rng(seed), 20, 6, absent=0.4, comments=None) for seed in (1, 2))
        zipped = file(gzip.compress(one.encode()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(two.encode()))))
        check_letor(cr.read_features([zipped, "-"]), one + two)

    def test_a_value_may_be_missing(self, file):
        text = "1 qid:1 1:NULL 2:nan 3:NaN 4:\n0 qid:1 1:1 2:2 3:3 4:4\n"
        for content in (text, text.replace("NULL", "nan")):
            expected = [[np.nan] * 4, [1, 2, 3, 4]]
            np.testing.assert_array_equal(cr.read_features(file(content)).dense(), expected)

    def test_names_are_numbers_that_occur(self, file):
        found = cr.read_features(file("1 10:1 9:2\n0 700:3 0:4\n"))
        assert found.names == ("0", "9", "10", "700")
        assert found.dense().tolist() == [[0, 2, 1, 0], [4, 0, 0, 3]]
        assert found.query is None
        assert found.index.queries is None
        assert found.ids().rows() == [(None, "1"), (None, "2")]

    def test_a_label_may_be_missing(self, file):
        np.testing.assert_array_equal(cr.read_features(file("nan qid:1 1:1\n+1 qid:1 1:2\n")).label, [np.nan, 1])
        np.testing.assert_array_equal(
            cr.read_features(file("NULL qid:1 1:1\n-1e0 qid:1 1:2\n")).label, [np.nan, -1]
        )

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("x qid:1 1:2", "row 4: the label is not a number. Got 'x'"),
            ("inf qid:1 1:2", "row 4: the label is not a number. Got 'inf'"),
            ("0 1:2", "row 4: is not 'label qid:Q ...', but other rows are. Got '0 1:2'"),
            ("0 qid: 1:2", "row 4: is not 'label qid:Q ...'"),
            ("0 qid:1 1:2 x", "row 4: is not 'number:value'. Got 'x'"),
            ("0 qid:1 1:2 3", "row 4: is not 'number:value'. Got '3'"),
            ("0 qid:1 -1:2", "row 4: is not 'number:value'. Got '-1:2'"),
            ("0 qid:1 a:2", "row 4: is not 'number:value'. Got 'a:2'"),
            ("0 qid:1 1:2:3", "row 4, column '1': a feature is a finite number that float32 can hold"),
            ("0 qid:1 2:1 1:inf", "row 4, column '1': a feature is a finite number .* Got 'inf'"),
            ("0 qid:1 1:-1e39", "row 4, column '1': a feature is a finite number .* Got '-1e39'"),
            ("0 qid:1 1:0x1", "row 4, column '1': a feature is a finite number .* Got '0x1'"),
            ("0 qid:1 1:2 3:1 1:2", "row 4, column '1': the row has this feature twice. Got '1:2'"),
        ],
    )
    @pytest.mark.parametrize("size", [1, letor.CHUNK], ids="chunk={}".format)
    def test_mistakes_are_named(self, file, monkeypatch, line, words, size):
        monkeypatch.setattr(letor, "CHUNK", size)
        path = file(f"1 qid:1 1:2 #a\n\n0 qid:1 1:1e30 #b\n{line}\n0 qid:1 1:1 #c\n")
        if size == 1 and line == "0 1:2":
            words = "some rows have a qid and others have none"  # each row is a chunk
        with pytest.raises(cr.InputError, match=words):
            cr.read_features(path)

    def test_text_that_is_not_utf8(self, file):
        with pytest.raises(cr.InputError, match="row 2: is not UTF-8 text"):
            cr.read_features(file(b"1 qid:1 1:2 #a\n1 qid:1 1:2 #\xff\n"))

    def test_no_rows_and_no_features(self, file):
        with pytest.raises(cr.InputError, match="the file is empty"):
            cr.read_features(file("\n"))
        with pytest.raises(cr.InputError, match="there are no features"):
            cr.read_features(file("1 qid:1\n0 qid:2\n"))

    def test_an_item_twice(self, file):
        text = "".join(f"0 qid:1 1:{row} # d{row % 5}\n" for row in range(12))
        with pytest.raises(
            cr.InputError, match=r"7 rows repeat .*\('1', 'd0'\), \('1', 'd1'\), \('1', 'd2'\), \.\.\."
        ):
            cr.read_features(file(text))

    def test_real_features(self, real):
        found = cr.read_features([real / "MQ2008" / f"S{fold}.txt.gz" for fold in range(1, 6)])
        assert found.summary() == {
            "rows": 15211, "queries": 784, "items": 14384, "features": 46, "storage": "dense"
        }  # fmt: skip
        with gzip.open(real / "MQ2008" / "S2.txt.gz", "rt") as text:
            check_letor(cr.read_features(real / "MQ2008" / "S2.txt.gz"), text.read())


class TestTables:
    def test_a_column_per_feature(self, file):
        frame = pl.read_csv(TABLE.encode())
        parquet = io.BytesIO()
        frame.write_parquet(parquet)
        lines = frame.write_ndjson()
        for given, backend in (
            (file(TABLE, "a.csv"), "polars"), (file(TABLE.replace(",", "\t"), "a.tsv"), "polars"),
            (file("sep=;\n" + TABLE.replace(",", ";"), "b.csv"), "polars"),
            (file(gzip.compress(TABLE.encode()), "a.csv.gz"), "polars"), (file(lines, "a.jsonl"), "polars"),
            (file(parquet.getvalue(), "a.parquet"), "polars"), (frame, "polars"),
            (pd.read_csv(io.StringIO(TABLE)), "pandas"), (pa.table(frame.to_dict(as_series=False)), "pyarrow"),
        ):  # fmt: skip
            found = cr.read_features(given)
            assert found.ids().rows() == [("q2", "b"), ("q1", "a")]
            assert found.names == ("x", "y")
            assert found.label.tolist() == [0, 2]
            assert found.weight is None
            np.testing.assert_array_equal(found.dense(), np.array([[1, np.nan], [-2.5, 1e30]], np.float32))
            assert found.backend.library == backend

    def test_many_batches_keep_their_order(self, file, monkeypatch):
        monkeypatch.setattr(feature_tables, "BATCH_BYTES", 64)
        rng = np.random.default_rng(0)
        frame = pl.DataFrame(rng.normal(size=(500, 3)), schema=["u", "v", "w"])
        frame = frame.with_columns(pl.Series("item", [f"i{row:03d}" for row in rng.permutation(500)]))
        path = file("", "a.csv")
        frame.write_csv(path)
        for given in (path, frame):
            found = cr.read_features(given)
            assert found.ids()["item"].to_list() == frame["item"].to_list()
            np.testing.assert_array_equal(found.dense(), frame.select("u", "v", "w").to_numpy().astype(np.float32))

    def test_words_for_missing_values(self, file):
        text = "item,a,b\nNA,1,NULL\nx,, 2 \ny,NaN,#N/A\n\nz,nan,4\n"
        found = cr.read_features(file(text, "a.csv"))
        nan = np.nan
        np.testing.assert_array_equal(found.dense(), [[1, nan], [nan, 2], [nan, nan], [nan, 4]])
        assert found.ids()["item"].to_list() == ["NA", "x", "y", "z"]

    def test_names_of_columns(self, file):
        path = file("doc,topic,rel,url,x,text a,text b,w\na,1,2,http,3,s,t,1\nb,1,0,http,4,s,t,2\n", "a.csv")
        columns = "item=doc,query=topic,label=rel,weight=w,ignore=url+text*"
        for given in (
            columns,
            {"item": "doc", "query": "topic", "label": "rel", "weight": "w", "ignore": ["url", "text*"]},
        ):
            found = cr.read_features(path, columns=given)
            assert found.names == ("x",)
            assert found.ids().rows() == [("1", "a"), ("1", "b")]
            assert (found.label.tolist(), found.weight.tolist()) == ([2, 0], [1, 2])

    def test_a_role_that_is_absent_is_not_a_feature(self, file):
        found = cr.read_features(file("item,query,label,x\na,1,2,3\nb,2,1,4\n", "a.csv"), columns="query=,label=")
        assert found.names == ("x",)
        assert found.query is found.label is None

    def test_what_could_be_a_label(self, file):
        path = file("item,gold,label,x\na,1,2,3\n", "a.csv")
        with pytest.raises(cr.InputError, match="'label' and 'gold' can both be the label") as caught:
            cr.read_features(path)
        remedy = caught.value.hint[1]
        assert cr.read_features(path, columns=remedy.value).names == ("x",)
        both = cr.read_features(path, columns="label=label")
        assert both.names == ("gold", "x")
        assert [note.code for note in both.notes] == ["label-feature"]

    def test_a_column_without_a_name_is_left_out(self, file):
        found = cr.read_features(file(",item,x\n0,a,3\n1,b,4\n", "a.csv"))
        assert found.names == ("x",)
        assert [note.code for note in found.notes] == ["unnamed-column"]

    def test_a_column_of_text(self, file):
        path = file("item,x,url\na,1,\nb,2,http\n", "a.csv")
        for given in (path, pl.DataFrame({"item": ["a", "b"], "x": [1, 2], "url": [None, "http"]})):
            with pytest.raises(
                cr.InputError, match=r"row 2, column 'url': a number is needed.*Got 'http'"
            ) as caught:
                cr.read_features(given)
            assert cr.read_features(given, columns=caught.value.hint[1].value).names == ("x",)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("item,x\na,1\nb,inf\n", r"row 2, column 'x': a feature is a finite number .* Got 'inf'"),
            ("item,x\na,1\nb,1e39\n", r"row 2, column 'x': a feature is a finite number .* Got '1e39'"),
            ('item,x\na,1\n\nb,"1,5"\n', r"row 3, column 'x': .*Got '1,5'.*\n.*decimal point"),
            ("item,x\na,1\n,2\n", r"row 2, column 'item': the value is missing"),
            ("item,query,x\na,1,1\nb,,2\n", r"row 2, column 'query': the value is missing"),
            ("item,label,x\na,1,1\nb,z,2\n", r"row 2, column 'label': a number is needed here. Got 'z'"),
            ("item,weight,x\na,1,1\nb,-1,2\n", r"row 2, column 'weight': a weight must be .* Got '-1'"),
            ("doc,x\na,1\n", r"column 'item': missing: features need it. The columns are 'doc', 'x'"),
            ("item,label\na,1\n", r"there are no columns of features"),
            ("item,x\n", r"there are no rows"),
            ("item,x,weight\r\n\r", r"there are no rows"),
            ("item,x,x\na,1,2\n", r"column 'x': there are two columns with this name"),
            ("item,x\na,1\nb,2\na,3\n", r"1 row repeats the item of an earlier row: 'a'"),
        ],
    )
    def test_mistakes_are_named(self, file, text, words):
        with pytest.raises(cr.InputError, match=words):
            cr.read_features(file(text, "a.csv"))

    def test_numbers_of_a_frame_that_float32_cannot_hold(self):
        with pytest.raises(cr.InputError, match=r"frame, row 2, column 'x': a feature is a finite .* Got 1e\+39"):
            cr.read_features(pl.DataFrame({"item": ["a", "b"], "x": [1.0, 1e39]}))
        with pytest.raises(
            cr.InputError, match=r"column 'x': a feature is a number; this column has the type Date"
        ):
            cr.read_features(pl.DataFrame({"item": ["a"], "x": [date(2020, 1, 1)]}))

    def test_roles_and_columns_that_do_not_exist(self, file):
        path = file(TABLE, "a.csv")
        with pytest.raises(cr.UsageError, match="no column role 'worker'"):
            cr.read_features(path, columns="worker=x")
        for columns in ("item=z", "ignore=z", "ignore=z*"):
            with pytest.raises(cr.InputError, match=r"there is no column 'z\*?', which was given for"):
                cr.read_features(path, columns=columns)

    def test_several_tables_are_one(self, file):
        one, two = file("item,x,y\na,1,2\n", "1.csv"), file("y,item,x\n4,b,3\n", "2.csv")
        found = cr.read_features([one, two])
        assert found.names == ("x", "y")
        assert found.dense().tolist() == [[1, 2], [3, 4]]
        with pytest.raises(cr.InputError, match=r"3.csv, column 'y': is missing, but .*1.csv has it"):
            cr.read_features([one, file("item,x\nb,1\n", "3.csv")])
        with pytest.raises(cr.InputError, match=r"one is LETOR text, the other a table"):
            cr.read_features([one, file("1 1:2 # b\n")])

    def test_what_is_not_features(self, file):
        with pytest.raises(cr.InputError, match="has no features"):
            cr.read_features(file("q1 Q0 d1 1 0.5 system\n"))
        with pytest.raises(cr.InputError, match="Features are read from a path or a frame"):
            cr.read_features(3)


class TestStorage:
    def test_nearly_all_zero_is_sparse(self, file, monkeypatch):
        monkeypatch.setattr(values, "SPARSE_BYTES", 100)
        monkeypatch.setattr(letor, "CHUNK", 300)
        text = random_letor(np.random.default_rng(0), 60, 40, absent=0.9)
        found = cr.read_features(file(text))
        assert isinstance(found.values, sparse.csr_array)
        assert found.values.has_sorted_indices
        assert found.values.dtype == np.float32
        check_letor(found, text)

    def test_a_sparse_table_is_sparse(self, monkeypatch):
        monkeypatch.setattr(values, "SPARSE_BYTES", 100)
        rows = np.where(np.random.default_rng(0).random((50, 8)) < 0.1, 2.0, 0.0)
        frame = pl.DataFrame(rows).with_columns(pl.Series("item", [str(row) for row in range(50)]))
        found = cr.read_features(frame)
        assert found.summary()["storage"] == "sparse"
        assert (found.dense() == rows).all()

    @pytest.mark.parametrize("absent", [0.0, 0.5, 0.95], ids="absent={}".format)
    def test_what_does_not_fit_goes_to_a_file(self, file, tmp_path, monkeypatch, absent):
        monkeypatch.setattr(letor, "CHUNK", 300)
        text = random_letor(np.random.default_rng(0), 100, 12, absent=absent)
        found = cr.read_features(file(text), memory=2000, spool=tmp_path)
        assert isinstance(found.values, FeatureFile)
        assert found.summary()["storage"] == "file"
        check_letor(found, text)
        folder = found.values.path.parent
        assert sum(path.stat().st_size for path in folder.iterdir()) == 4 * 100 * len(found.names)
        del found
        assert not folder.exists()

    def test_a_table_that_does_not_fit(self, file, tmp_path, monkeypatch):
        monkeypatch.setattr(feature_tables, "BATCH_BYTES", 200)
        rows = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
        frame = pl.DataFrame(rows).with_columns(pl.Series("item", [str(row) for row in range(300)]))
        path = file("", "a.csv")
        frame.write_csv(path)
        found = cr.read_features(path, memory=3000, spool=tmp_path)
        assert isinstance(found.values, FeatureFile)
        np.testing.assert_array_equal(found.dense(), rows)

    def test_a_spool_without_room_is_said_before(self, file, tmp_path, monkeypatch):
        monkeypatch.setattr(values.shutil, "disk_usage", lambda _: type("Disk", (), {"free": 10}))
        with pytest.raises(cr.CrowdrankError, match="does not fit in memory could not be written") as caught:
            cr.read_features(file(random_letor(np.random.default_rng(0), 20, 5)), memory=100, spool=tmp_path)
        assert "spool=DIR" in str(caught.value)

    @pytest.fixture(params=["dense", "sparse", "file"])
    def stored(self, request, file, tmp_path, monkeypatch):
        monkeypatch.setattr(values, "SPARSE_BYTES", 100 if request.param == "sparse" else 10**9)
        text = random_letor(np.random.default_rng(3), 50, 9, absent=0.85)
        found = cr.read_features(file(text), memory=100 if request.param == "file" else None, spool=tmp_path)
        assert found.summary()["storage"] == request.param
        return found

    def test_rows_and_columns_of_each_storage(self, stored):
        whole = stored.dense()
        assert whole.shape == (50, 9)
        rng = np.random.default_rng(0)
        rows, mask = rng.permutation(50)[:20], rng.random(50) < 0.3
        for chosen in (slice(5, 17), slice(40, 90), slice(0, 50, 3), slice(7, 7), rows, mask):
            np.testing.assert_array_equal(stored.dense(chosen), whole[chosen])
        names = ("7", "2", "9")
        columns = [stored.names.index(name) for name in names]
        part = stored.take(rows).select(names).take(np.array([3, 0, 3]))
        assert part.names == names
        np.testing.assert_array_equal(part.dense(), whole[rows[[3, 0, 3]]][:, columns])
        np.testing.assert_array_equal(part.select(("9",)).dense(slice(0, 2)), whole[rows[[3, 0]]][:, columns[2:]])
        assert part.ids().rows() == [stored.ids().row(int(row)) for row in rows[[3, 0, 3]]]
        assert part.label.tolist() == stored.label[rows[[3, 0, 3]]].tolist()

    def test_rows_far_apart_are_read_apart(self, stored, monkeypatch):
        monkeypatch.setattr("crowdrank.data.spool.features.GAP_BYTES", 1)
        rows = np.array([40, 3, 41, 3, 0, 49])
        np.testing.assert_array_equal(stored.dense(rows), stored.dense()[rows])

    def test_names_that_are_missing_or_extra(self, stored):
        with pytest.raises(cr.InputError, match=r"4 of 5 features are missing: 'a', 'b', 'c', \.\.\."):
            stored.select(["1", "a", "b", "c", "d"])
        with pytest.raises(cr.InputError, match="a feature is missing: 'a'"):
            stored.select(["1", "a"])
        assert stored.extra(["1", "3", "4", "5", "6", "8", "9"]) == ("2", "7")


def test_nothing_can_be_written(file):
    found = cr.read_features(file(LETOR))
    for array in (found.values, found.item, found.query, found.label):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert cr.read_features(found) is found


class TestOmittedZeros:
    """LETOR text that leaves out zeros: a feature that no row has is 0, not missing."""

    def test_a_feature_that_no_row_has_is_0(self, tmp_path):
        (tmp_path / "sparse.txt").write_text("1 qid:1 1:5 3:2\n0 qid:1 1:4\n")
        features = cr.read_features(tmp_path / "sparse.txt")
        assert features.omits
        wanted = ("7", "3", "1")
        assert features.absent(wanted) == ("7",)
        np.testing.assert_array_equal(features.select(wanted).dense(), [[0, 2, 5], [0, 0, 4]])

    def test_a_sparse_table_gives_the_same(self, tmp_path):
        (tmp_path / "sparse.txt").write_text("1 qid:1 1:5 3:2\n0 qid:1 1:4\n")
        features = cr.read_features(tmp_path / "sparse.txt")
        stored = replace(features, values=sparse.csr_array(features.dense()))
        np.testing.assert_array_equal(stored.select(("3", "7", "1")).dense(), [[2, 0, 5], [0, 0, 4]])

    def test_so_do_features_in_a_file(self, tmp_path):
        (tmp_path / "sparse.txt").write_text("1 qid:1 1:5 3:2\n0 qid:1 1:4\n")
        features = cr.read_features(tmp_path / "sparse.txt", memory=1)
        assert features.summary()["storage"] == "file"
        np.testing.assert_array_equal(features.select(("3", "7", "1")).dense(), [[2, 0, 5], [0, 0, 4]])

    def test_rows_with_all_features_lack_one(self, tmp_path):
        (tmp_path / "full.txt").write_text("1 qid:1 1:5 3:2\n0 qid:1 1:4 3:0\n")
        features = cr.read_features(tmp_path / "full.txt")
        with pytest.raises(cr.InputError, match="a feature is missing: '7'"):
            features.select(("1", "3", "7"))

    def test_files_with_other_features_leave_out_zeros(self, tmp_path):
        (tmp_path / "one.txt").write_text("1 qid:1 1:5\n")
        (tmp_path / "two.txt").write_text("1 qid:2 3:5\n")
        features = cr.read_features([tmp_path / "one.txt", tmp_path / "two.txt"])
        assert features.omits
        np.testing.assert_array_equal(features.dense(), [[5, 0], [0, 5]])
