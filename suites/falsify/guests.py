#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same as falsify.py for what this machine cannot answer: PMUs, disturbances and hazards, in guests.

A guest gets a bundle of lying programs with guest-run in place of run.sh, and a list of mutants. Its first
boot asks each probe on its kernel as it is, and which lies it could be told; the next ones go on with the
points that said yes, some mutants a boot, until each has failed. Where the row has a synthetic PMU, that
lies, too.

usage: [ARCH=MACHINE] suites/falsify/guests.py ROW [--probe GLOB]... [--rounds N] [--hazards]
Needs `make lying-probes`, for a row of another machine `make ARCH=MACHINE lying-probes` and `make`. Exit: 0 done, 3 a guest could not run.
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import noticed  # noqa: E402
from falsify import Ledger, better, summary  # noqa: E402
from mutants import BUILD, TREE, declared, order, pmu_lies, stop  # noqa: E402

from reports import catalogue, ktap, mutation, verdict  # noqa: E402
from reports.mutation import NATURE, NOT_HERE, Seen  # noqa: E402

HERE = Path(__file__).parent
A_ROUND = 30	# mutants a probe meets in one boot; 1 where it takes away for good what it asks about
Line = tuple[str, str, str]	# fault, persona, probe


def prefix() -> str:
    """Of the tools of the machine built for; empty for this one."""
    tools = BUILD / "cross/tools.mk"
    found = re.search(r"^CROSS_COMPILE := (\S+)", tools.read_text(encoding="utf-8"), re.MULTILINE) if tools.is_file() else None
    return found[1] if found else ""


def make_bundle(folder: Path, probes: set[str], lines: list[Line], hazards: bool) -> None:
    """What a guest gets."""
    shutil.copytree(TREE / "suites", folder / "suites", ignore=lambda top, names:
                    [name for name in names if not name.endswith(".txt")])
    (folder / "bin").mkdir()
    for source, name in ((HERE / "guest-run", "run.sh"), (BUILD / "falsify/launch", "bin/launch"),
                         (BUILD / "identify", "bin/identify")):
        shutil.copy(source, folder / name)
    for probe in probes:
        area, _, name = probe.partition(".")
        for kind in ("probes", "plain", "declared"):
            (folder / "bin" / kind / area).mkdir(parents=True, exist_ok=True)
        shutil.copy(BUILD / f"declared/{area}/{name}.txt", folder / f"bin/declared/{area}/{name}.txt")
        for kind, built in (("probes", "falsify/probes"), ("plain", "probes")):
            subprocess.run([f"{prefix()}strip", "-o", folder / f"bin/{kind}/{area}/{name}", BUILD / built / area / name], check=True)
    if hazards:
        (folder / "hazards").touch()
    (folder / "mutants").write_text("".join(f"{' '.join(line)}\n" for line in lines), encoding="utf-8")


def boot(row: str, lines: list[Line], out: Path, options: argparse.Namespace) -> Path:
    """Ask a guest these lines. Returns where the answers are."""
    with tempfile.TemporaryDirectory(prefix="falsify-") as folder:
        make_bundle(Path(folder) / "bundle", {probe for _, _, probe in lines}, lines, options.hazards)
        command = [TREE / "run.sh", "kernels", row, "--bundle", f"{folder}/bundle", "--suite", "full", "--persona",
                   "root", "--no-disturb", "--no-build", "--no-install", "--cold", "--timeout", "1500", "--out", out,
                   *(["--pmu", options.pmu] if options.pmu else [])]
        done = subprocess.run(command, check=False, cwd=TREE, capture_output=True, text=True)
    if not list((out / row).glob("*/*.ktap")):
        stop(f"{row}: {(done.stderr or done.stdout).strip()[-300:]}")
    return out / row


def kernel_of(folder: Path) -> str:
    """As records name it, from the file `env` of a run."""
    facts = dict(line.split("=", 1) for line in (folder / "env").read_text(encoding="utf-8").splitlines() if "=" in line)
    return f"{'.'.join(facts['release'].split('.')[:2])}/{facts['arch']}"


def take(ledger: Ledger, folder: Path, probes: dict[str, catalogue.Probe]) -> None:
    """Note what the probes of a run said. A point that said no yes there shows nothing."""
    kernel = kernel_of(folder)
    for path in sorted(folder.glob("*/*.ktap"), key=lambda path: path.parent.name != "honest"):
        probe, fault = probes[path.stem], path.parent.name
        for name, point in verdict.judge(ktap.read(path), probe).points.items():
            key, said = f"{probe.id}.{name}", point["verdict"]
            if said == "yes" and fault == "honest":
                ledger.yes.add(key)
            elif said != "yes" and fault != "honest" and key in ledger.yes:
                ledger.note(key, Seen(said, "root", fault, kernel))
    for path in folder.glob("asked/*"):
        ledger.asked[path.name, "root"] = set(path.read_text(encoding="utf-8").split())


def mutants_of(ledger: Ledger, probe: catalogue.Probe, with_pmu: bool, globs: list[str]) -> list[str]:
    """All that can concern a probe and match a glob, the PMU's own lies first."""
    lies = pmu_lies() if with_pmu else []
    blanket = [name for name in lies if name in ledger.blanket.subjects]
    found = [name for name in lies if name not in blanket] + order(ledger.asked.get((probe.id, "root"), set()))
    return [name for name in found + blanket if not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)]


def hunt(ledger: Ledger, row: str, probes: dict[str, catalogue.Probe], out: Path, options: argparse.Namespace) -> None:
    """Boot the row until every point that says yes there has failed, or the rounds are over."""
    if options.taken:
        for folder in [options.taken / "honest" / row, *sorted(options.taken.glob(f"[0-9]*/{row}*"))]:
            take(ledger, folder, probes)
        return
    honest = boot(row, [(NATURE, "root", id) for id in probes], out / "honest", options)
    take(ledger, honest, probes)
    for number in range(options.rounds):
        lines = []
        for id, probe in probes.items():
            names = mutants_of(ledger, probe, "-pmu" in row or "-hybrid" in row or "-aux" in row, options.fault or [])
            if options.every or ledger.open(id):
                lines += [(name, "root", id) for name in names[number * options.each:(number + 1) * options.each]]
        if not lines:
            return
        print(f"{row}: round {number + 1}: {len({line[2] for line in lines})} probes, {len(lines)} mutants", flush=True)
        take(ledger, boot(row, lines, out / str(number), options), probes)


def write(ledger: Ledger, chosen: dict[str, catalogue.Probe]) -> None:
    """The records from now on. A point that says yes in the guest is no longer one that never does."""
    for id in chosen:
        lines = {}
        for point in ledger.points[id]:
            how = better(ledger, point, ledger.best[point]) if point in ledger.best else ledger.known.get(point)
            if how and not (how.fault == NOT_HERE and point in ledger.yes):
                lines[point.removeprefix(f"{id}.")] = how
        mutation.write(TREE, id, lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", help="of kernels/matrix.toml")
    parser.add_argument("--probe", action="append", help="which probes, as globs over ids (default: all)")
    parser.add_argument("--fault", action="append", help="which mutants, as globs (default: all that concern a probe)")
    parser.add_argument("--every", action="store_true", help="tell mutants also where all points have failed: who notices?")
    parser.add_argument("--each", type=int, default=A_ROUND, help="mutants that a probe meets in one boot")
    parser.add_argument("--rounds", type=int, default=4, help="boots after the first one")
    parser.add_argument("--hazards", action="store_true", help="ask probes that hang or crash some kernels, too")
    parser.add_argument("--pmu", default="", help="more arguments of the PMU's module")
    parser.add_argument("--out", type=Path, help="keep the runs here")
    parser.add_argument("--taken", type=Path, help="boot nothing: the runs that --out kept here")
    options = parser.parse_args()
    all_declared = declared()
    globs = [glob for text in options.probe or ["*"] for glob in text.split()]
    found = {id: probe for id, probe in sorted(all_declared.probes.items()) if not id.startswith("meta.")}
    chosen = {id: probe for id, probe in found.items() if any(fnmatch.fnmatchcase(id, glob) for glob in globs)}
    points = {id: [f"{id}.{item.name}" for item in probe.points()] for id, probe in found.items()}
    with tempfile.TemporaryDirectory(prefix="falsify.", dir=TREE / "build") as scratch:
        ledger = Ledger(points, mutation.read(TREE), Path(scratch), search=True)
        hunt(ledger, options.row, chosen, options.out or Path(scratch), options)
    write(ledger, chosen)
    noticed.add(ledger.noticed)
    for point in sorted(point for id in chosen for point in points[id] if point in ledger.yes):
        if ledger.worth(point) < 4 and ledger.worth(point, ledger.known.get(point)) < 4:
            print(f"no fault of its own  {point}")
    print(summary(all_declared))
    return 0


if __name__ == "__main__":
    sys.exit(main())
