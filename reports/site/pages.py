# SPDX-License-Identifier: MIT
"""The pages of points, areas and kernels: what each of them says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reports import wordlist
from reports.database.query import BEST_FIRST, History, Step
from reports.difference import LACKING
from reports.site import model
from reports.site.evidence import Line
from reports.site.model import Cell, Point, Site, Spot
from reports.site.render import Pages
from reports.site.source import About

STEPS = 5       # of a heat-map
Lines = dict[tuple[int, str], Line]


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


def by_area(site: Site, pages: Pages) -> None:
    """The page of all areas."""
    spots = {persona: [spot for spot in site.spots if persona in spot.columns] for persona in site.personas}
    heat: dict[str, dict[str, list[Share]]] = {}
    for persona in site.personas:
        found = [model.by_area(site, spot, persona) for spot in spots[persona]]
        heat[persona] = {area: [share(each.get(area, Counter()), len(points)) for each in found]
                         for area, points in site.areas.items()}
    pages.page("areas.html", "areas.html", heat=heat, heat_spots=spots, personas=site.personas[::-1])


def areas(site: Site, pages: Pages) -> None:
    for area, points in site.areas.items():
        spots: dict[str, list[Spot]] = {}
        without: dict[str, list[Spot]] = {}
        rows = {}
        for persona in site.personas:
            spots[persona], without[persona] = apart(site, points, persona)
            rows[persona] = [(point, [_verdict(site.cell(point, spot, persona)) for spot in spots[persona]])
                             for point in points]
        pages.page("area.html", f"area/{area}.html", area=area, points=points, spots=spots, rows=rows,
                   without=without)


def apart(site: Site, points: list[Point], persona: str) -> tuple[list[Spot], list[Spot]]:
    """Kernels that were asked, and those of them on which all of it is absent: what is for one
    architecture has a table of that architecture's kernels. All of them where it is absent on all."""
    there: list[Spot] = []
    without: list[Spot] = []
    for spot in site.spots:
        found = {cell.verdict for point in points if (cell := site.cell(point, spot, persona))}
        if found:
            (without if found == {"absent"} else there).append(spot)
    return (there, without) if there else (without, [])


def _verdict(cell: Cell | None) -> str:
    return cell.verdict if cell else ""


@dataclass
class Group:
    """The cells of a point that say the same for the same reason."""
    verdict: str
    reason: str
    anchor: str
    evidence: list[str] = field(default_factory=list)
    where: dict[tuple[str, str], list[tuple[str, Line | None]]] = field(default_factory=dict)   # by kernel and result
    count: int = 0

    def tell(self, spot: str, result: str, persona: str, line: Line | None) -> None:
        self.where.setdefault((spot, result), []).append((persona, line))
        self.count += 1


@dataclass
class _Story:
    """The page of a point, as it grows."""
    site: Site
    point: Point
    lines: Lines
    evidence: dict[tuple[int, str], list[str]]
    groups: dict[tuple[str, str], Group] = field(default_factory=dict)

    def told(self, spot: Spot, persona: str) -> dict[str, Any] | None:
        """A cell of the table, booked under its reason."""
        cell = self.site.cell(self.point, spot, persona)
        if cell is None:
            return None
        reason = self.site.reason(cell)
        verdict = cell.answer.verdict if cell.answer else cell.verdict
        group = self.groups.setdefault((verdict, reason),
                                       Group(verdict, reason, f"r{len(self.groups) + 1}"))
        at = (cell.column.run, self.point.key)
        group.evidence = group.evidence or self.evidence.get(at, [])
        group.tell(spot.name, cell.column.result.digest, persona, self.lines.get(at))
        several = ", ".join(f"{word} {count}" for word, count in cell.counts) if len(cell.counts) > 1 else ""
        return {"verdict": cell.verdict, "anchor": group.anchor, "counts": several,
                "differs": model.differs(self.point, spot, cell.verdict)}

    def histories(self) -> list[History]:
        """The point on each architecture, whoever asked."""
        steps: dict[str, dict[str, Step]] = {}
        for spot in self.site.spots:
            kernel = spot.one.result.kernel
            for persona in spot.columns:
                cell = self.site.cell(self.point, spot, persona)
                if cell:
                    step = steps.setdefault(spot.arch, {}).setdefault(
                        spot.release, Step(spot.release, kernel.order))
                    step.counts.update(dict(cell.counts))
        return [History(self.point.key, arch, sorted(found.values(), key=lambda step: step.order))
                for arch, found in sorted(steps.items())]


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
        said += [f"works on {counts['yes']} of {told} that could tell ({name})"] if told else []
    share = found.in_use()
    if share is not None and site.usage:
        said.append(f"on {share:.0%} of what is in use ({site.usage.name})")
    return "; ".join(said) or "none could tell"


def point(site: Site, pages: Pages, one: Point, lines: Lines,
          evidence: dict[tuple[int, str], list[str]]) -> None:
    """The page of a point."""
    story = _Story(site, one, lines, evidence)
    rows = []
    for spot in site.spots:
        cells = [story.told(spot, persona) for persona in site.personas]
        if any(cells):
            rows.append((spot, cells))
    histories = story.histories()
    spans = [(each.arch, f"{each.first()}" + (f", gone {each.last()}" if each.last() else ""))
             for each in histories if each.first()]
    strips = [(each.arch, [{"verdict": _best(step), "release": model.short(step.release)}
                           for step in each.steps]) for each in histories]
    probe = one.probe.id if one.probe else ""
    name = one.item.name if one.item else ""
    known = [{"verdicts": each.verdicts, "reason": each.reason, "link": each.link,
              "when": ", ".join(f"{key} is {' or '.join(values)}" for key, values in each.when) or "anywhere"}
             for each in site.deviations.get(probe, []) if each.point in (name, "*") or
             each.applies(probe, name, dict.fromkeys([], []))]
    groups = sorted(story.groups.values(), key=lambda each: wordlist.WORST_FIRST.index(each.verdict))
    pages.page("point.html", f"point/{one.page}", point=one, devices=_devices(site, one), rows=rows, strips=strips, spans=spans,
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
