"""The sentences about a ranker that weighs and values the labels of a crowd (remap)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from crowdrank.errors import count_noun
from crowdrank.report.content import CrowdSummary
from crowdrank.report.training import words
from crowdrank.report.training.content import Cloud, Measured, MeasuredRow, Strip, Weighing
from crowdrank.report.training.remap import chosen_name, describe, is_baseline
from crowdrank.report.words import list_words, number, signed

FALLBACK = "fallback"
"""The code of the note that a consensus was better, so its ranker is kept."""
NAMES = {
    "remap": "the crowd's labels with the weights and values that were learned",
    "majority": "the most frequent label of each document",
    "average": "the mean label of each document",
    "dawid-skene": "the most probable label by Dawid-Skene",
    "soft dawid-skene": "the expected label by Dawid-Skene",
    "glad": "the expected label by GLAD",
    "naive bayes": "the expected label if workers err as they do on honeypots",
    "reweighting by deviations": "the crowd's labels, weighted down the further they are from a prediction",
    "target alone": "only the labels of the experts, without the crowd",
    "placebo": "as remap, but with shuffled label features, so there is nothing to learn from them",
    "oracle": "experts' labels of the crowd's own documents (gold), which training does not have",
    "ridge": "ridge regression",
    "regression": "regression with the scorer",
    "lambdamart": "LambdaMART with the scorer",
}
"""What the parts of a name, labels and learner, mean."""
LOOKED = (
    "Everything in this table used the validation queries, to stop or to choose a penalty, and the ranker is the "
    "best of several. So the differences are optimistic: confirm them on other queries."
)
CHOICES = {
    "ridge": "the simplest: on the validation queries no other learner leads it by more than a standard error",
    "other": "which leads simpler ones by more than a standard error on the validation queries",
}
"""Why a learner is kept."""
STARTS = {"label": "the crowd's labels as they are", "consensus": "values near the labels of Dawid-Skene"}
"""Where weights and values start."""
CONSENSUS = ("majority", "average", "dawid-skene", "soft dawid-skene", "glad", "naive bayes")
BESIDE = {
    "better": "Better than",
    "ahead": "Ahead of",
    "no better": "Not shown to beat",
    "worse": "Worse than",
    "unknown": "Not comparable with",
}
SAID = {
    "better": "better than",
    "ahead": "ahead of",
    "no better": "no better within the noise than",
    "worse": "worse than",
    "unknown": "not comparable with",
}
PROCESSING = ("For another crowd", 'Remap().fit(features, judgments, processing="FOLDER")')
"""How to use the weights and values again."""


def facts(fit: Mapping[str, Any]) -> tuple[str, ...]:
    """The line below the title."""
    given, details = fit["judgments"], fit["details"]
    target = details["target_queries"] > 0
    return (
        f"trained from {from_labels(fit)}",
        count_noun(given["documents"], "document"),
        count_noun(details["training"]["queries"], "query", "queries"),
        *([count_noun(details["target_queries"], "target query", "target queries")] if target else []),
        count_noun(given["features"], "feature"),
        f"seed {fit['seed']}",
    )


def from_labels(fit: Mapping[str, Any]) -> str:
    """How many labels of how many workers a ranker learned from."""
    given = fit["judgments"]
    return f"{count_noun(given['labels'], 'label')} of {count_noun(given['workers'], 'worker')}"


def fell_back(fit: Mapping[str, Any]) -> str | None:
    """The note that the ranker is that of a consensus; None if it is not."""
    return next((note["message"] for note in fit["warnings"] if note["code"] == FALLBACK), None)


def baselines_of(measured: Measured) -> tuple[MeasuredRow, ...]:
    """The rows that are baselines, the best first."""
    return tuple(row for row in measured.baselines if is_baseline(row.name))


def verdict(fit: Mapping[str, Any], measured: Measured | None) -> tuple[str, str]:
    """The first heading and its tone. That a plain consensus was enough comes before everything else."""
    if fell_back(fit) is not None:
        return f"A plain consensus was enough: {describe(chosen_name(fit['details']))}", "doubt"
    if measured is None:
        return words.verdict(None, crowd=True)
    rows = baselines_of(measured)
    text, tone = words.verdict(replace(measured, rows=(measured.rows[0], *rows)))
    consensus, alone = (_first(rows, labels) for labels in (CONSENSUS, ("target alone",)))
    if consensus is None or alone is None:
        return text, tone
    first, second = BESIDE[consensus.verdict], BESIDE[alone.verdict].lower()
    if consensus.verdict == alone.verdict:
        return f"{first} plain consensus and the experts alone", tone
    return f"{first} plain consensus, {second} the experts alone", tone


def headline(fit: Mapping[str, Any], measured: Measured | None) -> tuple[str, ...]:
    """What training found, in sentences."""
    sentences = [trained_sentence(fit), " ".join(_known(fit["details"]))]
    fallback = fell_back(fit)
    if fallback is None:
        sentences.append(choice(fit))
    else:
        sentences.insert(0, fallback)
    if measured is None:
        sentences.append("Nothing was measured: no queries with the labels of experts validate.")
        return tuple(sentences)
    return (*sentences, words.reached(measured, crowd=False), *_leads(measured), words.CHOSEN)


def trained_sentence(fit: Mapping[str, Any]) -> str:
    """What the ranker learned from."""
    training = fit["details"]["training"]
    return (
        f"{fit['model']} was trained from {from_labels(fit)} on {count_noun(training['documents'], 'document')} "
        f"of {count_noun(training['queries'], 'query', 'queries')}."
    )


def _known(details: Mapping[str, Any]) -> Iterator[str]:
    """What it knows besides the labels of the crowd."""
    target, held, honeypots = (details[name] for name in ("target_queries", "validation_queries", "honeypots"))
    other = f"{target:,} other {'query' if target == 1 else 'queries'}"
    if "processing" in details:
        yield f"How much a label counts and what it is worth were learned from {other} with experts' labels."
    else:
        yield "How much a label counts and what it is worth were learned before, from another crowd."
    if target and "processing" not in details:
        yield f"The documents of {other} with experts' labels train the ranker too."
    if held:
        yield f"{count_noun(held, 'further query', 'further queries')} validate."
    if honeypots:
        which = "1 honeypot shows" if honeypots == 1 else f"{honeypots:,} honeypots show"
        yield f"{which} how often a worker is right."


def choice(fit: Mapping[str, Any]) -> str:
    """Which learner on the weighed labels is kept, and how weights and values were learned."""
    details = fit["details"]
    learner, found = details["learner"], details.get("processing")
    asked = fit["parameters"]["learner"] == learner
    why = "as asked" if asked else CHOICES["ridge" if learner == "ridge" else "other"]
    if not asked and not details["validation_queries"]:
        why = "because no validation queries choose among the learners"
    kept = f"The ranker is that of {words_of(learner, fit)}, {why}."
    return kept if found is None else f"{climb_sentence(found)} {kept}"


def climb_sentence(found: Mapping[str, Any]) -> str:
    """How weights and values were learned."""
    if not found["step"]:
        start = STARTS[found["start"]]
        return f"No step did better than the start, {start}, so nothing was learned about the labels."
    trees = ""
    if found["trees"]:
        grown = "remap" if found["grown_on"] == "remap" else f"the consensus {found['grown_on']}"
        trees = f" and {count_noun(found['trees'], 'tree')} grown on the labels of {grown}"
    return (
        f"Weights and values were learned in {count_noun(found['step'], 'step')}, for a ridge ranker of the "
        f"features{trees} with the penalty {signed(found['mu'])} for each document."
    )


def words_of(learner: str, fit: Mapping[str, Any]) -> str:
    """A learner in words."""
    scorer = "" if learner == "ridge" else f" {fit['parameters']['scorer']}"
    return f"{NAMES[learner]}{scorer}"


def explain_names(fit: Mapping[str, Any], measured: Measured) -> tuple[tuple[str, str], ...]:
    """What the labels and the learners in the table are."""
    kept = chosen_name(fit["details"])
    parts = [part for name in (kept, *(row.name for row in measured.baselines)) for part in name.split(", ")]
    return tuple(
        (name, words_of(name, fit) if name in ("ridge", "regression", "lambdamart") else meaning)
        for name, meaning in NAMES.items()
        if name in parts
    )


def _leads(measured: Measured) -> Iterator[str]:
    """The ranker beside the best consensus, beside the target alone, and beside all baselines."""
    rows = baselines_of(measured)
    if not rows:
        yield "No baselines were trained."
        return
    kinds = (("the best plain consensus", CONSENSUS), ("the best ranker from the target alone", ("target alone",)))
    shown = [(name, _first(rows, labels)) for name, labels in kinds]
    if rows[0] not in [row for _, row in shown]:
        yield _lead("the best baseline", rows[0], measured)
    for name, row in shown:
        if row is not None:
            yield _lead(name, row, measured)
    if len(rows) > 2:
        yield _count_verdicts(rows)


def _first(rows: tuple[MeasuredRow, ...], labels: tuple[str, ...]) -> MeasuredRow | None:
    """The best of the rows with these labels."""
    return next((row for row in rows if row.name.partition(",")[0] in labels), None)


def _lead(name: str, row: MeasuredRow, measured: Measured) -> str:
    return words.lead_sentence(replace(row, description=f"{name} ({row.description})"), measured)


def _count_verdicts(rows: tuple[MeasuredRow, ...]) -> str:
    counts = Counter(row.verdict for row in rows)
    parts = [f"{said} {counts[name]:,}" for name, said in SAID.items() if counts[name]]
    return f"Of {count_noun(len(rows), 'baseline')} it is {list_words(parts)}."


def explain_weighing(fit: Mapping[str, Any], found: Weighing) -> str:
    """How to read weights and values."""
    kept = "" if fell_back(fit) is None else " The ranker that is kept does not use them."
    drawn = ""
    if found.drawn < found.workers.workers:
        drawn = f" The pictures show the {found.drawn:,} workers with the most judgments."
    return (
        "Each label of the crowd has a weight, which says how much it counts, and a value, which says how "
        "relevant it makes the document. Both are between 0 and 1, and only their differences matter. For a "
        f"worker they are means over the worker's labels.{kept}{drawn}"
    )


def strip_sentence(strip: Strip) -> str:
    """The values of one label."""
    given = count_noun(len(strip.values), "worker")
    span = f"from {number(strip.span.least, 2)} to {number(strip.span.most, 2)}"
    return f"Label {strip.label}, given by {given}: median {number(strip.span.median, 2)}, {span}."


def describe_strips(strips: Iterable[Strip]) -> str:
    """The values of all labels, for readers who do not see the picture."""
    return " ".join(["Value of each label by worker.", *map(strip_sentence, strips)])


def cloud_sentence(cloud: Cloud) -> str:
    """How weights follow what they are drawn against."""
    weights = [weight for _, weight in cloud.points]
    text = f"The weights of {count_noun(len(weights), 'worker')} go from {min(weights):.2f} to {max(weights):.2f}."
    if cloud.correlation is None:
        return text
    return f"{text} Their rank correlation with the {cloud.against.lower()} is {signed(cloud.correlation, 2)}."


QUALITY = (
    "Quality is that of Dawid-Skene: the probability of agreeing with its order on a pair of documents whose "
    "labels differ. 1 means always agreeing, 0.5 means guessing, and below 0.5 means saying the opposite."
)


def explain_workers(found: CrowdSummary) -> str:
    """How to read the table of workers."""
    right = "honeypots right" in found.rows[0].further
    more = " Honeypots right is the share of them; a worker without any has the mean of all workers."
    return f"{QUALITY}{more if right else ''} Workers with the most judgments come first."


def workers_left(found: CrowdSummary) -> str:
    """How many workers are not shown; empty if none."""
    shown, all_ = len(found.rows), found.workers
    return "" if shown == all_ else f"These are {shown:,} of {all_:,} workers; the workers file has all of them."


def method(fit: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is needed besides, to train again."""
    details = fit["details"]
    yield "Labels given", f"{fit['judgments']['judgments']['ratings']:,}; {details['samples']:,} learned from"
    tried = details.get("processing", {}).get("tried", ())
    if tried:
        climbs = (
            f"penalty {signed(own['mu'])}, {count_noun(own['trees'], 'tree')}: {signed(own['value'], 4)} after "
            f"{count_noun(own['step'], 'step')}"
            for own in tried
        )
        yield "Weights and values that were tried", "; ".join(climbs)
