# SPDX-License-Identifier: MIT
"""The formats of what reports writes and reads, and whether a value follows one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from reports import text, wordlist
from reports.text import Unusable

KINDS = ("result", "profile", "expectation", "catalogue", "coverage", "recording", "table")


def _completed(part: dict[str, Any]) -> dict[str, Any]:
    """Patterns as JSON Schema means them: to Python's `$`, a line break may follow. And words of
    verdicts where the schema names the list they are on."""
    if isinstance(part.get("pattern"), str):
        part["pattern"] = re.sub(r"\$$", r"\\Z", part["pattern"])
    if "x-words" in part:
        part["enum"] = list(wordlist.LISTS[part["x-words"]])
    if "x-no-words" in part:
        part["not"] = {"enum": list(wordlist.LISTS[part["x-no-words"]])}
    if "x-required-words" in part:
        part["required"] = list(wordlist.LISTS[part["x-required-words"]])
    return part


def _source(kind: str) -> str:
    return (Path(__file__).parent / f"{kind}.json").read_text(encoding="utf-8")


@lru_cache(maxsize=None)
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator
    return Draft202012Validator(json.loads(_source(kind), object_hook=_completed))


def _typed(part: dict[str, Any]) -> dict[str, Any]:
    """To Python 1 is True, and to JSON it is not: a constant says its type."""
    types = {bool: "boolean", int: "integer"}
    if type(part.get("const")) in types:
        part["type"] = types[type(part["const"])]
    return _completed(part)


@lru_cache(maxsize=None)
def _compiled(kind: str) -> Callable[[Any], Any] | None:
    """A schema as generated code, many times faster; None where the package is not installed."""
    try:
        import fastjsonschema
    except ImportError:
        return None
    made: Callable[[Any], Any] = fastjsonschema.compile(
        json.loads(_source(kind), object_hook=_typed), use_default=False)
    return made


def accepted(kind: str, value: Any) -> bool:
    """Whether generated code finds nothing wrong. Where it does, jsonschema says what it is."""
    check = _compiled(kind)
    if check is None:
        return False
    try:
        check(value)
    except (ValueError, RecursionError):
        return False
    return True


def _say(error: Any) -> str:
    """One finding: where, what, and what the schema says the place is for."""
    where = "/".join(str(step) for step in error.absolute_path) or "top"
    meant = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
    said = text.clean(f"{where}: {error.message}", 300)
    return f"{said} ({meant})" if meant else said


def problems(kind: str, value: Any, limit: int = 10) -> list[str]:
    """The first few ways in which a value does not follow the schema of its kind."""
    if accepted(kind, value):
        return []
    try:
        return [_say(error) for error in islice(_validator(kind).iter_errors(value), limit)]
    except RecursionError:
        return ["top: nested too deeply"]


def require(kind: str, value: Any, name: str) -> Any:
    """The value itself when it follows the schema; Unusable when not."""
    found = problems(kind, value, 1)
    if found:
        raise Unusable(f"{name}: not a {kind}: {found[0]}")
    return value


def kind_of(value: Any) -> str:
    """What a JSON document says it is."""
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) and kind in KINDS else "result"
