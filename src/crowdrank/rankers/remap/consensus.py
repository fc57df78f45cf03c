"""What consensus models say about the labels of a crowd: the worker's confusion and ability, labels of documents.

The labels of honeypots are known to Dawid-Skene and GLAD (anchors), so that they cannot end at a mirror image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Anchors, Floats, Scored, summed
from crowdrank.engine import Engine
from crowdrank.errors import Note
from crowdrank.models.registry import make
from crowdrank.rankers.remap.samples import HONEYPOT, KEY, CrowdLabels

EXTRA = 2.0
"""How many labels of an average worker each worker has besides the own ones, for each true label."""


@dataclass(frozen=True, eq=False)
class Consensus:
    """The fitted consensus models, asked sample by sample or document by document."""

    labels: CrowdLabels
    engine: Engine

    @cached_property
    def dawid_skene(self) -> Any:
        """Dawid-Skene on all labels, honeypots known."""
        return self._fit("dawid-skene")

    @cached_property
    def glad(self) -> Any:
        """GLAD on all labels, honeypots known."""
        return self._fit("glad")

    def _fit(self, name: str) -> Any:
        anchors = None
        if self.labels.honeypots is not None:
            anchors = Anchors(labels=Scored(self.labels.honeypots.rename({"label": "value"})))
        return make(name, {"calibrate": False}).fit(self.labels.ratings, anchors=anchors, engine=self.engine)

    def notes(self) -> list[Note]:
        """What the consensus models noted that concerns trust in them."""
        kept = ("mirror", "not-converged")
        return [
            Note(note.code, f"{model.name}: {note.message}")
            for model in (self.dawid_skene, self.glad)
            for note in model.fit_.warnings
            if note.code in kept
        ]

    # ------------------------------------------------------------------------------------- by sample

    def confusion_of(self, samples: pl.DataFrame) -> Floats:
        """The confusion matrix (true, said) of the worker of each sample."""
        size = len(self.labels.values)
        table = self.dawid_skene.confusion_.polars().sort("worker", "true", "said")
        names = table["worker"].unique(maintain_order=True)
        matrices = table["probability"].to_numpy().reshape(-1, size, size)
        return np.asarray(matrices[_codes(names, samples["worker"])])

    def ability_of(self, samples: pl.DataFrame) -> Floats:
        """GLAD's ability of the worker of each sample."""
        table = self.glad.workers_.polars()
        return np.asarray(table["ability"].to_numpy()[_codes(table["worker"], samples["worker"])])

    def easiness_of(self, samples: pl.DataFrame) -> Floats:
        """GLAD's easiness of the document of each sample."""
        found = _by_document(samples, self.glad.easiness_.polars())
        return np.asarray(found["easiness"].to_numpy())

    def posterior_of(self, name: str, samples: pl.DataFrame) -> Floats:
        """The probability of each label of the document of each sample."""
        model = self.dawid_skene if name == "dawid-skene" else self.glad
        columns = [f"p_{value:g}" for value in self.labels.values]
        return _by_document(samples, model.labels_.polars()).select(columns).to_numpy()

    def honeypots_of(self, samples: pl.DataFrame, *, fill: bool = True) -> Floats | None:
        """The share of honeypots that the worker labeled right.

        A worker without honeypots has that of all workers; NaN if it is not to be filled.
        """
        if self.labels.honeypots is None:
            return None
        right = (pl.col("label") == pl.col("label_true")).cast(pl.Float64)
        table = (
            self._judged_honeypots()
            .group_by("worker")
            .agg((right * pl.col("weight")).sum().alias("right"), pl.col("weight").sum())
        )
        mean = float(table["right"].sum()) / float(table["weight"].sum())
        share = table.select("worker", share=pl.col("right") / pl.col("weight"))
        found = samples.select("worker").join(share, on="worker", how="left", maintain_order="left")["share"]
        return np.asarray(found.fill_null(mean if fill else np.nan).to_numpy())

    def _judged_honeypots(self) -> pl.DataFrame:
        """The labels of honeypots, with the true one."""
        assert self.labels.honeypots is not None
        truth = self.labels.honeypots.rename({"label": "label_true"})
        return self.labels.frame.filter(pl.col(HONEYPOT)).join(truth, on=KEY, nulls_equal=True)

    # ----------------------------------------------------------------------------------- by document

    def documents(self, documents: pl.DataFrame) -> dict[str, Floats]:
        """The consensus label of each document by method, from 0 (the lowest label) to 1 (the highest)."""
        ways: dict[str, Callable[[pl.DataFrame], Floats]] = {
            "majority": self._majority,
            "average": self._average,
            "dawid-skene": lambda own: self._likeliest("dawid-skene", own),
            "soft dawid-skene": lambda own: self._expected(self.posterior_of("dawid-skene", own)),
            "glad": lambda own: self._likeliest("glad", own),
        }
        if self.labels.honeypots is not None:
            ways["naive bayes"] = self._naive_bayes
        return {name: way(documents) for name, way in ways.items()}

    @property
    def _scale(self) -> Floats:
        values = self.labels.values
        return np.asarray((values - values[0]) / (values[-1] - values[0]))

    def _expected(self, posterior: Floats) -> Floats:
        return np.asarray(posterior @ self._scale)

    def _likeliest(self, name: str, documents: pl.DataFrame) -> Floats:
        return np.asarray(self._scale[self.posterior_of(name, documents).argmax(axis=1)])

    def _counts(self, documents: pl.DataFrame) -> Floats:
        """The weight of each label of each document (D, K)."""
        each = [
            (pl.col("weight") * (pl.col("label") == value)).sum().alias(f"n_{place}")
            for place, value in enumerate(self.labels.values)
        ]
        return _by_document(documents, self.labels.frame.group_by(*KEY).agg(*each)).drop(*KEY).to_numpy()

    def _average(self, documents: pl.DataFrame) -> Floats:
        counts = self._counts(documents)
        return np.asarray(counts @ self._scale / counts.sum(axis=1))

    def _majority(self, documents: pl.DataFrame) -> Floats:
        """The most frequent label; the mean of those that are equally frequent."""
        counts = self._counts(documents)
        most = (counts >= counts.max(axis=1, keepdims=True) - 1e-9).astype(float)
        return np.asarray(most @ self._scale / most.sum(axis=1))

    def _naive_bayes(self, documents: pl.DataFrame) -> Floats:
        """The expected label if each worker errs as on honeypots: P(t) ~ share_t prod over labels T_w[t, label].

        T_w are shares of the worker's labels of honeypots, with ``EXTRA`` labels of the average worker for each
        true label; the shares of true labels are those of the honeypots.
        """
        size, judged, values = len(self.labels.values), self._judged_honeypots(), self.labels.values
        assert self.labels.honeypots is not None
        workers = self.labels.frame["worker"].unique().sort()
        true, said = (np.searchsorted(values, judged[name].to_numpy()) for name in ("label_true", "label"))
        counts = np.zeros((len(workers), size, size))
        np.add.at(counts, (_codes(workers, judged["worker"]), true, said), judged["weight"].to_numpy())
        pooled = counts.sum(axis=0) + np.eye(size) / size + 1.0 / size
        pooled /= pooled.sum(axis=1, keepdims=True)
        confusion = counts + EXTRA * pooled
        confusion /= confusion.sum(axis=2, keepdims=True)
        truths = summed(np.searchsorted(values, self.labels.honeypots["label"].to_numpy()), None, size)
        shares = (truths + 1.0) / (truths + 1.0).sum()
        rows = self.labels.frame
        codes = _codes(workers, rows["worker"]), np.searchsorted(values, rows["label"].to_numpy())
        logs = rows["weight"].to_numpy()[:, None] * np.log(confusion[codes[0], :, codes[1]])
        each = rows.select(*KEY).with_columns(**{f"l_{place}": logs[:, place] for place in range(size)})
        total = _by_document(documents, each.group_by(*KEY).agg(pl.all().sum())).drop(*KEY).to_numpy()
        total = total + np.log(shares)
        posterior = np.exp(total - total.max(axis=1, keepdims=True))
        return self._expected(posterior / posterior.sum(axis=1, keepdims=True))


def _by_document(documents: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table by (query, item), in the order of these documents."""
    return documents.select(*KEY).join(table, on=KEY, how="left", nulls_equal=True, maintain_order="left")


def _codes(names: pl.Series, wanted: pl.Series) -> Any:
    """The place of each wanted name among the names."""
    places = pl.DataFrame({"name": names, "place": np.arange(len(names))})
    found = wanted.to_frame("name").join(places, on="name", how="left", maintain_order="left")
    return found["place"].to_numpy()
