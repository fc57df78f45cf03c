"""First lines that are no header, or name two columns alike."""

import shlex

import pytest

import crowdrank as cr
from crowdrank.data import read_gold


def refusal(tmp_path, content, name="votes.csv"):
    (tmp_path / name).write_text(content)
    with pytest.raises(cr.InputError) as caught:
        cr.read(tmp_path / name)
    return str(caught.value)


class TestNoHeader:
    @pytest.mark.parametrize(
        "rows",
        [
            "w0,tea,milk,tea\nw1,milk,tea,tea\nw0,milk,cola,tea\nw1,tea,cola,cola\n",
            "tea,milk\nmilk,tea\ntea,cola\ncola,milk\n",
            "7,3,5\n3,7,5\n7,5,5\n",
            "ann,tea,5\nann,milk,3\nbob,tea,4\nbob,milk,5\n",
        ],
    )
    def test_the_first_line_is_a_row(self, tmp_path, rows):
        found = refusal(tmp_path, rows)
        assert "the first line seems to be a row, not the names of the columns: " in found
        assert "_duplicated_" not in found

    @pytest.mark.parametrize(
        "table",
        [
            "voter,1,2,3\nann,1,2,3\nbob,2,1,3\n",  # items are named like their places
            "doc,score\ndoc1,3\ndoc2,4\n",
            "model_x,model_y,pick\na,b,model_x\nb,c,model_y\n",
        ],
    )
    def test_a_header(self, tmp_path, table):
        assert "seems to be a row" not in refusal(tmp_path, table)

    @pytest.mark.parametrize("rows", ["tea,3\nmilk,2\n", "q1,tea,3\nq1,milk,2\n"])
    def test_of_gold(self, tmp_path, rows):
        (tmp_path / "gold.csv").write_text(rows)
        with pytest.raises(cr.InputError, match=r"the first line seems to be a row.*\n.*item,grade"):
            read_gold(tmp_path / "gold.csv")


class TestDoubledNames:
    @pytest.mark.parametrize(
        ("content", "column"),
        [
            ("model_a,model_a,winner\nx,y,x\ny,x,x\n", "model_a"),
            ("doc,doc,choice\na,b,1\nb,a,2\nb,a,2\n", "doc"),
            ("doc,doc\na,b\nb,a\n", "doc"),
            ("winner,winner,loser\na,b,c\n", "winner"),
        ],
    )
    def test_are_named_at_once(self, tmp_path, content, column):
        found = refusal(tmp_path, content)
        assert f"votes.csv, column '{column}': there are two columns with this name." in found
        assert "_duplicated_" not in found

    def test_that_are_not_used_do_not_matter(self, tmp_path):
        (tmp_path / "votes.csv").write_text("winner,loser,note,note\na,b,,\nb,a,,\n")
        assert cr.read(tmp_path / "votes.csv").rows == 2
        found = refusal(tmp_path, "doc1,doc2,pick,note,note\na,b,a,,\nb,a,a,,\n")
        assert "left=doc1,right=doc2,label=pick" in found

    def test_of_gold(self, tmp_path):
        (tmp_path / "gold.csv").write_text("item,grade,grade\na,1,2\n")
        with pytest.raises(cr.InputError, match="column 'grade': there are two columns with this name"):
            read_gold(tmp_path / "gold.csv")


def test_a_quote_that_is_not_closed(tmp_path):
    assert "the header has a quote that is not closed." in refusal(tmp_path, 'doc,"loser\na,b\nb,c\n')


def test_rows_inside_an_object_of_json(tmp_path):
    found = refusal(tmp_path, '{"votes": [{"winner": "a", "loser": "b"}]}', "votes.json")
    assert "votes.json: the rows are inside 'votes'." in found
    assert shlex.quote('."votes"') in found
