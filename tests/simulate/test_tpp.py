"""The generator of TPP against its own equations."""

import numpy as np
import polars as pl
import pytest

from crowdrank.simulate import simulate, tpp_crowd
from crowdrank.simulate.tpp import DEMOGRAPHICS, KINDS, chance


def _told(crowd):
    """The votes, with the truth of each: is it right, the gap of the scores, tau and difficulty."""
    loser = pl.when(pl.col("label") == pl.col("left")).then("right").otherwise("left")
    best, worst = (crowd.gold.rename({"item": name, "grade": f"of_{name}"}) for name in ("label", "loser"))
    return (
        crowd.judgments.with_columns(loser=loser)
        .join(best, on=["query", "label"])
        .join(worst, on=["query", "loser"])
        .join(crowd.queries, on="query")
        .join(crowd.skills, on=["worker", "domain"])
        .with_columns(
            correct=pl.col("of_label") > pl.col("of_loser"), gap=(pl.col("of_label") - pl.col("of_loser")).abs()
        )
    )


@pytest.mark.parametrize(
    ("documents", "sparsity", "pairs"), [(30, 0.05, 21), (30, 0.1, 43), (5, 0.5, 5), (5, 1.0, 10)]
)
def test_every_worker_judges_her_share_of_distinct_pairs(documents, sparsity, pairs):
    crowd = tpp_crowd(seed=1, queries=20, documents=documents, workers=7, sparsity=sparsity)
    pair = pl.concat_str(pl.min_horizontal("left", "right"), pl.max_horizontal("left", "right"), separator=" ")
    counts = crowd.judgments.group_by("query", "worker").agg(pl.len(), pair.n_unique().alias("distinct"))
    assert len(counts) == 20 * 7
    assert (counts["len"] == pairs).all()
    assert (counts["distinct"] == pairs).all()


@pytest.mark.parametrize("name", ["tpp", "tpp-text"])
def test_votes_are_right_as_often_as_the_equation_says(name):
    """With two documents a worker's votes share nothing, so each bin is a binomial count."""
    crowd = simulate(name, seed=2, queries=4000, documents=2, workers=50, sparsity=1.0)
    told = _told(crowd)
    expected = chance(*(told[column].to_numpy() for column in ("gap", "tau", "difficulty")))
    bins = told.select("kind", "correct", expected=expected).with_columns(bin=(pl.col("expected") * 10).floor())
    found = bins.group_by("kind", "bin").agg(
        pl.len(),
        pl.col("correct").sum(),
        pl.col("expected").sum(),
        (pl.col("expected") * (1 - pl.col("expected"))).sum().alias("var"),
    )
    assert len(found) >= 4
    assert set(found["kind"]) == set(KINDS)
    assert (np.abs(found["correct"] - found["expected"]) < 4.5 * np.sqrt(found["var"]) + 1).all()


def test_a_worker_perceives_a_document_once_in_a_query():
    """Without noise of their own her votes are an order: never a circle, and not always the true order."""
    crowd = tpp_crowd(seed=3, queries=300, documents=4, domains=3, sparsity=1.0, demographic=2, spammer=1e9)
    told = _told(crowd).filter(pl.col("kind") == "spammer")
    wins = told.group_by("query", "worker", "label").len().group_by("query", "worker").agg(pl.col("len").sort())
    assert len(wins) > 300
    assert all(own == [1, 2, 3] for own in wins["len"].to_list())
    assert 0.6 < told["correct"].mean() < 0.99
    said = pl.min_horizontal("left", "right"), pl.max_horizontal("left", "right")
    orders = told.group_by("query", "worker").agg(pl.col("label").sort_by(*said).str.join(" "))
    assert orders.group_by("query").agg(pl.col("label").n_unique())["label"].max() > 1  # each perceives her own


@pytest.mark.parametrize("demographic", DEMOGRAPHICS)
def test_kinds_domains_scores_and_difficulties_are_drawn_as_said(demographic):
    crowd = tpp_crowd(seed=4, queries=2000, documents=5, workers=400, sparsity=0.1, demographic=demographic)
    shares = crowd.skills.group_by("kind").len()
    assert crowd.skills.height == 400 * 10
    for kind, count in shares.iter_rows():
        share = DEMOGRAPHICS[demographic][KINDS.index(kind)]
        assert abs(count - 4000 * share) < 4 * np.sqrt(4000 * share * (1 - share))
    assert dict(crowd.skills.select("kind", "tau").unique().iter_rows()) == {
        "expert": 10, "average": 5, "spammer": 0.1, "malicious": -10,
    }  # fmt: skip
    assert np.abs(np.bincount(crowd.queries["domain"], minlength=11)[1:] - 200).max() < 4 * np.sqrt(180)
    assert crowd.queries["difficulty"].mean() == pytest.approx(0.05, abs=4 * 0.1 / np.sqrt(12 * 2000))
    sums = crowd.gold.group_by("query").agg(
        pl.col("grade").min().alias("least"), pl.col("grade").max().alias("most")
    )
    assert (sums["least"] == 0).all()
    assert sums["most"].mean() == pytest.approx(2.0, abs=4 * np.sqrt(4 / 12 / 2000))
    uniform = simulate("tpp-text", seed=4).gold["grade"]
    assert uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * 3000))


def test_neither_ids_nor_sides_tell_the_order():
    crowd = tpp_crowd(seed=5)
    number = crowd.gold["item"].str.tail(2).cast(pl.Int64).to_numpy()
    assert abs(np.corrcoef(number, crowd.gold["grade"])[0, 1]) < 0.08
    assert (crowd.judgments["label"] == crowd.judgments["left"]).mean() == pytest.approx(0.5, abs=0.01)


def test_a_workers_quality_is_how_often_she_should_be_right():
    crowd = tpp_crowd(seed=6, queries=1000, documents=2, sparsity=1.0)
    share = _told(crowd).group_by("worker").agg(pl.col("correct").mean()).join(crowd.workers, on="worker")
    assert len(share) == 10
    assert np.abs(share["correct"] - share["quality"]).max() < 4 * 0.5 / np.sqrt(1000)


def test_the_command_writes_queries_and_skills(crowdrank, tmp_path):
    assert (
        crowdrank("simulate", "tpp-text", "--out", "crowd", "--set", "queries=5", "--set", "scores=gaps").code == 0
    )
    written = {path.name for path in (tmp_path / "crowd").iterdir()}
    assert written == {f"{name}.csv" for name in ("judgments", "gold", "workers", "queries", "skills")}
    assert pl.read_csv(tmp_path / "crowd" / "queries.csv").columns == ["query", "domain", "difficulty"]
    assert pl.read_csv(tmp_path / "crowd" / "skills.csv").columns == ["worker", "domain", "tau", "kind"]
