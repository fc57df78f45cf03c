"""What workers said about the documents of lists, in blocks of lists of about the same length.

A statement is one worker's ranking of some documents of a list, with or without ties. A pair of documents, the
better and the worse one, is a statement of its own. A voice is whatever shares one expertise: the rankings of a
worker, or a worker's pairs. After the last voice come two more: the truth, and an observer whose distance from
drawn orders is measured without any effect on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, Resident, summed
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.kernels.segments import segment_of

EXTRA = 2
"""The voices after the last one: the truth and the observer."""
BLOCK_CELLS = 1 << 19
"""The most cells of the pair matrices of a block."""
BLOCK_PLACES = 1 << 14
"""About the most places of a block: its arrays should stay in the processor's cache."""
SLACK = 1.25
"""The longest list of a block has at most this many times the places of the shortest one, plus 2."""


@dataclass(frozen=True, eq=False)
class Statements:
    """Rankings and pairs by codes. A document is its place within its list.

    Statements and pairs are sorted by list. Statement t is by the voice ``voice[t]`` on the list ``list[t]``; its
    rows are start[t] to start[t+1], with a
    ``document`` and a ``level`` (0 = best, equal = tied) each. ``below``: all other documents of the list are
    below those of the statement, with no order among them; otherwise nothing is said about them.
    """

    voices: int
    list: Integers
    voice: Integers
    weight: Floats
    below: NDArray[np.bool_]
    start: Integers
    document: Integers
    level: Integers
    pair_list: Integers
    better: Integers
    worse: Integers
    pair_voice: Integers
    pair_weight: Floats

    def shapes(self, sizes: Integers) -> Floats:
        """c (voices, n + 1): how often ln Z_m enters the log likelihood of each voice (kernels.mallows).

        A ranking of m documents with the tied groups b has ln Z_m - sum ln Z_b; a pair has ln Z_2.
        """
        width = int(sizes.max(initial=2)) + 1
        named = np.diff(self.start)
        held = np.where(self.below, sizes[self.list], named)
        counts = np.zeros((self.voices + EXTRA) * width)
        counts += summed(self.voice * width + held, self.weight, len(counts))
        new = (np.diff(segment_of(self.start), prepend=-1) != 0) | (np.diff(self.level, prepend=-1) != 0)
        begins = np.flatnonzero(new)
        of, group = segment_of(self.start)[begins], np.diff(begins, append=len(self.level))
        counts -= summed(self.voice[of] * width + group, self.weight[of], len(counts))
        counts -= summed(self.voice * width + (held - named), self.weight, len(counts))
        counts += summed(self.pair_voice * width + 2, self.pair_weight, len(counts))
        found = counts.reshape(self.voices + EXTRA, width)[: self.voices]
        found[:, :2] = 0.0  # Z = 1 for no document and for one
        return found

    def take(self, kept: NDArray[np.bool_]) -> Statements:
        """What was said about the kept lists, numbered anew."""
        chosen = self._keep(kept[self.list], kept[self.pair_list])
        number = np.cumsum(kept) - 1
        return replace(chosen, list=number[chosen.list], pair_list=number[chosen.pair_list])

    def with_voices(self, code: Integers, voices: int) -> Statements:
        """The same with other numbers of the voices; those with the number -1 are left out."""
        chosen = self._keep(code[self.voice] >= 0, code[self.pair_voice] >= 0)
        return replace(chosen, voices=voices, voice=code[chosen.voice], pair_voice=code[chosen.pair_voice])

    def _keep(self, own: NDArray[np.bool_], pairs: NDArray[np.bool_]) -> Statements:
        """Only some statements and some pairs."""
        rows = own[segment_of(self.start)]
        return Statements(
            self.voices,
            self.list[own], self.voice[own], self.weight[own], self.below[own],
            np.append(0, np.cumsum(np.diff(self.start)[own])), self.document[rows], self.level[rows],
            self.pair_list[pairs], self.better[pairs], self.worse[pairs],
            self.pair_voice[pairs], self.pair_weight[pairs],
        )  # fmt: skip

    def first_places(self, k: int, sizes: Integers) -> Statements:
        """The first k documents of each ranking, above all others of its list.

        Raises a ValueError if one of these places is tied, or if a ranking has fewer documents and its list more.
        """
        of, named = segment_of(self.start), np.diff(self.start)
        place = np.arange(len(of)) - self.start[:-1][of]
        if (self.level != place)[place <= k].any():
            raise ValueError("tied")
        if len(self.pair_list) or (np.minimum(k, sizes[self.list]) > named).any():
            raise ValueError("short")
        kept = place < k
        start = np.append(0, np.cumsum(np.minimum(named, k)))
        below = np.ones(len(named), bool)
        return replace(self, below=below, start=start, document=self.document[kept], level=self.level[kept])

    def weights(self) -> Floats:
        """The weight of what each voice said: of its lists and pairs."""
        count = self.voices + EXTRA
        found = summed(self.voice, self.weight, count) + summed(self.pair_voice, self.pair_weight, count)
        return found[: self.voices]

    def log_normalizers(self, theta: Floats, sizes: Integers) -> Floats:
        """The sum of ln Z of what the voices say about each list; ``theta`` of each voice and of the extras."""
        width = int(sizes.max(initial=2)) + 1
        table = log_normalizers(theta, width - 1)[0]
        named, of = np.diff(self.start), segment_of(self.start)
        held = np.where(self.below, sizes[self.list], named)
        own = table[self.voice, held] - table[self.voice, held - named]
        new = (np.diff(of, prepend=-1) != 0) | (np.diff(self.level, prepend=-1) != 0)
        begins = np.flatnonzero(new)
        tied = table[self.voice[of[begins]], np.diff(begins, append=len(self.level))]
        own = (own - summed(of[begins], tied, len(own))) * (self.voice < self.voices)
        pairs = self.pair_weight * table[self.pair_voice, 2] * (self.pair_voice < self.voices)
        return summed(self.list, self.weight * own, len(sizes)) + summed(self.pair_list, pairs, len(sizes))

    def comparisons(self, sizes: Integers) -> Floats:
        """About how many independent comparisons each voice made: a ranking of m documents counts m - 1."""
        held = np.where(self.below, sizes[self.list], np.diff(self.start))
        count = self.voices + EXTRA
        found = summed(self.voice, self.weight * (held - 1.0), count)
        return (found + summed(self.pair_voice, self.pair_weight, count))[: self.voices]

    def ordered_pairs(self, sizes: Integers) -> Floats:
        """How many pairs of documents each voice orders, by weight."""
        counts = self.shapes(sizes)
        m = np.arange(counts.shape[1])
        return np.asarray(counts @ (m * (m - 1) / 2.0))


@dataclass(frozen=True, eq=False)
class StatementBlock(Resident):
    """Some lists of at most n documents, and what was said about them.

    ``list`` (L,): their numbers. ``first`` (L,): the first row of each in its shard. ``size``, ``judged`` (L,):
    how many documents it has, and how many of these somebody judged; those come first. ``key`` (L,): what its
    random numbers depend on. Statement t ranks the slots of list ``of[t]`` by ``level`` (T, m), which is NaN for
    slots that it does not rank. Slot ``judged`` stands for all documents that nobody judged. ``turns``: the
    statements as groups in which no list occurs twice. ``cell`` of a pair: its better and its worse slot, as a
    position in (L, m, m).
    """

    list: Integers
    first: Integers
    size: Integers
    judged: Integers
    key: NDArray[np.uint64]
    level: NDArray[np.float32]
    of: Integers
    voice: Integers
    weight: Floats
    turns: tuple[Integers, ...]
    cell: Integers
    cell_voice: Integers
    cell_weight: Floats

    @property
    def side(self) -> int:
        """m: the number of slots."""
        return self.level.shape[1]

    @property
    def places(self) -> int:
        """n: the number of places, padding included."""
        return int(self.size.max())

    def rows(self) -> Integers:
        """The row of each document in its shard (L, n); padding repeats the first row."""
        place = np.arange(self.places)
        return np.asarray(self.first[:, None] + np.where(place < self.size[:, None], place, 0))

    def real(self) -> NDArray[np.bool_]:
        """Which places are no padding (L, n)."""
        return np.asarray(np.arange(self.places) < self.size[:, None])

    def log_odds(self, theta: Floats) -> Floats:
        """A (L, m, m): the sum of theta over those who say x above y, less those who say y above x."""
        found = self.said(theta)
        return np.asarray(found - found.transpose(0, 2, 1))

    def said(self, theta: Floats) -> Floats:
        """The sum of theta over those who say x above y (L, m, m)."""
        found = np.zeros((len(self.list), self.side, self.side))
        for turn in self.turns:
            level, of = self.level[turn], self.of[turn]
            found[of] += (theta[self.voice[turn]] * self.weight[turn])[:, None, None] * _says_above(level)
        if len(self.cell):
            more = summed(self.cell, theta[self.cell_voice] * self.cell_weight, found.size)
            found += more.reshape(found.shape)
        return found

    def distances(self, above: Floats) -> Floats:
        """The distance of each statement from orders of which ``above`` (L, m, m) is the mean of x above y."""
        found, wrong = np.zeros(len(self.of)), above.transpose(0, 2, 1)
        for turn in self.turns:
            found[turn] = np.einsum("txy,txy->t", _says_above(self.level[turn]), wrong[self.of[turn]])
        return found

    def pair_distances(self, above: Floats) -> Floats:
        """The probability that each pair is the wrong way round."""
        return np.asarray(above.transpose(0, 2, 1).ravel()[self.cell])

    def energy(self, theta: Floats, above: Floats) -> Floats:
        """The sum of theta times distance over the statements of each list."""
        said = theta[self.voice] * self.weight * self.distances(above)
        pairs = theta[self.cell_voice] * self.cell_weight * self.pair_distances(above)
        lists, cells = len(self.list), self.side * self.side
        return summed(self.of, said, lists) + summed(self.cell // cells, pairs, lists)


def _says_above(level: NDArray[np.float32]) -> NDArray[np.float32]:
    """Which slot is said to be above which (T, m, m). A comparison with NaN says nothing."""
    return np.less(level[:, :, None], level[:, None, :]).astype(np.float32)


def cut_blocks(
    said: Statements,
    lists: tuple[int, int],
    start: Integers,
    judged: Integers,
    keys: NDArray[np.uint64],
) -> tuple[StatementBlock, ...]:
    """The blocks of the lists from ``lists[0]`` up to ``lists[1]``, whose rows begin at ``start``."""
    low, high = lists
    own = np.arange(low, high)
    sizes = np.diff(start)[low:high]
    order = own[np.argsort(sizes, kind="stable")]
    blocks, done = [], 0
    while done < len(order):
        end = _block_end(np.diff(start)[order], judged[order], done)
        chosen = np.sort(order[done:end])
        blocks.append(_block(said, chosen, start, judged, keys, int(start[low])))
        done = end
    return tuple(blocks)


def _block_end(sizes: Integers, judged: Integers, first: int) -> int:
    """Where the block that begins with list ``first`` ends; the sizes are sorted."""
    most = SLACK * sizes[first] + 2
    side = np.maximum.accumulate(judged[first:]) + 1
    count = np.arange(1, len(side) + 1)
    fits = (sizes[first:] <= most) & (count * side**2 <= BLOCK_CELLS) & (count * sizes[first:] <= BLOCK_PLACES)
    return first + max(int(np.argmin(fits)) if not fits.all() else len(fits), 1)


def _block(
    said: Statements,
    chosen: Integers,
    start: Integers,
    judged: Integers,
    keys: NDArray[np.uint64],
    first_row: int,
) -> StatementBlock:
    size, held = np.diff(start)[chosen], judged[chosen]
    side = int(held.max()) + 1
    place = np.full(int(start.shape[0]) - 1, -1)
    place[chosen] = np.arange(len(chosen))
    picked = _of_lists(said.list, place, chosen)
    of = place[said.list[picked]]
    level = np.full((len(picked), side), np.nan, np.float32)
    named = np.diff(said.start)[picked]
    row_of = np.repeat(np.arange(len(picked)), named)
    rows = np.arange(len(row_of)) + np.repeat(said.start[picked] - (np.cumsum(named) - named), named)
    bottom = np.zeros(len(picked))
    np.maximum.at(bottom, row_of, said.level[rows] + 1.0)
    down = said.below[picked]
    slot = np.arange(side)
    there = (slot < held[of][:, None]) | ((slot == held[of][:, None]) & (size > held)[of][:, None])
    level[down[:, None] & there] = np.broadcast_to(bottom[:, None], level.shape)[down[:, None] & there]
    level[row_of, said.document[rows]] = said.level[rows]
    pairs = _of_lists(said.pair_list, place, chosen)
    cell = (place[said.pair_list[pairs]] * side + said.better[pairs]) * side + said.worse[pairs]
    return StatementBlock(
        list=chosen,
        first=start[chosen] - first_row,
        size=size,
        judged=held,
        key=keys[chosen],
        level=level,
        of=of,
        voice=said.voice[picked],
        weight=said.weight[picked],
        turns=_turns(of),
        cell=cell,
        cell_voice=said.pair_voice[pairs],
        cell_weight=said.pair_weight[pairs],
    )


def _of_lists(lists: Integers, place: Integers, chosen: Integers) -> Integers:
    """Which of the sorted ``lists`` are chosen: those with a place."""
    first, last = np.searchsorted(lists, [chosen[0], chosen[-1] + 1])
    return np.asarray(first + np.flatnonzero(place[lists[first:last]] >= 0))


def _turns(of: Integers) -> tuple[Integers, ...]:
    """The statements as groups in which no list occurs twice: the first statement of each list, the second, ..."""
    order = np.argsort(of, kind="stable")
    begins = np.flatnonzero(np.diff(of[order], prepend=-1))
    turn = np.empty(len(of), np.int64)
    turn[order] = np.arange(len(of)) - np.repeat(begins, np.diff(begins, append=len(of)))
    return tuple(np.flatnonzero(turn == own) for own in range(int(turn.max(initial=-1)) + 1))
