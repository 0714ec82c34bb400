#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What perfmodes-sampler costs beside `perf record -a`: at the same rate, turn by turn, in pairs.

    lib/bench/sampler.py [--rounds N] [--seconds S] [--period NS] [--no-readers] [--json DIR]

Of each, while two processes are busy: CPU time for a sample that was taken, peak resident memory,
and the part of the samples that was lost. CPU time is of the whole run, start and end with it. perf
record only stores what it reads; perf script or perf report then unwinds and names, which the
service does while it runs, so both sums are shown. A ratio is of two programs of one round; who
goes first changes from round to round. Nothing is judged.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench

TREE = Path(__file__).resolve().parents[2]
PROGRAM = TREE / "build" / os.environ.get("ARCH", platform.machine()) / "perfmodes-sampler"
WORKLOAD = TREE / "build" / "test" / "sampler" / "workload"
PERF = "perf"
STACK_BYTES = 4096
READERS = {"perf script": [PERF, "script", "--no-inline"],
           "perf report": [PERF, "report", "--stdio", "--no-inline"]}
UNITS = {"us a sample": "CPU time", "MB": "peak memory", "% lost": "samples lost"}


@dataclass
class Cost:
    """Of one program in one round."""

    cpu_s: float
    rss_kb: int
    samples: int
    lost: int

    def figures(self) -> dict[str, float]:
        """By unit."""
        seen = max(self.samples, 1)
        return {"us a sample": self.cpu_s * 1e6 / seen, "MB": self.rss_kb / 1024,
                "% lost": 100 * self.lost / (seen + self.lost)}


def spent(command: list[str], folder: Path) -> tuple[float, int, str]:
    """Runs a program, which ends by itself: CPU seconds, RSS, what it said."""
    said = folder / "said"
    with said.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss, said.read_text(encoding="utf-8")


def service(folder: Path, stacks: str, period: int, seconds: float) -> Cost:
    source = {"name": "cpu", "event": "cpu-clock", "period": period, "stacks": stacks,
              "stack_bytes": STACK_BYTES, "ring_pages": 1024, "targets": ["any"]}
    config = {"sources": [source], "report": str(folder / "report"),
              "duration_ms": int(seconds * 1000),
              "queue_bytes": 64 << 20, "queue_records": 65536,
              "outputs": [{"format": "perfetto", "path": str(folder / "trace")}]}
    (folder / "config").write_text(json.dumps(config), encoding="ascii")
    cpu, rss, _ = spent([str(PROGRAM), str(folder / "config")], folder)
    lines = (folder / "report").read_text(encoding="utf-8").splitlines()
    told = next(line for line in map(json.loads, lines)
                if line["event"] == "summary of a source")
    return Cost(cpu, rss, told["samples"], told["lost"] + told["dropped"])


def lost_of(data: Path) -> int:
    """What rings told, or what the events told at the end (PERF_FORMAT_LOST, v6.0; perf 6.1): the
    rings' is short of what was lost last. A line with a part in % counts records, not samples."""

    def said(*command: str) -> str:
        return subprocess.run([PERF, *command, "-i", str(data)], capture_output=True, text=True,
                              check=False).stdout

    rings = said("script", "--show-lost-events", "-F", "tid")
    events = said("report", "--stats")
    return max(sum(map(int, re.findall(r"PERF_RECORD_LOST lost (\d+)", rings))),
               sum(map(int, re.findall(r"LOST_SAMPLES events:\s+(\d+)$", events, re.MULTILINE))))


def perf(folder: Path, stacks: str, period: int, seconds: float) -> Cost:
    graph = [f"--call-graph=dwarf,{STACK_BYTES}"] if stacks == "dwarf" else []
    command = [PERF, "record", "-a", "-e", "cpu-clock", "-c", str(period), "-m", "1024",
               *graph, "-o", str(folder / "perf.data"), "sleep", str(seconds)]
    cpu, rss, said = spent(command, folder)
    samples = re.search(r"\((\d+) samples\)", said)
    if not samples:
        sys.exit(f"perf record has no samples: {said.strip()}")
    return Cost(cpu, rss, int(samples.group(1)), lost_of(folder / "perf.data"))


def with_reader(folder: Path, recorded: Cost, reader: list[str]) -> Cost:
    """perf record, and unwinding and naming what it stored."""
    output = folder / "read"
    with output.open("wb") as out:
        process = subprocess.Popen([*reader, "-i", str(folder / "perf.data")], stdout=out,
                                   stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return Cost(recorded.cpu_s + usage.ru_utime + usage.ru_stime,
                max(recorded.rss_kb, usage.ru_maxrss), recorded.samples, recorded.lost)


def one_pair(folder: Path, stacks: str, options: argparse.Namespace, we_first: bool,
             ) -> dict[str, Cost]:
    costs = {}
    for who in (service, perf) if we_first else (perf, service):
        name = bench.OURS if who is service else "perf record -a"
        costs[name] = who(folder, stacks, options.period, options.seconds)
    if stacks == "dwarf" and not options.no_readers:
        for reader, command in READERS.items():
            costs[f"perf record -a, {reader}"] = with_reader(
                folder, costs["perf record -a"], command)
    return costs


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows as those of bench.py."""
    cases: bench.Cases = {}
    units: dict[str, str] = {}
    for number in range(options.rounds):
        for stacks, title in (("none", "no stacks"), ("dwarf", "stacks copied")):
            with tempfile.TemporaryDirectory() as name:
                costs = one_pair(Path(name), stacks, options, number % 2 == 0)
            for subject, cost in costs.items():
                for unit, value in cost.figures().items():
                    case = f"whole system, {title}, {UNITS[unit]}"
                    cases.setdefault(case, {}).setdefault(subject, []).append(value)
                    units[case] = unit
        print(f"round {number + 1} of {options.rounds}, load {os.getloadavg()[0]:.1f}",
              file=sys.stderr)
    return bench.summarise(cases, units)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--no-readers", action="store_true",
                        help="leave perf script and perf report out")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--period", type=int, default=1_000_000, help="ns of CPU time")
    parser.add_argument("--json", type=Path, help="folder that gets sampler.json")
    options = parser.parse_args()
    for program in (PROGRAM, WORKLOAD):
        if not program.exists():
            sys.exit(f"not built: make {program.relative_to(TREE)}")
    if not shutil.which(PERF):
        sys.exit("no perf: apt-get install linux-perf")
    before = bench.machine()
    busy = [subprocess.Popen([str(WORKLOAD), "spin", "600000"], stdout=subprocess.DEVNULL)
            for _ in range(2)]
    try:
        rows = measure(options)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(bench.markdown(rows))
    print(f"\nload {before['load']} before, {os.getloadavg()[0]:.2f} after")
    if options.json:
        options.json.mkdir(parents=True, exist_ok=True)
        told = {"machine": before, "rows": rows}
        (options.json / "sampler.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
