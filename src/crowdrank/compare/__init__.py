"""Models against held-out votes, and the choice `auto`."""

from crowdrank.compare.catalogue import catalogue, find, make
from crowdrank.compare.comparison import Comparison, Row, compare_models, measured

__all__ = ["Comparison", "Row", "catalogue", "compare_models", "find", "make", "measured"]
