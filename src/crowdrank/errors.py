"""One exception tree: each message says what is wrong, where, what was got, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class CrowdrankError(Exception):
    """Root of everything that crowdrank raises on purpose.

    ``exit_code`` is what the command line ends with: 1 the work failed, 2 bad usage or bad input.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nHint: {self.hint}" if self.hint else self.message


class InputError(CrowdrankError):
    """The data given cannot be used; names the file, row, column and value where they are known."""

    exit_code = 2

    def __init__(
        self,
        problem: str,
        *,
        source: str | None = None,
        row: int | None = None,
        column: str | None = None,
        value: Any = None,
        hint: str | None = None,
    ) -> None:
        place = [source] if source else []
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column '{column}'")
        message = f"{', '.join(place)}: {problem}" if place else problem
        if value is not None:
            message += f" Got {value!r}."
        super().__init__(message, hint=hint)
        self.source, self.row, self.column, self.value = source, row, column, value


class UsageError(CrowdrankError):
    """A parameter, a name or an option is not one that is known, or not in its range."""

    exit_code = 2


class NotFittedError(UsageError, AttributeError):
    """A result was asked for before ``fit``."""


class FitError(CrowdrankError):
    """The model has no answer on this data, for a reason that the message gives."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something the user should know about the data or the fit: a stable code and plain words."""

    code: str
    message: str
