# SPDX-License-Identifier: MIT
"""The areas of a result: a line each, with a bar for each persona."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from reports import bars, expect, layout, wordlist

WIDEST_BAR, NARROWEST_BAR = 32, 3
NAME_LIMIT = 16
# What areas without a line of their own are called, by the least share of their points that say yes.
SHARES = {0.8: "mostly yes", 0.5: "partly yes", 0.0: "seldom yes"}

Counts = dict[str, Counter[str]]        # persona -> verdict -> points


def count(result: dict[str, Any]) -> dict[str, Counts]:
    """The verdicts of each area."""
    areas: dict[str, Counts] = {}
    for persona, probe_id, _, point in expect.points(result):
        spot = areas.setdefault(probe_id.partition(".")[0], {})
        spot.setdefault(persona, Counter())[point["verdict"]] += 1
    return areas


def _share(counts: Counts) -> float:
    total = sum(each.total() for each in counts.values())
    return sum(each["yes"] for each in counts.values()) / total if total else 1.0


def _spread(counts: Counts) -> int:
    """How far the personas are apart: a bar each shows little where all have the same."""
    said = [each["yes"] for each in counts.values()]
    return max(said, default=0) - min(said, default=0)


def _most(counts: Counts) -> int:
    """The points of an area: what the persona that was asked most was asked."""
    return max((each.total() for each in counts.values()), default=0)


@dataclass
class Grid:
    """Where the columns are."""
    personas: list[str]
    width: int
    unicode: bool
    name: int = 0
    points: int = 0
    number: int = 0
    bar: int = 0

    def measure(self, areas: dict[str, Counts]) -> None:
        """Bars take what names and numbers leave, none when that is next to nothing."""
        self.name = min(max(map(len, ["all blocked", *SHARES.values(), *areas])), NAME_LIMIT)
        total = sum(map(_most, areas.values()))
        self.points = len(str(total))
        self.number = max([len(self.said(counts, persona)) for counts in (*areas.values(),
                           {persona: Counter(yes=total) for persona in self.personas})
                           for persona in self.personas], default=1)
        room = (self.width - self.name - 2 - self.points) // max(len(self.personas), 1)
        self.bar = min(room - self.number - 3, WIDEST_BAR)
        if self.bar < NARROWEST_BAR:
            self.bar = 0
        while self.personas[1:] and self._used() > self.width:
            self.personas.pop()

    def cell(self) -> int:
        """The width of what a persona has, without the space before it."""
        longest = max(map(len, self.personas), default=0)
        return max(self.bar + 1 + self.number if self.bar else self.number, min(longest, 12))

    def _used(self) -> int:
        return self.name + 2 + self.points + len(self.personas) * (self.cell() + 2)

    @staticmethod
    def said(counts: Counts, persona: str) -> str:
        """How many say yes; of how many, where the persona was asked less than others."""
        mine = counts.get(persona)
        if not mine:
            return "-"
        whole = mine.total() == _most(counts)
        return str(mine["yes"]) if whole else f"{mine['yes']}/{mine.total()}"

    def line(self, name: str, counts: Counts) -> Text:
        made = Text(name[:self.name].ljust(self.name + 2))
        made.append(str(_most(counts)).rjust(self.points), "dim")
        for persona in self.personas:
            mine = counts.get(persona, Counter())
            cell = Text("  ")
            if self.bar:
                cell.append_text(bars.bar(mine, self.bar, self.unicode)).append(" ")
            cell.append(self.said(counts, persona).rjust(self.number))
            cell.append(" " * (self.cell() + 2 - len(cell)))
            made.append_text(cell)
        return layout.fit(made, self.width)

    def header(self) -> Text:
        made = Text("area".ljust(self.name + 1) + "all".rjust(self.points + 1))
        for persona in self.personas:
            made.append("  " + persona[:self.cell()].ljust(self.cell()))
        made.stylize("bold")
        return layout.fit(made, self.width)


def _legend(grid: Grid, whole: Counts) -> list[Text]:
    """What the signs mean, below the bars or, where that is too narrow, from the margin on."""
    words = {word for each in whole.values() for word in each}
    signs = bars.legend(words, grid.unicode)
    room = grid.width - len(signs)
    return [layout.fit(Text(" " * min(grid.name + 4 + grid.points, max(room, 0)))
                       .append_text(signs), grid.width)]


def _whole(areas: dict[str, Counts], personas: list[str]) -> Counts:
    whole: Counts = {persona: Counter() for persona in personas}
    for counts in areas.values():
        for persona, each in counts.items():
            whole[persona] += each
    return whole


def _uniform(areas: dict[str, Counts]) -> dict[str, list[str]]:
    """verdict -> areas of which every point says so to everybody; a single one is no group."""
    found: dict[str, list[str]] = {}
    for name, counts in sorted(areas.items()):
        words = {word for each in counts.values() for word in each}
        if len(words) == 1:
            found.setdefault(words.pop(), []).append(name)
    return {word: names for word, names in found.items() if len(names) > 1}


def _together(grid: Grid, title: str, style: str, names: list[str], areas: dict[str, Counts]) -> list[Text]:
    """Areas that share a line, or two."""
    points = str(sum(_most(areas[name]) for name in names))
    head = Text(title[:grid.name].ljust(grid.name + 2) + points.rjust(grid.points) + "  ", style)
    return layout.enumerated(head, names, grid.width, 2)


def _folded(grid: Grid, names: list[str], areas: dict[str, Counts]) -> list[Text]:
    """Areas without bars, by the share of their points that say yes."""
    found: dict[str, list[str]] = {title: [] for title in SHARES.values()}
    for name in names:
        share = _share(areas[name])
        found[next(title for least, title in SHARES.items() if share >= least)].append(name)
    return [line for title, group in found.items() if group
            for line in _together(grid, title, "", group, areas)]


def section(result: dict[str, Any], personas: list[str], width: int, unicode: bool,
            command: str) -> layout.Section:
    """The areas. Those that say one thing only share a line. Where there is no room for all bars,
    those stay in which the personas differ most, and then those with the least yes."""
    areas = count(result)
    grid = Grid(list(personas), width, unicode)
    grid.measure(areas)
    uniform = _uniform(areas)
    grouped = {name for names in uniform.values() for name in names}
    names = [name for name in sorted(areas) if name not in grouped]
    rows = [[grid.line(name, areas[name])] for name in names]
    rows += [_together(grid, f"all {word}", wordlist.STYLES[word], uniform[word], areas)
             for word in wordlist.STYLES if word in uniform]
    whole = _whole(areas, personas)
    last = [grid.line("all", whole), *(_legend(grid, whole) if grid.bar else [])]
    hidden = len(personas) - len(grid.personas)
    if hidden:
        last.append(layout.fit(Text(f"{hidden} more personas: {command}"), width))

    dullest = sorted(range(len(names)), key=lambda index: (
        _spread(areas[names[index]]), -_share(areas[names[index]])))
    return layout.Section([grid.header()], [*rows, last],
                          lambda dropped: _folded(grid, [names[index] for index in dropped], areas),
                          least=10, drop=dullest, tail=1)
