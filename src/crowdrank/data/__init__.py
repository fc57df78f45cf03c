"""Judgments as coded tables. Only this package knows files, columns and ids."""

from crowdrank.data.align import Aligned, align, check_rows, feature_rows
from crowdrank.data.arrays import Floats, Integers, Ints, Resident, add_by_code, summed
from crowdrank.data.constraints import MOST_EXPERTISE, Constraints, Demands
from crowdrank.data.convert import count_pairs, load_rows, make_pairs, size_in_words, to_lists, to_pairs
from crowdrank.data.features import Features
from crowdrank.data.gold import Anchors, Scored, read_gold, read_ranking, read_rankings
from crowdrank.data.grades import judged_grades, note_not_judged, note_odd_grade, note_totals
from crowdrank.data.ids import Backend
from crowdrank.data.index import Index, Nodes, named_nodes, node_codes, translate_ids
from crowdrank.data.io.asked import read_asked
from crowdrank.data.io.columns import parse_mapping
from crowdrank.data.io.features import read_features
from crowdrank.data.io.read import AnyJudgments, read
from crowdrank.data.io.text_tables import note_contradictions
from crowdrank.data.list_stream import ListStream, stream_lists
from crowdrank.data.pair_stream import ConvertedPairs, stream_pairs
from crowdrank.data.side_info import SideInfo
from crowdrank.data.spool.features import FeatureFile
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRankings, SpooledRatings, SpooledRows
from crowdrank.data.tables import LEFT, RIGHT, TIE, Judgments, Pairs, Rankings, Ratings, join_pairs

__all__ = [
    "LEFT",
    "MOST_EXPERTISE",
    "RIGHT",
    "TIE",
    "Aligned",
    "Anchors",
    "AnyJudgments",
    "Backend",
    "Constraints",
    "ConvertedPairs",
    "Demands",
    "FeatureFile",
    "Features",
    "Floats",
    "Index",
    "Integers",
    "Ints",
    "Judgments",
    "ListStream",
    "Nodes",
    "Pairs",
    "Rankings",
    "Ratings",
    "Resident",
    "Scored",
    "SideInfo",
    "SpooledPairs",
    "SpooledRankings",
    "SpooledRatings",
    "SpooledRows",
    "add_by_code",
    "align",
    "check_rows",
    "count_pairs",
    "feature_rows",
    "join_pairs",
    "judged_grades",
    "load_rows",
    "make_pairs",
    "named_nodes",
    "node_codes",
    "note_contradictions",
    "note_not_judged",
    "note_odd_grade",
    "note_totals",
    "parse_mapping",
    "read",
    "read_asked",
    "read_features",
    "read_gold",
    "read_ranking",
    "read_rankings",
    "size_in_words",
    "stream_lists",
    "stream_pairs",
    "summed",
    "to_lists",
    "to_pairs",
    "translate_ids",
]
