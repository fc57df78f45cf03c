"""The rank of an item as a random variable: the number of its lost contests (Niu et al. 2015, section 4.1.3).

Item j meets each of n - 1 others once and beats l with probability p_l, independently. Its rank (0 is the best) is
the number of losses, so its distribution is the convolution of the [p_l, 1 - p_l]. (The paper counts wins in
equations 11 and 12, and losses in its algorithms 1 and 2.) The goal is the expected discount E D(rank). There are
seven ways to compute it, all exact:

    rank_distribution          algorithm 1, one contest after the other                      O(n^2)
    rank_distribution_halves   algorithm 2, divide and conquer with FFT                      O(n log^2 n)
    expected_with_slopes       algorithm 1, and the derivatives by all chances               O(n^2)
    expected_fair              c contests are judged, the others are fair coins              O(c^2)
    expected_decided           the same for all cells with two chances, eta and 1 - eta      O(c^2) for c of them
    expected_spectrum          all but the c contests have the same chance, not 1/2          O(n c)
    expected_power             D(r) = p^r, for any chances                                   O(c)

``expected_fair``: let S be the losses among the c judged contests and B ~ Binomial(m, 1/2), m = n - 1 - c. Then

    E D(S + B) = sum_s P(S = s) G[c][s],     G[c][s] = sum_b P(B = b) D(s + b),

and G is tabulated once, because one more coin is a mean: G[c - 1][s] = (G[c][s] + G[c][s + 1]) / 2.

``expected_decided``: let w of the c contests be won and lost with chance 1 - eta, the others with chance eta. Then

    E D = sum_s Binomial(c - w, eta)(s) A_w(s),     A_0 = G[c],     A_{w+1}(s) = eta A_w(s) + (1 - eta) A_w(s + 1),

so all w = 0 .. c together cost O(c^2): two recursions, and an inner product for each w.

``expected_with_slopes``: with f_m the distribution of the losses in the first m contests, and b_m(s) the expected
discount after s losses in them, the derivative of E D by the chance to lose contest m is

    sum_s f_{m-1}(s) (b_m(s + 1) - b_m(s)).

f goes forward, and the differences of b go backward: a mean of two at each contest. Nothing is divided, and if D
falls, no digits cancel: even the derivative by a contest that is all but certain keeps them.

``expected_spectrum``: the characteristic function of a sum of contests is a product. By Parseval's theorem, E D is
its inner product with the transform of D, and the distribution is not needed. ``expected_power``: E p^rank is also
a product, prod_l (1 - (1 - p) P(l wins)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers

CHUNK = 1 << 21
"""How many numbers are held at a time."""


def rank_distribution(wins: Floats) -> Floats:
    """P(rank = 0 .. n - 1) from the chances to beat each of the n - 1 others (algorithm 1)."""
    ranks: Floats = np.ones(1)
    for chance in wins:
        ranks = np.convolve(ranks, np.array([chance, 1.0 - chance])).astype(np.float64)
    return ranks


def rank_distribution_halves(wins: Floats) -> Floats:
    """The same by divide and conquer (algorithm 2): neighbors are convolved, one whole level at a time."""
    count = len(wins)
    parts = np.tile([1.0, 0.0], (1 << max(count - 1, 0).bit_length(), 1))  # certain wins change nothing
    parts[:count] = np.column_stack([wins, 1.0 - np.asarray(wins)])
    while len(parts) > 1:
        half = parts.shape[1] - 1
        spectra = np.fft.rfft(parts, 3 * half)  # more than 2 half + 1, and quick to transform
        parts = np.fft.irfft(spectra[::2] * spectra[1::2], 3 * half)[:, : 2 * half + 1]
    return np.asarray(parts[0, : count + 1], np.float64)


def losses(chances: Floats) -> Floats:
    """P(0 .. c losses) for each row of chances to lose (rows, c)."""
    rows, count = chances.shape
    found = np.zeros((rows, count + 1))
    found[:, 0] = 1.0
    for contest in range(count):
        lost = found[:, : contest + 1] * chances[:, contest, None]
        found[:, : contest + 1] -= lost
        found[:, 1 : contest + 2] += lost
    return found


def expected_with_slopes(chances: Floats, discounts: Floats) -> tuple[Floats, Floats]:
    """E D of each row of chances to lose (rows, c), and its derivative by each chance (rows, c).

    D is 0 from rank ``len(discounts)`` on, which saves time if only the first ranks count.
    """
    expected, slopes = np.empty(len(chances)), np.empty(chances.shape)
    step = max(1, CHUNK // max(chances.shape[1] * len(discounts), 1))
    for start in range(0, len(chances), step):
        part = slice(start, start + step)
        expected[part], slopes[part] = _with_slopes(chances[part], discounts)
    return expected, slopes


def _with_slopes(chances: Floats, discounts: Floats) -> tuple[Floats, Floats]:
    (rows, count), width = chances.shape, len(discounts)
    steps = np.empty((count, rows, width + 1))  # b_m(s + 1) - b_m(s); after m contests no more than m are lost
    steps[:, :, width] = 0.0
    steps[-1:, :, :width] = np.diff(discounts, append=0.0)
    for contest in range(count - 1, 0, -1):
        top, lost, later = min(contest, width), chances[:, contest, None], steps[contest]
        steps[contest - 1, :, :top] = (1.0 - lost) * later[:, :top] + lost * later[:, 1 : top + 1]
    slopes, ranks = np.empty(chances.shape), np.zeros((rows, width + 1))
    ranks[:, 0] = 1.0
    for contest in range(count):
        top, lost = min(contest + 1, width), chances[:, contest, None]
        slopes[:, contest] = np.einsum("rs,rs->r", ranks[:, :top], steps[contest, :, :top])
        gone = ranks[:, :top] * lost
        ranks[:, :top] *= 1.0 - lost
        ranks[:, 1 : top + 1] += gone
    return ranks[:, :width] @ discounts, slopes


def coins(count: int) -> Floats:
    """Binomial(count, 1/2), computed from the middle outward: nothing overflows, and underflow gives 0."""
    middle = count // 2
    up = np.arange(middle, count)
    down = np.arange(middle, 0, -1)
    weights = np.concatenate(
        [np.cumprod(down / (count - down + 1.0))[::-1], [1.0], np.cumprod((count - up) / (up + 1.0))]
    )
    return np.asarray(weights / weights.sum())


def fair_tables(discounts: Floats, most: int) -> list[Floats]:
    """G[c][s], s = 0 .. c, for c = 0 .. most judged contests among ``len(discounts)`` items."""
    others = len(discounts) - 1 - most
    tables: list[Floats] = [np.correlate(discounts, coins(others), "valid").astype(np.float64)]
    for _ in range(most):
        tables.append((tables[-1][:-1] + tables[-1][1:]) / 2.0)
    return tables[::-1]


def expected_fair(chances: Floats, tables: Floats, row: NDArray[np.int64]) -> Floats:
    """E D of each row of chances to lose (rows, c). ``tables[row]`` is its G[c], for its number of items."""
    return np.einsum("rs,rs->r", losses(chances), tables[row])


def expected_decided(won: Integers, line: Integers, eta: Floats, tables: Floats) -> Floats:
    """E D of each row. Of its c contests, ``won`` are lost with chance 1 - eta, and the others with chance eta.

    ``line``: the ``eta`` (lines,) of each row, and its G[c] among ``tables`` (lines, c + 1).
    """
    found, order = np.empty(len(won)), np.argsort(line, kind="stable")
    step = max(1, 2 * CHUNK // tables.shape[1] ** 2)
    for start in range(0, len(eta), step):
        first, end = np.searchsorted(line[order], (start, start + step))
        own, part = order[first:end], slice(start, start + step)
        found[own] = _decided(won[own], line[own] - start, eta[part, None], tables[part])
    return found


def _decided(won: Integers, line: Integers, eta: Floats, tables: Floats) -> Floats:
    count, most = tables.shape[1] - 1, int(won.max(initial=-1))
    lost = np.zeros((count + 1 - int(won.min(initial=count)), len(eta), count + 1))  # Binomial(0 .. c, eta)
    lost[0, :, 0] = 1.0
    for contests in range(1, len(lost)):
        before, now = lost[contests - 1, :, :contests], lost[contests]
        np.multiply(before, 1.0 - eta, out=now[:, :contests])
        now[:, 1 : contests + 1] += before * eta
    found, order = np.empty(len(won)), np.argsort(won, kind="stable")
    ends = np.searchsorted(won[order], np.arange(most + 2))
    ahead = tables
    for wins in range(most + 1):
        own = order[ends[wins] : ends[wins + 1]]
        if len(own):
            left = count - wins
            found[own] = np.einsum("rs,rs->r", lost[left, line[own], : left + 1], ahead[line[own]])
        ahead = eta * ahead[:, :-1] + (1.0 - eta) * ahead[:, 1:]
    return found


def expected_spectrum(chances: Floats, rest: Floats, discounts: Floats) -> Floats:
    """E D of each row of chances to lose (rows, c). Each further contest is lost with chance ``rest``."""
    size = len(discounts)
    spectrum = np.conj(np.fft.rfft(discounts))
    spectrum[1 : (size + 1) // 2] *= 2.0  # the other half of the frequencies is the conjugate
    turns = np.exp(-2j * np.pi * np.arange(len(spectrum)) / size) - 1.0
    found = np.empty(len(chances))
    step = max(1, CHUNK // len(turns))
    for start in range(0, len(chances), step):
        part = slice(start, start + step)
        product = (1.0 + rest[part, None] * turns) ** (size - 1 - chances.shape[1])
        for lost in chances[part].T:
            product *= 1.0 + lost[:, None] * turns
        found[part] = (product @ spectrum).real / size
    return found


def expected_power(chances: Floats, rest: Floats, others: NDArray[np.int64], p: float) -> Floats:
    """E p^rank relative to an item whose contests are all fair coins, for each row (rows, c).

    ``others`` further contests are each lost with chance ``rest``. The ratio does not overflow or underflow even
    if p^n would.
    """
    fair = (1.0 + p) / 2.0
    logs = np.log1p(-(1.0 - p) * chances).sum(axis=1) - chances.shape[1] * np.log(fair)
    return np.asarray(np.exp(logs + others * np.log((1.0 - (1.0 - p) * rest) / fair)))
