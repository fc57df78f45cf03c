"""Ids that may mean the same although they differ, and ids that are broken."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

import polars as pl

from crowdrank.data.suspicions.origins import SHOWN, count_words
from crowdrank.errors import Note

Groups = Sequence[Sequence[str]]
INVISIBLE = "[\u00ad\u200b-\u200f\u2060\ufeff]"
"""Soft hyphens, zero-width spaces and joiners, marks of direction, byte order marks."""
_WINDOWS = "\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122"
# the sign for a byte that could not be read, or two bytes of UTF-8 that were read as Windows-1252
_BROKEN = f"\ufffd|[\u00c2-\u00f4][\u0080-\u00bf{_WINDOWS}]"
_SPACES, _BETWEEN_DIGITS = re.compile(r"\s+"), re.compile(r"(?<=\d)\s+(?=\d)")
_FOREIGN = re.compile("[\u0080-\uffff]+")


def note_similar(twins: Groups, word: str) -> Note | None:
    """A note on ids that differ only by case or spaces."""
    groups = [group for group in twins if len({_visible(own) for own in group}) > 1]
    if not groups:
        return None
    return Note(
        "similar-ids",
        f"{_count_groups(groups, word)} only by case or spaces: {_name(groups)}. They count as different.",
        "If they are the same, write them in one way.",
    )


def note_similar_gold(graded: pl.Series, ranked: pl.Series) -> Note | None:
    """A note on items of the gold that are not ranked, but differ from ranked ones only by case or spaces."""
    groups = _find_gold_twins(graded, ranked)
    if not groups:
        return None
    verb = "differs" if len(groups) == 1 else "differ"
    return Note(
        "similar-ids",
        f"{count_words(len(groups), 'item')} of the gold {verb} from a ranked one only by case or spaces: "
        f"{_name(groups)}. They count as different.",
        "If they are the same, write them in one way.",
    )


def similar_gold_hint(graded: pl.Series, others: pl.Series) -> str | None:
    """What to do about gold that has no item in common with the others, if case or spaces are the reason."""
    groups = _find_gold_twins(graded, others)
    return f"Write ids in one way. These differ only by case or spaces: {_name(groups)}" if groups else None


def _find_gold_twins(graded: pl.Series, others: pl.Series) -> Groups:
    """Each item of the gold that is none of the others, with one of them that is the same for ``find_twins``."""
    twins = find_twins(pl.concat([graded.rename("id"), others.rename("id")]).unique(maintain_order=True))
    known = set(others) if twins else set()
    alike = {own: other for group in twins for other in group if other in known for own in group}
    return [(own, other) for own, other in alike.items() if own not in known]


def note_invisible(twins: Groups, word: str) -> Note | None:
    """A note on ids that look the same but differ by Unicode form, or by signs that cannot be seen."""
    groups = []
    for group in twins:
        seen: dict[str, list[str]] = {}
        for own in group:
            seen.setdefault(_visible(own), []).append(own)
        groups += [own for own in seen.values() if len(own) > 1]
    if not groups:
        return None
    return Note(
        "invisible-ids",
        f"{_count_groups(groups, word)} only by signs that cannot be seen, or by their Unicode form: "
        f"{_name(groups, ascii)}. They count as different.",
        "If they are the same, write them in one way.",
    )


def note_broken_text(ids: pl.Series, word: str) -> Note | None:
    """A note on ids that were saved or read in a wrong encoding, such as ``Ã©`` for ``é``."""
    odd = ids.filter(ids.str.contains(_BROKEN)).to_list()
    broken = {own: _repair(own) for own in odd}
    broken = {own: mended for own, mended in broken.items() if "\ufffd" in own or mended != own}
    if not broken:
        return None
    shown = ", ".join(
        repr(own) if own == mended else f"{own!r} (probably {mended!r})"
        for own, mended in list(broken.items())[:SHOWN]
    )
    return Note(
        "broken-text",
        f"{count_words(len(broken), word)} {'is' if len(broken) == 1 else 'are'} in a broken encoding: {shown}.",
        "Export the file again as UTF-8.",
    )


def note_padded(ids: pl.Series, word: str) -> Note | None:
    """A note if every id begins or every id ends with a space, as after ", " between the cells of a line."""
    for side, spaces in (("begins", r"^\s"), ("ends", r"\s$")):
        if len(ids) and ids.str.contains(spaces).all():
            return Note(
                "padded-ids",
                f"Every {word} id {side} with a space, such as {ids[0]!r}. The space is part of the id.",
                "Remove the spaces beside the separators if ids should not have them.",
            )
    return None


def note_booleans(ids: pl.Series, word: str) -> Note | None:
    """A note on true and false among ids that are numbers."""
    found = ids.filter(ids.is_in(["true", "false"]))
    if found.is_empty() or len(ids) == len(found) or ids.cast(pl.Float64, strict=False).null_count() > len(found):
        return None
    shown = " and ".join(map(repr, found))
    return Note(
        "boolean-ids",
        f"{shown} {'is an id' if len(found) == 1 else 'are ids'} among {word} ids that are numbers.",
        "Check how it got there: true is not 1 here.",
    )


def find_twins(ids: pl.Series) -> list[list[str]]:
    """Groups of ids that are the same apart from case, spaces, signs that cannot be seen, and Unicode form.

    A space between two digits counts: ``1 11`` is not ``11 1``. Only ids that are the same without any space are
    looked at closely.
    """
    text = ids.str.to_lowercase().str.replace_all(" ", "", literal=True)
    odd = text.str.contains("[^!-~]")
    if odd.any():
        bare = text.filter(odd).str.normalize("NFC").str.replace_all(INVISIBLE, "").str.replace_all(r"\s", "")
        text = text.scatter(odd.arg_true(), bare)
    hashed = text.hash()  # numbers are compared faster than texts
    if hashed.n_unique() == len(hashed):
        return []
    groups: dict[str, list[str]] = {}
    for own in ids.filter(hashed.is_duplicated()).to_list():
        groups.setdefault(_SPACES.sub("", _BETWEEN_DIGITS.sub("|", _visible(own).lower())), []).append(own)
    return [group for group in groups.values() if len(group) > 1]


def _visible(text: str) -> str:
    """An id as it is seen: every space is the same, and signs that cannot be seen are gone."""
    return re.sub(r"\s", " ", re.sub(INVISIBLE, "", unicodedata.normalize("NFC", text)))


def _repair(text: str) -> str:
    """The text with every run of foreign letters decoded again, if it is UTF-8 that was read as Windows-1252."""

    def decode(run: re.Match[str]) -> str:
        for encoding in ("cp1252", "latin-1"):
            try:
                return run[0].encode(encoding).decode("utf-8")
            except UnicodeError:
                continue
        return run[0]

    return _FOREIGN.sub(decode, text)


def _count_groups(groups: Groups, word: str) -> str:
    more = sum(len(group) - 1 for group in groups)
    return f"{count_words(more, word)} differ{'s' if more == 1 else ''} from another"


def _name(groups: Groups, show: Callable[[str], str] = repr) -> str:
    shown = [" and ".join(show(own) for own in group[:SHOWN]) for group in groups[:SHOWN]]
    return ", ".join(shown) + (", ..." if len(groups) > SHOWN else "")
