"""Crowds with known truth, with a preset for each paper's generator."""

from crowdrank.simulate.crowd import Crowd
from crowdrank.simulate.labels import label_crowd
from crowdrank.simulate.letor import letor_crowd
from crowdrank.simulate.lists import ltrma_crowd, mixed_crowd, weighted_crowd
from crowdrank.simulate.pairs import bt_crowd, flip_crowd, judge_crowd
from crowdrank.simulate.presets import PRESETS, Preset, find_preset, simulate
from crowdrank.simulate.tpp import tpp_crowd

__all__ = [
    "PRESETS",
    "Crowd",
    "Preset",
    "bt_crowd",
    "find_preset",
    "flip_crowd",
    "judge_crowd",
    "label_crowd",
    "letor_crowd",
    "ltrma_crowd",
    "mixed_crowd",
    "simulate",
    "tpp_crowd",
    "weighted_crowd",
]
