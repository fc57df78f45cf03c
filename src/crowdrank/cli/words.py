"""Remedies for errors, as flags of the command line."""

from __future__ import annotations

from crowdrank.errors import Remedy


def flag(remedy: Remedy) -> str:
    """A remedy as a flag: ``--set regularization=0.5`` for a parameter, otherwise ``--model bt``."""
    if remedy.parameter:
        return f"--set {remedy.argument}={remedy.value}"
    return f"--{remedy.argument.replace('_', '-')} {remedy.value}".rstrip()
