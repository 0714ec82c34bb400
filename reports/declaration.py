# SPDX-License-Identifier: MIT
"""What one probe declares about itself, and whether each line of that is well-formed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from reports import text

PROBLEM_LIMIT = 1000
TYPES = ("bool", "int", "string", "enum", "verdict")
NEEDS = ("pmu", "tracefs", "cpu2", "aux", "root", "cgroup", "hotplug", "kprobe", "uprobe",
         "breakpoint", "counter", "bpf")
NO_PMU_NEEDS = ("pmu", "aux")

PROBE_ID = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)+")
NAME = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")
_VERSION = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{12}")
RECORDED = "replay.recorded"    # its points are the calls of a recording
_NEED = re.compile(r"arch:[a-z0-9_]+|" + "|".join(NEEDS))


@dataclass
class Item:
    """One point or fact. A point is a fact of type verdict that has a KTAP test of its own."""
    name: str
    meaning: str
    type: str = "verdict"
    unit: str = "-"
    tested: bool = True
    since: str = ""
    commits: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)


@dataclass
class Probe:
    """The declaration of one probe file."""
    id: str
    title: str = ""
    question: str = ""
    since: str = ""
    disturbs: str = ""
    alone: str = ""
    hazard: str = ""
    commits: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)

    def points(self) -> list[Item]:
        return [item for item in self.items if item.type == "verdict"]

    def facts(self) -> dict[str, Item]:
        return {item.name: item for item in self.items if not item.tested}

    def since_of(self, item: Item) -> str:
        return item.since or self.since

    def needs_of(self, item: Item) -> list[str]:
        return sorted({*self.needs, *item.needs})


class Declaration:
    """Builds one Probe from its lines. A line that does not fit becomes a problem, not an error."""

    def __init__(self, lines: list[str], problems: list[str]) -> None:
        self.problems = problems
        self.probe = Probe("")
        self.lines = lines
        self.names = {"observed"}

    def build(self) -> Probe:
        for line in self.lines:
            key, equals, value = line.partition("=")
            reader = getattr(self, f"_read_{key}", None) if equals and key.isalpha() else None
            if reader is None:
                self._wrong(f"unknown line '{text.clean(line, 60)}'")
            else:
                reader(value.strip())
        self._require()
        return self.probe

    def _wrong(self, what: str) -> None:
        if len(self.problems) < PROBLEM_LIMIT:
            self.problems.append(f"{self.probe.id or 'a declaration'}: {what}")

    def _once(self, key: str, value: str) -> None:
        if getattr(self.probe, key):
            self._wrong(f"{key} given twice")
        elif not value:
            self._wrong(f"{key} is empty")
        else:
            setattr(self.probe, key, text.clean(value, 400))

    def _read_id(self, value: str) -> None:
        if not PROBE_ID.fullmatch(value) or len(value) > 100:
            self._wrong(f"id '{text.clean(value, 60)}' is not area.name in lower case")
        else:
            self._once("id", value)

    def _read_title(self, value: str) -> None:
        self._once("title", value)

    def _read_question(self, value: str) -> None:
        self._once("question", value)

    def _read_disturbs(self, value: str) -> None:
        self._once("disturbs", value)

    def _read_alone(self, value: str) -> None:
        self._once("alone", value)

    def _read_hazard(self, value: str) -> None:
        self._once("hazard", value)

    def _owner(self) -> Probe | Item:
        return self.probe.items[-1] if self.probe.items else self.probe

    def _read_since(self, value: str) -> None:
        if not _VERSION.fullmatch(value):
            self._wrong(f"since '{text.clean(value, 40)}' is not a release like 4.7")
        elif self._owner().since:
            self._wrong("since given twice")
        else:
            self._owner().since = value

    def _read_commit(self, value: str) -> None:
        if _COMMIT.fullmatch(value):
            self._owner().commits.append(value)
        else:
            self._wrong(f"commit '{text.clean(value, 40)}' is not 12 hex digits")

    def _read_needs(self, value: str) -> None:
        for word in value.replace(",", " ").split():
            if _NEED.fullmatch(word):
                self._owner().needs.append(word)
            else:
                self._wrong(f"needs '{text.clean(word, 40)}' is not in the list")

    def _read_point(self, value: str) -> None:
        name, _, meaning = value.partition(" ")
        self._add(Item(name, text.clean(meaning.strip(), 400)))

    def _read_fact(self, value: str) -> None:
        parts = value.split(None, 3)
        if len(parts) < 4:
            self._wrong(f"fact '{text.clean(value, 60)}' is not: name type unit meaning")
        elif parts[1] not in TYPES:
            self._wrong(f"fact {text.clean(parts[0], 60)}: no type '{text.clean(parts[1], 40)}'")
        else:
            name, kind, unit, meaning = parts
            self._add(Item(name, text.clean(meaning, 400), kind, text.clean(unit, 200), False))

    def _add(self, item: Item) -> None:
        if not NAME.fullmatch(item.name) or len(item.name) > 120:
            self._wrong(f"name '{text.clean(item.name, 60)}' is not lower case words with dots")
        elif item.name in self.names:
            self._wrong(f"{item.name} declared twice (or reserved)")
        elif not item.meaning:
            self._wrong(f"{item.name} has no meaning")
        else:
            self.names.add(item.name)
            self.probe.items.append(item)

    def _require(self) -> None:
        for key in ("id", "title", "since"):
            # what a program asked for is of no release (./run.sh --replay)
            if not getattr(self.probe, key) and (key, self.probe.id) != ("since", RECORDED):
                self._wrong(f"no {key}")
        if not self.probe.items:
            self._wrong("no point and no fact")
