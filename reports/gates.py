# SPDX-License-Identifier: MIT
"""Who refuses what: the points that a persona lacks, by the gate that stands before them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from reports import expect, wordlist
from reports.text import Unusable

DATA = Path(__file__).parent / "data" / "gates.toml"


@dataclass(frozen=True)
class Gate:
    """One reason for which points are refused, and what would lift it."""
    name: str
    verdicts: tuple[str, ...]
    reason: re.Pattern[str]
    lift: str
    changes: tuple[tuple[re.Pattern[str], str], ...] = ()
    by_answers: bool = False

    def takes(self, point: dict[str, Any]) -> bool:
        return (point["verdict"] in self.verdicts
                and self.reason.search(point.get("reason", "")) is not None)

    def change(self, reason: str) -> str:
        """What to change, with what the reason says of numbers; or what would lift the gate, in short."""
        return next((match.expand(words) for pattern, words in self.changes if (match := pattern.search(reason))), self.lift)


@dataclass
class Cost:
    """What a gate costs: points of each persona, and one of them."""
    gate: Gate
    points: Counter[str] = field(default_factory=Counter)
    example: str = ""


@cache
def read(path: Path = DATA) -> tuple[Gate, ...]:
    """The gates in their order; last of all, one for each verdict that no other takes whole."""
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))["gate"]
        gates = tuple(Gate(row["name"], tuple(row["verdicts"]), re.compile(row.get("reason", "")), row["lift"],
                           tuple((re.compile(pattern), words) for pattern, words in row.get("changes", ())),
                           bool(row.get("by_answers")))
                      for row in listed)
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise Unusable(f"{path.name}: no list of gates: {error}") from error
    open_ended = {word for gate in gates if not gate.reason.pattern for word in gate.verdicts}
    return gates + tuple(Gate(word, (word,), re.compile(""), one.meaning)
                         for one in wordlist.VERDICTS
                         if (word := one.word) in wordlist.SKIPPED and word not in open_ended)


def of(point: dict[str, Any], gates: tuple[Gate, ...]) -> Gate | None:
    """The gate that stands before a point; None when nothing does."""
    return next((gate for gate in gates if gate.takes(point)), None)


def costs(result: dict[str, Any], gates: tuple[Gate, ...] | None = None) -> list[Cost]:
    """What each gate costs, the most expensive first."""
    gates = gates or read()
    found: dict[str, Cost] = {}
    for persona, probe_id, name, point in expect.points(result):
        gate = of(point, gates)
        if gate:
            cost = found.setdefault(gate.name, Cost(gate, example=f"{probe_id}.{name}"))
            cost.points[persona] += 1
    return sorted(found.values(), key=lambda cost: (-cost.points.total(), cost.gate.name))
