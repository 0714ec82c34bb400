# SPDX-License-Identifier: MIT
"""What the lint reads of a Python file: its functions and its imports. Each text is parsed once, and expressions,
which are most of it, are not walked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Import:
    """One name of `from MODULE import NAME`, and `import MODULE`, which has none. `level` is the number of leading dots."""
    line: int
    module: str
    name: str
    level: int


@dataclass(frozen=True)
class Outline:
    """functions: (name, first line, lines)."""
    functions: tuple[tuple[str, int, int], ...] = ()
    imports: tuple[Import, ...] = ()


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement, with the handlers and cases that hold some."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, ())


@cache
def outline(text: str) -> Outline:
    """Nothing of a text that is no Python."""
    try:
        nodes = list(_statements(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return Outline()
    functions = [(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1)
                 for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    imports = []
    for node in nodes:
        if isinstance(node, ast.Import):
            imports += [Import(node.lineno, alias.name, "", 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports += [Import(node.lineno, node.module or "", alias.name, node.level) for alias in node.names]
    return Outline(tuple(sorted(functions, key=lambda each: each[1])), tuple(sorted(imports, key=lambda each: each.line)))
