"""Where sums over the judgments are computed: a model supplies pure functions and never knows where."""

from crowdrank.engine.base import (
    Engine,
    Session,
    StateSession,
    Stats,
    local_part,
    one_blas_thread,
    running,
    sum_in_order,
)
from crowdrank.engine.local import LocalEngine

__all__ = [
    "Engine",
    "LocalEngine",
    "Session",
    "StateSession",
    "Stats",
    "local_part",
    "one_blas_thread",
    "running",
    "sum_in_order",
]
