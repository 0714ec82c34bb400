# SPDX-License-Identifier: MIT
"""Defects of kernels, each a file of suites/defects with a program beside it that shows it alone.

    format = 1
    title = "..."           what is wrong, in a sentence
    hurts = "..."           who notices, and how
    since = "6.16"          first release that has it
    until = "6.18"          first release without; "" while there is none
    stable = "..."          releases of stable series that have it or not beside that; left out where none is known
    cause = "..."           left out where it is not known
    mended_by = "d06bf..."  the commit; left out where there is none
    workaround = "..."
    verdict = "no"          what its points say where it is there; left out where that is "broken"
    race = "..."            what must come together for it; then one run that sees nothing proves nothing
    hazard = "..."          what running the program may do to a machine; left out where that is nothing
    points = ["sw.clocks.cpu_switched"]     points of probes that it breaks

NAME.c, the reproducer: plain C of at most LINES lines; exit RIGHT, WRONG or UNTOLD, which is 4.
"""

from __future__ import annotations

import re
import subprocess
import textwrap
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reports import expect, text
from reports.text import Unusable

FOLDER = Path(__file__).resolve().parent.parent / "suites" / "defects"
LINES = 60
RIGHT, WRONG, UNTOLD = 0, 1, 4
COMPILE = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread")
_NEEDED = ("title", "hurts", "since", "workaround", "points")
_OPTIONAL = ("until", "stable", "cause", "mended_by", "verdict", "race", "hazard")


@dataclass(frozen=True)
class Defect:
    """One thing that is wrong in some kernels."""
    name: str
    title: str
    hurts: str
    since: str
    workaround: str
    points: tuple[str, ...]
    until: str = ""
    stable: str = ""
    cause: str = ""
    mended_by: str = ""
    verdict: str = "broken"
    race: str = ""
    hazard: str = ""

    @property
    def program(self) -> Path:
        return FOLDER / f"{self.name}.c"

    def span(self) -> str:
        """ "6.16 to before 6.18", "6.3 and later" """
        return f"{self.since} to before {self.until}" if self.until else f"{self.since} and later"


def load(path: Path) -> Defect:
    """The defect of a file. Raises Unusable."""
    value: dict[str, Any] = text.load_toml(path)
    if value.pop("format", None) != 1:
        raise Unusable(f"{path.name}: format is 1")
    unknown = set(value) - {*_NEEDED, *_OPTIONAL}
    lacking = [key for key in _NEEDED if not value.get(key)]
    if unknown or lacking:
        raise Unusable(text.clean(f"{path.name}: {', '.join(sorted(unknown)) or 'nothing'} is unknown, "
                                  f"{', '.join(lacking) or 'nothing'} is missing", 300))
    points = value.pop("points")
    if not isinstance(points, list) or not all(isinstance(each, str) for each in [*points, *value.values()]):
        raise Unusable(f"{path.name}: points are a list of texts, all else is text")
    for key in ("since", "until"):
        if value.get(key) and not expect.release_of(value[key]):
            raise Unusable(f"{path.name}: {key} is a release, such as 6.12")
    return Defect(path.stem, points=tuple(points), **value)


def read(folder: Path = FOLDER) -> list[Defect]:
    """All of them, by name. Raises Unusable."""
    return [load(path) for path in sorted(folder.glob("*.toml"))]


def problems(found: list[Defect], points: set[str]) -> list[str]:
    """What is wrong with these files, where those points are declared."""
    said = []
    for defect in found:
        if not defect.program.is_file():
            said.append(f"{defect.name}: there is no {defect.program.name}")
        elif len(text.load_text(defect.program, 1 << 16).splitlines()) > LINES:
            said.append(f"{defect.program.name}: more than {LINES} lines")
        said += [f"{defect.name}: no point is called {point}" for point in defect.points if point not in points]
    return said


def build(defect: Defect, folder: Path, *more: str, compiler: str = "gcc") -> Path:
    """The reproducer, compiled into a folder. Raises Unusable with what the compiler says."""
    made = folder / defect.name
    done = subprocess.run([compiler, *COMPILE, *more, "-o", made, defect.program], capture_output=True, text=True, check=False,
                          timeout=300)
    if done.returncode != 0:
        raise Unusable(text.clean(f"{defect.program.name}: {done.stderr}", 2000))
    return made


def _wrapped(value: str) -> str:
    return textwrap.fill(value, 75, break_long_words=False, break_on_hyphens=False)


def as_mail(defect: Defect) -> str:
    """A text to be mailed, with the program in it."""
    known = f"It is there in {defect.span()}" + (f" ({defect.stable})" if defect.stable else "") + "."
    if defect.mended_by:
        known += f" Commit {defect.mended_by} mended it."
    parts = [f"Subject: [BUG] perf: {defect.title}", "To: linux-perf-users@vger.kernel.org", "",
             _wrapped(f"{defect.title[0].upper()}{defect.title[1:]}."), "", _wrapped(f"Who notices: {defect.hurts}."), "", _wrapped(known), ""]
    if defect.cause:
        how = "by reading" if re.search(r"\.[ch]:\d", defect.cause) else "not looked up in that source yet"
        parts += [_wrapped(f"Cause, {how}: {defect.cause}."), ""]
    if defect.race:
        parts += [_wrapped(f"A race: {defect.race}."), ""]
    if defect.hazard:
        parts += [_wrapped(f"Mind: {defect.hazard}."), ""]
    parts += [_wrapped(f"Until it is mended: {defect.workaround}."), "",
              _wrapped(f"The program below shows it: gcc -pthread {defect.program.name} && ./a.out. It ends with {RIGHT} where the "
                       f"kernel is right, {WRONG} where it is not, and {UNTOLD} where it cannot tell."), "",
              text.load_text(defect.program, 1 << 16).rstrip(), ""]
    return "\n".join(parts)


@dataclass(frozen=True)
class Other:
    """What is broken somewhere and is none of the defects with a program: whose fault that is."""
    fault: str              # a word of FAULTS
    source: str             # address of the code that explains it; a commit; or ""
    reason: str
    points: tuple[str, ...]


FAULTS = {
    "kernel": "kernels, by their source; nobody has run a program of its own there yet",
    "mended": "kernels, mended by a commit that says why",
    "emulator": "an emulator",
    "hypervisor": "a hypervisor",
    "pmu": "the PMU that this project loads into guests",
    "unknown": "nobody knows what yet",
}


def fault(when: dict[str, Any], entry: dict[str, Any]) -> str:
    """A word of FAULTS."""
    if when.get("hypervisor"):
        return "hypervisor"
    if not entry.get("source"):
        return "mended" if entry["link"].startswith("commit ") or "/commit/" in entry["link"] else "unknown"
    return "pmu" if "pmu" in when else "emulator" if {"emulator", "emulator_version"} & set(when) else "kernel"


def others(found: list[Defect], folder: Path = FOLDER.parent / "expect") -> list[Other]:
    """What else the expectations know to be broken, by fault and source. What only follows from another broken
    point is that point's."""
    ours = [point for defect in found for point in defect.points]
    made: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for path in sorted(folder.glob("*.toml")):
        for entry in text.load_toml(path)["deviation"]:
            name, when = f"{path.stem}.{entry['point']}", entry["when"]
            if "broken" not in entry["verdict"] or "broken" in when or any(fnmatchcase(point, name) for point in ours):
                continue
            who = fault(when, entry)
            source = entry.get("source") or (entry["link"] if who == "mended" else "")
            made.setdefault((who, source), (" ".join(entry["reason"].split()), []))[1].append(name)
    order = sorted(made.items(), key=lambda item: (list(FAULTS).index(item[0][0]), item[0][1]))
    return [Other(who, source, reason, tuple(dict.fromkeys(names))) for (who, source), (reason, names) in order]


def _others_markdown(known: list[Other]) -> list[str]:
    parts = ["# Broken for another reason", "", "Each is the fault of what is named, by the code that is linked.", ""]
    for other in known:
        parts += [f"- **{FAULTS[other.fault]}** {text.markdown(other.source)}: " + ", ".join(f"`{name}`" for name in other.points)
                  + f". {text.markdown(other.reason)}"]
    return [*parts, ""]


def as_markdown(found: list[Defect]) -> str:
    """A page of them."""
    parts = ["# Defects of kernels", "",
             "Each has a program of one file, which shows it alone: `gcc -pthread NAME.c && ./a.out`; "
             f"exit {RIGHT} right, {WRONG} wrong, {UNTOLD} it cannot tell here.", ""]
    for defect in found:
        parts += [f"## {text.markdown(defect.title)}", "",
                  f"- **kernels**: {defect.span()}" + (f"; {text.markdown(defect.stable)}" if defect.stable else "")
                  + (f"; mended by commit {defect.mended_by}" if defect.mended_by else ""),
                  f"- **who notices**: {text.markdown(defect.hurts)}"]
        if defect.cause:
            parts.append(f"- **cause**: {text.markdown(defect.cause)}")
        if defect.race:
            parts.append(f"- **a race**: {text.markdown(defect.race)}")
        if defect.hazard:
            parts.append(f"- **running it**: {text.markdown(defect.hazard)}")
        parts += [f"- **instead**: {text.markdown(defect.workaround)}",
                  f"- **shown by**: `suites/defects/{defect.program.name}`, "
                  + ", ".join(f"`{point}`" for point in defect.points), ""]
    return "\n".join(parts + _others_markdown(others(found)))
