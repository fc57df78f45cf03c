"""What README.md and the docs show is what a run gives, and every command in them is understood."""

import re
import runpy
import shlex

import pytest

from conftest import ROOT
from crowdrank.cli.app import load_command
from crowdrank.cli.options import parse_settings
from crowdrank.models.registry import make
from crowdrank.rankers.registry import make_ranker

OUTPUTS = runpy.run_path(str(ROOT / "docs" / "outputs.py"))
PAGES = OUTPUTS["pages"]()
SLOW = ("asking/selectors.md", "rankers/remap.md")
REAL = ("compare.md", "models/crowd-lists.md", "models/trm.md")


def _page(name):
    marks = [pytest.mark.lightgbm] if "lightgbm" in name or name == "rankers/tutorial.md" else []
    return pytest.param(name, marks=[*marks, *([pytest.mark.long] if name in SLOW else [])])


@pytest.mark.parametrize("name", [_page(name) for name in PAGES])
def test_a_page_shows_what_a_run_gives(name):
    text, missing = OUTPUTS["rewrite"](PAGES[name], real=False)
    assert text == PAGES[name].read_text(), f"run `python docs/outputs.py {name}`"
    if missing:
        pytest.skip(f"not installed, so its part of the page was not run: {', '.join(sorted(missing))}")


@pytest.mark.long
@pytest.mark.parametrize("name", REAL)
def test_a_page_on_real_data_shows_what_a_run_gives(name, real):
    text, _ = OUTPUTS["rewrite"](PAGES[name], real=True)
    assert text == PAGES[name].read_text(), f"run `python docs/outputs.py {name}`"


WRONG = """# A page

    $ echo two
    three
    $ crowdrank rank broken.csv
    crowdrank: all is well

```pycon
>>> number = 1
>>> number + 1
3
>>> print("a\\n\\nb")
>>> number / 0
inf

```

```python
print(number)
```

```text
5
```

```{code-block} text
:caption: file.txt
seven
```

```console
$ cat file.txt
$ crowdrank models bt --json | head -c 11
```
"""


def test_a_page_that_differs_is_written_anew(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(WRONG)
    text, missing = OUTPUTS["rewrite"](page, real=False)
    assert missing == set()
    assert "$ echo two\n    two\n" in text
    assert "column 'label': the outcome must be" in text
    assert "all is well" not in text
    assert ">>> number + 1\n2\n" in text
    assert 'print("a\\n\\nb")\na\n<BLANKLINE>\nb\n' in text
    assert "Traceback (most recent call last):\n    ...\nZeroDivisionError: division by zero\n\n```" in text
    assert "```text\n1\n```" in text
    assert "$ cat file.txt\nseven\n" in text
    assert '| head -c 11\n{\n  "model"\n```' in text
    page.write_text(text)
    assert OUTPUTS["rewrite"](page, real=False)[0] == text


def test_a_block_of_python_that_fails_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nimport crowdrank as cr\ncr.no_such_name\n```\n")
    with pytest.raises(AttributeError, match="no_such_name"):
        OUTPUTS["rewrite"](page, real=False)


@pytest.mark.parametrize(
    ("shown", "printed", "real", "expected"),
    [
        ("seconds 0.123 4.56", "seconds 0.123 7.89", False, True),
        ("seconds 0.123 4.56", "seconds 0.124 4.56", False, False),
        ("4.56", "7.89", False, False),
        ("tau 0.1234 of 5", "tau 0.1235 of 5", True, True),
        ("tau 0.1234 of 5", "tau 0.1244 of 5", True, False),
        ("tau 0.1234 of 5", "tau 0.1234 of 6", True, False),
    ],
)
def test_only_seconds_may_differ_and_last_digits_of_real_data(shown, printed, real, expected):
    assert OUTPUTS["alike"](shown, printed, real) is expected


def _commands(prompt=r"(?:\$ )?"):
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        text = path.read_text().replace("\\\n", " ")
        for line in re.findall(rf"^    {prompt}crowdrank (.+)$", text, re.M):
            yield path.name, line.split(" > ")[0]


@pytest.mark.parametrize("name", sorted({name for name, _ in _commands()}))
def test_every_command_of_a_page_is_understood(name):
    """Its options, its model and the parameters of the model."""
    for page, line in _commands():
        words = shlex.split(line, comments=True)
        if page != name or words[0] == "report":
            continue
        given = load_command(words[0]).make_context(words[0], words[1:]).params
        settings = parse_settings(given.get("settings") or [])
        if words[0] == "rank":
            make(given["model"] or "auto", settings)
        if words[0] == "train" and given["model"]:
            make_ranker(given["model"], given["scorer"], settings)


FILE = re.compile(r"[\w/.-]+\.(csv|txt|parquet|soc|gz|toml)|ranker|january|february")
SKIPPED = ("reproduce", "demo", "completion", "replay", "ask", "export", "simulate ltrma-letor",
           "train features.csv --gold grades.csv")  # fmt: skip
"""They take minutes, or need a judge or files that are not among the usual ones."""


@pytest.mark.long
def test_the_commands_of_the_pages_run(crowdrank, tmp_path):
    """Those without shown output whose files are among the usual ones."""
    usual = OUTPUTS["usual_files"]
    ran = 0
    for number, (page, line) in enumerate(_commands(prompt="")):
        words = shlex.split(line, comments=True)
        read = [word for word, before in zip(words[1:], words, strict=False) if before != "--out"]
        folder = tmp_path / str(number)
        folder.mkdir()
        usual(folder, line)
        if line.startswith(SKIPPED) or not all((folder / word).exists() for word in read if FILE.fullmatch(word)):
            continue
        done = crowdrank(*words, cwd=folder)
        assert done.code == 0, f"{page}: {line}\n{done.err}"
        ran += 1
    assert ran > 40
