"""The papers' tables and figures, ours next to theirs."""

from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.target import Target
from crowdrank.reproduce.targets import TARGETS, reproduce

__all__ = ["TARGETS", "PaperTable", "Target", "reproduce"]
