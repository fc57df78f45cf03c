"""crowdrank models: the list of models and rankers."""

from __future__ import annotations

import inspect
import json as json_module
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.words import as_typed, show_value
from crowdrank.errors import UsageError, name_hint

if TYPE_CHECKING:
    from crowdrank.models.registry import Entry
    from crowdrank.rankers.registry import RankerEntry

COLUMNS = ("model", "kinds", "workers", "what", "paper", "varies with")
RANKER_COLUMNS = ("ranker", "learns from", "what", "paper", "varies with")


def command(
    name: Annotated[
        str | None, Argument(help="Only this one, with its parameters.", names="models and rankers")
    ] = None,
    json: Annotated[bool, Option("--json", help="As JSON.")] = False,
) -> None:
    """List the models: name, kinds of input, need for workers, summary, paper, and what may change the answer.

    Below them the rankers, which `crowdrank train` takes. In JSON a ranker is a model of the kind features.
    """
    if name is None:
        _list_all(json)
    else:
        _describe(name, json)


def _list_all(json: bool) -> None:
    from crowdrank.models.registry import entries
    from crowdrank.rankers.registry import ranker_entries

    rows = [
        (own.name, " ".join(own.kinds), own.workers, own.summary, own.paper, _words(own.varies))
        for own in entries().values()
    ]
    rankers = [
        (own.name, own.learns_from, own.summary, own.paper, "; ".join(_varies_with(own.varies)))
        for own in ranker_entries().values()
    ]
    if json:
        every = [*rows, *((name, "features", "-", *rest) for name, _, *rest in rankers)]
        print(json_module.dumps([dict(zip(COLUMNS, row, strict=True)) for row in every], indent=2))
        return
    _show(COLUMNS, rows)
    if not sys.stdout.isatty():
        print()
    _show(RANKER_COLUMNS, rankers)


def _describe(name: str, json: bool) -> None:
    """One model or ranker: what it does, what it costs, its parameters with their defaults and meaning."""
    from crowdrank.results import to_plain

    found = _find(name)
    own, meanings = {**found.load().parameters(), **found.preset}, found.load().meanings()
    facts = {"paper": found.paper, **_takes(found), "cost": found.cost}
    text = (inspect.getdoc(found.load()) or "").partition("\n\n>>> ")[0]  # the example is in Python
    if json:
        shown = {"model": name, "what": found.summary, **facts, "parameters": to_plain(own), "meanings": meanings}
        print(json_module.dumps({**shown, "meaning": text}, indent=2))
        return
    print(f"{name}: {found.summary}\n")
    print("\n".join(f"{fact}: {value}" for fact, value in facts.items()) + "\n")
    rows = [(key, show_value(to_plain(value)), as_typed(meanings[key])) for key, value in own.items()]
    _show(("parameter", "default", "meaning"), rows)
    print(f"\n{as_typed(text)}")


def _takes(found: Entry | RankerEntry) -> dict[str, str]:
    """What it takes as input, and what may change its answer."""
    from crowdrank.models.registry import Entry

    if isinstance(found, Entry):
        return {"kinds": " ".join(found.kinds), "workers": found.workers, "varies with": _words(found.varies)}
    return {"learns from": found.learns_from, "varies with": "; ".join(_varies_with(found.varies))}


def _find(name: str) -> Entry | RankerEntry:
    """The model or the ranker with this name."""
    from crowdrank.models.registry import entries
    from crowdrank.rankers.registry import ranker_entries

    known: dict[str, Entry | RankerEntry] = {**entries(), **ranker_entries()}
    if name not in known:
        raise UsageError(f"There is no model {name!r}.", hint=name_hint(name, known, "The models and rankers are"))
    return known[name]


def _words(names: Iterable[str]) -> str:
    return " ".join(sorted(names)) or "-"


def _varies_with(varies: Mapping[str, frozenset[str]]) -> list[str]:
    """What the scores vary with, scorer by scorer."""
    return [f"{scorer}: {_words(names)}" for scorer, names in varies.items()]


def _show(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table on a terminal, tab-separated lines in a pipe."""
    if sys.stdout.isatty():
        from crowdrank.cli.terminal import table

        table("", columns, rows, left=columns)
        return
    for row in (columns, *rows):
        print("\t".join(row))
