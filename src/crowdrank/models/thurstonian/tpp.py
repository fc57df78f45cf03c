"""Thurstonian pairwise preferences: query difficulty, workers' expertise by domain, and truthfulness.

Wang, Wang, Jie, Zhai and Chang, Blind Men and The Elephant. For query l, of domain m and difficulty delta_l^2,
worker k perceives x_i ~ N(s_i, delta_l^2) once, and votes on every pair by the larger of two draws

    N(sgn(tau_{k,m}) x_i, tau_{k,m}^-2):      P(i over j | x) = Phi(tau_{k,m} (x_i - x_j) / sqrt 2)       (eq. 4)

|tau| is the worker's expertise in the domain. A negative tau reverses every answer. Domains are hidden.

There are two inferences. ``grid`` (``grid``, ``rounds``), the default, integrates out the perceived scores pair
by pair. ``gibbs`` (``sampler``) samples them, by the paper's sampler or by a form of it that mixes better. All
report the same composite likelihood (``answer``).

The likelihood does not change if the scores of a query are shifted, if everything is rescaled (eq. 15), or if both
s and tau of a domain are reversed. So scores are centered, delta^2 is 1 on average, and most workers of each
domain are honest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from crowdrank.data import Floats, Integers
from crowdrank.errors import InputError, Note, Remedy, UsageError
from crowdrank.models.agreement import TELLABLE, quality_notes
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.parameters import ESTIMATED, whole
from crowdrank.models.thurstonian.answer import Answer, TPPPredictor, log_likelihood
from crowdrank.models.thurstonian.grid import GridClimb, TPPSetting
from crowdrank.models.thurstonian.reading import AnswerAt, QueryCovariance, Reading, TypesAt, agreement, quantiles
from crowdrank.models.thurstonian.rounds import WIDEST
from crowdrank.models.thurstonian.sampler import SAMPLERS, SamplerForm, draw_answer
from crowdrank.models.thurstonian.types import GRID, HALF, SIZES, Types, evidence, mirror, softmax
from crowdrank.prepared.panels import Panel, panels
from crowdrank.prepared.votes import Votes
from crowdrank.results import LEVEL, NormalPosterior, Queries, Skills, Workers, Z, verdicts

INFERENCES = ("grid", "gibbs")
EMPTY = 0.5
"""A domain is empty if the probabilities of its queries sum to less than this."""
MOST_WEIGHT = 1e7
"""If the votes on a pair weigh more, the sandwich behind the standard errors loses its digits."""
MOST_SINGLY = 1e5
"""The largest weight of a vote for the printed sampler."""
LEARNING_ROUNDS = 50
"""Rounds that learn the crowd's types after the sampler, which does not learn them."""
DOUBT = 3.0
"""A domain may be reversed if the log-odds of its direction are smaller than this."""


class TPP(VotesModel):
    """Explains votes by hard queries, by workers who know one domain but not another, and by workers who lie.

        P(i over j | x) = Phi(tau_km (x_i - x_j) / sqrt 2),    x_i ~ N(s_i, delta_l^2)

    x is what worker k perceives of query l, and tau_km the worker's expertise in its domain m. Wang et al. 2016,
    eq. 4.

    ``domains``: how many; ``"estimated"`` chooses the number by held-out votes; a mapping gives the known domain
    of queries by id (the others are inferred). ``expertise``: ``"by-worker"``, or ``"shared"`` by all workers (the
    paper's TPPUniExp). ``difficulty``: ``"by-query"``, or ``"shared"`` by all queries (TPPUniDiff).
    ``domains=1`` is TPPUniDom. ``inference``: ``"grid"`` or ``"gibbs"``, see the module. ``sampler`` of ``gibbs``:
    ``"collapsed"``, or ``"printed"`` for the paper's, which draws domains by eq. 8.
    ``anchor_weight``: how many votes of a perfect worker each gold pair counts as.

    >>> import crowdrank as cr
    >>> pairs = ["ab", "ac", "ad", "bc", "bd", "cd"]
    >>> votes = [(w, i, j) for w in ("ann", "bob", "joe") for i, j in pairs] + [("eve", j, i) for i, j in pairs]
    >>> model = cr.TPP(domains=1).fit(votes)  # eve lies
    >>> [(row["worker"], round(row["truthful"], 1)) for row in model.skills_.frame().to_dicts()]
    [('ann', 1.0), ('bob', 1.0), ('eve', 0.0), ('joe', 1.0)]
    """

    name = "tpp"
    needs_workers = True
    anchors: ClassVar[frozenset[str]] = frozenset({"pairs"})

    def __init__(
        self,
        *,
        domains: int | str | Mapping[str, Any] = "estimated",
        expertise: str = "by-worker",
        difficulty: str = "by-query",
        inference: str = "grid",
        sampler: str = "collapsed",
        anchor_weight: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.domains = domains
        self.expertise = expertise
        self.difficulty = difficulty
        self.inference = inference
        self.sampler = sampler
        self.anchor_weight = anchor_weight
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        setting, names = self._setting(votes)
        _refuse_heavy(votes)
        shards = panels(votes)
        if self.inference == "grid":
            solution = _solve_on_grid(votes, shards, run, setting)
        else:
            solution = _solve_by_sampling(votes, shards, run, setting, SAMPLERS[self.sampler])
        return _Findings(votes, shards, run, setting, *solution).outcome(names)

    def _setting(self, votes: Votes) -> tuple[TPPSetting, list[str] | None]:
        shared = _require_choice("expertise", self.expertise, ("by-worker", "shared")) == "shared"
        by_query = _require_choice("difficulty", self.difficulty, ("by-query", "shared")) == "by-query"
        _require_choice("inference", self.inference, INFERENCES)
        _require_choice("sampler", self.sampler, tuple(SAMPLERS))
        if self.inference == "grid" and SAMPLERS[self.sampler] != SamplerForm():
            raise UsageError(
                f"The parameter 'sampler' applies only with inference=gibbs. Got {self.sampler!r} with grid.",
                hint=f"Add inference=gibbs, or leave out sampler={self.sampler}.",
            )
        worker = np.zeros(votes.n_workers, np.int64) if shared else np.arange(votes.n_workers)
        learned = int(worker.max()) + 1
        if votes.has_gold:
            worker = np.append(worker, learned)
        if not isinstance(self.domains, Mapping):
            count = None if self.domains == ESTIMATED else whole("domains", self.domains, low=1, high=1000)
            return TPPSetting(worker, learned, by_query, count), None
        known, names = _known_domains(votes, self.domains)
        return TPPSetting(worker, learned, by_query, len(names), known), names


def _require_choice(name: str, value: str, among: tuple[str, ...]) -> str:
    if value not in among:
        raise UsageError(f"The parameter {name!r} must be one of {', '.join(among)}. Got {value!r}.")
    return value


def _known_domains(votes: Votes, given: Mapping[str, Any]) -> tuple[Integers, list[str]]:
    """The domain of each query, or -1 if it is not given, and the names of the domains."""
    queries = [] if votes.index.queries is None else votes.index.queries.to_list()
    domain_of = {str(query): str(domain) for query, domain in given.items()}
    strangers, open_ones = sorted(set(domain_of) - set(queries)), set(queries) - set(domain_of)
    # If every query has a domain, the others were left out on purpose, for example to hold them out.
    if not domain_of or (strangers and open_ones):
        raise UsageError(
            f"The parameter 'domains' names queries nobody judged: {', '.join(strangers[:3]) or 'it is empty'}.",
            hint="Give a number of domains, or a mapping from query ids to domains.",
        )
    names = sorted(set(domain_of.values()))
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[domain_of[query]] if query in domain_of else -1 for query in queries]), names


Solution = tuple[Answer, Floats, Types, float, tuple[float, float], dict[int, float]]
"""An answer with |tau| <= 1, L_{m,k}(tau), the crowd's types, the score precision, the widths of ln delta^2 (see
``widths``), and held-out log-likelihoods."""


def _solve_on_grid(votes: Votes, shards: list[Panel], run: Run, setting: TPPSetting) -> Solution:
    found = GridClimb(shards, run, setting).run()
    types = softmax(found.types.prior(setting.learned, setting.gold) + found.like)
    tau = (types @ GRID).T[setting.worker]
    answer = Answer(
        found.score, np.exp(found.hard), found.domain, tau, found.theta, found.converged, found.rounds, []
    )
    return answer, found.like, found.types, found.precision, found.widths, found.held_out


def _solve_by_sampling(
    votes: Votes, shards: list[Panel], run: Run, setting: TPPSetting, form: SamplerForm
) -> Solution:
    if setting.known is not None or votes.has_gold:
        raise UsageError("The sampler does not accept known domains or gold pairs.", hint="Use inference=grid.")
    most = max(float(side.max(initial=0.0)) for shard in shards for side in (shard.wins, shard.losses))
    if not form.collapsed and most > MOST_SINGLY:
        raise UsageError(
            f"The printed sampler draws every vote singly, and one has a weight of {most:g}.",
            hint="Use sampler=collapsed, or divide all weights by a common number.",
        )
    held_out: dict[int, float] = {}
    domains = setting.domains
    if domains is None:
        domains, held_out = GridClimb(shards, run, setting).choose_number()
    answer = draw_answer(
        shards,
        run,
        workers=votes.n_workers,
        domains=domains,
        shared_expertise=setting.learned < votes.n_workers,
        shared_difficulty=not setting.by_query,
        form=form,
    ).rescale(SIZES[-1])
    at = AnswerAt(answer.score, np.log(answer.difficulty), answer.domain)
    like = run.engine.open(shards).evaluate(Reading(setting.worker).likes, at).like
    types = Types.start()
    for _ in range(LEARNING_ROUNDS):
        types = types.relearn(like)
    free = len(answer.score) - len(np.unique(votes.nodes.query))
    precision = free / max(float(np.square(answer.score).sum()), 1e-300)
    return answer, like, types, precision, (WIDEST, WIDEST), held_out


@dataclass(frozen=True, eq=False)
class _Findings:
    """An answer and the results that follow from it."""

    votes: Votes
    shards: list[Panel]
    run: Run
    setting: TPPSetting
    answer: Answer
    like: Floats
    crowd: Types
    precision: float
    widths: tuple[float, float]
    held_out: dict[int, float]

    @cached_property
    def prior(self) -> Floats:
        """ln of the prior of each expertise (K, T)."""
        return self.crowd.prior(self.setting.learned, self.setting.gold)

    def outcome(self, names: list[str] | None) -> Outcome:
        answer, votes = self.answer, self.votes
        kept = self._domains_to_keep(names is not None)
        answer = answer.keep_domains(kept)
        types = softmax(self.prior + self.like[kept])
        hard = np.log(answer.difficulty)
        at = TypesAt(answer.score, hard, answer.domain, types, self.precision, self.widths[1])
        parts = self.run.engine.open(self.shards).collect(Reading(self.setting.worker).read, at)
        unit = float(np.sqrt(answer.difficulty[np.unique(votes.nodes.query)].mean()))
        blocks = [block for part in parts for block in part["covariance"]]
        covariance = QueryCovariance(votes.nodes.query, blocks, 1.0 / unit)
        spread = votes.spread_scores(answer.score / unit, covariance)
        agreed = np.sum([part["agreed"] for part in parts], axis=0)
        cast = np.sum([part["votes"] for part in parts], axis=0)
        curve = np.where(cast[:, None] > 0, agreed, 0.5) / np.where(cast > 0, cast, 1.0)[:, None]
        judged = np.sum([part["judged"] for part in parts], axis=0)[:, : votes.n_workers]
        each = types[:, self.setting.worker[: votes.n_workers]]
        workers = self._workers(each, curve, np.where(judged.any(axis=0), judged, answer.theta[:, None]))
        perfect = float(curve.max(initial=0.5))
        return Outcome(
            spread=spread,
            workers=workers,
            converged=answer.converged,
            iterations=answer.rounds,
            log_likelihood=log_likelihood(self.shards, answer.score, answer.difficulty, answer.tau, answer.theta),
            notes=(*votes.notes(), *self._notes(kept, names), *quality_notes(votes, perfect)),
            details=self._details(answer, unit, kept, names),
            predictor=TPPPredictor(
                spread.score * unit, votes.nodes.query, answer, each, self.crowd, votes.tie_share
            ),
            posterior=NormalPosterior(covariance, "normal, sandwich of the composite likelihood"),
            tables={
                "queries": self._queries(answer, unit, np.concatenate([part["hard"] for part in parts])),
                "skills": self._skills(each, curve, judged, unit),
            },
        )

    def _domains_to_keep(self, named: bool) -> Integers:
        """The domains that have queries, largest first; or all, by name, if they are known."""
        mass = self.answer.domain.sum(axis=0)
        if named:
            return np.arange(len(mass))
        order = np.lexsort((evidence(self.like, self.prior), -np.round(mass, 6)))
        return order[(mass[order] >= EMPTY) | (np.arange(len(mass)) == 0)]

    def _direction_log_odds(self, kept: Integers) -> Floats:
        """Log-odds that each domain has the right direction."""
        like = self.like[kept]
        return evidence(like, self.prior) - evidence(mirror(like), self.prior)

    @property
    def _equally_hard(self) -> bool:
        """Whether the queries could have difficulties of their own, but the votes do not show any."""
        several = len(np.unique(self.votes.nodes.query)) > 1
        return self.setting.by_query and several and self.widths[0] == 0.0

    def _notes(self, kept: Integers, names: list[str] | None) -> list[Note]:
        answer, asked = self.answer, self.answer.domain.shape[1]
        notes = []
        if not answer.converged:
            message = f"The scores were still moving after {answer.rounds} rounds; they are provisional."
            notes.append(Note("not-converged", message))
        if self.held_out:
            votes = "The number of domains was chosen by how well it predicts held-out votes"
            notes.append(Note("domains", f"{votes}: {len(kept)}."))
        elif len(kept) < asked:
            message = f"Only {len(kept)} of {asked} domains have queries; the others were dropped."
            notes.append(Note("domains", message))
        if self._equally_hard:
            message = "The votes do not show that some queries are harder than others; all count as equally hard."
            notes.append(Note("difficulty", message))
        close = np.flatnonzero(self._direction_log_odds(kept) < DOUBT)
        if len(close):
            which = ", ".join(names[place] if names else str(place + 1) for place in close[:10])
            domains = f"domain {which}" if len(close) == 1 else f"domains {which}"
            what = "the ranking" if len(kept) == 1 and not names else domains
            message = f"Nearly as many workers contradict the order as support it: {what} may be reversed."
            notes.append(Note("mirror", message))
        return notes

    def _details(self, answer: Answer, unit: float, kept: Integers, names: list[str] | None) -> dict[str, Any]:
        how = "held-out votes" if self.held_out else "known" if names else "given"
        found: dict[str, Any] = {
            "number": len(kept),
            "chosen_by": how,
            "queries": [float(mass) for mass in answer.domain.sum(axis=0)],
            "log_odds_of_direction": [float(odds) for odds in self._direction_log_odds(kept)],
        }
        if names:
            found["names"] = names
        if self.held_out:
            found["held_out_log_likelihood"] = {str(count): value for count, value in self.held_out.items()}
        return {
            "intervals": "sandwich of the composite likelihood",
            "ties": "half",
            "domains": found,
            "identification": {
                "difficulty": "1 on average",
                "sd_of_log_difficulty": float(np.sqrt(self.widths[0])) if self.setting.by_query else 0.0,
                "sharpest_tau": float(SIZES[-1] * unit),
                "score_sd": float(self.precision**-0.5 / unit),
            },
            "honest": self.crowd.honest,
        }

    def _queries(self, answer: Answer, unit: float, variance: Floats) -> Queries:
        nodes, names = self.votes.nodes, self.votes.index.queries
        present = np.unique(nodes.query)
        weight = np.bincount(nodes.query, self.votes.graph.wins + self.votes.graph.losses) / 2
        reach = np.exp(Z * np.sqrt(variance)) if self.setting.by_query else np.ones(len(variance))
        difficulty = answer.difficulty / unit**2
        return Queries(
            query=pl.Series("query", [None], pl.String) if names is None else names.gather(present),
            judgments=weight[present],
            difficulty=difficulty[present],
            low=(difficulty / reach)[present],
            high=(difficulty * reach)[present],
            domain=answer.domain[present],
            backend=self.votes.backend,
        )

    def _skills(self, types: Floats, curve: Floats, judged: Floats, unit: float) -> Skills:
        """The skill table from ``types`` (M, K, T), ``curve`` (M, H) and ``judged`` (M, K)."""
        tail = (1 - LEVEL) / 2
        ends = quantiles(types, (tail, 1 - tail))
        low, high = (agreement(curve, ends[..., side]) for side in (0, 1))
        quality = np.einsum("mkt,mt->mk", types, agreement(curve, np.tile(GRID, (len(curve), 1))))
        low, high = np.minimum(low, quality), np.maximum(high, quality)
        tau = types @ GRID
        tau_low, tau_high = np.minimum(ends[..., 0], tau), np.maximum(ends[..., 1], tau)
        names = self.votes.index.workers
        assert names is not None
        count = len(types)
        return Skills(
            worker=names.gather(np.repeat(np.arange(len(names)), count)).alias("worker"),
            domain=np.tile(np.arange(1, count + 1), len(names)),
            judgments=judged.T.ravel(),
            quality=quality.T.ravel(),
            low=low.T.ravel(),
            high=high.T.ravel(),
            verdict=verdicts(low.T.ravel(), high.T.ravel(), tellable=float(curve.max()) > TELLABLE),
            tau=unit * tau.T.ravel(),
            tau_low=unit * tau_low.T.ravel(),
            tau_high=unit * tau_high.T.ravel(),
            truthful=_truthful_shares(types).T.ravel(),
            backend=self.votes.backend,
        )

    def _workers(self, types: Floats, curve: Floats, judged: Floats) -> Workers:
        """The worker table, averaged over the domains of each worker's votes, ``judged`` (M, K)."""
        share = judged / judged.sum(axis=0)
        agreed = agreement(curve, np.tile(GRID, (len(curve), 1)))
        own = np.einsum("mkt,mt->mk", types, agreed)
        variance = (types * (agreed[:, None] - own[..., None]) ** 2).sum(axis=2)
        quality, half = (share * own).sum(axis=0), Z * np.sqrt((share**2 * variance).sum(axis=0))
        low, high = np.clip(quality - half, 0.0, 1.0), np.clip(quality + half, 0.0, 1.0)
        names = self.votes.index.workers
        assert names is not None
        return Workers(
            worker=names,
            judgments=self.votes.judgments_of_workers,
            quality=quality,
            low=low,
            high=high,
            verdict=verdicts(low, high, tellable=float(curve.max()) > TELLABLE),
            further={"truthful": (share * _truthful_shares(types)).sum(axis=0)},
            backend=self.votes.backend,
        )


def _truthful_shares(types: Floats) -> Floats:
    """P(tau > 0). A worker who guesses counts as half truthful."""
    return np.asarray(types[..., HALF + 1 :].sum(axis=-1) + types[..., HALF] / 2)


def _refuse_heavy(votes: Votes) -> None:
    """Raise an error if the votes on a pair weigh so much that the standard errors would be rounding alone."""
    heaviest = float(votes.comparisons.weight.max(initial=0.0))
    if heaviest > MOST_WEIGHT:
        raise InputError(
            f"tpp takes a weight of up to {MOST_WEIGHT:g} on a pair. The largest is {heaviest:g}.",
            hint=("Divide all weights by one factor, or use ", Remedy("model", "judge-bt")),
        )
