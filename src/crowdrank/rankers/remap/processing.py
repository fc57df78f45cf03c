"""P: the weight and the value of a label, from its label features (Ustinovskiy et al. 2016, eq. 3).

    w = sigma(y alpha),    l = sigma(y beta)

It is saved as a file of its own and applied to another source, without its target set (section 7 of the paper).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from crowdrank.data import Floats
from crowdrank.errors import InputError, Note
from crowdrank.rankers.remap.label_features import CROWD_LABEL, RawFeatures
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
    """A trained P: the weight w = sigma(y alpha) and the value l = sigma(y beta) of a label with label features y.

    Ustinovskiy et al. 2016, eq. 3. ``read`` takes the folder of a ranker or its processing.json, and
    ``Remap.fit(processing=)`` applies it to another source.

    ``values``: the crowd's labels. ``weight_names``, ``value_names``: the label features of weights and values.
    ``mu``: the penalty of its ridge ranker for each document. ``crowd``: the distribution of each raw label
    feature in training, by which it is standardized. ``by_label``: the same among the samples of each label.
    ``settings``: how label features were made.

    >>> import numpy as np
    >>> import crowdrank as cr
    >>> alpha, beta = np.array([2.0]), np.array([1.0])
    >>> processing = cr.Processing((0.0, 1.0), ("agrees",), ("label",), alpha, beta)
    >>> processing.weights(np.array([[1.0], [-1.0]])).round(2)  # of labels that agree and disagree with others
    array([0.88, 0.12])
    """

    values: tuple[float, ...]
    weight_names: tuple[str, ...]
    value_names: tuple[str, ...]
    alpha: Floats
    beta: Floats
    mu: float = 0.1
    crowd: Mapping[str, Moments] = field(default_factory=dict)
    by_label: Mapping[str, Moments] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def weights(self, features: Floats) -> Floats:
        """w of each sample, from its standardized label features."""
        return np.asarray(expit(features @ self.alpha))

    def remap(self, features: Floats) -> Floats:
        """l of each sample, from its standardized label features."""
        return np.asarray(expit(features @ self.beta))

    def standardize(self, raw: RawFeatures) -> RawFeatures:
        """The raw features less their means, over their standard deviations; the crowd label as it is."""
        known = {name: (own.mean, own.sd) for name, own in self.crowd.items() if name in raw.columns}
        return raw.standardized(known)

    def check_labels(self, labels: CrowdLabels) -> None:
        """Raise an error if the new crowd has other labels than those that P knows."""
        if tuple(labels.values) != self.values:
            here, known = (", ".join(f"{value:g}" for value in own) for own in (labels.values, self.values))
            raise InputError(
                f"the crowd's labels are {here}, but the processing was trained on the labels {known}."
            )

    def pick(self, kind: str, names: tuple[str, ...], values: Floats) -> tuple[tuple[str, ...], Floats]:
        """The label features that P needs for its ``kind``, "weight" or "value", in its own order."""
        wanted = self.weight_names if kind == "weight" else self.value_names
        place = {name: number for number, name in enumerate(names)}
        lacking = [name for name in wanted if name not in place]
        if lacking:
            name = lacking[0].partition("|")[0]
            raise InputError(
                f"the processing needs the label feature {name!r}, which this source does not have.",
                hint="It was trained with honeypots or columns of its own: give them too.",
            )
        return wanted, values[:, [place[name] for name in wanted]]

    def unlike_notes(self, raw: RawFeatures, labels: Sequence[float], said: Floats, weight: Floats) -> list[Note]:
        """A note if the new crowd looks unlike the old one: how far the means of raw features lie apart.

        They are compared among samples with the same label, so that a consensus at a mirror image shows.
        """
        here = label_moments(raw, labels, said, weight)
        both = {name: own for name, own in self.by_label.items() if name in here}
        apart = {name: abs(here[name].mean - own.mean) / max(own.sd, 1e-12) for name, own in both.items()}
        far = sorted((name for name in apart if apart[name] > UNLIKE), key=lambda name: -apart[name])
        if not far:
            return []
        shown = ", ".join(f"{name} ({apart[name]:.1f})" for name in far[:3])
        return [
            Note(
                "unlike-crowd",
                f"The crowd looks unlike the one that the processing was trained on: the means of {len(far)} of "
                f"{len(apart)} label features differ by more than one standard deviation, most of all {shown}. "
                "Its weights and values may not fit.",
            )
        ]

    def to_json(self) -> str:
        """The content of its file."""
        plain = {"kind": KIND, "format": FORMAT, **asdict(self)}
        plain |= {name: getattr(self, name).tolist() for name in _ARRAYS}
        return json.dumps(to_plain(plain), indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, given: Any) -> Processing:
        """A processing, its file, or the folder of a trained ranker."""
        if isinstance(given, cls):
            return given
        path = Path(given)
        path = path / FILE if path.is_dir() else path
        try:
            return cls.read_text(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError("there is no such file.", source=str(path), hint=_HINT) from None
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            problem = "is no processing that remap has saved, or is damaged."
            raise InputError(problem, source=str(path), hint=_HINT) from error

    @classmethod
    def read_text(cls, text: str) -> Processing:
        """The processing of such a file's content; a ValueError, KeyError or TypeError if that is damaged."""
        found = json.loads(text)
        if found["kind"] != KIND or found["format"] != FORMAT:
            raise ValueError("format")
        made = cls(
            values=tuple(map(float, found["values"])),
            weight_names=tuple(found["weight_names"]),
            value_names=tuple(found["value_names"]),
            alpha=np.array(found["alpha"], float),
            beta=np.array(found["beta"], float),
            mu=float(found["mu"]),
            crowd={name: Moments(**own) for name, own in found["crowd"].items()},
            by_label={name: Moments(**own) for name, own in found["by_label"].items()},
            settings=found["settings"],
        )
        if (made.alpha.size, made.beta.size) != (len(made.weight_names), len(made.value_names)):
            raise ValueError("alpha")
        return made


_ARRAYS = ("alpha", "beta")
_HINT = "Name processing.json, or the folder of a ranker that remap trained."


def raw_moments(raw: RawFeatures, weight: Floats) -> dict[str, Moments]:
    """The distribution of each raw feature but the crowd label."""
    total, found = float(weight.sum()), {}
    for name, column in raw.columns.items():
        if name != CROWD_LABEL:
            mean = float(weight @ column) / total
            sd = float(np.sqrt(weight @ (column - mean) ** 2 / total))
            found[name] = Moments(mean, sd if sd > 1e-9 * max(abs(mean), 1e-300) else 1.0)
    return found


def label_moments(raw: RawFeatures, labels: Sequence[float], said: Floats, weight: Floats) -> dict[str, Moments]:
    """The distribution of each raw feature among the samples of each label."""
    found = dict[str, Moments]()
    for value in labels:
        own = said == value
        columns = {name: column[own] for name, column in raw.columns.items()}
        if own.any():
            moments = raw_moments(RawFeatures(columns, raw.group), weight[own])
            found |= {f"{name}|{value:g}": moment for name, moment in moments.items()}
    return found
