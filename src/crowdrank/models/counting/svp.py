"""SVP: a rank-2 matrix of score differences, completed from the judged pairs (Gleich & Lim 2011).

Scores s make differences s_i - s_j, the skew-symmetric matrix s e' - e s' of rank 2. The votes give noisy
entries Y_ij for the judged pairs Omega. The matrix is completed by singular value projection (SVP),

    X <- P_2(X + eta P_Omega(Y - X)),

with P_2 the closest matrix of rank 2, which is skew-symmetric if its argument is. Then score = X e / n: the mean
difference from all items, judged or not.

The best matrix of rank 2 may not exist: it can fit the judged pairs ever better while the entries of pairs that
nobody judged grow without limit. So the size of X counts too: what is minimized is

    |P_Omega(Y - X)|^2 + r f |X|^2,        r: ``ridge``, f: the share of the pairs of a part that were judged.

If every pair was judged, this only divides X by 1 + r, and the scores undo that.

X = sigma (u v' - v u') with orthonormal u and v is stored as its factors, and R = P_Omega(Y - X) as its entries,
so nothing of size n^2 is stored. Given u and v, sigma is a ridge coefficient. The u and v are close to the
singular vectors of X + eta R, and a power step with that matrix from (u, v) is

    u <- u + (eta / sigma) R v,        v <- v - (eta / sigma) R u,        made orthonormal again,

R v and R u without their parts in the span of u and v, which X has already. eta minimizes
|P_Omega(Y - X - eta D)|, with D = R (u u' + v v') + (u u' + v v') R the part of R along the matrices of rank 2; it
is 1 if every pair was judged. The start is u, v in the span of e and Y e, which contains a complete
Y = s e' - e s' exactly. All queries run at once, each until X moves by less than ``tol`` of its size in a step.

Uncertainty: Y_ij varies independently over the pairs. Its variance is 4 times that of Beta(w + 1/2, l + 1/2) for
the mean, 1/(w + 1/2) + 1/(l + 1/2) for the log odds, and 4 q (1 - q) for the sign (see ``contests``). The
covariance is L+ V L+, as if differences s_i - s_j were fitted to the judged pairs by least squares, with V the
Laplacian of these variances and L that of the judged pairs. If every pair was judged, that is V / n^2, the
covariance of Y e / n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.errors import Note, UsageError, parameter
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import ContestCovariance, majority, share_variance, sign_variance
from crowdrank.models.parameters import number, whole
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.prepared.votes import Votes

TINY = 1e-300
MARGIN = 0.05
"""An order that so many fewer votes agree with than with the share of wins is noted."""
TOO_LARGE = 10.0
"""If entries of unjudged pairs are this many times as large as those of judged ones, there is no best matrix."""


def _mean(rows: Comparisons) -> tuple[Floats, Floats]:
    return (rows.wins - rows.losses) / (rows.wins + rows.losses), 4 * share_variance(rows)


def _log_odds(rows: Comparisons) -> tuple[Floats, Floats]:
    wins, losses = rows.wins + 0.5, rows.losses + 0.5
    return np.log(wins / losses), 1 / wins + 1 / losses


def _sign(rows: Comparisons) -> tuple[Floats, Floats]:
    return majority(rows).astype(float), sign_variance(rows)


DIFFERENCES: dict[str, Callable[[Comparisons], tuple[Floats, Floats]]] = {
    "mean": _mean,
    "logodds": _log_odds,
    "sign": _sign,
}
"""Y_ij of each row, and its variance."""


class SVP(VotesModel):
    """Score differences as a rank-2 skew-symmetric matrix, completed from the judged pairs (Gleich & Lim 2011).

        min over skew-symmetric X of rank 2  |P_Omega(Y - X)|^2 + r f |X|^2,    score = X e / n

    Y has what the judged pairs Omega say, r is the ridge, and f the share of the pairs that were judged.

    ``differences``: what a judged pair says: ``"mean"``, the share for one minus the share for the other;
    ``"logodds"``, ln((wins + 1/2) / (losses + 1/2)); ``"sign"``, the majority's choice. ``ridge``: how much the
    size of the matrix counts, compared with its fit; with 0 there may be no best matrix. ``tol``: stop when the
    matrix moves by less than this share of its size in a step. ``iterations``: the largest number of steps.

    >>> import crowdrank as cr
    >>> votes = [("a", "b"), ("b", "c"), ("c", "d")]
    >>> ranking = cr.SVP().fit(votes).ranking_  # the differences of pairs that nobody judged are completed
    >>> dict(zip(ranking.item, ranking.score.round(2).tolist()))
    {'a': 0.85, 'b': 0.35, 'c': -0.35, 'd': -0.85}
    """

    name = "svp"

    def __init__(
        self,
        *,
        differences: str = "mean",
        ridge: float = 0.001,
        tol: float = 1e-3,
        iterations: int = 500,
        seed: int = 0,
    ) -> None:
        self.differences = differences
        self.ridge = ridge
        self.tol = tol
        self.iterations = iterations
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        if self.differences not in tuple(DIFFERENCES):
            known = ", ".join(DIFFERENCES)
            raise UsageError(f"The parameter 'differences' must be one of {known}. Got {self.differences!r}.")
        tol, limit = number("tol", self.tol, low=0), whole("iterations", self.iterations, low=1)
        rows, part = votes.comparisons, votes.graph.part
        y, variance = DIFFERENCES[self.differences](rows)
        found = complete(rows, y, part, ridge=number("ridge", self.ridge, low=0), tol=tol, limit=limit)
        result = votes.spread_scores(found.score, AdditiveCovariance(rows, part, variance))
        return Outcome(
            result,
            votes.agreement(result.score),
            converged=not found.unfinished and not found.unbounded,
            iterations=found.iterations,
            notes=(*votes.notes(regularized=False), *_notes(votes, found), *_order_notes(votes, result.score)),
            details={"explained": found.explained, "intervals": "additive differences"},
        )


@dataclass(frozen=True, eq=False)
class Completion:
    """X e / n of each node, times 1 + ridge; ``explained``: the share of the sum of squares of Y that X explains.

    ``unfinished``: the number of parts that still moved; ``unbounded``: those whose unjudged entries ran away.
    """

    score: Floats
    iterations: int
    unfinished: int
    unbounded: int
    explained: float


def complete(
    rows: Comparisons, y: Floats, part: NDArray[np.int32], *, ridge: float, tol: float, limit: int
) -> Completion:
    """Singular value projection to rank 2 of the matrix of each part; ``y``: the entries at the rows."""
    count, parts = rows.nodes, int(part.max()) + 1
    size = np.bincount(part, minlength=parts)
    every = Entries(rows.i, rows.j, part[rows.i], y)
    pairs = np.maximum(size * (size - 1) / 2, 1)
    judged = every.sum_by_part(np.ones(len(y)), parts) / pairs

    def over_nodes(values: Floats) -> Floats:
        return summed(part, values, parts)

    def orthonormal(u: Floats, v: Floats) -> tuple[Floats, Floats]:
        u = u / np.maximum(np.sqrt(over_nodes(u * u)), TINY)[part]
        v = v - u * over_nodes(u * v)[part]
        return u, v / np.maximum(np.sqrt(over_nodes(v * v)), TINY)[part]

    def outside(vector: Floats, u: Floats, v: Floats) -> Floats:
        return vector - u * over_nodes(u * vector)[part] - v * over_nodes(v * vector)[part]

    u, v = orthonormal(np.ones(count), every.times(y, np.ones(count)))
    left, moving, done = every, np.ones(parts, bool), 0
    while moving.any() and done < limit:
        sigma, residual = left.fit_scale(u, v, ridge * judged)
        along_u, along_v = (outside(left.times(residual, own), u, v) for own in (u, v))
        slope = left.skew(along_u, u) + left.skew(along_v, v)
        eta = left.sum_by_part(residual * slope, parts) / np.maximum(left.sum_by_part(slope * slope, parts), TINY)
        step = eta / np.where(sigma == 0, 1.0, sigma)
        u, v = orthonormal(u + step[part] * along_v, v - step[part] * along_u)
        moving = np.abs(step) * np.sqrt(over_nodes(along_u**2 + along_v**2)) > tol
        left, done = left.of_parts(moving), done + 1
    sigma = (1 + ridge) * every.fit_scale(u, v, ridge * judged)[0]
    residual = y - sigma[every.part] * every.skew(u, v)
    score = sigma[part] * (u * over_nodes(v)[part] - v * over_nodes(u)[part]) / size[part]
    explained = 1.0 - float(residual @ residual) / max(float(y @ y), TINY)
    fitted = every.sum_by_part((y - residual) ** 2, parts)  # sigma^2 is the sum over all pairs
    ran_away = sigma**2 - fitted > TOO_LARGE**2 * (1 - judged) * every.sum_by_part(y * y, parts) / np.maximum(
        judged, TINY
    )
    return Completion(score, done, int(moving.sum()), int(ran_away.sum()), explained)


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries y at (i, j), and -y at (j, i), of the skew-symmetric matrix of each part."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    part: NDArray[np.int32]
    y: Floats

    def of_parts(self, parts: NDArray[np.bool_]) -> Entries:
        """The entries of the chosen parts."""
        keep = parts[self.part]
        return self if keep.all() else Entries(self.i[keep], self.j[keep], self.part[keep], self.y[keep])

    def sum_by_part(self, values: Floats, parts: int) -> Floats:
        """The sum over the entries of each part."""
        return summed(self.part, values, parts)

    def skew(self, a: Floats, b: Floats) -> Floats:
        """a b' - b a' at the entries."""
        return a[self.i] * b[self.j] - b[self.i] * a[self.j]

    def times(self, values: Floats, vector: Floats) -> Floats:
        """The matrix with these values, times the vector."""
        plus = summed(self.i, values * vector[self.j], len(vector))
        return plus - summed(self.j, values * vector[self.i], len(vector))

    def fit_scale(self, u: Floats, v: Floats, ridge: Floats) -> tuple[Floats, Floats]:
        """sigma of each part by ridge regression, and the residual of y."""
        unit, parts = self.skew(u, v), len(ridge)
        square = self.sum_by_part(unit * unit, parts) + ridge
        sigma = self.sum_by_part(self.y * unit, parts) / np.maximum(square, TINY)
        return sigma, self.y - sigma[self.part] * unit


class AdditiveCovariance(ContestCovariance):
    """The covariance L+ V L+ of scores fitted to independent differences by least squares."""

    pairs: ContestCovariance

    def __init__(self, rows: Comparisons, part: NDArray[np.int32], variance: Floats) -> None:
        super().__init__(rows, part, variance)
        self.pairs = ContestCovariance(rows, part, np.ones(len(rows)))

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """Covariance of the scores of one part."""
        inverse = np.linalg.inv(self.pairs.block(nodes) + 1.0 / len(nodes)) - 1.0 / len(nodes)
        block: Floats = inverse @ super().block(nodes) @ inverse
        return (block + block.T) / 2

    def variance(self, nodes: NDArray[np.int64]) -> Floats:
        """Variances of the scores of a large part, as if each item's opponents had known scores."""
        return self.own[nodes] / self.pairs.own[nodes] ** 2


def _order_notes(votes: Votes, score: Floats) -> list[Note]:
    """A note if fewer votes agree with the order than with that by the share of wins."""
    graph = votes.graph
    share = graph.wins / np.maximum(graph.wins + graph.losses, TINY)
    own, plain = _agreement(votes.comparisons, score), _agreement(votes.comparisons, share)
    if own >= plain - MARGIN:
        return []
    message = (
        f"Only {own:.0%} of the votes agree with this order, but {plain:.0%} with that by the share of wins. "
        "The judged pairs do not determine the matrix, for example because only neighbors were compared."
    )
    return [Note("undetermined", message)]


def _agreement(rows: Comparisons, score: Floats) -> float:
    """The share of the votes that agree with the order; half of those between equal scores."""
    ahead = 0.5 * (1 + np.sign(score[rows.i] - score[rows.j]))
    return float((rows.wins * ahead + rows.losses * (1 - ahead)).sum() / max(float(rows.weight.sum()), TINY))


def _notes(votes: Votes, found: Completion) -> list[Note]:
    """Notes if X did not converge, or if the pairs are too few for a unique answer."""
    notes = []
    parts = votes.graph.parts
    if found.unfinished:
        message = f"SVP did not converge in {found.iterations} steps in {found.unfinished} of {parts} groups."
        notes.append(Note("not-converged", message))
    if found.unbounded:
        message = (
            f"In {found.unbounded} of {parts} groups there is no best matrix of rank 2: it fits the judged pairs "
            "ever better while the entries of the others grow without limit. The scores mean nothing."
        )
        notes.append(Note("not-converged", message, ("Use ", parameter("ridge", 0.001), ".")))
    size = np.bincount(votes.graph.part)
    pairs = np.bincount(votes.graph.part[votes.comparisons.i], minlength=parts)
    few = int(((pairs < 2 * size - 3) & (size > 1)).sum())
    if few:
        message = (
            f"In {few} of {parts} groups fewer pairs were judged than a matrix of rank 2 has free numbers "
            "(2 n - 3 for n items). More than one completion fits; the scores come from one near the start."
        )
        notes.append(Note("undetermined", message))
    return notes
