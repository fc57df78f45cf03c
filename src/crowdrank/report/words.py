"""Numbers and sentences that more than one form of the report writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crowdrank.report.content import Connections, Report, Span


def number(value: Any, decimals: int | None = None) -> str:
    """A number with its thousands apart, and with this many decimals; a dash where it is not known."""
    if value is None:
        return "–"
    return f"{value:,}" if decimals is None else f"{value:,.{decimals}f}"


def signed(value: float | None, decimals: int | None = None) -> str:
    """The same with a true minus sign; without ``decimals`` as short as it can be."""
    text = f"{value:g}" if decimals is None and value is not None else number(value, decimals)
    return text.replace("-", "−")


def plus_minus(value: float | None, error: float | None, decimals: int) -> str:
    """A figure and its standard error."""
    return number(value, decimals) if error is None else f"{number(value, decimals)} ± {number(error, decimals)}"


def interval(low: float | None, high: float | None, decimals: int) -> str:
    """An interval in words; an end that is None is not bounded."""
    if low is None and high is None:
        return "not bounded"
    if low is None:
        return f"up to {signed(high, decimals)}"
    if high is None:
        return f"{signed(low, decimals)} or more"
    return f"{signed(low, decimals)} to {signed(high, decimals)}"


def perfect(report: Report) -> str:
    """What the quality of a worker is measured by, as a sentence."""
    most = report.fit["details"].get("perfect_quality")
    top = "1 is one who always agrees" if most is None else f"on these items {most:.2f} is a perfect worker"
    return (
        f"Quality is the probability of agreeing with this ranking on an average pair: {top}, 0.5 is one who "
        "guesses, and below 0.5 are those who say the opposite."
    )


def percent(share: float) -> str:
    """A share in percent, with a decimal where it is small."""
    return f"{100 * share:.{0 if share >= 0.1 or share == 0 else 1}f} %"


def counted(count: float, noun: str, plural: str = "") -> str:
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
    verb = "was" if links.possible == 1 else "were"
    possible = counted(links.possible, "possible pair")
    yield f"{links.pairs:,} of {possible} {verb} compared ({percent(links.share)})."
    yield f"An item has {_span(links.comparisons)} votes."
    yield f"An item met {_span(links.opponents)} other items."


def _span(span: Span) -> str:
    if span.least == span.most:
        return f"{span.least:,}"
    return f"{span.least:,} to {span.most:,} (median {span.median:,})"
