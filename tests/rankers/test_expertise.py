"""The theta step of LTRMA against enumeration, finite differences, and a general optimizer."""

import io
from itertools import combinations, permutations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize, minimize_scalar

from crowdrank.data import MOST_EXPERTISE, SideInfo
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.rankers.ltrma.expertise import solve_expertise
from crowdrank.rankers.ltrma.problem import Part, soft_forces

HEAD = "worker,kind,value,low,high,than,confidence\n"
IDS = [f"w{k}" for k in range(5)]
SD = 2.0


def bind(rows, ids=IDS):
    return SideInfo.read(pl.read_csv(io.StringIO(HEAD + rows + "\n"), infer_schema=False)).bind(pl.Series(ids))


def crowd(workers=5, n=6, seed=0, lists=6):
    """Counts and expected distances of workers with thetas of both signs; the last one has no lists."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((workers, n + 1))
    counts[:, n] = lists
    counts[:, 3] = rng.integers(0, 3, workers)
    distance = -(counts * log_normalizers(rng.normal(0.3, 0.6, workers), n)[1]).sum(axis=1)
    counts[-1], distance[-1] = 0.0, 0.0
    return counts, distance


def value(theta, counts, distance, sd=SD):
    return float(
        -theta @ distance
        - (counts * log_normalizers(theta, counts.shape[1] - 1)[0]).sum()
        - theta @ theta / (2 * sd**2)
    )


def log_sigma(x):
    return -np.logaddexp(0.0, -x)


class TestAgainstEnumeration:
    """Four items, all 24 lists; d counts the pairs that a list orders differently."""

    @pytest.mark.parametrize("theta", [-1.2, -0.3, 0.0, 0.4, 2.5])
    def test_distance_and_normalizer(self, theta):
        distances = np.array([sum(a > b for a, b in combinations(order, 2)) for order in permutations(range(4))])
        chance = np.exp(-theta * distances)
        expected = distances @ chance / chance.sum()
        counts = np.zeros((1, 5))
        counts[0, 4] = 10.0
        found = solve_expertise(counts, np.array([10 * expected]), None, 1e9)
        np.testing.assert_allclose(found.theta, theta, atol=1e-9)
        variance = distances**2 @ chance / chance.sum() - expected**2
        np.testing.assert_allclose(found.information, 10 * variance)
        assert value(np.array([theta]), counts, np.array([3.0]), np.inf) == pytest.approx(
            -3 * theta - 10 * np.log(chance.sum())
        )

    def test_the_maximum_solves_the_corrected_equation_39(self):
        """E(d) + (1/N) d ln f / d theta = dbar, with d ln f of (38) in the house sign, N lists."""
        counts, n, eta, low, high = np.zeros((1, 7)), 6, 3.0, 0.4, 0.9
        counts[0, n] = 5.0
        theta = solve_expertise(
            counts, np.array([5 * 6.5]), bind(f"a,range,,{low},{high},,{eta}", ["a"]), 1e9
        ).theta
        mean = -log_normalizers(theta, n)[1][0, n]
        sigma = [1 / (1 + np.exp(-eta * (theta[0] - end))) for end in (low, high)]
        assert mean + eta * (1 - sigma[0] - sigma[1]) / 5 == pytest.approx(6.5)


class TestDerivatives:
    rows = (
        "w0,range,,0,1,,3\nw1,known,0.5,,,,2\nw2,order,,,,*,4\nw0,order,,,,w1,1.5\n"
        "w3,range,,,0,,5\nw3,order,,,,w4,"
    )

    def part(self):
        counts, distance = crowd()
        return Part.of(counts, distance, bind(self.rows), SD**-2)

    @pytest.mark.parametrize("seed", range(3))
    def test_gradient_and_matrix(self, seed):
        part, theta, width = self.part(), np.random.default_rng(seed).normal(0, 1, 5), 1e-5
        steps = width * np.eye(5)
        slope = [(part.value(theta + step) - part.value(theta - step)) / (2 * width) for step in steps]
        np.testing.assert_allclose(part.gradient(theta), slope, rtol=1e-6, atol=1e-7)
        bend = [(part.gradient(theta - step) - part.gradient(theta + step)) / (2 * width) for step in steps]
        np.testing.assert_allclose(part.matrix(theta), bend, rtol=1e-6, atol=1e-7)

    @pytest.mark.parametrize("slack", [-3.0, -0.1, 0.0, 2.0])
    def test_a_soft_range_is_equation_35(self, slack):
        """ln f of the printed difference, up to a constant, from its own finite differences."""
        known, eta, width = bind("a,range,,-1,2,,1.5", ["a"]), 1.5, 1e-5

        def printed(theta):
            return np.log(1 / (1 + np.exp(-eta * (theta + 1))) - 1 / (1 + np.exp(-eta * (theta - 2))))

        force, weight = soft_forces(known.soft, known.confidence, np.array([slack]))
        slope = (printed(slack + width) - printed(slack - width)) / (2 * width)
        assert known.soft.sums(force, 1)[0] == pytest.approx(slope, abs=1e-8)
        bend = -(printed(slack + 1e-4) - 2 * printed(slack) + printed(slack - 1e-4)) / 1e-8
        assert weight.sum() == pytest.approx(bend, abs=1e-6)

    def test_what_is_returned(self):
        counts, distance = crowd()
        known = bind("w0,range,,0,1,,3\nw1,order,,,,w2,4\nw2,order,,,,w3,\nw3,order,,,,w2,")
        found = solve_expertise(counts, distance, known, SD)
        part = Part.of(counts, distance, known, SD**-2)
        by_group = np.bincount(found.group, found.information + found.prior)
        theta = found.theta[[0, 1, 2, 4]]
        np.testing.assert_allclose(part.matrix(theta), np.diag(by_group) + found.side)
        assert found.side[1, 2] < 0


def brute_force(counts, distance, rows, ids=IDS):
    """A general optimizer on the function as the file states it."""
    place = {worker: k for k, worker in enumerate(ids)}
    soft, hard = [], []
    for row in rows.split("\n"):
        worker, kind, known, low, high, than, eta = row.split(",")
        ends = [(1, known or low), (-1, known or high)] if kind != "order" else []
        demands = [(lambda t, k=place[worker], s=sign, v=float(end): s * (t[k] - v)) for sign, end in ends if end]
        if kind == "order":
            others = [other for other in ids if other != worker] if than == "*" else [than]
            demands = [(lambda t, k=place[worker], o=place[other]: t[k] - t[o]) for other in others]
        (soft if eta else hard).extend((demand, float(eta or 0)) for demand in demands)

    def loss(theta):
        return -value(theta, counts, distance) - sum(log_sigma(eta * demand(theta)) for demand, eta in soft)

    limits = [{"type": "ineq", "fun": demand} for demand, _ in hard]
    options = {"ftol": 1e-14, "maxiter": 500}
    return minimize(loss, np.full(len(ids), 0.3), method="SLSQP", constraints=limits, options=options), loss


CASES = {
    "known": "w0,known,0.7,,,,",
    "range": "w0,range,,0.8,2,,\nw1,range,,,0,,",
    "order": "w1,order,,,,w0,\nw2,order,,,,w1,",
    "best": "w3,order,,,,*,",
    "soft known": "w0,known,0.7,,,,4",
    "soft range": "w0,range,,0.8,2,,6\nw1,range,,,-0.5,,3",
    "soft order": "w1,order,,,,w0,5\nw2,order,,,,w1,1",
    "soft best": "w3,order,,,,*,20",
    "orders and bounds": "w0,order,,,,w1,\nw1,order,,,,w2,\nw2,range,,0.4,,,\nw0,range,,,0.6,,",
    "diamond": "w0,order,,,,w1,\nw0,order,,,,w2,\nw1,order,,,,w3,\nw2,order,,,,w3,\nw3,range,,0.2,,,",
    "known among orders": "w0,order,,,,w1,\nw1,known,0.5,,,,\nw1,order,,,,w2,\nw2,order,,,,w3,",
    "all kinds": (
        "w0,order,,,,w1,\nw1,range,,0.1,,,3\nw2,known,0.4,,,,\nw1,order,,,,w2,8\nw3,order,,,,*,2\n"
        "w3,range,,,0.5,,\nw0,known,0.1,,,,5"
    ),
    "soft against hard": "w0,order,,,,w1,\nw1,order,,,,w0,30\nw2,range,,,-1,,10\nw2,order,,,,w0,",
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rows", CASES.values(), ids=CASES)
def test_against_a_general_optimizer(rows, seed):
    counts, distance = crowd(seed=seed)
    found = solve_expertise(counts, distance, bind(rows), SD)
    wanted, loss = brute_force(counts, distance, rows)
    assert found.converged
    assert loss(found.theta) <= wanted.fun + 1e-6  # it breaks constraints by its own tolerance
    np.testing.assert_allclose(found.theta, wanted.x, atol=2e-4)  # as far as that optimizer comes


@pytest.mark.parametrize("seed", range(4))
def test_hard_constraints_hold_exactly_and_slopes_balance(seed):
    """At the maximum on a random partial order, moving any upper set up or any lower set down gains nothing."""
    rng = np.random.default_rng(seed)
    ids = [f"w{k}" for k in range(7)]
    counts, distance = crowd(7, seed=seed)
    pairs = [(a, b) for a, b in combinations(range(7), 2) if rng.random() < 0.35]
    rows = "\n".join(f"w{a},order,,,,w{b}," for a, b in pairs) + "\nw3,range,,-0.1,0.4,,\nw5,order,,,,w1,2"
    known = bind(rows, ids)
    found = solve_expertise(counts, distance, known, SD)
    theta = found.theta
    low, high = known.bounds
    assert all(theta[a] >= theta[b] for a, b in pairs)
    assert (theta >= low).all()
    assert (theta <= high).all()
    slope = Part.of(counts, distance, known, SD**-2).gradient(theta)
    for size in range(1, 8):
        for chosen in map(list, combinations(range(7), size)):
            stuck = any(b in chosen and a not in chosen and theta[a] - theta[b] < 1e-9 for a, b in pairs)
            if not stuck and (high[chosen] - theta[chosen] > 1e-9).all():
                assert slope[chosen].sum() < 1e-7
            stuck = any(a in chosen and b not in chosen and theta[a] - theta[b] < 1e-9 for a, b in pairs)
            if not stuck and (theta[chosen] - low[chosen] > 1e-9).all():
                assert slope[chosen].sum() > -1e-7


class TestConfidence:
    @pytest.mark.parametrize("rows", CASES.values(), ids=CASES)
    def test_of_zero_is_no_side_information(self, rows):
        counts, distance = crowd()
        none = "\n".join(row.rsplit(",", 1)[0] + ",0" for row in rows.split("\n"))
        found = solve_expertise(counts, distance, bind(none), SD)
        np.testing.assert_array_equal(found.theta, solve_expertise(counts, distance, None, SD).theta)

    @pytest.mark.parametrize("name", ["known", "range", "order", "best", "orders and bounds", "diamond"])
    def test_that_grows_approaches_certainty(self, name):
        """Equations 36 and 45: the difference falls as ln(eta) / eta."""
        counts, distance = crowd(seed=2)
        hard = solve_expertise(counts, distance, bind(CASES[name]), SD).theta
        for eta in (1e4, 1e5, 1e6):
            soft = "\n".join(row.rsplit(",", 1)[0] + f",{eta}" for row in CASES[name].split("\n"))
            found = solve_expertise(counts, distance, bind(soft), SD)
            assert found.converged
            np.testing.assert_allclose(found.theta, hard, atol=8 * np.log(eta) / eta)

    def test_the_soft_known_value_is_a_logistic_density(self):
        counts, distance = crowd()
        found = solve_expertise(counts, distance, bind("w0,known,0.7,,,,4"), SD).theta

        def loss(theta):
            sigma = 1 / (1 + np.exp(-4 * (theta - 0.7)))
            return -value(np.array([theta]), counts[:1], distance[:1]) - np.log(sigma * (1 - sigma))

        best = minimize_scalar(loss, bounds=(-2, 3), method="bounded", options={"xatol": 1e-10})
        assert found[0] == pytest.approx(best.x, abs=1e-6)
        np.testing.assert_array_equal(found[1:], solve_expertise(counts, distance, None, SD).theta[1:])


@pytest.mark.parametrize(
    "rows",
    [
        "w0,known,-1,,,,50000\nw0,range,,0.5,,,\nw0,order,,,,w1,200000",
        "w0,known,-1,,,,1e5\nw0,order,,,,w1,\nw1,known,2,,,,1e3",
    ],
)
def test_near_certainty_against_certainty(rows):
    """Steep soft demands that the hard ones do not let through."""
    counts, distance = crowd()
    known = bind(rows)
    found = solve_expertise(counts, distance, known, SD)
    assert found.converged
    slope = Part.of(counts, distance, known, SD**-2).gradient(found.theta)
    held = found.theta == known.bounds[0]
    if not held.any():  # the two workers are equal, and move together
        assert found.theta[0] == pytest.approx(found.theta[1], abs=1e-12)
        slope[:2] = slope[:2].sum()
    np.testing.assert_allclose(slope[~held], 0, atol=1e-5)
    assert (slope[held] < 0).all()


class TestSpecialWorkers:
    def test_equal_by_a_cycle(self):
        counts, distance = crowd()
        rows = "w0,order,,,,w1,\nw1,order,,,,w2,\nw2,order,,,,w0,"
        found = solve_expertise(counts, distance, bind(rows), SD)
        assert found.theta[0] == found.theta[1] == found.theta[2]
        one = solve_expertise(counts[:3].sum(axis=0)[None], distance[:3].sum(keepdims=True), None, SD / np.sqrt(3))
        np.testing.assert_allclose(found.theta[0], one.theta[0], atol=1e-10)

    def test_without_lists(self):
        counts, distance = np.zeros((5, 5)), np.zeros(5)
        rows = "w0,known,3,,,,\nw1,range,,1,,,\nw2,range,,,0.5,,\nw3,range,,0,,,2"
        found = solve_expertise(counts, distance, bind(rows), SD).theta
        assert found[:3].tolist() == [3.0, 1.0, 0.0]
        assert found[3] / SD**2 == pytest.approx(2 / (1 + np.exp(2 * found[3])))
        assert found[4] == 0.0
        assert (solve_expertise(counts, distance, None, np.inf).theta == 0).all()

    def test_the_limit_is_visible(self):
        """Lists without an error, and lists that are exactly reversed, under a flat prior."""
        counts = np.zeros((3, 5))
        counts[:, 4] = 10.0
        found = solve_expertise(counts, np.array([0.0, 60.0, 20.0]), None, np.inf)
        assert found.theta[:2].tolist() == [MOST_EXPERTISE, -MOST_EXPERTISE]
        assert found.at_limit.tolist() == [True, True, False]
        assert not solve_expertise(*crowd(), None, SD).at_limit.any()

    def test_with_a_start(self):
        counts, distance = crowd()
        rows = CASES["all kinds"]
        cold, warm = (
            solve_expertise(counts, distance, bind(rows), SD, start).theta for start in (None, np.full(5, 9.0))
        )
        np.testing.assert_allclose(cold, warm, atol=1e-10)

    def test_beyond_chance_in_the_wrong_direction(self):
        counts = np.zeros((1, 5))
        counts[0, 4] = 10.0
        assert solve_expertise(counts, np.array([50.0]), None, SD).theta[0] < -0.3


@pytest.mark.parametrize("rows", [CASES["all kinds"], CASES["diamond"], CASES["soft best"]])
def test_other_codes_change_nothing(rows):
    counts, distance = crowd(seed=3)
    wanted = solve_expertise(counts, distance, bind(rows), SD).theta
    for order in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        found = solve_expertise(counts[order], distance[order], bind(rows, [IDS[k] for k in order]), SD)
        np.testing.assert_allclose(found.theta, wanted[order], atol=1e-9)


@pytest.mark.parametrize("eta", ["", "20", "1e6"])
def test_eighty_workers(eta):
    """Against the same with the best worker by itself as a bound for all others."""
    counts, distance = crowd(80, 8, seed=5)
    ids = [f"w{k}" for k in range(80)]
    found = solve_expertise(counts, distance, bind(f"w7,order,,,,*,{eta}", ids), SD)
    assert found.converged
    free = solve_expertise(counts, distance, None, SD).theta
    if not eta:
        assert (found.theta[7] >= found.theta).all()
        below = free < found.theta[7] - 1e-9
        below[7] = False
        np.testing.assert_allclose(found.theta[below], free[below], atol=1e-10)
        np.testing.assert_allclose(found.theta[~below], found.theta[7], atol=1e-10)
    else:
        assert free[7] < found.theta[7] < free.max()


def test_a_chain_that_the_data_reverse():
    """All thetas become equal: the maximum of the sum."""
    n, workers = 5, 40
    counts = np.zeros((workers, n + 1))
    counts[:, n] = 5.0
    distance = -(counts * log_normalizers(np.linspace(-1, 1, workers), n)[1]).sum(axis=1)
    ids = [f"w{k}" for k in range(workers)]
    rows = "\n".join(f"w{k},order,,,,w{k + 1}," for k in range(workers - 1))
    found = solve_expertise(counts, distance, bind(rows, ids), SD)
    pooled = solve_expertise(counts.sum(0)[None], distance.sum(keepdims=True), None, SD / np.sqrt(workers))
    np.testing.assert_allclose(found.theta, pooled.theta[0], atol=1e-10)
    assert (np.diff(found.theta) <= 0).all()
