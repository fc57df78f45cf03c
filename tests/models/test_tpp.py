"""TPP on simulated crowds: what is found, what is known in advance, and what follows from an answer."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr

import crowdrank as cr
from crowd_by_hand import PANEL, PLAIN
from crowdrank.data import Anchors
from crowdrank.engine import LocalEngine
from crowdrank.errors import UsageError
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.answer import log_likelihood
from crowdrank.models.thurstonian.grid import GridClimb, TPPSetting
from crowdrank.models.thurstonian.tpp import TPP
from crowdrank.models.thurstonian.types import GRID, HALF
from crowdrank.prepared.panels import panels
from crowdrank.prepared.votes import Votes
from crowdrank.reproduce.tpp import distance_to_truth
from crowdrank.reproduce.tpp_figures import accuracy, matching, true_domains
from crowdrank.simulate import tpp_crowd


def few(seed=1, **more):
    """A small crowd of two domains with malicious cells in it."""
    return tpp_crowd(
        **{"seed": seed, "queries": 24, "documents": 6, "workers": 8, "domains": 2, "sparsity": 0.6} | more
    )


@pytest.fixture(scope="module")
def crowd():
    return few()


@pytest.fixture(scope="module")
def fitted(crowd):
    return TPP().fit(crowd.judgments)


def named(rows, *, query=True):
    names = ["query"] * query + ["worker", "winner", "loser"]
    return pl.DataFrame(rows, schema=names, orient="row")


def skills_of(model, crowd):
    """The skills found for each worker in each true domain, next to the truth."""
    partner = 1 + matching(model.queries_.domain, true_domains(model.queries_.query, crowd))
    truth = crowd.skills.with_columns(pl.Series("domain", partner[crowd.skills["domain"] - 1]))
    return truth.join(model.skills_.polars(), on=["worker", "domain"], suffix="_found")


# ------------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize("seed", [1, 2])
def test_orders_domains_and_liars_are_found(seed):
    crowd = few(seed)
    model = TPP().fit(crowd.judgments)
    assert model.fit_.converged
    assert model.fit_.details["domains"]["number"] == 2
    likely = model.queries_.domain.argmax(axis=1)
    assert accuracy(likely, true_domains(model.queries_.query, crowd)) > 0.9
    apart, upside = distance_to_truth(model.ranking_, crowd)
    assert apart < 0.1 * 15  # of the 15 pairs of a query
    assert upside == 0
    both = skills_of(model, crowd)
    liars = both.filter(kind="malicious")
    assert len(liars)
    assert (liars["truthful"] < 0.1).all()
    assert (liars["verdict"] == "malicious").all()
    assert (both.filter(pl.col("kind").is_in(["expert", "average"]))["truthful"] > 0.9).all()


def test_the_number_of_domains_is_reported(fitted):
    domains = fitted.fit_.details["domains"]
    assert domains["chosen_by"] == "held-out votes"
    held_out = domains["held_out_log_likelihood"]
    assert held_out["2"] > held_out["1"]
    assert "domains" in {note.code for note in fitted.fit_.warnings}


def test_the_fewest_domains_are_taken_that_explain_the_votes():
    """One domain in truth; another number has a little more by chance."""
    votes = Votes(cr.read(few(5, queries=16, domains=1).judgments))
    climb = GridClimb(
        panels(votes), Run(Anchors(), LocalEngine(1), 0, None), TPPSetting(np.arange(8), 8, True, None)
    )
    number, held_out = climb.choose_number()
    assert max(held_out, key=held_out.get) > 1
    assert number == 1


def test_domains_of_queries_with_less_to_say_are_found_if_not_all_are_merged(monkeypatch):
    """Twelve of 60 queries are merged. In the first 20 all workers are good; they would take all twelve places."""
    monkeypatch.setattr("crowdrank.models.thurstonian.grid.MOST_MERGED", 12)
    rng, rows = np.random.default_rng(0), []
    blind = {0: [], 1: ["w0", "w1", "w2"], 2: ["w3", "w4", "w5"]}
    for query, worker in itertools.product(range(60), [f"w{number}" for number in range(6)]):
        guesses = worker in blind[query // 20]
        pairs = [
            pair[:: -1 if guesses and rng.random() < 0.5 else 1] for pair in itertools.combinations("abcde", 2)
        ]
        rows += [(f"q{query:02d}", worker, *pair) for pair in pairs]
    model = TPP(domains=3).fit(named(rows))
    assert accuracy(model.queries_.domain.argmax(axis=1), np.arange(60) // 20) > 0.95


def test_a_domain_is_reversed_as_a_whole():
    """Three liars judge every query and outnumber its two other workers, who judge no other one."""
    rows = []
    for query in range(8):
        workers = [(f"liar{number}", -1) for number in range(3)] + [
            (f"w{query}{number}", 1) for number in range(2)
        ]
        for worker, sign in workers:
            rows += [(f"q{query}", worker, *pair[::sign]) for pair in itertools.combinations("abcde", 2)]
    model = TPP(domains=1).fit(named(rows))
    assert (model.ranking_.polars().filter(rank=1)["item"] == "a").all()
    skills = model.skills_.polars()
    assert ((skills["truthful"] < 0.1) == skills["worker"].str.starts_with("liar")).all()


def test_there_is_a_row_for_each_worker_and_domain_and_the_largest_is_first(fitted, crowd):
    skills = fitted.skills_.polars()
    workers = sorted(crowd.judgments["worker"].unique())
    assert skills.select("worker", "domain").rows() == list(itertools.product(workers, [1, 2]))
    sizes = fitted.fit_.details["domains"]["queries"]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == pytest.approx(24)
    votes = crowd.judgments.group_by("worker").len().sort("worker")["len"].to_numpy()
    by_worker = skills.group_by("worker", maintain_order=True).agg(pl.col("judgments").sum())["judgments"]
    np.testing.assert_allclose(by_worker, votes)
    np.testing.assert_allclose(fitted.workers_.polars()["judgments"], votes)
    for low, high, value in (("low", "high", "quality"), ("tau_low", "tau_high", "tau")):
        assert (skills[low] <= skills[value]).all()
        assert (skills[value] <= skills[high]).all()


def test_harder_queries_are_distinguished_from_easier_ones():
    """Low and high difficulties, with many workers."""
    rng = np.random.default_rng(0)
    rows = []
    for query, worker in itertools.product(range(10), range(15)):
        seen = 1.5 * np.arange(5) + (2.0 if query < 5 else 0.1) * rng.standard_normal(5)
        for i, j in itertools.combinations(range(5), 2):
            i, j = (i, j) if seen[i] > seen[j] else (j, i)
            rows.append((f"q{query}", f"w{worker}", f"i{i}", f"i{j}"))
    model = TPP(domains=1).fit(named(rows))
    difficulty = model.queries_.polars()["difficulty"].to_numpy()
    assert difficulty.mean() == pytest.approx(1.0)
    assert difficulty[:5].min() > difficulty[5:].max()
    assert "difficulty" not in {note.code for note in model.fit_.warnings}


def test_difficulties_are_equal_if_the_votes_do_not_show_them():
    """30 items, few votes, and scores that spread alike: the fit is then that of ``difficulty="shared"``."""
    frame = tpp_crowd(seed=3, queries=24, workers=8, domains=2, sparsity=0.05).judgments
    model, shared = (TPP(domains=2, difficulty=how).fit(frame) for how in ("by-query", "shared"))
    queries = model.queries_.polars()
    np.testing.assert_allclose(queries["difficulty"], 1.0, rtol=1e-12)
    assert (queries["low"] < 0.8).all()  # what the votes do not show is not known for certain
    assert (queries["high"] > 1.25).all()
    np.testing.assert_allclose(model.ranking_.score, shared.ranking_.score, rtol=1e-9)
    assert "difficulty" in {note.code for note in model.fit_.warnings}
    assert "difficulty" not in {note.code for note in shared.fit_.warnings}


# ----------------------------------------------------------------------------- what is known in advance


def test_known_domains_are_used_and_named(crowd):
    truth = dict(crowd.queries.select("query", pl.format("about {}", "domain")).iter_rows())
    model = TPP(domains=truth).fit(crowd.judgments)
    details = model.fit_.details["domains"]
    assert (details["names"], details["chosen_by"]) == (["about 1", "about 2"], "known")
    want = [name == truth[query] for query, name in itertools.product(model.queries_.query, details["names"])]
    np.testing.assert_array_equal(model.queries_.domain.ravel(), want)

    some = dict(list(truth.items())[:6])
    assert len(set(some.values())) == 2
    found = TPP(domains=some).fit(crowd.judgments)
    place = {name: column for column, name in enumerate(found.fit_.details["domains"]["names"])}
    right = [place[truth[query]] for query in found.queries_.query]
    assert np.mean(found.queries_.domain.argmax(axis=1) == right) > 0.9


def test_known_domains_by_numbers():
    frame = named([(query, worker, "a", "b") for query in "12" for worker in "xyz"])
    model = TPP(domains={1: "odd", 2: "even"}).fit(frame)
    assert model.fit_.details["domains"]["names"] == ["even", "odd"]
    np.testing.assert_array_equal(model.queries_.domain, [[0, 1], [1, 0]])


def test_gold_turns_a_domain_the_right_way_up():
    """Three of five workers lie, everywhere; four gold pairs of 40 decide."""
    rows = []
    for query, worker in itertools.product(range(8), range(5)):
        for i, j in itertools.combinations("abcd", 2):
            rows.append((f"q{query}", f"w{worker}", *((i, j) if worker < 2 else (j, i))))
    frame = named(rows)
    gold = pl.DataFrame({"query": ["q0", "q1", "q2", "q3"], "winner": ["a"] * 4, "loser": ["d"] * 4})
    for anchors, best in ((None, "d"), (gold, "a")):
        model = TPP(domains=1, anchor_weight=5.0).fit(frame, anchors=anchors)
        assert (model.ranking_.polars().filter(rank=1)["item"] == best).all()
        truthful = model.skills_.polars()["truthful"].to_numpy()
        assert ((truthful > 0.5) == ([True] * 2 + [False] * 3 if best == "a" else [False] * 2 + [True] * 3)).all()
        assert len(model.skills_) == len(model.workers_) == 5


# -------------------------------------------------------------------------------------- small and odd


def test_more_domains_than_queries():
    frame = few(queries=3).judgments
    model = TPP(domains=7).fit(frame)
    assert 1 <= model.queries_.domain.shape[1] <= 3
    assert len(model.skills_) == 8 * model.queries_.domain.shape[1]
    assert "domains" in {note.code for note in model.fit_.warnings}
    np.testing.assert_allclose(model.queries_.domain.sum(axis=1), 1.0)


@pytest.mark.parametrize("queries", [True, False])
def test_one_query(queries):
    frame = few(queries=1).judgments
    model = TPP().fit(frame if queries else frame.drop("query"))
    assert model.queries_.domain.tolist() == [[1.0]]
    np.testing.assert_allclose(model.queries_.difficulty, [1.0])
    assert len(model.skills_) == 8


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e6])
def test_one_worker_who_never_errs(weight):
    rows = [("w", i, j) for i, j in itertools.combinations("abcde", 2)]
    frame = named(rows, query=False).with_columns(weight=pl.lit(weight))
    model = TPP().fit(frame)
    assert model.ranking_.polars()["item"].to_list() == list("abcde")
    for table in (model.ranking_, model.workers_, model.queries_, model.skills_):
        numbers = table.polars().select(pl.selectors.float()).to_numpy()
        assert np.isfinite(numbers).all()


def test_workers_who_are_known_for_sure():
    """Their variance is 0, and not slightly negative."""
    frame = few(2, queries=6, domains=1, workers=12).judgments.with_columns(weight=pl.lit(100.0))
    workers = TPP(domains=1).fit(frame).workers_.polars()
    assert (workers["low"] <= workers["quality"]).all()
    assert (workers["quality"] <= workers["high"]).all()
    assert (workers["high"] - workers["low"]).min() < 1e-6


def test_ties_alone_say_nothing():
    frame = pl.DataFrame({"worker": ["v", "w"], "left": ["a", "b"], "right": ["b", "c"], "winner": ["tie", "tie"]})
    model = TPP().fit(frame)
    np.testing.assert_allclose(model.ranking_.score, 0.0, atol=1e-12)
    assert model.fit_.log_likelihood == pytest.approx(2 * math.log(0.5))
    np.testing.assert_allclose(model.predict_proba(frame)[:, 0], model.predict_proba(frame)[:, 2])


def test_a_worker_of_one_vote_is_one_of_the_crowd(crowd):
    judgments = crowd.judgments.select("query", "worker", "left", "right", "label")
    more = judgments.head(1).with_columns(worker=pl.lit("newcomer"))
    model = TPP(domains=1).fit(pl.concat([judgments, more]))
    own = model.skills_.polars().filter(worker="newcomer").row(0, named=True)
    share = np.exp(model.result_.predictor.crowd.log)
    mean = share @ GRID * model.fit_.details["identification"]["sharpest_tau"]
    tau = model.skills_.polars()["tau"]
    assert abs(own["tau"] - mean) < 0.15 * (tau.max() - tau.min())
    assert abs(own["truthful"] - model.fit_.details["honest"]) < 0.15
    assert own["tau_low"] < 0 < own["tau_high"]


@pytest.mark.parametrize("inference", ["grid", "gibbs"])
def test_workers_and_queries_without_a_vote(inference):
    """A part of the votes with the index of all gives the same as the part alone, except for absent workers."""
    table = cr.read(few(queries=6, workers=5).judgments)
    part = table.take((table.worker != 1) & (table.query != 2) & (table.query != 5))
    model = TPP(domains=2, inference=inference).fit(part)
    assert (len(model.queries_), len(model.workers_), len(model.skills_)) == (4, 5, 10)
    assert model.queries_.difficulty.mean() == pytest.approx(1.0)
    absent = model.workers_.polars().row(1, named=True)
    assert absent["judgments"] == 0
    assert 0 < absent["low"] < absent["quality"] < absent["high"] <= 1
    if inference == "grid":
        alone = TPP(domains=2).fit(part.compact())
        np.testing.assert_allclose(model.ranking_.score, alone.ranking_.score, rtol=1e-6)


def test_a_known_domain_without_a_vote():
    table = cr.read(few(queries=4, workers=5).judgments)
    names = dict(zip(table.index.queries, ["x", "x", "x", "y"], strict=True))
    skills = TPP(domains=names).fit(table.take(table.query != 3)).skills_.polars().filter(domain=2)
    np.testing.assert_allclose(skills.select("judgments", "quality").to_numpy(), [[0.0, 0.5]] * 5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inference", "mean-field"),
        ("sampler", "exact"),
        ("expertise", "by-query"),
        ("difficulty", ""),
        ("domains", 0),
    ],
)
def test_unknown_choices_are_named(name, value):
    with pytest.raises(UsageError, match=f"The parameter '{name}' must be") as caught:
        TPP(**{name: value}).fit(named([("q", "w", "a", "b")]))
    assert repr(value) in str(caught.value)


def test_what_the_sampler_does_not_accept():
    frame = named([("q", "w", "a", "b")])
    with pytest.raises(UsageError, match="sampler"):
        TPP(inference="gibbs", domains={"q": "x"}).fit(frame)
    with pytest.raises(UsageError, match="sampler"):
        TPP(inference="gibbs", domains=1).fit(frame, anchors=frame.drop("worker"))


def test_the_printed_sampler_is_no_form_of_the_grid():
    frame = named([("q", "w", "a", "b")])
    with pytest.raises(UsageError, match="only with inference=gibbs") as caught:
        TPP(sampler="printed").fit(frame)
    assert "inference=gibbs" in caught.value.hint
    with pytest.raises(UsageError, match="singly"):
        TPP(inference="gibbs", sampler="printed").fit(frame.with_columns(weight=pl.lit(1e6)))


@pytest.mark.parametrize("domains", [{}, {"r": "y"}])
def test_domains_of_queries_that_nobody_judged(domains):
    with pytest.raises(UsageError, match="domains"):
        TPP(domains=domains).fit(named([("q", "w", "a", "b")]))


# ---------------------------------------------------------------------------- variants and inferences


def test_variants(crowd):
    frame = crowd.judgments
    alike = TPP(expertise="shared", domains=2).fit(frame).skills_.polars()
    for column in ("tau", "quality", "truthful"):
        assert alike.group_by("domain").agg(pl.col(column).n_unique())[column].to_list() == [1, 1]
    even = TPP(difficulty="shared", domains=2).fit(frame).queries_.polars()
    np.testing.assert_allclose(even.select("difficulty", "low", "high").to_numpy(), 1.0)
    free = TPP(domains=2).fit(frame)
    assert free.skills_.polars()["tau"].n_unique() == 16
    assert free.fit_.details["identification"]["sd_of_log_difficulty"] < 0.3
    assert (free.queries_.polars()["high"] > 1.25).all()


def test_a_shared_expertise_is_that_of_one_worker(crowd):
    shared = TPP(expertise="shared", domains=2).fit(crowd.judgments)
    one = TPP(domains=2).fit(crowd.judgments.with_columns(worker=pl.lit("all")))
    np.testing.assert_allclose(shared.ranking_.score, one.ranking_.score, rtol=1e-9)
    np.testing.assert_allclose(shared.queries_.domain, one.queries_.domain, atol=1e-9)
    np.testing.assert_allclose(shared.skills_.tau[:2], one.skills_.tau, rtol=1e-9)
    assert shared.fit_.log_likelihood == pytest.approx(one.fit_.log_likelihood, rel=1e-9)


@pytest.mark.parametrize("inference", ["grid", "gibbs"])
def test_both_inferences_report_the_same_likelihood(inference, crowd, fitted):
    model = fitted if inference == "grid" else TPP(inference="gibbs", domains=2).fit(crowd.judgments)
    answer = model.result_.predictor.answer
    shards = panels(Votes(cr.read(crowd.judgments)))
    found = log_likelihood(shards, answer.score, answer.difficulty, answer.tau, answer.theta)
    assert model.fit_.log_likelihood == pytest.approx(found, rel=1e-12)
    assert found > math.log(0.5) * len(crowd.judgments) / 2
    assert distance_to_truth(model.ranking_, crowd)[0] < 0.1 * 15


def test_a_change_of_scale_leaves_the_likelihood():
    """Eq. 15, and a shift of a query."""
    rng = np.random.default_rng(0)
    score, hard, theta = PLAIN.score, np.exp(PLAIN.hard), np.array([0.4, 0.6])
    tau = rng.normal(size=(3, 2))
    there = log_likelihood([PANEL], score, hard, tau, theta)
    shift = rng.normal(size=PANEL.queries)[PANEL.query]
    back = log_likelihood([PANEL], 2 * score + shift, 4 * hard, tau / 2, theta)
    assert back == pytest.approx(there, rel=1e-12)
    assert abs(log_likelihood([PANEL], 2 * score, hard, tau / 2, theta) - there) > 1e-3


# --------------------------------------------------------------------------------------- predictions


def test_predictions_are_sums_over_domains_and_types(fitted, crowd):
    asked = crowd.judgments.sample(20, seed=0)
    found = fitted.predict_proba(asked)
    predictor = fitted.result_.predictor
    queries, workers = fitted.queries_.query.to_list(), fitted.workers_.worker.to_list()
    unit = fitted.fit_.details["identification"]["sharpest_tau"]
    rows = fitted.ranking_.polars().select("query", "item", "score").iter_rows()
    score = {(query, item): own for query, item, own in rows}
    for row, (left, tie, right) in zip(asked.iter_rows(named=True), found, strict=True):
        query, worker = queries.index(row["query"]), workers.index(row["worker"])
        ahead = score[row["query"], row["left"]] - score[row["query"], row["right"]]
        want = 0.0
        for m, place in itertools.product(range(2), range(len(GRID))):
            tau = unit * GRID[place]
            slope = tau / math.sqrt(2 * (1 + tau**2 * fitted.queries_.difficulty[query]))
            want += fitted.queries_.domain[query, m] * predictor.types[m, worker, place] * ndtr(slope * ahead)
        assert left == pytest.approx((1 - tie) * want, rel=1e-9)
        assert left + tie + right == pytest.approx(1.0)


def test_predictions_of_the_unseen_lie_between(fitted, crowd):
    ranking = fitted.ranking_.polars().filter(query=fitted.queries_.query[0])
    best, worst, query = ranking["item"][0], ranking["item"][-1], ranking["query"][0]
    workers = crowd.judgments["worker"].unique().to_list()

    def left(worker, one, other, of=query):
        rows = pl.DataFrame({"query": [of], "worker": [worker], "left": [one], "right": [other], "winner": "left"})
        first, tie, second = fitted.predict_proba(rows)[0]
        assert first + tie + second == pytest.approx(1.0)
        assert min(first, tie, second) >= 0
        return first / (first + second)

    known = [left(worker, best, worst) for worker in workers]
    assert min(known) < left("stranger", best, worst) < max(known)
    top = workers[int(np.argmax(known))]
    assert left(top, worst, best) < left(top, worst, "new") < 0.5 < left(top, best, "new") < left(top, best, worst)
    assert left(top, "new", "newer") == pytest.approx(0.5)
    assert left(top, best, worst, of="elsewhere") == pytest.approx(0.5)


def test_the_guess_counts_half_for_truth(fitted):
    types = fitted.result_.predictor.types
    want = types[..., HALF + 1 :].sum(axis=2) + types[..., HALF] / 2
    np.testing.assert_allclose(fitted.skills_.truthful.reshape(-1, 2).T, want)


def test_a_tie_between_numbers_of_domains_is_no_matter_of_rounding():
    """Three votes of two workers say nothing about domains, under any names of the queries."""
    rows = [("w0", "q1", "a", 3), ("w2", "q1", "a", 1), ("w0", "q1", "b", 5), ("w2", "q2", "b", 2)]
    rows += [("w2", "q2", "a", 4), ("w1", "q2", "a", 1), ("w1", "q2", "b", 2), ("w2", "q0", "b", 4)]
    frame = pl.DataFrame(rows, schema=["worker", "query", "item", "label"], orient="row")
    renamed = frame.with_columns(pl.col("query").replace({"q0": "q02", "q1": "q00", "q2": "q01"}))
    for given in (frame, renamed):
        assert cr.TPP().fit(given).fit_.details["domains"]["number"] == 1
