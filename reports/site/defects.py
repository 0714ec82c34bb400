# SPDX-License-Identifier: MIT
"""The page of defects: what is wrong in some kernels, a program that shows it alone, and which kernels here have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reports import defects, text
from reports.defects import Defect
from reports.site.model import Point, Site, Spot
from reports.site.render import Pages

PROGRAM_LIMIT = 1 << 16


class Shown(NamedTuple):
    """A point of a defect, and the kernels of the site on which it says so for somebody."""
    key: str
    point: Point | None
    broken: list[Spot]


def _kernels(spots: list[Spot]) -> list[Spot]:
    """One of each kernel, whatever levels of perf_event_paranoid it was asked at; of the usual level if that is there."""
    first: dict[tuple[str, ...], Spot] = {}
    for spot in sorted(spots, key=lambda spot: spot.one.result.level not in ("", "2")):
        first.setdefault((spot.row, spot.arch, spot.release, spot.kind), spot)
    chosen = {spot.key for spot in first.values()}
    return [spot for spot in spots if spot.key in chosen]


def _points(site: Site, defect: Defect, known: dict[str, Point]) -> Iterator[Shown]:
    for key in defect.points:
        point = known.get(key)
        broken = _kernels([spot for spot in site.spots if point and any(
            (cell := site.cell(point, spot, persona)) and cell.verdict == defect.verdict for persona in spot.columns)])
        yield Shown(key, point, broken)


def _program(defect: Defect) -> str:
    return text.load_text(defect.program, PROGRAM_LIMIT) if defect.program.is_file() else ""


def write(site: Site, pages: Pages) -> None:
    """The page."""
    known = {point.key: point for point in site.points}
    rows = [(each, [*_points(site, each, known)], _program(each)) for each in defects.read()]
    pages.page("defects.html", "defects.html", rows=rows, others=defects.others(defects.read()), faults=defects.FAULTS,
               right=defects.RIGHT, wrong=defects.WRONG, untold=defects.UNTOLD)
