"""Models by name, `auto` among them, and settings for those of them that know them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from crowdrank.errors import UsageError
from crowdrank.models import registry
from crowdrank.models.base import Model
from crowdrank.models.registry import Entry

AUTO = Entry("auto", "crowdrank.compare.auto:Auto", "the model that predicts held-out votes best", "-")


def catalogue() -> Mapping[str, Entry]:
    """Every registered model and `auto`, by name."""
    return MappingProxyType({**registry.entries(), AUTO.name: AUTO})


def find(name: str) -> Entry:
    """The entry of that name; an unknown name is an error that lists the names."""
    return registry.find(name, catalogue())


def make(name: str, parameters: Mapping[str, Any]) -> Model:
    """An unfitted model with these parameters."""
    return find(name).make(parameters)


def shared(names: Iterable[str], settings: Mapping[str, Any]) -> dict[str, Model]:
    """The models, each with those settings that it has; a setting that none has is an error."""
    made = {name: make(name, {}) for name in names}
    known = {name: model.settable() for name, model in made.items()}
    every = sorted(set().union(*known.values()))
    for setting in settings:
        if setting not in every:
            problem = f"No parameter {setting!r} is known to {', '.join(made)}."
            raise UsageError(problem, hint=f"The parameters are {', '.join(every)}.")
    for name, model in made.items():
        model.set_params(**{key: value for key, value in settings.items() if key in known[name]})
    return made
