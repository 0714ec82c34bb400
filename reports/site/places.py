# SPDX-License-Identifier: MIT
"""Kernels as somebody to ask: what all levels of perf_event_paranoid of one kernel said, of each feature."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reports import asked, features, personas, plain, requirements, systems
from reports.asked import ONE, Source, View
from reports.database import whole
from reports.features import Feature
from reports.plain import Said
from reports.requirements import Finding
from reports.sheet import LEVEL_WORD
from reports.site import evidence
from reports.site.model import MIXED, Cell, Site, Spot
from reports.systems import System

SHOWN = 40                      # columns of the start page
WHOLE = "default"               # the suite that asks everything
_PLAIN = re.compile(r"[a-z0-9]+-([0-9]+\.[0-9]+|newest)")


def is_plain(spot: Spot) -> bool:
    """What people run: no synthetic PMU, and of the matrix a row without a variant."""
    return spot.kind != "synthetic" and (not spot.row or _PLAIN.fullmatch(spot.row) is not None)


@dataclass
class Place:
    """A kernel on a kind of machine, at all levels that it was asked at."""
    spots: dict[str, Spot]
    source: Source
    findings: dict[tuple[str, str, str], Finding] = field(default_factory=dict)

    @property
    def usual(self) -> str:
        return self.source.level()

    @property
    def spot(self) -> Spot:
        """That of the usual level."""
        return self.spots[self.usual]

    @property
    def name(self) -> str:
        return self.spot.row or self.spot.name

    @property
    def is_plain(self) -> bool:
        return is_plain(self.spot)

    @property
    def is_part(self) -> bool:
        """Whether less was asked than there is to ask."""
        return self.spot.suite != WHOLE

    def finding(self, feature: Feature, persona: str, level: str = "") -> Finding:
        """What became of a feature there; asked once."""
        at = (feature.id, persona, level or self.usual)
        if at not in self.findings:
            (self.findings[at],) = requirements.check(
                feature.wanted, lambda key: self.source.said(key, persona, at[2]))
        return self.findings[at]

    def verdict(self, feature: Feature, persona: str, level: str = "") -> str:
        return features.verdict(self.finding(feature, persona, level))


_DIFFER = Said(plain.UNKNOWN, "devices with that kernel differ", verdict="unknown")


def _said(site: Site, cell: Cell) -> Said:
    if cell.verdict == MIXED:
        return _DIFFER
    return plain.of_point({"verdict": cell.verdict, "reason": site.reason(cell)})


class Points(Mapping[str, Said]):
    """What a persona was told, by key; made when it is asked for, since features and programs ask a few hundred."""

    def __init__(self, site: Site, cells: dict[int, Cell]) -> None:
        self._site, self._cells = site, cells

    def __getitem__(self, key: str) -> Said:
        cell, known = self._cells[self._site.matrix.ids[key]], self._site.said
        if cell not in known:
            known[cell] = _said(self._site, cell)
        return known[cell]

    def __iter__(self) -> Iterator[str]:
        return (self._site.matrix.points[number] for number in self._cells)

    def __len__(self) -> int:
        return len(self._cells)


def _view(site: Site, spot: Spot, persona: str) -> View:
    """What a persona was told."""
    points = Points(site, site.cells(spot, persona))
    run = evidence.newest(spot, persona).run
    loose = whole.loose(site.connection, run)
    return View(points, {f"{probe}.{name}": value for probe, part in loose.items()
                         for name, value in part.get("facts", {}).items()},
                whole.around(site.connection, run))


def read(site: Site) -> list[Place]:
    """The kernels of a site, in its order."""
    by_kernel: dict[tuple[str, ...], dict[str, Spot]] = {}
    for spot in site.spots:
        level = spot.one.result.level
        by_kernel.setdefault(spot.key[:-1], {})[level if LEVEL_WORD.fullmatch(level) else ONE] = spot
    found = []
    for spots in by_kernel.values():
        views = {(persona, level): _view(site, spot, persona) for level, spot in spots.items()
                 for persona in spot.columns}
        found.append(Place(spots, Source("", "", views, arch=next(iter(spots.values())).arch)))
    return found


def shown(places: list[Place]) -> list[Place]:
    """Those of the start page: plain kernels, or all where none is; of too many the newest of each architecture."""
    found = [each for each in places if each.is_plain] or places
    after: Counter[str] = Counter()     # how many of that architecture are newer
    ranks = []
    for at, each in reversed([*enumerate(found)]):
        ranks.append((after[each.spot.arch], at))
        after[each.spot.arch] += 1
    return [found[at] for at in sorted(at for _rank, at in sorted(ranks)[:SHOWN])]


@dataclass(frozen=True)
class AsSystem:
    """A system by its name: who answers for it, at which level, and what is to be said first."""
    system: System
    places: list[Place]
    about: tuple[str, ...]

    @property
    def page(self) -> str:
        return f"{self.system.name}.html"

    def level(self, place: Place, persona: str) -> str:
        """The level to answer at: the system's, where anything is known of it."""
        level = self.system.level
        return level if level and place.source.tells(persona, level) else place.usual


def as_systems(places: list[Place]) -> Iterator[AsSystem]:
    """Each system for which a kernel of the site answers."""
    rows = {each.spot.row: each for each in places if each.spot.row}
    for system in systems.read().values():
        names = dict.fromkeys(row for series in system.series for row in systems.rows(series, system.arch, rows))
        if names:
            yield AsSystem(system, [rows[name] for name in names], tuple(systems.about(system, system.arch, rows)))


def persona_first(names: list[str]) -> list[str]:
    """From the least to the most privileged: most people are users."""
    return personas.in_order(names)[::-1]


def usual(places: list[Place]) -> str:
    """The levels of perf_event_paranoid that kernels are shown at, and whose choice that is."""
    levels = list(dict.fromkeys(at(each.usual) for each in places))
    if levels == [at(asked.USUAL)]:
        return f"{levels[0]}, which kernels have from 4.6 on unless somebody changes it"
    return f"the level that it was asked at ({', '.join(levels)})"


def at(level: str) -> str:
    return asked.at(level)
