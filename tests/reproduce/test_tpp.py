from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.reproduce import reproduce
from crowdrank.reproduce.tpp import (
    FIGURE3,
    TABLE2,
    TABLE3,
    Setting,
    accuracy,
    compare_methods,
    distance_to_truth,
    figure3,
    figure5,
    malicious_auc,
    matching,
    rounds,
)
from crowdrank.results import Queries, Skills, verdicts

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
    found = compare_methods([TINY, sparse], ["CrowdBT"], seeds=3)
    assert found[TINY, "CrowdBT"][0] < found[sparse, "CrowdBT"][0]
    assert 0 < found[sparse, "CrowdBT"][1] < 1
    one = compare_methods([TINY], ["CrowdBT"], seeds=1)[TINY, "CrowdBT"]
    assert one[1] == "-"


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
    assert malicious_auc(queries, skills, crowd) == 1
    assert malicious_auc(queries, replace(skills, truthful=1 - skills.truthful), crowd) == 0
    assert malicious_auc(queries, replace(skills, truthful=np.full(len(skills), 0.3)), crowd) == 0.5
    named = replace(skills, domain=crowd.skills.sort("worker", "domain")["domain"].to_numpy())
    assert 0.1 < malicious_auc(queries, named, crowd) < 0.9  # the domains of somebody else


def test_domains_come_apart_round_by_round():
    shares = np.mean([rounds(FIGURE3.draw(seed), 2, seed) for seed in (1, 2)], axis=0)
    assert shares[0] < 0.75
    assert shares[-1] > 0.9


def test_tpp_is_better_than_its_variant_without_workers():
    setting = replace(TINY, workers=8, queries=30, demographic=2)
    found = compare_methods([setting], ["TPP", "TPPUniExp", "CrowdBT"], seeds=2)
    assert found[setting, "TPP"][0] < found[setting, "TPPUniExp"][0]


def test_figures_in_small():
    small = replace(FIGURE3, queries=20)
    shown = figure3(2, None, setting=small).rows
    assert {row[0] for row in shown} == {"grid", "gibbs"}
    assert all(0.5 <= ours <= 1 for _, _, ours, *_ in shown)
    ((_, auc, _, printed),) = figure5(2, None, printed={replace(TINY, workers=15, queries=20): 0.837}).rows
    assert 0.6 < auc <= 1
    assert printed == 0.837


def test_targets_are_listed(crowdrank):
    listed = crowdrank("reproduce").out
    for name in ("tpp-table2", "tpp-table2-gibbs", "tpp-table2-text", "tpp-table3", "tpp-figure3", "tpp-figure5"):
        assert name in listed
    with pytest.raises(cr.UsageError, match="tpp-table3"):
        reproduce("tpp-table9")
