"""Difficulties and domains of queries, and workers by domain, in every form of the report."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.cli.output import Folder, write_result
from crowdrank.report import build, to_html, to_json, to_markdown
from crowdrank.report.domains import (
    NAMED,
    RUNS,
    domain_map,
    draw_domains,
    explain_domains,
    query_traits,
    skill_map,
)
from crowdrank.results import Queries, Skills, verdicts
from helpers import random_domains, random_votes

LOW, HIGH = np.array([0.7, 0.45, 0.1, 0.2]), np.array([0.9, 0.55, 0.3, np.inf])
QUERIES = Queries(
    query=pl.Series(["p", "q", "r"]),
    judgments=np.array([4.0, 5.0, 6.0]),
    difficulty=np.array([0.12345, 1.0, 2.0]),
    low=np.array([0.0, 0.5, 1.0]),
    high=np.array([0.5, 1.5, np.inf]),
    domain=np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]),
)
SKILLS = Skills(
    worker=pl.Series(["few", "few", "many", "many"]),
    domain=np.array([1, 2, 1, 2]),
    judgments=np.array([2.0, 1.5, 3.0, 9.0]),
    quality=np.array([0.8, 0.5, 0.2, 0.4]),
    low=LOW,
    high=HIGH,
    verdict=verdicts(LOW, HIGH),
    tau=np.array([1.0, 0.1, -1.0, 0.2]),
    tau_low=np.zeros(4),
    tau_high=np.ones(4),
    truthful=np.full(4, 0.5),
)


ALONE = replace(QUERIES, domain=np.ones((3, 1)))


class TestContent:
    def test_what_is_told_of_a_query(self):
        assert query_traits(QUERIES)["p"] == {
            "difficulty": 0.123, "difficulty_low": 0.0, "difficulty_high": 0.5, "domain": 1, "probability": 0.8,
        }  # fmt: skip
        assert query_traits(QUERIES)["q"]["domain"] == 2
        assert query_traits(QUERIES)["r"]["difficulty_high"] is None
        assert query_traits(None) == {}

    def test_one_domain_is_not_told(self):
        assert query_traits(ALONE)["p"]["domain"] is None
        assert skill_map(SKILLS, ALONE, 100) is None

    def test_workers_with_most_judgments_come_first(self):
        found = skill_map(SKILLS, QUERIES, 100)
        assert found.queries == (2, 1)
        assert [(row.worker, row.judgments) for row in found.rows] == [("many", 12), ("few", 3.5)]
        assert [skill.verdict for skill in found.rows[1].skills] == ["reliable", "spammer"]
        assert [vars(skill) for skill in found.rows[0].skills] == [
            {"judgments": 3, "quality": 0.2, "low": 0.1, "high": 0.3, "verdict": "malicious"},
            {"judgments": 9, "quality": 0.4, "low": 0.2, "high": None, "verdict": "unsure"},
        ]

    def test_a_large_map_is_cut_between_workers(self):
        found = skill_map(SKILLS, QUERIES, 3)
        assert found.workers == 2
        assert [(row.worker, len(row.skills)) for row in found.rows] == [("many", 2)]


def many_queries(count, domains=4, seed=0):
    """Queries whose domains are drawn at random."""
    chance = np.random.default_rng(seed).dirichlet(np.full(domains, 0.2), count)
    values = np.ones(count)
    names = pl.Series([f"q{place:04d}" for place in range(count)])
    return Queries(query=names, judgments=values, difficulty=values, low=values, high=values, domain=chance)


class TestMap:
    def test_queries_stand_by_domain_the_surest_first(self):
        found = domain_map(QUERIES)
        assert [(run.names, run.shares) for run in found.runs] == [
            (("p",), (0.8, 0.2)), (("r",), (0.6, 0.4)), (("q",), (0.3, 0.7)),
        ]  # fmt: skip
        assert [vars(own) for own in found.domains] == [
            {"queries": 2, "sure": 0, "probability": (0.8 + 0.6) / 2, "examples": ("p", "r")},
            {"queries": 1, "sure": 0, "probability": 0.7, "examples": ("q",)},
        ]
        assert domain_map(ALONE) is None
        assert domain_map(None) is None

    def test_a_domain_may_have_no_query(self):
        found = domain_map(replace(QUERIES, domain=np.array([[0.8, 0.2]] * 3)))
        assert vars(found.domains[1]) == {"queries": 0, "sure": 0, "probability": None, "examples": ()}

    @pytest.mark.parametrize("count", [NAMED, NAMED + 1, 784])
    def test_many_queries_stand_in_runs_of_one_domain(self, count):
        queries = many_queries(count)
        found = domain_map(queries)
        assert found.queries == count == sum(own.queries for own in found.domains)
        likely = np.bincount(queries.domain.argmax(axis=1), minlength=4)
        assert [own.queries for own in found.domains] == likely.tolist()
        assert len(found.runs) == count if count <= NAMED else len(found.runs) <= RUNS + 4
        total = sum(run.queries * np.array(run.shares) for run in found.runs)
        assert total == pytest.approx(queries.domain.sum(axis=0), abs=0.006 * count)

    @pytest.mark.parametrize(
        ("sure", "words"),
        [
            (0, "None of the 3 queries belongs to"), (1, "1 of the 3 queries belongs to"),
            (2, "2 of the 3 queries belong to"), (3, "Every one of the 3 queries belongs to"),
        ],
    )  # fmt: skip
    def test_how_many_are_almost_certain(self, sure, words):
        chance = np.array([[0.95, 0.05]] * sure + [[0.94, 0.06]] * (3 - sure))
        assert words in explain_domains(domain_map(replace(QUERIES, domain=chance)))

    def test_few_queries_have_their_names_beside_the_picture(self):
        drawn = draw_domains(domain_map(QUERIES)).svg
        assert re.findall(r"<title>(.*?)</title>", drawn)[2:] == [
            "p", "Query p: domain 1 with 0.80", "Query p: domain 2 with 0.20",
            "r", "Query r: domain 1 with 0.60", "Query r: domain 2 with 0.40",
            "q", "Query q: domain 1 with 0.30", "Query q: domain 2 with 0.70",
        ]  # fmt: skip

    def test_many_queries_are_as_wide_as_they_are_many(self):
        found = domain_map(many_queries(784))
        drawn = draw_domains(found).svg
        words = re.findall(r"<title>(\d+ queries|Query) ?,? ?(.*?): domain (\d) with (.*?)</title>", drawn)
        first = found.runs[0]
        assert words[0] == (f"{first.queries} queries", " to ".join(first.names), "1", f"{first.shares[0]:.2f}")
        assert len(words) == sum(share >= 0.01 for run in found.runs for share in run.shares)


@pytest.fixture(scope="module")
def fitted():
    model = cr.CrowdBT().fit(random_votes(queries=5, workers=60, votes=3000))
    return replace(model.result_, further=random_domains(model))


@pytest.fixture(scope="module")
def report(fitted):
    return build(fitted)


class TestForms:
    def test_the_page(self, report):
        html = to_html(report)
        assert re.findall(r"<h2 [^>]*>([^<]+)", html)[3:5] == ["Queries by domain", "Workers by domain"]
        assert html.count("<title>Query ") == 5 * 3
        assert html.count('class="skill ') == 20 * 3  # the first rows; all of them are embedded
        data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])
        assert [len(row) for row in data["skills"]["quality"]] == [3] * 60
        counts = re.findall(r'class="between">(\d+) <span class="word">', html)
        assert [int(count) for count in counts] == list(report.skills.queries)

    def test_colours_tell_quality_and_certainty(self, report):
        first = report.skills.rows[0].skills[0]
        cell = re.search(r'<td class="skill (up|down)" style="--far:(\d+)%;--sure:(\d+)%"', to_html(report))
        assert cell[1] == ("up" if first.quality >= 0.5 else "down")
        assert int(cell[2]) == round(min(250 * abs(first.quality - 0.5), 100))
        assert int(cell[3]) == round(60 * (1 - (first.high - first.low)))

    def test_markdown(self, report):
        text = to_markdown(report)
        first, row = report.queries[0], report.skills.rows[0]
        assert "## Queries" in text
        start = rf"\| {first.name} \| 12 \| {first.tiers} \| {first.difficulty:g} \| "
        assert re.search(rf"^{start}.* \| {first.domain} \({first.probability:.2f}\) \|$", text, re.M)
        assert f"| {row.worker} | {row.skills[0].quality:.2f}, {row.skills[0].low:.2f} to " in text
        top = report.domain_map.domains[0]
        row = f"| 1 | {top.queries} | {top.sure} | {top.probability:.2f} | {', '.join(top.examples)} |"
        assert row in text.splitlines()
        assert "The first 50 of 60 workers; the skills file has all of them." in text

    def test_json(self, report):
        data = json.loads(to_json(report))
        assert data["skills"]["rows"][0]["skills"][2] == vars(report.skills.rows[0].skills[2])
        assert data["queries"][4]["difficulty"] == report.queries[4].difficulty

    def test_without_them_nothing_is_said(self, fitted):
        plain = build(replace(fitted, further={}))
        assert 'id="skills"' not in to_html(plain)
        assert "by domain" not in to_html(plain)
        assert 'data-key="difficulty"' not in to_html(plain)
        assert "ifficulty" not in to_markdown(plain)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_they_have_files_of_their_own(fitted, tmp_path, form):
    with Folder(tmp_path) as folder:
        write_result(folder, fitted, None, "parquet")
    with Folder(tmp_path) as folder:
        write_result(folder, fitted, None, form)
    written = {path.name for path in tmp_path.iterdir()}
    assert {f"queries.{form}", f"skills.{form}"} <= written
    assert not written & {"queries.parquet", "skills.parquet"}
    read = pl.read_csv if form == "csv" else pl.read_json
    queries, skills = read(tmp_path / f"queries.{form}"), read(tmp_path / f"skills.{form}")
    assert queries.columns[:7] == ["query", "judgments", "difficulty", "low", "high", "domain", "probability"]
    assert queries["difficulty"].to_list() == pytest.approx(
        fitted.further["queries"].polars()["difficulty"].to_list()
    )
    assert skills.height == 60 * 3


def test_files_of_another_model_are_removed(fitted, tmp_path):
    plain = cr.BradleyTerry().fit(random_votes()).result_
    for model in (fitted, plain):
        with Folder(tmp_path) as folder:
            write_result(folder, model, None, "csv")
    assert not {"queries.csv", "skills.csv"} & {path.name for path in tmp_path.iterdir()}
