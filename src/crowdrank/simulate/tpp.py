"""Crowds whose workers know some domains better than others: the generator of TPP (Wang et al., section V-A).

Query l has the domain m_l, the difficulty delta_l^2 and documents with true scores s_li. Worker k perceives the
score x_kli ~ N(s_li, delta_l^2) of a document, once for each query, and answers with individual noise:

    i before j  if  sgn(tau_km) (x_kli - x_klj) + sqrt(2) / |tau_km| * N(0, 1) > 0,    m = m_l

Averaged over perception and noise, P(i before j) = Phi(sgn(tau) (s_i - s_j) / sqrt(2 / tau^2 + 2 delta^2)).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from crowdrank.data.arrays import Floats
from crowdrank.errors import UsageError
from crowdrank.simulate.crowd import Crowd, ids

DEMOGRAPHICS = {1: (0.2, 0.6, 0.1, 0.1), 2: (0.2, 0.4, 0.3, 0.1), 3: (0.2, 0.4, 0.1, 0.3)}
"""The share of each kind of worker in the paper's DEMO1 to DEMO3."""
KINDS = ("expert", "average", "spammer", "malicious")
DIFFICULTY = 0.1
"""The largest delta^2; it is drawn uniformly from 0 up to this."""


def tpp_crowd(
    *,
    seed: int = 0,
    queries: int = 100,
    documents: int = 30,
    workers: int = 10,
    domains: int = 10,
    sparsity: float = 0.1,
    demographic: int = 1,
    scores: str = "gaps",
    spammer: float = 0.1,
) -> Crowd:
    """The generator of TPP's section V-A, as its authors ran it.

    Each worker judges floor(``sparsity`` D(D-1)/2) distinct random pairs of every query. True scores are sums of
    U[0, 1] ``gaps``, or ``uniform`` on [0, 1] as in the text; the domain of a query is drawn uniformly. For every
    worker and domain, tau is 10 (expert), 5 (average), ``spammer`` or -10 (malicious), with the shares of the
    ``demographic``. The crowd also has the truth about its queries and its workers' skills.
    """
    rng = np.random.default_rng(seed)
    most = documents * (documents - 1) // 2
    asked = int(sparsity * most + 1e-9)  # 0.29 of 100 pairs are 29, not 28
    sizes = {"queries": queries, "workers": workers, "domains": domains}
    _check(sizes, asked, most, demographic, scores, spammer)
    truth = rng.random((queries, documents)) if scores == "uniform" else _sums_of_gaps(rng, queries, documents)
    difficulty = DIFFICULTY * rng.random(queries)
    kind = rng.choice(len(KINDS), (workers, domains), p=DEMOGRAPHICS[demographic])
    tau = np.array([10.0, 5.0, spammer, -10.0])[kind]
    domain = rng.integers(domains, size=queries)
    query, worker = np.repeat(np.divmod(np.arange(queries * workers), workers), asked, axis=1)
    pair = rng.random((queries * workers, most)).argsort(axis=1)[:, :asked].ravel()
    first, second = (side[pair] for side in np.triu_indices(documents, 1))
    perceived = rng.normal(truth[:, None], np.sqrt(difficulty)[:, None, None], (queries, workers, documents))
    expertise = tau[worker, domain[query]]
    ahead = perceived[query, worker, first] - perceived[query, worker, second]
    noise = np.sqrt(2.0) / np.abs(expertise) * rng.standard_normal(len(pair))
    winner = np.where(np.sign(expertise) * ahead + noise > 0, first, second)
    # neither the ids nor the sides may reveal the true order
    called = rng.permuted(np.tile(ids("item", documents), (queries, 1)), axis=1)
    swap = rng.random(len(pair)) < 0.5
    searches, people = ids("query", queries), ids("worker", workers)
    judgments = {
        "query": searches[query],
        "worker": people[worker],
        "left": called[query, np.where(swap, second, first)],
        "right": called[query, np.where(swap, first, second)],
        "label": called[query, winner],
    }
    gold = {"query": np.repeat(searches, documents), "item": called.ravel(), "grade": truth.ravel()}
    gap = np.abs(truth[query, first] - truth[query, second])
    quality = np.bincount(worker, chance(gap, expertise, difficulty[query])) / (queries * asked)
    skills = {
        "worker": np.repeat(people, domains),
        "domain": np.tile(np.arange(1, domains + 1), workers),
        "tau": tau.ravel(),
        "kind": np.array(KINDS)[kind].ravel(),
    }
    return Crowd(
        pl.DataFrame(judgments),
        pl.DataFrame(gold).sort("query", "item"),
        pl.DataFrame({"worker": people, "quality": quality}),
        queries=pl.DataFrame({"query": searches, "domain": domain + 1, "difficulty": difficulty}),
        skills=pl.DataFrame(skills),
    )


def chance(gap: Floats, tau: Floats, difficulty: Floats) -> Floats:
    """The probability of choosing the first of two documents if its true score is ``gap`` higher."""
    from scipy.special import ndtr

    found: Floats = ndtr(np.sign(tau) * gap / np.sqrt(2.0 / tau**2 + 2.0 * difficulty))
    return found


def _sums_of_gaps(rng: np.random.Generator, queries: int, documents: int) -> Floats:
    gaps = rng.random((queries, documents))
    gaps[:, 0] = 0.0
    return gaps.cumsum(axis=1)


def _check(sizes: Mapping[str, int], asked: int, most: int, demographic: int, scores: str, spammer: float) -> None:
    """Raise an error that names a setting from which no crowd can be made."""
    for name, size in sizes.items():
        if size < 1:
            raise UsageError(f"{name} must be at least 1. Got {name}={size}.")
    if not 1 <= asked <= most:
        raise UsageError(f"The sparsity leaves {asked} of the {most} pairs of a query to each worker.")
    if demographic not in DEMOGRAPHICS:
        raise UsageError(f"demographic must be 1, 2 or 3. Got {demographic}.")
    if scores not in ("gaps", "uniform"):
        raise UsageError(f"scores must be 'gaps' or 'uniform'. Got {scores!r}.")
    if spammer <= 0:
        raise UsageError(f"The tau of a spammer must be above 0. Got {spammer}.")
