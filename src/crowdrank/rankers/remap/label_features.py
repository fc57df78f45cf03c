"""Label features: what is known about each label of a crowd (Ustinovskiy et al. 2016, table 1).

A raw feature f says something about the worker, the document or both. Each one but the crowd label itself is
crossed with each label value c: f I(label = c). Two label values give 1 + 2 x 14 = 29 label features. P takes
raw features that are standardized first, so that steps of its climb are alike for all of them. What that adds is
the same for all labels c, and the crowd label makes up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdrank.data import Floats
from crowdrank.errors import UsageError
from crowdrank.rankers.remap.consensus import Consensus
from crowdrank.rankers.remap.samples import CrowdLabels
from crowdrank.results import Table

CROWD_LABEL = "label"
GROUPS = ("basic", "ds", "glad", "own", "ranking")
"""What a raw feature comes from: simple counts, Dawid-Skene, GLAD, the user's columns, the ranking features."""
PROBABILITIES = ("posterior", "predictive")


@dataclass(frozen=True, eq=False)
class RawFeatures:
    """Raw features of samples by name, and the group of each. The crowd label is the first one."""

    columns: Mapping[str, Floats]
    group: Mapping[str, str]

    def with_columns(self, group: str, columns: Mapping[str, Floats]) -> RawFeatures:
        """These and further columns of one group."""
        return RawFeatures({**self.columns, **columns}, {**self.group, **dict.fromkeys(columns, group)})

    def standardized(self, moments: Mapping[str, tuple[float, float]]) -> RawFeatures:
        """Each column less a mean and over a scale; those that are not named stay as they are."""
        columns = dict(self.columns)
        for name, (mean, scale) in moments.items():
            columns[name] = (columns[name] - mean) / scale
        return RawFeatures(columns, self.group)


@dataclass(frozen=True, eq=False, repr=False)
class LabelFeatures(Table):
    """The matrix of label features, one row for each sample, and the sample it belongs to."""

    samples: pl.DataFrame
    names: tuple[str, ...]
    values: Floats

    def polars(self) -> pl.DataFrame:
        """query, item, worker, label_given, and a column for each label feature."""
        ids = self.samples.select("query", "item", "worker", pl.col("label").alias("label_given"))
        return ids.hstack([pl.Series(name, self.values[:, place]) for place, name in enumerate(self.names)])


def raw_features(
    labels: CrowdLabels, consensus: Consensus, samples: pl.DataFrame, probability: str
) -> RawFeatures:
    """The raw features of table 1 for these samples.

    ``probability``: "posterior", Pr(the true label is c), or "predictive", Pr(this worker says c here).
    """
    if probability not in PROBABILITIES:
        raise UsageError(
            f"The parameter 'probability' must be one of {', '.join(PROBABILITIES)}. Got {probability!r}."
        )
    values = labels.values
    scale = (samples["label"].to_numpy() - values[0]) / (values[-1] - values[0])
    found = RawFeatures({CROWD_LABEL: scale}, {CROWD_LABEL: "basic"})
    found = found.with_columns("ds", _dawid_skene(labels, consensus, samples, probability))
    found = found.with_columns("glad", _glad(labels, consensus, samples, probability))
    return found.with_columns("basic", _basic(labels, consensus, samples))


def _dawid_skene(
    labels: CrowdLabels, consensus: Consensus, samples: pl.DataFrame, probability: str
) -> dict[str, Floats]:
    """The worker's confusion matrix, and the probabilities of labels under Dawid-Skene."""
    confusion = consensus.confusion_of(samples)
    columns = {
        f"ds_confusion_{true:g}_{said:g}": confusion[:, one, other]
        for one, true in enumerate(labels.values)
        for other, said in enumerate(labels.values)
    }
    posterior = consensus.posterior_of("dawid-skene", samples)
    shown = posterior if probability == "posterior" else np.einsum("st,stc->sc", posterior, confusion)
    return columns | _probabilities("ds", labels, samples, posterior, shown)


def _glad(labels: CrowdLabels, consensus: Consensus, samples: pl.DataFrame, probability: str) -> dict[str, Floats]:
    """The worker's ability, and the probabilities of labels under GLAD."""
    ability = consensus.ability_of(samples)
    posterior = consensus.posterior_of("glad", samples)
    shown = posterior
    if probability == "predictive":
        right = 1.0 / (1.0 + np.exp(-ability * consensus.easiness_of(samples)))[:, None]
        shown = posterior * right + (1.0 - posterior) * (1.0 - right) / (len(labels.values) - 1)
    return {"glad_ability": ability} | _probabilities("glad", labels, samples, posterior, shown)


def _probabilities(
    name: str, labels: CrowdLabels, samples: pl.DataFrame, posterior: Floats, shown: Floats
) -> dict[str, Floats]:
    said = np.searchsorted(labels.values, samples["label"].to_numpy())
    columns = {f"{name}_correct": posterior[np.arange(len(said)), said]}
    return columns | {f"{name}_says_{value:g}": shown[:, place] for place, value in enumerate(labels.values)}


def _basic(labels: CrowdLabels, consensus: Consensus, samples: pl.DataFrame) -> dict[str, Floats]:
    """ln of the number of labels of the worker, the shares of the labels, and the share of right honeypots."""
    totals = labels.frame.group_by("worker").agg(
        pl.col("weight").sum().alias("n"),
        *[
            (pl.col("weight") * (pl.col("label") == value)).sum().alias(f"share_{value:g}")
            for value in labels.values
        ],
    )
    found = samples.select("worker").join(totals, on="worker", how="left", maintain_order="left")
    count = found["n"].to_numpy()
    columns = {"log_labels": np.log(count)}
    shares = labels.values[:1] if len(labels.values) == 2 else labels.values
    columns |= {f"share_{value:g}": found[f"share_{value:g}"].to_numpy() / count for value in shares}
    right = consensus.honeypots_of(samples)
    return columns if right is None else {**columns, "honeypots_right": right}


def cross(
    raw: RawFeatures, labels: CrowdLabels, samples: pl.DataFrame, chosen: Sequence[str], *, crossed: bool = True
) -> tuple[tuple[str, ...], Floats]:
    """The label features of the chosen raw ones: the crowd label as it is, all others crossed with each label.

    If they are not ``crossed``, all of them are taken as they are.
    """
    said = samples["label"].to_numpy()
    names, columns = list[str](), list[Floats]()
    for name in chosen:
        if name == CROWD_LABEL or not crossed:
            names.append(name)
            columns.append(raw.columns[name])
            continue
        for value in labels.values:
            names.append(f"{name}|{value:g}")
            columns.append(raw.columns[name] * (said == value))
    return tuple(names), np.stack(columns, axis=1) if columns else np.zeros((len(said), 0))


def choose_names(raw: RawFeatures, given: str | Sequence[str], parameter: str) -> list[str]:
    """The raw features that a parameter names: names of features and groups, as a list or by commas.

    "all" stands for all groups but the ranking features.
    """
    wanted = given.split(",") if isinstance(given, str) else list(given)
    wanted = [name.strip() for name in wanted if name.strip()]
    found = list[str]()
    for name in wanted:
        groups = [own for own in GROUPS if own != "ranking"] if name == "all" else [name]
        own = [one for one, group in raw.group.items() if one == name or group in groups]
        if not own and name not in GROUPS:
            known = ", ".join([*GROUPS, *raw.columns])
            raise UsageError(
                f"The parameter {parameter!r} names {name!r}, which is no label feature.",
                hint=f"It takes all, or any of {known}.",
            )
        found += [one for one in own if one not in found]
    return sorted(found, key=list(raw.columns).index)
