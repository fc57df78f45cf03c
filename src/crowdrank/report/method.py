"""How a ranking was computed, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crowdrank.report.content import Report
from crowdrank.report.words import number, signed


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
    yield (
        "Parameters",
        list_values({name: json.dumps(value) for name, value in fit["parameters"].items()}) or "none",
    )
    yield "Converged", f"{'yes' if fit['converged'] else 'no'}, after {fit['iterations']:,} iterations"
    if fit["log_likelihood"] is not None:
        yield "Log likelihood", signed(fit["log_likelihood"], 2)
    if "intervals" in fit["details"]:
        yield "Intervals", f"{fit['details']['intervals']}, level 0.9"


def environment_facts(fit: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Seed, engine, seconds and versions."""
    yield "Seed", str(fit["seed"])
    yield "Engine", fit["engine"]
    yield "Seconds", list_values({name: f"{value:.2f}" for name, value in fit["seconds"].items()})
    yield "Versions", ", ".join(f"{name} {version}" for name, version in fit["versions"].items())


def list_values(values: dict[str, str]) -> str:
    """Names with their values, in one line."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())
