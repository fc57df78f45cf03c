"""crowdrank export: a saved ranker in a format that other programs run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.messages import finish
from crowdrank.cli.output import File, bytes_writer
from crowdrank.cli.ranker_files import saved_files


def command(
    ranker: Annotated[Path, Argument(help="The folder that `crowdrank train` wrote.")],
    onnx: Annotated[Path, Option(help="File for the ranker as an ONNX model.")],
) -> None:
    """Export a saved ranker as an ONNX model, which scores documents without crowdrank."""
    with File(onnx, "--onnx", saved_files(ranker)) as file:
        from crowdrank.rankers.onnx import to_onnx
        from crowdrank.rankers.saved import load

        scoring = load(ranker).trained_.scoring
        file.write(bytes_writer(to_onnx(scoring.function, scoring.preparation, scoring.preparation.names)))
    finish(f"The ranker is in {onnx}", files=[str(onnx)])
