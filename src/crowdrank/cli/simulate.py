"""crowdrank simulate: a crowd with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.messages import finish
from crowdrank.cli.options import parse_settings
from crowdrank.cli.output import Folder, frame_writer
from crowdrank.errors import count_noun


def command(
    preset: Annotated[str, Argument(help="A preset from the list above.", names="presets")],
    out: Annotated[Path, Option(help="Folder for judgments.csv, gold.csv, workers.csv.")],
    seed: Annotated[int, Option(help="Seed of everything random.")] = 0,
    settings: Annotated[
        list[str] | None, Option("--set", help="A setting of the preset, name=value.", names="parameters")
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

    own = parse_settings(settings or [])
    with Folder(out, str(own.get("file", "")).split(",")) as folder:
        crowd = simulate(preset, seed=seed, **own)
        folder.write({f"{name}.csv": frame_writer(frame) for name, frame in crowd.tables().items()})
    names = [f"{name}.csv" for name in crowd.tables()]
    finish(
        f"{count_noun(len(crowd.judgments), 'judgment is', 'judgments are')} in {out}",
        folder=str(out),
        files=names,
    )
