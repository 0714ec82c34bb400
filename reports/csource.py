# SPDX-License-Identifier: MIT
"""As much of C as the lints need: comments blanked, functions measured, tests named."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")
_TEST = re.compile(r"^TEST(?:_SIGNAL|_TIMEOUT)?\(\s*(\w+)", re.MULTILINE)
_TEST_F = re.compile(r"^TEST_F(?:_SIGNAL|_TIMEOUT)?\(\s*(\w+)\s*,\s*(\w+)", re.MULTILINE)
_VARIANT = re.compile(r"^FIXTURE_VARIANT_ADD\(\s*(\w+)\s*,\s*(\w+)", re.MULTILINE)
_POINT = re.compile(r"\bPOINT\(\s*([\w.]+)\s*,")
_MADE = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*\b(?:TEST|TEST_F|POINT|"
                   r"FIXTURE_VARIANT_ADD)\(", re.MULTILINE)


def _blank(match: re.Match[str]) -> str:
    """As many lines as before, nothing on them."""
    return re.sub(r"[^\n]", " ", match[0])


def without_comments(source: str) -> str:
    """Comments blanked, literals kept."""
    return _TOKEN.sub(lambda m: _blank(m) if m[0][0] == "/" else m[0], source)


def bare(source: str) -> str:
    """Comments and literals blanked; line numbers stay."""
    return _TOKEN.sub(_blank, source)


def code(source: str) -> str:
    """Comments, literals and preprocessor lines blanked."""
    return _DIRECTIVE.sub(_blank, bare(source))


def functions(source: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, lines) of every function: a head with parentheses and a body in braces."""
    text = code(source)
    depth = head = opened = 0
    name = ""
    for match in re.finditer(r"[{};]", text):
        mark, at = match[0], match.start()
        if mark == "{":
            if depth == 0:
                name, opened = _name(text[head:at]), _first(text, head)
            depth += 1
        elif mark == "}" and depth:
            depth -= 1
            if depth == 0:
                last = text.count("\n", 0, at) + 1
                if name:
                    yield name, opened, last - opened + 1
                head = at + 1
        elif mark == ";" and depth == 0:
            head = at + 1


def _name(head: str) -> str:
    """The name of the function a head introduces; '' when it introduces none."""
    found = _NAME.findall(head)
    if not found or "=" in head or re.match(r"\s*(typedef|enum)\b", head):
        return ""
    return next((name for name in found if name != "__attribute__"), "")


def _first(text: str, at: int) -> int:
    start = at + len(text[at:]) - len(text[at:].lstrip())
    return text.count("\n", 0, start) + 1


def tests(source: str) -> set[str] | None:
    """The points a probe's tests answer; None when macros make them."""
    if _MADE.search(source):
        return None
    text = without_comments(source)
    variants: dict[str, list[str]] = {}
    for fixture, variant in _VARIANT.findall(text):
        variants.setdefault(fixture, []).append(variant)
    names = set(_TEST.findall(text))
    for fixture, test in _TEST_F.findall(text):
        names |= {f"{variant}.{test}" for variant in variants[fixture]} \
            if fixture in variants else {test}
    return names


def declared(source: str) -> list[str]:
    """The points a probe's declaration names."""
    return _POINT.findall(without_comments(source))
