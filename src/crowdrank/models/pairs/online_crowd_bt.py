"""Online Crowd-BT: scores and qualities, current after each vote (Chen et al. 2013, section 4.1).

Scores are independent normals, qualities independent Beta variables. A vote is explained as in Crowd-BT: worker k
repeats the outcome of a Bradley-Terry contest with probability eta_k and reverses it otherwise. After the vote the
posterior is again approximated by normals and a Beta distribution:

    assumed-density   the mean and the variance of a score move by the derivatives of ln Z, Z the probability of
                      the vote with all else integrated out (see kernels.filtering)
    printed           Crowd-BT eq. 12 to 16 and 19, which differentiate at the means instead

and the quality by its first two moments (eq. 17, 18). One vote takes constant time.

The priors are chosen by the votes: 32 filters, each with its own prior, learn side by side and are weighted by
how well each predicted every vote before learning from it (see models.pairs.filter_bank). With a given
``variance`` and ``prior`` there is one filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.data.index import GrowingIndex
from crowdrank.errors import FitError, UsageError, parameter
from crowdrank.kernels import LOGISTIC, PROBIT, Link
from crowdrank.kernels.compiled import can_compile
from crowdrank.kernels.filtering import assumed_density
from crowdrank.models.agreement import TELLABLE, Agreement, quality_notes
from crowdrank.models.base import Outcome, Run
from crowdrank.models.online import FILTERED, TIES, Batch, Estimate, OnlineModel, Passes, VoteTuple
from crowdrank.models.pairs.design import POSITIONS, side_notes
from crowdrank.models.pairs.filter_bank import Bank, FilterState, fold_compiled, fold_votes, refuse_many
from crowdrank.models.parameters import AUTO, ESTIMATED, number
from crowdrank.models.predictors import values_at
from crowdrank.models.priors import BetaPrior
from crowdrank.prepared.votes import Votes
from crowdrank.results import LEVEL, Beliefs, NormalPosterior, Posterior, Workers, beta_of_moments, verdicts
from crowdrank.solve import Independent

RULES = ("assumed-density", "printed")
LINKS = {"logistic": LOGISTIC, "probit": PROBIT}
KNOWN = 1e9
"""alpha + beta of a known quality, which the votes do not move."""
COMPILED_FROM = 20_000
"""From this many votes on, counted by their weights, the loop is compiled if Numba is installed."""


class OnlineCrowdBT(OnlineModel[FilterState]):
    """Online Crowd-BT: normal scores and Beta qualities, updated by each vote (Chen et al. 2013, section 4.1).

        mu <- mu +- v g,    v <- v (1 - v h),    g = d ln Z / dx,    h = -d^2 ln Z / dx^2

    mu and v are the mean and the variance of a score, x is the difference of two means, and Z the probability of
    the vote by Crowd-BT.

    ``rule``: ``"assumed-density"``, or ``"printed"`` for the paper's eq. 12 to 19, in which a tie is half a vote
    for each item. ``variance``: the variance of a score before the first vote. A number, or ``"estimated"``:
    several are tried at once and weighted by how well they predict each next vote. The default is
    ``"estimated"``. ``prior``: (a, b) of the Beta distribution of a quality before the first vote, both at least
    1, ``"estimated"`` in the same way, or None for a flat one; the paper has (10, 1), the default is
    ``"estimated"``. ``link``: ``"logistic"`` (Bradley-Terry) or ``"probit"`` (Thurstone). ``draw``: the
    probability of a tie between equal items. A number or ``"estimated"`` (the share of ties among the votes);
    the default is ``"estimated"``. ``position``: a bias towards the left item, ``"none"``, ``"shared"`` or
    ``"by-worker"``. The default ``"auto"`` is ``"none"``. ``anchor_weight``: how many votes each gold pair
    counts as. A worker's vote on a gold pair is right or wrong, and counts for the worker's quality alone.
    ``orders``: 1 takes the votes by their timestamps, or in row order without timestamps; N > 1 takes the mean
    over N random orders, drawn with ``seed``.

    >>> import crowdrank as cr
    >>> model = cr.OnlineCrowdBT()
    >>> state = model.start()
    >>> for winner, loser in ("ab", "bc", "ac"):
    ...     state = model.update(state, state.vote(winner, loser, winner, worker="ann"))
    ...     print(round(model.posterior(state).difference("a", "b").mean, 2))
    1.33
    0.62
    1.15
    """

    name = "online-crowd-bt"
    needs_workers = True
    anchors: ClassVar[frozenset[str]] = frozenset({"pairs", "workers"})

    def __init__(
        self,
        *,
        rule: str = "assumed-density",
        variance: float | str = "estimated",
        prior: tuple[float, float] | str | None = "estimated",
        link: str = "logistic",
        draw: float | str = "estimated",
        position: str = "auto",
        anchor_weight: float = 1.0,
        orders: int = 1,
        seed: int = 0,
    ) -> None:
        self.rule = rule
        self.variance = variance
        self.prior = prior
        self.link = link
        self.draw = draw
        self.position = position
        self.anchor_weight = anchor_weight
        self.orders = orders
        self.seed = seed

    def start(self, *, ties: float = TIES) -> FilterState:
        """Only the priors are known; the tie margin comes from ``draw``, or from the expected share of ties."""
        link = _choose("link", self.link, tuple(LINKS))
        rule = _choose("rule", self.rule, RULES)
        position = "none" if self.position == AUTO else _choose("position", self.position, POSITIONS, AUTO)
        variance = None if self.variance == ESTIMATED else number("variance", self.variance, low=1e-6)
        draw = ties if self.draw == ESTIMATED else number("draw", self.draw, low=0.0, high=1 - 1e-9)
        if rule == "printed" and link == "probit":
            raise UsageError(
                "The printed rule is for the logistic link only.", hint=("Use ", parameter("link", "logistic"))
            )
        own: Link = LINKS[link]
        threshold = own.quantile((1.0 + draw) / 2.0) if draw > 0 else 0.0
        return FilterState(
            Bank.of(variance, self._quality()), own, printed=rule == "printed", position=position,
            threshold=threshold,
        )  # fmt: skip

    def _quality(self) -> tuple[float, float] | None:
        """The prior of qualities; None if it is estimated."""
        found = BetaPrior.parse(self.prior, estimable=True)
        return None if found.estimated else (found.a, found.b)

    def resume(
        self, posterior: Posterior, *, index: GrowingIndex | None = None, ties: float = TIES
    ) -> FilterState:
        """A state that goes on from a posterior, for example from a batch fit of all votes so far.

        ``index``: the codes of items and workers to keep; those that the posterior has not seen start anew. The
        posterior decides the priors too, so there is one filter. Its covariances are left out, and a worker's
        slope becomes part of the quality.
        """
        beliefs = Beliefs.of(posterior).without_slopes()
        state = self.clone().set_params(variance=1.0, prior=None).start(ties=ties)
        variance, alpha, beta = (np.array([value]) for value in (beliefs.new_variance, *beliefs.new_quality))
        state.bank = Bank(variance, alpha, beta, state.bank.log_weight)
        state.index = GrowingIndex() if index is None else index
        nodes = [state.index.node(*own) for own in zip(posterior.item, posterior.query, strict=True)]
        workers = [] if posterior.worker is None else [state.index.worker(own) for own in posterior.worker]
        state.grow(*state.index.sizes)
        state.scores[nodes, :, 0] = np.stack([beliefs.mean, beliefs.variance], axis=1)
        state.qualities[workers, :, 0] = np.stack([beliefs.alpha, beliefs.beta], axis=1)
        return state

    def fold(self, state: FilterState, votes: Iterable[VoteTuple]) -> FilterState:
        """One vote after the other, in all filters at once."""
        fold_votes(state, votes)
        return state

    def fold_batch(self, state: FilterState, batch: Batch) -> FilterState:
        """The same; the loop is compiled if there are many votes."""
        units = len(batch.left) if batch.weight is None else np.ceil(batch.weight).sum()
        refuse_many(float(units))
        if units < COMPILED_FROM or not can_compile():
            return self.fold(state, batch.votes())
        fold_compiled(state, *batch)
        return state

    def estimate(self, state: FilterState) -> Estimate:
        """The moments of scores and qualities over the filters, weighted by their evidence."""
        weight = state.weight
        mean, variance = _mixture(state.scores[:, 0], state.scores[:, 1], weight)
        eta, eta_variance = _mixture(*_beta_moments(state.qualities[:, 0], state.qualities[:, 1]), weight)
        side, side_variance = _mixture(state.sides[:, 0], state.sides[:, 1], weight)
        new = _mixture(*_beta_moments(state.bank.alpha[None], state.bank.beta[None]), weight)
        further = {
            "eta": eta,
            "eta_variance": eta_variance,
            "side": side,
            "side_variance": side_variance,
            "new_variance": np.array([state.bank.variance @ weight]),
            "new_eta": np.array([new[0][0], new[1][0]]),
            "log_evidence": np.array([state.log_evidence]),
        }
        return Estimate(mean, variance, further)

    def posterior(self, state: FilterState) -> Posterior:
        """What the state knows, by ids, with the qualities of the workers."""
        plain, found = super().posterior(state), self.estimate(state)
        return replace(plain, normal=_normal(found.variance, found.further))

    def _begin(self, votes: Votes, run: Run) -> FilterState:
        state = super()._begin(votes, run)
        known, quality = run.anchors.known(votes.pairs.index)
        state.qualities[known] = KNOWN * np.stack([quality, 1.0 - quality], axis=1)[:, :, None] + 1e-3
        told = len(known) > 0 or votes.has_gold
        if not told and (state.bank.alpha <= state.bank.beta).all():
            a, b = state.bank.alpha[0], state.bank.beta[0]
            raise FitError(
                f"With the prior Beta({a:g}, {b:g}) no worker is more likely right than wrong, so no vote says "
                "anything.",
                hint=("Use a > b, for example ", parameter("prior", "[10,1]"), ", or give gold pairs"),
            )
        if votes.has_gold:
            state.add_gold(votes.gold, votes.gold_weight)
        return state

    def _outcome(self, votes: Votes, run: Run, found: Passes) -> Outcome:
        outcome, further = super()._outcome(votes, run, found), found.further
        score, link = outcome.spread.score, LINKS[self.link]
        rows = votes.without_gold().comparisons
        curve = Agreement(link, np.abs(score[rows.i] - score[rows.j]), rows.weight)
        state = self.start(ties=votes.tie_share)
        details = {
            **outcome.details,
            "intervals": "posterior variances",
            "prior_variance": float(further["new_variance"][0]),
            "prior_quality": float(further["new_eta"][0]),
            "perfect_quality": curve.perfect,
        }
        if len(further["side"]):
            details["position"] = {"bias": float(further["side"].mean())}
        return replace(
            outcome,
            workers=_workers(votes, further, curve),
            notes=(*outcome.notes, *side_notes(self.position, votes), *quality_notes(votes, curve.perfect)),
            log_likelihood=float(further["log_evidence"][0]),
            details=details,
            posterior=_normal(found.within + found.between / found.orders, further),
            predictor=FilterPredictor(
                found.score, found.within, further["eta"], further["side"], further["side_variance"],
                float(further["new_variance"][0]), float(further["new_eta"][0]), state.threshold, link is PROBIT,
            ),
        )  # fmt: skip


def _choose(name: str, value: Any, choices: tuple[str, ...], *more: str) -> str:
    if value not in choices:
        raise UsageError(f"The parameter {name!r} must be one of {', '.join((*more, *choices))}. Got {value!r}.")
    return str(value)


def _beta_moments(alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of Beta distributions."""
    total = alpha + beta
    mean = alpha / total
    return mean, mean * (1.0 - mean) / (total + 1.0)


def _mixture(mean: Floats, variance: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of mixtures: rows of components (R, F) with weights (F)."""
    middle = mean @ weight
    return middle, (variance + (mean - middle[:, None]) ** 2) @ weight


def _normal(variance: Floats, further: dict[str, Floats]) -> NormalPosterior:
    qualities = Independent(variance, further["eta_variance"][:, None])
    return NormalPosterior(qualities, FILTERED, ("eta",), further["eta"][:, None])


def _workers(votes: Votes, further: dict[str, Floats], curve: Agreement) -> Workers | None:
    """The table of workers: intervals are quantiles of the Beta distribution with the quality's moments."""
    from scipy.special import betaincinv

    assert votes.index.workers is not None
    eta = further["eta"]
    alpha, beta = beta_of_moments(eta, further["eta_variance"])
    low = np.minimum(np.asarray(betaincinv(alpha, beta, (1 - LEVEL) / 2), float), eta)
    high = np.maximum(np.asarray(betaincinv(alpha, beta, (1 + LEVEL) / 2), float), eta)
    scale = 2.0 * curve.perfect - 1.0
    quality, quality_low, quality_high = (0.5 + (value - 0.5) * scale for value in (eta, low, high))
    return Workers(
        worker=votes.index.workers,
        judgments=votes.judgments_of_workers,
        quality=quality,
        low=quality_low,
        high=quality_high,
        verdict=verdicts(quality_low, quality_high, tellable=curve.perfect > TELLABLE),
        further={"eta": eta, "eta_low": low, "eta_high": high},
        backend=votes.backend,
    )


@dataclass(frozen=True, eq=False)
class FilterPredictor:
    """The probability of a vote, with the moments of scores and qualities over all filters integrated out.

    An unseen item has mean 0 and the prior variance, an unseen worker the prior quality.
    """

    mean: Floats
    variance: Floats
    eta: Floats
    side: Floats
    side_variance: Floats
    new_variance: float
    new_eta: float
    threshold: float
    probit: bool

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        nobody = np.full(len(left), -1)
        worker = nobody if worker is None else worker
        x = values_at(self.mean, left, 0.0) - values_at(self.mean, right, 0.0)
        spread = sum(values_at(self.variance, side, self.new_variance) for side in (left, right))
        if sided and len(self.side):
            who = np.zeros(len(left), np.int64) if len(self.side) == 1 else worker
            x = x + values_at(self.side, who, float(self.side.mean()))
            spread = spread + values_at(
                self.side_variance, who, float(self.side_variance.mean() + self.side.var())
            )
        quality = values_at(self.eta, worker, self.new_eta)
        win, lose = (assumed_density(x, spread, quality, said, self.threshold, self.probit)[2] for said in (1, -1))
        return np.stack([win, np.maximum(1.0 - win - lose, 0.0), lose], axis=1)
