"""crowdrank export: a saved ranker in a format that other programs run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crowdrank.cli.output import File, bytes_writer

NAME = "export"


def command(
    ranker: Annotated[Path, typer.Argument(help="The folder that `crowdrank train` wrote.")],
    onnx: Annotated[Path, typer.Option(help="File for the ranker as an ONNX model.")],
) -> None:
    """Export a saved ranker as an ONNX model, which scores documents without crowdrank."""
    with File(onnx, "--onnx") as file:
        from crowdrank.rankers.onnx import to_onnx
        from crowdrank.rankers.saved import load

        scoring = load(ranker).trained_.scoring
        file.write(bytes_writer(to_onnx(scoring.function, scoring.preparation, scoring.preparation.names)))
    print(f"The ranker is in {onnx}", file=sys.stderr)
