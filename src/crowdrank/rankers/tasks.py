"""What a scorer is given to improve, from documents and an objective."""

from __future__ import annotations

from typing import Any

from crowdrank.engine import Engine
from crowdrank.engine.threads import engine_threads
from crowdrank.prepared.documents import Documents
from crowdrank.progress import Progress
from crowdrank.rankers.objectives import LabelObjective, Targets
from crowdrank.rankers.scorers.base import Task


def open_task(
    engine: Engine,
    documents: Documents,
    objective: LabelObjective[Any],
    *,
    seed: int,
    progress: Progress | None = None,
) -> Task:
    """The task of improving an objective of labels on these documents."""
    shards = documents.shards(lambda start, label, weight: objective.plan(Targets(start, label, weight)))
    return Task(
        session=engine.open(shards),
        objective=objective,
        rows=len(documents.label),
        width=documents.width,
        weight=float(documents.weight.sum()),
        values=None if hasattr(documents.values, "spool") else documents.values,
        threads=getattr(engine, "threads", engine_threads()),
        seed=seed,
        progress=progress,
    )
