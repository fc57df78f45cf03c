"""The flat public names: derived from the registry, and complete for type checkers."""

import ast
from pathlib import Path

import crowdrank as cr


def test_what_type_checkers_see_is_what_there_is():
    tree = ast.parse(Path(cr.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    static = {alias.asname: f"{node.module}" for node in block.body for alias in node.names}
    assert static == cr._homes()
    assert sorted(static) == cr.__all__


def test_every_name_is_there():
    for name in cr.__all__:
        assert getattr(cr, name).__doc__
    assert set(cr.__all__) <= set(dir(cr))
