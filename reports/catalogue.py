# SPDX-License-Identifier: MIT
"""What probes declare about themselves, read from an ELF section or from text, and checked."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reports import text
from reports.text import Unusable

TEXT_LIMIT = 2 << 20
PROBE_LIMIT = 10_000
PROBLEM_LIMIT = 1000
TYPES = ("bool", "int", "string", "enum", "verdict")
NEEDS = ("pmu", "tracefs", "cpu2", "aux", "root", "cgroup", "hotplug", "kprobe", "uprobe",
         "breakpoint", "counter", "bpf")
NO_PMU_NEEDS = ("pmu", "aux")

PROBE_ID = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)+")
NAME = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")
_VERSION = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{12}")
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


@dataclass
class Catalogue:
    """All declarations, the text they come from, and what is wrong with them."""
    probes: dict[str, Probe] = field(default_factory=dict)
    text: str = ""
    problems: list[str] = field(default_factory=list)

    def digest(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


class _Declaration:
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
            if not getattr(self.probe, key):
                self._wrong(f"no {key}")
        if not self.probe.items:
            self._wrong("no point and no fact")


def parse(source: str) -> Catalogue:
    """Declarations separated by empty lines."""
    result = Catalogue(text=source)
    for block in re.split(r"\n[ \t\r]*\n", source)[:PROBE_LIMIT]:
        lines = [line.rstrip("\r") for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        probe = _Declaration(lines, result.problems).build()
        if probe.id in result.probes:
            result.problems.append(f"{probe.id}: declared twice")
        elif probe.id:
            result.probes[probe.id] = probe
    return result


def parse_bytes(data: bytes) -> Catalogue:
    source, valid = text.decode(data)
    result = parse(source)
    if not valid:
        result.problems.append("catalogue: not valid UTF-8")
    return result


def read_text(path: Path) -> Catalogue:
    """A catalogue file of a result directory. Raises OSError."""
    data, more = text.read_bounded(path, TEXT_LIMIT)
    result = parse_bytes(data)
    if more:
        result.problems.append(f"{path.name}: larger than {TEXT_LIMIT >> 20} MiB; cut")
    return result


def section(path: Path, name: str = ".probeinfo") -> bytes:
    """The bytes of a section of an ELF file. Raises Unusable when there are none."""
    from elftools.elf.elffile import ELFFile
    try:
        with open(path, "rb") as file:
            found = ELFFile(file).get_section_by_name(name)
            data = b"" if found is None or found.data_size > TEXT_LIMIT else found.data()
    except OSError as error:
        raise Unusable(f"{path.name}: {error.strerror}") from error
    except Exception as error:  # pyelftools raises whatever its parser met in a damaged file
        raise Unusable(text.clean(f"{path.name}: not an ELF file: {error}", 200)) from error
    if not data:
        raise Unusable(f"{path.name}: no {name} section")
    return data


def _blocks(path: Path) -> Iterator[str]:
    """The declaration texts of one program or catalogue file."""
    with open(path, "rb") as file:
        magic = file.read(4)
    if magic == b"\x7fELF":
        yield text.decode(section(path).replace(b"\0", b"\n"))[0].strip("\n")
    else:
        data, _ = text.read_bounded(path.resolve(), TEXT_LIMIT)
        yield text.decode(data)[0].strip("\n")


def _programs(path: Path) -> Iterator[Path]:
    """The probe programs below a directory, or the catalogue text of a result directory."""
    if not path.is_dir():
        yield path
    elif (path / "catalogue").is_file():
        yield path / "catalogue"
    else:
        for file in sorted(path.rglob("*")):
            if file.is_file() and "." not in file.name:
                yield file


def gather(paths: Iterable[Path]) -> Catalogue:
    """The catalogue of programs, folders of programs, catalogue texts and result directories."""
    blocks: list[str] = []
    problems: list[str] = []
    for path in paths:
        for program in _programs(path):
            try:
                blocks.extend(_blocks(program))
            except (OSError, Unusable) as error:
                problems.append(text.clean(str(error), 300))
    result = parse("\n\n".join(blocks) + "\n" if blocks else "")
    result.problems[:0] = problems
    return result


def built(tree: Path) -> Path:
    """The probes built for this machine, or else those built last; cross builds may be partial."""
    own = tree / "build" / os.uname().machine / "probes"
    if own.is_dir():
        return own
    found = sorted(tree.glob("build/*/probes"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise Unusable("no build/*/probes here; run make first, or name a folder")
    return found[-1]


def runs_without_pmu(probe: Probe, item: Item) -> bool:
    return not any(need in NO_PMU_NEEDS or need.startswith("arch:")
                   for need in probe.needs_of(item))


def as_json(catalogue: Catalogue) -> dict[str, Any]:
    """The catalogue as JSON; a key without a value is left out."""
    probes = {}
    for probe in catalogue.probes.values():
        entry = {key: value for key, value in asdict(probe).items() if value}
        entry["items"] = [{key: value for key, value in item.items() if value not in ("", [])}
                          for item in entry.get("items", [])]
        del entry["id"]
        probes[probe.id] = entry
    return {"format": 1, "kind": "catalogue", "catalogue": catalogue.digest(), "probes": probes}


def counts(catalogue: Catalogue) -> dict[str, int]:
    """The numbers of a catalogue; probes about the house itself (meta.*) are not counted."""
    probes = [probe for probe in catalogue.probes.values() if not probe.id.startswith("meta.")]
    pairs = [(probe, item) for probe in probes for item in probe.points()]
    return {
        "probes": len(probes),
        "points": len(pairs),
        "points without a PMU": sum(runs_without_pmu(*pair) for pair in pairs),
        "facts": sum(item.type != "verdict" for probe in probes for item in probe.items),
        "undocumented or ill-formed": len(catalogue.problems),
    }
