"""Writes the notebooks of the tutorials, with their outputs: `make notebooks`.

A notebook is written as docs/notebooks/NAME.py in the "percent" form, which editors know: `# %%` begins a cell of
code, and `# %% [markdown]` a cell of text. The cells run from top to bottom in a new folder, and NAME.ipynb gets
them with what a notebook shows: what a cell prints, and its last line if that is an expression.
Name notebooks to write only these."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import nbformat
import polars as pl
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

FOLDER = Path(__file__).with_suffix("")
CELL = re.compile(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", re.M | re.S)
TAG = re.compile(r"<[^>]*>")
NUMBER = re.compile(r"\d[\d.e+-]*")
WIDTH = 100
"""Of a frame as text, in letters, whatever the terminal; that of a notebook."""
FORMS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
"""How a value is shown, and the method that says it."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def sources() -> dict[str, Path]:
    """The source of each notebook, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py"))}


def cells(source: str) -> Iterator[Any]:
    """The cells of a source, not run yet."""
    for number, (markdown, content) in enumerate(CELL.findall(source), 1):
        name = f"cell-{number}"
        if markdown:
            yield new_markdown_cell(re.sub(r"^# ?", "", content.strip(), flags=re.M), id=name)
        else:
            yield new_code_cell(content.strip(), id=name)


def run_cell(code: str, names: dict[str, Any]) -> list[Any]:
    """The outputs of a cell: what it prints, and the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs = [new_output("stream", name="stdout", text=printed.getvalue())] if printed.getvalue() else []
    return outputs if value is None else [*outputs, new_output("execute_result", shown(value))]


def shown(value: Any) -> dict[str, str]:
    """A value in every form that a notebook can show."""
    drawn = {form: getattr(value, method)() for form, method in FORMS.items() if hasattr(value, method)}
    return {**drawn, "text/plain": repr(value)}


def run_notebook(path: Path) -> Any:
    """A source as a notebook with the outputs of a run in a new folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = list(cells(path.read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder, chdir(folder), pl.Config(tbl_width_chars=WIDTH):
        for number, cell in enumerate((cell for cell in found if cell.cell_type == "code"), 1):
            cell.execution_count, cell.outputs = number, run_cell(cell.source, names)
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = number
    return new_notebook(cells=found, metadata=METADATA)


def comparable(notebook: Any) -> Any:
    """A notebook as it is compared: everything but the numbers within tags.

    Where a line is drawn may differ in the last digit from machine to machine. What can be read may not.
    """
    plain = json.loads(nbformat.writes(notebook, split_lines=False))
    for cell in plain["cells"]:
        for output in cell.get("outputs", ()):
            for form in FORMS.keys() & output.get("data", {}).keys():
                output["data"][form] = TAG.sub(lambda tag: NUMBER.sub("#", tag[0]), output["data"][form])
    return plain


def main(names: list[str]) -> None:
    """Write the notebooks."""
    for name, path in sources().items():
        if not names or name in names:
            nbformat.write(run_notebook(path), path.with_suffix(".ipynb"))
            print(f"{name}: {path.with_suffix('.ipynb').stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
