"""Warnings grouped by their kind, with what each kind means and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from crowdrank.errors import Note
from crowdrank.report.content import Caution

KINDS: dict[str, tuple[str, str]] = {
    "not-converged": (
        "The fit did not finish",
        "Do not use these scores yet: try more regularisation, or look for faults in the data.",
    ),
    "no-intervals": (
        "There are no intervals",
        "Only the order of the scores is given here, and nothing says how sure it is.",
    ),
    "consensus-gap": (
        "The consensus may not be the best one",
        "Majorities contradict each other in a circle; read the order within it as one of several good ones.",
    ),
    "cycle": (
        "The fit went round in a circle",
        "Several rankings suit the votes about equally well; a stronger prior on the workers' quality settles it.",
    ),
    "mirror": (
        "The direction of the ranking needs a look",
        "Check that the best items are not the worst ones; a few known pairs or labels (anchors) settle it.",
    ),
    "domains": (
        "How many domains there are",
        "Queries of one domain are those on which the same workers are good, blunt or false.",
    ),
    "disconnected": (
        "Some items were never linked",
        "Compare only within a group, or ask about items of two groups together; some are named below.",
    ),
    "position": (
        "One side is favoured",
        "Show each pair in both orders, or in a random one, to keep it small.",
    ),
    "unsided": (
        "Sides are not known",
        "Keep who stood on the left in the file (left, right, label) if a bias towards one side matters.",
    ),
    "unjudged": (
        "Items without a judgment",
        "Nothing is known of such an item; its place in the ranking means nothing.",
    ),
    "winless": (
        "Items that never won",
        "Such an item belongs low, but how low is not known: compare it with weak items, which it may beat.",
    ),
    "unbeaten": (
        "Items that never lost",
        "Such an item belongs high, but how high is not known: compare it with strong items, which may beat it.",
    ),
    "undetermined": (
        "Too few pairs for one answer",
        "The order may change with a few more votes, or with another model: compare it with bt.",
    ),
    "no-winner": (
        "No item beats every other",
        "The majorities run in circles, or pairs at the top were not judged: ask about those.",
    ),
    "few-judgments": (
        "Items with few judgments",
        "One more judgment can move such an item far; ask about it first.",
    ),
    "one-sided": (
        "Workers who nearly always chose one side",
        "Such a worker may not have looked. Show the sides in random order, and think of leaving the votes out.",
    ),
    "both-orders": (
        "The same pair in both orders",
        "Workers who do not look at the side do so at most half of the time; more means that it decides.",
    ),
    "row-order": (
        "The order of the rows counts",
        "Give a timestamp, take the mean over random orders (orders=50), or a model that needs no order.",
    ),
    "close-items": (
        "The items are close to each other",
        "Verdicts on workers are weak here; pairs of known order (anchors) would tell more about them.",
    ),
    "missing": (
        "Lists that do not rank everything",
        "If such an item was not seen rather than put last, say so: missing=unknown.",
    ),
    "empty-lists": (
        "Lists that order nothing",
        "A list needs two items, and an order between them.",
    ),
    "look-alikes": (
        "Workers who make the same errors",
        "They may be one person or one system under several names; together they count as about one.",
    ),
    "no-agreement": (
        "No two workers agree",
        "Check that ranks count from the best and that the ids are those of the same items.",
    ),
    "one-label": (
        "There is only one label",
        "Nothing is told apart; ask for grades, or for comparisons.",
    ),
    "one-worker": (
        "All judgments are one worker's",
        "The ranking is that worker's opinion; more workers are needed to call it the crowd's.",
    ),
    "unknown-workers": (
        "Judgments without a worker",
        "Nothing is learnt about who gave them; name the workers where you can.",
    ),
    "self-pairs": ("Items compared with themselves", "Such rows say nothing; see how they came into the file."),
    "no-outcome": (
        "Rows without an outcome",
        "They were left out; where they should count as ties, write tie.",
    ),
    "both-bad": (
        "Both answers were called bad",
        "That the two were not told apart is used; that both were bad is not.",
    ),
    "inconsistent": (
        "Answers that changed with the order",
        "The judge did not tell these items apart; many of them mean a judge that follows the side.",
    ),
    "conversion": (
        "The judgments were converted to pairs",
        "Pairs of one list or of one worker's ratings are not independent, so intervals may be too narrow.",
    ),
    "anchors": ("Some anchors were of no use", "Check their ids, or choose a model that uses them."),
    "left-out": ("Models that were left out", "The table has only the models that can run on these judgments."),
    "sampled": ("Only a part of the votes was used", "More votes would tell closer models apart."),
    "ties-dropped": ("Ties were dropped", "The figures are of the decided votes alone."),
    "auto": ("How the model was chosen", "Models that are close to each other predict votes about equally well."),
    "rough-intervals": ("The intervals are rough", "Read them as a lower limit of the uncertainty."),
}
"""For each code a title and a sentence of advice, the gravest first."""


def cautions(notes: Sequence[Note]) -> tuple[Caution, ...]:
    """The warnings, one entry for each kind, the gravest first; kinds not listed here come last."""
    by_code: dict[str, list[str]] = {}
    for note in notes:
        by_code.setdefault(note.code, []).append(note.wording())
    order = [*(code for code in KINDS if code in by_code), *(code for code in by_code if code not in KINDS)]
    return tuple(_caution(code, by_code[code]) for code in order)


def _caution(code: str, messages: list[str]) -> Caution:
    title, meaning = KINDS.get(code, (code.replace("-", " ").capitalize(), ""))
    return Caution(code, title, tuple(messages), meaning)
