"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Annotated, Any

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.words import read_value
from crowdrank.errors import Remedy, UsageError

Judgments = Annotated[list[str], Argument(help="Files, or folders of Parquet files; - is standard input.")]
FeatureFiles = Annotated[
    list[str], Argument(help="Files of features: LETOR text, or a table; - is standard input.")
]
FeatureColumns = Annotated[
    list[str] | None, Option(help="Column names: query=qid,item=doc,label=grade,weight=w,ignore=a+b.")
]
Columns = Annotated[list[str] | None, Option(help="Column names: worker=judge,left=a,... (query= for none).")]
Gold = Annotated[
    list[str] | None,
    Option(
        help="File of gold grades; may be repeated. The word judgments means the labels in the judgment files."
    ),
]
GoldColumns = Annotated[list[str] | None, Option(help="Column names of the gold: item=doc,grade=rel.")]
Measures = Annotated[str, Option(help="Gold measures: nDCG@10 RBP(p=0.95) AP tau acc.", names="measures")]
Place = Annotated[
    str, Option("--engine", help="Where to compute: local, dask, tcp://host:port.", names="local|dask")
]
Memory = Annotated[
    str | None,
    Option(help="Memory limit, for example 8GB; larger inputs spill to disk.", envvar="CROWDRANK_MEMORY"),
]
SpoolFolder = Annotated[
    Path | None, Option(help="Folder for inputs that spill to disk.", envvar="CROWDRANK_SPOOL")
]
JudgmentOption = Annotated[
    list[str] | None,
    Option(
        "--judgments",
        help="File of a crowd's lists, ratings or pairs; may be repeated, and each file is read by itself.",
    ),
]
JudgmentColumns = Annotated[
    list[str] | None,
    Option(help="Column names of the judgments: worker=judge,left=a,... (query= for none)."),
]
Missing = Annotated[
    str | None,
    Option(
        help="Meaning of an item that a list does not rank: below (all ranked items) or unknown.",
        names="below|unknown",
    ),
]

Outcomes = Annotated[
    list[str] | None,
    Option(help="Meaning of the outcomes of pairs: 1=left,2=right,0=tie (skip= leaves rows out)."),
]
AllowDropped = Annotated[
    bool, Option("--allow-dropped", help="Leave out unusable rows even if they are more than 10 %.")
]

PairsOfLists = Annotated[
    str | None,
    Option(
        "--pairs",
        help="Pairs of a list that models of pairs see: all, adjacent, a number for each item, or auto (a sample "
        "of long lists).",
        names="all|adjacent|auto",
    ),
]

Selector = Annotated[
    str,
    Option(
        "--select", help="How to choose: random, even, uncertainty, gain, joint, information.", names="selectors"
    ),
]
Exclusions = Annotated[
    str | None,
    Option("--exclude", help="File of pairs never to ask (left,right) or of items to hide (worker,item)."),
]


LACKING, UNRANKED = ("error", "drop"), ("below", "unknown")
"""What --missing says of items without features, and of documents that a list does not rank."""


def parse_missing(given: list[str], *, judgments: bool) -> tuple[str, str | None]:
    """What to do about items without features, and what an unranked document means (None: as the file says)."""
    words = [word.strip() for one in given for word in one.split(",")]
    chosen = [[word for word in dict.fromkeys(words) if word in group] for group in (LACKING, UNRANKED)]
    unknown = [word for word in words if word not in (*LACKING, *UNRANKED)]
    if unknown or any(len(group) > 1 for group in chosen):
        shown = unknown[0] if unknown else ",".join(words)
        raise UsageError(f"--missing takes error or drop, and below or unknown. Got {shown!r}.")
    lacking, unranked = (next(iter(group), None) for group in chosen)
    if unranked is not None and not judgments:
        raise UsageError(
            f"--missing {unranked} applies only to rankings.", hint=("Give them: ", Remedy("judgments", "FILE"))
        )
    return lacking or LACKING[0], unranked


def parse_settings(given: list[str]) -> dict[str, Any]:
    """``name=value`` pairs; a value is JSON if it parses, otherwise text."""
    settings: dict[str, Any] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name.strip():
            raise UsageError(
                f"--set takes name=value. Got {one!r}.",
                hint=f"Give it a value: --set {name.strip() or 'name'}=VALUE",
            )
        settings[name.strip()] = read_value(value)
    for name in ("missing", "pairs"):
        if isinstance(settings.get(name), str):  # a simulated crowd may have a number of pairs
            remedy = Remedy(name, settings[name])
            raise UsageError(f"{name!r} is a property of the judgments, not of a model.", hint=("Use ", remedy))
    return settings


def join_columns(given: list[str] | None) -> str:
    """The column names of an option that may be repeated, as one text. Columns to ignore add up."""
    from crowdrank.data.io.columns import join_names, split_names

    parts = [part for one in given or [] for part in split_names(one)]
    ignored = [part.partition("=")[2] for part in parts if part.startswith("ignore=")]
    others = [part for part in parts if not part.startswith("ignore=")]
    return join_names([*others, f"ignore={'+'.join(ignored)}"] if ignored else others)


def take_order(settings: dict[str, Any], own: Container[str] = ()) -> Any:
    """The order of labels that are text: it is given like a parameter, but it is a property of the judgments.

    A model that has such a parameter among its ``own`` keeps it.
    """
    return None if "order" in own else settings.pop("order", None)


def require_gold(gold: list[str] | None, measures: str = "", columns: list[str] | None = None) -> None:
    """Raise an error if measures, or columns of the gold, are named and there is no gold."""
    if measures and not gold:
        raise UsageError("--measures needs gold to measure by.", hint=("Give it: ", Remedy("gold", "FILE")))
    if columns and not gold:
        raise UsageError("--gold-columns needs gold.", hint=("Give it: ", Remedy("gold", "FILE")))


def require_judgments(files: list[str] | None, **given: Any) -> None:
    """Raise an error if options on the content of judgments are given, and there are none."""
    for name, value in given.items():
        if value and not files:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} is about files of judgments, and none is named.", hint=f"Leave out {option}."
            )
