"""Everything that can be asked about: items and judges from votes, lists and rules, by codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import LEFT, RIGHT, Anchors, Integers, Pairs, SpooledPairs, read, to_pairs, translate_ids
from crowdrank.data.io.cells import TextCells
from crowdrank.data.io.text_tables import read_text_table
from crowdrank.data.roster import Roster
from crowdrank.errors import InputError, Note, Remedy, UsageError, count_noun, parameter
from crowdrank.kernels.compiled import PACKAGE, can_compile
from crowdrank.kernels.pair_keys import pair_key
from crowdrank.models.base import Model
from crowdrank.models.online import SIGNS
from crowdrank.models.registry import make
from crowdrank.prepared.comparisons import coded_votes
from crowdrank.prepared.votes import Votes
from crowdrank.results import QUALITY, VARIANCE, Beliefs, Posterior
from crowdrank.select.history import History
from crowdrank.select.policy import Policy
from crowdrank.select.question import Question
from crowdrank.select.recorded import Recorded
from crowdrank.select.rules import Rules, codes_of

MANY_VOTES = 200_000
"""With more votes than this, they are learned one by one, which takes seconds."""
ABOUT_FITS = ("not-converged", "disconnected")
"""What a fit says that matters for the next questions too, besides what was noted while the votes were read."""
MANY_ITEMS = 2_000
"""With more items than this, a search that is not compiled is slow."""


@dataclass(frozen=True, eq=False)
class Field:
    """Everything that can be asked about, by codes: the nodes (query, item) and the judges.

    ``table``: the votes; None if nothing was answered. ``asked``: the codes of the judges who can be asked; None
    for anyone. ``left_out``: how many judged items do not take part. ``doubts``: what the user should know about
    the exclusions and the gold.
    """

    table: Pairs | SpooledPairs | None
    query: pl.Series
    item: pl.Series
    worker: pl.Series
    items: Roster | None
    judges: Roster | None
    asked: list[int] | None
    left_out: int
    doubts: list[Note] = field(default_factory=list)

    @classmethod
    def of(cls, judgments: Any, items: Any, judges: Any) -> Field:
        """From what was answered so far, the items that take part, and the judges who can be asked."""
        table = None if judgments is None else to_pairs(read(judgments))
        listed = None if items is None else Roster.read(items, "item")
        people = None if judges is None else Roster.read(judges, "worker")
        nodes = _judged_nodes(table)
        if table is None and listed is None:
            raise UsageError(
                "Without votes, the items must be listed.",
                hint=("Give a file of items: ", Remedy("items", "FILE")),
            )
        left_out = 0
        if listed is not None:
            nodes, left_out = _listed_nodes(
                nodes, listed, by_query=table is not None and table.index.queries is not None
            )
        known = pl.Series("worker", [], pl.String)
        if table is not None and table.index.workers is not None:
            known = table.index.workers.rename("worker")
        asked = None
        if people is not None:
            fresh = [own for own in people.ids if own not in set(known)]
            known = pl.concat([known, pl.Series("worker", fresh, pl.String)])
            asked = translate_ids(pl.Series(people.ids), known).tolist()
        if len(nodes) < 2:
            raise InputError(f"A question needs two items, and there are {len(nodes)}.")
        return cls(table, nodes["query"], nodes["item"], known, listed, people, asked, left_out)

    @property
    def votes(self) -> int:
        """How many votes there are."""
        return 0 if self.table is None else self.table.rows

    def fit(self, model: Model | str | None, anchors: Any, seed: int) -> tuple[Posterior | None, tuple[Note, ...]]:
        """What the votes say; None if there are none."""
        if self.table is None:
            return None, ()
        notes: tuple[Note, ...] = ()
        if model is None:
            name = "bt" if self.table.index.workers is None else "crowd-bt"
            if name == "crowd-bt" and self.votes > MANY_VOTES:
                name = "online-crowd-bt"
                message = f"There are more than {MANY_VOTES} votes, so they are learned one by one."
                notes = (Note("many-votes", message),)
            model = name
        fitted = make(model, {"seed": seed}) if isinstance(model, str) else model.clone()
        fitted.fit(self.table, anchors=anchors)
        said = [note for note in fitted.fit_.warnings if note in self.table.notes or note.code in ABOUT_FITS]
        notes = (*notes, *said)
        if not isinstance(fitted.posterior_, Posterior):
            raise UsageError(
                f"{fitted.name} has no posterior, so it cannot say what is uncertain.",
                hint="Use bt, crowd-bt, judge-bt or online-crowd-bt.",
            )
        return fitted.posterior_, notes

    def beliefs(self, posterior: Posterior | None) -> Beliefs:
        """What is known about every node and judge; those without votes start at the population's values."""
        count, people = len(self.item), len(self.worker)
        if posterior is None:
            prior = (np.zeros(count), np.full(count, VARIANCE), np.ones(people))
            return Beliefs(*prior, np.full(people, QUALITY[0]), np.full(people, QUALITY[1]))
        own = Beliefs.of(posterior)
        found = self._codes(posterior.query, posterior.item)
        inside = found >= 0
        mean, variance = np.zeros(count), np.full(count, own.new_variance)
        mean[found[inside]], variance[found[inside]] = own.mean[inside], own.variance[inside]
        slope, alpha, beta = (
            np.ones(people),
            np.full(people, own.new_quality[0]),
            np.full(people, own.new_quality[1]),
        )
        if posterior.worker is not None and len(own.slope):
            who = translate_ids(posterior.worker, self.worker)
            slope[who], alpha[who], beta[who] = own.slope, own.alpha, own.beta
        return Beliefs(mean, variance, slope, alpha, beta, own.new_variance, own.new_quality)

    def _codes(self, query: pl.Series, item: pl.Series) -> Integers:
        """The code of each (query, item); -1 if it does not take part."""
        own = pl.DataFrame({"query": self.query, "item": self.item}).with_row_index("code")
        asked = pl.DataFrame({"query": query, "item": item}, schema={"query": pl.String, "item": pl.String})
        found = asked.join(own, on=["query", "item"], how="left", nulls_equal=True, maintain_order="left")
        return found["code"].cast(pl.Int64).fill_null(-1).to_numpy()

    def coded_votes(self) -> Recorded:
        """The votes between nodes that take part, in their order."""
        assert self.table is not None
        votes = Votes(self.table)
        place = self._codes(votes.queries(), votes.items())
        parts = []
        for pairs in self.table.batches():
            coded = coded_votes(votes.nodes, pairs)
            left, right = place[coded.left], place[coded.right]
            judge = np.full(len(left), -1) if coded.worker is None else coded.worker.astype(np.int64)
            fine = (left >= 0) & (right >= 0) & (left != right)
            parts.append((left[fine], right[fine], SIGNS[coded.outcome][fine].astype(np.int64), judge[fine]))
        left, right, said, judge = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Recorded(left, right, said, judge, len(self.item), len(self.worker))

    def history(self) -> History:
        """What was asked so far."""
        count, people = len(self.item), len(self.worker)
        if self.table is None:
            return History(count, people)
        votes = self.coded_votes()
        return History.of_votes(count, people, votes.left, votes.right, votes.judge)

    def known_items(self, beliefs: Beliefs, history: History) -> pl.DataFrame:
        """What is known about every node: query, item, score, stderr, votes."""
        return pl.DataFrame(
            {
                "query": self.query,
                "item": self.item,
                "score": beliefs.mean.copy(),
                "stderr": np.sqrt(beliefs.variance),
                "votes": history.voted.astype(np.int64),
            }
        )

    def rules(self, policy: Policy, exclude: Any) -> Rules:
        """Groups by query and by attributes that must agree, and everything that must not meet."""
        count = len(self.item)
        same = [self.query.to_list(), *(self._item_values(name) for name in policy.same)]
        group = codes_of(list(zip(*same, strict=True)))
        apart = [codes_of(self._item_values(name)) for name in policy.differ]
        apart = [np.where(own < 0, count + np.arange(count), own) for own in apart]  # a missing value differs
        item_own, judge_own = np.zeros((count, 0), np.int64), np.zeros((len(self.worker), 0), np.int64)
        if policy.own:
            item_own, judge_own = self._own(policy.own)
        excluded, hidden = self._exclusions(exclude)
        columns = np.stack(apart, axis=1) if apart else np.zeros((count, 0), np.int64)
        return Rules(group, columns, item_own, judge_own, excluded, hidden)

    def _item_values(self, name: str) -> list[str | None]:
        """An attribute of every node."""
        if self.items is None:
            raise UsageError(
                f"The rules name the attribute {name!r} of items.",
                hint="Give a file of items that has it as a column.",
            )
        values = self.items.frame.select(
            *(["query"] if self.items.by_query else []), "item", value=self.items.attribute(name)
        )
        keys = ["query", "item"] if self.items.by_query else ["item"]
        nodes = pl.DataFrame({"query": self.query, "item": self.item})
        return nodes.join(values, on=keys, how="left", nulls_equal=True, maintain_order="left")["value"].to_list()

    def _own(self, names: Sequence[str]) -> tuple[Integers, Integers]:
        """Codes of the attributes that items and judges must not share."""
        if self.judges is None:
            raise UsageError(
                f"The rule 'own' compares {', '.join(names)} of judges and items.",
                hint="Give a file of judges that has it as a column.",
            )
        rows = []
        for name in names:
            mine = dict(zip(self.judges.ids, self.judges.attribute(name), strict=True))
            values = [*self._item_values(name), *(mine.get(worker) for worker in self.worker)]
            rows.append(codes_of(values))
        both = np.stack(rows, axis=1)
        return both[: len(self.item)], both[len(self.item) :]

    def _exclusions(self, exclude: Any) -> tuple[Integers, dict[int, frozenset[int]]]:
        """Keys of pairs that are never asked, and the items that a judge never sees."""
        if exclude is None:
            return np.zeros(0, np.int64), {}
        frame, name, columns = read_text_table(exclude, "Exclusions")
        cells = TextCells(frame, {column: column for column in frame.columns}, name)
        query = cells.frame[columns["query"]] if "query" in columns else None
        if {"left", "right"} <= columns.keys():
            sides = [self._codes_anywhere(query, cells.required(columns[side])) for side in ("left", "right")]
            self._doubt_exclusions(name, [bool(one and two) for one, two in zip(*sides, strict=True)])
            keys = [int(pair_key(i, j)) for i, j in self._pairs_of(*sides)]
            return np.unique(np.array(keys, np.int64)), {}
        if {"worker", "item"} <= columns.keys():
            if self.asked is None:
                raise UsageError(
                    f"{name} hides items from judges, but these questions are for anyone.",
                    hint=("Say who can be asked: ", Remedy("judges", "FILE")),
                )
            who = {worker: code for code, worker in enumerate(self.worker)}
            hidden: dict[int, set[int]] = {}
            places = self._codes_anywhere(query, cells.required(columns["item"]))
            workers = cells.required(columns["worker"]).to_list()
            self._doubt_exclusions(
                name, [worker in who and bool(own) for worker, own in zip(workers, places, strict=True)]
            )
            for worker, own in zip(workers, places, strict=True):
                if worker in who:
                    hidden.setdefault(who[worker], set()).update(own)
            return np.zeros(0, np.int64), {judge: frozenset(own) for judge, own in hidden.items()}
        shown = ", ".join(map(repr, frame.columns))
        raise InputError(
            f"exclusions need the columns left and right, or worker and item. The columns are {shown}.",
            source=name,
        )

    def _doubt_exclusions(self, name: str, used: list[bool]) -> None:
        """Say how many rows name something unknown: a misspelled exclusion would exclude nothing."""
        unknown = used.count(False)
        if unknown:
            count = f"{unknown} of {count_noun(len(used), 'exclusion')}"
            verb = "names" if unknown == 1 else "name"
            message = f"{name}: {count} {verb} items or workers that do not take part."
            self.doubts.append(Note("unknown-exclusions", message))

    def _codes_anywhere(self, query: pl.Series | None, item: pl.Series) -> list[list[int]]:
        """The codes of each item, in its query or in all of them."""
        places: dict[Any, list[int]] = {}
        for code, (own_query, own_item) in enumerate(zip(self.query, self.item, strict=True)):
            places.setdefault(own_item if query is None else (own_query, own_item), []).append(code)
        keys = item if query is None else zip(query, item, strict=True)
        return [places.get(key, []) for key in keys]

    def gold(self, anchors: Any, *, workers: bool = True) -> Integers:
        """Gold pairs between nodes that take part. ``workers``: a fit uses the known quality of workers."""
        known = Anchors() if anchors is None else Anchors.read(anchors)
        qualities = None if workers else known.workers
        unused = (("true lists", known.lists), ("known labels", known.labels), ("known workers", qualities))
        for what, given in unused:
            if given is not None:
                self.doubts.append(Note("anchors", f"Questions do not depend on {what}; the anchors are ignored."))
        if known.pairs is None:
            return np.zeros((0, 2), np.int64)
        own = known.pairs
        query = None if own.query is None or own.index.queries is None else own.index.queries.gather(own.query)
        better = np.where(own.outcome == 1, own.right, own.left)
        worse = np.where(own.outcome == 1, own.left, own.right)
        sides = [self._codes_anywhere(query, own.index.items.gather(side)) for side in (better, worse)]
        unknown = sum(not (one and two) for one, two in zip(*sides, strict=True))
        if unknown:
            message = f"{unknown} of {own.rows} gold pairs name items that do not take part."
            self.doubts.append(Note("anchors", message))
        return np.array(self._pairs_of(*sides), np.int64).reshape(-1, 2)

    def _pairs_of(self, one: list[list[int]], other: list[list[int]]) -> list[tuple[int, int]]:
        """Pairs of codes of the same query, from the codes of two columns of items."""
        rows = zip(one, other, strict=True)
        return [(i, j) for left, right in rows for i in left for j in right if self.query[i] == self.query[j]]

    def choose_gamma(self, policy: Policy, gold: Integers, seed: int) -> Policy:
        """The policy with the gamma that does best on the gold pairs."""
        from crowdrank.select.gold_gamma import gamma_by_gold

        if not len(gold) or self.table is None or self.table.index.workers is None:
            raise UsageError(
                "gamma=gold needs gold pairs and recorded votes of known workers.",
                hint="Give gold pairs as anchors, or choose another gamma.",
            )
        return gamma_by_gold(self.coded_votes(), gold, policy, seed=seed)

    def named(self, found: list[Question]) -> pl.DataFrame:
        """The questions with ids. Their numbers go on after the votes."""
        left = np.array([question.left for question in found], np.int64)
        right = np.array([question.right for question in found], np.int64)
        columns: dict[str, Any] = {
            "question": pl.Series(range(self.votes + 1, self.votes + 1 + len(found)), dtype=pl.Int64),
            "query": self.query.gather(left),
            "left": self.item.gather(left),
            "right": self.item.gather(right),
        }
        if self.asked is not None:
            columns["worker"] = self.worker.gather(np.array([question.judge for question in found], np.int64))
        columns |= {"gain": [question.gain for question in found], "why": [question.why for question in found]}
        return pl.DataFrame(columns, schema_overrides={"gain": pl.Float64, "why": pl.String})

    def notes(self, found: list[Question], count: int) -> list[Note]:
        """What the user should know about the questions."""
        notes = list(self.doubts)
        if self.left_out:
            words = "1 judged item is" if self.left_out == 1 else f"{self.left_out} judged items are"
            notes.append(Note("not-listed", f"{words} not listed, and not asked about."))
        if len(found) < count:
            there = "There is only" if len(found) == 1 else "There are only"
            message = (
                f"{there} {count_noun(len(found), 'question')}, not {count}: caps, exclusions and the floor leave "
                "no other pair."
            )
            hint = ("To ask a judge the same pair again: ", parameter("repeats", "true"))
            notes.append(Note("fewer-questions", message, hint))
        if len(self.item) > MANY_ITEMS and not can_compile():
            message = "The search for the best pair is not compiled, and slow for so many items."
            notes.append(Note("slow-search", message, hint=f"pip install '{PACKAGE}'"))
        return notes


def _judged_nodes(table: Pairs | SpooledPairs | None) -> pl.DataFrame:
    """Query and item of every judged node."""
    schema = {"query": pl.String, "item": pl.String}
    if table is None:
        return pl.DataFrame(schema=schema)
    votes = Votes(table)
    return pl.DataFrame({"query": votes.queries(), "item": votes.items()}, schema=schema)


def _listed_nodes(nodes: pl.DataFrame, listed: Roster, *, by_query: bool) -> tuple[pl.DataFrame, int]:
    """The nodes that take part, and how many judged ones do not."""
    if listed.by_query:
        if len(nodes) and not by_query:
            raise InputError(
                "the items are listed by query, but the votes have no query column.", source=listed.source,
                column="query",
            )  # fmt: skip
        own = listed.frame.select("query", "item")
        keys = ["query", "item"]
    elif by_query:
        own = nodes.join(listed.frame.select("item"), on="item", how="semi", maintain_order="left")
        keys = ["query", "item"]
    else:
        own = listed.frame.select(pl.lit(None, pl.String).alias("query"), "item")
        keys = ["item"]
    return own, len(nodes.join(own, on=keys, how="anti", nulls_equal=True))


def join_votes(tables: Sequence[Pairs | SpooledPairs]) -> Pairs | SpooledPairs:
    """The votes of several tables, in sequence. All must have queries, or none."""
    if len(tables) == 1:
        return tables[0]
    frames = []
    for table in tables:
        for pairs in table.batches():
            index = pairs.index
            left, right = (index.items.gather(side) for side in (pairs.left, pairs.right))
            label = pl.select(
                pl.when(pl.lit(pl.Series(pairs.outcome == LEFT))).then(left)
                .when(pl.lit(pl.Series(pairs.outcome == RIGHT))).then(right).otherwise(pl.lit("tie"))
            ).to_series()  # fmt: skip
            columns = {"left": left, "right": right, "label": label}
            if pairs.worker is not None and index.workers is not None:
                columns["worker"] = index.workers.gather(pairs.worker)
            if pairs.query is not None and index.queries is not None:
                columns["query"] = index.queries.gather(pairs.query)
            frames.append(pl.DataFrame(columns))
    if len({frozenset(frame.columns) for frame in frames}) > 1:
        raise InputError("Some of the votes name queries or workers, and others do not.")
    return to_pairs(read(pl.concat([frame.select(frames[0].columns) for frame in frames])))
