"""Pages of every kind as files, made once, and a browser that opens them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from browsing import CHROMIUM, FLAGS, HOSTILE, WIDE
from crowdrank.compare import Row
from crowdrank.rankers.registry import make_ranker
from crowdrank.report import (
    SavedResult,
    build,
    build_answers,
    build_changes,
    build_contest,
    build_questions,
    build_replay,
    changes_to_html,
    contest_to_html,
    questions_to_html,
    replay_to_html,
    to_html,
    training_report_files,
)
from crowdrank.simulate.presets import simulate
from helpers import random_domains, random_labels, random_lists, random_votes


@pytest.fixture(scope="module")
def browser():
    """Chromium, if it and playwright are installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open an address; at the end nothing was asked of the network and nothing went wrong."""
    contexts, wrong = [], []

    def open_page(address, viewport=WIDE, **settings):
        context = browser.new_context(viewport=viewport, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        file = address.partition("#")[0]
        page.on("request", lambda asked: asked.url.partition("#")[0] == file or wrong.append(asked.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def written(folder, name, frame, model, *notes):
    fitted = model.fit(frame)
    path = folder / name
    page = to_html(build(fitted.result_.with_details(*notes)))
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def one(tmp_path_factory):
    """120 items and a loose one, 60 workers, warnings, and ids that would like to be markup."""
    votes = random_votes(items=120, workers=60, votes=6000)
    rows = [["w1", HOSTILE, "new", HOSTILE], ["<b>w", "new", HOSTILE, "tie"]]
    votes = pl.concat([votes, pl.DataFrame(rows, schema=votes.schema, orient="row")])
    codes = ("position", "few-judgments", "one-sided", "conversion", "rough-intervals")
    notes = [cr.Note(code, "A sentence that is long enough to be cut on a phone. " * 3) for code in codes]
    return written(tmp_path_factory.mktemp("one"), "report.html", votes, cr.CrowdBT(), *notes)


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """40 queries, without workers."""
    votes = random_votes(items=15, queries=40, votes=8000).drop("worker")
    return written(tmp_path_factory.mktemp("many"), "report.html", votes, cr.BradleyTerry())


@pytest.fixture(scope="session")
def judged(tmp_path_factory):
    """The model with the most parameters a worker."""
    return written(tmp_path_factory.mktemp("judged"), "report.html", random_votes(), cr.JudgeBT())


@pytest.fixture(scope="session")
def chosen(tmp_path_factory):
    """A model that auto chose."""
    return written(tmp_path_factory.mktemp("chosen"), "report.html", random_votes(), cr.Auto(folds=2))


@pytest.fixture(scope="session")
def ranked(tmp_path_factory):
    """Ranked lists of several queries."""
    return written(tmp_path_factory.mktemp("lists"), "report.html", random_lists(queries=3), cr.PlackettLuce())


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    """Labels, some of them below zero."""
    labels = random_labels(labels=1000, queries=2).with_columns(label=pl.col("label") - 2)
    return written(tmp_path_factory.mktemp("labels"), "report.html", labels, cr.DawidSkene())


@pytest.fixture(scope="session")
def domains(tmp_path_factory):
    """Queries with difficulties in ten domains, and 120 workers who know some of them."""
    fitted = cr.CrowdBT().fit(random_votes(items=8, workers=120, votes=6000, queries=30))
    found = replace(fitted.result_, further=random_domains(fitted, domains=10))
    path = tmp_path_factory.mktemp("domains") / "report.html"
    path.write_text(to_html(build(found)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def contest(tmp_path_factory):
    """A comparison with everything in it: best, as good, behind, order only, failed, and gold."""
    gold = pl.DataFrame({"item": [f"i{k}" for k in range(12)], "grade": range(12)})
    found = cr.compare_models(random_votes(), ["bt", "thurstone", "crowd-bt", "win-rate"], gold=gold)
    failed = Row("broken", error="no finite maximum")
    path = tmp_path_factory.mktemp("contest") / "report.html"
    page = contest_to_html(build_contest(replace(found, rows=(*found.rows, failed))))
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def replayed(tmp_path_factory):
    """Ways of asking side by side; each ran out of questions, so there is a warning."""
    settings = {"items": 8, "workers": 4, "pair_cap": 3}
    study = cr.replay(simulate="bt", budget=100, seeds=2, selects=["random", "even", "gain"], settings=settings)
    path = tmp_path_factory.mktemp("replayed") / "report.html"
    path.write_text(replay_to_html(build_replay(study)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def asked(tmp_path_factory):
    """The next questions of several queries, for judges, with long names and a warning."""
    long = pl.col("left", "right", "label").str.replace("^i1$", f"{HOSTILE} {'long_' * 20}")
    votes = random_votes(queries=3, votes=900).with_columns(long)
    judges = [f"{HOSTILE} {'long_' * 12}", "w1", "w2"]
    found = cr.next_questions(votes, 80, judges=judges, settings={"pair_cap": 5})
    path = tmp_path_factory.mktemp("asked") / "report.html"
    noted = replace(found, notes=(cr.Note("fewer-questions", "There are fewer questions. " * 9),))
    path.write_text(questions_to_html(build_questions(noted)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def answered(tmp_path_factory):
    """Answers of two judges, and how certain the ranking became."""
    found = cr.next_questions(random_votes(), 40, judges=["w1", "w2"])
    curve = [(count, 1 - 0.5 / (1 + count / 20)) for count in range(0, 41, 4)]
    path = tmp_path_factory.mktemp("answered") / "report.html"
    path.write_text(questions_to_html(build_answers(found.items, found.polars(), curve)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def moved(tmp_path_factory):
    """Two results of a few queries that differ, with workers whose verdict changed, and long names."""
    long = pl.col("left", "right", "label").str.replace("^i1$", f"{HOSTILE} {'long_' * 20}")
    results = []
    for seed in (0, 1):
        found = cr.CrowdBT().fit(random_votes(seed=seed, queries=2, votes=600).with_columns(long)).result_
        people = found.workers.polars().with_columns(verdict=pl.lit(["reliable", "malicious"][seed]))
        results.append(SavedResult(f"{HOSTILE}{seed}", found.fit.as_dict(), found.ranking.polars(), people))
    path = tmp_path_factory.mktemp("moved") / "report.html"
    path.write_text(changes_to_html(build_changes(*results)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def training(tmp_path_factory):
    """A training run with notes, tried parameters, a curve, and a query and features with long names."""
    random = np.random.default_rng(1)
    values = random.normal(size=(240, 30))
    label = np.digitize(values[:, 0] - values[:, 1] + random.normal(size=240), [0.5, 1.5])
    names = [f"{HOSTILE} a_long_name_{column}_{'x' * 40}" for column in range(30)]
    frame = pl.DataFrame({"query": [f"q{row // 8} {'long_' * 30}" for row in range(240)], "label": label})
    frame = frame.with_columns(item=pl.int_range(240).cast(pl.String), constant=1.0)
    ranker = make_ranker("listmle", "linear", {"tune": True})
    fitted = ranker.fit(frame.hstack(pl.DataFrame(values, schema=names)), validation=0.3)
    path = tmp_path_factory.mktemp("training") / "report.html"
    path.write_text(training_report_files(fitted)["report.html"], encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def crowd(tmp_path_factory):
    """A ranker from 12 workers, some with long names, and measured by their held-out lists."""
    made = simulate(
        "ltrma-h7", lists=16, test=0, documents=6, thetas="0.6,0.3,0.2,0.1,0.1,0,0,0,-0.1,-0.3,0.2,0.4"
    )
    long = pl.col("worker").str.replace("worker-01", f"{HOSTILE} {'long_' * 20}")
    ranker = make_ranker("ltrma-mle", "linear", {"iterations": 25})
    fitted = ranker.fit(made.features, made.judgments.with_columns(worker=long), validation=0.3)
    path = tmp_path_factory.mktemp("crowd") / "report.html"
    path.write_text(training_report_files(fitted)["report.html"], encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def remap(tmp_path_factory):
    """A ranker from labels of 30 workers, one with a long name, and of experts."""
    sizes = {"source": 24, "target": 8, "validation": 8, "test": 4, "documents": 10, "workers": 30}
    made = simulate("remap-real", honeypots=8, **sizes).tables()
    long = pl.col("worker").str.replace("worker-01", f"{HOSTILE} {'long_' * 20}")
    ranker = make_ranker("remap", None, {"rounds": 5, "mu": 0.3, "trees": 0, "baselines": "few"})
    known = {name: made[name] for name in ("target", "validation", "honeypots")}
    fitted = ranker.fit(made["features"], made["judgments"].with_columns(worker=long), **known)
    path = tmp_path_factory.mktemp("remap") / "report.html"
    path.write_text(training_report_files(fitted)["report.html"], encoding="utf-8")
    return path.as_uri()
