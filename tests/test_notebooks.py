"""The notebooks of the tutorials hold what a run gives."""

import re
import runpy

import nbformat
import pytest

from conftest import ROOT

NOTEBOOKS = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))
SOURCES = NOTEBOOKS["sources"]()
comparable, run_cell = NOTEBOOKS["comparable"], NOTEBOOKS["run_cell"]
TUTORIALS = ("asking/tutorial.md", "guides/lists.md", "guides/llm-arena.md", "guides/search-labels.md",
             "rankers/tutorial.md")  # fmt: skip
MOST_BYTES = 150_000


def _stored(name):
    return nbformat.read(SOURCES[name].with_suffix(".ipynb"), as_version=4)


def _names():
    marks = {name: [pytest.mark.lightgbm] if "trees" in path.read_text() else [] for name, path in SOURCES.items()}
    return [pytest.param(name, marks=own) for name, own in marks.items()]


@pytest.mark.parametrize("name", _names())
def test_a_notebook_holds_what_a_run_gives(name):
    stored = _stored(name)
    nbformat.validate(stored)
    run = NOTEBOOKS["run_notebook"](SOURCES[name])
    assert comparable(stored) == comparable(run), f"run `python docs/notebooks.py {name}`"


@pytest.mark.long
@pytest.mark.parametrize("name", _names())
def test_jupyter_shows_the_same(name, tmp_path):
    from nbclient import NotebookClient

    stored, run = _stored(name), _stored(name)
    options = {"record_timing": False, "coalesce_streams": True}
    NotebookClient(run, resources={"metadata": {"path": tmp_path}}, **options).execute()
    assert comparable(run)["cells"] == comparable(stored)["cells"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_notebook_is_small_and_names_no_place_of_its_writer(name):
    text = SOURCES[name].with_suffix(".ipynb").read_text()
    assert len(text.encode()) < MOST_BYTES
    assert not re.search(r"/(home|tmp|usr|work)/", text)


def test_every_tutorial_and_its_notebook_lead_to_each_other():
    linked = {}
    for page in TUTORIALS:
        link = re.search(r"\]\(\.\./notebooks/(.+)\.ipynb\)", (ROOT / "docs" / page).read_text())
        linked[link[1]] = f"](../{page})"
    assert linked.keys() == SOURCES.keys()
    for name, back in linked.items():
        assert back in _stored(name).cells[0].source


SOURCE = """# %% [markdown]
# # Title
#
# Some *words*.

# %%
number = 2
print("number", number)
number / 3
"""


def test_a_source_becomes_cells_with_their_outputs(tmp_path):
    (tmp_path / "own.py").write_text(SOURCE)
    found = NOTEBOOKS["run_notebook"](tmp_path / "own.py")
    words, code = found.cells
    assert words.source == "# Title\n\nSome *words*."
    assert code.source == 'number = 2\nprint("number", number)\nnumber / 3'
    printed, result = code.outputs
    assert printed.text == "number 2\n"
    assert result.data == {"text/plain": repr(2 / 3)}
    assert (code.execution_count, result.execution_count) == (1, 1)


def test_a_cell_that_fails_is_an_error():
    with pytest.raises(ZeroDivisionError):
        run_cell("1 / 0", {})


@pytest.mark.parametrize(
    ("form", "before", "after", "same"),
    [
        ("image/svg+xml", '<text x="1.25">a 7</text>', '<text x="1.26">a 7</text>', True),
        ("image/svg+xml", '<text x="1">a 7</text>', '<text x="1">a 8</text>', False),
        ("image/svg+xml", '<text x="1">a 7</text>', '<text y="1">a 7</text>', False),
        ("text/html", "<b>0.123</b>", "<b>0.124</b>", False),
        ("text/plain", "<1>", "<2>", False),
    ],
)  # fmt: skip
def test_only_numbers_within_tags_may_differ(form, before, after, same):
    def notebook(value):
        output = nbformat.v4.new_output("display_data", {form: value})
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", id="one", outputs=[output])])

    assert (comparable(notebook(before)) == comparable(notebook(after))) is same
