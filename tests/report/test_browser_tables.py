"""Tables of the page in Chromium: sorting, searching, folding, choosing a query, by mouse and by keyboard."""

import re

import pytest

from browsing import HOSTILE, PHONE, column, heading

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


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
    for link, section in (("Skills", "skills"), ("Domains", "domains")):
        page.get_by_role("link", name=link).click()
        assert page.evaluate("document.activeElement.id") == section


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
