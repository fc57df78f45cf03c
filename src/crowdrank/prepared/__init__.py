"""Judgments as a model takes them: votes, lists and labels, cut into shards."""
