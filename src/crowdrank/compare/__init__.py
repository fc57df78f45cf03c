"""Models compared on held-out votes, and `auto`, which chooses among them."""

from crowdrank.compare.comparison import compare_models, measure_by_gold
from crowdrank.compare.figures import Comparison, Row

__all__ = ["Comparison", "Row", "compare_models", "measure_by_gold"]
