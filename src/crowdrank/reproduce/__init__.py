"""The papers' tables and figures, ours beside theirs."""

from crowdrank.reproduce.result import Result
from crowdrank.reproduce.targets import TARGETS, Target, reproduce

__all__ = ["TARGETS", "Result", "Target", "reproduce"]
