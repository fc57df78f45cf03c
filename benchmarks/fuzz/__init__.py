"""Fuzzers: inputs drawn at random, and what must hold for each of them. Nothing may end a process."""
