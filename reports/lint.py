# SPDX-License-Identifier: MIT
"""The house rules over a tree, and the rules of what may stand in a result.

A line that must break a rule says so: `lint: allow RULE: reason` on it or on the line before.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from reports import catalogue, coverage, excerpt, expect, floors, kernel_part, ktap, mutation, rules, schema, text
from reports.result import load, name_of
from reports.text import Unusable

FILE_LIMIT = 1 << 20
SKIPPED_FOLDERS = {".git", "build", "results", "__pycache__", ".hypothesis", ".pytest_cache"}

_ALLOW = re.compile(r"lint: allow ([a-z-]+): \S")
_PATH = re.compile(r"(?<![\w.:/$-])/(?!(?:proc|sys|dev)\b)[A-Za-z][\w.-]*(?:/[\w.-]+)+"
                   r"|(?<![\w.:/$-])/(?:tmp|root|home|usr|etc|var|opt|data|mnt)\b")
_FACT = re.compile(r"\bFACT\((\w+),")
_SERIAL_KEY = re.compile(r"serial|host_?name|nodename|machine_id|mac_addr|imei|android_id")
_SERIAL = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b"
                     r"|\b(?:serialno|serial number|hostname|nodename|imei)\s*[=:]", re.IGNORECASE)
# A host called like one of these tells nothing, and the word stands in results for other reasons.
_COMMON_HOSTS = {"localhost", "localdomain", "debian", "ubuntu", "fedora", "linux", "kernel",
                 "qemu", "root", "user", "guest", "default", "test", "perf", "none"}


@dataclass(frozen=True, order=True)
class Finding:
    """A rule and the place where it is broken."""
    where: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        place = f"{self.where}:{self.line}" if self.line else self.where
        return f"{place}: {self.rule}: {self.message}"


def _files(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(set(names) - SKIPPED_FOLDERS):	# .git is a file in a git worktree
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink() and path.suffix != ".part":
                yield path


def _source(path: Path, top: Path) -> rules.Source | None:
    """A text file of the tree; None for what is no text."""
    data, more = text.read_bounded(path, FILE_LIMIT)
    if more or b"\0" in data:
        return None
    return rules.Source(PurePosixPath(path.relative_to(top).as_posix()), text.decode(data)[0])


def _allowed(source: rules.Source, rule: str, line: int) -> bool:
    return any(match[1] == rule for number in (line - 2, line - 1)
               if 0 <= number < len(source.lines)
               for match in _ALLOW.finditer(source.lines[number]))


def source(file: rules.Source) -> Iterator[Finding]:
    """What one file breaks."""
    for rule, check in rules.RULES.items():
        for line, message in check(file):
            if not _allowed(file, rule, line):
                yield Finding(str(file.path), line, rule, message)


def tree(top: Path | None) -> Iterator[Finding]:
    """What a whole tree breaks."""
    top = top or Path(".")
    if not top.is_dir():
        raise Unusable(f"{top}: no such folder")
    for path in _files(top):
        file = _source(path, top)
        if file is not None:
            yield from source(file)
    declared = _built(top)
    for problem in declared.problems if declared else []:
        yield Finding("catalogue", 0, "declaration", problem)
    yield from _expectations(top, declared)
    yield from _coverage(top, declared)
    for where, line, message in floors.check(top):
        yield Finding(where, line, "floor", message)
    for where, line, message in mutation.problems(top, declared):
        yield Finding(where, line, "mutation", message)
    if message := excerpt.stale(top):
        yield Finding(str(excerpt.FILE), 0, "slice", message)


def notes(top: Path | None) -> Iterator[str]:
    """What is still to be done and breaks nothing."""
    top = top or Path(".")
    for probe, names in mutation.unshown(top, _built(top) or catalogue.Catalogue()):
        yield (f"note: {probe.id}: {len(names)} of {len(probe.points())} points not yet shown to fail: "
               f"make falsify PROBE={probe.id}")


def result_notes(path: Path, top: Path) -> Iterator[str]:
    """What a person should look at in a result directory, and may be right."""
    if path.is_dir():
        value = load(path, expect.read(top / "suites" / "expect"))
        yield from kernel_part.notes(value, catalogue.read_text(path / "catalogue"), top)


def _built(top: Path) -> catalogue.Catalogue | None:
    """The built probes that still have a source; None when nothing is built."""
    try:
        folder = catalogue.built(top)
    except Unusable:
        return None
    built = [path for path in folder.glob("*/*") if path.is_file() and "." not in path.name
             and (top / "probes" / path.parent.name / f"{path.name}.c").is_file()]
    # What the build took out of a program is quicker to read than the program.
    texts = {path: folder.with_name("declared") / path.parent.name / f"{path.name}.txt" for path in built}
    return catalogue.gather(sorted(texts[path] if texts[path].is_file() else path for path in built))


def _expectations(top: Path, declared: catalogue.Catalogue | None) -> Iterator[Finding]:
    """Deviations that are ill-formed, or of probes and points that are not there. Which points a
    probe has is only known when it is built."""
    found = expect.read(top / "suites" / "expect")
    for problem in found.problems:
        yield Finding("suites/expect", 0, "expectation", problem)
    for deviation in found.deviations:
        where = f"suites/expect/{deviation.probe}.toml"
        area, _, name = deviation.probe.partition(".")
        if not (top / "probes" / area / f"{name}.c").is_file():
            yield Finding(where, 0, "expectation", "stale: there is no such probe")
            continue
        if deviation.reproducer and not (top / "probes" / (deviation.reproducer.replace(".", "/") + ".c")).is_file():
            yield Finding(where, 0, "expectation", f"there is no reproducer {deviation.reproducer}")
        probe = declared.probes.get(deviation.probe) if declared else None
        if probe and not any(fnmatchcase(point.name, deviation.point) for point in probe.points()):
            yield Finding(where, 0, "expectation",
                          f"stale: {deviation.point} matches no point of the probe")


def _coverage(top: Path, declared: catalogue.Catalogue | None) -> Iterator[Finding]:
    """The table of other suites: ill-formed, or naming points that are not there."""
    path = top / coverage.DATA
    if not path.exists():
        return
    problems = coverage.check(path)
    if not problems and declared:
        problems = list(coverage.stale(coverage.read(path), coverage.Points(declared),
                                       coverage.unbuilt(top, declared)))
    for problem in problems:
        yield Finding(str(coverage.DATA), 0, "coverage", problem)


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, keys too."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _host_names() -> list[str]:
    full = platform.node()
    names = {full, full.partition(".")[0]}
    return sorted(name for name in names if len(name) > 3 and name.lower() not in _COMMON_HOSTS)


def _private(line: str, hosts: list[str]) -> str | None:
    """What a line tells of one machine and its owner, or None."""
    if match := _PATH.search(line):
        return f"absolute path {match[0]}"
    if match := _SERIAL.search(line):
        return f"serial number or host name: {match[0]}"
    if any(re.search(rf"(?<![\w-]){re.escape(host)}(?![\w-])", line) for host in hosts):
        return "the name of this machine"
    return None


def _result_lines(path: Path) -> Iterator[tuple[str, int, str]]:
    """(file, line number, line) of everything textual in a result directory."""
    names = [path / name for name in ("env", "plan", "catalogue", "profile.json")]
    for file in [*names, *sorted(path.glob("*/env")), *sorted(path.glob("*/*.ktap"))]:
        try:
            data, _ = text.read_bounded(file, ktap.FILE_LIMIT)
        except OSError:
            continue
        for number, line in enumerate(text.decode(data)[0].split("\n"), 1):
            yield str(file.relative_to(path)), number, line


def _privacy(path: Path, value: dict[str, Any], hosts: list[str]) -> Iterator[Finding]:
    for line in _strings(value):
        if said := _private(line, hosts):
            yield Finding(name_of(path), 0, "privacy", f"{said}: {text.clean(line, 120)}")
    if path.is_dir():
        for file, number, line in _result_lines(path):
            if said := _private(line, hosts):
                yield Finding(f"{name_of(path)}/{file}", number, "privacy", said)


def _keys(path: Path, value: dict[str, Any]) -> Iterator[Finding]:
    parts = [value["identity"], value["environment"],
             *(part["environment"] for part in value["personas"].values())]
    for key in sorted({key for part in parts for key in part if _SERIAL_KEY.search(key)}):
        yield Finding(name_of(path), 0, "privacy", f"env key {key} names one machine")


def _sometimes(top: Path, probe_id: str) -> set[str]:
    """The facts of which a probe's source says that they are given where they can be told alone."""
    path = top / "probes" / f"{probe_id.replace('.', '/', 1)}.c"
    file = _source(path, top) if path.is_file() else None
    return {match[1] for number, line in enumerate(file.lines if file else [], 1)
            if (match := _FACT.search(line)) and file and _allowed(file, "fact-missing", number)}


def _declared(path: Path, value: dict[str, Any], top: Path) -> Iterator[Finding]:
    """Declared against emitted, both ways."""
    declared = catalogue.read_text(path / "catalogue") if path.is_dir() else catalogue.Catalogue()
    for problem in declared.problems:
        yield Finding(f"{name_of(path)}/catalogue", 0, "declaration", problem)
    for persona, part in value["personas"].items():
        for probe_id, record in part["probes"].items():
            for message in _record(record, declared.probes.get(probe_id), top):
                yield Finding(name_of(path), 0, "declaration", f"{persona} {probe_id}: {message}")


def _record(record: dict[str, Any], probe: catalogue.Probe | None, top: Path) -> Iterator[str]:
    yield from (line for line in record.get("warnings", [])
                if line.startswith(("undeclared", "fact ", "the catalogue does not know")))
    if record["status"] != "done":
        return
    for name, point in record["points"].items():
        if point.get("reason") == "not reported":
            yield f"{name} is declared and not reported"
    # A probe all of whose points are yes has no excuse for a fact it did not state.
    if probe and all(point["verdict"] == "yes" for point in record["points"].values()):
        missing = {name for name, item in probe.facts().items() if item.type != "verdict"}
        missing -= record["facts"].keys()
        for name in sorted(missing - _sometimes(top, probe.id) if missing else missing):
            yield f"fact {name} is declared and not given"


def result(path: Path, top: Path, hosts: list[str] | None = None) -> list[Finding]:
    """What a result may not say, what it says without having declared it, what is stale."""
    expected = expect.read(top / "suites" / "expect")
    value = load(path, expected)
    found = {*_privacy(path, value, _host_names() if hosts is None else hosts),
             *_keys(path, value)}
    try:
        found |= set(_declared(path, value, top))
    except OSError:
        found.add(Finding(name_of(path), 0, "declaration", "no catalogue beside the result"))
    found |= {Finding(name_of(path), 0, "expectation", line)
              for line in expect.stale(value, expected)}
    if path.is_dir() and (path / "profile.json").exists():
        for line in schema.problems("profile", text.load_json(path / "profile.json")):
            found.add(Finding(f"{name_of(path)}/profile.json", 0, "schema", line))
    return sorted(found)
