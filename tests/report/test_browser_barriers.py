"""No page has a barrier that axe finds, on a desk and on a phone, in light and in dark."""

import pytest

from browsing import PHONE, WIDE

PAGES = (
    "one", "many", "ranked", "labelled", "chosen", "contest", "domains", "training", "crowd", "remap", "replayed",
    "moved", "asked", "answered",
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
