"""What holds of ranked lists alone, for every model that takes them as they are."""

import polars as pl
import pytest

import crowdrank as cr
from answers import codes, finite, fit, same
from crowdrank.models import entries

ENTRIES = [entry for entry in entries().values() if entry.kinds[0] == "rankings"]

pytestmark = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def test_lists_that_share_nothing(entry):
    rows = [("v", "a", 1), ("v", "b", 2), ("w", "a", 1), ("w", "b", 2), ("x", "c", 1), ("x", "d", 2)]
    model = fit(entry, pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row"))
    assert "disconnected" in codes(model)
    finite(model)


def test_missing_items(entry):
    rows = [(f"w{k}", item, place) for k in range(4) for place, item in enumerate("ab", 1)]
    rows += [("x", "c", 1), ("x", "b", 2)]
    table = cr.read(pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row"))
    assert table.missing == "unknown"
    order = {}
    for missing in ("below", "unknown"):
        model = fit(entry, cr.read(table, missing=missing))
        order[missing] = model.ranking_.polars()["item"].to_list()
        assert model.fit_.judgments["missing"] == missing
        assert ("missing" in codes(model)) == (missing == "below")
    assert order["below"][-1] == "c"  # four lists do not rank it, and so put it below
    assert order["unknown"][-1] == "b"


def test_rows_of_other_weights_in_any_order(entry):
    rows = [("w", "a", 1, 1.0), ("w", "b", 2, 9.0), ("v", "b", 1, 1.0), ("v", "c", 2, 2.0)]
    rows += [("v", "a", None, 5.0), ("u", "c", 1, 1.0), ("u", "a", 2, 1.0)]
    frame = pl.DataFrame(rows, schema=["worker", "item", "rank", "weight"], orient="row")
    one = fit(entry, frame)
    for seed in range(5):
        same(one, fit(entry, frame.sample(fraction=1, shuffle=True, seed=seed)))
