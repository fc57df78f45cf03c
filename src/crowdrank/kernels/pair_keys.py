"""One number for two items, whichever comes first."""

from __future__ import annotations

from typing import Any

import numpy as np

KEY = 1 << 31
"""The key of a pair is the smaller code times this, plus the larger one: it does not depend on other items."""


def pair_key(left: Any, right: Any) -> Any:
    """The keys of pairs of codes."""
    return np.minimum(left, right).astype(np.int64) * KEY + np.maximum(left, right)
