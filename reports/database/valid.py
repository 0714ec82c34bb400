# SPDX-License-Identifier: MIT
"""Holds results against their schema. Parts that are the same as in an earlier result are not
checked again: thousands of results consist of the same few thousand records."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from reports import schema
from reports.database import pack
from reports.text import Unusable

_LINE = re.compile("[^\x00-\x1f\x7f-\x9f]{1,16500}")
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
NAME_LIMIT = 200
MEMBERS_LIMIT = 20_000


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and _LINE.fullmatch(value) is not None


@lru_cache(maxsize=100_000)
def _is_name(name: str) -> bool:
    return len(name) <= NAME_LIMIT and _NAME.fullmatch(name) is not None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _loose(loose: dict[str, Any]) -> bool:
    """Whether what differs each time has the types that the schema gives it."""
    facts, evidence = loose.get("facts", {}), loose.get("evidence", {})
    return (all(_is_count(loose[key]) for key in ("ms", "leftover") if key in loose)
            and isinstance(facts, dict) and isinstance(evidence, dict)
            and all(_is_name(name) and (isinstance(value, (bool, int)) or _is_line(value))
                    for name, value in facts.items())
            and all(isinstance(lines, list) and lines and all(map(_is_line, lines))
                    for lines in evidence.values()))


class Checker:
    """Knows the records that were found valid."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    def _frame(self, result: Any, name: str) -> None:
        """Everything but the probes, for which one stands that is known to be valid."""
        personas = result.get("personas") if isinstance(result, dict) else None
        if not isinstance(personas, dict) or not all(
                isinstance(part, dict) and isinstance(part.get("probes"), dict)
                for part in personas.values()):
            schema.require("result", result, name)
            raise Unusable(f"{name}: not a result: personas")
        bare = {key: part | {"probes": {}} for key, part in personas.items()}
        schema.require("result", result | {"personas": bare}, name)

    def require(self, result: Any, name: str) -> dict[str, list[tuple[pack.Record, dict[str, Any]]]]:
        """persona -> the records of its probes and what is loose. Raises Unusable."""
        self._frame(result, name)
        found: dict[str, list[tuple[pack.Record, dict[str, Any]]]] = {}
        new: set[str] = set()
        for persona, part in result["personas"].items():
            parts = found.setdefault(persona, [])
            for probe, made in part["probes"].items():
                try:
                    record, loose = pack.split(probe, made)
                except (AttributeError, KeyError, TypeError):
                    schema.require("result", result, name)
                    raise
                if not _loose(loose):
                    schema.require("result", result, name)
                    raise Unusable(f"{name}: not a result: {probe}")
                if record.digest not in self.known:
                    new.add(record.digest)
                parts.append((record, loose))
        if new:
            self._some(result, found, new, name)
        return found

    def _some(self, result: dict[str, Any],
              found: dict[str, list[tuple[pack.Record, dict[str, Any]]]],
              new: set[str], name: str) -> None:
        """Check the records that were not seen before."""
        personas = {}
        for persona, parts in found.items():
            probes = {record.probe: pack.join(record.content, loose) for record, loose in parts
                      if record.digest in new}
            personas[persona] = result["personas"][persona] | {"probes": probes}
        schema.require("result", result | {"personas": personas}, name)
        self.known |= new
