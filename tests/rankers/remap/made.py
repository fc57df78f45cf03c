"""Small crowds for the tests of remap."""

from functools import cache

from crowdrank.rankers.remap.remap import Remap
from crowdrank.simulate import simulate

SMALL = {
    "source": 150, "target": 20, "validation": 20, "test": 60, "documents": 10, "features": 30, "workers": 30,
    "honeypots": 10,
}  # fmt: skip
QUICK = {"learner": "ridge", "trees": 0, "mu": 0.1, "baselines": "none"}


@cache
def crowd(preset="remap-heur40", seed=1):
    return simulate(preset, seed=seed, **SMALL)


def fit(made, change=lambda frame: frame, *, given=None, **settings):
    """A ranker of a crowd; ``change`` is applied to every table."""
    tables = {
        "target": made.labeled("target"), "validation": made.labeled("validation"), "honeypots": made.honeypots,
        **(given or {}),
    }  # fmt: skip
    changed = {name: change(own) if hasattr(own, "columns") else own for name, own in tables.items()}
    ranker = Remap(**{**QUICK, **settings})
    return ranker.fit(change(made.part("source")), change(made.judgments), **changed)


@cache
def fitted(preset="remap-heur40", seed=1, **settings):
    return fit(crowd(preset, seed), **settings)
