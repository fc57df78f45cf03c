"""Consensus of labels: what each item's label is, and how good the workers are."""
