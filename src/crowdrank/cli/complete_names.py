"""The names that a shell completes: of models, rankers, parameters, presets, targets and measures.

They stand in names.json, because a completion must not wait for the libraries that the models need. `make
reference` writes that file, and a test keeps it up to date.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("names.json")
DEFAULTS: dict[str, tuple[str, ...]] = {
    "rank": ("auto", "plackett-luce", "dawid-skene"),
    "next": (),
    "ask": (),
    "replay": (),
}
"""The models whose parameters are offered if none is named."""


def read_names() -> dict[str, Any]:
    """All names by kind; those that have parameters map to them, with their defaults as text."""
    names: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return names


def completer(kind: str) -> Callable[..., Any] | None:
    """What completes a word: one of the names of this kind, of words separated by bars, or None for files.

    A kind that ends with a comma completes the last name of a list.
    """
    if not kind:
        return None

    def complete(ctx: Any, param: Any, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if kind.endswith(",") else ("", "", incomplete)
        found = candidates(kind.rstrip(","), ctx.info_name, {"words": ctx.args, **ctx.params})
        return [
            CompletionItem(f"{before}{comma}{name}", help=text or None)
            for name, text in found.items()
            if name.lower().startswith(last.lower())
        ]

    return complete


def candidates(kind: str, command: str, given: Mapping[str, Any]) -> dict[str, str]:
    """The names of a kind with a few words on each.

    ``given``: the options of the command so far, and under ``words`` what is not yet known to be an argument.
    """
    if "|" in kind:
        return dict.fromkeys(kind.split("|"), "")
    names = read_names()
    if kind == "parameters":
        own = {name: text for part in _parameters(names, command, given) for name, text in part.items()}
        return {f"{name}=": f"default {text}" for name, text in own.items()}
    if kind == "models and rankers":
        return {name: "" for part in ("models", "rankers") for name in names[part]}
    return dict.fromkeys(names[kind], "")


def _parameters(names: dict[str, Any], command: str, given: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The parameters that ``--set`` of the command takes, from several sources."""
    if command == "simulate":
        yield from (names["presets"].get(word, {}) for word in [given.get("preset"), *given["words"]])
        return
    if command in ("next", "ask", "replay"):
        yield names["settings of the selection"]
    listed = (given.get("models") or given.get("model") or "").split(",")
    models = [name.strip() for name in listed if name.strip()] or DEFAULTS.get(command, names["models"])
    for name in models if command != "train" else [given.get("model")]:
        yield {**names["models"], **names["rankers"]}.get(name, {})
    if command == "train":
        for scorer in [given["scorer"]] if given.get("scorer") in names["scorers"] else names["scorers"]:
            yield names["scorers"][scorer]
