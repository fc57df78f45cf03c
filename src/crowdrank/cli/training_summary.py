"""What was trained and how well it does, in a few lines on stderr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crowdrank.cli.messages import inform
from crowdrank.cli.words import flag
from crowdrank.errors import Hint, Remedy, count_noun, word_hint

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker
    from crowdrank.rankers.folds import CrossValidation


def summarize(ranker: Ranker, found: CrossValidation | None = None, *, gold: bool = False) -> None:
    """Say what was trained, and how well it does beside a baseline. ``gold``: the user gave some."""
    details = ranker.fit_.details
    if "chosen" in details:
        _summarize_target(ranker)
        return
    inform(_trained(ranker))
    measured = details.get("measured")
    if found is not None:
        _summarize_folds(found)
        if measured is None or measured["queries_of"] == "training":
            return
    if measured is None:
        for line in _unmeasured(details, gold=gold):
            inform(line)
    else:
        inform(_measured(measured))


def _summarize_target(ranker: Ranker) -> None:
    """What was learned from labels of a crowd and of experts, what was chosen, and how well it does."""
    from crowdrank.report.training.remap import chosen_name, describe, is_baseline, order_measured

    details, given = ranker.fit_.details, ranker.fit_.judgments
    labels = f"{count_noun(given['labels'], 'label')} of {count_noun(given['workers'], 'worker')}"
    inform(
        f"{ranker.name} was trained from {labels} on {_documents(details['training'])}, with "
        f"{count_noun(given['features'], 'feature')} and {_learned_with(details)}."
    )
    inform(f"Kept: {describe(chosen_name(details))}{_how(details)}.")
    found = order_measured(details)
    if found is None:
        inform("Nothing was measured.")
        inform(
            f"Hint: {word_hint(('Give queries with the labels of experts: ', Remedy('validation', 'FILE')), flag)}"
        )
        return
    others = {name: own for name, own in found.items() if isinstance(own, Mapping) and name != "ranker"}
    best = next((own for name, own in others.items() if is_baseline(name)), None)
    beside = best and {**best, "description": f"best baseline, {best['description']}"}
    inform(_measured({**found, "best_feature": beside}) + _lead_over(best))


def _lead_over(best: Mapping[str, Any] | None) -> str:
    """The lead over the best baseline with its interval."""
    lead = best and best["lead"]
    if not lead or lead["low"] is None:
        return ""
    return f"; lead {lead['mean']:+.4f}, {lead['level']:.0%} interval {lead['low']:+.4f} to {lead['high']:+.4f}"


def _learned_with(details: Mapping[str, Any]) -> str:
    if "processing" not in details:
        return "weights and values that were learned before"
    return count_noun(details["target_queries"], "target query")


def _how(details: Mapping[str, Any]) -> str:
    """How weights and values were learned, if the ranker uses them."""
    if details["chosen"] != "remap" or "processing" not in details:
        return ""
    found = details["processing"]
    trees = f", {count_noun(found['trees'], 'tree')} as features" if found["trees"] else ""
    return f" (weights and values of {count_noun(found['step'], 'step')}, penalty {found['mu']:g}{trees})"


def _trained(ranker: Ranker) -> str:
    from crowdrank.report.words import count_judgments

    own, given = ranker.fit_.details["training"], ranker.fit_.judgments
    crowd = "on"
    if "lists" in given:
        workers = f" of {count_noun(given['workers'], 'worker')}" if given["workers"] else ""
        crowd = f"from {count_judgments(given)}{workers} on"
    return (
        f"{ranker.name} ({ranker.trained_.scorer}) was trained {crowd} {_documents(own)}, with "
        f"{count_noun(len(ranker.trained_.scoring.preparation.names), 'feature')}."
    )


def _documents(training: Mapping[str, Any]) -> str:
    return f"{count_noun(training['documents'], 'document')} of {count_noun(training['queries'], 'query')}"


def _measured(measured: Mapping[str, Any]) -> str:
    """The measure beside that of the best single feature, or of the first baseline if there is no such."""
    name, kind = measured["measure"], measured["queries_of"]
    queries = count_noun(measured["queries"], f"{kind} query")
    baselines = [own for key, own in measured.items() if isinstance(own, Mapping) and key != "ranker"]
    beside = measured.get("best_feature", next(iter(baselines), None))
    words = f" ({beside['description']}: {beside[name]:.4f})" if beside else ""
    return f"{name} on {queries}: {measured['ranker'][name]:.4f}{words}"


def _unmeasured(details: Mapping[str, Any], *, gold: bool) -> list[str]:
    """Why nothing was measured, and how it can be."""
    keep, labels = Remedy("validation", "0.2"), Remedy("gold", "FILE")
    held = details.get("validation_queries", 0)
    of = "validation" if held else "training"
    why = f": the gold grades no document of the {of} queries" if gold else ""
    hint: Hint = ("Give labels, which only measure: ", labels)
    if not held:
        hint = ("Keep some queries: ", keep, ", or give labels, which only measure: ", labels)
    return [f"Nothing was measured{why}.", f"Hint: {word_hint(hint, flag)}"]


def _summarize_folds(found: CrossValidation) -> None:
    count, queries = len(found.folds), sum(fold.test for fold in found.folds)
    for name, own in found.summary().items():
        inform(
            f"{name} over {count} folds: {own['mean_of_folds']:.4f} ± {own['stderr_of_folds']:.4f}; "
            f"over {count_noun(queries, 'query')}: {own['mean']:.4f} ± {own['stderr']:.4f} "
            f"(best single feature: {own['best_feature']:.4f})"
        )
