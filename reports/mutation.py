# SPDX-License-Identifier: MIT
"""How each point was seen to fail: the records that `make falsify` writes, one file a probe.

The words are mutation testing's. A mutant is a kernel with one fault (see suites/falsify). A point
that says no or broken on a mutant has killed it; one that only gets to unknown, blocked or absent is
weak; one that says yes to every mutant has let all of them survive, and checks nothing.

Some faults leave nearly nothing working: blanket.txt lists them. A point that kills no other mutant has
been shown to need a kernel, not to check its own question.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reports import wordlist
from reports.catalogue import Catalogue
from reports.declaration import Probe

RECORDS = Path("suites/falsify/killed")
BLANKET = Path("suites/falsify/blanket.txt")	# faults that leave nearly nothing working
REASONS = Path("suites/falsify/reasons.txt")	# why a point cannot be shown to fail
NATURE = "-"		# no fault: the kernel as it is
NOT_HERE = "not-here"	# no fault, and nobody was told yes on that kernel: nothing can be shown there
VERDICTS = tuple(word for word in wordlist.EVERY if word != "yes")
HEADER = ("# Written by `make falsify`, not by hand: point, its verdict, persona, fault of the kernel\n"
          "# (-: none; not-here: it never says yes on that kernel), kernel.\n")


@dataclass(frozen=True)
class Seen:
    """One way in which a point was other than yes."""
    verdict: str
    persona: str
    fault: str = NATURE
    kernel: str = ""

    @property
    def weight(self) -> int:
        """3: killed; 2: weak; 1: weak, and only where no event opens or for a persona; 0: not to be had."""
        if self.verdict == "yes" or self.fault == NOT_HERE:
            return 0
        if self.verdict in ("no", "broken"):
            return 2 if self.blunt else 3
        return 1 if self.blunt or self.fault == NATURE else 2

    @property
    def blunt(self) -> bool:
        """Whether the fault refuses every perf_event_open, which says little about one point."""
        return self.fault.startswith("open-e") and self.fault not in ("open-enomsg", "open-entrusts")


class Blanket:
    """Which faults leave nearly nothing working, and the points that ask about just that."""

    def __init__(self, top: Path) -> None:
        path = top / BLANKET
        lines = [words for _, words in _lines(path)] if path.is_file() else []
        self.subjects = {words[0]: words[1:] for words in lines}

    def own(self, point: str, how: Seen) -> bool:
        """Whether this kill is about the point's own question."""
        if how.weight < 3:
            return False
        return how.fault not in self.subjects or any(fnmatch.fnmatchcase(point, glob)
                                                     for glob in self.subjects[how.fault])

    def worth(self, point: str, how: Seen) -> int:
        """The weight of a record, and 4 for a kill by a fault of the point's own."""
        return 4 if self.own(point, how) else how.weight


def reasons(top: Path) -> dict[str, str]:
    """glob over points -> why they cannot be shown to fail by a fault of their own."""
    path = top / REASONS
    return {words[0]: " ".join(words[1:]) for _, words in _lines(path)} if path.is_file() else {}


def standing(top: Path, declared: Catalogue) -> dict[str, list[str]]:
    """The points in four lists: killed by a fault of their `own`, only by a `blanket` one, `never` yes on
    any kernel that was tried, and `not` killed."""
    known, blanket = read(top), Blanket(top)
    found: dict[str, list[str]] = {"own": [], "blanket": [], "not": [], "never": []}
    for probe in declared.probes.values():
        for point in (f"{probe.id}.{item.name}" for item in probe.points()):
            how = known.get(point)
            if probe.id.startswith("meta."):
                continue
            if how is None or 0 < how.weight < 3:
                found["not"].append(point)
            elif how.weight == 0:
                found["never"].append(point)
            else:
                found["own" if blanket.own(point, how) else "blanket"].append(point)
    return found


def path_of(top: Path, probe: str) -> Path:
    """Where the record of a probe lies."""
    area, _, name = probe.partition(".")
    return top / RECORDS / area / f"{name}.txt"


def probe_of(path: Path) -> str:
    """The probe whose record lies there."""
    return f"{path.parent.name}.{path.stem}"


def paths(top: Path) -> list[Path]:
    return sorted((top / RECORDS).glob("*/*.txt"))


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return ((number, line.split()) for number, line in enumerate(lines, 1) if line and line[0] != "#")


def read(top: Path) -> dict[str, Seen]:
    """point key -> how it was seen to fail. Ill-formed lines are left out; problems() names them."""
    return {f"{probe_of(path)}.{words[0]}": Seen(*words[1:])
            for path in paths(top) for _, words in _lines(path) if len(words) == 5}


def write(top: Path, probe: str, seen: dict[str, Seen]) -> None:
    """The record of one probe, by the names of its points; nothing to say leaves no file."""
    path = path_of(top, probe)
    if not seen:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + "".join(f"{name} {how.verdict} {how.persona} {how.fault} {how.kernel}\n"
                                     for name, how in sorted(seen.items())))


def problems(top: Path, declared: Catalogue | None) -> Iterator[tuple[str, int, str]]:
    """(file, line, what is wrong): ill-formed lines, and records of what is no more."""
    for path in paths(top):
        where, probe = str(path.relative_to(top)), probe_of(path)
        if not (top / "probes" / path.parent.name / f"{path.stem}.c").is_file():
            yield where, 0, "stale: there is no such probe; remove the file"
            continue
        known = declared.probes.get(probe) if declared else None
        names = {item.name for item in known.points()} if known else None
        for number, words in _lines(path):
            if len(words) != 5 or words[1] not in VERDICTS:
                yield where, number, "not: point verdict persona fault kernel"
            elif names is not None and words[0] not in names:
                yield where, number, f"stale: no point {words[0]}; run make falsify PROBE={probe}"
    for message in (*stale_reasons(top, declared), *unexplained(top, declared)) if declared else ():
        yield str(REASONS), 0, message


def unexplained(top: Path, declared: Catalogue) -> Iterator[str]:
    """Points on record that no fault of their own kills, and that no reason is given for."""
    known, found = read(top), standing(top, declared)
    for point in found["blanket"] + found["not"]:
        excused = any(fnmatch.fnmatchcase(point, glob) for glob in reasons(top))
        if point in known and known[point].verdict in VERDICTS and not excused:
            yield f"unexplained: {point}: no fault of its own kills it, and there is no reason"


def stale_reasons(top: Path, declared: Catalogue) -> Iterator[str]:
    """Reasons for points that are no more, or that have been killed by a fault of their own."""
    found = standing(top, declared)
    for glob in reasons(top):
        if not any(fnmatch.fnmatchcase(point, glob) for point in found["blanket"] + found["not"]):
            yield f"stale: {glob}: every such point is killed, or there is none"


def unshown(top: Path, declared: Catalogue) -> Iterator[tuple[Probe, list[str]]]:
    """Probes with the names of their points that have no record. Those about the house need none."""
    known, excused = read(top), reasons(top)
    for probe in declared.probes.values():
        names = [item.name for item in probe.points() if f"{probe.id}.{item.name}" not in known
                 and not any(fnmatch.fnmatchcase(f"{probe.id}.{item.name}", glob) for glob in excused)]
        if names and not probe.id.startswith("meta."):
            yield probe, names
