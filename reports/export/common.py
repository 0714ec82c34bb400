# SPDX-License-Identifier: MIT
"""What the formats share: the cells of results, and what every text passes through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from reports import expect, text
from reports.catalogue import Catalogue

NAME_LIMIT, REASON_LIMIT = 200, 1000

Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One answer of one result."""
    result: Result
    persona: str
    probe: str
    name: str
    point: dict[str, Any]

    @property
    def key(self) -> str:
        return f"{self.probe}.{self.name}"

    @property
    def verdict(self) -> str:
        return str(self.point["verdict"])

    @property
    def reason(self) -> str:
        return text.clean(self.point.get("reason", ""), REASON_LIMIT)

    @property
    def evidence(self) -> list[str]:
        return [text.clean(line, REASON_LIMIT) for line in self.point.get("evidence", [])]


@dataclass
class Options:
    """What a format may ask for besides results."""
    declared: Catalogue = field(default_factory=Catalogue)
    persona: str = ""
    prefix: str = "PM_"


def cells(results: Sequence[Result], persona: str = "") -> Iterator[Cell]:
    """Every answer, or those of one persona."""
    for result in results:
        for each, probe, name, point in expect.points(result):
            if persona in ("", each):
                yield Cell(result, each, probe, name, point)


def title(result: Result) -> str:
    """A name for a result: architecture, release, machine."""
    identity = result["identity"]
    return text.clean(f"{identity['arch']} {identity['release']}", NAME_LIMIT)


def personas_of(result: Result, persona: str = "") -> list[str]:
    return [name for name in result["personas"] if persona in ("", name)]
