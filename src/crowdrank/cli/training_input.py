"""What training reads: features, labels or judgments, and what is known beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdrank.cli.judgment_files import (
    COLUMNS,
    JudgmentFiles,
    column_names,
    matches,
    names_columns,
    naming_columns,
)
from crowdrank.errors import InputError, UsageError

if TYPE_CHECKING:
    from crowdrank.data import Features, Judgments, Scored

FILES = "files"
"""As the number of folds: each file is a part."""


@dataclass(frozen=True)
class TrainingInput:
    """File names, column names and memory options. ``crowd``: the judgments, if the ranker learns from them."""

    features: list[str]
    columns: str
    gold: list[str]
    gold_columns: str
    validation: list[str]
    memory: str | None
    spool: Path | None
    crowd: CrowdInput | None = None

    def read(self, files: list[str]) -> Features:
        """These files as one table of features."""
        from crowdrank.data import read_features

        return read_features(files, columns=self._columns_of(files), memory=self.memory, spool=self.spool)

    def _columns_of(self, files: list[str]) -> dict[str, str]:
        """The names that are meant for these files. A name that only other files of features have is not."""
        from crowdrank.data import parse_mapping

        mapping = parse_mapping(self.columns)
        named = [*self.features, *(self.crowd.target if self.crowd else []), *self.validation]
        others = [file for file in named if file not in files]
        if not mapping or not others:
            return mapping
        own, theirs = ({name for file in each for name in column_names(file)} for each in (files, others))
        return {
            role: name
            for role, name in mapping.items()
            if not name or matches(name, own) or not matches(name, theirs)
        }

    def read_labels(self) -> Scored | None:
        """The labels of files of their own."""
        from crowdrank.data import read_gold

        return read_gold(self.gold, columns=self.gold_columns) if self.gold else None

    def read_validation(self) -> Features | float | None:
        """Features of other queries, or a share."""
        if len(self.validation) == 1:
            with suppress(ValueError):
                return float(self.validation[0])
            with suppress(ValueError):  # 20% is 0.2
                return float(self.validation[0].removesuffix("%")) / 100
        return self.read(self.validation) if self.validation else None

    def queries_by_file(self) -> list[list[Any]]:
        """The queries of each file. The files are read one by one, so that only one is in memory."""
        found = []
        for file in self.features:
            names = self.read([file]).index.queries
            if names is None:
                raise UsageError(
                    f"{file}: the file has no queries, so it cannot be a part.", hint="Use --folds 5."
                )
            found.append(names.to_list())
        return found

    def all_files(self) -> list[str]:
        """Every file that is named."""
        return [*self.features, *self.gold, *self.validation, *(self.crowd.all_files() if self.crowd else [])]


@dataclass(frozen=True)
class CrowdInput:
    """Judgments of a crowd, and what is known for certain or about the workers."""

    judgments: JudgmentFiles
    anchors: str | None
    side_info: str | None
    target: list[str]
    honeypots: str | None
    label_features: str | None
    processing: str | None

    @property
    def has_target(self) -> bool:
        """Whether there is a target, or what was learned from one."""
        return bool(self.target or self.honeypots or self.label_features or self.processing)

    def all_files(self) -> list[str]:
        """Every file that is named."""
        single = (self.anchors, self.side_info, self.honeypots, self.label_features, self.processing)
        return [*self.judgments.files, *self.target, *(file for file in single if file is not None)]

    def read_known(self, columns: str) -> dict[str, Any]:
        """The arguments of ``Remap.fit`` on what is known about the crowd's labels. ``columns``: of gold."""
        from crowdrank.data import read_gold
        from crowdrank.rankers.remap.processing import Processing

        return {
            "honeypots": None if self.honeypots is None else read_gold(self.honeypots, columns=columns),
            "label_features": self.label_features,
            "processing": None if self.processing is None else Processing.read(self.processing),
            "judgment_columns": self.judgments.columns or None,
        }

    def read(self) -> dict[str, Any]:
        """The arguments of ``CrowdRanker.fit`` that are read from these files."""
        from crowdrank.data import Anchors, SideInfo

        return {
            "judgments": self.judgments.read(),
            "anchors": None if self.anchors is None else Anchors.read(self.anchors),
            "side_info": None if self.side_info is None else SideInfo.read(self.side_info),
        }


def check_gold(gold: Scored, *tables: Features) -> None:
    """Raise an error if gold that only measures grades no item of these features."""
    from crowdrank.data import check_rows, feature_rows

    asked = None if gold.frame["query"].null_count() == gold.frame.height else gold.frame["query"]
    with naming_columns("gold_columns"):
        rows = [feature_rows(table, asked, gold.frame["item"]) for table in tables]
    if all((own < 0).all() for own in rows):
        check_rows(tables[0], rows[0], gold.frame, "graded")


@contextmanager
def naming_joined(judgments: list[Judgments]) -> Iterator[None]:
    """Errors on queries that judgments or anchors do not name have hints that fit to what lacks them."""
    if any(table.query is None for table in judgments):
        with naming_columns(COLUMNS):
            yield
        return
    try:
        yield
    except InputError as error:
        if names_columns(error):
            error.hint = "Give the anchors a column named query."
        raise


def read_folds(given: str, files: list[str]) -> int | str | None:
    """The number of parts, or ``files``."""
    if not given:
        return None
    if given == FILES:
        if len(files) < 2 or "-" in files:
            raise UsageError(
                "--folds files needs a file for each part.", hint="For parts of one file, use --folds 5."
            )
        return FILES
    try:
        return int(given)
    except ValueError:
        raise UsageError(f"--folds takes a number of parts, or the word files. Got {given!r}.") from None
