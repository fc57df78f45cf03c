"""Questions that are handed out: rules, leases, cold starts, gold places, batches, the best judge."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from crowdrank.errors import UsageError
from crowdrank.kernels.pair_keys import pair_key
from crowdrank.results import Beliefs
from crowdrank.select.desk import Desk
from crowdrank.select.gains import KINDS, pair_gain
from crowdrank.select.gamma import auto_gamma, current_gamma
from crowdrank.select.history import History
from crowdrank.select.policy import SELECTORS, Policy
from crowdrank.select.rules import Rules


def beliefs(items=8, judges=4, seed=0):
    rng = np.random.default_rng(seed)
    return Beliefs(
        rng.normal(0, 1, items), rng.uniform(0.2, 1.0, items), np.ones(judges), rng.uniform(4, 12, judges),
        rng.uniform(1, 3, judges),
    )  # fmt: skip


def desk(policy=None, items=8, judges=4, seed=0, rules=None, history=None, **more):
    return Desk(
        beliefs(items, judges, seed), policy or Policy(cold=0), history or History(items, judges),
        rules or Rules.none(items, judges), seed=seed, **more,
    )  # fmt: skip


def pair(question):
    return frozenset(question[:2])


def test_the_question_has_the_largest_gain():
    for select in KINDS:
        own = beliefs()
        question = desk(Policy(select=select, gamma=1.0, cold=0)).ask(2)
        i, j = np.triu_indices(8, 1)
        judge = (1.0, own.alpha[2], own.beta[2])
        gains = pair_gain(
            KINDS[select], own.mean[i] - own.mean[j], own.variance[i], own.variance[j], 1.0, *judge, 1.0
        )
        assert question.gain == pytest.approx(gains.max())
        assert pair(question) == {i[gains.argmax()], j[gains.argmax()]}


def test_the_best_judge_and_pair_together():
    rng = np.random.default_rng(5)
    for number in range(30):
        own = beliefs(items=12, judges=9, seed=number)
        policy = Policy(gamma=float(rng.choice([0, 1, 5])), cold=0, rest=0)
        question = Desk(own, policy, History(12, 9), Rules.none(12, 9)).ask_best(range(9))
        i, j = np.triu_indices(12, 1)
        best = max(
            pair_gain(
                0, own.mean[i] - own.mean[j], own.variance[i], own.variance[j], 1.0, 1.0, own.alpha[judge],
                own.beta[judge], policy.gamma,
            ).max()
            for judge in range(9)
        )  # fmt: skip
        assert question.gain == pytest.approx(best, abs=1e-12)


def test_sides_are_random():
    lefts = [desk(seed=seed).ask(0).left for seed in range(40)]
    again = [desk(seed=seed).ask(0).left for seed in range(40)]
    assert lefts == again
    found = desk()
    first = sum(question.left < question.right for question in (found.ask(0) for _ in range(20)))
    assert 2 < first < 18


@pytest.mark.parametrize("select", SELECTORS)
def test_nobody_gets_a_pair_that_is_out_while_others_are_free(select):
    found = desk(Policy(select=select, cold=2), judges=28)
    asked = [pair(found.ask(judge)) for judge in range(28)]
    assert len(set(asked)) == 28  # of 28 pairs


def test_five_items_and_two_hundred_judges_nobody_is_refused():
    found = desk(items=5, judges=200)
    questions = [found.ask(judge) for judge in range(200)]
    assert None not in questions
    shared = Counter(map(pair, questions))
    assert len(shared) == 10
    assert max(shared.values()) - min(shared.values()) <= 1  # the least shared pair is shared next


def test_a_judge_sees_no_item_again_at_once_and_no_pair_twice():
    found = desk(items=8, judges=1)
    seen, last = set(), set()
    for _ in range(12):
        question = found.ask(0)
        assert pair(question) not in seen
        assert not last & pair(question)
        seen.add(pair(question))
        last = pair(question)
        found.end(question)


def test_what_is_given_up_before_a_judge_is_refused():
    found = desk(items=3, judges=1)
    asked = []
    for _ in range(6):
        question = found.ask(0)
        found.end(question)
        asked.append(pair(question))
    assert len(set(asked[:3])) == 3  # three items: an item always comes again at once
    assert None not in asked
    assert desk(items=3, judges=1).ask(0, softens=False) is not None


def test_a_pair_that_was_given_back_counts_as_never_asked():
    found = desk()
    question = found.ask(0)
    variance = found.boxes.variance.copy()
    found.end(question, answered=False)
    assert found.history.total == 0
    assert found.history.seen(0).asked == 0
    assert (found.boxes.variance[list(pair(question))] > variance[list(pair(question))]).all()
    assert found.boxes.variance == pytest.approx(found.variance)


def test_open_questions_count_in_part():
    own = beliefs()
    found = desk(Policy(cold=0, pending=0.6, gamma=0.0))
    question = found.ask(0)
    i, j = question[:2]
    t = np.tanh(
        0.5 * abs(own.mean[i] - own.mean[j]) / np.sqrt(1 + np.pi / 8 * (own.variance[i] + own.variance[j]))
    )
    c2 = 1 / (1 + np.pi / 8 * (own.variance[i] + own.variance[j]))
    q = (own.alpha[0] - own.beta[0]) / (own.alpha[0] + own.beta[0])
    information = q**2 * c2 * (1 - t**2) ** 2 / (4 * (1 - q**2 * t**2))
    assert found.boxes.variance[i] == pytest.approx(own.variance[i] * (1 - 0.6 * own.variance[i] * information))


def test_caps():
    found = desk(Policy(cold=0, pair_cap=1, repeats=True), items=4, judges=30)
    asked = [found.ask(judge) for judge in range(7)]
    assert asked[6] is None
    assert len({*map(pair, asked[:6])}) == 6
    found = desk(Policy(cold=0, item_cap=2, rest=0), items=5, judges=2)
    counts = Counter(item for _ in range(8) if (question := found.ask(0)) for item in pair(question))
    assert max(counts.values()) == 2
    assert found.ask(0) is None
    assert found.ask(1) is not None
    found = desk(Policy(cold=0, judge_share=0.25), judges=4, budget=12)
    assert [found.ask(0) is not None for _ in range(4)] == [True, True, True, False]


def test_groups_attributes_exclusions_and_hidden_items():
    group = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    team = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    rules = Rules(
        group, team[:, None], team[:, None], np.array([[0], [1], [-1], [-1]]),
        np.array([int(pair_key(3, 4))]), {3: frozenset({0, 1, 2})},
    )  # fmt: skip
    for select in SELECTORS:
        found = desk(Policy(select=select, cold=0, own=("team",), repeats=True, rest=0), rules=rules)
        assert found.ask(0) is None  # sees only team 1, and items of a pair must differ
        for _ in range(12):
            question = found.ask(2)
            i, j = question[:2]
            assert group[i] == group[j]
            assert team[i] != team[j]
            assert pair(question) != {3, 4}
            assert not pair(found.ask(3)) & {0, 1, 2}


def test_a_floor_leaves_out_pairs_that_nobody_can_tell_apart():
    own = Beliefs(np.array([0.0, 0.05, 2.0, 4.0]), np.full(4, 1e-3), np.ones(1), np.full(1, 9.0), np.ones(1))
    for select in ("uncertainty", "gain", "even", "random"):
        policy = Policy(select=select, cold=0, floor=0.6, repeats=True, rest=0)
        found = Desk(own, policy, History(4, 1), Rules.none(4, 1))
        assert {0, 1} not in [pair(found.ask(0)) for _ in range(12)]
        free = Desk(own, replace(policy, floor=0.5), History(4, 1), Rules.none(4, 1))
        assert {0, 1} in [pair(free.ask(0)) for _ in range(12)]


def test_a_cold_start_gives_every_item_two_questions_first():
    found = desk(Policy(cold=2), items=10, judges=1)
    for _ in range(10):
        question = found.ask()
        assert question.why == "cold"
        found.end(question)
    assert (found.history.asked == 2).all()
    assert found.ask().why == "gain"


def test_a_new_item_is_asked_about_but_not_by_everybody():
    history = History(20, 100)
    history.asked[:19] = history.voted[:19] = 30
    own = beliefs(20, 100)
    own.variance[:19], own.variance[19] = 0.05, 5.0
    found = Desk(own, Policy(cold=2), history, Rules.none(20, 100))
    questions = [found.ask(judge) for judge in range(100)]
    assert 19 in pair(questions[0])
    about = sum(19 in pair(question) for question in questions)
    assert 2 <= about <= 5  # at most 5 % of the open questions


def test_gold_pairs_have_places_of_their_own():
    gold = np.array([[0, 1], [2, 3], [4, 5]])
    found = desk(items=8, judges=3, gold=gold, seed=4)
    for judge in range(3):
        why = []
        for _ in range(6):
            question = found.ask(judge)
            found.end(question)
            why.append(question.why)
        assert why.count("gold") == 2
    later = desk(Policy(cold=0, gold_share=1.0, gold_first=0), items=90, judges=1, gold=gold)
    why = [later.ask(0).why for _ in range(12)]
    assert why[6:9] == ["gold"] * 3  # each gold pair once
    assert "gold" not in why[:6] + why[9:]


def test_a_random_share():
    found = desk(Policy(cold=0, epsilon=1.0))
    assert {found.ask(0).why for _ in range(10)} == {"random"}


def test_even_exposure():
    found = desk(Policy(select="even"), items=9, judges=1)
    for _ in range(27):
        found.end(found.ask())
        assert found.history.asked.max() - found.history.asked.min() <= 1


def test_only_the_first_places_matter():
    mean = np.array([3.0, 2.8, 2.7, 0.0, -0.1, -3.0, -3.1, -3.2])
    own = Beliefs(mean, np.full(8, 0.05), np.ones(1), np.full(1, 9.0), np.ones(1))
    policy = Policy(cold=0, top=3, gamma=0.0, repeats=True, rest=0)
    found = Desk(own, policy, History(8, 1), Rules.none(8, 1))
    for _ in range(6):
        question = found.ask(0)
        assert pair(question) <= {0, 1, 2}
        found.end(question)


def test_a_batch_has_no_pair_twice_and_no_judge_too_often():
    found = desk(items=12, judges=5)
    questions = found.batch(20, range(5), each=5)
    assert len({*map(pair, questions)}) == 20
    assert max(Counter(question.judge for question in questions).values()) <= 5
    anyone = desk(items=4).batch(9)
    assert len({*map(pair, anyone[:6])}) == 6
    assert [question.judge for question in anyone] == [None] * 9


def test_a_batch_for_few_items_asks_several_judges_about_a_pair():
    for select in SELECTORS:
        found = desk(Policy(select=select), items=5, judges=6)
        questions = found.batch(30, range(6), each=7)
        assert len(questions) == 30
        assert len({(pair(question), question.judge) for question in questions}) == 30
        assert len({*map(pair, questions)}) == 10


def test_a_batch_for_judges_has_gold_pairs():
    gold = np.array([[0, 1], [2, 3], [4, 5]])
    found = desk(Policy(cold=0), items=20, judges=3, gold=gold)
    questions = found.batch(18, range(3), each=6)
    asked = Counter(question.judge for question in questions if question.why == "gold")
    assert asked == {0: 2, 1: 2, 2: 2}
    rules = Rules.none(20, 3)
    rules = replace(rules, excluded=np.sort(np.array([int(pair_key(i, j)) for i, j in gold])))
    assert "gold" not in {question.why for question in desk(items=20, gold=gold, rules=rules).batch(18, range(3))}


def test_a_question_ends_once_and_a_judge_is_known():
    found = desk()
    question = found.ask(0)
    found.end(question)
    for wrong in (question, question._replace(number=99)):
        with pytest.raises(UsageError, match="not open"):
            found.end(wrong)
    for judge in (-1, 4):
        with pytest.raises(UsageError, match="no judge"):
            found.ask(judge)


def test_a_pair_that_was_given_back_is_below_its_cap():
    found = desk(Policy(cold=0, pair_cap=1, repeats=True, rest=0), items=2, judges=2)
    question = found.ask(0)
    assert found.ask(1) is None
    found.end(question, answered=False)
    question = found.ask(1)
    found.end(question)
    assert found.ask(0) is None


def test_the_first_places_follow_what_is_learned():
    own = Beliefs(np.zeros(30), np.ones(30), np.ones(1), np.full(1, 9.0), np.ones(1))
    policy = Policy(cold=0, top=3, gamma=0.0, repeats=True, rest=0)
    found = Desk(own, policy, History(30, 1), Rules.none(30, 1))
    for _ in range(3):  # enough moves to sort the tree anew
        found.learn(range(30), np.linspace(-6, 6, 30), np.full(30, 0.05))
    assert pair(found.ask(0)) <= set(range(25, 30))
    fresh = Desk(
        Beliefs(found.mean, found.variance, own.slope, own.alpha, own.beta), policy, History(30, 1),
        Rules.none(30, 1),
    )  # fmt: skip
    assert found.boxes.weight[:25] == pytest.approx(fresh.boxes.weight[:25], abs=1e-6)


def test_the_compiled_search_and_the_plain_one_ask_the_same():
    for seed in range(5):
        plain, fast = (desk(items=30, judges=3, seed=seed, compiled=compiled) for compiled in (False, True))
        one, two = ([pair(own.ask(0)) for _ in range(20)] for own in (plain, fast))
        assert one == two


def test_learning_moves_the_next_question():
    found = desk(Policy(cold=0, gamma=0.0, rest=0))
    question = found.ask(0)
    found.end(question)
    found.learn(question[:2], [9.0, -9.0], [0.01, 0.01])
    assert not pair(found.ask(1)) & pair(question)
    fresh = beliefs(seed=7)
    found.replace(fresh)
    assert found.boxes.mean == pytest.approx(fresh.mean)


def test_gamma_over_the_budget():
    alpha, beta = np.full(3, 10.0), np.ones(3)
    halved = [
        current_gamma(Policy(gamma="halved"), used, alpha, beta) for used in (0.0, 0.24, 0.25, 0.5, 0.99, 1.0)
    ]
    assert halved == [10, 10, 5, 2.5, 1.25, 0.625]
    assert current_gamma(Policy(gamma=3), 0.5, alpha, beta) == 3


def test_gamma_by_itself_follows_what_is_not_known_about_the_judges():
    unknown, known = auto_gamma(np.array([2.0]), np.array([1.0])), auto_gamma(np.array([200.0]), np.array([10.0]))
    poor = auto_gamma(np.array([12.0]), np.array([10.0]))
    assert known < 0.5 < unknown
    assert poor == 5.0
    assert auto_gamma(np.zeros(0), np.zeros(0)) == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        {"gamma": -1}, {"gamma": "big"}, {"tau": 0}, {"epsilon": 2}, {"top": 0}, {"cold": 1.5}, {"pair_cap": 0},
        {"item_cap": True}, {"judge_share": 0}, {"rest": -1}, {"floor": 0.2}, {"repeats": 1}, {"pending": 2},
        {"gold_share": "x"}, {"differ": 3}, {"nonsense": 1},
    ],
)  # fmt: skip
def test_bad_settings(settings):
    with pytest.raises(UsageError, match=next(iter(settings))):
        Policy.of("gain", settings)


def test_an_unknown_selector_is_an_error_that_lists_them():
    with pytest.raises(UsageError, match="clever"):
        Policy.of("clever", {})
