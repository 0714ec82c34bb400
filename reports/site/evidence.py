# SPDX-License-Identifier: MIT
"""Where the cells of the tables come from: the run, the line, and what the probe printed besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reports import text
from reports.database import whole
from reports.site.model import Site, Spot


def newest(spot: Spot, persona: str) -> Any:
    """The column that stands for a persona of a spot."""
    columns = spot.columns[persona]
    return columns[0] if len(columns) == 1 else max(columns, key=lambda each: (each.result.started, each.result.id))


@dataclass(frozen=True)
class Line:
    """Where a probe printed the answer to a point."""
    file: str
    number: int
    said: str


Lines = dict[str, dict[int, Line]]              # point key -> run -> the line
Printed = dict[str, dict[int, list[str]]]       # point key -> run -> what was printed


def lines(site: Site) -> Lines:
    """The lines of the results that the tables show. Kernels print much alike: equal lines are one object."""
    found: Lines = {}
    known: dict[Any, Any] = {}
    for spot in site.spots:
        for persona in spot.columns:
            run = newest(spot, persona).run
            for probe, said in whole.transcripts(site.connection, run).items():
                for number, name, line in whole.result_lines(said):
                    made, key = Line(f"{persona}/{probe}.ktap", number, line), f"{probe}.{name}"
                    found.setdefault(key, {})[run] = known.setdefault(made, made)
    return found


def printed(site: Site) -> Printed:
    """What probes printed as evidence, of the same results."""
    found: Printed = {}
    for spot in site.spots:
        for persona in spot.columns:
            run = newest(spot, persona).run
            for probe, loose in whole.loose(site.connection, run).items():
                for name, lines in loose.get("evidence", {}).items():
                    found.setdefault(f"{probe}.{name}", {})[run] = [text.clean(line, 400) for line in lines[:20]]
    return found
