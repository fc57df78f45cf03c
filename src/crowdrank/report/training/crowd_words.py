"""The sentences about a crowd that a ranker learned from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crowdrank.errors import count_noun
from crowdrank.report.content import CrowdSummary
from crowdrank.report.training.content import Curve, OrderSummary
from crowdrank.report.words import count_judgments, list_words, number, signed

LIKELIHOOD = "list likelihood"
"""The measure of held-out judgments, if there is no gold."""
FEW = 10
"""Up to this many workers, the table says it all, and there is no histogram."""
CHANGE = "Change of the expertise"
_QUALITY = "Quality is the probability of agreeing with the true order on an average pair"
_SCALE = "1 means always agreeing, 0.5 means guessing, and below 0.5 means saying the opposite"
_OWN = "theta is the expertise: larger is more expert, 0 guesses, and a negative one misleads."
_SHARED = (
    "All workers have one expertise, theta, so quality is how often a worker's own judgments agree with the "
    "estimated orders"
)
_WEIGHTED = (
    "The workers share their errors, so they have one expertise. theta is this times the weight of the worker, "
    "which follows from the agreement with workers who make other errors. Quality is how often a worker's own "
    "judgments agree with the estimated orders"
)


def learned_from_crowd(fit: Mapping[str, Any]) -> bool:
    """Whether a ranker learned from judgments, and not from labels."""
    return "lists" in fit["judgments"]


def from_judgments(fit: Mapping[str, Any]) -> str:
    """How many judgments of how many workers a ranker learned from."""
    given = fit["judgments"]
    workers = f" of {count_noun(given['workers'], 'worker')}" if given["workers"] else ""
    return f"{count_judgments(given)}{workers}"


def given_judgments(fit: Mapping[str, Any]) -> str:
    """The rows of judgments that were given, by kind, and what was learned from."""
    kinds = fit["judgments"]["judgments"]
    rows = list_words([f"{count_noun(rows, 'row')} of {kind}" for kind, rows in kinds.items()])
    return f"{rows}; {count_judgments(fit['judgments'])} learned from"


def explain_workers(fit: Mapping[str, Any]) -> str:
    """How to read the table of workers."""
    dispersion = fit["details"].get("dispersion")
    if dispersion in ("weighted", "shared"):
        return f"{_WEIGHTED if dispersion == 'weighted' else _SHARED}: {_SCALE}."
    return f"{_QUALITY}: {_SCALE}. {_OWN if dispersion else ''}".rstrip()


def workers_left(found: CrowdSummary) -> str:
    """How many workers are not shown."""
    shown, all_ = len(found.rows), found.workers
    return f"These are the worst {shown:,} of {all_:,} workers; the workers file has all of them."


def order_sentences(found: OrderSummary) -> Iterator[str]:
    """How certain the estimated orders are."""
    yield (
        "The certainty of an order is the probability that a document is truly above the one that follows it, a "
        "mean over the documents: 0.5 means that neighbors cannot be told apart."
    )
    if found.median is not None:
        queries = "the one training query" if found.lists == 1 else f"the {found.lists:,} training queries"
        yield f"The median over {queries} is {number(found.median, 2)}."
    if found.lists > len(found.rows):
        yield f"These are the {len(found.rows)} least certain ones; the orders file has every document."


def explain_change() -> str:
    """What the change of a step is."""
    return (
        "Orders are drawn at random, so each step is noisy. The change is that of the mean expertise of ten steps "
        "since the ten steps before, for the worker who moved most."
    )


def settled(fit: Mapping[str, Any], steps: Curve | None) -> str:
    """Whether training came to an end."""
    count = count_noun(fit["iterations"], "step")
    last = "" if steps is None or steps.values[-1] is None else f"; the last change is {signed(steps.values[-1])}"
    if fit["converged"]:
        return f"Training settled after {count}{last}."
    return f"Training stopped after {count} before it settled{last}. More steps may still change the ranker."


def reached_likelihood(value: float | None, queries: str) -> str:
    """The likelihood of held-out judgments in a sentence."""
    return f"On {queries} kept for validation, the log likelihood of a query's judgments is {signed(value, 2)}."


def likelihood_verdict(said: set[str]) -> tuple[str, str]:
    """The first heading if the crowd's own held-out judgments were the measure, and its tone."""
    if "worse" in said:
        return "The ranker predicts held-out judgments worse than equal scores do", "doubt"
    if "no better" in said:
        return "The ranker is not shown to predict held-out judgments", "doubt"
    if "unknown" in said:
        return "One query is too few to judge the ranker", "doubt"
    return "The ranker predicts held-out judgments", "plain"


LIKELIHOOD_MEANING = (
    "This measures agreement with the crowd. Whether the crowd is right, only labels can tell (gold, which only "
    "measures)."
)
UNMEASURED = (
    "Nothing was measured: there are no labels, and no judgments were kept for validation. Keep some queries "
    "(validation=0.2), or give labels, which only measure (gold)."
)


def reached_on_training(measure: str, value: str, queries: int) -> str:
    """A measure on training queries, whose gold the ranker did not see."""
    which = "query" if queries == 1 else "queries"
    count = "" if queries == 1 else f"{queries:,} "
    return (
        f"On the {count}training {which} its {measure} is {value}. The ranker saw the crowd's judgments there, "
        "but not the gold; on new queries it may do worse."
    )
