"""Warnings grouped by their kind, with what each kind means and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crowdrank.errors import WORD, Note
from crowdrank.report.content import Caution

KINDS: dict[str, tuple[str, str]] = {
    "swapped-columns": (
        "Items and labels may be swapped",
        "Nothing below means anything if they are: name the two columns the other way.",
    ),
    "zero-ranks": (
        "Ranks of 0",
        "Items with rank 0 count as the best; leave the cells empty if these were not ranked.",
    ),
    "top-lists": (
        "Lists that may be the top of a longer ranking",
        "If workers ranked the best of all items, say that the others are below: it changes the ranking.",
    ),
    "lost-queries": ("Queries without a ranking", "All their rows were left out; see why in the other warnings."),
    "one-rank": ("Every rank is the same", "The ranks are probably in another column; name it."),
    "same-file": (
        "The same judgments twice",
        "Each copy counts, so the ranking looks more certain than it is; give each file once.",
    ),
    "repeated-rows": (
        "A part of a file may be there twice",
        "Each copy counts, so the ranking looks more certain than it is; remove the copy and rank again.",
    ),
    "two-scales": (
        "Labels on two scales",
        "Labels of one scale outweigh those of the other; bring them to one scale, or rank by pairs (bt).",
    ),
    "odd-label": (
        "Labels that may be codes",
        "A code such as 99 for 'no answer' counts as a grade here; remove its rows and rank again.",
    ),
    "odd-rank": (
        "A rank that no list can have",
        "An item is at the end of its list if its rank is a slip; correct it and rank again.",
    ),
    "time-weights": (
        "Weights that look like times",
        "They are about equal as weights; name the column as timestamp.",
    ),
    "all-ties": (
        "Every vote is a tie",
        "The items cannot be told apart; check whether the outcomes are in another column.",
    ),
    "one-weight": (
        "One row outweighs all others",
        "The ranking follows this row; if its weight is a slip, correct it and rank again.",
    ),
    "worker-per-row": (
        "A worker for every row",
        "A column that numbers the rows says nothing about who judged; name the right one, or none.",
    ),
    "similar-ids": (
        "Ids that differ only by case or spaces",
        "Judgments of one thing under two names are split between them; write each id in one way.",
    ),
    "invisible-ids": (
        "Ids that look the same",
        "They differ by signs that cannot be seen, or by their Unicode form; write each id in one way.",
    ),
    "padded-ids": (
        "A space in every id",
        "It matters only beside other files, such as gold, whose ids have none; remove the spaces from the file.",
    ),
    "broken-text": (
        "Text in a broken encoding",
        "The ranking is right, but names are not; export the file as UTF-8.",
    ),
    "rounded-ids": (
        "Ids that may have been rounded",
        "Two ids may have become one, with the judgments of both; keep ids as text.",
    ),
    "boolean-ids": ("true and false among numbers", "Check whether true should be 1, or is a slip of an export."),
    "not-converged": (
        "The fit did not finish",
        "Do not use these scores yet: try more regularization, or look for errors in the data.",
    ),
    "no-intervals": (
        "There are no intervals",
        "Only the order of the scores is given, with no measure of its certainty.",
    ),
    "consensus-gap": (
        "The consensus may not be the best one",
        "Majorities contradict each other in a cycle; the order within it is one of several good ones.",
    ),
    "tied-consensus": (
        "Several orders are equally good",
        "The ids decided between them, so the places of such items mean little; more lists would decide.",
    ),
    "cycle": (
        "The fit went in circles",
        "Several rankings fit the votes about equally well; a stronger prior on the workers' quality settles it.",
    ),
    "small-changes": (
        "The fit did not come to rest",
        "Worker qualities changed in the fourth digit only; the ranking can be used.",
    ),
    "mirror": (
        "Check the direction of the ranking",
        "The ranking may be reversed, best items last; a few known pairs or labels (anchors) settle it.",
    ),
    "reversed-workers": (
        "Workers who answer in reverse",
        "Ask them whether they misread the question, or leave their votes out.",
    ),
    "domains": (
        "The number of domains",
        "Queries belong to one domain if the same workers are good, weak or misleading on them.",
    ),
    "difficulty": (
        "Queries are equally hard",
        "Their scores spread no more unequally than chance explains; the intervals show what is still possible.",
    ),
    "disconnected": (
        "Some items were never linked",
        "Compare items only within a group, or collect judgments that link two groups; some are suggested below.",
    ),
    "position": (
        "One side is favored",
        "Show each pair in both orders, or in random order, to keep this bias small.",
    ),
    "unsided": (
        "Sides are not known",
        "Record which item was on the left (left, right, label) if a bias toward one side matters.",
    ),
    "unjudged": (
        "Items without a judgment",
        "Nothing is known about such an item; its place in the ranking means nothing.",
    ),
    "winless": (
        "Items that never won",
        "Such an item belongs low, but how low is unknown: compare it with weak items that it may beat.",
    ),
    "unbeaten": (
        "Items that never lost",
        "Such an item belongs high, but how high is unknown: compare it with strong items that may beat it.",
    ),
    "undetermined": (
        "Too few pairs for one answer",
        "The order may change with a few more votes, or with another model: compare it with bt.",
    ),
    "no-winner": (
        "No item beats every other",
        "The majorities form a cycle, or pairs at the top were not judged: ask about those pairs.",
    ),
    "few-judgments": (
        "Items with few judgments",
        "One more judgment can move such an item far; ask about it first.",
    ),
    "one-sided": (
        "Workers who nearly always chose one side",
        "Such a worker may not have looked. Show the sides in random order, and consider leaving these votes out.",
    ),
    "both-orders": (
        "The same pair in both orders",
        "Workers who ignore the side do this at most half of the time; more means that the side decides.",
    ),
    "row-order": (
        "The order of the rows matters",
        "Add a timestamp, average over random orders (orders=50), or use a model that needs no order.",
    ),
    "close-items": (
        "The items are close to each other",
        "Verdicts on workers are weak here; pairs of known order (anchors) would say more about them.",
    ),
    "missing": (
        "Lists that do not rank everything",
        "If such an item was not seen rather than placed last, set missing=unknown.",
    ),
    "empty-lists": (
        "Lists that order nothing",
        "A list needs two items, and an order between them.",
    ),
    "look-alikes": (
        "Workers who make the same errors",
        "They may be one person or one system under several names; together they count as about one worker.",
    ),
    "no-agreement": (
        "No two workers agree",
        "Check that rank 1 is the best and that all workers use the same item ids.",
    ),
    "equal-weights": (
        "All workers count the same",
        "The judgments do not show who is better; more of them, or more workers, may.",
    ),
    "one-label": (
        "There is only one label",
        "Labels distinguish no items; ask for finer grades, or for comparisons.",
    ),
    "placeholder-labels": (
        "Labels that say nothing",
        "To measure the ranker, give labels of some documents as gold.",
    ),
    "one-worker": (
        "All judgments are from one worker",
        "The ranking is that worker's opinion; more workers are needed to call it the crowd's.",
    ),
    "repeated-lists": (
        "Some lists are there more than once",
        "Each copy counts. If a file was given twice, the workers look more certain than they are.",
    ),
    "two-columns": (
        "Two columns could be meant",
        "Check that the right one was read.",
    ),
    "unused-counts": (
        "A column of counts is not used",
        "Every row counts once; if the column says how often each occurred, read it as the weight.",
    ),
    "unused-worker": (
        "A column of workers is not used",
        "Nothing is learned about who gave the judgments; name the column if it says that.",
    ),
    "split-queries": (
        "Queries split one ranking into many",
        "Each query has a ranking of its own; read the judgments without the query for one ranking over all.",
    ),
    "outcomes": (
        "What the outcomes mean was guessed",
        "Check that 1 means the first item; give the meaning of the outcomes to be certain.",
    ),
    "outcomes-left-out": (
        "Outcomes that were left out",
        "These rows have no effect, as asked.",
    ),
    "nominal-labels": (
        "Labels without an order",
        "The labels of the items are the answer, in the table of labels; the ranking says how sure they are.",
    ),
    "unknown-workers": (
        "Judgments without a worker",
        "Nothing is learned about who gave them; name the workers if you can.",
    ),
    "unseen-workers": (
        "Workers that training did not see",
        "They count as average; judgments of theirs in training would tell how expert they are.",
    ),
    "unjudged-queries": (
        "Queries without judgments",
        "Their documents are scored by features alone, on another scale; compare documents only within a query.",
    ),
    "bound": (
        "Parameters at a bound",
        "The best value is at the bound or beyond it, so it is known only from one side; a prior keeps it inside.",
    ),
    "self-pairs": ("Items compared with themselves", "Such rows say nothing; check how they got into the file."),
    "no-outcome": (
        "Rows without an outcome",
        "They were left out; if they should count as ties, write tie.",
    ),
    "letor-ranks": (
        "LETOR text was read as ranks",
        "Each number counts as a system that ranked the items; if the values are features, give the file as such.",
    ),
    "run-order": (
        "Ranks and scores of a TREC run disagree",
        "One of the two columns is wrong; the ranks were used here.",
    ),
    "preflib-header": (
        "A PrefLib file contradicts its header",
        "The orders were used as they are; check that the file is whole.",
    ),
    "no-features": (
        "Judged items without features",
        "They were left out, so nothing is learned from their judgments; check the ids if there are many.",
    ),
    "unused-features": (
        "Features of items that nobody judged",
        "They were left out of the training; the ranker can still score them.",
    ),
    "label-feature": (
        "A column that looks like a label is a feature",
        "A ranker that learns from its own target is useless; leave the column out if it is a label.",
    ),
    "unnamed-column": (
        "A column without a name",
        "It was left out, because it is usually the row number; name it if it is a feature.",
    ),
    "equal-labels": (
        "Queries without an order to learn",
        "Documents of such a query are equally good or bad; queries with different labels teach more.",
    ),
    "unlabeled": (
        "Documents without a label",
        "They were left out of the training; the ranker can still score them.",
    ),
    "not-judged": ("Labels below 0", "They mean that nobody judged the item, so it was left out."),
    "reversed-gold": (
        "The ranking runs against the gold",
        "Check whether the largest grade is the best one, or 1; read the column the other way if needed.",
    ),
    "negative-grades": (
        "Grades below 0 gain nothing",
        "To measures of gains they are like a grade of 0; add a constant to all grades if they differ.",
    ),
    "totals-row": ("A row of totals", "A total is no item; remove its row, and rank or measure again."),
    "undefined": (
        "Measures without a value",
        "Grades of further items, or different grades, are needed to measure the order.",
    ),
    "nothing-relevant": ("Nothing is relevant by gold", "Check the grades, or measure the order: acc, tau."),
    "linear-gain": (
        "Gains are the grades themselves",
        "With 2^grade - 1, one large grade would outweigh all others; a measure may name its gain.",
    ),
    "weight-0": ("Documents with the weight 0", "They were left out."),
    "constant-features": ("Features with one value only", "They tell no documents apart and may be left out."),
    "missing-values": ("Missing values", "Many of them in one feature may mean that it was not computed."),
    "validation-overlap": (
        "Queries in both training and validation",
        "The ranker has seen these queries, so validation flatters it; keep the two apart.",
    ),
    "target-overlap": (
        "Queries in both the source and the target",
        "The crowd and the experts labeled the same queries; give the target queries of its own.",
    ),
    "validation": ("Queries that validate", "They choose and stop what is trained, so they do not train it."),
    "fallback": (
        "A plain consensus was enough",
        "More queries in the target, or more label features, give weights and values more to learn from.",
    ),
    "honeypots": (
        "Honeypots that say less than they could",
        "Check their ids, or let each worker label some of them.",
    ),
    "labels": (
        "Odd labels",
        "Repeated, contradicting or very rare labels may be slips of the file; look at them.",
    ),
    "label-features": ("Label features of your own", "These columns say something about each label."),
    "target-alone": (
        "The target does better without the crowd",
        "A ranker on the experts' labels alone may serve you better; check both on further queries.",
    ),
    "unlike-crowd": (
        "The crowd is unlike the one before",
        "Weights and values that were learned on another crowd may mislead here; learn them again from a target.",
    ),
    "no-validation": ("No validation queries", "Trees and nets learn noise if nothing stops them."),
    "from-folds": ("How long the final training ran", "There were no validation queries to stop it."),
    "no-splits": (
        "The trees found nothing to split",
        "There are too few documents for a leaf, or no feature tells them apart: try a smaller min_rows.",
    ),
    "extra-features": ("Features that the ranker does not know", "They are ignored; it was trained without them."),
    "absent-features": ("Features that no row has", "They count as 0; check the numbers if that is a surprise."),
    "weights": ("Documents have weights", "If the column means something else, name another one, or none."),
    "one-query": ("There is only one query", "If documents belong to queries, name the column of the queries."),
    "flat-features": (
        "Features that are the same within every query",
        "They describe the query, not the document; trees and nets can use them if standardize is all or None.",
    ),
    "lone-documents": (
        "Queries with one document",
        "Give all documents of a query together, or train with standardize=all.",
    ),
    "tied-scores": (
        "Documents with equal scores",
        "Their order means nothing, and tools that sort by id will order them in their own way.",
    ),
    "both-bad": (
        "Both answers were called bad",
        "The model uses that neither was preferred, but not that both were bad.",
    ),
    "inconsistent": (
        "Answers that changed with the order",
        "The judge did not distinguish these items; many such rows mean that the judge follows the side.",
    ),
    "conversion": (
        "The judgments were converted",
        "Pairs of one list or of one worker's ratings are not independent, so intervals may be too narrow.",
    ),
    "read-back": (
        "Judgments on disk were read into memory",
        "The answer is the same. If memory runs short, use a model that can leave them on disk.",
    ),
    "pairs-sampled": (
        "Long lists were compared by a sample of their pairs",
        "Another sample would give slightly other scores; all pairs take longer and say about the same.",
    ),
    "side-info": (
        "Some side information was not used",
        "Check the ids of its workers and the names of its columns.",
    ),
    "uncalibrated": (
        "What the probabilities of labels mean",
        "Give known labels of some items, chosen at random, as anchors: they correct the probabilities.",
    ),
    "anchors": ("Some anchors were not used", "Check their ids, or choose a model that uses them."),
    "left-out": ("Models that were left out", "The table has only the models that can run on these judgments."),
    "sampled": ("Only some of the votes were used", "More votes would separate models that are close."),
    "ties-dropped": ("Ties were dropped", "The figures cover only decided votes."),
    "many-votes": ("Votes were learned one by one", "Their order counts a little; timestamps give it."),
    "fewer-questions": ("Fewer questions than asked for", "Raise a cap, or list more items or judges."),
    "unknown-exclusions": ("Some exclusions exclude nothing", "Check how the items and workers are spelled."),
    "not-listed": ("Some judged items do not take part", "List them to ask about them."),
    "slow-search": ("The search is slow", "Numba compiles it."),
    "fewer-votes": ("Fewer votes than the budget", "All recorded votes were used."),
    "auto": ("How the model was chosen", "Models that are close to each other predict votes about equally well."),
    "rough-intervals": ("The intervals are rough", "Read them as a lower bound on the uncertainty."),
}
"""For each code a title and a sentence of advice, most serious first."""


def cautions(notes: Sequence[Note], kinds: Mapping[str, tuple[str, str]] = KINDS) -> tuple[Caution, ...]:
    """The warnings, one entry per kind, in the order of ``kinds``; kinds not listed there come last."""
    by_code: dict[str, list[str]] = {}
    for note in notes:
        by_code.setdefault(note.code, []).append(_sentence(note))
    order = [*(code for code in kinds if code in by_code), *(code for code in by_code if code not in kinds)]
    return tuple(_caution(code, by_code[code], kinds) for code in order)


def _sentence(note: Note) -> str:
    """A note as its reader would type the remedy, with a full stop after it."""
    text = note.wording(WORD.get())
    return f"{text}." if note.hint and not text.endswith((".", "!", "?")) else text


def _caution(code: str, messages: list[str], kinds: Mapping[str, tuple[str, str]]) -> Caution:
    title, meaning = kinds.get(code, (code.replace("-", " ").capitalize(), ""))
    return Caution(code, title, tuple(messages), meaning)
