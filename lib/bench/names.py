#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether perfmodes-sampler names the functions that perf names, and gives them the same shares.

    lib/bench/names.py [--seconds S] [--frequency HZ] [--json FILE] [LOAD...]

Both watch the same process at the same time, at one frequency, with copied stacks of one size. Of
each load: how much of the shares of perf's top twenty functions is also ours, by themselves
("self": the function that ran) and with what they called ("total": all of the stack); the part of
the samples whose function has a name; CPU time, peak memory, losses. For perf these are the sums
of perf record and perf script. Functions that a compiler put into others are told apart in the
loads that are called so. A second perf record watches, too: more than two that are the same agree
cannot be asked for. Nothing is judged. Exit: 0, or 1 when a load could not be measured.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loads
import sampler

STACK_BYTES = 16384
TOP = 20
UNKNOWN = "[unknown]"
OF_A_COMPILER = re.compile(r"::h[0-9a-f]{16}$|@@?[A-Z].*$|\+0x[0-9a-f]+$| ?\[clone .*$|"
                           r"\.(isra|part|constprop|cold)\b.*$")
CXX = re.compile(r"^[^./]*(::|<|\w\()")  # and Rust's; not Go's "sort.(*IntSlice).Less"


@dataclass
class Seen:
    """What one of the two tells of a load."""

    selves: Counter[str]
    totals: Counter[str]
    samples: int
    cpu_s: float
    rss_kb: int
    lost: int

    def named(self) -> float:
        return 1 - self.selves[UNKNOWN] / max(self.selves.total(), 1)

    def cost(self) -> dict[str, float]:
        return {"samples": self.samples, "cpu_s": self.cpu_s, "rss_kb": self.rss_kb,
                "lost": self.lost}


def plain(name: str) -> str:
    """A name without what the two write in ways of their own: which of a function's aliases, the
    versions and clones, arguments, Rust's hashes."""
    name = name.removesuffix(" (inlined)")
    if name.startswith("["):
        return UNKNOWN
    name = OF_A_COMPILER.sub("", name)
    name = re.sub(r"^(_+|GI_+|libc_+)+", "", name)
    name = name.replace("operator ", "operator_")
    if not CXX.search(name):
        return name
    depth, kept = 0, []
    name = name.replace("(anonymous namespace)", "").replace("operator()", "operator_call")
    for character in name:
        depth += character in "(<"
        if depth == 0:
            kept.append(character)
        depth -= character in ")>" and depth > 0
    return "".join(kept).removesuffix(" const").rsplit(" ", 1)[-1] or name


def count(stacks: Iterator[tuple[list[str], int]]) -> tuple[Counter[str], Counter[str]]:
    """Of stacks whose first is the innermost."""
    selves: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for frames, weight in stacks:
        names = [plain(frame) for frame in frames]
        selves[names[0]] += weight
        totals.update({name: weight for name in set(names)})
    return selves, totals


def folded(path: Path) -> Iterator[tuple[list[str], int]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        stack, _, weight = line.rpartition(" ")
        yield stack.split(";")[:0:-1] or [UNKNOWN], int(weight)


def scripted(lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    frames: list[str] = []
    for line in itertools.chain(map(str.strip, lines), [""]):
        if line:
            frames.append(line.partition(" ")[2])
        elif frames:
            yield frames, 1
            frames = []


class Both:
    """perf record and perfmodes-sampler, which watch one process at a time."""

    def __init__(self, folder: Path, options: argparse.Namespace, *, inlines: bool) -> None:
        self.folder, self.options, self.inlines = folder, options, inlines

    def configuration(self, pid: int) -> Path:
        seconds = self.options.seconds
        config = {
            "sources": [{"name": "cpu", "event": "cpu-clock:u", "stacks": "dwarf",
                         "frequency": self.options.frequency, "stack_bytes": STACK_BYTES,
                         "targets": [f"pid:{pid}"]}],
            "report": str(self.folder / "report"), "duration_ms": int(seconds * 1000),
            "inlined": self.inlines,
            "outputs": [{"format": "folded", "path": str(self.folder / "folded")}]}
        path = self.folder / "config"
        path.write_text(json.dumps(config), encoding="ascii")
        return path

    def recording(self, pid: int, name: str) -> list[str]:
        options = self.options
        return [sampler.PERF, "record", "-q", "-e", "cpu-clock:u", "-F", str(options.frequency),
                "--call-graph", f"dwarf,{STACK_BYTES}", "-m", "2048", "-p", str(pid),
                "-o", str(self.folder / name), "sleep", str(options.seconds)]

    def run(self, pid: int) -> tuple[Seen, Seen, Seen]:
        """What perfmodes-sampler, perf record and another perf record see."""
        commands = [[str(sampler.PROGRAM), str(self.configuration(pid))],
                    self.recording(pid, "perf.data"), self.recording(pid, "again.data")]
        with (self.folder / "said").open("wb") as said:
            running = [subprocess.Popen(command, stdout=said, stderr=said) for command in commands]
            usages = [os.wait4(process.pid, 0)[1:] for process in running]
        for process, (status, _) in zip(running, usages):
            process.returncode = os.waitstatus_to_exitcode(status)
        if any(process.returncode for process in running):
            words = (self.folder / "said").read_text(encoding="utf-8", errors="replace")
            raise OSError(" ".join(words.split())[-300:])
        return (self.ours(usages[0][1]), self.perf("perf.data", usages[1][1]),
                self.perf("again.data", usages[2][1]))

    def ours(self, usage: resource.struct_rusage) -> Seen:
        lines = (self.folder / "report").read_text(encoding="utf-8").splitlines()
        told = next(line for line in map(json.loads, lines)
                    if line["event"] == "summary of a source")
        return Seen(*count(folded(self.folder / "folded")), told["samples"],
                    usage.ru_utime + usage.ru_stime, usage.ru_maxrss,
                    told["lost"] + told["dropped"])

    def perf(self, name: str, usage: resource.struct_rusage) -> Seen:
        data, script = self.folder / name, self.folder / "script"
        read = [sampler.PERF, "script", "-i", str(data), "-F", "ip,sym"]
        with script.open("wb") as out:
            process = subprocess.Popen(read if self.inlines else [*read, "--no-inline"],
                                       stdout=out, stderr=subprocess.DEVNULL)
            _, status, later = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        with script.open(encoding="utf-8", errors="replace") as lines:
            selves, totals = count(scripted(lines))
        return Seen(selves, totals, selves.total(),
                    sum((usage.ru_utime, usage.ru_stime, later.ru_utime, later.ru_stime)),
                    max(usage.ru_maxrss, later.ru_maxrss), sampler.lost_of(data))


Shares = dict[str, float]


def shares(counted: Counter[str], seen: Seen) -> Shares:
    """Of all of the samples."""
    samples = max(seen.selves.total(), 1)
    return {name: weight / samples for name, weight in counted.items()}


def overlap(ours: Shares, theirs: Shares) -> float:
    """The part of the shares of their first twenty named functions that is ours, too."""
    top = sorted((name for name in theirs if name != UNKNOWN), key=lambda name: -theirs[name])[:TOP]
    held = sum(theirs[name] for name in top)
    return sum(min(ours.get(name, 0), theirs[name]) for name in top) / held if held else math.nan


def differing(ours: Shares, theirs: Shares) -> list[str]:
    """The names whose shares differ most, with both."""
    share = {name: (ours.get(name, 0), theirs.get(name, 0)) for name in {*ours, *theirs}}
    worst = sorted(share, key=lambda name: -abs(share[name][0] - share[name][1]))[:5]
    return [f"{name} {100 * share[name][0]:.1f} / {100 * share[name][1]:.1f} %" for name in worst]


@contextmanager
def running(load: loads.Load, command: list[str], folder: Path) -> Iterator[int]:
    """Gives the process to watch: the one that was started, or the last one below it. All end."""
    process = subprocess.Popen(command, cwd=folder, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(2)
        pid = process.pid
        while load.below:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
            if not children:
                break
            pid = int(children[0])
        if load.tell_names:
            loads.run(*(word.format(pid=pid) for word in load.tell_names))
        yield pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def measure(load: loads.Load, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="perfmodes-names.", dir="/var/tmp") as name:
        folder = Path(name)
        command = load.prepare(folder, options.seconds + 60)
        with running(load, command, folder) as pid:
            ours, theirs, again = Both(folder, options, inlines=load.inlines).run(pid)
    told: dict[str, Any] = {"load": load.name, "named": [ours.named(), theirs.named()],
                            "ours": ours.cost(), "perf": theirs.cost()}
    for kind in ("selves", "totals"):
        us, them, control = (shares(getattr(seen, kind), seen) for seen in (ours, theirs, again))
        told[kind] = {"ours": overlap(us, them), "perf": overlap(control, them),
                      "differ": differing(us, them)}
    return told


def row(told: dict[str, Any]) -> str:
    ours, perf = told["ours"], told["perf"]
    return (f"| {told['load']} | {ours['samples']} / {perf['samples']} |"
            f" {told['selves']['ours']:.3f} / {told['selves']['perf']:.3f} |"
            f" {told['totals']['ours']:.3f} / {told['totals']['perf']:.3f} |"
            f" {100 * told['named'][0]:.1f} / {100 * told['named'][1]:.1f} |"
            f" {ours['cpu_s']:.1f} / {perf['cpu_s']:.1f} |"
            f" {ours['rss_kb'] / 1024:.0f} / {perf['rss_kb'] / 1024:.0f} |"
            f" {ours['lost']} / {perf['lost']} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--frequency", type=int, default=499, help="samples a second of CPU time")
    parser.add_argument("--json", type=Path, help="file that gets all of it")
    parser.add_argument("load", nargs="*", help=", ".join(load.name for load in loads.LOADS))
    options = parser.parse_args()
    if not sampler.PROGRAM.exists():
        sys.exit(f"not built: make {sampler.PROGRAM.relative_to(sampler.TREE)}")
    if not shutil.which(sampler.PERF):
        sys.exit("no perf: apt-get install linux-perf")
    chosen = [load for load in loads.LOADS if not options.load or load.name in options.load]
    if len(chosen) < len(options.load):
        parser.error(f"no such load; there are {', '.join(load.name for load in loads.LOADS)}")
    print("Each: perfmodes-sampler / perf; of the top 20: ours and perf's / perf's and perf's\n")
    print("| load | samples | top 20, self | top 20, total | named, % | CPU, s | MB | lost |")
    print("|---|---|---|---|---|---|---|---|")
    results, failed = [], 0
    for load in chosen:
        lacking = [need for need in load.needs if not shutil.which(need)]
        if lacking:
            print(f"| {load.name} | not measured: no {', '.join(lacking)} |", flush=True)
            continue
        try:
            told = measure(load, options)
        except (OSError, StopIteration, subprocess.CalledProcessError) as error:
            print(f"| {load.name} | not measured: {error} |", flush=True)
            failed = 1
            continue
        results.append(told)
        print(row(told), flush=True)
        for kind in ("selves", "totals"):
            print(f"{load.name}, {kind}, ours / perf's: {'; '.join(told[kind]['differ'])}",
                  file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
