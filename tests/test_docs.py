"""The docs say what is there: commands, models, examples, public names."""

import dataclasses
import inspect
import re
import runpy
import shlex
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from cases import single_models
from conftest import ROOT
from crowdrank.cli import COMMANDS
from crowdrank.data import read_gold
from crowdrank.data.io.checks import COUNTED
from crowdrank.rankers.registry import ranker_entries
from crowdrank.rankers.scorers.linear import Linear
from crowdrank.rankers.scorers.net import Net
from crowdrank.rankers.scorers.trees import Trees
from crowdrank.report.notes import KINDS
from crowdrank.select.policy import SELECTORS
from helpers import random_votes

README = (ROOT / "README.md").read_text()

PAGES = runpy.run_path(str(ROOT / "docs" / "reference.py"))["PAGES"]

CHOOSE = ROOT / "docs" / "guides" / "choose.md"


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_is_what_the_program_says(page):
    assert PAGES[page]() == (ROOT / "docs" / page).read_text(), "run `make reference`"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_explained(name):
    assert f"## crowdrank {name}\n" in (ROOT / "docs" / "commands.md").read_text()


@pytest.mark.parametrize("entry", single_models(), ids=lambda entry: entry.name)
def test_every_model_has_a_page_and_a_row(entry):
    own = entry.load().name  # a variant is told on the page of its model
    page = (ROOT / "docs" / "models" / f"{own}.md").read_text()
    assert page.startswith(f"# {own}\n")
    assert f"`{entry.name}`" in page or entry.name == own
    link = f"[`{entry.name}`](docs/models/{own}.md)"
    row = f"| {link} | {entry.summary} | {entry.workers} | {entry.paper} |"
    assert row in README


@pytest.mark.parametrize("entry", ranker_entries().values(), ids=lambda entry: entry.name)
def test_every_ranker_has_a_page_and_a_row(entry):
    assert (ROOT / "docs" / "rankers" / f"{entry.name}.md").read_text().startswith(f"# {entry.name}\n")
    assert f"| [`{entry.name}`](docs/rankers/{entry.name}.md) | {entry.summary} | {entry.paper} |" in README


@pytest.mark.parametrize("kind", [*(entry.load() for entry in ranker_entries().values()), Linear, Trees, Net])
def test_every_parameter_of_a_ranker_is_explained(kind):
    shared, *sections = re.split(
        r"^## (?=linear|trees|net)", (ROOT / "docs/rankers/scorers.md").read_text(), flags=re.M
    )
    own = ROOT / "docs" / "rankers" / f"{kind.name}.md"
    pages = (
        own.read_text() + shared if own.exists() else next(one for one in sections if one.startswith(kind.name))
    )
    for name, default in kind.parameters().items():
        assert f"| `{name}` |" in pages, name
        row = next(line for line in pages.splitlines() if line.startswith(f"| `{name}` |"))
        if name != "scorer":
            shown = row.split("|")[2].strip().strip("`")
            typed = "null" if default is None else str(default).lower()
            forms = {typed, str(default).replace("(", "[").replace(")", "]")}
            assert shown in {*forms, f"{default:g}" if isinstance(default, float) else ""}, row


@pytest.mark.long
def test_the_tutorial_of_annotators_runs(crowdrank, tmp_path):
    """Every command as it is shown, with the file that the page shows."""
    page = (ROOT / "docs" / "rankers" / "annotators.md").read_text().replace("\\\n", " ")
    known = re.search(r":caption: known.csv\n(.*?)```", page, re.S)[1]
    (tmp_path / "known.csv").write_text(known)
    measured = []
    for line in re.findall(r"^    crowdrank (.*)$", page, re.M):
        ran = crowdrank(*shlex.split(line))
        assert ran.code == 0, ran.err
        if line.startswith("evaluate"):
            measured.append(float(ran.out.split()[1]))
    assert measured[0] > measured[1], "the ranker is better than the plain way"
    workers = pl.read_csv(tmp_path / "ranker" / "workers.csv").sort("worker")
    np.testing.assert_allclose(workers["theta"], [0.5, 0.3, 0.05, -0.1], atol=0.12)
    assert workers["verdict"][3] == "malicious"
    code = re.search(r"```python\n(.*?)```", page, re.S)[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "theta" in done.stdout
    assert "above_next" in done.stdout


@pytest.mark.long
@pytest.mark.lightgbm
def test_the_tutorial_of_expert_queries_runs(crowdrank, tmp_path):
    """Every command as it is shown; the measures are those of the page, in the order of the page."""
    page = (ROOT / "docs" / "rankers" / "expert-queries.md").read_text()
    shown = [*re.findall(r"^\| .* \| (\d+\.\d) \|$", page, re.M), *re.findall(r"DCG@10 is (\d+\.\d)", page)]
    measured = []
    for line in re.findall(r"^    crowdrank (.*)$", page.replace("\\\n", " "), re.M):
        ran = crowdrank(*shlex.split(line))
        assert ran.code == 0, ran.err
        if line.startswith("evaluate"):
            measured.append(float(ran.out.split()[1]))
    np.testing.assert_allclose(measured, [float(value) for value in shown], atol=0.051)
    workers = pl.read_csv(tmp_path / "ranker" / "workers.csv").join(
        pl.read_csv(tmp_path / "shop" / "workers.csv").select("worker", "kind"), on="worker"
    )
    cued, honest = (workers.filter(pl.col("kind") == kind) for kind in ("cue", "honest"))
    assert set(cued["verdict"]) == {"reliable"}
    assert cued["weight"].mean() < honest["weight"].mean()
    assert cued["value_1"].mean() < honest["value_1"].mean()
    code = re.search(r"```python\n(.*?)```", page, re.S)[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "value_1" in done.stdout
    assert "honeypots_right|1" in done.stdout


@pytest.mark.parametrize("row", re.findall(r"^\| .* \| \[.*\) \|$", CHOOSE.read_text(), re.M))
def test_what_was_measured_stands_in_the_table_beside_it(row):
    finding, target = re.fullmatch(r"\| (.*) \| \[.*\]\((.*)\) \|", row).groups()
    figures = re.findall(r"\.\d{2,}|\d+\.\d %", finding)
    assert figures
    table = (CHOOSE.parent / target).read_text()
    assert [figure for figure in figures if figure not in table] == []


def test_the_command_of_the_front_page_runs(crowdrank, tmp_path):
    (tmp_path / "votes.csv").write_text(random_votes(votes=60).write_csv())
    shown = re.findall(r"^    crowdrank (.*)$", (ROOT / "docs" / "index.md").read_text(), re.M)
    assert [crowdrank(*line.split()).code for line in shown] == [0]
    assert (tmp_path / "result" / "report.html").exists()


def test_every_setting_of_the_selection_is_explained():
    page = (ROOT / "docs" / "asking" / "selectors.md").read_text()
    for field in dataclasses.fields(cr.Policy):
        if field.name != "select":
            assert f"`{field.name}`" in page, field.name
    for name in SELECTORS:
        assert f"`{name}`" in page


@pytest.mark.parametrize("name", cr.__all__)
def test_every_public_name_has_a_docstring_of_its_own(name):
    value = getattr(cr, name)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        for method, own in vars(value).items():
            if callable(own) and not method.startswith("_"):
                assert own.__doc__, f"{name}.{method}"


def test_the_flat_names_are_complete():
    assert dir(cr) == sorted([*cr.__all__, "__version__"])
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        cr.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


SOURCES = "".join(path.read_text() for path in ROOT.glob("src/**/*.py"))


CODES = {*re.findall(r'Note\(\s*"([a-z-]+)"', SOURCES), *COUNTED}


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_warning_is_explained(code):
    assert f"`{code}`" in (ROOT / "docs" / "commands.md").read_text()
    assert code in KINDS  # the report says what to do about it


def _shown_commands():
    page = (ROOT / "docs" / "formats.md").read_text().replace("\\\n", " ")
    return re.findall(r"^    crowdrank rank (.*)$", page, re.M)


@pytest.mark.parametrize("shown", _shown_commands(), ids=lambda shown: shown.split()[0])
def test_the_commands_of_the_formats_read_the_real_files(shown, real):
    """The file and its --columns, and the gold; the models have tests of their own."""
    file, *words = shlex.split(shown)
    options = dict(zip(words[::2], words[1::2], strict=True))
    table = cr.read(real / file, columns=options.get("--columns"))
    assert table.rows > 50
    if "--gold" in options:
        gold = read_gold(real / options["--gold"], columns=options.get("--gold-columns"))
        assert set(table.index.items) & set(gold.frame["item"])
