"""Ratings and rankings whose columns have other names than expected: used to say how to read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from crowdrank.data.io.columns import BETTER, OPTIONAL, PEOPLE, RIVALS, by_likely_name, join_names
from crowdrank.errors import InputError, Remedy, Retry

ITEMS = (
    "item", "item_id", "itemid", "doc", "doc_id", "docid", "document", "document_id", "passage", "passage_id",
    "text", "text_id", "task", "task_id", "image", "image_id", "image_url", "product", "product_id", "url",
    "title", "sample", "sample_id", "example", "example_id", "object", "object_id", "candidate", "option",
    "alternative", "model",
)  # fmt: skip
RANKS = ("rank", "ranking", "position", "place", "ranked")
LABELS = (
    "label", *RIVALS["label"], "relevant", "class", "category", "stars", "answer", "annotation", "judgment",
    "judgement", "response", "tag", "vote", "verdict", "value", "rel",
    "points", "mark", "marks", "scores", "ratings", "grades", "votes",
)  # fmt: skip
WORKERS = (*OPTIONAL["worker"], *PEOPLE, "who", "coder", "expert", "person", "system", "engine", "run")
QUERIES = (
    *OPTIONAL["query"], *RIVALS["query"], "topic", "topic_id", "question", "question_id", "prompt", "prompt_id",
)  # fmt: skip
"""Names that columns of a role often have, the likeliest first. None of them is read without being named."""


@dataclass(frozen=True)
class GradedColumns:
    """The columns by role, if their names are those of ratings or rankings."""

    roles: Mapping[str, str]

    def error(self, source: str) -> InputError:
        """The error that says what the table seems to hold, and how to read it."""
        item, what = self.roles["item"], "rank" if "rank" in self.roles else "label"
        kind = "a place in a list" if what == "rank" else "a rating"
        columns = join_names(
            f"{role}={name}"
            for role, name in self.roles.items()
            if name.strip().lower() not in OPTIONAL.get(role, (role,))
        )
        return InputError(
            f"each row seems to be {kind}: {item!r} the item, and {self.roles[what]!r} its {what} "
            f"({BETTER[what]}).",
            source=source,
            hint=("Read it with ", Retry((Remedy("columns", columns),))),
        )


def find_graded(names: Sequence[str], given: Mapping[str, str]) -> GradedColumns | None:
    """The columns that are probably ratings or rankings by their names; ``given``: those that the user named.

    If none has the name of an item, it is the only one that has no other role.
    """
    free = [name for name in names if name not in given.values()]
    roles = dict(given)
    for role, known in (("item", ITEMS), ("rank", RANKS), ("label", LABELS), ("worker", WORKERS)):
        if role not in roles and not (role == "label" and "rank" in roles):
            _take(role, known, free, roles)
    if not {"rank", "label"} & set(roles) or not set(roles) <= _ROLES:
        return None
    if "query" not in roles:
        _take("query", QUERIES, free, roles)
    if "item" not in roles:
        others = [name for name in free if name.strip().lower() not in _ROLES]
        if len(others) != 1:
            return None
        roles = {"item": others[0], **roles}
    return GradedColumns(roles)


def likely_item(names: Sequence[str]) -> str | None:
    """The column that probably names the item."""
    roles: dict[str, str] = {}
    _take("item", ITEMS, list(names), roles)
    return roles.get("item")


_ROLES = {"item", "rank", "label", *OPTIONAL}


def _take(role: str, known: Collection[str], free: list[str], roles: dict[str, str]) -> None:
    """Give the role the free column with the likeliest name, if there is one."""
    lowered = {name.replace(" ", "_"): own for name, own in by_likely_name(free).items()}
    found = next((lowered[name] for name in known if name in lowered), None)
    if found is not None:
        roles[role] = found
        free.remove(found)
