"""One vocabulary of parameters over the whole registry, as CONTRIBUTING has it."""

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

import crowdrank as cr
from cases import drawn, single_models

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SHARED = set(
    re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in GUIDE.splitlines() if line.startswith("| `")))
)


def by_name():
    """The models that have each parameter."""
    found = defaultdict(list)
    for entry in single_models():
        for name in entry.load().parameters():
            found[name].append(entry)
    return found


def test_what_several_models_share_is_in_the_vocabulary():
    classes = {name: {entry.path for entry in entries} for name, entries in by_name().items()}
    families = {name for name, paths in classes.items() if len({path.rpartition(".")[0] for path in paths}) > 1}
    assert families <= SHARED | {"seed", "k", "scale", "base"}, "CONTRIBUTING lists what several models share"


def test_none_is_no_default_but_for_none_of_it():
    for entry in single_models():
        defaults = entry.load().parameters()
        assert [name for name, value in defaults.items() if value is None] == [], entry.name


@pytest.mark.parametrize("name", ["regularization", "prior", "slope_sd", "adherence_sd", "precision"])
def test_none_and_numbers_are_taken_by_every_model_that_has_it(name):
    numbers = {"prior": (2.0, 2.0)}.get(name, 0.7)
    for entry in by_name()[name]:
        given = drawn({"pairs": "votes", "rankings": "lists", "ratings": "labels"}[entry.kinds[0]], 0)
        for value in (None, numbers):
            model = entry.make({name: value})
            assert model.get_params()[name] == value
            with suppress(cr.FitError):  # without regularization there may be no finite maximum
                model.fit(given)


@pytest.mark.parametrize("name", ["regularization", "slope_sd", "adherence_sd", "precision"])
def test_other_words_are_errors(name):
    for entry in by_name()[name]:
        given = drawn({"pairs": "votes", "rankings": "lists", "ratings": "labels"}[entry.kinds[0]], 0)
        with pytest.raises(cr.UsageError, match=f"'{name}'"):
            entry.make({name: "a lot"}).fit(given)
