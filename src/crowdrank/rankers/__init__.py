"""Rankers: features in, a scoring function out that is saved, checked and applied to new documents."""
