"""Errors carry the remedy as data: the command line words it as a flag, everything else does not know flags."""

import ast
import re
from pathlib import Path

import crowdrank
from crowdrank.cli.words import flag
from crowdrank.errors import InputError, Note, Remedy, parameter

SOURCE = Path(crowdrank.__file__).parent


def test_a_remedy_is_worded_by_who_shows_it():
    error = InputError("No.", hint=("Use ", parameter("regularization", 0.5), " or ", Remedy("model", "bt")))
    assert str(error) == "No.\nHint: Use regularization=0.5 or model=bt"
    assert error.wording(flag) == "No.\nHint: Use --set regularization=0.5 or --model bt"
    assert str(Remedy("columns", "worker=NAME")) == 'columns="worker=NAME"'
    note = Note("code", "Something.", hint=("See ", Remedy("anchors", "FILE")))
    assert (note.wording(), note.wording(flag)) == ("Something. See anchors=FILE", "Something. See --anchors FILE")


def test_no_flag_is_named_outside_the_command_line():
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] == "cli":
            continue
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        found += [
            f"{path.name}:{node.lineno}"
            for node in texts
            if re.search(r"(?<![\w(-])--[a-z]+(?![\w:-])", node.value)
        ]
    assert not found
