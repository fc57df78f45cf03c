"""Models side by side on public votes, by how well they predict votes that they have not seen: docs/compare.md.

`python -m benchmarks.public_votes write --work kept` puts the tables between their marks in the page. A run that
was cut off goes on with what it kept. `--sets` and `--models` try a part of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import crowdrank as cr
from benchmarks.page import DATA, DOCS, fill_marks, lines, say
from crowdrank.reproduce.ledger import Key, Ledger

MODELS = (
    "judge-bt", "auto", "variance-bt", "tpp-unidom", "crowd-bt", "crowd-thurstone", "bt", "thurstone", "trueskill",
    "majority-bt", "elo", "em-elo", "mpm",
)  # fmt: skip
SETS = {
    "readinglevel": ("pairs.csv", None),
    "llmfao": ("crowd-comparisons.csv", "query="),
    "mtbench-human": ("human.csv", "query="),
    "ukpconvarg1": ("pairs.csv.gz", "left=arg1,right=arg2,winner=answer,query=topic"),
    "mirex2005-crowd": ("judgments.csv", "left=doc_a,right=doc_b,winner=answer"),
}
"""The file of each set and its columns."""
GOLD = "readinglevel"
"""The one set whose gold did not come from the votes."""
TABLES = (
    ("drop",
     "Ties are dropped (`--ties drop`): two-way log loss, and pairwise accuracy by the gold of readinglevel.",
     ("readinglevel", "llmfao", "mtbench-human", "ukpconvarg1")),
    ("keep", "Ties kept: three-way log loss.", ("llmfao", "mtbench-human", "mirex2005-crowd", "ukpconvarg1")),
)  # fmt: skip
"""What happens to ties, what the table shows, and its sets."""


def compared(key: Key) -> dict[str, Any]:
    """All models on one set, as `crowdrank compare --json` gives them."""
    file, columns = SETS[key["set"]]
    votes = cr.read(DATA / key["set"] / file, columns=columns, allow_dropped=True)
    gold = DATA / GOLD / "gold.csv" if key["set"] == GOLD else None
    return cr.compare_models(votes, key["models"], ties=key["ties"], gold=gold, measures="acc").as_dict()


def digits(value: float | None) -> str:
    """Four digits without the zero in front."""
    return "-" if value is None else f"{value:.4f}".removeprefix("0")


def column(found: dict[str, Any], models: Sequence[str]) -> list[str]:
    """The log losses of a set, bold if not to be told from the best; then its standard error and the votes."""
    rows = {row["model"]: row for row in found["models"]}
    best = found["models"][0]
    cells = []
    for model in models:
        row = rows.get(model, {"log_loss": None, "tied_with_best": False})
        equal = row is best or row["tied_with_best"]
        cells.append(f"**{digits(row['log_loss'])}**" if equal else digits(row["log_loss"]))
    return [*cells, digits(best["log_loss_se"]), f"{found['votes']:,}"]


def by_gold(found: dict[str, Any], models: Sequence[str]) -> list[str]:
    """The pairwise accuracy of each model by the gold."""
    rows = {row["model"]: row["gold"] for row in found["models"]}
    return [*(digits(rows.get(model, {}).get("acc")) for model in models), "", ""]


def table(ledger: Ledger, ties: str, names: Sequence[str], models: Sequence[str]) -> Iterator[str]:
    """A row for each model, a column for each set."""
    keys = [{"set": name, "ties": ties, "models": list(models)} for name in names]
    ledger.fill(keys, compared)
    columns = {key["set"]: column(ledger[key], models) for key in keys}
    if ties == "drop" and GOLD in names:
        columns[f"{GOLD}, gold accuracy"] = by_gold(ledger[keys[names.index(GOLD)]], models)
    heads = [*models, "standard error of the best", "votes"]
    yield from lines(["", *columns], list(zip(heads, *columns.values(), strict=True)))


def main(
    work: Path | None = None,
    sets: Sequence[str] = tuple(SETS),
    models: Sequence[str] = MODELS,
    write: bool = False,
) -> None:
    """Print the tables, or put them into the page."""
    ledger = Ledger("public-votes", work, progress=say)
    parts = []
    for ties, words, every in TABLES:
        names = [name for name in every if name in sets]
        if names:
            parts.append("\n".join([words, "", *table(ledger, ties, names, models)]))
    text = "\n\n".join(parts)
    print(text, flush=True)
    if write:
        fill_marks(DOCS / "compare.md", "public_votes", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["write"])
    parser.add_argument("--work", type=Path, help="folder of kept comparisons")
    parser.add_argument("--sets", default=",".join(SETS), help="sets, by commas")
    parser.add_argument("--models", default=",".join(MODELS), help="models, by commas")
    given = parser.parse_args()
    main(given.work, given.sets.split(","), given.models.split(","), given.what == "write")
