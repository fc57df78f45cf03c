"""Where sums over the judgments run. A model supplies pure functions and does not know where they run."""

from crowdrank.engine.base import (
    Engine,
    Session,
    StateSession,
    Stats,
    local_part,
    open_engine,
    sum_in_order,
)
from crowdrank.engine.local import LocalEngine
from crowdrank.engine.threads import all_blas_threads, available_threads, one_blas_thread, thread_pool

__all__ = [
    "Engine",
    "LocalEngine",
    "Session",
    "StateSession",
    "Stats",
    "all_blas_threads",
    "available_threads",
    "local_part",
    "one_blas_thread",
    "open_engine",
    "sum_in_order",
    "thread_pool",
]
