"""What commands read: judgments, and gold to score by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crowdrank.errors import InputError

if TYPE_CHECKING:
    from crowdrank.data import AnyJudgments, Scored


@dataclass(frozen=True)
class Sources:
    """Files as they were named, and the names of their columns."""

    judgments: list[str]
    columns: str = ""
    gold: str | None = None
    gold_columns: str = ""
    memory: str | None = None
    spool: Path | None = None

    def read(self) -> tuple[AnyJudgments, Scored | None]:
        """The judgments, and the gold where there is one; gold that cannot score them is an error."""
        from crowdrank.data import parse_mapping, read, read_gold

        columns = parse_mapping(self.columns)
        table = read(self.judgments, columns=columns, memory=self.memory, spool=self.spool)
        gold = None if self.gold is None else read_gold(self.gold, columns=self.gold_columns)
        _check_gold(table, gold)
        return table, gold


def _check_gold(table: AnyJudgments, grades: Scored | None) -> None:
    """Say before the fit, not after it, that the gold cannot score it."""
    if grades is None:
        return
    if table.index.queries is None and grades.frame["query"].n_unique() > 1:
        raise InputError("The gold has queries, the judgments have none.", hint="Name them: --columns query=NAME")
    if not table.index.items.is_in(grades.frame["item"].to_list()).any():
        raise InputError(
            "The judgments and the gold have no item in common.", hint="Ids are text: '01' is not '1'."
        )
