"""PrefLib files: the orders of the voters, checked against what the header says about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crowdrank.errors import InputError, Note, count_noun

_FACT = re.compile(r"#\s*(DATA TYPE|NUMBER [A-Z ]+):\s*(.*\S)")
_NAME = re.compile(r"#\s*ALTERNATIVE NAME (\S+?):\s*(.*\S)")
_ORDER = re.compile(r"((\s*\{[^{}]*\}\s*|[^,{}]+)(,|$))*")
_INCOMPLETE = {"soc": "soi", "toc": "toi"}
"""For each type of complete orders, the one of orders that may be incomplete."""
_SHOWN = 80


@dataclass(frozen=True)
class Order:
    """A line ``count: 1,{2,3},4``: alternatives, best first, ``groups`` of tied ones."""

    row: int
    line: str
    count: str
    groups: tuple[tuple[str, ...], ...]

    @property
    def alternatives(self) -> list[str]:
        """All of them, in one list."""
        return [own for group in self.groups for own in group]


@dataclass(frozen=True)
class Orders:
    """A file. ``given``: the names of the alternatives. ``facts``: other lines of the header, with their rows."""

    source: str
    orders: tuple[Order, ...]
    given: Mapping[str, str]
    facts: Mapping[str, tuple[int, str]]

    @property
    def names(self) -> Mapping[str, str]:
        """The names of the alternatives; empty if two have the same."""
        return self.given if self._twins() is None else {}

    def notes(self) -> tuple[Note, ...]:
        """What the header says and the orders do not show."""
        found = (self._same_name(), *self._mismatches(), self._incomplete())
        return tuple(Note("preflib-header", f"{self.source}{text}", hint) for text, hint in filter(None, found))

    def require_declared(self) -> None:
        """Raise an error if an order has an alternative that the header does not have, or one twice."""
        for order in self.orders:
            seen = set[str]()
            for own in order.alternatives:
                if own in seen:
                    problem, hint = "the order has an alternative twice.", "Write each alternative once."
                elif not self._declares(own):
                    problem = "the order has an alternative that the header does not declare."
                    hint = f"Correct it, or declare it in the header: # ALTERNATIVE NAME {own}: its name"
                else:
                    seen.add(own)
                    continue
                raise InputError(problem, source=self.source, row=order.row, value=own, hint=hint)

    def _declares(self, own: str) -> bool:
        most = self._number("NUMBER ALTERNATIVES")
        if own in self.given or (most is None and not self.given):
            return True
        return 1 <= (_whole(own) or 0) <= (most or 0)

    def _number(self, fact: str) -> int | None:
        return _whole(self.facts[fact][1]) if fact in self.facts else None

    def _twins(self) -> tuple[str, str] | None:
        """Two alternatives with one name."""
        first: dict[str, str] = {}
        return next(((first[n], own) for own, n in self.given.items() if first.setdefault(n, own) != own), None)

    def _same_name(self) -> tuple[str, str] | None:
        if (twins := self._twins()) is None:
            return None
        message = f"alternatives {twins[0]} and {twins[1]} have the same name, {self.given[twins[0]]!r}"
        return f": {message}, so all items go by their numbers.", "Give each alternative a name of its own."

    def _mismatches(self) -> Iterator[tuple[str, str]]:
        """Each number of the header that is not what the file has."""
        voters = sum(_whole(order.count) or 0 for order in self.orders)
        counted = (
            ("ALTERNATIVES", len(self.given) or None, "alternative", "names"),
            ("VOTERS", voters, "voter", "the orders count"),
            ("UNIQUE ORDERS", len(self.orders), "order", "there are"),
        )
        for fact, count, noun, verb in counted:
            said = self._number(f"NUMBER {fact}")
            if said is not None and count is not None and said != count:
                row, _ = self.facts[f"NUMBER {fact}"]
                message = f", row {row}: the header says {count_noun(said, noun)}, but {verb} {count:,}."
                yield message, "Check whether lines are missing. If none is, correct this number."

    def _incomplete(self) -> tuple[str, str] | None:
        _, kind = self.facts.get("DATA TYPE", (0, self.source.rpartition(".")[2]))
        every = len(self.given) or self._number("NUMBER ALTERNATIVES")
        short = [order for order in self.orders if every is not None and len(order.alternatives) < every]
        if kind not in _INCOMPLETE or not short:
            return None
        has = count_noun(len(short), "order does", "orders do")
        message = f": {has} not have all {every} alternatives, but the type {kind} is for complete orders."
        hint = f"Correct the order, or write '# DATA TYPE: {_INCOMPLETE[kind]}' if orders may be incomplete."
        return f"{message} Row {short[0].row}: {short[0].line[:_SHOWN]!r}.", hint


def _whole(text: str) -> int | None:
    """A number of a usual size; None if the text is none."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def read_orders(source: str, lines: Sequence[tuple[int, str]]) -> Orders:
    """The orders of a file from its numbered lines."""
    names: dict[str, str] = {}
    facts: dict[str, tuple[int, str]] = {}
    orders = []
    for row, line in lines:
        if not line.startswith("#"):
            orders.append(_read_order(source, row, line))
        elif found := _NAME.match(line):
            names[found[1]] = found[2]
        elif found := _FACT.match(line):
            facts[found[1]] = (row, found[2])
    read = Orders(source, tuple(orders), names, facts)
    read.require_declared()
    return read


def _read_order(source: str, row: int, line: str) -> Order:
    count, sign, order = line.partition(":")
    if not sign or not count.strip().isdigit() or not _ORDER.fullmatch(order):
        raise InputError("is not 'count: order'.", source=source, row=row, value=line[:_SHOWN])
    groups = re.findall(r"\{[^}]*\}|[^,{}\s][^,{}]*", order)
    parts = (tuple(part.strip() for part in group.strip("{}").split(",")) for group in groups)
    return Order(row, line.strip(), count.strip(), tuple(tuple(own for own in group if own) for group in parts))
