"""Judgments that do not fit in memory: kept as files, read a batch at a time."""
