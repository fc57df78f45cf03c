"""Models against held-out votes, and the choice `auto`."""

from crowdrank.compare.comparison import Comparison, Row, compare_models, measured

__all__ = ["Comparison", "Row", "compare_models", "measured"]
