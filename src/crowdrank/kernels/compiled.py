"""Compiling loops that cannot be written with arrays, if Numba is installed.

A formula is written once, for numbers and arrays alike. NumPy evaluates it on arrays; a compiled loop calls it on
numbers. Numba is imported only when something is compiled, and what it compiled is kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from types import FunctionType
from typing import Any

PACKAGE = "crowdrank[select]"
"""What installs Numba along with crowdrank."""


def can_compile() -> bool:
    """Whether Numba is installed."""
    return find_spec("numba") is not None


def compile_together(
    *functions: Callable[..., Any], inlined: tuple[Callable[..., Any], ...] = (), **instead: Any
) -> dict[str, Callable[..., Any]]:
    """The compiled form of each function, by name. The functions may call each other by name.

    A compiled function can call only compiled ones, so each is compiled as a copy in which the names of the others
    stand for their compiled forms. ``instead``: names that stand for something else there, because Numba does not
    know what they stand for here.
    """
    import numba

    names: dict[str, Any] = {}
    for function in functions:
        names |= function.__globals__
    names |= instead
    compiled: dict[str, Callable[..., Any]] = {}
    for function in functions:
        assert isinstance(function, FunctionType)
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        compiled[function.__name__] = names[function.__name__] = numba.njit(
            cache=True, nogil=True, error_model="numpy", inline="always" if function in inlined else "never"
        )(copy)
    return compiled
