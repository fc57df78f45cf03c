"""Where sums over the judgments are computed: a model supplies pure functions and never knows where."""

from crowdrank.engine.base import Engine, Session, Stats, Sums, add_in_order, open_session
from crowdrank.engine.local import LocalEngine

__all__ = ["Engine", "LocalEngine", "Session", "Stats", "Sums", "add_in_order", "open_session"]
