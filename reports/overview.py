# SPDX-License-Identifier: MIT
"""One result as a list: a line for each probe, and below it why a point is not yes."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from reports import text, wordlist
from reports.personas import in_order

NAMES_SHOWN = 5

Points = dict[str, dict[str, Any]]


def worst(verdicts: list[str]) -> str:
    return min(verdicts, key=wordlist.WORST_FIRST.index, default="")


def machine(result: dict[str, Any]) -> str:
    """Kernel and machine in one line."""
    identity = result["identity"]
    model = identity.get("cpu_model", [""])[0] or identity.get("board", "")
    host = identity.get("emulator") or identity.get("hypervisor", "")
    parts = [f"Linux {identity['release']} {identity['arch']}", model, host,
             f"suite {result['suite']}", result.get("started", "")]
    return text.clean(" | ".join(part for part in parts if part), 300)


def _cell(points: Points) -> str:
    verdicts = [point["verdict"] for point in points.values()]
    good = verdicts.count("yes")
    return f"{good}/{len(verdicts)}" + ("" if good == len(verdicts) else f" {worst(verdicts)}")


def _by_probe(result: dict[str, Any]) -> dict[str, dict[str, Points]]:
    """probe id -> persona -> points."""
    probes: dict[str, dict[str, Points]] = {}
    for persona in in_order(result["personas"]):
        for probe_id, record in result["personas"][persona]["probes"].items():
            probes.setdefault(probe_id, {})[persona] = record["points"]
    return dict(sorted(probes.items()))


def _some(names: list[str]) -> str:
    if len(names) <= NAMES_SHOWN + 1:
        return ", ".join(names)
    return ", ".join(names[:NAMES_SHOWN]) + f" and {len(names) - NAMES_SHOWN} more"


def reasons(by_persona: dict[str, Points]) -> Iterator[tuple[str, str]]:
    """(verdict, 'points (personas): reason'), each reason once, the worst verdict first."""
    said: dict[tuple[str, str], dict[str, list[str]]] = {}
    for persona, points in by_persona.items():
        for name, point in points.items():
            if point["verdict"] != "yes":
                spot = said.setdefault((point["verdict"], point.get("reason", "")), {})
                spot.setdefault(name, []).append(persona)
    for (word, reason), names in sorted(
            said.items(), key=lambda item: wordlist.WORST_FIRST.index(item[0][0])):
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, personas in names.items():
            groups.setdefault(tuple(personas), []).append(name)
        for personas, points in groups.items():
            whole = all(len(by_persona[persona]) == len(points) for persona in personas)
            what = "all points" if whole and len(points) > 2 else _some(points)
            who = "" if len(personas) == len(by_persona) else f" ({', '.join(personas)})"
            yield word, text.clean(f"{what}{who}: {reason}", 1500)


class _Overview:
    def __init__(self, result: dict[str, Any], console: Console) -> None:
        self.result = result
        self.console = console
        self.personas = in_order(result["personas"])
        self.probes = _by_probe(result)
        cells = [_cell(points) for by in self.probes.values() for points in by.values()]
        self.cell_width = max(map(len, [*cells, *self.personas]), default=8) + 2
        longest = max((len(probe_id) for probe_id in self.probes), default=8)
        room = console.width - self.cell_width * len(self.personas) - 1
        self.name_width = max(12, min(longest + 4, room))

    def line(self, *parts: tuple[str, str]) -> None:
        self.console.print(Text.assemble(*parts), soft_wrap=True)

    def show(self) -> None:
        self.line((machine(self.result), "bold"))
        heads = "".join(persona.ljust(self.cell_width) for persona in self.personas)
        self.line(("".ljust(self.name_width) + heads.rstrip(), "bold"))
        area = ""
        for probe_id, by_persona in self.probes.items():
            if area != (area := probe_id.partition(".")[0]):
                self.line((area, "bold"))
            self.probe(probe_id.partition(".")[2], by_persona)

    def probe(self, name: str, by_persona: dict[str, Points]) -> None:
        shown = f"  {name}"
        if len(shown) >= self.name_width:
            shown = shown[:self.name_width - 3] + ".."
        parts = [(shown.ljust(self.name_width), "")]
        for persona in self.personas:
            points = by_persona.get(persona)
            word = worst([point["verdict"] for point in points.values()]) if points else ""
            cell = _cell(points) if points else "-"
            parts.append((cell.ljust(self.cell_width), wordlist.STYLES.get(word, "")))
        parts[-1] = (parts[-1][0].rstrip(), parts[-1][1])
        self.line(*parts)
        for word, reason in reasons(by_persona):
            self.reason(word, reason)

    def reason(self, word: str, reason: str) -> None:
        hanging(self.console, Text("    " + word.ljust(9), wordlist.STYLES.get(word, "")), reason)


def hanging(console: Console, head: Text, body: str) -> None:
    """Print a head and, beside it, the body wrapped to the width."""
    room = max(console.width - len(head) - 1, 20)
    lines = textwrap.wrap(body, room, break_on_hyphens=False) or [""]
    console.print(Text.assemble(head, lines[0]), soft_wrap=True)
    for line in lines[1:]:
        console.print(Text(" " * len(head) + line), soft_wrap=True)


def summary(result: dict[str, Any], console: Console) -> None:
    """Print a line for each persona, then what was unexpected and what was news."""
    width = max(map(len, result["summary"]), default=0)
    for persona in in_order(result["summary"]):
        counts = result["summary"][persona]
        parts: list[tuple[str, str]] = [(f"{persona.ljust(width)}  ", "bold"),
                                        (f"{sum(counts.values())} points", "")]
        for word in wordlist.EVERY:
            if counts.get(word):
                parts.append((f"  {counts[word]} {word}", wordlist.STYLES[word]))
        console.print(Text.assemble(*parts), soft_wrap=True)
    for title, style in (("unexpected", "bold red"), ("news", "green")):
        for entry, personas in grouped(result.get(title, [])):
            line = (f"{entry['key']} ({', '.join(personas)}) is {entry['verdict']}, expected "
                    f"{' or '.join(entry['expected'])}: {entry['why']}")
            hanging(console, Text(f"{title}: ", style), text.clean(line, 1500))


def grouped(entries: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Entries that say the same of several personas, once, with the personas."""
    groups: dict[tuple[str, str, str], tuple[dict[str, Any], list[str]]] = {}
    for entry in entries:
        spot = (entry["key"], entry["verdict"], entry["why"])
        groups.setdefault(spot, (entry, []))[1].append(entry["persona"])
    yield from groups.values()


def endings(result: dict[str, Any]) -> Iterator[str]:
    """The warnings of the run and of its probes, each once."""
    yield from (text.clean(line, 300) for line in result.get("warnings", []))
    said: Counter[tuple[str, str]] = Counter()
    for part in result["personas"].values():
        for probe_id, record in part["probes"].items():
            for line in record.get("warnings", []):
                said[(probe_id, line)] += 1
    yield from (text.clean(f"{probe_id}: {line}", 300) for probe_id, line in said)


def show(result: dict[str, Any], console: Console) -> None:
    _Overview(result, console).show()
    console.print()
    summary(result, console)
