"""The input of commands: judgments, and gold to score by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdrank.data import AnyJudgments, Scored

OWN = "judgments"
"""As a gold file: use the labels in the judgment files."""


@dataclass(frozen=True)
class Sources:
    """File names, column names, memory options, and what the judgments mean."""

    judgments: list[str]
    columns: str = ""
    gold: list[str] | None = None
    gold_columns: str = ""
    memory: str | None = None
    spool: Path | None = None
    missing: str | None = None
    pairs: str | None = None
    outcomes: str = ""
    allow_dropped: bool = False
    order: Any = None

    def read(self) -> tuple[AnyJudgments, Scored | None]:
        """The judgments, and the gold if there is one; gold that cannot score them is an error."""
        from crowdrank.data import Ratings, SpooledRatings, parse_mapping, read, read_gold
        from crowdrank.errors import Remedy

        columns = parse_mapping(self.columns)
        table = read(
            self.judgments,
            columns=columns,
            memory=self.memory,
            spool=self.spool,
            missing=self.missing,
            pairs=self.pairs,
            outcomes=self.outcomes,
            allow_dropped=self.allow_dropped,
            order=self.order,
        )
        if not self.gold:
            return table, None
        if isinstance(table, Ratings | SpooledRatings):
            known = Remedy("anchors", self.gold[0])
            table.require_order("A comparison with gold", (". To see how often labels are right: ", known))
        files = self.judgments if self.gold == [OWN] and not Path(OWN).exists() else self.gold
        names = table.names if isinstance(table, Ratings | SpooledRatings) else ()
        gold = read_gold(files, columns=self.gold_columns, names=names)
        gold.require_common(table.index)
        return table, gold
