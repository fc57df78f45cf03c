"""Figures that are measured, never tested: speed as a ratio against a named peer, coverage, growth."""
