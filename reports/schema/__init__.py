# SPDX-License-Identifier: MIT
"""The formats of what reports writes and reads, and whether a value follows one."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from reports import text, wordlist
from reports.text import Unusable

KINDS = ("result", "profile", "expectation", "catalogue", "coverage")


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


@lru_cache(maxsize=None)
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator
    source = (Path(__file__).parent / f"{kind}.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(source, object_hook=_completed))


def _say(error: Any) -> str:
    """One finding: where, what, and what the schema says the place is for."""
    where = "/".join(str(step) for step in error.absolute_path) or "top"
    meant = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
    said = text.clean(f"{where}: {error.message}", 300)
    return f"{said} ({meant})" if meant else said


def problems(kind: str, value: Any, limit: int = 10) -> list[str]:
    """The first few ways in which a value does not follow the schema of its kind."""
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
