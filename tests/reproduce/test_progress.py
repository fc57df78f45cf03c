"""Every table says how far it is while it is made."""

import pytest

from crowdrank.reproduce import TARGETS, reproduce

WHOLE = [name for name, own in TARGETS.items() if not own.keeps]
"""Tables that keep no cells; the others announce each cell."""


class EnoughError(Exception):
    """The first step with a total was announced."""


def stop_at_a_total(step):
    if step.total is not None and not step.startswith("reading "):
        raise EnoughError(f"{step}: {step.done:g} of {step.total:g}")


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "ltrma-figure18"])  # which only reads
def test_the_first_step_is_announced_with_the_number_of_steps(name, request):
    data = None if name in ("crowd-bt-table1", "crowd-bt-table2") else request.getfixturevalue("real")
    with pytest.raises(EnoughError, match=r": 0 of [1-9]\d*$"):
        reproduce(name, seeds=2, data=data, progress=stop_at_a_total)


def test_the_steps_of_a_whole_table():
    said = []
    reproduce("crowd-bt-table1", seeds=1, progress=said.append)
    first, *steps = said
    assert first == "crowd-bt-table1 is computed in one piece."
    assert [(step.done, step.total) for step in steps if step.endswith("1")] == [
        (number, 6) for number in range(6)
    ]
    assert steps[:2] == ["Beta(10, 1), draw 1", "Beta(10, 1), draw 1: reading frame"]
    assert {step.total for step in steps} == {6}  # reading the draws is part of a step
