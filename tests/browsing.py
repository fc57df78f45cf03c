"""What tests of pages in a browser share."""

import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 700}
HOSTILE = "<img src=x onerror=alert(1)></script>"
"""An id that would like to be markup."""


def column(page, table, number):
    """The cells of a column of a table, as text."""
    return page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()


def heading(page, section, words):
    """The button in the heading of a column."""
    return page.locator(section).get_by_role("button", name=words, exact=True)
