"""A trained ranker as a folder: model.json and one part that holds the function. Nothing is pickled.

model.json says what the part is called and its SHA-256, which is checked before the part is opened: a cut or
edited part never reaches the library that reads it.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdrank.data import Floats
from crowdrank.errors import InputError, Note
from crowdrank.rankers.preparation import Preparation
from crowdrank.rankers.registry import make_ranker, ranker_entries
from crowdrank.rankers.scorers import FUNCTIONS, SCORERS, function_class, scorer_class
from crowdrank.rankers.scoring import CrowdExpertise, ScoringFunction
from crowdrank.rankers.tables import Importance
from crowdrank.results import Fit, to_plain

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker

FORMAT = 1
KIND = "crowdrank ranker"
HEADER = "model.json"
FIELDS = ("model", "scorer", "features", "standardize", "fill", "mean", "scale", "takes_missing", "parts", "fit")
"""What model.json must have."""


def contents(ranker: Ranker) -> dict[str, bytes]:
    """The files of a saved ranker by name; model.json is the last."""
    trained = ranker.trained_
    scoring = trained.scoring
    part, content = scoring.function.part, scoring.function.to_bytes()
    header = {
        "kind": KIND,
        "format": FORMAT,
        "model": ranker.name,
        "scorer": trained.scorer,
        "features": list(scoring.preparation.names),
        "standardize": scoring.preparation.standardize,
        **{name: _numbers(getattr(scoring.preparation, name)) for name in ("fill", "mean", "scale")},
        "takes_missing": scoring.takes_missing,
        "crowd": None if scoring.crowd is None else asdict(scoring.crowd),
        "parts": {part: hashlib.sha256(content).hexdigest()},
        "fit": trained.fit.as_dict(),
    }
    header["sha256"] = _digest(header)
    text = json.dumps(header, indent=2, allow_nan=False) + "\n"
    texts = {name: own.encode() for name, own in trained.texts.items()}
    return {part: content, **texts, HEADER: text.encode()}


def save(ranker: Ranker, folder: Path) -> None:
    """Write the files into the folder. model.json comes last, so that an interrupted save is no ranker."""
    files = contents(ranker)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / HEADER).unlink(missing_ok=True)
    for name, content in files.items():
        temporary = folder / f".{name}.part"
        temporary.write_bytes(content)
        temporary.replace(folder / name)


def load(folder: str | Path) -> Ranker:
    """The ranker that was saved in this folder. A damaged or unknown folder is an error that says why.

    >>> import crowdrank as cr
    >>> docs = {"query": [1, 1, 1], "item": [*"abc"], "label": [2, 1, 0], "length": [9, 5, 1]}
    >>> cr.ListMLE().fit(docs).save("ranker")
    >>> cr.load("ranker").score({"item": ["x", "y"], "length": [2, 8]}).score.round(2)
    array([-0.16,  0.16])
    """
    place = Path(folder)
    header = _read_header(place)
    part = function_class(header["scorer"]).part
    if set(header["parts"]) != {part}:
        raise InputError("does not describe a saved ranker.", source=str(place / HEADER))
    content = _read_part(place, part, header["parts"][part])
    return _restore(place, header, part, content)


def _read_header(place: Path) -> dict[str, Any]:
    source = str(place / HEADER)
    if not place.is_dir():
        problem = "is a file, not the folder of a saved ranker." if place.exists() else "there is no such folder."
        raise InputError(problem, source=str(place), hint="Name the folder that training wrote.")
    try:
        header = json.loads((place / HEADER).read_bytes())
    except FileNotFoundError:
        raise InputError(
            "there is no model.json in the folder.", source=str(place), hint="Name the folder that training wrote."
        ) from None
    except (ValueError, OSError) as error:
        raise InputError("is damaged or cut off.", source=source, hint="Copy the folder again.") from error
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise InputError("does not describe a saved ranker.", source=source)
    if header.get("format") != FORMAT:
        hint = f"This version of crowdrank reads format {FORMAT}. Install a newer version, or train again."
        raise InputError("has another format.", source=source, value=header.get("format"), hint=hint)
    if header.pop("sha256", None) != _digest(header):
        raise InputError(
            "was edited or damaged: its checksum differs.",
            source=source,
            hint="Copy the folder again, or train again.",
        )
    lacks = [name for name in FIELDS if name not in header]
    if lacks:
        raise InputError(f"lacks {lacks[0]!r}.", source=source, hint="Copy the folder again, or train again.")
    if header["model"] not in ranker_entries() or header["scorer"] not in FUNCTIONS:
        got = f"{header['model']}, {header['scorer']}"
        raise InputError("names a ranker that this version does not have.", source=source, value=got)
    return header


def _read_part(place: Path, part: str, digest: str) -> bytes:
    source = str(place / part)
    try:
        content = (place / part).read_bytes()
    except FileNotFoundError:
        raise InputError("the file is missing.", source=source, hint="Copy the whole folder.") from None
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}).", source=source, hint="Copy the folder again."
        ) from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(
            "is cut off or was edited: its checksum is not the one in model.json.",
            source=source,
            hint="Copy the folder again, or train again.",
        )
    return content


def _restore(place: Path, header: Mapping[str, Any], part: str, content: bytes) -> Ranker:
    from crowdrank.rankers.base import TrainedRanker

    names = tuple(header["features"])
    try:
        function = function_class(header["scorer"]).from_bytes(content, len(names))
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"does not fit to model.json ({error}).", source=str(place / part)) from error
    numbers = {name: _array(header[name]) for name in ("fill", "mean", "scale")}
    preparation = Preparation(names, header["standardize"], **numbers)
    saved = dict(header["fit"])
    notes = tuple(Note(**note) for note in saved.pop("warnings"))
    fit = Fit(**saved, warnings=notes)
    ranker = make_ranker(header["model"])
    parameters = {name: value for name, value in fit.parameters.items() if name in ranker.parameters()}
    if header["scorer"] in SCORERS:
        parameters["scorer"] = scorer_class(header["scorer"])().set_params(**fit.details["scorer_parameters"])
    ranker.set_params(**parameters)
    crowd = CrowdExpertise(**header["crowd"]) if header.get("crowd") else None
    scoring = ScoringFunction(function, preparation, bool(header["takes_missing"]), crowd)
    importance = Importance(names, function.importance(), function.signed_weights())
    ranker._trained = TrainedRanker(header["scorer"], scoring, fit, importance)
    return ranker


def _digest(header: Mapping[str, Any]) -> str:
    """The checksum of everything else in model.json."""
    plain = json.dumps(to_plain(header), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


def _numbers(values: Floats | None) -> list[float] | None:
    return None if values is None else [float(value) for value in values]


def _array(values: list[float] | None) -> Floats | None:
    return None if values is None else np.array(values, np.float64)
