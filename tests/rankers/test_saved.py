"""A saved ranker: what is in the folder, and what is said to a damaged one."""

import hashlib
import json

import pytest

from crowdrank.errors import InputError
from crowdrank.rankers.registry import make_ranker
from crowdrank.rankers.saved import load
from rankers.made import labeled_frame, scores_by_id


@pytest.fixture
def folder(tmp_path):
    ranker = make_ranker("listmle").fit(labeled_frame(), validation=0.2)
    ranker.save(tmp_path / "ranker")
    return tmp_path / "ranker"


def edit(folder, change):
    """Change model.json and put its checksum right, as a later version of the program would."""
    path = folder / "model.json"
    header = json.loads(path.read_text())
    change(header)
    del header["sha256"]
    plain = json.dumps(header, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps({**header, "sha256": hashlib.sha256(plain.encode()).hexdigest()}))


def test_the_folder_has_two_files_and_says_what_they_are(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "weights.npz"]
    header = json.loads((folder / "model.json").read_text())
    assert (header["model"], header["scorer"], header["standardize"]) == ("listmle", "linear", "query")
    assert header["features"] == ["f0", "f1", "f2", "f3"]
    assert header["parts"]["weights.npz"] == hashlib.sha256((folder / "weights.npz").read_bytes()).hexdigest()
    assert header["fit"]["details"]["measured"]["queries_of"] == "validation"


def test_two_rankers_of_the_same_data_are_the_same_bytes(folder, tmp_path):
    make_ranker("listmle").fit(labeled_frame(), validation=0.2).save(tmp_path / "again")
    assert (folder / "weights.npz").read_bytes() == (tmp_path / "again" / "weights.npz").read_bytes()


def test_a_loaded_ranker_can_be_saved_again(folder, tmp_path):
    again = load(folder)
    again.save(tmp_path / "again")
    twice = load(tmp_path / "again")
    assert (scores_by_id(twice, labeled_frame()) == scores_by_id(again, labeled_frame())).all()
    assert twice.get_params().keys() == again.get_params().keys()


DAMAGE = {
    "cut part": (
        lambda own: (own / "weights.npz").write_bytes((own / "weights.npz").read_bytes()[:-20]),
        "checksum",
    ),
    "edited part": (
        lambda own: (own / "weights.npz").write_bytes((own / "weights.npz").read_bytes()[:-1] + b"?"),
        r"weights.npz: is cut off or was edited",
    ),
    "no part": (lambda own: (own / "weights.npz").unlink(), r"weights.npz: the file is missing"),
    "cut model.json": (
        lambda own: (own / "model.json").write_text((own / "model.json").read_text()[:200]),
        r"model.json: is damaged or cut off",
    ),
    "edited model.json": (
        lambda own: (own / "model.json").write_text((own / "model.json").read_text().replace('"f0"', '"f9"')),
        r"model.json: was edited or damaged",
    ),
    "no model.json": (lambda own: (own / "model.json").unlink(), "there is no model.json"),
    "newer format": (lambda own: edit(own, lambda header: header.update(format=2)), "has another format. Got 2"),
    "other kind": (
        lambda own: edit(own, lambda header: header.update(kind="x")),
        "does not describe a saved ranker",
    ),
    "unknown model": (
        lambda own: edit(own, lambda header: header.update(model="new")),
        "this version does not have",
    ),
    "other width": (lambda own: edit(own, lambda header: header["features"].pop()), "does not fit to model.json"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_a_clear_error(folder, damage):
    change, message = DAMAGE[damage]
    change(folder)
    with pytest.raises(InputError, match=message):
        load(folder)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(InputError, match="there is no such folder"):
        load(tmp_path / "none")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file, not the folder"):
        load(tmp_path / "file")
