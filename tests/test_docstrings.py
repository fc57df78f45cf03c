"""What the docstrings of the public names promise: an example that runs, and the paper of each model."""

import doctest
import inspect

import pytest

import crowdrank as cr
from crowdrank.models.registry import entries
from crowdrank.rankers.registry import ranker_entries

NEEDED = {"DaskEngine": "distributed", "TrueSkill": "trueskillthroughtime"}
"""Packages that some examples need."""

MARKS = {"DaskEngine": pytest.mark.long, "LambdaMART": pytest.mark.lightgbm, "Trees": pytest.mark.lightgbm}

NAMES = [pytest.param(name, marks=MARKS.get(name, ())) for name in cr.__all__]


def docstring(name):
    return inspect.cleandoc(getattr(cr, name).__doc__)


@pytest.mark.parametrize("name", cr.__all__)
def test_every_public_name_has_an_example(name):
    parts = doctest.DocTestParser().parse(docstring(name))
    examples = [part for part in parts if isinstance(part, doctest.Example)]
    assert any(example.want for example in examples), "there is no example, or it shows nothing"
    assert not str(parts[-1]).strip() or parts[-1] in examples, "the example comes last"


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs_as_it_stands(name, tmp_path, monkeypatch):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(docstring(name), {}, name, None, None)
    said = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=said.append).failed == 0, "".join(said)


@pytest.mark.parametrize("entry", [*entries().values(), *ranker_entries().values()], ids=lambda entry: entry.name)
def test_every_paper_is_named(entry):
    named = [paper for paper in entry.paper.split("; ") if paper != "-"]
    assert [paper for paper in named if paper not in entry.load().__doc__] == []
