"""Trustworthy rankings from the noisy judgments of a crowd.

The flat public names; nothing is loaded before its first use. The models and rankers are those of the registries.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers, which cannot ask the registry; a test keeps these names complete
    from crowdrank.compare import Comparison as Comparison
    from crowdrank.compare import compare_models as compare_models
    from crowdrank.compare.auto import Auto as Auto
    from crowdrank.data import Anchors as Anchors
    from crowdrank.data import Features as Features
    from crowdrank.data import Pairs as Pairs
    from crowdrank.data import Rankings as Rankings
    from crowdrank.data import Ratings as Ratings
    from crowdrank.data import SpooledPairs as SpooledPairs
    from crowdrank.data import SpooledRankings as SpooledRankings
    from crowdrank.data import SpooledRatings as SpooledRatings
    from crowdrank.data import read as read
    from crowdrank.data import read_features as read_features
    from crowdrank.data import to_lists as to_lists
    from crowdrank.data import to_pairs as to_pairs
    from crowdrank.engine import LocalEngine as LocalEngine
    from crowdrank.engine.dask import DaskEngine as DaskEngine
    from crowdrank.errors import CrowdrankError as CrowdrankError
    from crowdrank.errors import FitError as FitError
    from crowdrank.errors import InputError as InputError
    from crowdrank.errors import Note as Note
    from crowdrank.errors import NotFittedError as NotFittedError
    from crowdrank.errors import UsageError as UsageError
    from crowdrank.models.base import Model as Model
    from crowdrank.models.counting.borda import Borda as Borda
    from crowdrank.models.counting.condorcet import Condorcet as Condorcet
    from crowdrank.models.counting.fusion import ReciprocalRank as ReciprocalRank
    from crowdrank.models.counting.fusion import RootRank as RootRank
    from crowdrank.models.counting.greedy_order import GreedyOrder as GreedyOrder
    from crowdrank.models.counting.median_rank import MedianRank as MedianRank
    from crowdrank.models.counting.svp import SVP as SVP
    from crowdrank.models.counting.win_rate import WinRate as WinRate
    from crowdrank.models.labels.average import Average as Average
    from crowdrank.models.labels.dawid_skene import DawidSkene as DawidSkene
    from crowdrank.models.labels.glad import GLAD as GLAD
    from crowdrank.models.labels.majority import MajorityVote as MajorityVote
    from crowdrank.models.labels.ordinal import OrdinalLabels as OrdinalLabels
    from crowdrank.models.lists.crowd_agg import CrowdAggNDCG as CrowdAggNDCG
    from crowdrank.models.lists.crowd_agg import CrowdAggRBP as CrowdAggRBP
    from crowdrank.models.lists.crowd_lists import CrowdLists as CrowdLists
    from crowdrank.models.lists.crowd_luce import CrowdLuce as CrowdLuce
    from crowdrank.models.lists.mallows import Mallows as Mallows
    from crowdrank.models.lists.plackett_luce import PlackettLuce as PlackettLuce
    from crowdrank.models.lists.st_agg import StAgg as StAgg
    from crowdrank.models.pairs.bradley_terry import BradleyTerry as BradleyTerry
    from crowdrank.models.pairs.crowd_bt import CrowdBT as CrowdBT
    from crowdrank.models.pairs.crowd_thurstone import CrowdThurstone as CrowdThurstone
    from crowdrank.models.pairs.elo import Elo as Elo
    from crowdrank.models.pairs.em_elo import EMElo as EMElo
    from crowdrank.models.pairs.judge_bt import JudgeBT as JudgeBT
    from crowdrank.models.pairs.majority_bt import MajorityBT as MajorityBT
    from crowdrank.models.pairs.mpm import MPM as MPM
    from crowdrank.models.pairs.online_crowd_bt import OnlineCrowdBT as OnlineCrowdBT
    from crowdrank.models.pairs.thurstone import Thurstone as Thurstone
    from crowdrank.models.pairs.trueskill import TrueSkill as TrueSkill
    from crowdrank.models.pairs.variance_bt import VarianceBT as VarianceBT
    from crowdrank.models.thurstonian.tpp import TPP as TPP
    from crowdrank.models.thurstonian.trm import TRM as TRM
    from crowdrank.rankers.base import Ranker as Ranker
    from crowdrank.rankers.folds import CrossValidation as CrossValidation
    from crowdrank.rankers.folds import cross_validate as cross_validate
    from crowdrank.rankers.folds import train_on_all as train_on_all
    from crowdrank.rankers.lregma import LRegMA as LRegMA
    from crowdrank.rankers.ltrma.ltrma import LTRMA as LTRMA
    from crowdrank.rankers.remap.processing import Processing as Processing
    from crowdrank.rankers.remap.remap import Remap as Remap
    from crowdrank.rankers.saved import load as load
    from crowdrank.rankers.scorers.linear import Linear as Linear
    from crowdrank.rankers.scorers.net import Net as Net
    from crowdrank.rankers.scorers.trees import Trees as Trees
    from crowdrank.rankers.supervised import LambdaMART as LambdaMART
    from crowdrank.rankers.supervised import ListMLE as ListMLE
    from crowdrank.rankers.supervised import Regression as Regression
    from crowdrank.rankers.tables import Scores as Scores
    from crowdrank.results import Beliefs as Beliefs
    from crowdrank.results import Confusion as Confusion
    from crowdrank.results import Easiness as Easiness
    from crowdrank.results import Evidence as Evidence
    from crowdrank.results import Fit as Fit
    from crowdrank.results import LabelPosterior as LabelPosterior
    from crowdrank.results import Posterior as Posterior
    from crowdrank.results import Queries as Queries
    from crowdrank.results import Ranking as Ranking
    from crowdrank.results import Reliability as Reliability
    from crowdrank.results import Result as Result
    from crowdrank.results import Skills as Skills
    from crowdrank.results import Workers as Workers
    from crowdrank.select.campaign import Campaign as Campaign
    from crowdrank.select.desk import Desk as Desk
    from crowdrank.select.history import History as History
    from crowdrank.select.policy import Policy as Policy
    from crowdrank.select.question import Question as Question
    from crowdrank.select.questions import Questions as Questions
    from crowdrank.select.questions import next_questions as next_questions
    from crowdrank.select.rules import Rules as Rules
    from crowdrank.select.study import SelectorRun as SelectorRun
    from crowdrank.select.study import Study as Study
    from crowdrank.select.study import replay as replay

__version__ = "0.1.0"

PUBLIC: dict[str, tuple[str, ...]] = {
    "compare": ("Comparison", "compare_models"),
    "data": (
        "Anchors",
        "Features",
        "Pairs",
        "Rankings",
        "Ratings",
        "SpooledPairs",
        "SpooledRankings",
        "SpooledRatings",
        "read",
        "read_features",
        "to_lists",
        "to_pairs",
    ),
    "engine": ("LocalEngine",),
    "engine.dask": ("DaskEngine",),
    "errors": ("CrowdrankError", "FitError", "InputError", "NotFittedError", "Note", "UsageError"),
    "models.base": ("Model",),
    "rankers.base": ("Ranker",),
    "rankers.folds": ("CrossValidation", "cross_validate", "train_on_all"),
    "rankers.remap.processing": ("Processing",),
    "rankers.saved": ("load",),
    "rankers.scorers.linear": ("Linear",),
    "rankers.scorers.net": ("Net",),
    "rankers.scorers.trees": ("Trees",),
    "rankers.tables": ("Scores",),
    "results": (
        "Beliefs",
        "Confusion",
        "Easiness",
        "Evidence",
        "Fit",
        "LabelPosterior",
        "Posterior",
        "Queries",
        "Ranking",
        "Reliability",
        "Result",
        "Skills",
        "Workers",
    ),
    "select.campaign": ("Campaign",),
    "select.desk": ("Desk",),
    "select.history": ("History",),
    "select.policy": ("Policy",),
    "select.question": ("Question",),
    "select.questions": ("Questions", "next_questions"),
    "select.rules": ("Rules",),
    "select.study": ("SelectorRun", "Study", "replay"),
}
"""The public names that are neither models nor rankers, by room."""


@cache
def _homes() -> dict[str, str]:
    """The module of each public name. The registries are read when a name is first used, not before."""
    from crowdrank.models.registry import entries
    from crowdrank.rankers.registry import ranker_entries

    homes = {name: f"crowdrank.{room}" for room, names in PUBLIC.items() for name in names}
    paths = [entry.path for entry in entries().values()] + [entry.path for entry in ranker_entries().values()]
    for path in paths:
        module, _, name = path.partition(":")
        homes[name] = module
    return homes


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_homes())
    if name.startswith("_") or name not in _homes():
        raise AttributeError(f"module 'crowdrank' has no attribute {name!r}")
    value = getattr(import_module(_homes()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_homes(), "__version__"])
