"""Errors carry the remedy as data: the command line words it as a flag, everything else does not know flags."""

import ast
import re
from pathlib import Path

import crowdrank
from crowdrank.cli.words import flag
from crowdrank.errors import InputError, Note, Remedy, UsageError, parameter

SOURCE = Path(crowdrank.__file__).parent


def test_a_remedy_is_worded_by_who_shows_it():
    error = InputError("No.", hint=("Use ", parameter("regularization", 0.5), " or ", Remedy("model", "bt")))
    assert str(error) == "No.\nHint: Use regularization=0.5 or model=bt"
    assert error.wording(flag) == "No.\nHint: Use --set regularization=0.5 or --model bt"
    assert str(Remedy("columns", "worker=NAME")) == 'columns="worker=NAME"'
    note = Note("code", "Something.", hint=("See ", Remedy("anchors", "FILE")))
    assert (note.wording(), note.wording(flag)) == ("Something. See anchors=FILE", "Something. See --anchors FILE")


def test_no_message_is_longer_than_a_thousand_characters():
    long, many = "x" * 5000, ", ".join(f"'{number}'" for number in range(5000))
    hint = ("The columns are ", Remedy("columns", many))
    for error in (
        InputError(f"there is no column {long!r}.", source="votes.csv", row=3, column=long, value=many, hint=hint),
        UsageError(many, hint=many),
        Note("code", many, hint=hint),
    ):
        assert 500 < len(f"crowdrank: {error.wording(flag)}") <= 1000
    named = InputError("a number is needed here.", source="votes.csv", row=3, column="label", value=long)
    assert str(named).startswith("votes.csv, row 3, column 'label': a number is needed here. Got 'xxx")
    assert len(str(named)) < 300
    path = f"/data/{'folder/' * 40}votes.csv"
    assert str(InputError("the file is empty.", source=path)).endswith("folder/votes.csv: the file is empty.")


def test_a_usual_message_is_not_shortened():
    words = "a list of several names " * 25
    assert str(UsageError(words)) == words


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
