"""Checks of parameters, and the forms that several models share.

``None`` always means "none of it": no prior, no virtual votes. ``"estimated"`` leaves a number to the data, and
``"auto"`` leaves a choice to what the judgments hold.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np

from crowdrank.errors import NotFittedError, UsageError, name_hint

MOST_SIZE = 1e100
"""The squares of larger parameters would overflow, and those of smaller ones than 1 / this vanish."""
MOST_WHOLE = 2**53
"""Decimal numbers hold every whole number up to this one."""
ESTIMATED = "estimated"
AUTO = "auto"


def number(name: str, value: Any, *, low: float = -np.inf, high: float = np.inf) -> float:
    """A parameter that must be a number within [low, high]."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    if not good or not low <= value <= high or (np.isinf(high) and abs(value) == np.inf):
        wanted = f"between {low:g} and {high:g}" if np.isfinite(high) else f"of at least {low:g}"
        raise UsageError(f"The parameter {name!r} must be a number {wanted}. Got {value!r}.")
    if value and not 1 / MOST_SIZE <= abs(value) <= MOST_SIZE:
        wanted = f"0, or a number from {1 / MOST_SIZE:g} to {MOST_SIZE:g} in size"
        raise UsageError(f"The parameter {name!r} must be {wanted}. Got {value!r}.")
    return float(value)


def whole(name: str, value: Any, *, low: int = 0, high: float = np.inf) -> int:
    """A parameter that must be a whole number of at least ``low``."""
    if number(name, value, low=low, high=high) != int(value):
        below = f" below {MOST_WHOLE}" if abs(value) > MOST_WHOLE else ""
        raise UsageError(f"The parameter {name!r} must be a whole number{below}. Got {value!r}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """A parameter that must be true or false."""
    if not isinstance(value, bool):
        raise UsageError(f"The parameter {name!r} must be true or false. Got {value!r}.")
    return value


def estimable(name: str, value: Any, *, low: float, none: float) -> float | None:
    """A parameter that is a number of at least ``low``, or "estimated", which is None here.

    ``none``: the number that stands for the parameter's None.
    """
    if isinstance(value, str):
        if value != ESTIMATED:
            raise UsageError(f"The parameter {name!r} must be a number, {ESTIMATED!r} or None. Got {value!r}.")
        return None
    return none if value is None else number(name, value, low=low)


def virtual_votes(value: Any) -> float | None:
    """The parameter ``regularization``: virtual wins and losses of every item, None here if they are estimated."""
    return estimable("regularization", value, low=0.0, none=0.0)


_DEFINED = re.compile(r"(?:^|(?<=\.\s))``(\w+)``((?:,| and) ``(\w+)``)*[^`.:]{0,40}(?:``\w+``)?:\s")
"""The names before a colon at the start of a sentence, as in: ``name``: what it means."""


def _definitions(text: str) -> dict[str, str]:
    """The definitions in a docstring: what follows ``name``: up to the next one or to an empty line."""
    found: dict[str, str] = {}
    for paragraph in text.split("\n\n"):
        starts = list(_DEFINED.finditer(paragraph))
        ends = [*(own.start() for own in starts[1:]), len(paragraph)][: len(starts)]
        for own, end in zip(starts, ends, strict=True):
            meaning = " ".join(paragraph[own.end() : end].replace("``", "").split())
            for name in re.findall(r"``(\w+)``", own[0]):
                found.setdefault(name, meaning)
    return found


def _sentence_on(name: str, texts: Iterable[str]) -> str:
    """The first sentence that names a parameter without defining it."""
    sentences = (part for text in texts for part in re.split(r"(?<=[.:])\s|\n\n", text))
    return next((" ".join(own.replace("``", "").split()) for own in sentences if f"``{name}``" in own), "")


class Configurable:
    """Something with keyword-only parameters that are kept as given. ``name`` is what errors call it.

    scikit-learn takes it for an estimator: ``clone`` copies it. Models have a ``score``, so ``cross_val_score``
    and ``GridSearchCV`` take them, with a frame of judgments in the place of X and no y.
    """

    name: str

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """The names of the parameters with their defaults."""
        signature = inspect.signature(cls.__init__)
        return {name: own.default for name, own in signature.parameters.items() if name != "self"}

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """What each parameter means, from the docstrings of the class and of what it extends."""
        texts = [inspect.cleandoc(vars(one).get("__doc__") or "") for one in cls.__mro__]
        found: dict[str, str] = {}
        for text in reversed(texts):
            found |= _definitions(text)
        return {name: found.get(name) or _sentence_on(name, texts) for name in cls.parameters()}

    def settable(self) -> set[str]:
        """The names that ``set_params`` takes."""
        return set(self.parameters())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as given (``deep`` exists only for scikit-learn)."""
        return {name: getattr(self, name) for name in self.parameters()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; an unknown name is an error that lists the names."""
        known = self.parameters()
        for name, value in params.items():
            if name not in known:
                raise UsageError(
                    f"{self.name} has no parameter {name!r}.", hint=name_hint(name, known, "Its parameters are")
                )
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """An unfitted copy with the same parameters."""
        copy = type(self)(**self.get_params())
        copy.name = self.name
        return copy

    def _write_report(self, path: str | Path) -> Path:
        """Write a report. Its room stands on this one, so it is found by name, as ``auto`` is in the registry."""
        written: Path = import_module("crowdrank.report.files").write_report(self, path)
        return written

    def __sklearn_clone__(self) -> Self:
        """What ``sklearn.base.clone`` calls: the name of a variant stays."""
        return self.clone()

    def __sklearn_is_fitted__(self) -> bool:
        """What ``sklearn.utils.validation.check_is_fitted`` calls."""
        return hasattr(self, "fit_")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks about an estimator: it is no classifier or regressor, and needs no y."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def _not_fitted(self, attribute: str = "") -> NotFittedError:
        """The error if a result is asked for before ``fit``."""
        problem = f"{self.name} is not fitted yet{f', so it has no {attribute}' if attribute else ''}."
        given = inspect.signature(type(self).fit).parameters.values()  # type: ignore[attr-defined]
        names = [
            own.name for own in given if own.kind is own.POSITIONAL_OR_KEYWORD and own.name not in ("self", "y")
        ]
        return NotFittedError(problem, hint=f"Call fit({', '.join(names)}) first.")

    def __repr__(self) -> str:
        """The call that makes it, with the parameters that differ from their defaults."""
        defaults, own = self.parameters(), self.get_params()
        given = ", ".join(f"{name}={value!r}" for name, value in own.items() if value != defaults[name])
        return f"{type(self).__name__}({given})"
