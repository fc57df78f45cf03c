"""Judgments prepared for the models: votes, lists and labels, cut into shards."""
