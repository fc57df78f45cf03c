"""How good a ranking is by gold, and how well bad workers were found. Independent of all models."""

from crowdrank.measures.evaluate import GOLD_MEASURES, MeasureSpec, evaluate, evaluate_queries, parse
from crowdrank.measures.examine import Coverage, Evaluation, examine
from crowdrank.measures.labels import label_accuracy
from crowdrank.measures.listwise import ap, dcg, err, ndcg, precision, rbp, rr
from crowdrank.measures.order import kendall_distance, kendall_tau, pairwise_accuracy, roc_auc, spearman

__all__ = [
    "GOLD_MEASURES",
    "Coverage",
    "Evaluation",
    "MeasureSpec",
    "ap",
    "dcg",
    "err",
    "evaluate",
    "evaluate_queries",
    "examine",
    "kendall_distance",
    "kendall_tau",
    "label_accuracy",
    "ndcg",
    "pairwise_accuracy",
    "parse",
    "precision",
    "rbp",
    "roc_auc",
    "rr",
    "spearman",
]
