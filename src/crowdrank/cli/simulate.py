"""crowdrank simulate: a crowd with known truth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crowdrank.cli.options import parse_settings
from crowdrank.cli.output import Folder, frame_writer

NAME = "simulate"


def command(
    preset: Annotated[str, typer.Argument(help="A preset from the list above.")],
    out: Annotated[Path, typer.Option(help="Folder for judgments.csv, gold.csv, workers.csv.")],
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the preset, name=value.")
    ] = None,
) -> None:
    """Simulate a crowd: judgments, gold and workers with known truth.

    Presets: bt-crowd, judge-crowd, crowd-bt-quality, crowd-bt-active, crowd-bt-regularization, tpp, tpp-text,
    search (with features.csv). Crowds that `replay` asks too: bt, beta-5-1, spammers, distance-free, position,
    drift, coin. Lists by annotators, with features.csv and queries.csv: ltrma-paper, ltrma-h7,
    ltrma-h5, ltrma-long, ltrma-letor (--set file=PATH). Labels by a crowd for source queries, with
    features.csv and honeypots.csv, and experts' grades for others, with target.csv, validation.csv and test.csv:
    remap-real, remap-both, remap-heur40, remap-rigor, remap-quality.
    """
    from crowdrank.simulate import simulate

    crowd = simulate(preset, seed=seed, **parse_settings(settings or []))
    with Folder(out) as folder:
        folder.write({f"{name}.csv": frame_writer(frame) for name, frame in crowd.tables().items()})
    print(f"{len(crowd.judgments)} judgments are in {out}", file=sys.stderr)
