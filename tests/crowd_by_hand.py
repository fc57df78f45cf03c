"""A tiny panel of votes, and its sums by plain loops."""

import math
from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr

from crowdrank.models.thurstonian.rounds import ShardState
from crowdrank.models.thurstonian.types import GRID
from crowdrank.prepared.panels import Panel

# Query 0 has three items, query 1 a single one, query 2 none at all, queries 3 and 4 have four and three.
QUERY = np.array([0, 0, 0, 1, 3, 3, 3, 3, 4, 4, 4])
ROWS = [  # worker, i, j, wins, losses
    *((0, 0, 1, 1.0, 0.0), (0, 0, 2, 2.0, 1.0), (1, 1, 2, 0.5, 0.5), (2, 0, 1, 0.0, 3.0)),
    *((0, 4, 5, 1.0, 0.0), (0, 6, 7, 0.0, 0.25), (2, 4, 7, 1.0, 0.0), (2, 5, 6, 1.5, 0.5)),
    *((1, 8, 9, 0.0, 1.0), (1, 9, 10, 1.0, 0.0)),
]
TINY = 1e-5


def panel_of(rows=ROWS, query=QUERY):
    worker, i, j, wins, losses = (np.array(column) for column in zip(*rows, strict=True))
    return Panel(0, 0, int(query.max()) + 1, query, i, j, worker.astype(np.int32), wins, losses)


def state_of(panel, seed=0, domains=2):
    rng = np.random.default_rng(seed)
    return ShardState(
        score=rng.normal(0, 1.5, len(panel.query)),
        variance=rng.uniform(0.1, 1.0, len(panel.couples.i)),
        spread=rng.uniform(1.0, 9.0, panel.queries),
        hard=rng.normal(0, 1, panel.queries),
        domain=rng.dirichlet(np.ones(domains), panel.queries),
        like=rng.normal(-3, 1, (len(panel.cells.query), len(GRID))),
    )


PANEL = panel_of()
STATE = state_of(PANEL)
PLAIN = replace(STATE, variance=np.zeros(len(PANEL.couples.i)))
CELLS = list(zip(PANEL.cells.query.tolist(), PANEL.cells.worker.tolist(), strict=True))


def weights_of(panel, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(len(GRID)), len(panel.cells.query))


def likelihood_by_loops(panel, state):
    """L_c(tau) by a loop over votes."""
    found = {}
    for row, (k, i, j) in enumerate(zip(panel.worker, panel.i, panel.j, strict=True)):
        query = int(panel.query[i])
        slope = GRID / np.sqrt(2 * (1 + GRID**2 * math.exp(state.hard[query])))
        own = found.setdefault((query, int(k)), np.zeros(len(GRID)))
        for sign, weight in ((1, panel.wins[row]), (-1, panel.losses[row])):
            x, h = sign * slope * (state.score[i] - state.score[j]), 1e-3
            bend = (log_ndtr(x + h) - 2 * log_ndtr(x) + log_ndtr(x - h)) / h**2
            own += weight * (log_ndtr(x) + state.variance[panel.couples.row[row]] * slope**2 * bend / 2)
    return np.array(list(found.values()))


def differences(function, x, h=TINY):
    """The gradient by central differences."""
    return np.array([(function(x + h * unit) - function(x - h * unit)) / (2 * h) for unit in np.eye(len(x))])


def dense(panel, weight):
    """The weighted Laplacian of all nodes, by a loop over the pairs."""
    found = np.zeros((len(panel.query), len(panel.query)))
    for i, j, own in zip(*panel.couples[:2], weight, strict=True):
        apart = np.eye(len(found))[i] - np.eye(len(found))[j]
        found += own * np.outer(apart, apart)
    return found
