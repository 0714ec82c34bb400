# SPDX-License-Identifier: MIT
"""The pages of areas, and what those of kernels say of points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from reports import wordlist
from reports.difference import LACKING
from reports.site import model
from reports.site.model import Cell, Point, Site, Spot
from reports.site.render import Pages
from reports.site.story import Grid

_BEST_FIRST = tuple(dict.fromkeys(("yes", model.MIXED, *wordlist.WORST_FIRST)))
STEPS = 5       # of a heat-map


@dataclass
class Share:
    """A cell of the heat-map."""
    said: str = ""
    step: str = "h-none"
    broken: int = 0
    title: str = ""
    part: bool = False      # less was asked than the area has


def share(counts: Counter[str], points: int) -> Share:
    """How much works of what was asked there, whoever or whatever is in the way."""
    asked = counts.total() - counts["hazard"]
    if not asked:
        return Share(title="not asked")
    part = counts["yes"] / asked
    step = STEPS if part == 1 else min(int(part * STEPS), STEPS - 1)
    others = "".join(f", {counts[word]} {word}" for word in wordlist.WORST_FIRST if word != "yes" and counts[word])
    return Share(str(int(part * 100)), f"h{step}", counts["broken"],
                 f"{counts['yes']} of {asked} asked work{others}" + (f"; the area has {points}" if asked < points else ""),
                 asked < points)


def by_area(site: Site, pages: Pages, shown: list[Spot]) -> None:
    """The page of all areas, for some kernels."""
    spots = {persona: [spot for spot in shown if persona in spot.columns] for persona in site.personas}
    heat: dict[str, dict[str, list[Share]]] = {}
    for persona in site.personas:
        found = [model.by_area(site, spot, persona, asked=True) for spot in spots[persona]]
        heat[persona] = {area: [share(each.get(area, Counter()), len(points)) for each in found]
                         for area, points in site.areas.items()}
    pages.page("areas.html", "areas.html", heat=heat, heat_spots=spots, personas=site.personas[::-1],
               hidden=len(site.spots) - len(shown))


def _counted(row: list[Cell | None]) -> list[tuple[str, int]]:
    """How many kernels say what, the best first."""
    counts = Counter(cell.verdict for cell in row if cell)
    return [(word, counts[word]) for word in _BEST_FIRST if counts[word]]


def areas(grid: Grid, pages: Pages) -> None:
    """A page for each area. A script draws its cells; the counts are for who has none."""
    for name, points in grid.site.areas.items():
        area(grid, pages, name, points)


def area(grid: Grid, pages: Pages, name: str, points: list[Point]) -> None:
    """The page of an area."""
    personas = grid.site.personas[::-1]
    pages.page("area.html", f"area/{name}.html", area=name, personas=personas, rows=[
        (point, [_counted(grid.of(point, persona)) for persona in personas]) for point in points])


def _of_spot(site: Site, spot: Spot, verdicts: Container[str]) -> Iterator[tuple[Point, list[tuple[str, Cell]]]]:
    """The points that have one of these verdicts on a kernel, and the personas to which they have it."""
    found: dict[int, list[tuple[str, Cell]]] = {}
    for persona in site.personas:
        for point, cell in site.cells(spot, persona).items():
            if cell.verdict in verdicts:
                found.setdefault(point, []).append((persona, cell))
    for one in site.points:
        told = found.get(site.matrix.ids[one.key])
        if told:
            yield one, told


class Found(NamedTuple):
    """A point in a list of a kernel: to whom it has that verdict, and for which reason; one for each if they differ."""
    point: Point
    verdict: str
    who: str
    reasons: list[str]


def lacking(site: Site, spot: Spot) -> Iterator[Found]:
    """What a kernel refuses, gets wrong or must not be asked: each point once a verdict, since reasons may have numbers."""
    for one, told in _of_spot(site, spot, LACKING):
        said: dict[str, dict[str, list[str]]] = {}
        for persona, cell in told:
            said.setdefault(cell.verdict, {}).setdefault(site.reason(cell), []).append(persona)
        for verdict, reasons in said.items():
            whole = [f"{', '.join(who)}: {reason}" if len(reasons) > 1 else reason for reason, who in reasons.items()]
            yield Found(one, verdict, ", ".join(who for each in reasons.values() for who in each), whole)


def backports(grid: Grid, spot: Spot) -> Iterator[Found]:
    """What works although upstream has it later."""
    at = grid.site.spots.index(spot)
    for one, told in _of_spot(grid.site, spot, ("yes",)):
        if grid.newer(one.since)[at]:
            yield Found(one, "yes", ", ".join(persona for persona, _cell in told), [f"upstream since {one.since}"])
