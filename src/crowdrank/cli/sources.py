"""What commands read: judgments, and gold to score by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
        if gold is not None:
            gold.require_common(table.index)
        return table, gold
