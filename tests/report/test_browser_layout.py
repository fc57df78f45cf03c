"""Pages on a desk, a phone and paper, and without scripts: everything fits and nothing is missing."""

import re

import pytest

from browsing import PHONE, WIDE, column

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


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


def test_a_label_is_told_on_a_phone(visit, labelled):
    page = visit(labelled, PHONE)
    small = page.locator("#items tbody .small").first
    assert small.is_visible()
    assert re.fullmatch(r"tier \d+, rank \d+–\d+, label −?\d \([01]\.\d\d\)", small.inner_text())


@pytest.mark.parametrize("kind", ["one", "many", "ranked", "labelled", "domains"])
def test_a_phone_needs_no_sideways_scrolling(visit, kind, request):
    page = visit(request.getfixturevalue(kind), PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    shown = page.locator("#items thead th:visible").all_inner_texts()
    assert [text.split("\n")[0].strip() for text in shown] == ["Rank", "Item", "Score", "90 % interval"]


@pytest.mark.parametrize("width", [1050, 980, 900, 840])
def test_queries_with_difficulties_fit_between_a_phone_and_a_desk(visit, domains, width):
    page = visit(domains, {"width": width, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


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


@pytest.mark.parametrize("kind", ["asked", "answered", "replayed"])
def test_pages_on_asking_fit_every_width(visit, kind, request):
    for width in (1280, 800, 375):
        page = visit(request.getfixturevalue(kind), {"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        right = page.evaluate("document.querySelector('main').getBoundingClientRect().right")
        inside = page.locator("table, svg, thead th").evaluate_all(
            "(all) => Math.max(...all.map((own) => own.getBoundingClientRect().right))"
        )
        assert inside <= right + 1
    assert page.locator("img").count() == 0


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
