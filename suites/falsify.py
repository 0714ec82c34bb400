#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Show that every point of the catalogue can come out other than yes, and keep the list of how.

Each probe runs as the kernel is, as every persona, and then under the faults of `launch --fault
list`: kernels that answer errors, answer success and do nothing, ignore or refuse a field, accept
what must be refused, read zeros, hide files. A point is convicted once it said `no` or `broken`;
what made it `unknown`, `blocked` or `absent` is kept as second best, and a refusal of every
perf_event_open as third.

The list is suites/falsified.list: point, verdict, persona, fault (`-`: none; `not-here`: it never
says yes on this kernel, so that nothing is to be shown), kernel. A probe is told the lies of its
list first; all the others only when the list lacks a point of it or is no longer true. Probes that
--probe leaves out keep their lines. What no lie can be told about stands in unfalsified.list.

usage: suites/falsify.py [--probe GLOB] [--search] [--result RESULT]... [--check]  (or: make falsify)
--search tells all lies for a conviction of what is only shaken, --result takes verdicts of a run on
another kernel, --check only looks whether the list is complete. ARCH chooses the build.
Exit: 0 every point was seen to fail or is excused, 1 some were not, 3 could not run.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE))

from reports import catalogue, ktap, verdict  # noqa: E402
from reports.result import load  # noqa: E402

BUILD = TREE / "build" / os.environ.get("ARCH", platform.machine())
LIST = TREE / "suites" / "falsified.list"
EXCUSES = TREE / "suites" / "unfalsified.list"
KERNEL = f"{'.'.join(platform.release().split('.')[:2])}/{platform.machine()}"
NATURE = "-"		# no fault
NOT_HERE = "not-here"	# no fault, and the point said yes to nobody on this kernel
# Told to every probe, in this order: each of them contradicts many points in its own way.
STRONG = ["open-accepts", "enable-nothing", "ioctl-rest-nothing", "read-zeros", "open-enomsg", "open-entrusts",
          "mmap-accepts", "refuse-flags", "refuse-sample_type", "attr-flags", "attr-sample_type",
          "sysctls-missing", "pmus-garbage"]


@dataclass(frozen=True)
class Seen:
    """One way in which a point was other than yes."""
    verdict: str
    persona: str
    fault: str = NATURE
    kernel: str = ""

    @property
    def weight(self) -> int:
        """3: convicted, 2: shaken by a lie, 1: by a blunt lie or for a persona, 0: not to be had here."""
        if self.verdict == "yes" or self.fault == NOT_HERE:
            return 0
        if self.verdict in ("no", "broken"):
            return 2 if self.blunt else 3
        return 1 if self.blunt or self.fault == NATURE else 2

    @property
    def blunt(self) -> bool:
        return self.fault.startswith("open-e") and self.fault not in ("open-enomsg", "open-entrusts")


@dataclass
class Ledger:
    """point -> the best that was seen of it; the points of each probe."""
    points: dict[str, list[str]]
    known: dict[str, Seen]
    scratch: Path
    search: bool = False
    best: dict[str, Seen] = field(default_factory=dict)
    yes: set[str] = field(default_factory=set)

    def note(self, point: str, seen: Seen) -> None:
        if seen.verdict == "yes":
            self.yes.add(point)
        elif point not in self.best or seen.weight > self.best[point].weight:
            self.best[point] = seen

    def weight(self, point: str) -> int:
        return self.best[point].weight if point in self.best else 0

    def open(self, probe: str) -> bool:
        """Whether a point that says yes here has not been shaken as well as it is known to be."""
        return any(self.weight(point) < self.wanted(point) for point in self.points[probe] if point in self.yes)

    def wanted(self, point: str) -> int:
        return 3 if self.search or point not in self.known else self.known[point].weight or 3

    def ways(self, probe: str) -> list[tuple[str, str]]:
        """(fault, persona) of the list that was, for a probe."""
        known = [self.known[point] for point in self.points[probe] if point in self.known]
        return sorted({(how.fault, how.persona) for how in known
                       if how.fault not in (NATURE, NOT_HERE) and how.kernel == KERNEL})


def stop(text: str) -> NoReturn:
    """Could not run, which is not what 1 says."""
    print(f"falsify: {text}", file=sys.stderr)
    sys.exit(3)


def faults() -> list[str]:
    done = subprocess.run([BUILD / "launch", "--fault", "list"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def declared() -> catalogue.Catalogue:
    texts = sorted((BUILD / "declared").glob("*/*.txt"))
    if not texts:
        stop("nothing is built; run make first")
    return catalogue.gather(texts)


def run(probe: catalogue.Probe, persona: str, fault: str, scratch: Path) -> dict[str, str]:
    """point -> verdict of one probe under one fault ('-': none)."""
    out = scratch / f"{probe.id}.{persona}.{fault}"
    command = [BUILD / "launch", "--persona", persona, "--timeout", "12", "--out", out,
               *(["--fault", fault] if fault != NATURE else []),
               "--", BUILD / "probes" / probe.id.replace(".", "/", 1)]
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
    try:
        record = verdict.judge(ktap.read(out), probe)
        out.unlink()
    except OSError as error:
        stop(f"{probe.id} under '{fault}': {error}")
    return {f"{probe.id}.{name}": point["verdict"] for name, point in record.points.items()}


def shake(ledger: Ledger, probe: catalogue.Probe, ways: Iterable[tuple[str, str]]) -> int:
    """Tell a probe lies until no point of it is left. Returns how many runs it took."""
    runs = 0
    for fault, persona in ways:
        if fault != NATURE and not ledger.open(probe.id):
            break
        for point, said in run(probe, persona, fault, ledger.scratch).items():
            ledger.note(point, Seen(said, persona, fault))
        runs += 1
    return runs


def shake_all(ledger: Ledger, probes: list[catalogue.Probe]) -> None:
    """Tell the probes lies, in three rounds."""
    root = os.geteuid() == 0
    liars = ["root", "user"] if root else ["user"]
    names = [*STRONG, *(name for name in faults() if name not in STRONG)]
    rounds: list[tuple[str, Callable[[str], list[tuple[str, str]]]]] = [
        ("as it is", lambda _: [(NATURE, who) for who in (["root", "perfmon", "user"] if root else ["user"])]),
        ("by the list", ledger.ways),
        ("all lies", lambda _: [(fault, who) for who in liars for fault in names])]
    for title, ways in rounds:
        start, runs = time.monotonic(), 0
        for alone in (False, True):
            chosen = [probe for probe in probes if bool(probe.alone) == alone]
            with ThreadPoolExecutor(max_workers=1 if alone else os.cpu_count()) as pool:
                runs += sum(pool.map(lambda probe: shake(ledger, probe, ways(probe.id)), chosen))
        print(f"falsify: {title}: {runs} runs, {time.monotonic() - start:.0f} s", file=sys.stderr)


# -------------------------------------------------------------------------------- the list

HEADER = """\
# SPDX-License-Identifier: MIT
# How each point was seen to say something other than yes. Made by suites/falsify.py; do not edit.
# point, verdict, persona, fault (-: none; not-here: this kernel never lets it say yes), kernel
"""


def read_list(path: Path = LIST) -> dict[str, Seen]:
    if not path.exists():
        return {}
    lines = (line.split() for line in path.read_text().splitlines() if line and line[0] != "#")
    return {words[0]: Seen(*words[1:]) for words in lines}


def read_excuses() -> dict[str, str]:
    """glob -> why no lie can be told about these points."""
    lines = EXCUSES.read_text().splitlines() if EXCUSES.exists() else []
    return dict(line.split(None, 1) for line in lines if line and line[0] != "#")


def excuse(point: str, excuses: dict[str, str]) -> str:
    return next((why for glob, why in excuses.items() if fnmatch.fnmatchcase(point, glob)), "")


def settle(ledger: Ledger) -> dict[str, Seen]:
    """The lines of the list. What nobody was ever told yes of is marked as such."""
    lines = {}
    for point, how in ledger.best.items():
        mild = how.verdict not in ("no", "broken")
        never = point not in ledger.yes and mild and not how.kernel
        lines[point] = replace(how, fault=NOT_HERE if never else how.fault, kernel=how.kernel or KERNEL)
    return lines


def better(how: Seen, before: Seen | None) -> Seen:
    """What was seen here, unless that shows less than another kernel did, or than a lie about what is not here."""
    if before is None:
        return how
    if how.kernel != KERNEL:
        return how if how.weight > before.weight else before
    lasting = before.kernel != KERNEL or how.fault == NOT_HERE
    return before if lasting and before.weight > how.weight else how


def write_list(seen: dict[str, Seen]) -> None:
    with LIST.open("w") as file:
        file.write(HEADER)
        for point, how in sorted(seen.items()):
            file.write(f"{point} {how.verdict} {how.persona} {how.fault} {how.kernel}\n")


def take_results(ledger: Ledger, paths: list[Path]) -> None:
    """What points said on other kernels, where that tells more."""
    for path in paths:
        result = load(path)
        release = ".".join(result["identity"]["release"].split(".")[:2])
        kernel = f"{release}/{result['identity']['arch']}"
        for persona, body in result["personas"].items():
            for probe, outcome in body["probes"].items():
                for name, answer in outcome["points"].items():
                    if answer["verdict"] in ("no", "broken"):
                        ledger.note(f"{probe}.{name}", Seen(answer["verdict"], persona, NATURE, kernel))


def judge(points: Iterable[str], glob: str) -> int:
    """Say what the list lacks, and has too much. Returns how many points that is."""
    seen, excuses, wrong = read_list(), read_excuses(), 0
    points = set(points)
    for point in sorted(points):
        if point not in seen and not excuse(point, excuses) and fnmatch.fnmatchcase(point, f"{glob}.*"):
            print(f"never  {point}: said yes to every lie, or was never asked")
            wrong += 1
    for point in sorted(seen.keys() - points):
        print(f"stale  {point}: no such point")
        wrong += 1
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", default="*", help="which probes, as a glob over ids")
    parser.add_argument("--result", type=Path, action="append", default=[], help="a run on another kernel")
    parser.add_argument("--search", action="store_true", help="all lies, for better entries of the list")
    parser.add_argument("--check", action="store_true", help="only look at the list")
    options = parser.parse_args()
    found = {id: probe for id, probe in declared().probes.items() if not id.startswith("meta.")}
    points = {id: [f"{id}.{item.name}" for item in probe.points()] for id, probe in found.items()}
    everything = [point for names in points.values() for point in names]
    if not options.check:
        chosen = [probe for id, probe in sorted(found.items()) if fnmatch.fnmatchcase(id, options.probe)]
        kept = read_list()
        with tempfile.TemporaryDirectory(prefix="falsify.", dir=TREE / "build") as scratch:
            ledger = Ledger(points, kept, Path(scratch), options.search)
            shake_all(ledger, chosen)
        take_results(ledger, options.result)
        fresh = {point for probe in chosen for point in points[probe.id]}
        lines = {point: how for point, how in kept.items() if point not in fresh}
        lines |= {point: better(how, kept.get(point)) for point, how in settle(ledger).items()}
        write_list({point: how for point, how in lines.items() if point in set(everything)})
    wrong = judge(everything, options.probe)
    weights = [how.weight for how in read_list().values()]
    print(f"{len(everything)} points: {weights.count(3)} convicted, {weights.count(2)} shaken, {weights.count(1)} "
          f"only bluntly, {weights.count(0)} never yes here, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
