"""The files that the pages speak of, small and simulated, so that what the pages show can be run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import crowdrank as cr
from crowdrank.cli import run
from crowdrank.simulate.presets import simulate

ITEMS = dict(zip((f"item-{number}" for number in range(1, 7)), "abcdef", strict=True))
SEARCHES = "query,doc1,doc2,winner\nq1,d1,d2,d1\nq1,d2,d3,d3\nq1,d1,d3,d1\n"
STARS = "user,doc,stars\nann,d1,4\nann,d2,2\nbob,d1,5\nbob,d2,3\n"
PLACES = "worker,film,place\nann,f1,1\nann,f2,2\nbob,f2,1\nbob,f1,2\n"
BROKEN = "worker,left,right,label\nw1,a,b,a\nw1,a,b,c\n"


@cache
def crowd(seed: int = 0) -> Any:
    """Votes of 12 workers on 6 items."""
    return simulate("bt-crowd", seed=seed, items=6, workers=12, votes=3000 if seed == 0 else 30)


@cache
def shop(seed: int = 0) -> Any:
    """Documents with features, labels of a crowd for some and grades of experts for others."""
    sizes = {"source": 20, "target": 10, "validation": 5, "test": 5, "documents": 6, "features": 10}
    return simulate("remap-real", seed=seed, **sizes, workers=10, honeypots=3)


def simulated(folder: Path) -> None:
    """What `crowdrank simulate` writes."""
    folder.mkdir()
    for name in ("judgments", "gold", "workers"):
        getattr(crowd(), name).write_csv(folder / f"{name}.csv")


def votes(seed: int = 1) -> pl.DataFrame:
    """Votes on items with short names."""
    return crowd(seed).judgments.with_columns(pl.col("left", "right", "label").replace(ITEMS))


def lists() -> pl.DataFrame:
    """Three workers rank the documents of the shop, each by two features."""
    table = shop().part("source")
    ranks = [
        table.select(
            "query",
            "item",
            worker=pl.lit(worker),
            rank=(pl.col("f00") + share * pl.col("f01")).rank("ordinal", descending=True).over("query"),
        )
        for worker, share in (("ann", 0.0), ("bob", 0.5), ("eve", 1.0))
    ]
    return pl.concat(ranks)


def letor(path: Path) -> None:
    """The documents that experts graded, as LETOR text."""
    features = [f"f{number:02}" for number in range(10)]
    lines = (
        " ".join([str(row["label"]), f"qid:{row['query'].split('-')[1]}",
                  *(f"{place}:{row[name]}" for place, name in enumerate(features, 1)), f"# {row['item']}"])
        for row in shop().labeled("target").iter_rows(named=True)
    )  # fmt: skip
    path.write_text("\n".join(lines) + "\n")


def ranked(path: Path, seed: int) -> None:
    """A file of votes, and the folder that `crowdrank rank --out` writes for it."""
    votes(seed).write_csv(path.with_suffix(".csv"))
    run(["-qq", "rank", str(path.with_suffix(".csv")), "--model", "bt", "--out", str(path)])


def trained(path: Path) -> None:
    """A ranker that learned what labels of a crowd are worth."""
    source = shop()
    cr.Remap(baselines="none").fit(
        source.part("source"),
        source.judgments,
        target=source.labeled("target"),
        validation=0.5,
        honeypots=source.honeypots,
    ).save(path)


FILES: dict[str, Callable[[Path], object]] = {
    "sim/": simulated,
    "votes.csv": lambda path: votes().write_csv(path),
    "broken.csv": lambda path: path.write_text(BROKEN),
    "searches.csv": lambda path: path.write_text(SEARCHES),
    "stars.csv": lambda path: path.write_text(STARS),
    "places.csv": lambda path: path.write_text(PLACES),
    "january": lambda path: ranked(path, 1),
    "february": lambda path: ranked(path, 2),
    "labels.csv": lambda path: shop().judgments.write_csv(path),
    "features.csv": lambda path: shop().part("source").write_csv(path),
    "expert.csv": lambda path: shop().labeled("target").write_csv(path),
    "known.csv": lambda path: shop().honeypots.write_csv(path),
    "lists.csv": lambda path: lists().write_csv(path),
    "ratings.csv": lambda path: shop().judgments.write_csv(path),
    "grades.csv": lambda path: crowd(1).gold.with_columns(pl.col("item").replace(ITEMS)).write_csv(path),
    "features.txt": letor,
    "train.txt": letor,
    "new.txt": letor,
    '"ranker"': trained,
    "new.csv": lambda path: shop(1).part("source").write_csv(path),
    "new_labels.csv": lambda path: shop(1).judgments.write_csv(path),
    "new_known.csv": lambda path: shop(1).honeypots.write_csv(path),
}
"""How each file or folder is made."""


def usual_files(folder: Path, text: str) -> None:
    """Make those files that a text names."""
    for name, make in FILES.items():
        if name in text:
            make(folder / name.strip('/"'))
