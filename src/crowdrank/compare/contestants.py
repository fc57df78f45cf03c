"""The models to compare, by the names that a comparison shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from crowdrank.errors import UsageError
from crowdrank.models.base import Model
from crowdrank.models.registry import apply_settings, entries, make

Contestant = str | Model | type[Model]
"""A model to compare: its name, a model with its parameters (fitted or not), or a class."""


def contestants(
    models: Contestant | Iterable[Contestant] | None, settings: Mapping[str, Any], seed: int
) -> dict[str, Model]:
    """Unfitted models by the name to show, each once; all registered models if none are given.

    The settings and the seed apply to models that are given by name or class. A model keeps its parameters.
    If models of one name differ in their parameters, the name to show has those that are not the defaults.
    """
    asked = list(entries()) if models is None else _as_list(models)
    if not asked:
        raise UsageError("No model was named.", hint=f"The models are {', '.join(entries())}.")
    made = [_make(one) for one in asked]
    free = [model for model, one in zip(made, asked, strict=True) if not isinstance(one, Model)]
    if free:
        apply_settings(free, {"seed": seed, **settings})
    elif settings:
        raise UsageError(
            f"Settings apply to models that are given by name or class. Got {', '.join(settings)}.",
            hint="Give the models these parameters.",
        )
    return _by_shown_name(made)


def _as_list(models: Contestant | Iterable[Contestant]) -> list[Contestant]:
    return [models] if isinstance(models, str | Model | type) else list(models)


def _make(one: Contestant) -> Model:
    """An unfitted model."""
    if isinstance(one, str):
        return make(one, {})
    if isinstance(one, Model):
        return one.clone()
    if isinstance(one, type) and issubclass(one, Model):
        return one()
    raise UsageError(
        f"A model to compare must be a name, a model or its class. Got {one!r}.",
        hint='For example compare_models(votes, ["bt", CrowdBT(prior=None)]).',
    )


def _by_shown_name(models: Iterable[Model]) -> dict[str, Model]:
    """The models by the name to show; equal models are one."""
    distinct = {(model.name, _describe_parameters(model)): model for model in models}
    times = Counter(name for name, _ in distinct)
    return {
        f"{name} ({own})" if own and times[name] > 1 else name: model for (name, own), model in distinct.items()
    }


def _describe_parameters(model: Model) -> str:
    """The parameters that differ from their defaults, as the command line takes them."""
    defaults = model.parameters()
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, default=str)}"
        for name, value in model.get_params().items()
        if value != defaults[name]
    )
