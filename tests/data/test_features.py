"""Features from text, tables and frames."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr

LETOR = "2 qid:10 1:0.5 3:1 #docid = D1 inc = 1\n0 qid:10 3:2 1:-1.5 # D2 x\n1 qid:9 2:4\n"


@pytest.fixture
def file(tmp_path):
    def write(text, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_letor_rows_are_features(file):
    found = cr.read_features(file(LETOR))
    assert found.ids().rows() == [("10", "D1"), ("10", "D2"), ("9", "1")]
    assert found.names == ("1", "2", "3")
    assert found.dense().tolist() == [[0.5, 0, 1], [-1.5, 0, 2], [0, 4, 0]]
    assert found.label.tolist() == [2, 0, 1]
    assert found.index.queries.to_list() == ["10", "9"]
    assert found.query.tolist() == [0, 0, 1]


def test_a_table_has_a_column_per_feature(file):
    text = "item,query,x,grade,y\nb,q2,1,0,\na,q1,-2.5,2,1e30\n"
    for given in (file(text, "a.csv"), pl.read_csv(text.encode())):
        found = cr.read_features(given)
        assert found.ids().rows() == [("q2", "b"), ("q1", "a")]
        assert found.names == ("x", "y")
        assert found.label.tolist() == [0, 2]
        np.testing.assert_array_equal(found.dense(), np.array([[1, np.nan], [-2.5, 1e30]], np.float32))
