"""Models compared on held-out votes, and `auto`, which chooses among them."""

from crowdrank.compare.comparison import Comparison, Row, compare_models, measure_by_gold

__all__ = ["Comparison", "Row", "compare_models", "measure_by_gold"]
