"""The sampler of TPP against integrals, finite differences and sums by hand."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.stats import norm

import crowdrank as cr
from crowdrank.data import Anchors
from crowdrank.engine import LocalEngine
from crowdrank.kernels.truncated import draw_truncated
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.answer import log_likelihood
from crowdrank.models.thurstonian.classes import _odds, find_classes
from crowdrank.models.thurstonian.sampler import (
    LAST_FIXED,
    SAMPLERS,
    ChainParams,
    GibbsSums,
    KeptRound,
    SamplerRounds,
    draw_answer,
)
from crowdrank.models.thurstonian.sweeps import MANY, Chances, Sweep, SweepTotals, _sum_of_many, layout, moves
from crowdrank.prepared.panels import Panel, panels
from crowdrank.prepared.votes import Votes
from shards import cut_small

# One query: three items, two workers, two domains.
LEFT, RIGHT = np.array([0, 0, 1, 0, 1]), np.array([1, 2, 2, 1, 2])
WORKER = np.array([0, 0, 0, 1, 1], np.int32)
WINS, LOSSES = np.array([1.0, 2.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0, 1.0])
SCORE, DIFFICULTY = np.array([0.8, 0.0, 0.3]), 0.7
TAU, THETA = np.array([[1.5, -0.4], [0.6, 1.2]]), np.array([0.3, 0.7])


def copies(count, wins=WINS, losses=LOSSES):
    """``count`` identical queries."""
    shift = 3 * np.repeat(np.arange(count), len(LEFT))
    return Panel(
        first=0,
        first_query=0,
        queries=count,
        query=np.repeat(np.arange(count), 3),
        i=np.tile(LEFT, count) + shift,
        j=np.tile(RIGHT, count) + shift,
        worker=np.tile(WORKER, count),
        wins=np.tile(wins, count),
        losses=np.tile(losses, count),
    )


def sweep_of(panel, score=SCORE, difficulty=DIFFICULTY):
    count = panel.queries
    return Sweep(panel, layout(panel), np.tile(score, count), np.full(count, difficulty), TAU, THETA)


def chances_of(own, rng):
    slots, draws, rows = own.counts.sum(axis=0)
    return Chances(
        rng.random(len(own.counts)),
        rng.standard_normal(slots),
        rng.random(draws),
        rng.random(0 if own.whole else rows),
    )


def test_the_posterior_is_that_of_an_integral():
    """Domains and perceived scores of many equal queries, against the prior weighted by the likelihood (eq. 6)."""
    rng = np.random.default_rng(0)
    drawn = SCORE + math.sqrt(DIFFICULTY) * rng.standard_normal((400_000, 2, 3))
    ahead = drawn[:, WORKER, LEFT] - drawn[:, WORKER, RIGHT]
    weight = np.empty((len(drawn), 2))
    for domain in range(2):
        z = TAU[WORKER, domain] * ahead / math.sqrt(2)
        weight[:, domain] = THETA[domain] * np.prod(norm.cdf(z) ** WINS * norm.cdf(-z) ** LOSSES, axis=1)
    total = weight.sum()
    want_domain = weight.sum(axis=0) / total
    want_mean = np.einsum("nm,nki->ki", weight, drawn) / total
    want_square = np.einsum("nm,nki->ki", weight, drawn**2) / total

    sweep = sweep_of(copies(4000))
    x = sweep.score[sweep.own.node]
    odds, means, squares = [], [], []
    for turn in range(60):
        now = sweep.odds(x)
        chances = chances_of(sweep.own, rng)
        domain = (chances.domain > now[:, 0]).astype(np.int64)
        x = sweep.draw_perceived(x, domain, sweep.draw_differences(x, domain, chances.difference), chances)
        if turn >= 10:
            odds.append(now.mean(axis=0))
            means.append(x.reshape(-1, 2, 3).mean(axis=0))
            squares.append((x**2).reshape(-1, 2, 3).mean(axis=0))
    np.testing.assert_allclose(np.mean(odds, axis=0), want_domain, atol=0.004)
    np.testing.assert_allclose(np.mean(means, axis=0), want_mean, atol=0.012)
    np.testing.assert_allclose(np.mean(squares, axis=0), want_square, atol=0.025)


@pytest.mark.parametrize(("wins", "losses"), [(WINS, LOSSES), (np.array([0.5, 2.25, 0, 1, 1]), LOSSES / 2)])
def test_printed_odds_of_domains_are_those_of_equation_8(wins, losses):
    """A product of normal densities of the noisy differences, vote by vote."""
    sweep, rng = sweep_of(copies(3, wins, losses)), np.random.default_rng(6)
    own, chances = sweep.own, chances_of(sweep.own, rng)
    x, difference = rng.normal(0, 2, len(own.cell)), rng.exponential(2.0, len(own.side))
    want = np.tile(THETA, (3, 1))
    for draw, side in enumerate(own.side):
        row, coin = own.row[side], 0.5 if own.whole else chances.coin[own.row[side]]
        if own.begin[draw] <= coin < own.end[draw]:
            k, query = sweep.shard.worker[row], sweep.shard.query[sweep.shard.i[row]]
            ahead = x[own.winner[side]] - x[own.loser[side]]
            for m in range(2):
                spread = math.sqrt(2 / TAU[k, m] ** 2)
                want[query, m] *= norm.pdf(difference[draw], np.sign(TAU[k, m]) * ahead, spread)
    found = sweep.odds_given_differences(x, difference, chances)
    np.testing.assert_allclose(found, want / want.sum(axis=1, keepdims=True), rtol=1e-10)


def test_the_printed_posterior_is_that_of_an_integral():
    """One worker, one vote, two domains that differ little: blocks m, x, d in the order of the paper (eq. 6)."""
    rng, tau, theta = np.random.default_rng(7), np.array([[1.5, 0.7]]), np.array([0.4, 0.6])
    one = np.ones(1)
    panel = Panel(0, 0, 1, np.zeros(2, int), np.array([0]), np.array([1]), np.zeros(1, np.int32), one, 0 * one)
    count, turns = 4000, 150
    shift = 2 * np.arange(count)
    many = replace(
        panel,
        queries=count,
        query=np.repeat(np.arange(count), 2),
        i=shift,
        j=shift + 1,
        worker=np.zeros(count, np.int32),
        wins=np.ones(count),
        losses=np.zeros(count),
    )
    sweep = Sweep(many, layout(many, math.inf), np.tile([0.2, 0.9], count), np.full(count, 0.7), tau, theta)
    sums = GibbsSums(SAMPLERS["printed"], 2, 0)
    x, domain, odds, means = sweep.score[sweep.own.node], rng.integers(2, size=count), [], []
    apart = sums._first_differences(sweep, x, domain)
    for _ in range(turns):
        chances = chances_of(sweep.own, rng)
        now = sums._odds(sweep, x, apart, chances)
        domain = (chances.domain > now[:, 0]).astype(np.int64)
        x, apart = sums._draw(sweep, x, apart, domain, chances)
        odds.append(now.mean(axis=0))
        means.append(x.reshape(-1, 2).mean(axis=0))
    drawn = np.array([0.2, 0.9]) + math.sqrt(0.7) * rng.standard_normal((400_000, 2))
    weight = theta * norm.cdf(tau * (drawn[:, :1] - drawn[:, 1:]) / math.sqrt(2))
    np.testing.assert_allclose(np.mean(odds[30:], axis=0), weight.sum(axis=0) / weight.sum(), atol=0.006)
    want = (weight.sum(axis=1)[:, None] * drawn).sum(axis=0) / weight.sum()
    np.testing.assert_allclose(np.mean(means[30:], axis=0), want, atol=0.012)


def test_a_printed_round_by_hand():
    """Without prior, bound or joint move: tau moves by gradient over curvature. Without votes it stays."""
    slope, bend = np.array([[0.3, 0.0], [4.0, 0.0]]), np.array([[-0.5, 0.0], [-0.5, 0.0]])
    found = rounds_of(copies(1), form="printed")._step_tau(np.array([[1.0, 7.0], [3.0, 2.0]]), slope, bend)
    np.testing.assert_allclose(found, [[1 + 0.3 / 0.5, 7.0], [3 + 4.0 / 0.5, 2.0]], rtol=1e-14)

    *_, votes = crowd(0, queries=12)
    seen = []
    for form in ("printed", "collapsed"):
        sums = GibbsSums(replace(SAMPLERS[form], sweeps=3, burn=1), 2, 0)
        (shard,) = panels(votes)
        chain, queries = sums.start(shard, 0), 12
        at = ChainParams(
            score=sums.mean_perceived(shard, None, chain),
            difficulty=np.ones(queries),
            tau=np.ones((10, 2)),
            theta=np.full(2, 0.5),
            shift=np.zeros(queries),
            scale=1.0,
            round=1,
            domain=np.arange(queries) % 2,
            fresh=True,
        )
        means, after = sums.sweep(shard, at, chain)
        node, count = after.layout.node, len(shard.query)
        seen.append(np.bincount(node, after.perceived, count) / np.bincount(node, minlength=count) - means.score)
        assert len(after.difference) == (len(after.layout.side) if form == "printed" else 0)
        assert (after.difference >= 0).all()
    assert np.abs(seen[0]).max() > 0.01  # the mean over two sweeps, not the last of them


def test_the_printed_sampler_as_a_whole():
    """It starts at random, finds something, and its answer is that of its last round."""
    form = replace(SAMPLERS["printed"], sweeps=8, burn=4)
    score, *_, votes = crowd(3, queries=16)
    answer, again = (fitted(cut_small(panels, rows, votes), form=form, count=16) for rows in (10**6, 100))
    np.testing.assert_allclose(answer.score, again.score, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(answer.domain.argmax(axis=1), answer.trace[-1]["domain"])
    assert answer.difficulty.mean() == pytest.approx(1.0)
    values = [part["log_likelihood"] for part in answer.trace]
    assert values[0] < 16 * 5 * 10 * math.log(0.5)  # worse than a guess
    assert values[-1] > values[0] / 2
    found = answer.score.reshape(score.shape)
    first, second = np.triu_indices(5, 1)
    assert np.mean((found[:, first] > found[:, second]).sum(axis=1)) < 3.0  # 5 by chance


def test_derivatives_by_tau_match_finite_differences():
    sweep, rng, h = sweep_of(copies(2)), np.random.default_rng(1), 1e-5
    x, domain = rng.normal(0, 2, len(sweep.own.cell)), np.array([1, 0])

    def value(tau):
        own, cells = sweep.own, sweep.shard.cells
        slope = tau[cells.worker, domain[cells.query]][own.side_cell] / math.sqrt(2)
        terms = own.weight * norm.logcdf(slope * (x[own.winner] - x[own.loser]))
        return np.bincount(own.side_cell, terms)

    slope, bend = sweep.derivatives(x, domain)
    np.testing.assert_allclose(slope, (value(TAU + h) - value(TAU - h)) / (2 * h), rtol=1e-6)
    h = 1e-3
    np.testing.assert_allclose(bend, (value(TAU + h) - 2 * value(TAU) + value(TAU - h)) / h**2, rtol=1e-4)


def test_scores_and_difficulties_by_hand():
    """Two sweeps; the first worker saw all three items, the second all three too (eq. 18, 19)."""
    sweep = sweep_of(copies(1))
    first, second = np.array([1.0, 0.0, 2.0, 3.0, 1.0, 0.0]), np.array([2.0, 1.0, 2.0, 0.0, 0.0, 1.0])
    seen = SweepTotals(sweep)
    for x in (first, second):
        seen.add(x, np.array([[0.25, 0.75]]), np.array([1]))
    score, difficulty = seen.scores()
    want = np.array([(1 + 3 + 2 + 0) / 4, (0 + 1 + 1 + 0) / 4, (2 + 0 + 2 + 1) / 4])
    np.testing.assert_allclose(score, want, rtol=1e-14)
    squares = [(x.reshape(2, 3) - want) ** 2 for x in (first, second)]
    np.testing.assert_allclose(difficulty, np.mean(squares), rtol=1e-13)
    np.testing.assert_allclose(seen.odds / seen.count, [[0.25, 0.75]])
    assert not seen.slope[:, 0].any()


def test_moves_find_the_maximum():
    own, rng = layout(copies(1)), np.random.default_rng(2)
    slope, ahead = rng.normal(1, 0.5, len(own.row)), rng.normal(0, 1, len(own.row))

    def loss(move):
        apart = move[own.node[own.winner]] - move[own.node[own.loser]]
        return 0.025 * move @ move - own.weight @ norm.logcdf(slope * (ahead + apart))

    found = moves(own, 3, slope, ahead, 300)
    np.testing.assert_allclose(found, minimize(loss, np.zeros(3), tol=1e-12).x, atol=1e-5)


def test_a_tie_is_one_vote_in_every_sweep_and_a_fraction_some_of_them():
    wins, losses = np.array([0.5, 1.3, 0.0, 2.0, 1.0]), np.array([0.5, 0.0, 0.25, 0.5, 1.0])
    sweep, rng = sweep_of(copies(5000, wins, losses)), np.random.default_rng(3)
    chances = chances_of(sweep.own, rng)
    _, votes = sweep._sum_draws(chances.difference, chances)
    votes = votes.reshape(-1, 5)
    assert (votes[:, [0, 4]] == [1.0, 2.0]).all()
    np.testing.assert_allclose(votes.mean(axis=0), wins + losses, atol=0.03)


def test_many_votes_are_drawn_as_one_sum():
    rng = np.random.default_rng(4)
    assert len(layout(copies(1, WINS * (MANY + 1))).side) < len(layout(copies(1, WINS * MANY)).side)
    for mean in (-4.0, 0.0, 3.0):
        singly = draw_truncated(rng.random((20_000, 100)), 0.0, np.inf, mean).sum(axis=1)
        at_once = _sum_of_many(np.full(20_000, 100.0), np.full(20_000, mean), rng.random(20_000))
        assert at_once.mean() == pytest.approx(singly.mean(), abs=5 * singly.std() / 100)
        assert at_once.std() == pytest.approx(singly.std(), rel=0.03)


def test_the_composite_likelihood_is_a_plain_sum():
    panel, total = copies(1), 0.0
    for domain in range(2):
        product = THETA[domain]
        for i, j, k, won, lost in zip(LEFT, RIGHT, WORKER, WINS, LOSSES, strict=True):
            tau = TAU[k, domain]
            z = np.sign(tau) * (SCORE[i] - SCORE[j]) / math.sqrt(2 / tau**2 + 2 * DIFFICULTY)
            product *= norm.cdf(z) ** won * norm.cdf(-z) ** lost
        total += product
    found = log_likelihood([panel], SCORE, np.array([DIFFICULTY]), TAU, THETA)
    assert found == pytest.approx(math.log(total), rel=1e-12)


def test_agreement_is_that_of_a_query():
    """The order is 0, 2, 1. Worker 0 votes 01, 02, 02, 21 and worker 1 votes 10, 12, 21."""
    np.testing.assert_array_equal(sweep_of(copies(1)).agreeing_weight(), [4.0, 1.0])
    np.testing.assert_array_equal(sweep_of(copies(1), np.zeros(3)).agreeing_weight(), [2.0, 1.5])


def test_odds_of_classes_by_hand():
    agreed, against = np.array([[3.0, 0.0], [1.0, 2.0]]), np.array([[1.0, 2.0], [0.0, 2.0]])
    p, theta = np.array([[0.9, 0.4], [0.2, 0.7]]), np.array([0.25, 0.75])
    odds, value = _odds(csr_array(agreed), csr_array(against), p, theta)
    weight = np.empty((2, 4))
    for query in range(2):
        for option in range(4):
            chance = p[:, option % 2] if option < 2 else 1 - p[:, option % 2]
            terms = chance ** agreed[query] * (1 - chance) ** against[query]
            weight[query, option] = 0.5 * theta[option % 2] * np.prod(terms)
    np.testing.assert_allclose(odds, weight / weight.sum(axis=1, keepdims=True), rtol=1e-12)
    assert value == pytest.approx(np.log(weight.sum(axis=1)).sum())


def test_classes_find_queries_with_the_same_friends():
    rng = np.random.default_rng(5)
    p = np.array([[0.9, 0.9, 0.1], [0.9, 0.1, 0.9], [0.9, 0.9, 0.8], [0.5, 0.9, 0.9], [0.1, 0.5, 0.9]])
    own, sign = rng.integers(3, size=60), rng.choice([-1.0, 1.0], 60)
    chance = np.where(sign[:, None] > 0, p[:, own].T, 1 - p[:, own].T)
    agreed = rng.binomial(20, chance).astype(float)
    found, signs, share = find_classes(csr_array(agreed), csr_array(20 - agreed), 3, rng)
    names = [np.bincount(own[found == one]).argmax() for one in range(3)]
    assert sorted(names) == [0, 1, 2]
    np.testing.assert_array_equal(np.array(names)[found], own)
    np.testing.assert_array_equal(signs, sign)
    np.testing.assert_allclose(share, p[:, names], atol=0.1)


# ------------------------------------------------------------------------------------------- whole fits


def crowd(seed, queries=100, items=5, domains=2, workers=10, share=0.5):
    """The paper's crowd (DEMO1): the true scores of every query, the domains, tau, and the votes."""
    rng = np.random.default_rng(seed)
    score = np.cumsum(rng.random((queries, items)), axis=1)
    tau = rng.choice([10, 5, 0.1, -10], p=[0.2, 0.6, 0.1, 0.1], size=(workers, domains))
    domain = rng.integers(domains, size=queries)
    perceived = score + np.sqrt(0.1 * rng.random(queries))[:, None] * rng.standard_normal(
        (workers, queries, items)
    )
    first, second = np.triu_indices(items, 1)
    rows = []
    for k in range(workers):
        for q in range(queries):
            for pair in rng.permutation(len(first))[: int(share * len(first))]:
                own = tau[k, domain[q]]
                ahead = own * (perceived[k, q, first[pair]] - perceived[k, q, second[pair]])
                better = ahead + math.sqrt(2) * rng.standard_normal() > 0
                names = (first[pair], second[pair]) if better else (second[pair], first[pair])
                rows.append((f"q{q:03d}", f"w{k}", *(f"i{name}" for name in names)))
    frame = pl.DataFrame(rows, schema=["query", "worker", "winner", "loser"], orient="row")
    return score, domain, tau, Votes(cr.read(frame))


def run_of(seed=0, threads=1):
    return Run(Anchors(), LocalEngine(threads), seed, None)


def fitted(
    shards, *, run=None, workers=10, domains=2, expertise=False, difficulty=False, form="collapsed", count=60
):
    return draw_answer(
        shards,
        run or run_of(),
        workers=workers,
        domains=domains,
        shared_expertise=expertise,
        shared_difficulty=difficulty,
        form=replace(SAMPLERS.get(form, form), rounds=count),
    )


def test_shards_and_threads_change_nothing():
    *_, votes = crowd(0, queries=12)
    answers = [
        fitted(cut_small(panels, rows, votes), run=run_of(threads=threads), count=LAST_FIXED + 3)
        for rows, threads in [(1, 1), (1, 2), (200, 1), (10**6, 1)]
    ]
    for other in answers[1:]:
        for name in ("score", "difficulty", "domain", "tau", "theta"):
            np.testing.assert_allclose(getattr(other, name), getattr(answers[0], name), rtol=1e-12, atol=1e-12)
    assert answers[0].score.tobytes() == answers[1].score.tobytes()
    again = fitted(cut_small(panels, 200, votes), run=run_of(seed=1), count=LAST_FIXED + 3)
    assert not np.array_equal(again.score, answers[2].score)


def test_finds_scores_domains_and_malicious_workers():
    """Figure 3: two domains, random at first, found in about ten rounds."""
    score, domain, tau, votes = crowd(3)
    answer = fitted(panels(votes), count=24)
    assert answer.rounds == len(answer.trace) == 24
    right = [np.mean(part["domain"] == domain) for part in answer.trace]
    right = [max(share, 1 - share) for share in right]
    assert right[0] < 0.65
    assert min(right[10:]) >= 0.895
    found = answer.score.reshape(score.shape)
    first, second = np.triu_indices(score.shape[1], 1)
    assert np.mean((found[:, first] > found[:, second]).sum(axis=1)) < 1.0  # the truth rises from item to item
    order = [0, 1] if right[-1] == np.mean(answer.trace[-1]["domain"] == domain) else [1, 0]
    assert (answer.tau[:, order][tau < 0] < 0).all()
    assert (answer.tau[:, order][tau > 1] > 0).all()
    assert answer.trace[-1]["log_likelihood"] > answer.trace[0]["log_likelihood"]


def test_conditions_of_identification():
    score, *_, votes = crowd(2, queries=20)
    answer = fitted(panels(votes), count=9)
    assert answer.difficulty.mean() == pytest.approx(1.0)
    assert (answer.score.reshape(score.shape).min(axis=1) == 0).all()
    np.testing.assert_allclose(answer.domain.sum(axis=1), 1.0)
    assert answer.theta.sum() == pytest.approx(1.0)


def rounds_of(panel, expertise=False, form="collapsed"):
    return SamplerRounds(SAMPLERS[form], [panel], run_of(), 2, expertise, False, 0)


def test_a_domain_of_negative_tau_is_reversed():
    steps = rounds_of(copies(2))
    kept = KeptRound(
        score=np.array([0.0, 1.0, 3.0, 0.0, 1.0, 3.0]),
        difficulty=np.ones(2),
        domain=np.array([[0.9, 0.1], [0.2, 0.8]]),
        tau=np.array([[-2.0, 1.0], [1.0, 0.5]]),
        theta=THETA,
    )
    steps.kept = [kept]
    steps.trace = [{"log_likelihood": -1.0}]
    answer = (
        steps.answer()
    )  # worker 0 cast four of seven votes, and most of them in the first domain count against it
    np.testing.assert_array_equal(answer.tau, [[2.0, 1.0], [-1.0, 0.5]])
    np.testing.assert_array_equal(answer.score, [3.0, 2.0, 0.0, 0.0, 1.0, 3.0])


@pytest.mark.parametrize("shared", [False, True])
def test_the_step_of_tau_by_hand(shared):
    """One query; the prior has mean (1 + 3) / 2 and variance (1 + 9) / 2."""
    slope, bend = np.array([[0.3], [0.1]]), np.array([[-0.5], [-1.5]])
    found = rounds_of(copies(1), shared)._step_tau(np.array([[1.0], [3.0]]), slope, bend)
    gradient, curvature = ([0.4, 0.4], [2.0, 2.0]) if shared else ([0.3, 0.1], [0.5, 1.5])
    want = [
        1 + (gradient[0] + 1 / 5) / (curvature[0] + 1 / 5),
        3 + max((gradient[1] - 1 / 5) / (curvature[1] + 1 / 5), -1.0),
    ]
    np.testing.assert_allclose(found[:, 0], want, rtol=1e-14)


def test_variants():
    *_, votes = crowd(3, queries=20)
    one = fitted(panels(votes), expertise=True, count=6)
    assert (one.tau == one.tau[0]).all()
    even = fitted(panels(votes), difficulty=True, domains=1, count=6)
    assert (even.difficulty == 1).all()
    assert (even.domain == 1).all()
    assert len(set(even.tau[:, 0])) == 10


@pytest.mark.parametrize(
    ("weight", "form"),
    [*((weight, "collapsed") for weight in (0.001, 1.0, 63.5, 1e6)), (0.001, "printed"), (63.5, "printed")],
)
def test_one_sided_votes_stay_finite(weight, form):
    """One worker, two items, and one of them always wins."""
    frame = pl.DataFrame({"worker": ["w"], "winner": ["a"], "loser": ["b"], "weight": [weight]})
    answer = fitted(panels(Votes(cr.read(frame))), workers=1, count=30, form=form)
    for value in (answer.score, answer.difficulty, answer.tau, answer.theta, answer.domain):
        assert np.isfinite(value).all()
    assert answer.score.min() == 0
    if form == "collapsed":
        assert answer.score[0] > answer.score[1]
        assert answer.tau.max() > 0


@pytest.mark.parametrize("form", ["collapsed", "printed"])
def test_ties_alone_say_nothing(form):
    frame = pl.DataFrame({"worker": ["v", "w"], "left": ["a", "b"], "right": ["b", "c"], "winner": ["tie", "tie"]})
    answer = fitted(panels(Votes(cr.read(frame))), workers=2, count=30, form=form)
    assert np.isfinite(answer.score).all()
    assert np.abs(answer.tau).max() < 1.0 or form == "printed"
    assert answer.trace[-1]["log_likelihood"] <= 2 * math.log(0.5)  # a tie is worth a fair coin at best
