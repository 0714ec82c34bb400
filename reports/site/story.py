# SPDX-License-Identifier: MIT
"""The pages of points. What is asked of all kernels is looked up once for all of them: a row of cells for each point."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from reports import expect, wordlist
from reports.database.query import BEST_FIRST
from reports.site import again, model
from reports.site.evidence import Line, Lines, Printed, newest
from reports.site.model import Cell, Point, Site, Spot
from reports.site.render import Pages
from reports.site.source import About

NAMED = 30      # kernels that are named one by one where most answer alike
RANKS = {word: rank for rank, word in enumerate(BEST_FIRST)}
UNTOLD = len(BEST_FIRST)


@dataclass(eq=False)
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


@dataclass(frozen=True)
class Asked:
    """Whom a column of the grid stands for."""
    spot: Spot
    persona: str
    run: int
    result: str     # its digest


class Grid:
    """The cells of all points, each row by kernels and their personas."""

    def __init__(self, site: Site, lines: Lines, printed: Printed) -> None:
        self.site, self.lines, self.printed = site, lines, printed
        self.width = len(site.personas)
        self.columns: list[Asked | None] = []
        self.rows: dict[int, list[Cell | None]] = {number: [] for number in site.matrix.points}
        for spot in site.spots:
            for persona in site.personas:
                self._column(spot, persona)
        self.releases: dict[str, list[bool | None]] = {}
        self.digests: dict[tuple[int, ...], str] = {}

    def _column(self, spot: Spot, persona: str) -> None:
        cells = self.site.cells(spot, persona)
        for number, row in self.rows.items():
            row.append(cells.get(number))
        column = newest(spot, persona) if persona in spot.columns else None
        self.columns.append(column and Asked(spot, persona, column.run, column.result.digest))

    def row(self, point: Point) -> list[Cell | None]:
        return self.rows[self.site.matrix.ids[point.key]]

    def of(self, point: Point, persona: str) -> list[Cell | None]:
        """What each kernel says to a persona."""
        return self.row(point)[self.site.personas.index(persona)::self.width]

    def newer(self, since: str) -> list[bool | None]:
        """Of each kernel, whether upstream has a point of that release later; None where nobody can tell."""
        if since not in self.releases:
            at = expect.release_of(since)
            self.releases[since] = [None if at is None or (of := expect.release_of(spot.release)) is None else at > of
                                    for spot in self.site.spots]
        return self.releases[since]

    @cached_property
    def in_order(self) -> dict[str, list[tuple[str, list[int]]]]:
        """Architecture -> its releases in order, and the kernels of each."""
        found: dict[str, dict[str, list[int]]] = {}
        for at, spot in enumerate(self.site.spots):
            found.setdefault(spot.arch, {}).setdefault(spot.release, []).append(at)
        return {arch: sorted(releases.items(), key=lambda each: self.site.spots[each[1][0]].one.result.kernel.order)
                for arch, releases in sorted(found.items())}

    def kernels(self, row: list[Cell | None]) -> str:
        """A digest of the kernels that were asked a point."""
        asked = tuple(at // self.width for at, cell in enumerate(row) if cell)
        if asked not in self.digests:
            told = [self.site.spots[at] for at in dict.fromkeys(asked)]
            self.digests[asked] = again.digest([(spot.stem, spot.name, spot.kind, spot.release) for spot in told])
        return self.digests[asked]


class Story:
    """The page of a point."""

    def __init__(self, grid: Grid, point: Point) -> None:
        self.grid, self.site, self.point = grid, grid.site, point
        self.row = grid.row(point)
        self.first: dict[int, int] = {}         # id of a cell -> the first column that has it
        for at, cell in enumerate(self.row):
            if cell is not None and id(cell) not in self.first:
                self.first[id(cell)] = at
        self.lines, self.printed = grid.lines.get(point.key, {}), grid.printed.get(point.key, {})

    def made_of(self) -> str:
        """A digest of all that the page is made of: each answer, its line and its evidence."""
        numbers = {known: number for number, known in enumerate(self.first)}
        told = [(cell := self.row[at], self.site.reason(cell) if cell else "", self.grid.columns[at])
                for at in self.first.values()]
        beside = [(at, self.lines.get(asked.run), self.printed.get(asked.run)) for at, asked in enumerate(self.grid.columns)
                  if asked and self.row[at]] if self.lines or self.printed else []
        return again.digest(self.grid.kernels(self.row), [numbers.get(id(cell)) for cell in self.row], beside,
                            [(cell and (cell.verdict, cell.told, cell.counts), reason,
                              asked and (asked.spot.stem, asked.persona, asked.result)) for cell, reason, asked in told])

    @cached_property
    def of_cell(self) -> dict[int, Group]:
        """id of a cell -> its group."""
        times = Counter(map(id, self.row))
        groups: dict[tuple[str, int | None], Group] = {}
        found: dict[int, Group] = {}
        for known, at in self.first.items():
            cell, asked = self.row[at], self.grid.columns[at]
            if cell is None or asked is None:
                continue
            word = cell.told or cell.verdict
            group = groups.setdefault((word, cell.reason), Group(
                word, self.site.reason(cell), f"r{len(groups) + 1}", such=(asked.result, asked.spot.name, asked.persona)))
            group.count += times[known]
            found[known] = group
        self._book(found)
        return found

    def _book(self, groups: dict[int, Group]) -> None:
        """The lines and the evidence of each group."""
        for cell, asked in zip(self.row, self.grid.columns) if self.lines or self.printed else ():
            if cell is None or asked is None:
                continue
            group, line = groups[id(cell)], self.lines.get(asked.run)
            group.evidence = group.evidence or self.printed.get(asked.run, [])
            if line:
                group.where.setdefault(line.file, {}).setdefault(line, []).append(asked.spot.name)

    @cached_property
    def groups(self) -> list[Group]:
        return [*dict.fromkeys(self.of_cell.values())]

    def _cell(self, cell: Cell | None, newer: bool | None) -> tuple[str, str, str, str] | None:
        if cell is None:
            return None
        several = ", ".join(f"{word} {count}" for word, count in cell.counts) if len(cell.counts) > 1 else ""
        return cell.verdict, self.of_cell[id(cell)].anchor, several, model.differing(cell.verdict, newer)

    def table(self) -> list[Row]:
        """Kernels by what they answer. A kind of machine stands apart, because they are not worth the same."""
        width, newer = self.grid.width, self.grid.newer(self.point.since)
        found: dict[Any, Row] = {}
        known: dict[Any, Row] = {}
        for at, spot in enumerate(self.site.spots):
            cells = self.row[at * width:(at + 1) * width]
            like = (spot.kind, newer[at], *map(id, cells))
            row = known.get(like)
            if row is None:
                told = [self._cell(cell, newer[at]) for cell in cells]
                row = known[like] = found.setdefault((spot.kind, *told), Row(spot.kind, told))
            row.spots.append(spot)
        rows = sorted((row for row in found.values() if any(row.cells)), key=lambda row: -len(row.kernels))
        if rows and len(rows[0].kernels) > NAMED:
            rows[0].others = True
        return rows

    def strips(self) -> list[tuple[str, list[Strip]]]:
        """The point on each architecture over its releases, whoever asked: the best of each."""
        width, silent = self.grid.width, UNTOLD + 1
        ranks = {known: min((RANKS.get(word, UNTOLD) for word, _count in cell.counts), default=UNTOLD)
                 for known, at in self.first.items() if (cell := self.row[at])}
        best = [ranks.get(id(cell), silent) for cell in self.row]
        made = []
        for arch, releases in self.grid.in_order.items():
            told = [(release, min(min(best[at * width:(at + 1) * width]) for at in kernels)) for release, kernels in releases]
            steps = [(release, (*BEST_FIRST, "unknown")[rank]) for release, rank in told if rank != silent]
            if steps:
                made.append((arch, strip(steps)))
        return made


Strip = tuple[str, str, str, int]       # verdict, first release, last release, how many


def strip(steps: list[tuple[str, str]]) -> list[Strip]:
    """Neighbours that answer alike."""
    found: list[Strip] = []
    for release, word in steps:
        release = model.short(release)
        if found and found[-1][0] == word:
            found[-1] = (word, found[-1][1], release, found[-1][3] + 1)
        else:
            found.append((word, release, release, 1))
    return found


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


def write(grid: Grid, pages: Pages, one: Point) -> None:
    """The page of a point; that of the old site, where nobody answers otherwise."""
    site, probe = grid.site, one.probe.id if one.probe else ""
    story = Story(grid, one)
    beside = (site.sources.probes.get(probe), site.sources.uses.get(one.key, []), site.deviations.get(probe, []))
    pages.once(f"point {one.key}", again.digest(story.made_of(), _devices(site, one), beside), partial(_page, story, pages))


def _page(story: Story, pages: Pages) -> None:
    site, one = story.site, story.point
    probe = one.probe.id if one.probe else ""
    name = one.item.name if one.item else ""
    known = [{"verdicts": each.verdicts, "reason": each.reason, "link": each.link,
              "when": ", ".join(f"{key} is {' or '.join(values)}" for key, values in each.when) or "anywhere"}
             for each in site.deviations.get(probe, []) if each.point in (name, "*") or
             each.applies(probe, name, dict.fromkeys([], []))]
    pages.page("point.html", f"point/{one.page}", point=one, devices=_devices(site, one), rows=story.table(),
               strips=story.strips(), about=site.sources.probes.get(probe, About()), uses=site.sources.uses.get(one.key, []),
               deviations=known, groups=story.groups)
