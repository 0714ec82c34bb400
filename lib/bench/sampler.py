#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What perfmodes-sampler costs beside `perf record -a`: at the same rate, turn by turn, in one run.

    lib/bench/sampler.py [--rounds N] [--seconds S] [--period NS]

Of each: CPU time for a sample that was taken, resident memory, and how many of the samples that two
busy processes must cause came. perf record only stores what it reads; perf script then unwinds and
names, which the service does while it runs. Nothing is judged; ratios are of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
PROGRAM = TREE / "build" / os.environ.get("ARCH", platform.machine()) / "perfmodes-sampler"
WORKLOAD = TREE / "build" / "test" / "sampler" / "workload"
STACK_BYTES = 4096


@dataclass
class Cost:
    """Of one program in one round."""

    cpu_s: float
    rss_kb: int
    samples: int
    lost: int


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


def perf(folder: Path, stacks: str, period: int, seconds: float) -> Cost:
    graph = [f"--call-graph=dwarf,{STACK_BYTES}"] if stacks == "dwarf" else []
    command = ["perf", "record", "-a", "-e", "cpu-clock", "-c", str(period), "-m", "1024",
               *graph, "-o", str(folder / "perf.data"), "sleep", str(seconds)]
    cpu, rss, said = spent(command, folder)
    samples = re.search(r"\((\d+) samples\)", said)
    stats = subprocess.run(["perf", "report", "--stats", "-i", str(folder / "perf.data")],
                           capture_output=True, text=True, check=False).stdout
    lost = re.search(r"LOST_SAMPLES events:\s+(\d+)", stats)
    return Cost(cpu, rss, int(samples.group(1)) if samples else 0,
                int(lost.group(1)) if lost else 0)


def script(folder: Path, recorded: Cost) -> Cost:
    """perf record, and unwinding what it stored."""
    before = os.times()
    with open(os.devnull, "wb") as nowhere:
        subprocess.run(["perf", "script", "--no-inline", "-i", str(folder / "perf.data")],
                       stdout=nowhere, stderr=nowhere, check=False)
    after = os.times()
    cpu = (after.children_user - before.children_user +
           after.children_system - before.children_system)
    return Cost(recorded.cpu_s + cpu, recorded.rss_kb, recorded.samples, recorded.lost)


def one_round(period: int, seconds: float, with_script: bool) -> dict[str, Cost]:
    costs = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for stacks in ("none", "dwarf"):
            costs[f"perfmodes-sampler, {stacks}"] = service(folder, stacks, period, seconds)
            costs[f"perf record -a, {stacks}"] = perf(folder, stacks, period, seconds)
        if with_script:
            costs["perf record -a, dwarf, and perf script"] = script(
                folder, costs["perf record -a, dwarf"])
    return costs


def show(rounds: list[dict[str, Cost]]) -> None:
    print(f"{'':40} {'us/sample':>10} {'RSS, MB':>8} {'samples':>8} {'lost':>6}")
    for name in rounds[0]:
        costs = [costs[name] for costs in rounds]
        each = statistics.median(cost.cpu_s * 1e6 / max(cost.samples, 1) for cost in costs)
        print(f"{name:40} {each:10.1f} {statistics.median(c.rss_kb for c in costs) / 1024:8.1f} "
              f"{statistics.median(c.samples for c in costs):8.0f} "
              f"{sum(c.lost for c in costs):6}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-script", action="store_true", help="leave perf script out")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--period", type=int, default=1_000_000, help="ns of CPU time")
    options = parser.parse_args()
    for program in (PROGRAM, WORKLOAD):
        if not program.exists():
            sys.exit(f"not built: make {program.relative_to(TREE)}")
    busy = [subprocess.Popen([str(WORKLOAD), "spin", "600000"], stdout=subprocess.DEVNULL)
            for _ in range(2)]
    try:
        show([one_round(options.period, options.seconds, not options.no_script)
              for _ in range(options.rounds)])
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
