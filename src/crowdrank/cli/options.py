"""Options that several commands share."""

from __future__ import annotations

import json
from typing import Any

from crowdrank.errors import UsageError


def parse_settings(given: list[str]) -> dict[str, Any]:
    """``name=value`` pairs; a value is JSON, else text."""
    settings: dict[str, Any] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"--set takes name=value. Got {one!r}.", hint="For example --set regularization=1")
        try:
            settings[name.strip()] = json.loads(value)
        except json.JSONDecodeError:
            settings[name.strip()] = value
    return settings
