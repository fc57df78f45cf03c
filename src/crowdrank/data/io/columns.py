"""Which columns mean what: the layouts that are recognized, and the user's own names for columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from crowdrank.errors import Hint, InputError, Note, Remedy, Retry, UsageError, name_hint


@dataclass(frozen=True)
class Layout:
    """One way to write a kind of judgments: the columns that it needs."""

    kind: str
    needs: tuple[str, ...]


LAYOUTS = (
    Layout("pairs", ("left", "right", "label")),
    Layout("pairs", ("left", "right", "winner")),
    Layout("pairs", ("model_a", "model_b", "winner")),
    Layout("pairs", ("left", "right", "loser")),
    Layout("pairs", ("winner", "loser")),
    Layout("pairs", ("top_item", "bottom_item")),
    Layout("rankings", ("item", "rank")),
    Layout("ratings", ("item", "label")),
    Layout("rankings", ("items", "rank")),
    Layout("ratings", ("items", "label")),
)
"""A cell of ``items`` holds several items, joined by commas, that share the rank or the label."""

OPTIONAL: dict[str, tuple[str, ...]] = {
    "worker": (
        "worker", "judge", "assessor", "annotator", "rater",
        "worker_id", "judge_id", "assessor_id", "annotator_id", "rater_id",
    ),
    "query": ("query", "qid"),
    "weight": ("weight",),
    "timestamp": ("timestamp",),
    "list": ("list",),
}  # fmt: skip
"""Optional roles and the column names that they may have; the first one found counts, and a note names another."""

RIVALS: dict[str, tuple[str, ...]] = {
    "query": ("query_id",),
    "label": ("rating", "score", "grade", "relevance", "response"),
}
"""Names that are not recognized, but might be the role as well as the column that was taken for it."""

BETTER = {"rank": "1 is best", "label": "larger is better"}
"""Which numbers of a role are the better ones."""

PEOPLE = (
    "user", "user_id", "voter", "voter_id", "participant", "participant_id", "labeler", "workerid", "evaluator",
    "evaluator_id", "grader", "grader_id", "reviewer", "reviewer_id", "turker", "turker_id", "judge_model",
)  # fmt: skip
"""Names that are not recognized, but probably say who judged."""

ROLES = tuple(dict.fromkeys([name for layout in LAYOUTS for name in layout.needs] + list(OPTIONAL)))


def outcome_role(columns: Collection[str]) -> str | None:
    """The role, among those of pairs, whose cells say which side won or lost; None if two columns say it."""
    if "left" not in columns and "model_a" not in columns:
        return None
    return next((role for role in ("label", "winner", "loser") if role in columns), None)


def item_roles(columns: Collection[str]) -> list[str]:
    """The roles whose cells are ids of items, without the outcome, which may be a word."""
    outcome = outcome_role(columns)
    return [role for role in columns if role not in OPTIONAL and role not in ("rank", "label", outcome)]


class MissingColumnError(InputError):
    """No layout fits the columns."""


@dataclass(frozen=True)
class RecognizedLayout:
    """A layout found in a file: the column of each role."""

    kind: str
    columns: dict[str, str]  # role -> the file's own column name
    notes: tuple[Note, ...] = ()
    named: frozenset[str] = frozenset()  # the roles that the user named


def split_names(text: str) -> list[str]:
    """The parts of a text between commas; ``\\,`` is a comma within a part."""
    parts = (part.replace("\\,", ",").strip() for part in re.split(r"(?<!\\),", text))
    return [part for part in parts if part]


def join_names(parts: Iterable[str]) -> str:
    """The text that ``split_names`` splits into these parts."""
    return ",".join(part.replace(",", "\\,") for part in parts)


def parse_mapping(text: str) -> dict[str, str]:
    """``worker=judge,left=a`` as a dict; an empty name (``query=``) means that the role is absent."""
    mapping: dict[str, str] = {}
    for part in split_names(text):
        role, sign, name = part.partition("=")
        if not sign:
            raise UsageError(
                f"Columns are given as role=name pairs. Got {part!r}.",
                hint=("For example ", Remedy("columns", "worker=judge,left=a,right=b,label=choice")),
            )
        mapping[role.strip()] = name.strip()
    return mapping


@dataclass(frozen=True)
class Wide:
    """A table with a column per item: the role of its cells (rank or label), and those columns.

    ``others``: the other columns, whose names are taken.
    """

    role: str
    items: tuple[str, ...]
    others: tuple[str, ...] = ()

    def name_for(self, role: str) -> str:
        """The column of a role in the table with a row per cell: its own name, unless another column has it."""
        taken = {name.strip().lower() for name in self.others}
        while role in taken:
            role += "_"
        return role


def wide_columns(names: Sequence[str], mapping: Mapping[str, str] | None) -> Wide | None:
    """``rank=P*`` or ``label=P*``: the columns that match the pattern are items, their cells ranks or labels."""
    for role in ("rank", "label"):
        pattern = (mapping or {}).get(role, "")
        if "*" in pattern and pattern not in names:
            taken = {name for own, name in (mapping or {}).items() if own != role}
            items = tuple(name for name in names if fnmatchcase(name, pattern) and name not in taken)
            return Wide(role, items, tuple(name for name in names if name not in items))
    return None


def recognize(
    names: Sequence[str], mapping: Mapping[str, str] | None, source: str, layouts: Sequence[Layout] = LAYOUTS
) -> RecognizedLayout:
    """Find the kind of judgments that these columns hold.

    ``mapping`` (role -> name) takes precedence over the names in the file; case does not matter.
    """
    mapping = dict(mapping or {})
    unknown = [role for role in mapping if role not in ROLES]
    if unknown:
        hint = name_hint(unknown[0], ROLES, "The roles are")
        raise UsageError(f"There is no column role {unknown[0]!r}.", hint=hint)
    by_role = _by_role(names, mapping, source)
    found = [layout for layout in layouts if all(need in by_role for need in layout.needs)]
    core = {role for role, name in mapping.items() if name and role not in OPTIONAL}
    found = [layout for layout in found if core <= set(layout.needs)]
    if not found:
        raise _missing_error(names, by_role, core, source, layouts)
    kinds = dict.fromkeys(layout.kind for layout in found)
    if len(kinds) > 1:
        raise _kinds_error(found, by_role, mapping, source)
    columns = {need: by_role[need] for need in found[0].needs}
    for role in OPTIONAL:
        if role in by_role:
            columns[role] = by_role[role]
    _refuse_doubles(names, columns, source)
    named = frozenset(role for role, name in mapping.items() if name)
    notes = tuple(_rival_notes(names, columns, named, source))
    if "worker" not in columns and "worker" not in mapping:
        notes += tuple(_unused_worker_notes(names, columns, source))
    return RecognizedLayout(found[0].kind, columns, notes, named)


def _kinds_error(
    found: Sequence[Layout], by_role: Mapping[str, str], given: Mapping[str, str], source: str
) -> InputError:
    """The error if the columns match several kinds of judgments, with a command for each."""
    first = {layout.kind: layout for layout in reversed(found)}
    hint: list[str | Retry] = []
    for kind, layout in reversed(first.items()):
        named = {**given, **{need: by_role[need] for need in layout.needs}}
        remedy = Remedy("columns", join_names(f"{role}={name}" for role, name in named.items()))
        hint += ["\n" if hint else "", f"To read them as {kind}: ", Retry((remedy,))]
    ways = " and ".join(f"{lay.kind} ({', '.join(lay.needs)})" for lay in found)
    problem = f"the columns match more than one kind of judgments: {ways}."
    return InputError(problem, source=source, hint=hint)


def _rival_notes(
    names: Sequence[str], columns: Mapping[str, str], named: frozenset[str], source: str
) -> Iterable[Note]:
    """A note for each role that was taken from one column although another one might be meant."""
    lowered = {name.strip().lower(): name for name in reversed(names)}
    for role, taken in columns.items():
        if role in named:
            continue
        rivals = [*OPTIONAL.get(role, ()), *RIVALS.get(role, ())]
        outcome = role == "label" and "left" in columns
        if outcome:
            rivals = ["winner"]
        others = [lowered[name] for name in rivals if name in lowered and lowered[name] not in columns.values()]
        if others:
            what = "outcome" if outcome else role
            message = f"{source}: the column {taken!r} was read as the {what}, and {others[0]!r} was not used."
            other = f"{'winner' if outcome else role}={others[0]}"
            yield Note("two-columns", message, ("To use the other one: ", Remedy("columns", other)))


def _unused_worker_notes(names: Sequence[str], columns: Mapping[str, str], source: str) -> Iterable[Note]:
    """A note if there is no worker, but a column that probably says who judged."""
    known = {_bare(name) for name in (*PEOPLE, *OPTIONAL["worker"])}
    likely = {_bare(name): own for name, own in reversed(by_likely_name(names).items())}
    free = [own for name, own in likely.items() if name in known and own not in columns.values()]
    for name in free[:1]:
        message = f"{source}: the column {name!r} is not used, so all judgments are by unknown people."
        yield Note("unused-worker", message, ("If it says who judged: ", Remedy("columns", f"worker={name}")))


def _bare(name: str) -> str:
    """A name in lower case, without what separates its words: Worker ID is worker_id."""
    return re.sub(r"[\s_.-]+", "", name.lower())


def by_likely_name(names: Sequence[str]) -> dict[str, str]:
    """Columns by their name in lower case. ``judge.name`` and ``judge.id``, inside of an object, are ``judge``."""
    return {re.sub(r"\.(id|name)$", "", name.strip().lower()): name for name in reversed(names)}


def plain_name(name: str) -> str:
    """The name of a column as it is in the file: Polars renames the second of two that are named alike."""
    return re.sub(r"_duplicated_\d+$", "", name)


def _refuse_doubles(names: Sequence[str], columns: Mapping[str, str], source: str) -> None:
    """Raise an error if two columns have the same name, or names that differ only in case."""
    plain = [plain_name(name).strip().lower() for name in names]
    for name in columns.values():
        if plain.count(name.strip().lower()) > 1:
            raise InputError(
                "there are two columns with this name.", source=source, column=name, hint="Rename one of them."
            )


def doubled_columns(names: Sequence[str]) -> list[str]:
    """The names that Polars made up for columns that are named like another one."""
    return [name for name in names if plain_name(name) != name and plain_name(name) in names]


def doubled_error(source: str, column: str) -> InputError:
    """The error for a name that two columns have."""
    problem = "there are two columns with this name."
    return InputError(problem, source=source, column=plain_name(column), hint="Rename one of them.")


def refuse_repeated_names(names: Sequence[str], source: str, used: Container[str] | None = None) -> None:
    """Raise an error if two columns of a text file are called the same; ``used``: only if it is one of these."""
    for name in doubled_columns(names):
        if used is None or plain_name(name).strip().lower() in used:
            raise doubled_error(source, name)


def _by_role(names: Sequence[str], mapping: Mapping[str, str], source: str) -> dict[str, str]:
    """Role -> column, from the mapping first, then from the file's own names."""
    lowered: dict[str, str] = {}
    for name in names:
        lowered.setdefault(name.strip().lower(), name)
    by_role: dict[str, str] = {}
    for role, name in mapping.items():
        if not name:
            continue
        if name not in names and name.strip().lower() not in lowered:
            raise InputError(
                f"there is no column {name!r}, which was given for {role!r}.",
                source=source,
                hint=name_hint(name, names, "The columns are", repr),
            )
        by_role[role] = name if name in names else lowered[name.strip().lower()]
    taken = set(by_role.values())
    for role in ROLES:
        if role in mapping:
            continue
        for alias in OPTIONAL.get(role, (role,)):
            if alias in lowered and lowered[alias] not in taken:
                by_role[role] = lowered[alias]
                break
    return by_role


def _renaming_hint(
    layouts: Sequence[Layout], lacking: Callable[[Layout], list[str]], names: Sequence[str]
) -> Hint:
    """A hint on which column to name, one for each kind of judgments."""
    lowered = {name.strip().lower(): name for name in reversed(names)}

    def own(role: str) -> str:
        return next((lowered[name] for name in RIVALS.get(role, ()) if name in lowered), "NAME")

    needs = {layout.kind: lacking(layout)[0] for layout in reversed(layouts)}
    ways = {kind: Remedy("columns", join_names([f"{need}={own(need)}"])) for kind, need in needs.items()}
    hint: list[str | Remedy] = ["If it has another name, say "]
    for place, (kind, remedy) in enumerate(reversed(ways.items())):
        better = f", {BETTER[needs[kind]]}" if needs[kind] in BETTER and kind != "pairs" else ""
        hint += [" or " if place else "", remedy, f" ({kind}{better})"]
    return hint


def _missing_error(
    names: Sequence[str], by_role: Mapping[str, str], core: set[str], source: str, layouts: Sequence[Layout]
) -> InputError:
    """The error that names the nearest layout and the columns that it lacks."""

    def lacking(layout: Layout) -> list[str]:
        return [need for need in layout.needs if need not in by_role]

    candidates = [layout for layout in layouts if core <= set(layout.needs)] or list(layouts)
    shares = [len(lacking(layout)) / len(layout.needs) for layout in candidates]
    near = [layout for layout, share in zip(candidates, shares, strict=True) if share == min(shares)]
    lowered = {name.strip().lower() for name in names}
    near.sort(key=lambda layout: not lowered & set(RIVALS.get(lacking(layout)[0], ())))  # rating is likely a label
    closest = near[0]
    shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    if len(lacking(closest)) == len(closest.needs):
        problem = f"these columns are not judgments: {shown}."
        hint = (
            "Pairs have left,right and label (the winner's id) or winner (left, right or tie), or winner,loser; "
            "ratings item,label; rankings item,rank. Name other columns, as in ",
            Remedy("columns", "worker=judge,left=a,right=b,winner=choice"),
            ", or rank=P* if each item has a column",
        )
        return MissingColumnError(problem, source=source, hint=hint)
    column = lacking(closest)[0]
    return MissingColumnError(
        f"missing: {closest.kind} with {', '.join(closest.needs)} need it. The columns are {shown}.",
        source=source,
        column=column,
        hint=_renaming_hint(near, lacking, names),
    )
