"""Documents of a search engine that a crowd labels relevant or not."""

from __future__ import annotations

import numpy as np

from crowdrank.simulate.crowd import Crowd
from crowdrank.simulate.documents import draw_documents
from crowdrank.simulate.labelers import assign_labels, draw_labelers

RIGORS = (0, 1, 2, 3)
QUALITIES = (0.75, 0.85, 0.95)


def search_crowd(
    *,
    seed: int = 0,
    world: int = 0,
    queries: int = 100,
    documents: int = 15,
    features: int = 46,
    workers: int = 60,
    labels: int = 3,
    spammers: float = 0.3,
) -> Crowd:
    """Documents with normal features and nonlinear relevance, labeled by workers of unequal rigor.

    See ``draw_documents`` for the documents. ``world`` seeds how the relevance depends on the features, and
    ``seed`` everything else: two seeds of one world are two samples of the same search engine. Each document has
    ``labels`` labels. A worker of rigor r, 0 to 3, labels 1 if the grade is above r, and errs with probability
    .25, .15 or .05. A third each of the ``spammers`` labels at random, always 1, or always 0.
    """
    rng = np.random.default_rng([seed, 1])
    made = draw_documents(queries, documents, features, world, rng)
    people = draw_labelers(workers, np.array(RIGORS), np.array(QUALITIES), rng, spammers=spammers)
    row, worker = assign_labels(len(made.grade), labels, workers, rng)
    return Crowd(
        judgments=people.judge(made, row, worker, rng),
        gold=made.gold(),
        workers=people.frame(),
        features=made.features(),
    )
