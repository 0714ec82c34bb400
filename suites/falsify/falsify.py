#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Show that every point of the catalogue can come out other than yes, and record how.

This is mutation testing with kernels. Each probe runs on the kernel as it is, as every persona, and
then on mutants: kernels with one fault each, played by `launch --fault`. They answer errors, answer
success and do nothing, ignore or refuse a field, accept what must be refused, read zeros, hide files.
A point that says `no` or `broken` has killed the mutant; one that only gets to `unknown`, `blocked` or
`absent` is weak; one that says yes to every mutant checks nothing.

The records are killed/AREA/NAME.txt, one file a probe, written by this program alone. A probe meets the
mutants of its record first, and all the others only when a point has no record or the record is no
longer true. Probes that were not chosen keep theirs.

usage: suites/falsify/falsify.py [--probe GLOB]... [--search] [--forget] [--result RESULT]...
       make falsify [PROBE='ring.new_probe']
--search runs weak points on all mutants, to find one that they kill; --result takes verdicts of a run
on another kernel. ARCH chooses the build.
Exit: 0 each chosen point was seen to fail, 1 one let all mutants survive or no longer kills its own,
3 could not run.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutants import TREE, ask, declared, order, run, stop  # noqa: E402

from reports import catalogue, mutation  # noqa: E402
from reports.mutation import NATURE, NOT_HERE, Seen  # noqa: E402
from reports.result import load  # noqa: E402

KERNEL = f"{'.'.join(platform.release().split('.')[:2])}/{platform.machine()}"

@dataclass
class Ledger:
    """point -> the best that was seen of it; the points of each probe."""
    points: dict[str, list[str]]
    known: dict[str, Seen]
    scratch: Path
    search: bool = False
    forget: bool = False
    blanket: mutation.Blanket = field(default_factory=lambda: mutation.Blanket(TREE))
    best: dict[str, Seen] = field(default_factory=dict)
    yes: set[str] = field(default_factory=set)
    asked: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    survived: set[tuple[str, str, str]] = field(default_factory=set)	# point, fault and persona: met, and no kill
    noticed: dict[str, str] = field(default_factory=dict)	# fault -> the first point that noticed it, and the kernel

    def note(self, point: str, seen: Seen) -> None:
        if seen.verdict == "yes":
            self.yes.add(point)
        elif point not in self.best or self.worth(point, seen) > self.worth(point):
            self.best[point] = seen
        if seen.weight == 3:
            self.noticed.setdefault(seen.fault, f"{point} {seen.kernel}")

    def worth(self, point: str, seen: Seen | None = None) -> int:
        how = seen or self.best.get(point)
        return self.blanket.worth(point, how) if how else 0

    def open(self, probe: str) -> bool:
        """Whether a point that says yes here has not yet failed as clearly as its record says."""
        return any(self.worth(point) < self.wanted(point) for point in self.points[probe] if point in self.yes)

    def wanted(self, point: str) -> int:
        how = self.known.get(point)
        return 4 if self.search or how is None else self.blanket.worth(point, how) or 4

    def recorded(self, probe: str) -> list[tuple[str, str]]:
        """(fault, persona) of the records of a probe."""
        known = [self.known[point] for point in self.points[probe] if point in self.known]
        return sorted({(how.fault, how.persona) for how in known if how.fault not in (NATURE, NOT_HERE)
                       and not how.fault.startswith("pmu-") and how.persona in personas()})

    def mutants(self, probe: str) -> list[tuple[str, str]]:
        """(fault, persona) of all that can concern a probe. A user is lied to by filters alone, for time."""
        both = [who for who in ("root", "user") if who in personas()]
        return [(fault, who) for who in both for fault in order(self.asked.get((probe, who), set()))
                if "." not in fault or who == both[0]]


def personas() -> list[str]:
    """Those of the default suite that may be assumed here."""
    suite = (TREE / "suites" / "default.txt").read_text(encoding="utf-8")
    asked = re.search(r"^personas (.*)$", suite, re.MULTILINE)
    assert asked, "suites/default.txt names no personas"
    return asked[1].split() if os.geteuid() == 0 else ["user"]


def as_it_is(ledger: Ledger, probe: catalogue.Probe) -> int:
    """Run a probe on the kernel as it is, as every persona. Returns how many runs that took."""
    for who in personas():
        said, ledger.asked[probe.id, who] = ask(probe, who, ledger.scratch)
        for point, word in said.items():
            ledger.note(point, Seen(word, who))
    return len(personas())


def confront(ledger: Ledger, probe: catalogue.Probe, mutants: Iterable[tuple[str, str]]) -> int:
    """Run a probe on mutants until every point has failed. Returns how many runs that took."""
    runs = 0
    for fault, persona in mutants:
        if not ledger.open(probe.id):
            break
        for point, said in twice(ledger, probe, persona, fault).items():
            ledger.note(point, Seen(said, persona, fault))
            if said not in ("no", "broken"):
                ledger.survived.add((point, fault, persona))
        runs += 1
    return runs


def twice(ledger: Ledger, probe: catalogue.Probe, persona: str, fault: str) -> dict[str, str]:
    """What a probe says on a mutant. A kill counts when it is repeated: a busy machine kills now and then."""
    said = run(probe, persona, fault, ledger.scratch)
    kills = {point for point, word in said.items() if word in ("no", "broken") and point in ledger.yes}
    if not any(ledger.worth(point, Seen(said[point], persona, fault)) > ledger.worth(point) for point in kills):
        return said
    again = run(probe, persona, fault, ledger.scratch)
    return {point: word if again.get(point) == word else "unknown" for point, word in said.items()}


def confront_all(ledger: Ledger, probes: list[catalogue.Probe]) -> None:
    """Run the probes in three rounds: as it is, on the mutants of their records, on all mutants."""
    rounds = [("kernel as it is", lambda probe: as_it_is(ledger, probe)),
              ("recorded mutants", lambda probe: confront(ledger, probe, ledger.recorded(probe.id))),
              ("all mutants", lambda probe: confront(ledger, probe, ledger.mutants(probe.id)))]
    for title, work in rounds:
        start, runs = time.monotonic(), 0
        for alone in (False, True):
            chosen = [probe for probe in probes if bool(probe.alone) == alone]
            with ThreadPoolExecutor(max_workers=1 if alone else 2 * (os.cpu_count() or 1)) as pool:
                runs += sum(pool.map(work, chosen))
        print(f"falsify: {title}: {runs} runs, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


def settle(ledger: Ledger) -> dict[str, Seen]:
    """What this run shows of each point. A point that never said yes is marked: nothing can be shown here."""
    lines = {}
    for point, how in ledger.best.items():
        mild = how.verdict not in ("no", "broken")
        never = point not in ledger.yes and mild and not how.kernel
        lines[point] = replace(how, fault=NOT_HERE if never else how.fault, kernel=how.kernel or KERNEL)
    return lines


def better(ledger: Ledger, point: str, how: Seen) -> Seen:
    """The record of a point from now on: what was seen now, unless an older record shows more and stands.

    A kill stands until this run meets its mutant in vain and has another kill (lost() tells of one without),
    and so does what another kernel showed.
    """
    before = ledger.known.get(point)
    if before is None:
        return how
    now, then = ledger.worth(point, how), ledger.worth(point, before)
    if how.kernel != KERNEL:
        return how if now > then else before
    if ledger.forget and lost(ledger, point, how):
        return how
    if how.weight == 3 and before.kernel == KERNEL and (point, before.fault, before.persona) in ledger.survived:
        return how
    stands = then >= 3 or before.kernel != KERNEL or how.fault == NOT_HERE
    return before if stands and then >= now else how


def lost(ledger: Ledger, point: str, how: Seen | None) -> Seen | None:
    """The kill on record that a point which says yes here did not repeat, though it met that mutant."""
    before = ledger.known.get(point)
    if before is None or before.weight < 3 or before.kernel != KERNEL or before.persona not in personas():
        return None
    return before if point in ledger.yes and (how is None or how.weight < 3) else None


def take_results(ledger: Ledger, paths: list[Path]) -> None:
    """What points said on other kernels, where that shows more."""
    for path in paths:
        result = load(path)
        release = ".".join(result["identity"]["release"].split(".")[:2])
        kernel = f"{release}/{result['identity']['arch']}"
        for persona, body in result["personas"].items():
            for probe, outcome in body["probes"].items():
                for name, answer in outcome["points"].items():
                    if answer["verdict"] in ("no", "broken"):
                        ledger.note(f"{probe}.{name}", Seen(answer["verdict"], persona, NATURE, kernel))


def judge(ledger: Ledger, now: dict[str, Seen], chosen: Iterable[str]) -> int:
    """Say which points of the chosen probes cannot fail, or no longer do. Returns how many."""
    wrong = 0
    for point in (point for probe in chosen for point in ledger.points[probe]):
        if before := lost(ledger, point, now.get(point)):
            print(f"no longer killed  {point}: said {before.verdict} as {before.persona} on {before.fault}")
            wrong += 1
        elif point not in now and point not in ledger.known:
            print(f"survived  {point}: said yes on every mutant, or was never asked")
            wrong += 1
    return wrong


def matches(point: str, globs: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(point, glob) for glob in globs)


def record(ledger: Ledger, now: dict[str, Seen], chosen: Iterable[str], top: Path) -> None:
    """Write what is known from now on of the chosen probes; forget probes that are no more.

    A point without a record that has a reason said yes in a guest: that it does not here is no news.
    """
    reasons = mutation.reasons(top)
    for probe in chosen:
        for point in ledger.points[probe]:
            if ledger.forget and point not in now and lost(ledger, point, None):
                del ledger.known[point]
        lines = {point: better(ledger, point, now[point]) if point in now else ledger.known[point]
                 for point in ledger.points[probe] if point in ledger.known or (
                     point in now and not (now[point].fault == NOT_HERE and matches(point, reasons)))}
        mutation.write(top, probe, {point.removeprefix(f"{probe}."): how for point, how in lines.items()})
    for path in mutation.paths(top):
        if not (top / "probes" / path.parent.name / f"{path.stem}.c").is_file():
            path.unlink()


def summary(all_declared: catalogue.Catalogue) -> str:
    found = mutation.standing(TREE, all_declared)
    yes = sum(len(points) for name, points in found.items() if name != "never")
    return (f"{yes} points say yes somewhere: {len(found['own'])} killed by a fault of their own, "
            f"{len(found['blanket'])} only where nothing works, {len(found['not'])} not killed; "
            f"{len(found['never'])} say yes nowhere that was tried")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", action="append", help="which probes, as globs over ids (default: all)")
    parser.add_argument("--result", type=Path, action="append", default=[], help="a run on another kernel")
    parser.add_argument("--forget", action="store_true", help="drop records that are no longer true")
    parser.add_argument("--search", action="store_true", help="run weak points on all mutants")
    options = parser.parse_args()
    all_declared = declared()
    found = {id: probe for id, probe in sorted(all_declared.probes.items()) if not id.startswith("meta.")}
    globs = [glob for text in options.probe or ["*"] for glob in text.split()]
    chosen = [id for id in found if any(fnmatch.fnmatchcase(id, glob) for glob in globs)]
    if not chosen:
        stop(f"no probe matches {' '.join(globs)}")
    points = {id: [f"{id}.{item.name}" for item in probe.points()] for id, probe in found.items()}
    with tempfile.TemporaryDirectory(prefix="falsify.", dir=TREE / "build") as scratch:
        ledger = Ledger(points, mutation.read(TREE), Path(scratch), options.search, options.forget)
        confront_all(ledger, [found[id] for id in chosen])
    take_results(ledger, options.result)
    now = settle(ledger)
    record(ledger, now, chosen, TREE)
    wrong = judge(ledger, now, chosen)
    for probe, names in mutation.unshown(TREE, all_declared):
        print(f"not yet shown to fail: make falsify PROBE={probe.id} ({len(names)} points)")
    print(summary(all_declared))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
