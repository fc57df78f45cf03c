"""What a comparison of models found, as data and at a glance."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from crowdrank.data.ids import TEXT_IDS, Backend
from crowdrank.errors import Note, count_noun
from crowdrank.measures import Coverage
from crowdrank.measures.votes import CalibrationBin
from crowdrank.results import Z, to_plain
from crowdrank.results.overview import HasOverview, Interval, Overview
from crowdrank.results.tables import without_nulls


@dataclass(frozen=True)
class Row:
    """A model's figures. None means that the model has no such figure, or that it cannot be computed.

    ``behind`` is its mean log loss minus that of the best model, ``behind_se`` the standard error of that
    difference, vote by vote. ``seconds`` and ``gold`` are from the fit to all votes. ``list_loss`` is the
    mean of -ln P over whole held-out lists. ``calibration``: how often the likelier side of held-out votes won.
    """

    model: str
    log_loss: float | None = None
    log_loss_se: float | None = None
    accuracy: float | None = None
    accuracy_se: float | None = None
    seconds: float | None = None
    gold: dict[str, float | None] = field(default_factory=dict)
    behind: float | None = None
    behind_se: float | None = None
    tied_with_best: bool = False
    error: str | None = None
    list_loss: float | None = None
    list_loss_se: float | None = None
    calibration: tuple[CalibrationBin, ...] = ()


@dataclass(frozen=True, repr=False)
class Comparison(HasOverview):
    """Models, best first. Models without probabilities follow, sorted by accuracy; failed models come last.

    ``votes`` were dealt into ``folds``. ``ties`` is True if some votes are ties; the log loss then covers
    three outcomes. ``notes`` say what was left out. ``coverage``: how much of the rankings the gold covers.

    >>> import crowdrank as cr
    >>> votes = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "a"), ("c", "b"), ("a", "c")] * 5
    >>> found = cr.compare_models(votes, ["win-rate", "bt"])
    >>> [row.model for row in found.rows]  # win-rate gives no probabilities, so it comes last
    ['bt', 'win-rate']
    >>> round(found.rows[0].log_loss, 2)
    0.58
    """

    rows: tuple[Row, ...]
    folds: int
    votes: int
    ties: bool
    seed: int = 0
    notes: tuple[Note, ...] = ()
    coverage: Coverage | None = None
    backend: Backend = TEXT_IDS

    @property
    def best(self) -> Row | None:
        """The row with the smallest log loss; None if no model has one."""
        first = self.rows[0] if self.rows else None
        return None if first is None or first.log_loss is None or first.error is not None else first

    def polars(self) -> pl.DataFrame:
        """model, log_loss, low, high (its 90 % interval), accuracy, each gold measure, seconds; best first."""
        rows = [
            {
                "model": row.model,
                "log_loss": row.log_loss,
                "low": None if row.log_loss is None else row.log_loss - Z * (row.log_loss_se or 0.0),
                "high": None if row.log_loss is None else row.log_loss + Z * (row.log_loss_se or 0.0),
                "accuracy": row.accuracy,
                **row.gold,
                "seconds": row.seconds,
            }
            for row in self.rows
        ]
        measures = list(dict.fromkeys(name for row in self.rows for name in row.gold))
        names = ("log_loss", "low", "high", "accuracy", *measures, "seconds")
        return pl.DataFrame(rows, schema={"model": pl.String, **dict.fromkeys(names, pl.Float64)})

    def frame(self) -> Any:
        """The same as ``polars()``, as the same kind of frame as the judgments: Polars, pandas or PyArrow."""
        return self.backend.native(self.polars())

    def overview(self) -> Overview:
        """The models with those of their figures that are known."""
        table = without_nulls(self.polars())
        held_out = f"{count_noun(self.votes, 'vote')} in {count_noun(self.folds, 'fold')}"
        notes = [
            *(f"{row.model}: {row.error}" for row in self.rows if row.error),
            *(own.wording() for own in self.notes),
        ]
        return Overview(
            f"Comparison of {count_noun(len(self.rows), 'model')}",
            [held_out if self.folds else "by gold; no votes were held out"],
            table,
            Interval("log_loss") if "log_loss" in table.columns else None,
            notes,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as the command line writes them in JSON."""
        notes = [{"code": note.code, "message": note.wording()} for note in self.notes]
        values = to_plain({**asdict(replace(self, notes=(), backend=TEXT_IDS)), "notes": notes})
        del values["backend"]
        covered = values.pop("coverage")
        return {"models": values.pop("rows"), **values, **({"gold_coverage": covered} if covered else {})}
