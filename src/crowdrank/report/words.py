"""Numbers and sentences that more than one form of the report writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crowdrank.report.content import Connections, Report


def number(value: Any, decimals: int | None = None) -> str:
    """A number with its thousands apart, and with this many decimals; a dash where it is not known."""
    if value is None:
        return "–"
    return f"{value:,}" if decimals is None else f"{value:,.{decimals}f}"


def signed(value: float | None, decimals: int | None = None) -> str:
    """The same with a true minus sign; without ``decimals`` as short as it can be."""
    text = f"{value:g}" if decimals is None and value is not None else number(value, decimals)
    return text.replace("-", "−")


def interval(low: float | None, high: float | None, decimals: int) -> str:
    """An interval in words; an end that is None is not bounded."""
    if low is None and high is None:
        return "not bounded"
    if low is None:
        return f"up to {signed(high, decimals)}"
    if high is None:
        return f"{signed(low, decimals)} or more"
    return f"{signed(low, decimals)} to {signed(high, decimals)}"


def percent(share: float) -> str:
    """A share in percent, with a decimal where it is small."""
    return f"{100 * share:.{0 if share >= 0.1 or share == 0 else 1}f} %"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def split(report: Report) -> str:
    """How many queries fall into groups, as a sentence."""
    if not report.split_queries:
        return "In every query the comparisons link all items."
    of = f"{report.split_queries:,} of {report.queries_total:,} queries"
    return f"In {of} the items fall into groups that were never compared with each other."


def connected(links: Connections, *, several: bool = False) -> Iterator[str]:
    """How the comparisons connect, as sentences; of ``several`` queries together, groups are not told."""
    if not several:
        alone = "All items are linked by comparisons: one group."
        apart = f"The items fall into {links.groups:,} groups that were never compared with each other."
        yield alone if links.groups == 1 else apart
    yield f"{links.pairs:,} of {counted(links.possible, 'possible pair')} were compared ({percent(links.share)})."
    votes, met = links.comparisons, links.opponents
    yield f"An item has {votes.least:,} to {votes.most:,} votes, the median item {votes.median:,}."
    yield f"An item met {met.least:,} to {met.most:,} other items, the median item {met.median:,}."
