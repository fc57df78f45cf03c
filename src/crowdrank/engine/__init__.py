"""Where sums over the judgments are computed: a model supplies pure functions and never knows where."""

from crowdrank.engine.base import (
    Engine,
    Session,
    Stateless,
    Stats,
    Sums,
    add_in_order,
    running,
)
from crowdrank.engine.local import LocalEngine
from crowdrank.engine.threads import all_blas_threads, available_threads, one_blas_thread, thread_pool

__all__ = [
    "Engine",
    "LocalEngine",
    "Session",
    "Stateless",
    "Stats",
    "Sums",
    "add_in_order",
    "all_blas_threads",
    "available_threads",
    "one_blas_thread",
    "running",
    "thread_pool",
]
