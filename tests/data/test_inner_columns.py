"""JSON whose rows hold objects: the values inside are columns, such as ``judge.name``."""

import json

import polars as pl
import pytest

import crowdrank as cr

VOTES = [("ann", "x", "y"), ("bob", "y", "z"), ("ann", "x", "z"), ("bob", "z", "y"), ("ann", "y", "x")]


@pytest.fixture(params=["lines", "array"])
def written(request, tmp_path):
    def write(rows):
        path = tmp_path / "votes.json"
        lines = [json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) if request.param == "lines" else f"[{', '.join(lines)}]")
        return path

    return write


ROWS = {
    "left=model_a,right=model_b,winner=verdict,worker=judge.name": [
        {"judge": {"kind": "llm", "name": worker}, "model_a": a, "model_b": b, "verdict": "AB"[row % 2]}
        for row, (worker, a, b) in enumerate(VOTES)
    ],
    "left=pair.a,right=pair.b,winner=winner,worker=judge": [
        {"judge": worker, "pair": {"a": a, "b": b}, "winner": "AB"[row % 2]}
        for row, (worker, a, b) in enumerate(VOTES)
    ],
    "left=task.pair.a,right=task.pair.b,winner=winner,worker=judge": [
        {"judge": worker, "task": {"pair": {"a": a, "b": b}, "day": 1}, "winner": "AB"[row % 2]}
        for row, (worker, a, b) in enumerate(VOTES)
    ],
    "item=doc.id,label=stars,worker=user.name": [
        {"user": {"name": worker}, "doc": {"id": a}, "stars": 3} for worker, a, _ in VOTES[:4]
    ],
}


@pytest.mark.parametrize("columns", ROWS)
def test_the_hint_names_the_columns_inside_of_objects(written, columns):
    path = written(ROWS[columns])
    with pytest.raises(cr.InputError) as caught:
        cr.read(path)
    assert f'Read it with read(..., columns="{columns}")' in str(caught.value)
    table = cr.read(path, columns=columns)
    assert table.index.workers.to_list() == ["ann", "bob"]
    assert table.index.items.to_list() == ["x", "y", "z"]


def test_numbers_inside_of_objects_are_exact(written):
    large = [2**53, 2**53 + 1]
    rows = [{"pair": {"a": large[row % 2], "b": 1}, "winner": "left"} for row in range(3)]
    table = cr.read(written(rows), columns="left=pair.a,right=pair.b")
    assert table.index.items.to_list() == ["1", *map(str, large)]


def test_an_object_that_says_who_judged_is_noted_if_it_is_not_used(written):
    rows = [{"judge": {"name": worker}, "winner": a, "loser": b} for worker, a, b in VOTES]
    [note] = [note for note in cr.read(written(rows)).notes if note.code == "unused-worker"]
    assert note.wording().endswith('If it says who judged: columns="worker=judge.name"')


def test_an_object_is_no_column(written):
    rows = [{"judge": {"name": worker}, "winner": a, "loser": b} for worker, a, b in VOTES]
    with pytest.raises(cr.InputError, match="there is no column 'judge'") as caught:
        cr.read(written(rows), columns="worker=judge")
    assert "Did you mean 'judge.name'?" in str(caught.value)


def test_a_column_with_the_name_of_an_inner_one_stays(written):
    rows = [{"judge": {"name": "no"}, "judge.name": worker, "winner": a, "loser": b} for worker, a, b in VOTES]
    assert cr.read(written(rows), columns="worker=judge.name").index.workers.to_list() == ["ann", "bob"]


def test_objects_in_frames_stay_as_they_are():
    frame = pl.DataFrame({"judge": [{"name": "ann"}], "winner": ["a"], "loser": ["b"]})
    with pytest.raises(cr.InputError, match="holds lists or objects"):
        cr.read(frame)
