#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Show of every lie, from the other side, that some point notices it.

falsify.py asks of each point whether it can fail; this asks of each mutant whether anybody notices. A record
that names a mutant is an answer. The others are told to the probes that they concern until a point of one
says no or broken. The list noticed.txt is written by this program alone: the mutant, and the point, or
`nobody` and how many probes were told it, or `nobody-asks` where no probe of this kernel could be told it.
What the synthetic PMU lies about is on the list, too.
A point with a kernel behind it noticed in a guest: guests.py writes such lines, and they stand.

usage: suites/falsify/noticed.py [--lie GLOB]... [--most N]
`nobody` needs a reason, in unnoticed.txt.

Exit: 0 each is noticed, has its reason, or nobody here can be told it, 1 one is not.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutants import TREE, ask, declared, faults, pmu_lies, run  # noqa: E402

from reports import catalogue, mutation  # noqa: E402

REASONS = TREE / "suites/falsify/unnoticed.txt"
FILE = TREE / "suites/falsify/noticed.txt"
HEADER = ("# Written by suites/falsify/noticed.py, not by hand: a mutant, and a point that notices it; or nobody and the\n"
          "# number of probes that were told it; or nobody-asks, where none could be told it on that kernel. A kernel\n"
          "# behind a point: guests.py saw it there.\n")
Asked = dict[str, tuple[dict[str, str], set[str]]]	# probe -> what it says as it is, and what it can be told


def likeness(lie: str, probe: str) -> int:
    """How much the name of a probe has in common with that of a lie: those that do are told first."""
    words = set(lie.replace("-", ".").replace("_", ".").split("."))
    return len(words & set(probe.replace("_", ".").split(".")))


def concerned(lie: str, asked: Asked) -> list[str]:
    """The probes that could be told it. A filter that notes nothing concerns all."""
    noted = "." in lie or lie.startswith(("attr-", "refuse-"))
    found = [id for id, (_, told) in asked.items() if not noted or lie in told]
    return sorted(found, key=lambda id: -likeness(lie, id))


def answers(probe: catalogue.Probe, before: dict[str, str], lie: str, scratch: Path) -> list[str]:
    """The points of a probe that notice a lie, and again when they are asked again: a busy machine is no lie."""
    who, noticed = "root" if os.geteuid() == 0 else "user", list(before)
    for _ in range(2):
        said = run(probe, who, lie, scratch)
        noticed = [point for point in noticed if said.get(point) in ("no", "broken") and before[point] == "yes"]
        if not noticed:
            break
    return noticed


def notice(lie: str, asked: Asked, probes: dict[str, catalogue.Probe], scratch: Path, most: int) -> str:
    """The point that notices a lie, or who does not."""
    told = concerned(lie, asked)
    for id in told[:most]:
        for point in answers(probes[id], asked[id][0], lie, scratch):
            return point
    return f"nobody {len(told[:most])}" if told else "nobody-asks"


def find_all(wanted: list[str], probes: dict[str, catalogue.Probe], most: int) -> dict[str, str]:
    who = "root" if os.geteuid() == 0 else "user"
    with tempfile.TemporaryDirectory(prefix="noticed.", dir=TREE / "build") as folder, \
            ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        scratch = Path(folder)
        answers = pool.map(lambda probe: ask(probe, who, scratch), probes.values())
        asked = dict(zip(probes, answers, strict=True))
        points = pool.map(lambda lie: notice(lie, asked, probes, scratch, most), wanted)
        return dict(zip(wanted, points, strict=True))


def recorded() -> dict[str, str]:
    """lie -> a point that is on record as killed by it."""
    found: dict[str, str] = {}
    for point, how in sorted(mutation.read(TREE).items()):
        if how.weight == 3:
            found.setdefault(how.fault, point)
    return found


def read() -> dict[str, str]:
    """mutant -> what the list says of it."""
    if not FILE.is_file():
        return {}
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


def stands(said: str) -> bool:
    """Whether a guest has shown it."""
    return " " in said and not said.startswith("nobody")


def add(found: dict[str, str]) -> None:
    """What guests noticed, of mutants that nobody here does: mutant -> point and kernel."""
    now = read()
    now |= {lie: said for lie, said in found.items() if now.get(lie, "").startswith("nobody")}
    write(now)


def write(now: dict[str, str]) -> None:
    FILE.write_text(HEADER + "".join(f"{lie} {point}\n" for lie, point in sorted(now.items())), encoding="utf-8")


def reason_for(lie: str) -> str:
    """Why nobody notices a mutant: what unnoticed.txt says, or nothing."""
    lines = (line.split(None, 1) for line in REASONS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return next((reason for glob, reason in lines if fnmatch.fnmatchcase(lie, glob)), "")


def chosen(lies: Iterable[str], globs: list[str]) -> list[str]:
    return [lie for lie in lies if any(fnmatch.fnmatchcase(lie, glob) for glob in globs)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lie", action="append", help="which mutants, as globs (default: all)")
    parser.add_argument("--most", type=int, default=400, help="how many probes are told one at most")
    options = parser.parse_args()
    probes = {id: probe for id, probe in sorted(declared().probes.items()) if not id.startswith("meta.")}
    before, names, known, of_guests = read(), list(faults()), recorded(), pmu_lies()
    now = {name: known.get(name, before.get(name, "")) for name in names}
    now |= {name: known.get(name, before.get(name, "nobody-asks")) for name in of_guests}
    wanted = [name for name in chosen(names, options.lie or ["*"]) if name not in known and not stands(before.get(name, ""))]
    now |= find_all(wanted, probes, options.most)
    write({name: point for name, point in now.items() if point})
    silent = [name for name, point in now.items() if point.startswith("nobody ")]
    print("\n".join(f"{name}: {now[name]}: {reason_for(name) or 'no reason given'}" for name in silent))
    print(f"{len(now)} mutants: {sum(not point.startswith('nobody') for point in now.values())} noticed, "
          f"{sum(point == 'nobody-asks' for point in now.values())} told to nobody on this kernel, "
          f"{sum(point.startswith('nobody ') for point in now.values())} not noticed")
    return 1 if any(not reason_for(name) for name in silent) else 0


if __name__ == "__main__":
    sys.exit(main())
