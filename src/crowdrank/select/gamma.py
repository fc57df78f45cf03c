"""gamma of Crowd-BT eq. 10: how much a question about the items should also be one about the judge.

The paper fixes it (5 for a limited budget, 10 for a sufficient one), or halves it every tau % of the budget, and
leaves its choice by itself to future work. By itself here, it follows what is not known about the judges:

    gamma = 5 min(1, sd(q) / mean(q)),      q = 2 eta - 1,

where sd(q) is the mean posterior standard deviation of a judge's q and mean(q) the mean size of q. A crowd of
unknown judges is explored; good judges soon have a small sd and gamma tends to 0; if judges turn out poor,
mean(q) falls, so it pays to find the better ones.
"""

from __future__ import annotations

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.select.policy import HALVED_FROM, Policy

MOST = 5.0


def current_gamma(policy: Policy, used: float, alpha: Floats, beta: Floats) -> float:
    """gamma now; ``used``: the share of the budget that is spent (0 if there is no budget)."""
    if policy.gamma == "halved":
        return float(HALVED_FROM * 0.5 ** np.floor(100.0 * min(max(used, 0.0), 1.0) / policy.tau))
    if policy.gamma == "auto":
        return auto_gamma(alpha, beta)
    assert not isinstance(policy.gamma, str), "gamma by gold pairs is a number by now"
    return float(policy.gamma)


def auto_gamma(alpha: Floats, beta: Floats) -> float:
    """gamma by what is not known about judges with qualities Beta(alpha, beta)."""
    if not len(alpha):
        return 0.0
    total = alpha + beta
    q, sd = np.abs(alpha - beta) / total, 2.0 * np.sqrt(alpha * beta / (total + 1.0)) / total
    return float(MOST * min(1.0, sd.mean() / max(q.mean(), 1e-9)))
