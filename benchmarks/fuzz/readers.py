"""Readers: drawn files and frames, as judgments, gold, anchors, a ranking or features."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.fuzz import bytes as files
from benchmarks.fuzz.checks import require_finite, require_short
from benchmarks.fuzz.frames import draw_frame
from benchmarks.fuzz.watch import Case
from crowdrank.data import Anchors, read, read_features, read_gold, read_ranking
from crowdrank.data.side_info import SideInfo

JUDGMENTS = [*files.PAIRS, *files.RATINGS, *files.RANKINGS]
TABLES = [*files.GOLD, *files.ANCHORS, *files.RANKED]


def _file(draw: Callable[[random.Random], bytes], reader: Callable[[Any], Any]) -> Callable[..., Case]:
    def make(rng: random.Random, folder: Path) -> Case:
        path = folder / "input"
        path.write_bytes(draw(rng))
        return lambda: _check(reader(path))

    return make


def _frame(rng: random.Random, folder: Path) -> Case:
    reader = rng.choice((read, read, read_gold, Anchors.read, read_ranking, read_features))
    frame = draw_frame(rng)
    return lambda: _check(reader(frame))


def _read_as_any(path: Path) -> Any:
    """A file as what it may be given as; the choice depends on its content alone."""
    reader = (read, read, read_gold, read_features)[sum(path.read_bytes()[:64]) % 4]
    return reader(path)


def _check(found: Any) -> None:
    """What was read is made of finite numbers and short notes."""
    require_short(getattr(found, "notes", ()))
    require_finite("weight", getattr(found, "weight", None))
    require_finite("label", getattr(found, "label", None) if getattr(found, "kind", "") == "ratings" else None)
    frame = getattr(found, "frame", None)
    if frame is not None and not callable(frame) and "value" in frame.columns:
        require_finite("value", frame["value"].to_numpy())


READERS: dict[str, Callable[[random.Random, Path], Case]] = {
    "csv": _file(lambda rng: files.draw(rng, JUDGMENTS), read),
    "tsv": _file(lambda rng: files.draw(rng, [files.tabs(text) for text in JUDGMENTS]), read),
    "jsonl": _file(files.draw_json, read),
    "parquet": _file(lambda rng: files.draw_parquet(rng, 0), _read_as_any),
    "letor": _file(lambda rng: files.draw(rng, files.LETOR), _read_as_any),
    "trec": _file(lambda rng: files.draw(rng, files.TREC), _read_as_any),
    "preflib": _file(lambda rng: files.draw(rng, files.PREFLIB), read),
    "frames": _frame,
    "gold": _file(lambda rng: files.draw(rng, [*files.GOLD, files.LETOR[0], files.TREC[1]]), read_gold),
    "anchors": _file(lambda rng: files.draw(rng, TABLES), Anchors.read),
    "ranking": _file(lambda rng: files.draw(rng, TABLES), read_ranking),
    "features": _file(lambda rng: files.draw(rng, [*files.FEATURES, *files.LETOR]), read_features),
    "side-info": _file(
        lambda rng: files.draw(
            rng, ["worker,kind,value,low,high,than,confidence\na,known,1.5,,,,\nb,order,,,,a,5\n"]
        ),
        SideInfo.read,
    ),
}


def maker(name: str) -> Callable[[int, int, Path], Case]:
    """The cases of a reader."""
    return lambda seed, number, folder: READERS[name](random.Random(f"{name} {seed} {number}"), folder)
