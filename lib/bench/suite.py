#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the default suite and the doctor take, beside as many programs that do nothing.

    suite.py [--guest NAME] NOTHING [ROUNDS]

NOTHING is a static program that does nothing. Prints measurements as bench.h has it. The suite
runs as the personas that the caller may take, root's as a rule; --guest runs it in that kernel of
the matrix besides, once, with a bundle that is there.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 900


def say(case: str, subject: str, unit: str, value: float) -> None:
    print(f"{case}\t{subject}\t{unit}\t{value:.6g}", flush=True)


def children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(case: str, subject: str, work: Callable[[], None]) -> None:
    cpu, wall = children(), time.monotonic()
    work()
    say(f"{case}, wall time", subject, "s", time.monotonic() - wall)
    say(f"{case}, CPU time", subject, "s", children() - cpu)


def call(*command: str) -> None:
    """Verdicts are none of ours: 1 is an answer, too."""
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT, check=False)
    if done.returncode > 1:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")


def start_each(nothing: str, count: int) -> None:
    """One after another, as the peer of `count` probe runs."""
    for _ in range(count):
        os.waitpid(os.posix_spawn(nothing, [nothing], {}), 0)


def count_runs(out: Path) -> int:
    return sum(1 for _ in out.glob("*/*.ktap"))


def measure_suite(nothing: str) -> None:
    with tempfile.TemporaryDirectory(prefix="perfmodes-bench-") as place:
        out = Path(place, "out")
        measure("default suite", "perfmodes", lambda: call(
            "./run.sh", "--no-install", "--no-build", "--quiet", "--out", str(out)))
        runs, personas = count_runs(out), sum(1 for each in out.iterdir() if each.is_dir())
    measure("default suite", "as many programs that do nothing",
            lambda: start_each(nothing, runs))
    say("default suite, personas", "perfmodes", "personas", personas)
    say("default suite, probe runs", "perfmodes", "runs", runs)


def measure_guest(name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="perfmodes-bench-") as place:
        measure(f"default suite in a guest, {name}", "perfmodes", lambda: call(
            "./run.sh", "kernels", name, "--no-build", "--suite", "default",
            "--out", str(Path(place, "out"))))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("nothing", help="a static program that does nothing")
    arguments.add_argument("rounds", type=int, nargs="?", default=3)
    arguments.add_argument("--guest", help="a kernel of the matrix")
    given = arguments.parse_args()
    for _ in range(given.rounds):
        measure_suite(given.nothing)
        measure("doctor", "perfmodes", lambda: call("./run.sh", "doctor"))
    if given.guest:
        measure_guest(given.guest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
