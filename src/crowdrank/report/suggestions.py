"""What would make a ranking more certain: which pairs and items to ask about, which workers to check."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import polars as pl

from crowdrank.errors import count_noun
from crowdrank.report.content import Suggestion
from crowdrank.report.next_votes import NextPair
from crowdrank.report.rounding import significant, tidy
from crowdrank.report.units import UNITS, Unit
from crowdrank.report.words import percent, quote_name, signed

MOST = 3
NAMES = 5
OPEN = 0.1
"""An interval of labels is wide if it covers at least this share of their range."""


NextRows = tuple[dict[str, Any], dict[str, Any], NextPair]
"""Two rows of a ranking that should be compared, and why."""


def suggestions(
    ranking: pl.DataFrame,
    workers: pl.DataFrame | None,
    unit: str = "votes",
    next_rows: Sequence[NextRows] = (),
    one_sided: Collection[str] = (),
) -> tuple[Suggestion, ...]:
    """Suggestions from the rows of a ranking with their evidence, best first, and from the workers.

    ``ranking`` has the columns of a ranking, and comparisons, opponents and part. ``unit`` says what the
    comparisons are: votes, lists or labels. Labels are requested item by item and connect no items. Votes are
    requested for the pairs in ``next_rows``. Workers who are ``one_sided`` are not asked again.
    """
    words = UNITS[unit]
    if unit == "votes":
        found = list(dict.fromkeys(_next_pair(*own) for own in next_rows))  # a pair may be asked about twice
    else:
        found = [*(_unsure if unit == "labels" else _wide)(ranking, words), *_few(ranking, words)]
        found = found if unit == "labels" else [*_bridges(ranking, words), *_pairs(ranking, words), *found]
    return (*found, *(() if workers is None else _workers(workers, one_sided)))


def _next_pair(one: dict[str, Any], other: dict[str, Any], pair: NextPair) -> Suggestion:
    """A pair to ask about, and why."""
    start = f"Ask about {quote_name(one['item'])} and {quote_name(other['item'])}{_inside(one)}: "
    if not pair.linked:
        reason = "no chain of votes links them, so nothing says which one is better."
    elif pair.ahead is None:
        counts = " and ".join(_count(row["comparisons"], "vote") for row in (one, other))
        reason = f"they have fewer votes than most, {counts}."
    else:
        ranks = [f"from {row['rank_low']} to {row['rank_high']}" for row in (one, other)]
        reason = (
            f"{quote_name(one['item'])} is ahead with a probability of only {percent(pair.ahead)}; it may rank "
            f"{ranks[0]}, and {quote_name(other['item'])} {ranks[1]}."
        )
    if one["rank"] == 1 and pair.linked and pair.ahead is not None:
        start = f"The first place is open. {start}"
    return Suggestion(
        "pair" if pair.linked else "bridge", start + reason, one["query"], (one["item"], other["item"])
    )


def _bridges(ranking: pl.DataFrame, unit: Unit) -> Iterator[Suggestion]:
    """One pair for each unconnected group: its most compared item, and that of the largest group."""
    groups = (
        ranking.sort("comparisons", descending=True, maintain_order=True)
        .group_by("query", "part", maintain_order=True)
        .agg(pl.first("item"), size=pl.len())
        .with_columns(largest=pl.col("size").max().over("query"), groups=pl.len().over("query"))
        .filter(pl.col("groups") > 1)
        .sort("query", "size", descending=[False, True], nulls_last=True, maintain_order=True)
    )
    loose = 0
    main: dict[str, Any] = {}
    for row in groups.iter_rows(named=True):
        if not main or main["query"] != row["query"]:
            main = row
            continue
        loose += 1
        if loose <= MOST:
            yield Suggestion(
                "bridge",
                f"{_capitalize(unit.pair)} {quote_name(main['item'])} and {quote_name(row['item'])}"
                f"{_inside(row)}: this would join a group of {_count(row['size'], 'item')} to the largest group "
                f"of {_count(main['size'], 'item')}.",
                row["query"],
                (main["item"], row["item"]),
            )
    if loose > MOST:
        needs = "needs" if loose - MOST == 1 else "need"
        yield Suggestion("bridge", f"{_count(loose - MOST, 'more group')} {needs} such a link.")


def _pairs(ranking: pl.DataFrame, unit: Unit) -> Iterator[Suggestion]:
    """Neighbors in rank that cannot be told apart: the best ranked first, then the least certain."""
    after = ranking.select(pl.all().shift(-1).name.suffix("_next"))
    open_pairs = (
        ranking.with_row_index("place")
        .hstack(after)
        .filter(
            pl.col("query").eq_missing(pl.col("query_next")),
            pl.col("tier") == pl.col("tier_next"),
            pl.col("part") == pl.col("part_next"),
        )
        .with_columns(
            width=pl.col("rank_high") + pl.col("rank_high_next") - pl.col("rank_low") - pl.col("rank_low_next"),
        )
        .sort("rank", "width", descending=[False, True], maintain_order=True)
    )
    used: set[int] = set()
    for row in open_pairs.head(MOST * MOST).iter_rows(named=True):
        if len(used) == 2 * MOST or used & {row["place"], row["place"] + 1}:
            continue
        used |= {row["place"], row["place"] + 1}
        start = f"The first place is open: {unit.pair}" if row["rank"] == 1 else _capitalize(unit.pair)
        yield Suggestion(
            "pair",
            f"{start} {quote_name(row['item'])} and {quote_name(row['item_next'])}{_inside(row)}: they are "
            f"neighbors at ranks {row['rank']} and {row['rank'] + 1}, and these {unit.noun}s cannot tell "
            "them apart.",
            row["query"],
            (row["item"], row["item_next"]),
        )


def _wide(ranking: pl.DataFrame, unit: Unit) -> Iterator[Suggestion]:
    """The items whose rank is least certain, by the share of their query that the rank interval covers."""
    median = ranking["comparisons"].median()
    width = pl.col("rank_high") - pl.col("rank_low")
    rows = (
        ranking.with_columns(size=pl.len().over("query"))
        .filter(width >= 2, pl.col("comparisons") > 0)
        .sort(width / pl.col("size"), "comparisons", descending=[True, False], maintain_order=True)
    )
    for row in rows.head(MOST).iter_rows(named=True):
        yield Suggestion(
            "item",
            f"{quote_name(row['item'])}{_inside(row)} may rank anywhere from {row['rank_low']} to "
            f"{row['rank_high']}: it has {_count(row['comparisons'], unit.noun)} {unit.beside} "
            f"{_count(row['opponents'], 'other item')}; the median item has {_count(median, unit.noun)}.",
            row["query"],
            (row["item"],),
        )


def _unsure(ranking: pl.DataFrame, unit: Unit) -> Iterator[Suggestion]:
    """The items whose score is least certain. Ranks stay open whenever many items share a label."""
    median = ranking["comparisons"].median()
    width = pl.col("high") - pl.col("low")
    rows = ranking.filter(pl.col("comparisons") > 0, width.is_finite(), width > 0)
    rows = rows.filter(width >= OPEN * (pl.col("high").max() - pl.col("low").min()))
    rows = rows.sort(width, "comparisons", descending=[True, False], maintain_order=True)
    for row in rows.head(MOST).iter_rows(named=True):
        low, high = (signed(significant(row[end])) for end in ("low", "high"))
        yield Suggestion(
            "item",
            f"{_capitalize(unit.ask)} {quote_name(row['item'])}{_inside(row)}: its score may be anywhere from "
            f"{low} to {high}; it has {_count(row['comparisons'], unit.noun)}, the median item has "
            f"{_count(median, unit.noun)}.",
            row["query"],
            (row["item"],),
        )


def _few(ranking: pl.DataFrame, unit: Unit) -> Iterator[Suggestion]:
    """Items with less than half the judgments of the median item."""
    median = ranking["comparisons"].median()
    rows = ranking.filter(pl.col("comparisons") * 2 < median).sort("comparisons", maintain_order=True)
    if rows.is_empty():
        return
    shown = rows.head(NAMES)
    named = [
        f"{quote_name(row['item'])}{_inside(row)} ({_count(row['comparisons'], unit.noun)})"
        for row in shown.iter_rows(named=True)
    ]
    yield Suggestion(
        f"few-{unit.noun}s",
        f"{_count(len(rows), 'item')} {'has' if len(rows) == 1 else 'have'} less than half the {unit.noun}s of "
        f"the median item ({_count(median, unit.noun)}); {unit.ask} {_list_names(named, len(rows))} first.",
        items=tuple(shown["item"]),
    )


def _workers(workers: pl.DataFrame, one_sided: Collection[str]) -> Iterator[Suggestion]:
    """Workers to check or leave out, and workers who should judge more, except those who are one-sided."""
    total = float(workers["judgments"].sum())
    advice = {
        "malicious": "Check {who}: they mostly answer against the ranking, on purpose or because they misread "
        "the question. They gave {part} of all judgments.",
        "spammer": "Check {who}, or leave them out: they seem to answer at random. They gave {part} "
        "of all judgments.",
        "unsure": "Ask {who} for more judgments: theirs, {part} of all, are too few, too mixed or about items "
        "too close to show how good they are.",
    }  # fmt: skip
    for verdict, sentence in advice.items():
        rows = workers.filter(verdict=verdict)
        if verdict == "unsure":
            rows = rows.filter(~pl.col("worker").is_in(list(one_sided)))
        rows = rows.sort(pl.col("high") - pl.col("low") if verdict == "unsure" else "judgments", descending=True)
        if rows.is_empty():
            continue
        shown = rows.head(NAMES)
        names = [
            f"{quote_name(row['worker'])} ({_count(row['judgments'], 'judgment')})"
            for row in shown.iter_rows(named=True)
        ]
        kind = f"{verdict} worker" if verdict != "spammer" else verdict
        who = f"{_count(len(rows), kind)}, {_list_names(names, len(rows))}"
        share = float(rows["judgments"].sum()) / total if total else 0.0
        yield Suggestion(
            f"{verdict}-workers", sentence.format(who=who, part=percent(share)), workers=tuple(shown["worker"])
        )


def _inside(row: dict[str, Any]) -> str:
    return "" if row["query"] is None else f" of query {quote_name(row['query'])}"


def _count(number: Any, noun: str) -> str:
    return count_noun(tidy(number), noun)


def _capitalize(words: str) -> str:
    """Words as the start of a sentence."""
    return words[0].upper() + words[1:]


def _list_names(names: Sequence[str], total: int) -> str:
    """The names in words, then how many more there are."""
    if total > len(names):
        return f"{', '.join(names)} and {total - len(names):,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
