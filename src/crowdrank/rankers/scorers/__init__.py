"""Scoring functions and how they are trained. They know nothing of crowds."""

from __future__ import annotations

from importlib import import_module

from crowdrank.errors import UsageError, name_hint
from crowdrank.rankers.scorers.base import Function, Scorer

SCORERS = {
    "linear": "crowdrank.rankers.scorers.linear:Linear",
    "trees": "crowdrank.rankers.scorers.trees:Trees",
    "net": "crowdrank.rankers.scorers.net:Net",
}
FUNCTIONS = {
    "linear": "crowdrank.rankers.scorers.linear:LinearFunction",
    "trees": "crowdrank.rankers.scorers.trees:TreesFunction",
    "net": "crowdrank.rankers.scorers.net:NetFunction",
    "extended": "crowdrank.rankers.scorers.extended:ExtendedFunction",
}


def scorer_class(name: str) -> type[Scorer]:
    """The scorer with this name; an unknown name is an error that lists the names."""
    if name not in SCORERS:
        raise UsageError(f"There is no scorer {name!r}.", hint=name_hint(name, SCORERS, "The scorers are"))
    found: type[Scorer] = _find(SCORERS[name])
    return found


def function_class(name: str) -> type[Function]:
    """The class of the scoring functions that this scorer trains."""
    found: type[Function] = _find(FUNCTIONS[name])
    return found


def _find(path: str) -> type:
    module, _, name = path.partition(":")
    found: type = getattr(import_module(module), name)
    return found


__all__ = ["FUNCTIONS", "SCORERS", "Function", "Scorer", "function_class", "scorer_class"]
