"""P: the weight and the value of a label, from its label features (Ustinovskiy et al. 2016, eq. 3).

    w = sigma(y alpha),    l = sigma(y beta)

It is saved as a file of its own and applied to another source, without its target set (section 7 of the paper).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from crowdrank.data import Floats
from crowdrank.errors import InputError, Note
from crowdrank.rankers.remap.samples import CrowdLabels
from crowdrank.results import to_plain

FORMAT = 1
KIND = "crowdrank processing"
FILE = "processing.json"
UNLIKE = 1.0
"""A label feature whose mean lies this many standard deviations from that of the old crowd is unlike it."""


@dataclass(frozen=True)
class Moments:
    """The mean and the standard deviation of a label feature over the samples."""

    mean: float
    sd: float


@dataclass(frozen=True, eq=False)
class Processing:
    """A trained P. Label features are divided by their ``scale`` first, which makes them alike in size.

    ``values``: the crowd's labels. ``weight_names``, ``value_names``: the label features of weights and values.
    ``crowd``: the distribution of each label feature in training. ``settings``: how label features were made.
    """

    values: tuple[float, ...]
    weight_names: tuple[str, ...]
    value_names: tuple[str, ...]
    alpha: Floats
    beta: Floats
    weight_scale: Floats
    value_scale: Floats
    crowd: Mapping[str, Moments] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def weights(self, features: Floats) -> Floats:
        """w of each sample, from its label features as they are."""
        return np.asarray(expit(features / self.weight_scale @ self.alpha))

    def remap(self, features: Floats) -> Floats:
        """l of each sample, from its label features as they are."""
        return np.asarray(expit(features / self.value_scale @ self.beta))

    def check_labels(self, labels: CrowdLabels) -> None:
        """Raise an error if the new crowd has labels that P does not know."""
        unknown = [value for value in labels.values if value not in self.values]
        if unknown:
            known = ", ".join(f"{value:g}" for value in self.values)
            raise InputError(
                f"the crowd has the label {unknown[0]:g}, but the processing was trained on the labels {known}."
            )

    def differences(self, names: tuple[str, ...], features: Floats) -> dict[str, float]:
        """How far the mean of each label feature lies from that of the old crowd, in its standard deviations."""
        means = features.mean(axis=0)
        found = {}
        for place, name in enumerate(names):
            old = self.crowd[name]
            found[name] = float(abs(means[place] - old.mean) / max(old.sd, 1e-12))
        return found

    def unlike_notes(self, names: tuple[str, ...], features: Floats) -> list[Note]:
        """A note if the new crowd looks unlike the old one."""
        apart = self.differences(names, features)
        far = sorted((name for name in apart if apart[name] > UNLIKE), key=lambda name: -apart[name])
        if not far:
            return []
        shown = ", ".join(f"{name} ({apart[name]:.1f})" for name in far[:3])
        return [
            Note(
                "unlike-crowd",
                f"The crowd looks unlike the one that the processing was trained on: the means of {len(far)} of "
                f"{len(names)} label features differ by more than one standard deviation, most of all {shown}. "
                "Its weights and values may not fit.",
            )
        ]

    def to_json(self) -> str:
        """The content of its file."""
        plain = {**asdict(self), "kind": KIND, "format": FORMAT}
        return json.dumps(to_plain(plain), indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, given: Any) -> Processing:
        """A processing, its file, or the folder of a trained ranker."""
        if isinstance(given, cls):
            return given
        path = Path(given)
        path = path / FILE if path.is_dir() else path
        try:
            found = json.loads(path.read_bytes())
            if found.pop("kind") != KIND or found.pop("format") != FORMAT:
                raise KeyError("kind")
            arrays = {name: np.array(found.pop(name), float) for name in _ARRAYS}
            crowd = {name: Moments(**own) for name, own in found.pop("crowd").items()}
            names = {name: tuple(found.pop(name)) for name in ("values", "weight_names", "value_names")}
            made = cls(**names, **arrays, crowd=crowd, settings=found["settings"])
            sizes = len(made.weight_names), len(made.value_names), len(made.weight_names), len(made.value_names)
            if sizes != tuple(len(array) for array in arrays.values()):
                raise KeyError("alpha")
            return made
        except FileNotFoundError:
            raise InputError(
                "there is no such file.", source=str(path),
                hint="Name processing.json, or the folder of a ranker that remap trained.",
            ) from None  # fmt: skip
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise InputError(
                "is no processing that remap has saved, or is damaged.", source=str(path),
                hint="Name processing.json, or the folder of a ranker that remap trained.",
            ) from error  # fmt: skip


_ARRAYS = ("alpha", "beta", "weight_scale", "value_scale")


def feature_scale(features: Floats, weight: Floats) -> Floats:
    """The root mean square of the values of each label feature that are not 0; 1 if all are."""
    mass = weight @ (features != 0)
    square = weight @ features**2
    return np.asarray(np.where(square > 0, np.sqrt(square / np.maximum(mass, 1e-300)), 1.0))


def feature_moments(names: tuple[str, ...], features: Floats, weight: Floats) -> dict[str, Moments]:
    """The distribution of each label feature."""
    mean = weight @ features / weight.sum()
    sd = np.sqrt(weight @ (features - mean) ** 2 / weight.sum())
    return {name: Moments(float(mean[place]), float(sd[place])) for place, name in enumerate(names)}
