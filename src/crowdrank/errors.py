"""One exception tree. A message says what is wrong, where, and what was found. The remedy is data.

A hint is text, or a sequence of text and remedies. A remedy names an argument of the library and a value for it.
A retry is the same call again with other arguments. Whoever shows the error chooses the wording: the command line
shows a flag or the whole command, a page shows a sentence.

Values, ids and lists from a file may be of any length. Messages are shortened here, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

MOST_LISTED, SURE = 16, 0.75
"""The most names in a hint that already says which one was surely meant, and how alike it then is."""
LONGEST = 980
"""The most characters of a message with its hint; the command line puts a few words before it."""
_LONGEST_MESSAGE = 640
_LONGEST_WORD = 200
_ENDS_IN_Y = re.compile("[^aeiou]y$")
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def shorten(text: str, most: int = _LONGEST_MESSAGE) -> str:
    """The text with the middle of very long words, and the end of a very long text, left out."""
    return _cut_end(_cut_words(text), most)


def _cut_words(text: str) -> str:
    if len(text) <= _LONGEST_WORD:
        return text
    return _LONG_WORD.sub(lambda word: f"{word[0][:120]}...{word[0][-60:]}", text[: 1 << 20])


def _cut_end(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 4]} ..."


@dataclass(frozen=True, slots=True)
class Remedy:
    """An argument that fixes an error, and a value for it. ``parameter``: it is a parameter of the model."""

    argument: str
    value: str = ""
    parameter: bool = False

    def __str__(self) -> str:
        if not self.value:
            return self.argument
        text = "=" in self.value or ("," in self.value and self.value[0] not in "([")
        return f'{self.argument}="{self.value}"' if text else f"{self.argument}={self.value}"


def parameter(name: str, value: Any) -> Remedy:
    """The remedy that sets a parameter of the model."""
    return Remedy(name, str(value), parameter=True)


@dataclass(frozen=True, slots=True)
class Retry:
    """The same call again with these arguments, each in place of what was given for it; in Python ``read``."""

    remedies: tuple[Remedy, ...]

    def __str__(self) -> str:
        return f"read(..., {', '.join(map(str, self.remedies))})"


Hint = str | Sequence[str | Remedy | Retry]
Word = Callable[[Remedy | Retry], str]
WORD: ContextVar[Word] = ContextVar("WORD", default=str)
"""How reports word remedies; the command line sets its own."""


def nearest(given: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """The known name that looks most like the given one, if they are alike enough; case does not matter.

    ``least`` is how alike they must be, from 0 to 1.
    """
    names = {name.strip().lower(): name for name in known}
    close = get_close_matches(given.strip().lower(), names, 1, least)
    return names[close[0]] if close else None


def name_hint(given: str, known: Iterable[str], are: str, show: Callable[[str], str] = str) -> str:
    """The hint for an unknown name. ``are`` introduces the known ones; ``show`` says how they are written.

    If one is very close, more than ``MOST_LISTED`` others are left out.

    >>> name_hint("crowdbt", ["bt", "crowd-bt"], "The models are")
    "Did you mean 'crowd-bt'? The models are bt, crowd-bt."
    """
    known = list(known)
    close = nearest(str(given), known)
    listed = f"{are} {', '.join(map(show, known))}."
    if close is None:
        return listed
    short = len(known) > MOST_LISTED and nearest(str(given), known, SURE) is not None
    return f"Did you mean {close!r}?" if short else f"Did you mean {close!r}? {listed}"


def count_noun(count: float, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 item, 2 items, 3 queries. A verb may follow the noun, in both forms.

    >>> count_noun(1, "query"), count_noun(2, "query"), count_noun(3, "way"), count_noun(2, "is", "are")
    ('1 query', '2 queries', '3 ways', '2 are')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {plural or (f'{noun[:-1]}ies' if _ENDS_IN_Y.search(noun) else f'{noun}s')}"


def word_hint(hint: Hint | None, word: Word = str) -> str:
    """A hint as text, with each remedy worded by ``word``; long words are shortened, but not in what is typed."""
    parts = [hint or ""] if hint is None or isinstance(hint, str) else hint
    return "".join(_cut_words(part) if isinstance(part, str) else word(part) for part in parts)


class CrowdrankError(Exception):
    """The base of all errors that crowdrank raises on purpose.

    ``exit_code`` is the exit code of the command line: 1 if the work failed, 2 for bad usage or bad input.

    >>> import crowdrank as cr
    >>> try:
    ...     cr.BradleyTerry().fit("votes.csv")
    ... except cr.CrowdrankError as error:
    ...     error.exit_code, error.message
    (2, 'votes.csv: there is no such file.')
    """

    message: str

    exit_code = 1

    def __init__(self, message: str, *, hint: Hint | None = None) -> None:
        self.message = shorten(message)
        super().__init__(self.message)
        self.hint = hint

    def __str__(self) -> str:
        return self.wording()

    def wording(self, word: Word = str) -> str:
        """The message and the hint, with each remedy worded by ``word``."""
        hint = _cut_end(word_hint(self.hint, word), LONGEST - len(self.message) - 7)
        return f"{self.message}\nHint: {hint}" if self.hint else self.message


class InputError(CrowdrankError):
    """The given data cannot be used. The message names the file, row, column and value if they are known.

    >>> import crowdrank as cr
    >>> try:
    ...     cr.read({"winner": ["a", "b"], "loser": ["b", "c"], "weight": [1, -2]})
    ... except cr.InputError as error:
    ...     error.row, error.column, error.value
    (2, 'weight', '-2')
    """

    source: str | None
    row: int | None
    column: str | None
    value: Any

    exit_code = 2

    def __init__(
        self,
        problem: str,
        *,
        source: str | None = None,
        row: int | None = None,
        column: str | None = None,
        value: Any = None,
        hint: Hint | None = None,
    ) -> None:
        place = [source] if source else []
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column '{column}'")
        message = f"{', '.join(place)}: {problem}" if place else problem
        if value is not None:
            message = f"{shorten(message, _LONGEST_MESSAGE - 200)} Got {shorten(repr(value), 180)}."
        super().__init__(message, hint=hint)
        self.source, self.row, self.column, self.value = source, row, column, value


class UsageError(CrowdrankError):
    """A parameter, a name or an option is unknown, or out of its range.

    >>> import crowdrank as cr
    >>> cr.BradleyTerry(regularization=-1).fit([("a", "b")])
    Traceback (most recent call last):
        ...
    crowdrank.errors.UsageError: The parameter 'regularization' must be a number of at least 0. Got -1.
    """

    exit_code = 2


class NotFittedError(UsageError, AttributeError):
    """A result was requested before ``fit``.

    >>> import crowdrank as cr
    >>> cr.BradleyTerry().ranking_
    Traceback (most recent call last):
        ...
    crowdrank.errors.NotFittedError: bt is not fitted yet, so it has no ranking_.
    Hint: Call fit(judgments) first.
    """


class FitError(CrowdrankError):
    """The model has no answer for this data. The message gives the reason.

    >>> import crowdrank as cr
    >>> try:
    ...     cr.BradleyTerry(regularization=None).fit([("a", "b")])  # b never won, so there is no limit to a
    ... except cr.FitError as error:
    ...     print(error.message.split(":")[0])
    Without regularization the scores have no finite maximum
    """


@dataclass(frozen=True, slots=True)
class Note:
    """Something the user should know about the data or the fit: a stable code and plain words.

    ``hint``: what to do about it, if that is not the same for every note with this code. ``workers``: the ids of
    the workers whom it is about.

    >>> import crowdrank as cr
    >>> notes = cr.BradleyTerry().fit([("a", "b"), ("b", "a"), ("x", "y"), ("y", "x")]).fit_.warnings
    >>> [note.code for note in notes]
    ['disconnected', 'few-judgments']
    >>> notes[1].message
    '4 of 4 items have fewer than 3 judgments: a, b, x, y.'
    """

    code: str
    message: str
    hint: Hint | None = None
    workers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shorten(self.message))

    def wording(self, word: Word = str) -> str:
        """The message and the hint, with each remedy worded by ``word``."""
        hint = _cut_end(word_hint(self.hint, word), LONGEST - len(self.message) - 1)
        return f"{self.message} {hint}" if self.hint else self.message
