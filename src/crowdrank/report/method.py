"""How a ranking was computed, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crowdrank.models.registry import entries
from crowdrank.report.content import Report
from crowdrank.report.words import list_words, number, signed
from crowdrank.results import to_plain


def method(report: Report) -> list[tuple[str, str]]:
    """Names and values of everything needed to compute the ranking again."""
    return [*_gold(report), *_fit(report.fit), *environment_facts(report.fit)]


def _gold(report: Report) -> Iterator[tuple[str, str]]:
    if report.gold_coverage is not None:
        yield "Gold", report.gold_coverage
    for name, value in report.gold.items():
        yield f"{name} by gold", number(value, 4)


def _fit(fit: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Model", fit["model"]
    yield from parameter_facts(fit["parameters"], _defaults(fit["model"]))
    yield "Converged", f"{'yes' if fit['converged'] else 'no'}, after {fit['iterations']:,} iterations"
    if fit["log_likelihood"] is not None:
        yield "Log likelihood", signed(fit["log_likelihood"], 2)
    if "intervals" in fit["details"]:
        yield "Intervals", f"{fit['details']['intervals']}, level 0.9"


def _defaults(model: str) -> dict[str, Any]:
    """The defaults of a model's parameters; none if it is not registered here."""
    found = entries().get(model)
    return {} if found is None else to_plain({**found.load().parameters(), **found.preset})


def parameter_facts(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The parameters in words: those that were set, then those at their defaults."""
    given = {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}
    usual = {name: value for name, value in values.items() if name not in given}
    yield "Parameters", parameter_words(given) or ("all at their defaults" if usual else "none")
    if usual:
        yield "Defaults", parameter_words(usual)


def parameter_words(values: Mapping[str, Any]) -> str:
    """Names and values as one would say them: `anchor weight 1, calibrate yes, prior 2 and 1`."""
    return ", ".join(f"{name.replace('_', ' ')} {_value_words(value)}" for name, value in values.items())


def _value_words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_value_words(own)}" for name, own in value.items()) or "none"
    if isinstance(value, list | tuple):
        return list_words([_value_words(own) for own in value]) or "none"
    return signed(value) if isinstance(value, int | float) else str(value)


def environment_facts(fit: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Seed, engine, seconds and versions."""
    yield "Seed", str(fit["seed"])
    yield "Engine", fit["engine"]
    yield "Seconds", list_values({name: f"{value:.2f}" for name, value in fit["seconds"].items()})
    yield "Versions", ", ".join(f"{name} {version}" for name, version in fit["versions"].items())


def list_values(values: dict[str, str]) -> str:
    """Names with their values, in one line."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())
