"""Where sums over the judgments are computed: a model supplies pure functions and never knows where."""

from crowdrank.engine.base import (
    Engine,
    Session,
    Stateless,
    Stats,
    Sums,
    add_in_order,
    one_blas_thread,
    running,
)
from crowdrank.engine.local import LocalEngine

__all__ = [
    "Engine",
    "LocalEngine",
    "Session",
    "Stateless",
    "Stats",
    "Sums",
    "add_in_order",
    "one_blas_thread",
    "running",
]
