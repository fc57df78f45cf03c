"""The report of a training run: its words follow the intervals, and its three forms say the same."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from crowdrank.errors import NotFittedError
from crowdrank.rankers.folds import cross_validate, train_on_all
from crowdrank.rankers.registry import make_ranker
from crowdrank.rankers.saved import load
from crowdrank.report import build_training, training_report_files, training_to_html, training_to_markdown

HOSTILE = "<img src=x onerror=alert(1)></script> a|b `c` *d*"


def documents(queries=30, rows=8, features=4, seed=3, noise=0.5, name="f{}", query="q{}"):
    """Labels 0 to 2 from two of the features; the last query has nothing relevant."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(queries * rows, features))
    score = values[:, 0] - values[:, 1] + noise * random.normal(size=queries * rows)
    label = np.digitize(score, [0.5, 1.5])
    label[-rows:] = 0
    return pl.DataFrame(
        {
            "query": [query.format(place // rows) for place in range(queries * rows)],
            "item": [f"d{place}" for place in range(queries * rows)],
            "label": label,
            **{name.format(column): values[:, column] for column in range(features)},
        }
    )


@pytest.fixture(scope="module")
def linear():
    return make_ranker("listmle", "linear").fit(documents(), validation=0.4)


@pytest.fixture(scope="module")
def seen():
    return make_ranker("regression", "linear").fit(documents())


def with_details(ranker, **details):
    """The ranker with other figures in its fit."""
    copy = ranker.clone()
    fit = replace(ranker.fit_, details={**ranker.fit_.details, **details})
    copy._trained = replace(ranker.trained_, fit=fit)
    return copy


def with_lead(ranker, mean, low, high):
    measured = ranker.fit_.details["measured"]
    lead = {**measured["best_feature"]["lead"], "mean": mean, "low": low, "high": high}
    return with_details(ranker, measured={**measured, "best_feature": {**measured["best_feature"], "lead": lead}})


def text_of(page):
    """What a reader of the page sees, without its style."""
    return re.sub(r"(?s)<style>.*?</style>|<[^>]+>", " ", page)


def test_the_headline_has_the_figures_of_the_fit(linear):
    report = build_training(linear)
    measured = linear.fit_.details["measured"]
    assert report.title == "Training of listmle with the scorer linear"
    assert report.headline[0] == "listmle with the scorer linear was trained on 144 documents of 18 queries."
    assert report.headline[1] == (
        f"On 12 queries kept for validation its nDCG@10 is {measured['ranker']['nDCG@10']:.4f}."
    )
    lead = measured["best_feature"]["lead"]
    assert f"its lead is {lead['mean']:.4f}, with a 90 % interval from" in report.headline[2]
    assert not any("chosen on these" in sentence for sentence in report.headline)


@pytest.mark.parametrize(
    ("low", "high", "words", "tone"),
    [
        (0.001, 0.2, "It is better than the best single feature (“f", "good"),
        (-0.001, 0.2, "It is no better than the best single feature (“f", "doubt"),
        (0.0, 0.0, "It is no better than", "doubt"),
        (-0.2, -0.001, "It is worse than the best single feature", "doubt"),
        (None, None, "One query cannot say whether it is better than the best single feature", "doubt"),
    ],
)
def test_a_claim_follows_the_interval(linear, low, high, words, tone):
    changed = with_lead(linear, 0.1 if low is None else (low + high) / 2, low, high)
    report = build_training(changed)
    assert report.headline[2].startswith(words)
    assert ("within the noise" in report.headline[2]) == ("no better" in words)
    assert report.measured.baselines[1].verdict == "better"  # so that the first one decides
    assert report.tone == tone
    assert (report.verdict == "The ranker beats the baselines") == (tone == "good")


def test_training_queries_prove_nothing(seen):
    report = build_training(seen)
    assert report.verdict == "The ranker was not measured on new queries"
    assert "On the training queries themselves" in report.headline[1]
    assert report.headline[1].endswith("which flatters it.")
    assert {row.verdict for row in report.measured.baselines} == {"unknown"}
    assert not any(re.search(r"\bis (better|ahead)", sentence) for sentence in text_of_headline(report))
    assert report.curve is None
    assert "<svg" not in training_to_html(report)
    low = build_training(with_lead(seen, 0.0, -0.1, 0.1))
    assert low.headline[2].startswith("Even there it is no better than")


def text_of_headline(report):
    return [sentence for sentence in report.headline if not sentence.startswith("Whether it is")]


def test_a_net_that_validation_chose_is_only_ahead():
    ranker = make_ranker("listmle", "net", {"patience": 5}).fit(documents(noise=0.1), validation=0.5)
    report = build_training(ranker)
    curve = report.curve
    assert {row.verdict for row in report.measured.baselines} == {"ahead"}
    assert (report.verdict, report.tone) == ("The ranker is ahead of the baselines", "plain")
    assert report.headline[-1].startswith("What is kept was chosen on these validation queries")
    assert curve.sentence.startswith(f"Step {curve.chosen} is kept, the best of {len(curve.steps)} steps")
    assert curve.values[curve.steps.index(curve.chosen)] == max(curve.values)
    assert "small change of the feature" in report.importance.meaning


@pytest.mark.lightgbm
def test_trees_have_rounds_and_keep_missing_values():
    frame = documents().with_columns(f3=pl.when(pl.col("f3") > 1).then(None).otherwise(pl.col("f3")))
    ranker = make_ranker("lambdamart", "trees", {"rounds": 12, "patience": 4, "min_rows": 5})
    files = training_report_files(ranker.fit(frame, validation=0.4))
    found = json.loads(files["report.json"])
    assert found["curve"]["unit"] == "round"
    assert found["preparation"][0].startswith("Missing values are kept")
    assert "gain of all splits" in found["importance"]["meaning"]
    assert "missing-values" in {caution["code"] for caution in found["cautions"]}
    assert f"kept: round {found['curve']['chosen']}" in files["report.html"]
    assert "rounds of training" in files["report.html"]


def test_every_note_is_there_with_its_meaning():
    frame = documents().with_columns(f2=pl.lit(1.0), label=pl.when(pl.col("label") < 2).then(pl.col("label")))
    ranker = make_ranker("regression", "net", {"limit": 2, "impute": "mean"}).fit(frame)
    report = build_training(ranker)
    found = {caution.code: caution for caution in report.cautions}
    assert {note.code for note in ranker.fit_.warnings} == set(found)
    assert {"not-converged", "unlabeled", "constant-features"} <= set(found)
    assert found["not-converged"].meaning == "More steps may still improve the ranker."
    for note in ranker.fit_.warnings:
        assert note.message in re.sub(r"\\(.)", r"\1", training_to_markdown(report))
    assert report.preparation[0].startswith("A missing value is replaced by the mean")


def test_the_curve_is_drawn_on_its_axes(linear):
    page = training_to_html(build_training(linear))
    svg = re.search(r"(?s)<svg class=\"chart\".*?</svg>", page)[0]
    path = re.search(r'class="curve" d="M([^"]+)"', svg)[1]
    points = [tuple(map(float, point.split())) for point in path.split("L")]
    assert len(points) == len(linear.validation_.step)
    heights = [y for _, y in points]
    assert heights.index(min(heights)) == int(np.argmax(np.round(linear.validation_.value, 4)))  # up is better
    assert all(52 <= x <= 468 and 24 <= y <= 226 for x, y in points)
    kept = re.search(r'class="kept" d="M([\d.]+) ', svg)
    assert float(kept[1]) == points[-1][0]
    assert f"kept: step {linear.validation_.chosen}" in svg
    assert svg.count('class="level') == 2
    assert "nDCG@10 on the validation queries" in re.search(r'aria-label="([^"]+)"', svg)[1]


def test_importance_shows_the_first_twenty_and_counts_the_rest():
    ranker = make_ranker("regression", "linear").fit(documents(features=1000).with_columns(f999=pl.lit(1.0)))
    report = build_training(ranker)
    shares = ranker.importance_.polars()
    assert [row.feature for row in report.importance.rows] == shares["feature"][:20].to_list()
    assert report.importance.unused == 1
    total = sum(row.share for row in report.importance.rows) + report.importance.rest
    assert total == pytest.approx(1, abs=0.01)
    assert "979 more features have" in training_to_html(report)
    assert "1 feature has no importance." in training_to_markdown(report)
    widths = [float(width) for width in re.findall(r"left:0;width:([\d.]+)%", training_to_html(report))]
    assert widths[0] == 100
    assert widths == sorted(widths, reverse=True)


def test_the_worst_queries_have_something_relevant(seen):
    report = build_training(seen)
    empty = documents().group_by("query").agg(pl.col("label").max()).filter(pl.col("label") == 0).height
    assert report.queries.empty == empty > 0
    assert f"{empty} of 30 queries have nothing relevant" in training_to_markdown(report)
    values = [row.values["nDCG@10"] for row in report.queries.rows]
    assert values == sorted(values)
    assert len(values) == 10
    assert all(row.relevant > 0 for row in report.queries.rows)
    useful = seen.queries_.polars().filter(pl.col("relevant") > 0)["nDCG@10"]
    assert report.queries.mean == pytest.approx(useful.mean(), abs=1e-4)


def test_one_query_without_an_id():
    frame = documents(queries=2).head(8).drop("query")
    files = training_report_files(make_ranker("regression", "linear").fit(frame))
    assert "One query is too few to judge the ranker" in files["report.html"]
    assert "(the only query)" in files["report.html"]
    assert "(the only query)" in files["report.md"]
    assert json.loads(files["report.json"])["queries"]["rows"][0]["query"] is None


def test_parameters_that_were_tried():
    ranker = make_ranker("listmle", "linear", {"tune": True}).fit(documents(), validation=0.4)
    report = build_training(ranker)
    kept = [row for row in report.tuned if row.chosen]
    assert len(report.tuned) == 4
    assert [row.value for row in kept] == [max(row.value for row in report.tuned)]
    assert kept[0].parameters["penalty"] == ranker.fit_.details["scorer_parameters"]["penalty"]
    assert training_to_html(report).count(">kept</span>") == 1
    assert training_to_markdown(report).count("| kept |") == 2  # the step and the parameters
    assert report.measured.chosen


def test_folds_are_queries_that_no_ranker_had_seen():
    ranker = make_ranker("listmle", "linear")
    found = cross_validate(ranker, documents(), 3)
    report = build_training(train_on_all(ranker, documents(), found))
    page = training_to_html(report)
    mean = found.queries.measures["nDCG@10"].mean()
    assert report.headline[1].endswith(f"a mean nDCG@10 of {mean:.4f} over 30 queries.")
    assert [row.queries for row in report.folds] == [10, 10, 10]
    assert found.leads["best_feature"]["queries"] == 30
    assert found.leads["best_feature"]["mean"] == pytest.approx(
        mean - found.summary()["nDCG@10"]["best_feature"], abs=1e-9
    )
    assert {row.verdict for row in report.measured.baselines} == {"better"}
    assert "Folds</h2>" in page
    assert "which the ranker has seen" in page


def test_too_many_features_for_baselines():
    ranker = make_ranker("listmle", "linear").fit(documents(queries=6, features=2001), validation=0.5)
    report = build_training(ranker)
    assert report.tone == "plain"
    assert "too many features" in report.headline[2]
    assert "Ranker's lead" not in training_to_markdown(report)


def test_names_and_ids_are_only_text():
    frame = documents(queries=6, name=HOSTILE + "{}", query="<b>query {}</b> " + "long_" * 30)
    files = training_report_files(make_ranker("listmle", "linear").fit(frame, validation=0.5))
    page, text = files["report.html"], files["report.md"]
    assert "<img" not in page
    assert "<b>" not in re.sub(r'<b style="left[^>]+>', "", page)
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert r"\<img src=x onerror=alert(1)\>\</script\> a\|b" in text
    assert r"\<b\>query" in text
    assert not re.search(r"(?<!\\)<", text)
    assert json.loads(files["report.json"])["importance"]["rows"][0]["feature"].startswith(HOSTILE)


def test_a_page_that_needs_nothing_from_outside(linear):
    page = training_report_files(linear)["report.html"]
    assert not re.search(r"<(script|link|img|iframe)|\ssrc\s*=|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    assert "default-src 'none'" in page
    for target in re.findall(r'href="#([\w-]+)"', page):
        assert f'id="{target}"' in page


def test_three_forms_of_one_content(linear):
    files = training_report_files(linear)
    assert list(files) == ["report.html", "report.md", "report.json"]
    found = json.loads(files["report.json"])
    page = text_of(files["report.html"])
    text = re.sub(r"\\(.)", r"\1", files["report.md"])
    said = [found["verdict"], *found["headline"], *found["preparation"], found["curve"]["sentence"]]
    said += [found["importance"]["meaning"], *(value for _, value in found["method"][:3])]
    said += [command for _, command in found["scoring"]]
    said += [f"{value:.4f}" for row in found["measured"]["rows"] for value in row["values"].values()]
    said += [row["query"] for row in found["queries"]["rows"]]
    for words in said:
        assert words in text
        assert words in page.replace("&#34;", '"').replace("&#39;", "'")
    assert found["fit"] == linear.fit_.as_dict()


def test_a_ranker_from_a_folder_has_its_figures(linear, tmp_path):
    linear.save(tmp_path / "ranker")
    loaded, first = build_training(load(tmp_path / "ranker")), build_training(linear)
    assert (loaded.headline, loaded.measured) == (first.headline, first.measured)
    assert (loaded.importance, loaded.preparation) == (first.importance, first.preparation)
    assert (loaded.curve, loaded.queries) == (None, None)
    assert "Worst queries" not in training_to_html(loaded)


def test_a_ranker_must_be_trained_first():
    with pytest.raises(NotFittedError):
        training_report_files(make_ranker("listmle"))
