"""Models against held-out votes, and the choice `auto`."""

import sys
from types import ModuleType

from crowdrank.compare.catalogue import catalogue, find, make
from crowdrank.compare.comparison import Comparison, Row, compare

__all__ = ["Comparison", "Row", "catalogue", "compare", "find", "make"]


class _Room(ModuleType):
    """A room that can be called, so that the flat name of its verb does not hide it."""

    __call__ = staticmethod(compare)


sys.modules[__name__].__class__ = _Room
