"""Dataclasses of arrays as a file: a JSON header and arrays in NumPy's npz format. Nothing is pickled.

A value is packed into a tree of plain JSON values. The tree refers to arrays by name and stores the class of each
dataclass. An object with ``storable()`` is packed as its return value. A dataclass with ``restore()`` is read back
as its return value. Only dataclasses of this package are read back.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.errors import InputError, UsageError

FORMAT = 1
HEADER = "header"
PACKAGE = "crowdrank."


def pack(value: Any) -> tuple[Any, dict[str, Any]]:
    """The tree of a value, and the arrays that it refers to."""
    arrays: dict[str, Any] = {}
    return _pack(value, arrays), arrays


def _pack(value: Any, arrays: dict[str, Any]) -> Any:
    if hasattr(value, "storable"):
        value = value.storable()
    if isinstance(value, np.ndarray):
        return {"array": _name(arrays, value)}
    if isinstance(value, pl.Series):
        return {"series": value.to_list(), "name": value.name}
    if hasattr(value, "tocsr"):
        own = value.tocsr()
        parts = {name: _name(arrays, getattr(own, name)) for name in ("data", "indices", "indptr")}
        return {"sparse": parts, "shape": list(own.shape)}
    if is_dataclass(value) and not isinstance(value, type):
        content = {part.name: _pack(getattr(value, part.name), arrays) for part in fields(value) if part.init}
        return {"class": f"{type(value).__module__}:{type(value).__qualname__}", "fields": content}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_pack(own, arrays) for own in value]}
    return value.item() if isinstance(value, np.generic) else value


def _name(arrays: dict[str, Any], value: Any) -> str:
    name = f"a{len(arrays)}"
    arrays[name] = value
    return name


def unpack(tree: Any, arrays: Mapping[str, Any]) -> Any:
    """The value that was packed."""
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "series" in tree:
        return pl.Series(tree["name"], tree["series"], pl.String)
    for kind in (list, tuple):
        if kind.__name__ in tree:
            return kind(unpack(own, arrays) for own in tree[kind.__name__])
    if "sparse" in tree:
        from scipy.sparse import csr_array

        data, indices, indptr = (arrays[tree["sparse"][name]] for name in ("data", "indices", "indptr"))
        return csr_array((data, indices, indptr), shape=tuple(tree["shape"]))
    made = _class(tree["class"])(**{name: unpack(own, arrays) for name, own in tree["fields"].items()})
    return made.restore() if hasattr(made, "restore") else made


def _class(path: str) -> Any:
    """Find a dataclass of this package by its path."""
    module, _, name = path.partition(":")
    found = getattr(import_module(module), name, None) if module.startswith(PACKAGE) else None
    if not (isinstance(found, type) and is_dataclass(found)):
        raise InputError("The file names a class that this version of crowdrank does not have.", value=path)
    return found


def save_file(path: Path, kind: str, tree: Any, arrays: Mapping[str, Any]) -> None:
    """Write a temporary file next to ``path``, then move it there, so that no partial file remains."""
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {str(path.parent)!r} to write to.")
    header = json.dumps({"format": FORMAT, "kind": kind, "tree": tree}).encode()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **{HEADER: np.frombuffer(header, np.uint8), **arrays})
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_file(path: Path, kind: str) -> tuple[Any, dict[str, Any]]:
    """The tree and the arrays of a file of this kind. Raises an error if it is something else."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop(HEADER).tobytes())
    except FileNotFoundError:
        raise InputError("There is no such file.", source=str(path)) from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise InputError(f"This is not a saved {kind}, or it was cut short.", source=str(path)) from None
    if header.get("kind") != kind or header.get("format") != FORMAT:
        got = f"{header.get('kind')}, format {header.get('format')}"
        raise InputError(f"This is not a saved {kind} of format {FORMAT}.", source=str(path), value=got)
    return header["tree"], arrays
