"""How a fit went: convergence, warnings, timings, versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from crowdrank.errors import Note, count_noun
from crowdrank.results.overview import HasOverview, Overview, shown_value

NOUNS = {"worker": "workers", "item": "items", "query": "queries"}
"""What ``judgments`` counts, by the word for one."""


@dataclass(frozen=True, repr=False)
class Fit(HasOverview):
    """How the fit went. ``details`` are figures specific to the model.

    >>> import crowdrank as cr
    >>> fit = cr.BradleyTerry().fit([("a", "b"), ("a", "b"), ("b", "c"), ("c", "a")]).fit_
    >>> fit.model, fit.converged, fit.judgments["items"]
    ('bt', True, 3)
    >>> [note.message for note in fit.warnings]
    ['1 of 3 items has fewer than 3 judgments: c.']
    """

    model: str
    parameters: dict[str, Any]
    converged: bool
    iterations: int
    log_likelihood: float | None
    warnings: tuple[Note, ...]
    seconds: dict[str, float]
    seed: int
    engine: str
    versions: dict[str, str]
    judgments: dict[str, Any]
    details: dict[str, Any] = field(default_factory=dict)

    def with_seconds(self, **seconds: float) -> Fit:
        """The same fit with more timings."""
        return replace(self, seconds={**self.seconds, **seconds})

    def overview(self) -> Overview:
        """What was fitted, how it ended, and the warnings."""
        steps = count_noun(self.iterations, "iteration")
        how = f"{'converged' if self.converged else 'not converged'} after {steps}"
        if self.log_likelihood is not None:
            how += f", log likelihood {shown_value(self.log_likelihood)}"
        return Overview(
            f"Fit of {self.model}",
            [", ".join(self._sizes()), how],
            notes=[note.wording() for note in self.warnings],
        )

    def _sizes(self) -> list[str]:
        """What was fitted to, in words: judgments, or for rankers documents."""
        given, nouns = self.judgments, dict(NOUNS)
        rows = f"{given.get('rows', 0):,} {given.get('kind', 'rows')}"
        if "features" in given:
            rows = f"{count_noun(given['rows'], 'document')} with {count_noun(given['features'], 'feature')}"
            del nouns["item"]
        counts = {noun: given.get(name) or 0 for noun, name in nouns.items()}
        return [rows, *(count_noun(count, noun) for noun, count in counts.items() if count > (noun == "query"))]

    def as_dict(self) -> dict[str, Any]:
        """Plain values as in fit.json. A number that is not finite is null."""
        notes = [{"code": note.code, "message": note.wording()} for note in self.warnings]
        values = {**asdict(replace(self, warnings=())), "warnings": notes}
        return {name: to_plain(value) for name, value in values.items()}


def to_plain(value: Any) -> Any:
    """The value in types that JSON has. A number that is not finite is null."""
    if isinstance(value, Mapping):
        return {str(key): to_plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(own) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def versions() -> dict[str, str]:
    """The versions of crowdrank and of what it computes with."""
    import platform
    from importlib.metadata import version

    import polars

    return {
        "crowdrank": version("crowdrank"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": polars.__version__,
    }
