"""The only room that knows files, columns and ids."""

from crowdrank.data.arrays import Floats, Integers, Ints, Resident, summed
from crowdrank.data.columns import parse_mapping
from crowdrank.data.comparisons import (
    CodedVotes,
    Comparisons,
    ShardRef,
    Tally,
    coded_votes,
    joined,
    node_codes,
    nodes_of,
    plan,
    tally,
)
from crowdrank.data.convert import count_pairs, described, made_pairs, to_lists, to_pairs
from crowdrank.data.gold import Anchors, Scored, agreed_pairs, read_gold, read_ranking
from crowdrank.data.graph import Graph, graph
from crowdrank.data.nodes import Nodes, named_nodes, translated
from crowdrank.data.read import AnyJudgments, read
from crowdrank.data.spooled import SpooledPairs, tally_batches, tally_spooled
from crowdrank.data.tables import LEFT, RIGHT, TIE, Index, Judgments, Pairs, Rankings, Ratings, joined_pairs

__all__ = [
    "LEFT",
    "RIGHT",
    "TIE",
    "Anchors",
    "AnyJudgments",
    "CodedVotes",
    "Comparisons",
    "Floats",
    "Graph",
    "Index",
    "Integers",
    "Ints",
    "Judgments",
    "Nodes",
    "Pairs",
    "Rankings",
    "Ratings",
    "Resident",
    "Scored",
    "ShardRef",
    "SpooledPairs",
    "Tally",
    "agreed_pairs",
    "coded_votes",
    "count_pairs",
    "described",
    "graph",
    "joined",
    "joined_pairs",
    "made_pairs",
    "named_nodes",
    "node_codes",
    "nodes_of",
    "parse_mapping",
    "plan",
    "read",
    "read_gold",
    "read_ranking",
    "summed",
    "tally",
    "tally_batches",
    "tally_spooled",
    "to_lists",
    "to_pairs",
    "translated",
]
