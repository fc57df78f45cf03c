"""A panel as the sampler sees it: slots that hold what was perceived, sides of rows, and draws of single votes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from crowdrank.data import Floats, Integers
from crowdrank.prepared.panels import Panel

MANY = 64
"""The noisy differences of more equal votes than this are drawn as one sum, which is normal."""


class Turn(NamedTuple):
    """The slots that stand at one place within their cells, and all that they were compared with."""

    slots: Integers
    own: Integers  # the place in ``slots`` of each comparison
    other: Integers  # the slot on its other end
    row: Integers


@dataclass(frozen=True, eq=False)
class SlotLayout:
    """The slots, sides and draws of a panel, each in the order of its queries.

    A slot is an item within a cell. A side is one outcome of a row, the slot ``winner`` over the slot ``loser``. A
    draw is one vote of a side, or all ``size`` of them where they are many; it takes part in a sweep where the
    row's coin, a uniform number, is within [``begin``, ``end``).
    """

    cell: Integers  # of each slot
    node: Integers
    turns: list[Turn]
    row: Integers  # of each side
    winner: Integers
    loser: Integers
    weight: Floats
    side: Integers  # of each draw
    size: Floats
    begin: Floats
    end: Floats
    counts: Integers
    """The slots, draws and rows of each query (queries, 3)."""

    @cached_property
    def whole(self) -> bool:
        """Whether every draw takes part in every sweep."""
        return bool((self.end - self.begin == 1.0).all())

    @cached_property
    def side_cell(self) -> Integers:
        """The cell of each side."""
        return self.cell[self.winner]


def layout(shard: Panel) -> SlotLayout:
    """The layout of a panel."""
    count = len(shard.query)
    keys = np.concatenate([shard.cell * count + shard.i, shard.cell * count + shard.j])
    key, place = np.unique(keys, return_inverse=True)
    i, j = np.split(place, 2)
    cell, node = np.divmod(key, count)
    row, lost = np.nonzero(np.stack([shard.wins, shard.losses], axis=1))
    weight = np.where(lost, shard.losses[row], shard.wins[row])
    times = np.where(weight > MANY, 1, np.ceil(weight)).astype(np.int64)
    side = np.repeat(np.arange(len(row)), times)
    size = np.where(weight > MANY, weight, 1.0)[side]
    left_over = np.where(weight > MANY, 1.0, weight - np.ceil(weight) + 1.0)
    part = np.where(np.diff(side, append=-1) != 0, left_over[side], 1.0)
    query = shard.query[shard.i]
    owners = (shard.query[node], query[row[side]], query)
    return SlotLayout(
        cell=cell,
        node=node,
        turns=_turns(cell, i, j),
        row=row,
        winner=np.where(lost, j[row], i[row]),
        loser=np.where(lost, i[row], j[row]),
        weight=weight,
        side=side,
        size=size,
        begin=np.where(lost[side], 1.0 - part, 0.0),
        end=np.where(lost[side], 1.0, part),
        counts=np.stack([np.bincount(owner, minlength=shard.queries) for owner in owners], axis=1),
    )


def _turns(cell: Integers, i: Integers, j: Integers) -> list[Turn]:
    position = np.arange(len(cell)) - np.flatnonzero(np.diff(cell, prepend=-1))[cell]
    own, other, row = np.concatenate([i, j]), np.concatenate([j, i]), np.tile(np.arange(len(i)), 2)
    return [
        Turn(slots, np.searchsorted(slots, own[edges]), other[edges], row[edges])
        for slots, edges in zip(_groups(position), _groups(position[own]), strict=True)
    ]


def _groups(codes: Integers) -> list[Integers]:
    """Where each code stands."""
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
