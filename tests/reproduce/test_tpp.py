from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.measures import roc_auc
from crowdrank.reproduce import reproduce
from crowdrank.reproduce.ledger import Ledger
from crowdrank.reproduce.summaries import FIRST_DRAW
from crowdrank.reproduce.targets import TARGETS
from crowdrank.reproduce.tpp import (
    COLLAPSED,
    INFERENCES,
    METHODS,
    ORACLE,
    TABLE2,
    TABLE3,
    TPP,
    Comparison,
    Setting,
    distance_to_truth,
)
from crowdrank.reproduce.tpp_figures import (
    FALSE_ALARMS,
    FIGURE3,
    FORMS,
    ROUNDS,
    accuracy,
    figure3,
    figure5,
    malicious_cases,
    matching,
    roc_curve,
    trace_rounds,
)
from crowdrank.results import Queries, Skills, verdicts

CROWD_BT = METHODS[4]
TINY = Setting(documents=5, sparsity=1.0, workers=6, domains=2, queries=12)


def test_settings_are_those_of_the_paper():
    assert [setting.name for setting in TABLE2][::4] == ["DOC5 SR1 DEMO1", "DOC30 SR0.1 DEMO1"]
    assert [setting.name.split()[:3:2] for setting in TABLE3] == [
        [f"ANNO{own}", f"SR{sr}"] for own in (100, 200) for sr in (0.01, 0.02)
    ]
    votes = {setting: len(setting.draw(0).judgments) for setting in TABLE2}
    assert list(votes.values()) == [1000 * each for each in (10, 5, 5, 5, 43, 21, 21, 21)]


def test_distances_by_counting_pairs():
    """And one query upside down."""
    crowd = TINY.draw(1)
    ranking = cr.BradleyTerry().fit(crowd.judgments).ranking_
    turned = np.where(ranking.query == "query-03", -1.0, 1.0)
    ranking = replace(ranking, score=turned * ranking.score)
    both = crowd.gold.join(ranking.polars(), on=["query", "item"])
    counts = [
        sum(
            (one["score"] > other["score"]) != (one["grade"] > other["grade"])
            for place, one in enumerate(own)
            for other in own[:place]
        )
        for own in (part.to_dicts() for part in both.partition_by("query"))
    ]
    distance, upside_down = distance_to_truth(ranking, crowd)
    assert distance == pytest.approx(np.mean(counts))
    assert upside_down == sum(count > 5 for count in counts)
    assert upside_down >= 1


def test_more_votes_bring_a_smaller_distance():
    sparse = replace(TINY, sparsity=0.2, queries=40)
    found = Comparison([TINY, sparse], [CROWD_BT], 3)
    assert found.row(TINY, CROWD_BT)[0] < found.row(sparse, CROWD_BT)[0]
    assert 0 < found.row(sparse, CROWD_BT)[1] < 1
    assert Comparison([TINY], [CROWD_BT], 1).row(TINY, CROWD_BT)[1:4] == ("-", "-", "-")


def test_differences_are_paired(tmp_path):
    """Less the first method, draw by draw; a second run computes nothing."""
    asked = []
    for _ in range(2):
        ledger = Ledger("tpp-table2", tmp_path, progress=asked.append)
        found = Comparison([TINY], [TPP, CROWD_BT], 3, ledger)
    assert len(asked) == 6
    mine, other = (np.array(found.distances(TINY, method)) for method in (TPP, CROWD_BT))
    crowd = TINY.draw(FIRST_DRAW + 1)
    assert mine[1] == distance_to_truth(TPP.make(TINY, crowd, 1).fit(crowd.judgments).ranking_, crowd)[0]
    ours, error, less, its_error, _ = found.row(TINY, CROWD_BT)
    assert (ours, less) == (pytest.approx(other.mean()), pytest.approx((other - mine).mean()))
    assert error == pytest.approx(other.std(ddof=1) / 3**0.5)
    assert its_error == pytest.approx((other - mine).std(ddof=1) / 3**0.5)


def test_methods_are_those_of_the_table():
    crowd = TINY.draw(1)
    for method in (*METHODS, *COLLAPSED, *INFERENCES):
        model = method.make(TINY, crowd, 7)
        assert model.name == method.model
        given = getattr(model, "domains", None)
        known = dict(crowd.queries.select("query", "domain").iter_rows())
        assert given == (known if method is ORACLE else TINY.domains if method.told == "number" else given)
        assert model.seed == (7 if "inference" in method.parameters else 0)
    assert METHODS[1].make(TINY, crowd, 0).domains == 1
    assert [method.make(TINY, crowd, 0).inference for method in INFERENCES] == ["grid", "gibbs", "gibbs"]
    assert [method.make(TINY, crowd, 0).sampler for method in INFERENCES[1:]] == ["collapsed", "printed"]
    assert [TABLE2[Setting(30, 0.1, 1)][method.column][0] for method in METHODS[:5]] == [
        22.442,
        25.636,
        29.204,
        26.866,
        24.42,
    ]


def test_domains_are_matched_as_well_as_can_be():
    rng = np.random.default_rng(0)
    true, found = rng.integers(0, 4, 30), rng.integers(0, 4, 30)
    best = max(np.mean(np.array(order)[true] == found) for order in permutations(range(4)))
    assert accuracy(found, true) == pytest.approx(best)
    order = rng.permutation(4)
    assert accuracy(order[true], true) == 1
    assert list(matching(np.eye(4)[order[true]], true)) == list(order)
    assert accuracy(np.zeros(30, int), true) == np.bincount(true).max() / 30


def _told(crowd, order):
    """The truth of the crowd as a model would give it, its domains in another order."""
    truth, kept = crowd.skills.sort("worker", "domain"), crowd.queries
    nothing = np.zeros(len(kept))
    queries = Queries(
        kept["query"], nothing, nothing, nothing, nothing, np.eye(len(order))[order[kept["domain"] - 1]]
    )
    many = np.zeros(len(truth))
    tau = truth["tau"].to_numpy()
    domain, unsure = 1 + order[truth["domain"] - 1], verdicts(many, many)
    honest = (tau > 0).astype(float)
    skills = Skills(truth["worker"], domain, many, many, many, many, unsure, tau, tau, tau, honest)
    return queries, skills


def test_malicious_workers_are_found_under_other_names_of_the_domains():
    crowd = replace(TINY, workers=30, domains=3, demographic=3, queries=40).draw(2)
    queries, skills = _told(crowd, np.array([2, 0, 1]))
    assert roc_auc(*malicious_cases(queries, skills, crowd)) == 1
    assert roc_auc(*malicious_cases(queries, replace(skills, truthful=1 - skills.truthful), crowd)) == 0
    assert roc_auc(*malicious_cases(queries, replace(skills, truthful=np.full(len(skills), 0.3)), crowd)) == 0.5
    named = replace(skills, domain=crowd.skills.sort("worker", "domain")["domain"].to_numpy())
    assert 0.1 < roc_auc(*malicious_cases(queries, named, crowd)) < 0.9  # the domains of somebody else


def test_the_roc_curve_by_hand():
    """Two of four positive cases come first, then a tie of one positive and one negative case."""
    score = np.array([0.9, 0.8, 0.5, 0.5, 0.3, 0.2, 0.1, 0.1])
    positive = np.array([True, True, True, False, False, True, False, False])
    at = (0.0, 0.125, 0.25, 0.49, 0.5, 0.75, 1.0)
    np.testing.assert_allclose(roc_curve(score, positive, at), [0.5, 0.625, 0.75, 0.75, 1.0, 1.0, 1.0])
    fine = np.linspace(0, 1, 20_001)
    area = np.trapezoid(roc_curve(score, positive, fine), fine)
    assert area == pytest.approx(roc_auc(score, positive), abs=1e-4)


def test_domains_come_apart_round_by_round():
    """From a random start, without the classes: not at once."""
    form = replace(FORMS["collapsed, random start"], rounds=12)
    shares = np.mean([trace_rounds(FIGURE3.draw(seed), 2, seed, form)["right"] for seed in (1, 2)], axis=0)
    assert shares[0] < 0.65
    assert shares[0] < shares[1] < 0.9
    assert shares[-1] > 0.9


def test_tpp_is_better_than_its_variant_without_workers():
    setting = replace(TINY, workers=8, queries=30, demographic=2)
    found = Comparison([setting], [TPP, METHODS[2]], 2)
    assert found.row(setting, METHODS[2])[2] > 0


def test_figures_in_small(monkeypatch):
    short = {
        "collapsed": replace(FORMS["collapsed"], rounds=30),
        "printed": replace(FORMS["printed"], sweeps=4, burn=2),
    }
    monkeypatch.setattr("crowdrank.reproduce.tpp_figures.FORMS", short)
    found = figure3(2, None, setting=replace(FIGURE3, queries=12))
    assert [row[:2] for row in found.rows[-3:]] == [(run, "end") for run in (*short, "grid")]
    assert all(0.5 <= ours <= 1 for _, _, ours, *_ in found.rows)
    shares, logs = found.panels
    assert [line.name for line in shares.lines] == [*short, "paper, in the end"]
    for place, run in enumerate(short):
        points = {int(row[1]): row[2:6] for row in found.rows if row[0] == run and row[1] != "end"}
        assert list(points) == list(ROUNDS)
        for turn, (right, error, value, its_error) in points.items():
            assert (shares.lines[place].y[turn - 1], shares.lines[place].error[turn - 1]) == (right, error)
            assert (logs.lines[place].y[turn - 1], logs.lines[place].error[turn - 1]) == (value, its_error)

    found = figure5(2, None, printed={replace(TINY, workers=15, queries=20): 0.837})
    ((_, auc, _, printed, *shown),) = found.rows
    assert 0.6 < auc <= 1
    assert printed == 0.837
    (roc,) = found.panels
    assert shown == [roc.lines[0].y[FALSE_ALARMS.index(at)] for at in (0.0, 0.01, 0.1)]
    assert roc.lines[1].y == roc.x


def test_a_figure_is_drawn_into_the_work_folder(tmp_path, monkeypatch):
    """And a table without curves draws nothing."""
    made = partial(figure5, printed={TINY: 0.837})
    monkeypatch.setitem(TARGETS, "tpp-figure5", replace(TARGETS["tpp-figure5"], make=made))
    found = reproduce("tpp-figure5", seeds=1, work=tmp_path)
    drawn = (tmp_path / "tpp-figure5.svg").read_text()
    assert drawn.startswith("<svg")
    assert all(line.name in drawn for line in found.panels[0].lines)
    assert str(tmp_path / "tpp-figure5.svg") in found.remarks[-1]
    assert "panels" in found.to_json()
    reproduce("tpp-figure5", seeds=1)
    assert {file.name for file in tmp_path.iterdir()} == {"tpp-figure5.svg", "tpp-figure5.jsonl"}


def test_targets_are_listed(crowdrank):
    listed = crowdrank("reproduce").out
    for name in ("table2", "table2-gibbs", "table2-printed", "table2-text", "table3", "figure3", "figure5"):
        assert f"tpp-{name} " in listed
    with pytest.raises(cr.UsageError, match="tpp-table3"):
        reproduce("tpp-table9")
