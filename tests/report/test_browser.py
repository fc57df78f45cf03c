"""The page as a reader meets it: in Chromium, by mouse and by keyboard, on a desk, a phone and paper."""

import re
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.compare import Row
from crowdrank.rankers.registry import make_ranker
from crowdrank.report import (
    SavedResult,
    build,
    build_changes,
    build_contest,
    build_replay,
    changes_to_html,
    contest_to_html,
    replay_to_html,
    to_html,
    training_report_files,
)
from crowdrank.simulate.presets import simulate
from helpers import random_domains, random_labels, random_lists, random_votes

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 700}
HOSTILE = "<img src=x onerror=alert(1)></script>"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def written(folder, name, frame, model, *notes):
    fitted = model.fit(frame)
    path = folder / name
    page = to_html(build(fitted.result_.with_details(*notes)))
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """120 items and a loose one, 60 workers, warnings, and ids that would like to be markup."""
    votes = random_votes(items=120, workers=60, votes=6000)
    rows = [["w1", HOSTILE, "new", HOSTILE], ["<b>w", "new", HOSTILE, "tie"]]
    votes = pl.concat([votes, pl.DataFrame(rows, schema=votes.schema, orient="row")])
    codes = ("position", "few-judgments", "one-sided", "conversion", "rough-intervals")
    notes = [cr.Note(code, "A sentence that is long enough to be cut on a phone. " * 3) for code in codes]
    return written(tmp_path_factory.mktemp("one"), "report.html", votes, cr.CrowdBT(), *notes)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """40 queries, without workers."""
    votes = random_votes(items=15, queries=40, votes=8000).drop("worker")
    return written(tmp_path_factory.mktemp("many"), "report.html", votes, cr.BradleyTerry())


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The model with the most parameters a worker."""
    return written(tmp_path_factory.mktemp("judged"), "report.html", random_votes(), cr.JudgeBT())


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """A model that auto chose."""
    return written(tmp_path_factory.mktemp("chosen"), "report.html", random_votes(), cr.Auto(folds=2))


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    """Ranked lists of several queries."""
    return written(tmp_path_factory.mktemp("lists"), "report.html", random_lists(queries=3), cr.PlackettLuce())


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Labels, some of them below zero."""
    labels = random_labels(labels=1000, queries=2).with_columns(label=pl.col("label") - 2)
    return written(tmp_path_factory.mktemp("labels"), "report.html", labels, cr.DawidSkene())


@pytest.fixture(scope="module")
def domains(tmp_path_factory):
    """Queries with difficulties in ten domains, and 120 workers who know some of them."""
    fitted = cr.CrowdBT().fit(random_votes(items=8, workers=120, votes=6000, queries=30))
    found = replace(fitted.result_, further=random_domains(fitted, domains=10))
    path = tmp_path_factory.mktemp("domains") / "report.html"
    path.write_text(to_html(build(found)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def contest(tmp_path_factory):
    """A comparison with everything in it: best, as good, behind, order only, failed, and gold."""
    gold = pl.DataFrame({"item": [f"i{k}" for k in range(12)], "grade": range(12)})
    found = cr.compare_models(random_votes(), ["bt", "thurstone", "crowd-bt", "win-rate"], gold=gold)
    failed = Row("broken", error="no finite maximum")
    path = tmp_path_factory.mktemp("contest") / "report.html"
    page = contest_to_html(build_contest(replace(found, rows=(*found.rows, failed))))
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """Ways of asking side by side; each ran out of questions, so there is a warning."""
    settings = {"items": 8, "workers": 4, "pair_cap": 3}
    study = cr.replay(simulate="bt", budget=100, seeds=2, selects=["random", "even", "gain"], settings=settings)
    path = tmp_path_factory.mktemp("replayed") / "report.html"
    path.write_text(replay_to_html(build_replay(study)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
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


def column(page, table, number):
    return page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()


def heading(page, section, words):
    return page.locator(section).get_by_role("button", name=words, exact=True)


def test_a_heading_sorts_and_turns_round(visit, one):
    page = visit(one)
    assert column(page, "#items", 1)[:3] == ["1", "2", "3"]
    heading(page, "#ranking", "Votes").click()
    votes = [int(text) for text in column(page, "#items", 7)]
    assert votes == sorted(votes)
    assert page.locator("#items th[aria-sort]").get_attribute("aria-sort") == "ascending"
    heading(page, "#ranking", "Votes").click()
    votes = [int(text) for text in column(page, "#items", 7)]
    assert votes == sorted(votes, reverse=True)
    assert page.locator("#items th[aria-sort]").get_attribute("aria-sort") == "descending"
    heading(page, "#ranking", "Item").click()
    assert column(page, "#items", 4)[1:4] == ["i0", "i1", "i2"]


def test_search_counts_what_it_finds(visit, one):
    page = visit(one)
    page.get_by_label("Find an item").fill("I11")
    assert sorted(column(page, "#items", 4)) == sorted(["i11", *(f"i11{k}" for k in range(10))])
    assert page.locator("#ranking .count").inner_text() == "11 of 122 items"
    page.get_by_label("Find an item").fill("nobody")
    assert column(page, "#items", 4) == []
    assert page.locator("#ranking .count").inner_text() == "None of 122 items match."


def test_workers_are_found_by_verdict(visit, one):
    page = visit(one)
    page.get_by_label("Find a worker or a verdict").fill("reliable")
    assert {text.strip() for text in column(page, "#people", 2)} == {"reliable"}


def test_rows_come_in_pages(visit, one):
    page = visit(one)
    heading(page, "#ranking", "Score").click()  # in another order than that of the ranks nothing is folded
    assert len(column(page, "#items", 1)) == 50
    page.locator("#ranking .more").get_by_role("button", name="Show 50 more").click()
    assert len(column(page, "#items", 1)) == 100
    page.locator("#ranking .more").get_by_role("button", name="Show all 122 items").click()
    assert len(column(page, "#items", 1)) == 122
    assert page.locator("#ranking .more").is_hidden()


def test_large_tiers_are_folded_and_unfold(visit, one):
    """Of a tier of more than 20 items 10 are shown; paper, a search and another order have all of them."""
    page = visit(one)
    fold = page.locator("#items .fold").first
    first, last, more = map(int, re.search(r"Ranks (\d+) to (\d+): (\d+) more", fold.inner_text()).groups())
    assert last - first + 1 == more > 10
    ranks = [int(text) for text in page.locator("#items tbody tr:not(.fold) > :first-child").all_inner_texts()]
    assert first - 1 in ranks
    assert not set(range(first, last + 1)) & set(ranks)
    fold.get_by_role("button").click()
    assert page.evaluate("document.activeElement.cells[0].textContent") == str(first)
    ranks = [int(text) for text in page.locator("#items tbody tr:not(.fold) > :first-child").all_inner_texts()]
    assert first in ranks


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_what_to_know_leaves_room_for_the_ranking(visit, one, viewport):
    """Closed, it takes at most a fifth of the first screen; it opens by the keyboard; paper shows all of it."""
    page = visit(one, viewport)
    known = page.locator("#warnings")
    assert known.bounding_box()["height"] <= viewport["height"] / 5
    entry = known.locator("details").first
    assert not entry.locator(".advice").is_visible()
    entry.locator("summary").focus()
    page.keyboard.press("Enter")
    assert entry.locator(".advice").is_visible()
    page.emulate_media(media="print")
    shown = known.locator(".advice").evaluate_all("(all) => all.map((own) => own.checkVisibility())")
    assert len(shown) > 3
    assert all(shown)


def test_long_names_are_cut_until_they_have_the_focus(visit, training):
    page = visit(training)
    name = page.locator(".importance .long").first
    assert name.get_attribute("title") == name.text_content()
    cut = name.bounding_box()["height"]
    name.focus()
    assert name.bounding_box()["height"] > cut


def test_names_are_only_text(visit, one):
    page = visit(one)
    page.get_by_label("Find an item").fill("onerror")
    assert page.locator("#items tbody bdi").all_inner_texts() == [HOSTILE]
    assert page.locator("img").count() == 0


def test_the_keyboard_reaches_everything(visit, one):
    page = visit(one)
    heading(page, "#ranking", "Score").focus()
    page.keyboard.press("Enter")
    assert page.locator("#items th[aria-sort]").inner_text().startswith("Score")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.locator("#ranking .more button").first.focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.rowIndex") == 51  # on at the first new row


def test_a_query_is_picked_and_the_address_keeps_it(visit, many):
    page = visit(many)
    title = page.locator("#ranking-title")
    assert title.inner_text() == "Ranking of query q0"
    page.get_by_label("Query", exact=True).fill("q17")
    page.get_by_label("Query", exact=True).press("Enter")
    playwright.expect(title).to_have_text("Ranking of query q17")
    assert page.url.endswith("#query=q17")
    assert visit(page.url).locator("#ranking-title").inner_text() == "Ranking of query q17"
    page.get_by_label("Find a query").fill("q23")
    page.get_by_role("link", name="q23").click()
    playwright.expect(title).to_have_text("Ranking of query q23")
    page.get_by_role("link", name="Connections").click()
    assert page.url.endswith("#query=q23")
    page.get_by_label("Query", exact=True).fill("q99")
    page.get_by_label("Query", exact=True).press("Enter")
    assert page.locator(".wrong").inner_text() == "There is no such query here."


def test_the_picture_has_a_square_for_each_pair(visit, many):
    page = visit(many)
    assert page.locator("#picture rect:not(.asked)").count() == 2 * 15 * 14  # votes, and who beats whom
    label = page.locator("#picture svg").first.get_attribute("aria-label")
    assert re.search(r"\d+ of 105 possible pairs were compared", label)


def test_where_the_next_votes_go_is_outlined(visit, one):
    page = visit(one)
    hint = page.locator("#picture .asked title").first.text_content()
    assert re.fullmatch(r"Ask about ranks \d+ and \d+: 1 of (\d+) next votes", hint)
    assert page.locator("#picture .asked").count() == int(hint.split()[-3])


def test_the_chances_of_both_sides_add_up(visit, many):
    page = visit(many)
    words = page.locator("#picture figure").nth(1).locator("title").all_text_contents()
    found = {}
    for text in words:
        row, column, chance = re.fullmatch(r"P\(rank (\d+) beats rank (\d+)\) = ([\d.]+)", text).groups()
        found[int(row), int(column)] = float(chance)
    assert len(found) == 15 * 14
    assert all(found[i, j] + found[j, i] == pytest.approx(1.0) for i, j in found)
    assert found[1, 15] > 0.9


def test_lists_have_their_own_words(visit, ranked):
    page = visit(ranked)
    heading(page, "#ranking", "Lists").click()
    counts = [int(text) for text in column(page, "#items", 7)]
    assert counts == sorted(counts)
    label = page.locator("#picture svg").first.get_attribute("aria-label")
    assert re.fullmatch(r"Who shares a list .*: For \d+ of 28 possible pairs some list holds both items\.", label)
    assert re.search(r" An item is in \d+ to \d+ \(median \d+\) lists\.$", page.locator(".links").inner_text())
    assert page.locator("#agreement svg text").first.text_content() == "Worker"
    assert re.search(r": \d+ lists?$", page.locator("#picture rect title").first.text_content())
    assert "vote" not in page.locator("main").inner_text()


def test_labels_sort_and_stay_as_they_were_written(visit, labelled):
    rows = visit(labelled, java_script_enabled=False).locator("#items tbody tr").all_inner_texts()
    page = visit(labelled)
    assert page.locator("#items tbody tr").all_inner_texts()[: len(rows)] == rows
    heading(page, "#ranking", "Label").click()
    labels = [text.replace("−", "-").split() for text in column(page, "#items", 8)]
    numbers = [int(label) for label, _ in labels]
    assert numbers == sorted(numbers)
    assert numbers[0] == -1
    assert all(re.fullmatch(r"\([01]\.\d\d\)", chance) for _, chance in labels)
    assert page.locator("#connections").count() == 0
    assert page.get_by_role("link", name="Connections").count() == 0


def test_a_label_is_told_on_a_phone(visit, labelled):
    page = visit(labelled, PHONE)
    small = page.locator("#items tbody .small").first
    assert small.is_visible()
    assert re.fullmatch(r"tier \d+, rank \d+–\d+, label −?\d \([01]\.\d\d\)", small.inner_text())


def test_workers_by_domain_sort_search_and_come_in_pages(visit, domains):
    first = visit(domains, java_script_enabled=False).locator(".skills tbody tr").all_inner_texts()
    page = visit(domains)
    rows = page.locator(".skills tbody tr")
    assert rows.all_inner_texts()[:20] == first
    assert rows.count() == 40
    judged = [int(text) for text in column(page, ".skills", 12)]
    assert judged == sorted(judged, reverse=True)
    heading(page, "#skills", "Domain 3").click()
    qualities = [float(text.split()[0]) for text in column(page, ".skills", 4)]
    assert qualities == sorted(qualities)
    page.locator("#skills").get_by_label("Find a worker").fill("w11")
    assert sorted(column(page, ".skills", 1)) == sorted(["w11", *(f"w11{k}" for k in range(10))])
    page.get_by_role("link", name="Domains").click()
    assert page.evaluate("document.activeElement.id") == "skills"


def test_colours_of_skills_fade_with_the_interval(visit, domains):
    page = visit(domains)
    shown = page.evaluate(r"""[...document.querySelectorAll(".skill")].map((cell) => {
        const [low, high] = cell.querySelector(".between").textContent.split(" to ").map(Number);
        const [light, a, b] = getComputedStyle(cell).backgroundColor.match(/[\d.e-]+/g).map(Number);  // oklab
        return [high - low, Math.hypot(a, b)];
    })""")
    shown.sort()
    colours = [colour for _, colour in shown]
    assert sum(colours[:40]) > 1.5 * sum(colours[-40:]) > 0


def test_difficulties_sort_the_queries(visit, domains):
    first = visit(domains, java_script_enabled=False).locator("#queries tbody tr").all_inner_texts()
    page = visit(domains)
    as_links = page.locator("#queries tbody tr").all_inner_texts()
    assert sorted(as_links[:2]) == sorted(first[:2])  # q0 and q1 in either order of names
    heading(page, "#queries", "Difficulty").click()
    values = [float(text) for text in column(page, "#queries table", 5)]
    assert values == sorted(values)
    small = visit(domains, PHONE).locator("#queries .small").first
    assert re.fullmatch(r"difficulty [\d.]+, domain \d+ \(0\.\d\d\)", small.inner_text())


@pytest.mark.parametrize("kind", ["one", "many", "ranked", "labelled", "domains"])
def test_a_phone_needs_no_sideways_scrolling(visit, kind, request):
    page = visit(request.getfixturevalue(kind), PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    shown = page.locator("#items thead th:visible").all_inner_texts()
    assert [text.split("\n")[0].strip() for text in shown] == ["Rank", "Item", "Score", "90 % interval"]


def test_models_side_by_side_fit_every_width(visit, contest):
    for width in (1280, 800, 375):
        page = visit(contest, {"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        inside = page.evaluate("document.querySelector('.contest').getBoundingClientRect().right")
        assert inside <= page.evaluate("document.querySelector('main').getBoundingClientRect().right") + 1
    assert page.locator(".contest thead th:visible").count() == 3
    assert page.locator(".place").all_inner_texts()[0] == "best"


@pytest.mark.parametrize("kind", ["training", "crowd", "remap"])
def test_a_training_run_fits_every_width(visit, kind, request):
    for width in (1280, 800, 375):
        page = visit(request.getfixturevalue(kind), {"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        right = page.evaluate("document.querySelector('main').getBoundingClientRect().right")
        inside = page.locator("table, svg, thead .label").evaluate_all(
            "(found) => Math.max(...found.map((one) => one.getBoundingClientRect().right))"
        )
        assert inside <= right + 1
    assert page.locator("img").count() == 0
    assert page.locator(".importance tbody tr").count() == (10 if kind == "crowd" else 20)


def test_what_moved_fits_every_width(visit, moved):
    for width in (1280, 800, 375):
        page = visit(moved, {"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        right = page.evaluate("document.querySelector('main').getBoundingClientRect().right")
        inside = page.locator("table").evaluate_all(
            "(all) => Math.max(...all.map((own) => own.getBoundingClientRect().right))"
        )
        assert inside <= right + 1
    assert page.locator("img").count() == 0
    assert page.locator(".moves tbody tr").count() == 24


def test_workers_with_many_parameters_fit_every_width(visit, judged):
    for width in (1280, 800, 375):
        page = visit(judged, {"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_choice_is_reached_from_the_top(visit, chosen):
    page = visit(chosen)
    page.get_by_role("link", name="Choice").click()
    assert page.locator("#choice .track").count() == 5


def test_paper_has_all_rows_and_no_controls(visit, one):
    page = visit(one)
    page.emulate_media(media="print")
    playwright.expect(page.locator("#items tbody tr")).to_have_count(122)
    assert page.get_by_label("Find an item").is_hidden()
    assert page.locator("nav").is_hidden()
    page.emulate_media(media="screen")
    playwright.expect(page.locator("#items tbody tr")).to_have_count(50)


def test_without_scripts_the_first_rows_are_there(visit, one):
    page = visit(one, java_script_enabled=False)
    assert column(page, "#items", 1) == [str(rank) for rank in range(1, 21)]
    assert page.get_by_text("Scripts are off").is_visible()
    assert page.locator("#ranking .controls").is_hidden()


PAGES = (
    "one", "many", "ranked", "labelled", "chosen", "contest", "domains", "training", "crowd", "remap", "replayed",
    "moved",
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "viewport"),
    [
        *(pytest.param(kind, WIDE, id=f"{kind}-wide") for kind in PAGES),
        *(
            pytest.param(
                kind, PHONE, id=f"{kind}-phone", marks=() if kind in ("one", "crowd") else pytest.mark.long
            )
            for kind in PAGES
        ),
    ],
)
def test_no_barrier_is_found(visit, kind, viewport, request):
    """By all rules on a light page; a dark one has other colors, on every width, and is otherwise the same."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit(request.getfixturevalue(kind), viewport)
    dark = ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]})
    for scheme, rules in (("light", {}), dark) if viewport is WIDE else (("light", {}),):
        page.emulate_media(color_scheme=scheme)
        found = axe.run(page, options={"resultTypes": ["violations"], **rules}).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []
