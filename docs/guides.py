"""Runs guides and tutorials, and writes what they show: `python docs/guides.py [PAGE ...]`, or `make guides`.

On such a page

- a ``console`` block has commands, each after "$ ", and below each one what it prints on a terminal,
- a ``python`` block runs in one session with those before it; a ``text`` block right after it has what it prints,
- a ``code-block`` with a caption is a file of that name.

All of a page runs in one folder, from top to bottom, in this process. A test runs every page and compares.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from crowdrank.cli import run

DOCS = Path(__file__).parent
PAGES = [
    *sorted((DOCS / "guides").glob("*.md")),
    DOCS / "asking" / "tutorial.md",
    DOCS / "rankers" / "tutorial.md",
]
WIDTH = 84
BLOCK = re.compile(
    r"```console\n(?P<commands>.*?)```"
    r"|```\{code-block\} \w+\n:caption: (?P<name>\S+)\n\n?(?P<content>.*?)```"
    r"|```python\n(?P<code>.*?)```(?P<between>\n+```text\n)?(?P<printed>.*?(?(between)```))",
    re.DOTALL,
)


class Terminal(io.StringIO):
    """Output that a person looks at, so results are tables."""

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return True


def run_page(text: str, folder: Path) -> str:
    """The page with the outputs of a run in this folder."""
    session: dict[str, Any] = {}

    def run_block(block: re.Match[str]) -> str:
        if block["name"]:
            (folder / block["name"]).write_text(block["content"], encoding="utf-8")
            return block[0]
        if block["commands"]:
            return f"```console\n{run_commands(block['commands'])}```"
        printed = run_code(block["code"], session)
        shown = f"{block['between']}{printed}```" if block["between"] else ""
        if printed and not shown:
            raise ValueError(f"This block prints something, but no text block follows it:\n{block['code']}")
        return f"```python\n{block['code']}```{shown}"

    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with chdir(folder), patch.dict(os.environ, PATH=path, COLUMNS=str(WIDTH), TERM="xterm"):
        return BLOCK.sub(run_block, text)


def run_commands(block: str) -> str:
    """The commands of a block, each followed by what it prints."""
    found = ""
    for command, shown in re.findall(r"^(\$ (?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        printed = run_command(command[2:].replace("\\\n", " ").strip())
        if "crowdrank compare" in command and without_seconds(printed) == without_seconds(shown):
            printed = shown
        found += command + printed
    return found


def without_seconds(table: str) -> str:
    """A table of `crowdrank compare` without its seconds, which differ from run to run."""
    return re.sub(r" *\b\d+\.\d\d\b", "", table)


def run_command(command: str) -> str:
    """What a command prints, in lines that fit; crowdrank runs in this process, all else in a shell."""
    program, _, rest = command.partition(" ")
    if program != "crowdrank":
        return run_shell(command, "")
    words, sign, after = re.fullmatch(r"(.*?)(?: ([|>]) (.*))?", rest).groups()  # type: ignore[union-attr]
    seen = Terminal()
    piped = io.StringIO() if sign else seen
    with redirect_stderr(plain(seen)), redirect_stdout(piped):
        run(shlex.split(words))
    shown = re.sub(r"\x1b\[[\d;]*m", "", seen.getvalue())
    lines = [textwrap.fill(line, WIDTH, break_on_hyphens=False) for line in shown.splitlines()]
    return "".join(f"{line}\n" for line in lines) + (
        run_shell(f"cat {sign} {after}", piped.getvalue()) if sign else ""
    )


def plain(terminal: Terminal) -> io.StringIO:
    """A stream that writes to a terminal but is none, so that no progress is drawn."""
    stream = io.StringIO()
    stream.write = terminal.write  # type: ignore[method-assign]
    return stream


def run_shell(command: str, given: str) -> str:
    """What a command prints in a shell."""
    done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def run_code(code: str, session: dict[str, Any]) -> str:
    """What the code prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(code, session)
    return printed.getvalue()


def main() -> None:
    """Write every page, or those that are named."""
    for page in [Path(name) for name in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(run_page(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
