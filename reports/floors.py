# SPDX-License-Identifier: MIT
"""The floor plan: which room may include or import which, over every file of the tree.

reports/data/floors.txt is the one place where the rules stand. An include is followed to the file it
names, so a rule is about rooms and not about the names of headers.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from reports import csource
from reports.outline import outline
from reports.text import Unusable

DATA = Path("reports/data/floors.txt")
FOLDERS = ("probes", "lib", "suites", "kernels", "reports")
C_SUFFIXES = (".c", ".h", ".inc", ".def")
# Where a header is looked for that does not lie beside its user, and Python modules of scripts.
HEADER_FOLDERS = ("probes/kit", "lib")
MODULE_FOLDERS = ("", "suites/falsify", "suites/test")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)

Arrow = tuple[int, str]		# line, and a file of the tree or <name> of somebody else
Finding = tuple[str, int, str]


def _pattern(name: str) -> re.Pattern[str]:
    """A room as a pattern over paths: files of a folder, of all below it (/**), or by name."""
    last = name.rpartition("/")[2]
    files = name if "." in last or last == "**" else f"{name}/*"
    return re.compile(re.escape(files).replace(r"\*\*", ".+").replace(r"\*", "[^/]*"))


@dataclass(frozen=True)
class Room:
    """One row of the table."""
    name: str
    allowed: tuple[str, ...]
    line: int

    def holds(self, path: str) -> bool:
        return _pattern_of(self.name).fullmatch(path) is not None


_pattern_of = cache(_pattern)


@dataclass
class Plan:
    """The table: rooms from the first to the last, circles with their reasons."""
    rooms: list[Room] = field(default_factory=list)
    circles: dict[tuple[str, str], str] = field(default_factory=dict)
    rings: dict[tuple[str, ...], int] = field(default_factory=dict)	# of files: patterns, and the line
    common: tuple[str, ...] = ()

    def room(self, path: str) -> Room | None:
        return next((room for room in self.rooms if room.holds(path)), None)

    def guards(self, external: str) -> bool:
        """Whether a row names that third party, so that the other rooms may not use it."""
        return any(_fits(external, word) for room in self.rooms for word in room.allowed if word != "<*>")


def _fits(external: str, word: str) -> bool:
    return word[0] == "<" and re.fullmatch(re.escape(word).replace(r"\*", ".+"), external) is not None


def read(path: Path) -> Plan:
    """The table, or Unusable with the first line that does not fit."""
    plan, part = Plan(), ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip()
        name, colon, rest = text.partition(":")
        if text in ("[circles]", "[files]"):
            part = text
        elif not text:
            continue
        elif not colon or (part == "[circles]" and " -> " not in name) or (part and len(rest.strip()) < 10):
            raise Unusable(f"{path.name}:{number}: neither ROOM: ROOMS nor ROOM -> ROOM: reason")
        elif part == "[files]":
            plan.rings[tuple(name.split())] = number
        elif part:
            source, _, target = name.partition(" -> ")
            plan.circles[source.strip(), target.strip()] = rest.strip()
        elif name == "*":
            plan.common = tuple(rest.split())
        else:
            plan.rooms.append(Room(name.strip(), tuple(rest.split()), number))
    return plan


# ------------------------------------------------------------------------------ who uses what

def includes(path: str, source: str, top: Path) -> Iterator[Arrow]:
    """What a C file includes; a header that is not of the tree as <name>."""
    text = csource.without_comments(source)
    for match in _INCLUDE.finditer(text):
        folders = [os.path.dirname(path)] if match[1] == '"' else []
        found = (os.path.normpath(os.path.join(folder, match[2])) for folder in (*folders, *HEADER_FOLDERS))
        target = next((each for each in found if (top / each).is_file()), f"<{match[2]}>")
        yield text.count("\n", 0, match.start()) + 1, target


def imports(path: str, source: str, top: Path) -> Iterator[Arrow]:
    """What a Python file imports; a package that is not of the tree as <name>, Python's own not at all."""
    folder = os.path.dirname(path)
    for each in outline(source).imports:
        above = ".".join(Path(path).parts[:-each.level]) if each.level else ""
        module = ".".join(filter(None, (above, each.module)))
        target = _module(folder, f"{module}.{each.name}", top) or _module(folder, module, top)
        package = module.partition(".")[0]
        if target or package not in sys.stdlib_module_names:
            yield each.line, target or f"<{package}>"


def _module(folder: str, name: str, top: Path) -> str | None:
    """The file of a module of the tree: a script also finds what lies beside it."""
    words = name.replace(".", "/")
    for base in (folder, *MODULE_FOLDERS):
        for end in (".py", "/__init__.py"):
            path = os.path.normpath(os.path.join(base, words + end))
            if os.path.isfile(os.path.join(top, path)):
                return path
    return None


def arrows(top: Path) -> Iterator[tuple[str, int, str]]:
    """(file, line, what it uses) of every C and Python file."""
    for folder in FOLDERS:
        for path in sorted((top / folder).rglob("*")):
            name = path.relative_to(top).as_posix()
            follow = includes if path.suffix in C_SUFFIXES else imports if path.suffix == ".py" else None
            if follow and path.is_file():
                for line, target in follow(name, path.read_text(encoding="utf-8", errors="replace"), top):
                    yield name, line, target


# --------------------------------------------------------------------------------- judgement

def _refused(plan: Plan, room: Room, path: str, target: str) -> str:
    """Why a file may not use that; '' when it may."""
    if target[0] == "<":
        if any(_fits(target, word) for word in room.allowed):
            return ""
        third = target if path.endswith(".py") or plan.guards(target) else ""
        return f"{room.name} does not use {third}" if third else ""
    other = plan.room(target)
    if other is None:
        return f"{target} is in no room"
    same = other == room and ("*" not in room.name or "**" in room.name
                              or os.path.dirname(path) == os.path.dirname(target))
    allowed = (*room.allowed, *plan.common)
    if same or other.name in allowed or "*" in allowed or (room.name, other.name) in plan.circles:
        return ""
    return f"{room.name} may not use {target} ({other.name})"


def _around(plan: Plan) -> Iterator[Finding]:
    """Rows that lead in a circle: an arrow that is not named under [circles] has to go."""
    below = {room.name: [name for name in room.allowed if name[0] != "<" and name != "*"] for room in plan.rooms}
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> Iterator[list[str]]:
        if name in trail:
            yield [*trail[trail.index(name):], name]
        elif name not in done:
            for other in below.get(name, []):
                yield from visit(other, [*trail, name])
            done.add(name)

    for room in plan.rooms:
        for trail in visit(room.name, []):
            yield str(DATA), room.line, f"a circle of rooms: {' -> '.join(trail)}"


def _table(plan: Plan) -> Iterator[Finding]:
    """Names that no row has, and circles."""
    names = {room.name for room in plan.rooms}
    for room in (*plan.rooms, Room("*", plan.common, 0)):
        for word in room.allowed:
            if word[0] != "<" and word != "*" and word not in names:
                yield str(DATA), room.line, f"{word} is no room of the table"
    yield from _around(plan)


def rings(edges: dict[str, set[str]]) -> list[list[str]]:
    """Files that use each other in a circle, each circle as large as it is (Tarjan's components)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    trail: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        trail.append(name)
        for other in sorted(edges.get(name, ())):
            if other not in number:
                visit(other)
            if other in trail:
                low[name] = min(low[name], low[other])
        if low[name] == number[name]:
            at = trail.index(name)
            if len(trail) > at + 1:
                found.append(sorted(trail[at:]))
            del trail[at:]

    for name in sorted(edges):
        if name not in number:
            visit(name)
    return found


def _rings(plan: Plan, edges: dict[str, set[str]]) -> Iterator[Finding]:
    """Circles of C files, a header and its .c being one, that are not named under [files]."""
    used: set[tuple[str, ...]] = set()
    for ring in rings(edges):
        named = next((words for words in plan.rings
                      if all(any(fnmatchcase(unit, word) for word in words) for unit in ring)), None)
        if named is None:
            yield ring[0], 0, f"a circle of files: {' '.join(ring)}; those that may be stand in {DATA}"
            continue
        used.add(named)
        gone = [word for word in named if not any(fnmatchcase(unit, word) for unit in ring)]
        if gone:
            yield str(DATA), plan.rings[named], f"stale: {' '.join(gone)} is in no such circle any more"
    for words in sorted(plan.rings.keys() - used):
        yield str(DATA), plan.rings[words], f"stale: no such circle of files: {' '.join(words)}"


def check(top: Path) -> Iterator[Finding]:
    """(file, line, what is wrong) of every arrow that points up, and of the table itself."""
    try:
        plan = read(top / DATA)
    except FileNotFoundError:
        return
    except Unusable as error:
        yield str(DATA), 0, str(error)
        return
    yield from _table(plan)
    used: set[tuple[str, str]] = set()
    edges: dict[str, set[str]] = {}
    for path, line, target in arrows(top):
        if path.endswith((".c", ".h")) and target[0] != "<" and _unit(path) != _unit(target):
            edges.setdefault(_unit(path), set()).add(_unit(target))
        home, other = plan.room(path), plan.room(target)
        used.add((home.name if home else "", other.name if other else ""))
        why = _refused(plan, home, path, target) if home else f"{path} is in no room"
        if why:
            yield path, line, f"{why}; the rules stand in {DATA}"
    for source, target in sorted(plan.circles.keys() - used):
        yield str(DATA), 0, f"stale: no file needs {source} -> {target} any more; remove the line"
    yield from _rings(plan, edges)


def _unit(path: str) -> str:
    return path.rpartition(".")[0]
