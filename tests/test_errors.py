"""Errors carry the remedy as data: the command line words it as a flag, everything else does not know flags."""

import ast
import re
from pathlib import Path

import polars as pl
import pytest

import crowdrank
import crowdrank as cr
from crowdrank.cli.words import GIVEN, flag
from crowdrank.engine import open_engine
from crowdrank.errors import InputError, Note, Remedy, Retry, UsageError, name_hint, parameter
from crowdrank.measures.evaluate import parse
from crowdrank.models import registry
from crowdrank.rankers.registry import find_ranker
from crowdrank.select.policy import Policy
from crowdrank.simulate.presets import find_preset

SOURCE = Path(crowdrank.__file__).parent


def test_a_remedy_is_worded_by_who_shows_it():
    error = InputError("No.", hint=("Use ", parameter("regularization", 0.5), " or ", Remedy("model", "bt")))
    assert str(error) == "No.\nHint: Use regularization=0.5 or model=bt"
    assert error.wording(flag) == "No.\nHint: Use --set regularization=0.5 or --model bt"
    assert str(Remedy("columns", "worker=NAME")) == 'columns="worker=NAME"'
    note = Note("code", "Something.", hint=("See ", Remedy("anchors", "FILE")))
    assert (note.wording(), note.wording(flag)) == ("Something. See anchors=FILE", "Something. See --anchors FILE")


def test_a_retry_is_the_whole_command_with_other_values():
    retry = Retry((Remedy("columns", "left=my doc,right=b"), Remedy("outcomes", "1=left,0=right")))
    assert str(retry) == 'read(..., columns="left=my doc,right=b", outcomes="1=left,0=right")'
    GIVEN.set(("rank", "my file.csv", "--columns", "x=y", "--model", "bt", "--outcomes=1=left"))
    expected = "crowdrank rank 'my file.csv' --model bt --columns 'left=my doc,right=b' --outcomes 1=left,0=right"
    assert flag(retry) == expected


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


def test_what_is_to_be_typed_is_not_shortened():
    long = "x" * 150
    columns = f"left={long},right={long}"
    error = InputError(
        f"there is no column {long * 2}.", hint=("Not ", long * 2, ". Use ", Remedy("columns", columns))
    )
    assert str(error).endswith(f'. Use columns="{columns}"')
    assert long * 2 not in str(error)


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


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: cr.read(pl.DataFrame({"winner": ["a"], "loser": ["b"]}), columns="wroker=x"), "worker"),
        (lambda: cr.read(pl.DataFrame({"Winner": ["a"], "loser": ["b"]}), columns="winner=winer"), "Winner"),
        (lambda: cr.BradleyTerry().set_params(regularisation=1), "regularization"),
        (lambda: registry.find("crowdbt"), "crowd-bt"),
        (lambda: registry.make_all(["bt", "elo"], {"regularisation": 1}), "regularization"),
        (lambda: find_ranker("ltrma_mle"), "ltrma-mle"),
        (lambda: find_preset("beta51"), "beta-5-1"),
        (lambda: parse("ndgc@10"), "nDCG"),
        (lambda: open_engine("lokal").__enter__(), "local"),
        (lambda: Policy.of("gian", {}), "gain"),
        (lambda: Policy.of("gain", {"gama": 1}), "gamma"),
    ],
)
def test_an_unknown_name_has_the_nearest_one_in_the_hint(call, meant):
    with pytest.raises(cr.CrowdrankError) as caught:
        call()
    assert f"Hint: Did you mean {meant!r}?" in str(caught.value)


def test_a_name_like_no_other_has_no_nearest_one():
    assert name_hint("zzz", ["bt", "elo"], "The models are") == "The models are bt, elo."
