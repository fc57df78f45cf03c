"""Runs what README.md and the pages show, and writes the outputs into them: `make outputs`.

Each page runs from top to bottom in a folder of its own, with the files that it names (`usual_files.py`):

- commands after `$`, in an indented or a `console` block, get what they print on a terminal,
- examples after `>>>` in a `pycon` block get what a console shows,
- a `python` block runs in one session with the others; a `text` block right after it gets what it prints,
- a `code-block` with a caption is a file of that name.

What differs only in seconds stays as it is, and so does a block that needs real data or a package that is missing.
Name pages to run only these."""

from __future__ import annotations

import doctest
import glob
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
import textwrap
import traceback
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from crowdrank.cli import run

DOCS = Path(__file__).parent
ROOT = DOCS.parent
DATA = Path(os.environ.get("CROWDRANK_DATA", ROOT.parent / "shared" / "data"))
usual_files = runpy.run_path(str(DOCS / "usual_files.py"))["usual_files"]

WIDTH = 84
BLOCK = re.compile(
    r"^```console\n(?P<console>.*?)^```$"
    r"|^```pycon\n(?P<examples>.*?)^```$"
    r"|^```python\n(?P<code>.*?)^```$(?P<between>\n+```text\n)?(?P<printed>.*?(?(between)^```$))"
    r"|^```\{code-block\} \w+\n:caption: (?P<file>\S+)\n\n?(?P<content>.*?)^```$"
    r"|^(?P<indented>    \$ [^\n]*\n(?:    [^\n]*\n)*)",
    re.M | re.S,
)
TYPED = re.compile(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", re.S)
PIPED = re.compile(r"(.*?)(?: ([|>]) (.*))?")
STYLE = re.compile(r"\x1b\[[\d;]*m")
SECONDS = re.compile(r" *\d+\.\d\d(?!\d)")
FIGURE = re.compile(r"\d+\.\d+")
PEERS = ("arena_rank", "choix", "crowdkit", "evalica", "lightgbm")
"""Packages of others; a block that imports one is left as it is if it is not installed."""
TESTED = ("api.md", "rankers/annotators.md", "rankers/expert-queries.md")
"""Pages that tests of their own run."""
SLACK = 2e-4
"""Figures from real data may differ by this much."""


def pages() -> dict[str, Path]:
    """The pages that have something to run, by name."""
    every = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    names = {(path.relative_to(DOCS) if path.is_relative_to(DOCS) else path.relative_to(ROOT)).as_posix(): path
             for path in every}  # fmt: skip
    return {name: path for name, path in names.items() if name not in TESTED and BLOCK.search(path.read_text())}


class Page:
    """Runs the blocks of a page in order, in the current folder. ``missing``: packages that are not there."""

    missing: set[str]
    names: dict[str, Any]

    def __init__(self, path: Path, real: bool) -> None:
        self.path, self.real = path, real
        self.missing, self.names = set(), {"__name__": "__main__"}

    def rewritten(self) -> str:
        """The page with the outputs of this run."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with patch.dict(os.environ, PATH=path, COLUMNS=str(WIDTH), LINES="50", NO_COLOR="1"):
            return BLOCK.sub(self._block, self.path.read_text())

    def _block(self, found: re.Match[str]) -> str:
        """A block with its outputs, or as it is if it needs a package of others that is not there."""
        try:
            return self._run(found)
        except ModuleNotFoundError as error:
            if error.name not in PEERS:
                raise
            self.missing.add(error.name)
            return found[0]

    def _run(self, found: re.Match[str]) -> str:
        if found["console"]:
            return f"```console\n{self._commands(found['console'], '')}```"
        if found["indented"]:
            return self._commands(found["indented"], "    ")
        if found["examples"]:
            return f"```pycon\n{''.join(self._examples(found['examples']))}```"
        if found["file"]:
            Path(found["file"]).write_text(found["content"], encoding="utf-8")
            return found[0]
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(found["code"], str(self.path), "exec"), self.names)
        after = f"{found['between']}{printed.getvalue()}```" if found["between"] else ""
        return f"```python\n{found['code']}```{after}"

    def _commands(self, block: str, indent: str) -> str:
        """The commands of a block, each followed by what it prints; no blank lines if it is indented."""
        steps = re.split(rf"^{indent}\$ ", block, flags=re.M)[1:]
        return "".join(f"{indent}$ {self._command(step, indent)}" for step in steps)

    def _command(self, step: str, indent: str) -> str:
        typed, shown = TYPED.fullmatch(step).groups()  # type: ignore[union-attr]
        words = typed.replace("\\\n", " ").strip()
        real = is_real(words)
        if real and not self.real:
            return step
        lines = (line.rstrip() for line in printed_by(words).splitlines())
        printed = "".join(f"{indent}{line}\n" for line in lines if line or not indent)
        return typed + (shown if alike(shown, printed, real) else printed)

    def _examples(self, code: str) -> Iterator[str]:
        for part in doctest.DocTestParser().parse(code):
            if isinstance(part, str):
                yield part
                continue
            prompts = (">>> ", *["... "] * part.source.count("\n"))
            typed = zip(prompts, part.source.splitlines(), strict=False)
            yield "".join(f"{(prompt + line).rstrip()}\n" for prompt, line in typed) + self._shown(part.source)

    def _shown(self, source: str) -> str:
        """What a console shows for a statement; an error without the lines that led to it."""
        with redirect_stdout(io.StringIO()) as out, patch.object(sys, "displayhook", sys.__displayhook__):
            try:
                exec(compile(source, str(self.path), "single"), self.names)
            except ModuleNotFoundError:
                raise
            except Exception as error:
                last = "".join(traceback.format_exception_only(error))
                return f"Traceback (most recent call last):\n    ...\n{last}"
        return re.sub(r"^$(?=\n)", "<BLANKLINE>", out.getvalue(), flags=re.M)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """True."""
        return True


class Beside(io.StringIO):
    """Writes to another stream; progress is not drawn on it."""

    def __init__(self, other: io.StringIO) -> None:
        super().__init__()
        self.other = other

    def write(self, text: str) -> int:
        """Write to the other stream."""
        return self.other.write(text)


def printed_by(command: str) -> str:
    """What a command prints on a terminal, in lines that fit and without its progress."""
    if not command.startswith("crowdrank "):
        return printed_in_shell(command, "")
    words, sign, rest = PIPED.fullmatch(command).groups()  # type: ignore[union-attr]
    expanded = [sorted(glob.glob(word)) or [word] for word in shlex.split(words)[1:]]
    seen = Terminal()
    piped = io.StringIO() if sign else seen
    with redirect_stdout(piped), redirect_stderr(Beside(seen)):
        run([word for some in expanded for word in some])
    lines = STYLE.sub("", seen.getvalue()).splitlines()
    fitting = "".join(f"{textwrap.fill(line, WIDTH, break_on_hyphens=False)}\n" for line in lines)
    return fitting + (printed_in_shell(f"cat {sign} {rest}", piped.getvalue()) if sign else "")


def printed_in_shell(command: str, given: str) -> str:
    """What a command of the system prints, with this on its standard input."""
    done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def is_real(words: str) -> bool:
    """Whether a command reads a folder of real data: one that is not among the usual files, or a link."""
    folders = [Path(word).parts[0] for word in shlex.split(words)[1:] if "/" in word and "=" not in word]
    return any(not Path(folder).exists() or Path(folder).is_symlink() for folder in folders)


def alike(shown: str, printed: str, real: bool) -> bool:
    """Whether two outputs are the same, apart from seconds; with real data, up to ``SLACK``."""
    if "seconds" in printed:
        shown, printed = (SECONDS.sub(" s", text) for text in (shown, printed))
    if not real:
        return shown == printed
    (old, before), (new, after) = ((FIGURE.sub("#", text), FIGURE.findall(text)) for text in (shown, printed))
    return old == new and np.allclose(np.array(before, float), np.array(after, float), atol=SLACK)


def rewrite(path: Path, real: bool) -> tuple[str, set[str]]:
    """A page with the outputs of a run in a new folder, and the packages that were missing."""
    page = Page(path, real)
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        if any(peer in path.read_text() for peer in PEERS):
            warnings.simplefilter("ignore")  # what others warn of is not ours to mend
        usual_files(Path(folder), path.read_text())
        if real:
            for data in DATA.iterdir():
                Path(data.name).symlink_to(data)
        return page.rewritten(), page.missing


def main(names: list[str]) -> None:
    """Rewrite the pages with these names, or all."""
    for name, path in pages().items():
        if not names or name in names:
            text, missing = rewrite(path, DATA.exists())
            print(f"{name}: {'as it was' if text == path.read_text() else 'written'}",
                  *(f"({package} is not installed)" for package in sorted(missing)), flush=True)  # fmt: skip
            path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
