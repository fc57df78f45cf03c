"""How a report names the judgments of an item: votes on pairs, ranked lists, or labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """The words for one kind of judgments.

    ``count`` and ``met`` explain columns of the ranking. ``fine`` is shown if there is no warning, ``settled``
    if there is no suggestion. ``ask`` begins a suggestion on one item, ``pair`` a suggestion on two. The other
    fields describe how the items connect: {pairs}, {possible}, {were} and {span} are placeholders for figures,
    which report.js fills in as well.
    """

    noun: str
    count: str
    met: str
    fine: str
    settled: str
    ask: str
    pair: str = ""
    beside: str = ""
    links: str = ""
    apart: str = ""
    together: str = ""
    each: str = ""
    others: str = ""
    picture: str = ""


UNITS = {
    "votes": Unit(
        noun="vote",
        count="Comparisons that involve the item",
        met="How many other items it was compared with",
        fine="the fit converged, all items are connected, and each has won and lost",
        settled="all neighbors in rank can be told apart",
        ask="ask about",
        pair="ask about",
        beside="against",
        links="comparisons",
        apart="were never compared with each other",
        together="{pairs} of {possible} {were} compared",
        each="An item has {span}.",
        others="An item met {span}.",
        picture="Who was compared with whom",
    ),
    "lists": Unit(
        noun="list",
        count="Lists that hold the item",
        met="How many other items share a list with it",
        fine="the fit converged, and the lists link all items",
        settled="all neighbors in rank can be told apart",
        ask="ask for lists that hold",
        pair="ask for lists that hold both",
        beside="with",
        links="lists",
        apart="share no list",
        together="For {pairs} of {possible} some list holds both items",
        each="An item is in {span}.",
        others="An item shares a list with {span}.",
        picture="Who shares a list with whom",
    ),
    "labels": Unit(
        noun="label",
        count="Labels given to the item",
        met="",
        fine="the fit converged, and every item has labels",
        settled="no item has few labels or a wide interval",
        ask="ask for more labels for",
    ),
}
"""The units of ``Evidence``. Labels are on one scale, so they have no words on how items connect."""
