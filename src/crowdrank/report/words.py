"""Numbers and sentences that more than one form of the report uses."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crowdrank.errors import count_noun
from crowdrank.report.content import Connections, Item, Query, Report, Span
from crowdrank.report.units import UNITS, Unit

LETTERS = 60
"""The most letters of a name within a sentence."""

_RIGHT_TO_LEFT = {"R", "AL", "RLE", "RLO", "RLI"}


def number(value: Any, decimals: int | None = None) -> str:
    """A number with thousands separators and this many decimals; a dash if it is None."""
    if value is None:
        return "–"
    return f"{value:,}" if decimals is None else f"{value:,.{decimals}f}"


def signed(value: float | None, decimals: int | None = None) -> str:
    """A number with a true minus sign; as short as possible without ``decimals``."""
    text = f"{value:g}" if decimals is None and value is not None else number(value, decimals)
    return text.replace("-", "−")


def cell(value: Any) -> str:
    """A cell of a further table: numbers formatted as elsewhere, text unchanged."""
    return signed(value) if isinstance(value, int | float) else number(None) if value is None else str(value)


def plus_minus(value: float | None, error: float | None, decimals: int) -> str:
    """A figure and its standard error."""
    return number(value, decimals) if error is None else f"{number(value, decimals)} ± {number(error, decimals)}"


def interval(low: float | None, high: float | None, decimals: int | None) -> str:
    """An interval in words; an end that is None is not bounded. ``decimals`` as in ``signed``."""
    if low is None and high is None:
        return "not bounded"
    if low is None:
        return f"up to {signed(high, decimals)}"
    if high is None:
        return f"{signed(low, decimals)} or more"
    return f"{signed(low, decimals)} to {signed(high, decimals)}"


def with_probability(value: float | str | None, probability: float | None) -> str:
    """The most probable label of an item, or domain of a query, and its probability."""
    return f"{value if isinstance(value, str) else signed(value)} ({number(probability, 2)})"


def tier_words(query: Query, row: Item) -> str:
    """The tier of an item, and its group if the query has several: tiers are counted within a group."""
    return f"{row.tier} of group {row.group:,}" if query.apart else f"{row.tier}"


def difficulty_interval(query: Query) -> str:
    """The interval of a query's difficulty in words."""
    return interval(query.difficulty_low, query.difficulty_high, None)


def headline(names: Sequence[str], tied: int, total: int, *, certain: bool, compared: bool = True) -> str:
    """What a ranking says about the first place: ``tied`` of ``total`` items cannot be told apart from the best.

    ``names``: the first two items. ``certain``: whether the model has intervals; without them noise is not known.
    ``compared``: False if other items might be first that were never compared with the best.
    """
    best = quote_name(names[0])
    if total == 1:
        return f"{best} is the only item."
    if not certain:
        return f"{best} is first; how certain that is, is not known."
    if not compared:
        return f"Nobody knows which item is first: {best} leads a group that was never compared with the others."
    if tied == 1:
        return f"{best} is first, and can be told apart from all other items."
    if tied == total:
        return f"None of the {total:,} items can be told apart from the first one: their order is a guess."
    if tied == 2:
        return f"{best} and {quote_name(names[1])} share the first place: they cannot be told apart."
    return f"The first {tied:,} of {total:,} items cannot be told apart: the order among them is a guess."


def explain_quality(report: Report) -> str:
    """A sentence that explains the quality of a worker."""
    pair = "an average pair" if report.unit != "labels" else "a pair of items whose labels differ"
    most = report.fit["details"].get("perfect_quality")
    top = "1 means always agreeing" if most is None else f"on these items the best worker has about {most:.2f}"
    return (
        f"Quality is the probability of agreeing with this ranking on {pair}: {top}, 0.5 means "
        "guessing, and below 0.5 means saying the opposite."
    )


def percent(share: float) -> str:
    """A share in percent, with a decimal if it is small."""
    return f"{100 * share:.{0 if share >= 0.1 or share == 0 else 1}f} %"


def count_judgments(given: Mapping[str, Any]) -> str:
    """How many lists and pairs a ranker learned from, from the judgments of its fit."""
    return list_words([count_noun(given[f"{noun}s"], noun) for noun in ("list", "pair") if given[f"{noun}s"]])


def list_words(parts: Sequence[str]) -> str:
    """Parts of a sentence, joined by commas and "and"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def quote_name(name: str) -> str:
    """An id or a name within a sentence: in quotation marks, and cut if it is long."""
    shown = name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
    if any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in shown):
        shown = f"\N{FIRST STRONG ISOLATE}{shown}\N{POP DIRECTIONAL ISOLATE}"  # the sentence keeps its direction
    return f"“{shown}”"


def nothing_to_suggest(report: Report) -> str:
    """The sentence if there is nothing to suggest."""
    return f"Nothing stands out: {UNITS[report.unit].settled}, and no worker needs checking."


def split_sentence(report: Report) -> str:
    """A sentence on how many queries fall into groups."""
    unit = UNITS[report.unit]
    if not report.split_queries:
        return f"In every query the {unit.links} link all items."
    of = f"{report.split_queries:,} of {report.queries_total:,} queries"
    return f"In {of} the items fall into groups that {unit.apart}."


def connection_sentences(links: Connections, unit: Unit, *, several: bool = False) -> Iterator[str]:
    """Sentences on how the items connect; for ``several`` queries together, groups are left out."""
    if not several:
        alone = f"All items are linked by {unit.links}: one group."
        yield alone if links.groups == 1 else f"The items fall into {links.groups:,} groups that {unit.apart}."
    possible = count_noun(links.possible, "possible pair")
    were = "was" if links.possible == 1 else "were"
    pairs = unit.together.format(pairs=f"{links.pairs:,}", possible=possible, were=were)
    yield f"{pairs} ({percent(links.share)})."
    yield unit.each.format(span=_span(links.comparisons, unit.noun))
    yield unit.others.format(span=_span(links.opponents, "other item"))


def _span(span: Span, noun: str) -> str:
    if span.least == span.most:
        return count_noun(span.least, noun)
    return f"{span.least:,} to {span.most:,} (median {span.median:,}) {noun}s"
