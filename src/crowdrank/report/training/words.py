"""The sentences of the report of a training run. What they claim follows the intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from crowdrank.errors import count_noun
from crowdrank.report.method import environment_facts, parameter_words
from crowdrank.report.training import crowd_words
from crowdrank.report.training.content import (
    ImportanceSummary,
    ListRow,
    Measured,
    MeasuredRow,
    QueryRow,
    TrainingReport,
)
from crowdrank.report.words import interval, number, quote_name, signed

if TYPE_CHECKING:
    from crowdrank.rankers.tables import ValidationCurve

DECIMALS = 4
STEP_UNITS = {"trees": "round"}
"""What a step of training is called; "step" for all others."""

STANDARDIZE: dict[str | None, str] = {
    "query": "Each feature is standardized within the query: the mean of the query's documents is subtracted, and "
    "the rest is divided by their standard deviation. Give all documents of a query together.",
    "all": "Each feature is standardized: the mean of the training documents is subtracted, and the rest is "
    "divided by their standard deviation.",
    "scale": "Each feature is divided by its root mean square over the training documents, so zeros stay zeros.",
    None: "Features are not standardized.",
}
FOLD_BASELINES = {
    "best_feature": "the best single feature of each fold's training queries",
    "mean_feature": "mean of the features, each standardized within the query",
}
"""What the baselines of cross-validation are."""
FOLDS = "Each fold has a ranker and a best single feature of its own, both found without its test queries."
"""How to read the table of folds."""
CHOSEN = "What is kept was chosen on these validation queries, which flatters it: confirm a small lead on others."
LEVELS = {
    "best_feature": "the best single feature",
    "mean_feature": "the mean of the standardized features",
    "equal_scores": "equal scores",
    "best_baseline": "the best baseline",
    "target_alone": "the best ranker from the target alone",
}
"""What the baselines are called in the legend of the curve."""
_FEATURE = "feature "
_IMPORTANCE = {
    "linear": "The share of each feature in the sum of the absolute weights.",
    "extended": "The share of each feature in the sum of the absolute weights. The weight of a tree is divided "
    "among the features of its splits.",
    "trees": "The share of each feature in the gain of all splits: how much the splits that use it improved "
    "what training improves.",
    "net": "How much a small change of the feature changes the score (the root mean square over the training "
    "documents), as a share of the sum over all features.",
}


def facts(fit: Mapping[str, Any]) -> tuple[str, ...]:
    """The line below the title."""
    given = fit["judgments"]
    documents = count_noun(given["documents"], "document")
    crowd = crowd_words.learned_from_crowd(fit)
    return (
        *(
            (f"trained from {crowd_words.from_judgments(fit)}", documents)
            if crowd
            else (f"trained on {documents}",)
        ),
        count_noun(_training_queries(fit), "query", "queries"),
        count_noun(given["features"], "feature"),
        f"seed {fit['seed']}",
    )


def verdict(measured: Measured | None, *, crowd: bool = False) -> tuple[str, str]:
    """The first heading, and its tone: it follows from the least certain baseline.

    ``crowd``: the ranker learned from judgments. It may not have been measured at all.
    """
    if measured is None and crowd:
        return "The ranker was not measured", "doubt"
    if measured is None or not measured.baselines:
        return "What training found", "plain"
    said = {row.verdict for row in measured.baselines}
    if measured.measure == crowd_words.LIKELIHOOD:
        return crowd_words.likelihood_verdict(said)
    if "worse" in said:
        return "The ranker is worse than a baseline", "doubt"
    if "no better" in said:
        return "The ranker is not shown to beat every baseline", "doubt"
    if "unknown" in said:
        few = "One query is too few to judge the ranker"
        return few if measured.queries == 1 else "The ranker was not measured on new queries", "doubt"
    if "ahead" in said:
        return "The ranker is ahead of the baselines", "plain"
    return "The ranker beats the baselines", "good"


def headline(fit: Mapping[str, Any], measured: Measured | None) -> tuple[str, ...]:
    """What training found, in sentences."""
    given = fit["judgments"]
    queries = count_noun(_training_queries(fit), "query", "queries")
    crowd = crowd_words.learned_from_crowd(fit)
    source = f"from {crowd_words.from_judgments(fit)} " if crowd else ""
    trained = (
        f"{fit['model']} with the scorer {fit['parameters']['scorer']} was trained {source}on "
        f"{count_noun(given['documents'], 'document')} of {queries}."
    )
    if measured is None:
        return (trained, crowd_words.UNMEASURED) if crowd else (trained,)
    leads = (lead_sentence(row, measured) for row in measured.baselines)
    sentences = [trained, reached(measured, crowd=crowd), *leads]
    if measured.measure == crowd_words.LIKELIHOOD:
        sentences.append(crowd_words.LIKELIHOOD_MEANING)
    if not measured.baselines:
        sentences.append("There are too many features to try each one as a baseline.")
    if measured.chosen:
        sentences.append(CHOSEN)
    return tuple(sentences)


def _training_queries(fit: Mapping[str, Any]) -> int:
    return int(fit["details"].get("training", fit["judgments"])["queries"])


def reached(measured: Measured, *, crowd: bool) -> str:
    """The measure of the ranker, and on which queries."""
    found = measured.rows[0].values[measured.measure]
    value = number(found, DECIMALS)
    queries = count_noun(measured.queries, "query", "queries")
    if measured.measure == crowd_words.LIKELIHOOD:
        return crowd_words.reached_likelihood(found, queries)
    if crowd and measured.on == "training":
        return crowd_words.reached_on_training(measured.measure, value, measured.queries)
    if measured.on == "folds":
        return (
            f"In cross-validation, rankers that had not seen a query reach a mean {measured.measure} of {value} "
            f"over {queries}."
        )
    if measured.on == "validation":
        return f"On {queries} kept for validation its {measured.measure} is {value}."
    which = "query itself" if measured.queries == 1 else "queries themselves"
    reached = f"its {measured.measure} is {value}, which flatters it"
    return f"No query was kept for validation. On the training {which} {reached}."


def baseline_name(row: MeasuredRow) -> str:
    """What a baseline is called in a sentence."""
    if row.name in ("mean_feature", "equal_scores"):
        return LEVELS[row.name]
    if row.name != "best_feature" or not row.description.startswith(_FEATURE):
        return row.description
    name, direction = row.description.removeprefix(_FEATURE).rsplit(", ", 1)
    return f"the best single feature ({quote_name(name)}, {direction})"


def lead_sentence(row: MeasuredRow, measured: Measured) -> str:
    """How the ranker compares with a baseline: a difference inside the noise is no lead."""
    name, lead = baseline_name(row), row.lead
    if lead is None:
        return f"The ranker cannot be compared with {name}: the measure is not defined."
    figures = f"its lead is {signed(lead.mean, DECIMALS)}"
    if lead.low is None:
        return f"One query cannot say whether it is better than {name}: {figures} there."
    figures += f", with a 90 % interval from {interval(lead.low, lead.high, DECIMALS)}"
    if row.verdict == "unknown":
        return f"Whether it is better than {name} on new queries is not known: on the training queries {figures}."
    within = " within the noise" if row.verdict == "no better" else ""
    even = "Even there it" if measured.on == "training" else "It"
    verdict = "ahead of" if row.verdict == "ahead" else f"{row.verdict} than"
    return f"{even} is {verdict} {name}{within}: {figures}."


def order_name(row: MeasuredRow) -> str:
    """What an order in the table of measures is called. Of a ranker chosen among several it says which it is."""
    if row.name != "ranker":
        return row.description
    return f"the ranker: {row.description}" if row.description else "the ranker"


def lead_label(row: MeasuredRow) -> str:
    """A verdict in the table of measures, next to the baseline that it is about."""
    if row.verdict in ("better", "ahead", "worse"):
        return f"ranker is {row.verdict}"
    others = {"no better": "ranker is no better within the noise", "unknown": "ranker is not known to be better"}
    return others.get(row.verdict, "")


def explain_measures(measured: Measured) -> str:
    """How to read the table of measures."""
    kind = "" if measured.on == "folds" else f"{measured.on} "
    text = f"Each figure is the mean over the {measured.queries:,} {kind}queries; larger is better."
    if measured.queries == 1:
        text = f"Each figure is for the one {kind}query; larger is better."
    if measured.measure == crowd_words.LIKELIHOOD:
        text = f"{text} The list likelihood is the log likelihood of a query's judgments."
    if measured.axis is None:
        return text
    return (
        f"{text} The ranker's lead is the mean difference of {measured.measure} by query: if its interval "
        "reaches 0, the ranker cannot be told apart from the baseline."
    )


def importance_meaning(scorer: str, fit: Mapping[str, Any]) -> str:
    """What the importance of a feature is."""
    standardize = fit["details"].get("standardize")
    parts = [_IMPORTANCE.get(scorer, "The share of each feature in the sum of the importance of all features.")]
    if scorer != "trees":
        usual = "Features are standardized first, so features of different units can be compared."
        parts.append(usual if standardize else "Features are not standardized, so it depends on a feature's unit.")
    parts.append("Features that say the same divide the importance among them.")
    return " ".join(parts)


def share_text(share: float) -> str:
    """A share of the importance in percent, with two digits."""
    if share < 0.0001:
        return "below 0.01 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def importance_rest(found: ImportanceSummary) -> str:
    """What the table of features leaves out; empty if nothing."""
    if not found.rows:
        return "No feature matters: every document gets the same score."
    more = found.features - found.unused - len(found.rows)
    parts = []
    if more:
        share = f"has {share_text(found.rest)}" if more == 1 else f"have {share_text(found.rest)} together"
        parts.append(f"{count_noun(more, 'more feature')} {share}.")
    if found.unused:
        have = "has" if found.unused == 1 else "have"
        parts.append(f"{count_noun(found.unused, 'feature')} {have} no importance.")
    if more or found.unused:
        parts.append("The importance file has all of them.")
    return " ".join(parts)


def query_sentences(report: TrainingReport) -> Iterator[str]:
    """Which queries are shown, how many of them can be judged, and what the mean over them is."""
    found, measured = report.queries, report.measured
    if found is None:
        return
    total = count_noun(found.queries, "query", "queries")
    measure = "measure" if measured is None else measured.measure
    which = "which the ranker has seen" if report.crowd is None else "whose judgments the ranker has seen"
    seen = f", {which}" if report.queries_of == "training" else ""
    yield f"Measured on the {report.queries_of} {'query' if found.queries == 1 else 'queries'}{seen}."
    if found.empty:
        has = "has" if found.empty == 1 else "have"
        yield f"{found.empty:,} of {total} {has} nothing relevant, so no order there is better than another."
        if found.mean is not None:
            yield f"Over the others the mean of {measure} is {number(found.mean, DECIMALS)}."
    if len(found.rows) < found.queries - found.empty:
        yield f"These are the worst {len(found.rows)}; the queries file has all of them."


def query_name(row: QueryRow | ListRow) -> str:
    """The id of a query; the only one may have none."""
    return "(the only query)" if row.query is None else row.query


def tuned_measure(report: TrainingReport) -> str:
    """What the value of parameters that were tried is."""
    return "Value" if report.measured is None else report.measured.measure


def curve_sentence(found: ValidationCurve, unit: str, *, stopped: bool) -> str:
    """Which step is kept, and why. ``stopped``: validation stops training, and does not only watch."""
    steps = count_noun(len(found.step), unit)
    if found.chosen is None:
        return f"{found.measure} on the validation queries after each of {steps}."
    value = number(found.value[found.step.index(found.chosen)], DECIMALS)
    if not stopped:
        return (
            f"Training goes to the maximum of its objective, and validation only watches: the last of {steps} is "
            f"kept, with {found.measure} {value}."
        )
    return f"{unit.capitalize()} {found.chosen:,} is kept, the best of {steps}, with {found.measure} {value}."


def watching(found: ValidationCurve) -> str:
    """How often validation looked, if it only watches the training on judgments."""
    value = number(found.value[-1], DECIMALS).replace("-", "−")
    every = found.step[0]
    often = "each step" if every == 1 else f"every {every} steps"
    return (
        f"Training goes on until it settles, and validation only watches, after {often}. After step "
        f"{found.step[-1]:,} the {found.measure} is {value}."
    )


def preparation(fit: Mapping[str, Any], *, takes_missing: bool) -> tuple[str, ...]:
    """What happens to features before they are scored."""
    impute = fit["parameters"].get("impute")
    if impute is None:
        missing = "Missing values are not filled: a document that has one cannot be scored."
        if takes_missing:
            missing = "Missing values are kept: each split of a tree has a side for them."
    elif isinstance(impute, str):
        missing = f"A missing value is replaced by the {impute} of its feature over the training documents."
    else:
        missing = f"A missing value is replaced by {signed(impute)}."
    return (
        missing,
        STANDARDIZE[fit["details"].get("standardize")],
        f"Features are found by name; all {fit['judgments']['features']:,} are needed, and others are ignored.",
    )


SCORING = "FOLDER is the folder of this report, and FEATURES a file with the features of the new documents."
"""What the words in the commands mean."""
JUDGED = "From Python, with judgments of new queries"
"""The name of the command that scores by features and judgments together."""


def scoring_commands(*, judgments: bool = False) -> tuple[tuple[str, str], ...]:
    """How to score new documents with the saved ranker. ``judgments``: it may use judgments of these, too."""
    commands = (
        ("On the command line", "crowdrank score FOLDER FEATURES"),
        ("From Python", 'crowdrank.load("FOLDER").score("FEATURES")'),
    )
    return (
        (*commands, (JUDGED, 'crowdrank.load("FOLDER").score("FEATURES", "JUDGMENTS")')) if judgments else commands
    )


def method(fit: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Names and values of everything needed to train again."""
    details = fit["details"]
    crowd = crowd_words.learned_from_crowd(fit)
    judged = (("Judgments given", crowd_words.given_judgments(fit)),) if crowd else ()
    name, value = "Objective", details.get("objective")
    if crowd:
        name, value = "Log likelihood", fit["log_likelihood"]
    rows = "Rows given" if "judgments" not in fit["judgments"] else "Rows of features given"
    return (
        ("Ranker", fit["model"]),
        ("Parameters", parameter_words(fit["parameters"])),
        ("Parameters of the scorer", parameter_words(details.get("scorer_parameters", {})) or "none"),
        ("Iterations", number(fit["iterations"]) + ("" if fit["converged"] else ", and training could go on")),
        *([] if value is None and not crowd else [(name, signed(value, 2))]),
        *judged,
        (rows, f"{fit['judgments']['rows']:,}, stored as {fit['judgments']['storage']}"),
        *environment_facts(dict(fit)),
    )
