"""Domains as plain data: which queries belong to each one, and how good each worker is in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Domain:
    """A domain: how many queries most probably belong to it, and how many of these with at least 0.95.

    ``probability`` is the mean over these queries, None if there are none. ``examples`` are the surest of them.
    """

    queries: int
    sure: int
    probability: float | None
    examples: tuple[str, ...]


@dataclass(frozen=True)
class QueryRun:
    """Queries beside each other on the map, all with the same most probable domain.

    ``names`` are the first and the last one, or the only one. ``shares`` is the mean probability of each domain.
    """

    names: tuple[str, ...]
    queries: int
    shares: tuple[float, ...]


@dataclass(frozen=True)
class DomainMap:
    """Queries by domain: ``runs`` are ordered by the most probable domain, the surest query first.

    A run is a single query if there are few of them.
    """

    domains: tuple[Domain, ...]
    runs: tuple[QueryRun, ...]

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return sum(run.queries for run in self.runs)


@dataclass(frozen=True)
class Skill:
    """How good a worker is in one domain."""

    judgments: float
    quality: float
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True)
class SkillRow:
    """A worker with the worker's skill in each domain, largest domain first."""

    worker: str
    judgments: float
    skills: tuple[Skill, ...]


@dataclass(frozen=True)
class SkillMap:
    """Workers by domain: ``queries`` is the number of queries whose most probable domain is each one.

    ``workers`` is the number of workers, ``rows`` are those shown, with the most judgments first.
    """

    queries: tuple[int, ...]
    workers: int
    rows: tuple[SkillRow, ...]
