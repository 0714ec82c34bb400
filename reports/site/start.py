# SPDX-License-Identifier: MIT
"""The start page, and the pages of features and systems: what works, for whom, before any point is named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from markupsafe import escape

from reports import features, personas
from reports.features import GROUPS, Feature
from reports.requirements import Finding
from reports.site import embed, model, places
from reports.site.model import Site
from reports.site.places import AsSystem, Place
from reports.site.render import Pages


@dataclass
class Row:
    """A feature on the start page: its verdicts, and what blocks it."""
    feature: Feature
    since: str
    verdicts: list[str]
    gates: list[str]


@dataclass
class Why:
    """Reasons, numbered as they are met, with the points they hold back."""
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    points: dict[int, dict[str, None]] = field(default_factory=dict)

    def of(self, found: Finding) -> list[int]:
        """The numbers of what is said of a feature that is no yes."""
        said = []
        for each, keys in features.evidence(found):
            number = self.numbers.setdefault((each.verdict, each.why), len(self.numbers) + 1)
            self.points.setdefault(number, {}).update(dict.fromkeys(keys))
            said.append(number)
        return said

    @property
    def rows(self) -> list[tuple[int, str, str, list[str]]]:
        return [(number, verdict, why, [*self.points[number]]) for (verdict, why), number in self.numbers.items()]


class Told(NamedTuple):
    """A cell of a feature's page."""
    verdict: str
    why: tuple[int, ...]


def alike(rows: Iterable[tuple[Place, Any, list[Told]]]) -> list[tuple[list[Place], Any, list[Told]]]:
    """Rows of kernels that answer alike, the largest first. What stands beside a kernel keeps them apart."""
    found: dict[Any, tuple[list[Place], Any, list[Told]]] = {}
    for place, beside, told in rows:
        found.setdefault((beside, *told), ([], beside, told))[0].append(place)
    return sorted(found.values(), key=lambda row: -len(row[0]))


@dataclass
class Start:
    """What these pages are made of."""
    site: Site

    @cached_property
    def features(self) -> list[Feature]:
        return features.read()

    @cached_property
    def places(self) -> list[Place]:
        return places.read(self.site)

    @cached_property
    def systems(self) -> list[AsSystem]:
        return [*places.as_systems(self.places)]

    @cached_property
    def personas(self) -> list[str]:
        return places.persona_first(self.site.personas)

    @cached_property
    def since(self) -> dict[str, str]:
        """Feature -> since when upstream has it."""
        of_points = {point.key: point.since for point in self.site.points}
        return {each.id: features.since(each, of_points) for each in self.features}

    def groups(self, persona: str, shown: Iterable[tuple[Place, str]]) -> list[tuple[str, list[Row]]]:
        """Rows by group: what a persona is told on kernels, each at a level."""
        columns = [*shown]
        found: dict[str, list[Row]] = {}
        for each in self.features:
            findings = [place.finding(each, persona, level) for place, level in columns]
            found.setdefault(GROUPS[each.group], []).append(
                Row(each, self.since[each.id], [*map(features.verdict, findings)], features.blocked_by(findings)))
        return [*found.items()]

    def index(self, pages: Pages) -> None:
        """The start page: features and the kernels that people run."""
        shown = {persona: [each for each in places.shown(self.places) if persona in each.spot.columns]
                 for persona in self.personas}
        tables = [(persona, shown[persona], self.groups(persona, ((each, each.usual) for each in shown[persona])))
                  for persona in self.personas]
        pages.page("index.html", "index.html", tables=tables, described=self.described, start=self,
                   hidden=len(self.places) - len(places.shown(self.places)), levels=places.usual(places.shown(self.places)),
                   newest=[each for each in places.shown(self.places) if "newest" in each.name])

    @cached_property
    def described(self) -> dict[str, str]:
        """Persona -> what it stands for."""
        return {each.name: each.meaning for each in personas.read()}

    def feature(self, pages: Pages, each: Feature) -> None:
        """The page of a feature."""
        why = Why()

        def told(place: Place, level: str) -> list[Told]:
            found = [place.finding(each, persona, level) for persona in self.personas]
            return [Told(features.verdict(one), tuple(why.of(one))) for one in found]
        rows = alike((place, (place.spot.kind, place.spot.suite if place.is_part else ""), told(place, place.usual))
                     for place in self.places)
        levels = sorted(alike((place, places.at(level), told(place, level)) for place in self.places
                              for level in sorted(place.source.levels, key=_as_number) if len(place.source.levels) > 1),
                        key=lambda row: _as_number(row[1].rpartition("=")[2]))
        systems = [(one, place, places.at(one.level(place, self.personas[0])),
                    [place.verdict(each, persona, one.level(place, persona)) for persona in self.personas])
                   for one in self.systems for place in one.places]
        points = {point.key: point for point in self.site.points}
        by_id = {one.id: one for one in self.features}
        pages.page("feature.html", f"feature/{each.id}.html", feature=each, sample=escape(each.sample), since=self.since[each.id], start=self,
                   rows=rows, levels=levels, systems=systems, why=why, points=points,
                   evidence=[(key, points.get(key)) for key in each.points], group=GROUPS[each.group], usual=places.usual(self.places),
                   alternatives=[by_id[name] for name in each.alternatives], card=embed.of(self, each))

    def system(self, pages: Pages, one: AsSystem) -> None:
        """The page of a system: each feature, by the kernels that answer for it."""
        tables = []
        for persona in self.personas:
            columns = [(place, one.level(place, persona)) for place in one.places]
            tables.append((persona, [(place, places.at(level)) for place, level in columns],
                           self.groups(persona, columns)))
        pages.page("system.html", f"system/{one.page}", one=one, tables=tables, described=self.described)

    def write(self, pages: Pages) -> None:
        """All of them."""
        self.index(pages)
        for each in self.features:
            self.feature(pages, each)
        for one in self.systems:
            self.system(pages, one)

    def data(self) -> dict[str, Any]:
        """What the search reads: features and their words, systems, and a string of signs for each column."""
        signs = model.letters()

        def column(place: Place, level: str, persona: str) -> str:
            return "".join(signs[place.verdict(each, persona, level)] for each in self.features)
        at = {id(spot): (place, level) for place in self.places for level, spot in place.spots.items()}
        cells = {persona: [column(*at[id(spot)], persona) if persona in spot.columns else "" for spot in self.site.spots]
                 for persona in self.personas}
        return {"features": [[each.id, each.name, each.about, " · ".join(each.words), self.since[each.id]]
                             for each in self.features],
                "cells": cells,
                "systems": [{"name": one.system.name, "title": one.system.title, "names": one.system.names(),
                             "page": f"system/{one.page}",
                             "columns": [{"name": place.name, **{persona: column(place, one.level(place, persona), persona)
                                                                 for persona in self.personas}}
                                         for place in one.places]} for one in self.systems]}


def _as_number(level: str) -> int:
    return int(level) if level.lstrip("-").isdigit() else 0


