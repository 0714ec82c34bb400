# SPDX-License-Identifier: MIT
"""Lists that C and Python share: files of rows like `MACRO(NAME, 1, "text")`, read as text.

The reader is strict, because C reads the same file: what it does not understand is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reports import csource, text
from reports.text import Unusable

TREE = Path(__file__).resolve().parent.parent

_DIRECTIVE = re.compile(r"^#[^\n]*", re.MULTILINE)
_ROW = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_FIELD = re.compile(r'\s*(?:"([^"\\\n]*)"|(-?\w+))\s*([,)])')


def _fields(body: str, at: int, where: str) -> Iterator[tuple[str, int]]:
    """The fields of a row up to its `)`, each with the place behind it."""
    closed = False
    while not closed:
        field = _FIELD.match(body, at)
        if field is None:
            line = body.count("\n", 0, at) + 1
            raise Unusable(f"{where}:{line}: neither a word, a number nor a plain string")
        at, closed = field.end(), field[3] == ")"
        yield field[1] if field[1] is not None else field[2], at


def parse(source: str, macro: str, columns: tuple[str, ...], where: str) -> list[dict[str, str]]:
    """The rows of such a file, as column name -> text."""
    body = _DIRECTIVE.sub("", csource.without_comments(source)).rstrip()
    found: list[dict[str, str]] = []
    at = 0
    while at < len(body):
        row = _ROW.match(body, at)
        line = body.count("\n", 0, len(body) - len(body[at:].lstrip())) + 1
        if row is None or row[1] != macro:
            raise Unusable(f"{where}:{line}: not a row of {macro}()")
        fields = list(_fields(body, row.end(), where))
        if len(fields) != len(columns):
            raise Unusable(f"{where}:{line}: {len(fields)} fields, not {len(columns)}")
        found.append(dict(zip(columns, (field for field, _ in fields), strict=True)))
        at = fields[-1][1]
    if not found:
        raise Unusable(f"{where}: no row of {macro}()")
    return found


def read(name: str, macro: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a file of this tree."""
    try:
        source = (TREE / name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise Unusable(text.clean(f"{name}: {error}", 300)) from error
    return parse(source, macro, columns, name)
