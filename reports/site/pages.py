# SPDX-License-Identifier: MIT
"""The pages of points, areas and kernels: what each of them says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from reports import wordlist
from reports.database.query import BEST_FIRST, History, Step
from reports.difference import LACKING
from reports.site import again, model
from reports.site.evidence import Line, Lines, newest
from reports.site.model import Cell, Point, Site, Spot
from reports.site.render import Pages
from reports.site.source import About

STEPS = 5       # of a heat-map
NAMED = 100     # kernels that are named one by one where most answer alike


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


def _counted(site: Site, one: Point, persona: str) -> list[tuple[str, int]]:
    """How many kernels say what, the best first."""
    counts = Counter(cell.verdict for spot in site.spots if (cell := site.cell(one, spot, persona)))
    order = dict.fromkeys(("yes", model.MIXED, *wordlist.WORST_FIRST))
    return [(word, counts[word]) for word in order if counts[word]]


def areas(site: Site, pages: Pages) -> None:
    """A page for each area. A script draws its cells; the counts are for who has none."""
    for name, points in site.areas.items():
        area(site, pages, name, points)


def area(site: Site, pages: Pages, name: str, points: list[Point]) -> None:
    """The page of an area."""
    pages.page("area.html", f"area/{name}.html", area=name, personas=site.personas[::-1], rows=[
        (point, [_counted(site, point, persona) for persona in site.personas[::-1]]) for point in points])


@dataclass
class Group:
    """The cells of a point that say the same for the same reason."""
    verdict: str
    reason: str
    anchor: str
    evidence: list[str] = field(default_factory=list)
    count: int = 0
    such: tuple[str, str, str] = ("", "", "")       # digest, kernel, persona: an example
    where: dict[str, dict[Line, list[str]]] = field(default_factory=dict)      # file -> line -> kernels

    @property
    def lines(self) -> list[tuple[Line, str]]:
        """The lines that say it, and where each was printed. Most kernels print the same one."""
        said = []
        for variants in self.where.values():
            most, *others = sorted(variants.items(), key=lambda item: -len(item[1]))
            said += [(line, "on " + ", ".join(dict.fromkeys(names))) for line, names in others]
            said.append((most[0], f"on the other {len(most[1])}" if others else ""))
        return said


@dataclass
class Row:
    """Kernels that answer alike, and what they answer to each persona: verdict, anchor, counts, difference."""
    kind: str
    cells: list[tuple[str, str, str, str] | None]
    spots: list[Spot] = field(default_factory=list)
    others: bool = False        # so many that none is named: all that are not in another row

    @cached_property
    def kernels(self) -> list[tuple[Spot, str]]:
        """Each kernel once, and what is said of it: its name, and at which levels it answers so."""
        found: dict[tuple[str, str], list[Spot]] = {}
        for spot in self.spots:
            found.setdefault((spot.kernel, spot.release), []).append(spot)
        return [next(((spot, _at(spots)) for spot in spots if spot.level == "2"), (spots[0], _at(spots)))
                for spots in found.values()]


def _at(spots: list[Spot]) -> str:
    """A kernel by its name, and at which levels of perf_event_paranoid if not at the usual one alone."""
    levels = [*dict.fromkeys(spot.level for spot in spots)]
    alone = levels == ["2"] or not levels[0].lstrip("-").isdigit()  # a kernel without such a file
    return spots[0].name if alone else f"{spots[0].kernel} at {', '.join(levels)}"



@dataclass
class _Story:
    """The page of a point, as it grows."""
    site: Site
    point: Point
    lines: Lines
    evidence: dict[tuple[int, str], list[str]]
    groups: dict[tuple[str, int | None], Group] = field(default_factory=dict)

    def told(self, spot: Spot, persona: str, cell: Cell) -> Group:
        """The group of a cell, where it is booked."""
        word = cell.told or cell.verdict
        group = self.groups.get((word, cell.reason))
        if group is None:
            group = self.groups[word, cell.reason] = Group(word, self.site.reason(cell), f"r{len(self.groups) + 1}")
        run, key = newest(spot, persona).run, self.point.key
        group.count += 1
        group.evidence = group.evidence or self.evidence.get((run, key), [])
        line = self.lines.get(run, {}).get(key)
        if line:
            group.where.setdefault(line.file, {}).setdefault(line, []).append(spot.name)
        if not group.such[0]:
            group.such = newest(spot, persona).result.digest, spot.name, persona
        return group

    def _cell(self, spot: Spot, persona: str, cell: Cell | None) -> tuple[str, str, str, str] | None:
        if cell is None:
            return None
        several = ", ".join(f"{word} {count}" for word, count in cell.counts) if len(cell.counts) > 1 else ""
        return cell.verdict, self.told(spot, persona, cell).anchor, several, model.differs(self.point, spot, cell.verdict)

    def rows(self) -> list[Row]:
        """The table: kernels by what they answer. A kind of machine stands apart, because they are not worth the same."""
        found: dict[Any, Row] = {}
        number = self.site.matrix.ids[self.point.key]
        for spot in self.site.spots:
            cells = [self.site.cells(spot, persona).get(number) for persona in self.site.personas]
            if any(cells):
                told = [self._cell(spot, *pair) for pair in zip(self.site.personas, cells, strict=True)]
                at = (spot.kind, *told)
                found.setdefault(at, Row(spot.kind, told)).spots.append(spot)
        rows = sorted(found.values(), key=lambda row: -len(row.kernels))
        if rows and len(rows[0].kernels) > NAMED:
            rows[0].others = True
        return rows

    def histories(self) -> list[History]:
        """The point on each architecture, whoever asked."""
        steps: dict[str, dict[str, Step]] = {}
        number = self.site.matrix.ids[self.point.key]
        for spot in self.site.spots:
            kernel = spot.one.result.kernel
            for persona in spot.columns:
                cell = self.site.cells(spot, persona).get(number)
                if cell:
                    of_arch = steps.setdefault(spot.arch, {})
                    step = of_arch.get(spot.release)
                    if step is None:
                        step = of_arch[spot.release] = Step(spot.release, kernel.order)
                    for word, count in cell.counts:
                        step.counts[word] += count
        return [History(self.point.key, arch, sorted(found.values(), key=lambda step: step.order))
                for arch, found in sorted(steps.items())]


def strip(steps: list[Step]) -> list[tuple[str, str, str, int]]:
    """(verdict, first release, last release, how many) of neighbours that answer alike."""
    found: list[tuple[str, str, str, int]] = []
    for step in steps:
        word, release = _best(step), model.short(step.release)
        if found and found[-1][0] == word:
            found[-1] = (word, found[-1][1], release, found[-1][3] + 1)
        else:
            found.append((word, release, release, 1))
    return found


def _best(step: Step) -> str:
    return next((word for word in BEST_FIRST if step.counts[word]), "unknown")


def _devices(site: Site, one: Point) -> str:
    """On how many devices a point works, real ones first; each counts once, by its newest result."""
    found = site.coverage.get(one.key)
    if found is None:
        return ""
    said = []
    for name, counts in (("hardware", found.hardware), ("virtual, emulated or synthetic", found.other)):
        told = sum(counts[word] for word in wordlist.OF_KERNEL)
        said += [f"works for one persona at least, such as root, on {counts['yes']} of {told} devices that could tell ({name})"] if told else []
    share = found.in_use()
    if share is not None and site.usage:
        said.append(f"on {share:.0%} of what is in use ({site.usage.name})")
    return "; ".join(said) or "none could tell"


def _made_of(site: Site, one: Point, lines: Lines, evidence: dict[tuple[int, str], list[str]]) -> str:
    """A digest of all that the page of a point is made of: each answer, its line and its evidence."""
    number = site.matrix.ids[one.key]
    told = []
    for spot in site.spots:
        for persona in site.personas:
            cell = site.cells(spot, persona).get(number)
            if cell:
                run = newest(spot, persona).run
                told.append((spot.stem, spot.name, spot.kind, spot.release, persona, cell.verdict, cell.told, site.reason(cell),
                             cell.counts, lines.get(run, {}).get(one.key), evidence.get((run, one.key))))
    such = {(each[5:8]): each[0] for each in reversed(told)}     # whose result is named as an example
    examples = {spot.stem: [newest(spot, persona).result.digest for persona in spot.columns] for spot in site.spots
                if spot.stem in such.values()}
    return again.digest(told, examples, _devices(site, one))


def point(site: Site, pages: Pages, one: Point, lines: Lines,
          evidence: dict[tuple[int, str], list[str]]) -> None:
    """The page of a point; that of the old site, where nobody answers otherwise."""
    probe = one.probe.id if one.probe else ""
    beside = (site.sources.probes.get(probe), site.sources.uses.get(one.key, []), site.deviations.get(probe, []))
    pages.once(f"point {one.key}", again.digest(_made_of(site, one, lines, evidence), beside),
               partial(_point, site, pages, one, lines, evidence))


def _point(site: Site, pages: Pages, one: Point, lines: Lines,
           evidence: dict[tuple[int, str], list[str]]) -> None:
    story = _Story(site, one, lines, evidence)
    rows = story.rows()
    histories = story.histories()
    strips = [(each.arch, strip(each.steps)) for each in histories]
    probe = one.probe.id if one.probe else ""
    name = one.item.name if one.item else ""
    known = [{"verdicts": each.verdicts, "reason": each.reason, "link": each.link,
              "when": ", ".join(f"{key} is {' or '.join(values)}" for key, values in each.when) or "anywhere"}
             for each in site.deviations.get(probe, []) if each.point in (name, "*") or
             each.applies(probe, name, dict.fromkeys([], []))]
    groups = [*story.groups.values()]
    pages.page("point.html", f"point/{one.page}", point=one, devices=_devices(site, one), rows=rows, strips=strips,
               about=site.sources.probes.get(probe, About()), uses=site.sources.uses.get(one.key, []),
               deviations=known, groups=groups)


def lacking(site: Site, spot: Spot) -> Iterator[tuple[Point, str, str, str]]:
    """(point, verdict, who, reason) of what a kernel refuses, gets wrong or must not be asked."""
    for one in site.points:
        said: dict[tuple[str, str], list[str]] = {}
        for persona in site.personas:
            cell = site.cell(one, spot, persona)
            if cell and cell.verdict in LACKING:
                said.setdefault((cell.verdict, site.reason(cell)), []).append(persona)
        for (verdict, reason), who in said.items():
            yield one, verdict, ", ".join(who), reason


def backports(site: Site, spot: Spot) -> Iterator[tuple[Point, str, str, str]]:
    """What works although upstream has it later."""
    for one in site.points:
        who = [persona for persona in site.personas
               if (cell := site.cell(one, spot, persona)) and cell.verdict == "yes"
               and model.differs(one, spot, "yes") == "backport"]
        if who:
            yield one, "yes", ", ".join(who), f"upstream since {one.since}"
