"""Trustworthy rankings from the noisy judgments of a crowd.

The flat public names; nothing is loaded before its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from crowdrank.compare.auto import Auto
    from crowdrank.compare.comparison import Comparison, compare_models
    from crowdrank.data import Anchors, Pairs, Rankings, Ratings, SpooledPairs, read, to_lists, to_pairs
    from crowdrank.engine import LocalEngine
    from crowdrank.engine.dask import DaskEngine
    from crowdrank.errors import CrowdrankError, FitError, InputError, Note, UsageError
    from crowdrank.models.counting.borda import Borda
    from crowdrank.models.counting.condorcet import Condorcet
    from crowdrank.models.counting.elo import Elo
    from crowdrank.models.counting.fusion import ReciprocalRank, RootRank
    from crowdrank.models.counting.greedy_order import GreedyOrder
    from crowdrank.models.counting.median_rank import MedianRank
    from crowdrank.models.counting.svp import SVP
    from crowdrank.models.counting.win_rate import WinRate
    from crowdrank.models.labels.average import Average
    from crowdrank.models.labels.dawid_skene import DawidSkene
    from crowdrank.models.labels.glad import GLAD
    from crowdrank.models.labels.majority import MajorityVote
    from crowdrank.models.labels.ordinal import OrdinalLabels
    from crowdrank.models.listwise.crowd_agg import CrowdAggNDCG, CrowdAggRBP
    from crowdrank.models.listwise.crowd_lists import CrowdLists
    from crowdrank.models.listwise.st_agg import StAgg
    from crowdrank.models.paired.bradley_terry import BradleyTerry
    from crowdrank.models.paired.crowd_bt import CrowdBT
    from crowdrank.models.paired.crowd_thurstone import CrowdThurstone
    from crowdrank.models.paired.em_elo import EMElo
    from crowdrank.models.paired.judge_bt import JudgeBT
    from crowdrank.models.paired.majority_bt import MajorityBT
    from crowdrank.models.paired.mpm import MPM
    from crowdrank.models.paired.thurstone import Thurstone
    from crowdrank.models.paired.trueskill import TrueSkill
    from crowdrank.models.paired.variance_bt import VarianceBT
    from crowdrank.models.permutations.mallows import Mallows
    from crowdrank.models.permutations.plackett_luce import PlackettLuce
    from crowdrank.models.thurstonian.tpp import TPP
    from crowdrank.models.thurstonian.trm import TRM
    from crowdrank.results import Evidence, Fit, LabelPosterior, Queries, Ranking, Skills, Workers

_HOME = {
    "Anchors": "data",
    "Auto": "compare.auto",
    "Average": "models.labels.average",
    "Borda": "models.counting.borda",
    "BradleyTerry": "models.paired.bradley_terry",
    "Comparison": "compare",
    "Condorcet": "models.counting.condorcet",
    "CrowdAggNDCG": "models.listwise.crowd_agg",
    "CrowdAggRBP": "models.listwise.crowd_agg",
    "CrowdBT": "models.paired.crowd_bt",
    "CrowdLists": "models.listwise.crowd_lists",
    "CrowdThurstone": "models.paired.crowd_thurstone",
    "CrowdrankError": "errors",
    "DaskEngine": "engine.dask",
    "DawidSkene": "models.labels.dawid_skene",
    "EMElo": "models.paired.em_elo",
    "Elo": "models.counting.elo",
    "Evidence": "results",
    "Fit": "results",
    "FitError": "errors",
    "GreedyOrder": "models.counting.greedy_order",
    "GLAD": "models.labels.glad",
    "InputError": "errors",
    "JudgeBT": "models.paired.judge_bt",
    "LabelPosterior": "results",
    "LocalEngine": "engine",
    "MPM": "models.paired.mpm",
    "MajorityBT": "models.paired.majority_bt",
    "Mallows": "models.permutations.mallows",
    "MedianRank": "models.counting.median_rank",
    "MajorityVote": "models.labels.majority",
    "Note": "errors",
    "OrdinalLabels": "models.labels.ordinal",
    "Pairs": "data",
    "PlackettLuce": "models.permutations.plackett_luce",
    "Queries": "results",
    "Ranking": "results",
    "Rankings": "data",
    "Ratings": "data",
    "ReciprocalRank": "models.counting.fusion",
    "RootRank": "models.counting.fusion",
    "SVP": "models.counting.svp",
    "Skills": "results",
    "SpooledPairs": "data",
    "StAgg": "models.listwise.st_agg",
    "TPP": "models.thurstonian.tpp",
    "TRM": "models.thurstonian.trm",
    "Thurstone": "models.paired.thurstone",
    "TrueSkill": "models.paired.trueskill",
    "UsageError": "errors",
    "VarianceBT": "models.paired.variance_bt",
    "WinRate": "models.counting.win_rate",
    "Workers": "results",
    "compare_models": "compare",
    "read": "data",
    "to_lists": "data",
    "to_pairs": "data",
}

__all__ = [
    "GLAD",
    "MPM",
    "SVP",
    "TPP",
    "TRM",
    "Anchors",
    "Auto",
    "Average",
    "Borda",
    "BradleyTerry",
    "Comparison",
    "Condorcet",
    "CrowdAggNDCG",
    "CrowdAggRBP",
    "CrowdBT",
    "CrowdLists",
    "CrowdThurstone",
    "CrowdrankError",
    "DaskEngine",
    "DawidSkene",
    "EMElo",
    "Elo",
    "Evidence",
    "Fit",
    "FitError",
    "GreedyOrder",
    "InputError",
    "JudgeBT",
    "LabelPosterior",
    "LocalEngine",
    "MajorityBT",
    "MajorityVote",
    "Mallows",
    "MedianRank",
    "Note",
    "OrdinalLabels",
    "Pairs",
    "PlackettLuce",
    "Queries",
    "Ranking",
    "Rankings",
    "Ratings",
    "ReciprocalRank",
    "RootRank",
    "Skills",
    "SpooledPairs",
    "StAgg",
    "Thurstone",
    "TrueSkill",
    "UsageError",
    "VarianceBT",
    "WinRate",
    "Workers",
    "compare_models",
    "read",
    "to_lists",
    "to_pairs",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'crowdrank' has no attribute {name!r}")
    value = getattr(import_module(f"crowdrank.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
