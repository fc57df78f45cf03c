"""Labels made ready for a model, and steps and slopes to check it by."""

from __future__ import annotations

import numpy as np

import crowdrank as cr
from crowdrank.data import Anchors
from crowdrank.models.base import Run
from crowdrank.prepared.labels import Labels


def labels_of(frame):
    return Labels(cr.read(frame))


def run_of(anchors=None):
    return Run(anchors or Anchors(), cr.LocalEngine(1), 0, None)


def rows_of(labels):
    return [
        row
        for part in labels.pieces()
        for row in zip(part.node + part.first, part.worker, part.label, part.weight, strict=True)
    ]


def nothing_known(labels):
    return np.full(len(labels.nodes), -1)


def steps_up(step, point, rounds=30):
    """The objective along plain steps."""
    values = []
    for _ in range(rounds):
        point, value, _ = step(point)
        values.append(value)
    return point, values


def slope_of(objective, point, place, width=1e-5):
    """The derivative by one entry, by finite differences."""
    shift = np.zeros_like(point)
    shift[place] = width
    return (objective(point + shift) - objective(point - shift)) / (2 * width)
