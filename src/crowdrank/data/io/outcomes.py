"""What the outcome of a pair means: the id of the winner, a word for a side, or what the user says of a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import polars as pl

from crowdrank.data.io.cells import MISSING_WORDS
from crowdrank.data.io.columns import join_names, split_names
from crowdrank.data.tables import LEFT, RIGHT, TIE
from crowdrank.errors import SURE, Hint, InputError, Note, Remedy, Retry, UsageError, nearest

MEANINGS: dict[str, int | None] = {"left": LEFT, "right": RIGHT, "tie": TIE, "": None}
"""What an outcome can be said to mean; an empty meaning leaves the row out."""

OTHER_WAY = {"left": "right", "right": "left"}

BOTH_BAD_WORDS = ("both_bad", "bothbad", "both bad", "tie (bothbad)", "tie (both_bad)")
INCONSISTENT_WORDS = ("inconsistent", "tie (inconsistent)")
TIE_WORDS = (
    "tie", "tied", "draw", "equal", "same", "s", "no preference", "no_preference", *BOTH_BAD_WORDS,
    *INCONSISTENT_WORDS,
)  # fmt: skip
_NOUNS = "model|item|option|response|answer|text|image|img|document|doc|candidate|system|assistant|choice|side"
_FIRST = re.compile(rf"left|first|a|a1|({_NOUNS})[ _-]?(a|1)")
_SECOND = re.compile(rf"right|second|b|a2|({_NOUNS})[ _-]?(b|2)")

GUESSED = {"1": "left", "2": "right"}
"""Read without being told, with a note, if a file has just these values."""
GUESSED_CODES = {"1": LEFT, "2": RIGHT}
EXAMPLES = (
    {"1": "left", "0": "right"},
    {"1": "left", "0": "right", "0.5": "tie"},
    {"1": "left", "-1": "right"},
    {"1": "left", "-1": "right", "0": "tie"},
    {"1": "left", "2": "right", "0": "tie"},
    {"1": "left", "2": "right", "3": "tie"},
    {"true": "left", "false": "right"},
    {"yes": "left", "no": "right"},
    {"l": "left", "r": "right"},
    {"win": "left", "loss": "right", "draw": "tie"},
    {"w": "left", "l": "right", "d": "tie"},
    {"1-0": "left", "0-1": "right", "1/2-1/2": "tie"},
    {">": "left", "<": "right", "=": "tie"},
    GUESSED,
)
"""Values that are often used, with a usual meaning. Others are in use too, so the user has to say which."""
SKIPPED_WORDS = ("skip", "skipped", "pass", "unsure", "unclear", "unknown", "cannot tell", "can't tell", "invalid")
_SHOWN = 12


def word_meaning(value: str, left: str = "left", right: str = "right") -> int | None:
    """The code of a word for an outcome; ``left`` and ``right`` are the names of the columns of the items."""
    word = value.strip().lower()
    if word in TIE_WORDS:
        return TIE
    if word == left.strip().lower() or _FIRST.fullmatch(word):
        return LEFT
    if word == right.strip().lower() or _SECOND.fullmatch(word):
        return RIGHT
    return None


def parse_outcomes(given: Mapping[str, str] | str | None) -> dict[str, int | None]:
    """``1=left,2=right,0=tie`` as codes by lower-case value; an empty meaning leaves the rows out."""
    if isinstance(given, str):
        pairs = [part.rpartition("=") for part in split_names(given)]
        for _, sign, meaning in pairs:
            if not sign:
                raise UsageError(
                    f"Outcomes are given as value=meaning pairs. Got {meaning!r}.",
                    hint=("For example ", Remedy("outcomes", "1=left,2=right,0=tie")),
                )
        given = {value: meaning for value, _, meaning in pairs}
    found: dict[str, int | None] = {}
    for value, meaning in (given or {}).items():
        word = str(meaning).strip().lower()
        if word not in MEANINGS:
            close = nearest(word, [name for name in MEANINGS if name])
            raise UsageError(
                f"The outcome {value!r} cannot mean {meaning!r}.",
                hint=(f"Did you mean {close!r}? " if close else "")
                + "An outcome means left, right or tie, or nothing if its rows are to be left out.",
            )
        found[_plain(value)] = MEANINGS[word]
    return found


def _plain(value: object) -> str:
    """A value in lower case; a whole number has no decimals, because a column with gaps may have got them."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", str(value).strip().lower())


@dataclass
class Outcomes:
    """The meaning of the values in the column of outcomes, for all files of a call.

    ``given`` is what the user said; ``values`` finds the distinct values of all files when a guess needs them.
    ``used`` has the first place (source, row, column) of each word that was read as a side or a tie.
    """

    given: dict[str, int | None]
    values: Callable[[], set[str]]
    used: dict[str, tuple[str, int, str]]
    seen: set[str]
    guessed: tuple[str, str] | None = None  # the columns of the items, if the values were guessed

    def said(self, words: Iterable[str | None]) -> dict[str, int | None]:
        """Those of the words whose meaning the user gave, with their codes."""
        found = {word: self.given[_plain(word)] for word in words if word and _plain(word) in self.given}
        self.seen.update(map(_plain, found))
        return found

    def meanings(self, words: Iterable[str | None], left: str, right: str) -> dict[str, int]:
        """Those of the words that mean an outcome, with their codes."""
        meant = {word: word_meaning(word, left, right) for word in words if word}
        return {word: code for word, code in meant.items() if code is not None}

    def guess(self, words: Iterable[str], left: str, right: str) -> dict[str, int]:
        """The codes of values that are neither ids nor words, if all files have just these values."""
        numbers = [word for word in words if _plain(word) in GUESSED_CODES]
        if not numbers or self.given or not self._all_guessed():
            return {}
        self.guessed = (left, right)
        return {word: GUESSED_CODES[_plain(word)] for word in numbers}

    def _all_guessed(self) -> bool:
        """Whether the values of all files are 1 and 2, and at most ties besides."""
        return {value for value in self._answers() if word_meaning(value) != TIE} == set(GUESSED)

    def _answers(self) -> set[str]:
        missing = set(map(_plain, MISSING_WORDS))
        return {plain for value in self.values() if (plain := _plain(value)) not in missing}

    def require_no_items(self, items: pl.Series) -> None:
        """Raise an error if a word was read as a side although an item has it as its id, or if what the user gave
        does not occur."""
        for word in sorted(set(self.used) & set(items)):
            source, row, column = self.used[word]
            raise InputError(
                "the outcome is neither item of its row, and it is both a word for an outcome and an item's id.",
                source=source,
                row=row,
                column=column,
                value=word,
                hint=("Write the id of an item of the row. ", *self.sides_hint()),
            )
        if self.given and not self.seen:
            found = ", ".join(map(repr, sorted(self._answers())[:_SHOWN]))
            raise UsageError(f"None of the given outcomes occurs. The values are {found}.")

    def notes(self) -> tuple[Note, ...]:
        """What was guessed."""
        if self.guessed is None:
            return ()
        left, right = self.guessed
        message = f"The outcomes 1 and 2 were read as wins of the items in {left!r} (1) and in {right!r} (2)."
        return (
            Note("outcomes", message, ("If it is the other way round: ", Remedy("outcomes", "2=left,1=right"))),
        )

    def hint(self, columns: Sequence[str], items: set[str | None]) -> Hint:
        """How to say what the values mean; ``columns`` are those of the left and of the right item.

        Values that are the id of an item need no meaning.
        """
        left, right = columns
        answers = self._answers()
        found = sorted(
            {value.strip() for value in self.values() if _plain(value) in answers and value not in items}
        )
        return outcome_hint(found[:_SHOWN], left, right, known=self.given)

    def sides_hint(self) -> tuple[str, Remedy | Retry]:
        """How to say that the values are sides, although items have such ids too."""
        values = sorted({value.strip() for value in self.values()} - set(MISSING_WORDS))
        codes = {value: GUESSED_CODES.get(_plain(value), word_meaning(value)) for value in values}
        if None in codes.values():
            return "If outcomes are sides and not ids, give each a meaning: ", Remedy("outcomes", "VALUE=left,...")
        names = {code: name for name, code in MEANINGS.items()}
        meant = join_names(f"{value}={names[code]}" for value, code in codes.items())
        return "If outcomes are sides and not ids: ", Retry((Remedy("outcomes", meant),))

    def tie_hint(self, words: Sequence[str]) -> Sequence[str | Retry]:
        """How to say that these words mean a tie, if they do, beside what the user has said already."""
        names = {code: name for name, code in MEANINGS.items()}
        said = [f"{value}={names[code]}" for value, code in self.given.items()]
        meant = join_names([*said, *(f"{word}=tie" for word in words[:_SHOWN])])
        verb = "means" if len(words) == 1 else "mean"
        listed = ", ".join(map(repr, words[:_SHOWN]))
        return f" If {listed} {verb} a tie: ", Retry((Remedy("outcomes", meant),))


def outcome_hint(
    values: Sequence[str],
    left: str,
    right: str,
    *,
    columns: str = "",
    known: Mapping[str, int | None] | None = None,
) -> Hint:
    """The hint that says what each value may mean, with the whole command."""
    example = example_outcomes(values, left, right, known or {})
    remedies = [Remedy("columns", columns)] if columns else []
    remedies.append(Remedy("outcomes", join_names(f"{value}={meaning}" for value, meaning in example.items())))
    sure = [f"{value!r} means {meaning}" for value, meaning in example.items() if meaning in MEANINGS and meaning]
    when = f"If {' and '.join(sure)}: " if sure else "To leave them out: "
    if "MEANING" in example.values():
        when = "Complete "
    words = _known_words(values, left, right)
    slips = [f"{value!r} looks like {word!r}. " for value in example if (word := _intended_word(value, words))]
    hint: list[str | Retry] = [
        f"{''.join(slips)}The values are {', '.join(map(repr, values))}. Say which ones mean left (the item in "
        f"{left!r} won), right ({right!r}) or tie; no meaning leaves the rows out. {when}",
        Retry(tuple(remedies)),
    ]
    if not known and {"left", "right"} <= set(example.values()) <= {"left", "right", "tie"}:
        turned = {value: OTHER_WAY.get(meaning, meaning) for value, meaning in example.items()}
        sure = [f"{value!r} means {meaning}" for value, meaning in turned.items()]
        remedies[-1] = Remedy("outcomes", join_names(f"{value}={meaning}" for value, meaning in turned.items()))
        hint += [f"\nIf {' and '.join(sure)}: ", Retry(tuple(remedies))]
    return hint


def example_outcomes(
    values: Sequence[str], left: str, right: str, known: Mapping[str, int | None]
) -> dict[str, str]:
    """A meaning for each value that is no word for an outcome: the known one, or a usual one.

    What cannot be known is a placeholder, which is refused: a guess could be followed by mistake.
    """
    names = {code: name for name, code in MEANINGS.items()}
    found = {value: names[known[_plain(value)]] for value in values if _plain(value) in known}
    others = [value for value in values if value not in found and word_meaning(value, left, right) is None]
    rest = {_plain(value): value for value in others}
    usual = next((one for one in EXAMPLES if set(rest) <= set(one)), None)
    if usual is not None:
        return found | {rest[plain]: meaning for plain, meaning in usual.items() if plain in rest}
    words = _known_words(values, left, right)
    return found | {value: _likely_meaning(plain, words) for plain, value in rest.items()}


def _likely_meaning(plain: str, words: Mapping[str, str]) -> str:
    if plain in SKIPPED_WORDS:
        return ""
    close = _intended_word(plain, words)
    return words[close] if close else nearest(plain, ("left", "right", "tie")) or "MEANING"


def _known_words(values: Iterable[str], left: str, right: str) -> dict[str, str]:
    """Those of the values that are words for an outcome, and the names of the columns, with their meanings."""
    names = {code: name for name, code in MEANINGS.items()}
    codes = {value: word_meaning(value, left, right) for value in (*values, left, right)}
    return {value: names[code] for value, code in codes.items() if code is not None}


def _intended_word(value: str, words: Mapping[str, str]) -> str | None:
    """The word that a value was probably meant to be: it is very alike, and none of another meaning is as much."""
    alike = {word: SequenceMatcher(None, word.strip().lower(), value.lower()).ratio() for word in words}
    close = max(alike, key=lambda word: alike[word], default=None)
    if close is None or not SURE <= alike[close] < 1:
        return None
    others = (alike[word] for word, meaning in words.items() if meaning != words[close])
    return close if alike[close] > max(others, default=0.0) else None
