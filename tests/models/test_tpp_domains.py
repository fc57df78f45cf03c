"""Domains and types of workers against naive merges and sums by hand."""

import itertools
import math

import numpy as np
import pytest

from crowdrank.models.thurstonian.clusters import Cut, held_out_log_likelihoods, merge_queries
from crowdrank.models.thurstonian.types import GRID, HALF, SIZES, Types, evidence, favors_reversal, mirror


def planted(queries=12, workers=9, domains=3, seed=0, width=0.15):
    """Profiles of workers whose tau is known, with some queries reversed."""
    rng = np.random.default_rng(seed)
    tau = rng.choice([1.0, 0.4, -1.0, 0.02], (domains, workers), p=[0.4, 0.3, 0.2, 0.1])
    domain, sign = np.arange(queries) % domains, rng.choice([1, -1], queries)
    own = (sign[:, None] * tau[domain])[..., None] + 0.02 * rng.normal(size=(queries, workers, 1))
    return domain, sign, -0.5 * ((GRID - own) / width) ** 2


def naive(profile, prior, most):
    """The merges, each the best of all pairs and directions, searched from scratch."""
    parts = [([query], like) for query, like in enumerate(profile)]

    def value(like):
        return max(evidence(like, prior), evidence(mirror(like), prior))

    found = {}
    while True:
        if len(parts) <= most:
            found[len(parts)] = {frozenset(own) for own, _ in parts}, sum(value(like) for _, like in parts)
        if len(parts) == 1:
            return found
        options = []
        for (a, one), (b, other) in itertools.combinations(enumerate(parts), 2):
            for like in (one[1] + other[1], one[1] + mirror(other[1])):
                gain = value(like) - value(one[1]) - value(other[1])
                options.append((gain, a, b, like))
        _, a, b, like = max(options, key=lambda option: option[0])
        merged = (parts[a][0] + parts[b][0], like)
        parts = [part for place, part in enumerate(parts) if place not in (a, b)] + [merged]


@pytest.mark.parametrize("seed", range(6))
def test_every_merge_is_the_best_one(seed):
    rng = np.random.default_rng(seed)
    profile = rng.normal(-3, 2, (9, 4, len(GRID)))
    prior = Types.start().prior(4, False)
    found, want = merge_queries(profile, prior, 6), naive(profile, prior, 6)
    assert set(found) == set(want) == {1, 2, 3, 4, 5, 6}
    for count, cut in found.items():
        parts, value = want[count]
        assert {frozenset(np.flatnonzero(cut.domain == m).tolist()) for m in range(count)} == parts
        assert evidence(cut.sums(profile), prior).sum() == pytest.approx(value)
        assert not favors_reversal(cut.sums(profile), prior).any()


@pytest.mark.parametrize("seed", range(5))
def test_planted_domains_and_directions_are_found(seed):
    domain, sign, profile = planted(seed=seed)
    prior = Types.start().prior(9, False)
    cut = merge_queries(profile, prior, 3)[3]
    for m in range(3):
        own = domain == m
        assert len(set(cut.domain[own])) == 1
        assert len(set((cut.sign * sign)[own])) == 1
    assert len(set(cut.domain)) == 3


def test_the_sums_of_a_cut():
    profile = np.random.default_rng(6).normal(size=(4, 2, len(GRID)))
    cut = Cut(np.array([1, 0, 1, 0]), np.array([1, 1, -1, -1]))
    want = [profile[1] + profile[3][:, ::-1], profile[0] + profile[2][:, ::-1]]
    np.testing.assert_allclose(cut.sums(profile), want)


def test_held_out_log_likelihoods_by_hand():
    rng = np.random.default_rng(7)
    profile = rng.normal(-2, 1, (5, 3, len(GRID)))
    cut = Cut(np.array([0, 1, 0, 1, 1]), np.array([1, -1, 1, 1, -1]))
    prior = Types.start().prior(3, False)
    own = [like if sign > 0 else like[:, ::-1] for like, sign in zip(profile, cut.sign, strict=True)]
    want = np.zeros((5, 3))
    for query, worker in itertools.product(range(5), range(3)):
        chance = np.zeros((2, 3))  # of each worker's votes on this query, in each domain, from other queries
        size = np.zeros(2)
        for m in range(2):
            rest = [other for other in range(5) if other != query and cut.domain[other] == m]
            size[m] = len(rest) + 0.5
            for k in range(3):
                types = np.exp(prior[k] + sum(own[other][k] for other in rest))
                chance[m, k] = types / types.sum() @ np.exp(own[query][k])
        others = [k for k in range(3) if k != worker]
        domain = size * np.prod(chance[:, others], axis=1)
        want[query, worker] = math.log(domain / domain.sum() @ chance[:, worker])
    np.testing.assert_allclose(held_out_log_likelihoods(profile, cut, prior), want)


def test_types_are_learned_from_counts():
    counts = np.random.default_rng(8).uniform(0, 5, len(GRID))
    found = Types.from_counts(counts)
    sizes = [counts[HALF] + 1 / (HALF + 1)]
    sizes += [counts[HALF + 1 + place] + counts[HALF - 1 - place] + 1 / (HALF + 1) for place in range(len(SIZES))]
    smooth = []
    for place, own in enumerate(sizes):
        left, right = sizes[max(place - 1, 0)], sizes[min(place + 1, len(sizes) - 1)]
        smooth.append(0.85 * own + 0.075 * left + 0.075 * right)
    honest = (counts[HALF + 1 :].sum() + 2) / (counts.sum() - counts[HALF] + 3)
    honest = max(honest, 0.5)
    share = np.array(smooth) / sum(smooth)
    want = [*(share[:0:-1] * (1 - honest)), share[0], *(share[1:] * honest)]
    np.testing.assert_allclose(np.exp(found.log), want)
    assert found.honest == pytest.approx(honest)
    liars = Types.from_counts(np.where(GRID < 0, 10.0, 0.0))
    assert liars.honest == pytest.approx(0.5)
    np.testing.assert_allclose(liars.log, mirror(liars.log))


def test_types_are_learned_again_from_those_who_voted():
    """One worker always lies and the items are far apart, so the type is certain; one worker did not vote."""
    like = np.zeros((1, 3, len(GRID)))
    like[0, 0] = [0.0, *np.linspace(-1.0, -60.0, len(GRID) - 1)]
    like[0, 1] = np.linspace(-9.0, -1.0, len(GRID))
    prior = np.exp(Types.start().log)
    counts = sum(own / own.sum() for own in (prior * np.exp(like[0, 0]), prior * np.exp(like[0, 1])))
    np.testing.assert_allclose(Types.start().relearn(like).log, Types.from_counts(counts).log)


def test_gold_is_the_sharpest_and_honest():
    rows = np.exp(Types.start().prior(2, True))
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert rows[2, -1] == 1.0
    assert Types.start().prior(2, False).shape == (2, len(GRID))
