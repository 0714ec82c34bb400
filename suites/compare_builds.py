#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Show that verdicts are about the kernel and not about the compiler.

Builds all probes with each compiler at each optimisation level, runs the suite as each persona with
every build, and compares. Verdicts must be the same. So must every fact, except those that already
vary between two runs of one build.

usage: suites/compare_builds.py [--suite NAME] [--keep]      (or: make compare-builds)
Exit: 0 all the same, 1 they differ, 3 could not build or run.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

TREE = Path(__file__).resolve().parents[1]
BUILDS = [(compiler, level) for compiler in ("musl-gcc", "gcc", "clang") for level in ("-O0", "-O2", "-O3")]

Answers = dict[str, object]


def stop(text: str) -> NoReturn:
    """End with status 3: 1 means that builds differ."""
    print(f"compare_builds: {text}", file=sys.stderr)
    sys.exit(3)


def chosen(suite: str) -> list[str]:
    """The probes of the suite, as paths below probes/."""
    done = subprocess.run([TREE / "run.sh", "--no-install", "--no-build", "--suite", suite, "--list"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        stop(f"{done.stderr.strip()}; run make first")
    return [line.split()[0].replace(".", "/", 1) for line in done.stdout.splitlines()]


def name_of(compiler: str, level: str) -> str:
    """The machine name that a build has as its folder."""
    return f"{platform.machine()}-{compiler}{level}"


def build(compiler: str, level: str, suite: str) -> str:
    """Build the suite's probes in a folder of their own. Returns its name."""
    name = name_of(compiler, level)
    wanted = ["launch", "identify", *(f"probes/{path}" for path in chosen(suite))]
    command = ["make", "-s", "-C", TREE, f"ARCH={name}", f"CC={compiler}", f"OPT={level}", "-j2",
               *(f"build/{name}/{path}" for path in wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        stop(f"{compiler} {level} does not build:\n{done.stderr}")
    return name


def answers(name: str, suite: str, out: Path) -> Answers:
    """One run of a build: verdict of each point and value of each fact, by persona."""
    done = subprocess.run([TREE / "run.sh", "--no-install", "--no-build", "--quiet", "--suite", suite, "--out", out],
                          env={"ARCH": name, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, check=False)
    if done.returncode not in (0, 1):
        stop(f"{name} does not run")
    return dict(_flatten(json.loads((out / "result.json").read_text())))


def _flatten(result: dict) -> Iterator[tuple[str, object]]:
    for persona, body in result["personas"].items():
        for probe, outcome in body["probes"].items():
            for point, answer in outcome["points"].items():
                yield f"{persona} {probe}.{point}", answer["verdict"]
            for fact, value in outcome["facts"].items():
                yield f"{persona} {probe}#{fact}", value


def differences(first: Answers, second: Answers) -> list[str]:
    return [key for key in sorted(first.keys() | second.keys()) if first.get(key) != second.get(key)]


def compare(suite: str, scratch: Path) -> int:
    reference_name = build(*BUILDS[1], suite)
    reference = answers(reference_name, suite, scratch / "reference")
    again = answers(reference_name, suite, scratch / "again")
    moving = {key for key in differences(reference, again) if "#" in key}
    unstable = [key for key in differences(reference, again) if "#" not in key]
    for key in unstable:
        print(f"unstable  {key}: {reference.get(key)}, then {again.get(key)}, with one build")
    bad = len(unstable)
    for compiler, level in BUILDS:
        found = answers(build(compiler, level, suite), suite, scratch / f"{compiler}{level}")
        differ = [key for key in differences(reference, found) if key not in moving]
        bad += len(differ)
        print(f"{compiler} {level}: {len(found)} answers, {len(differ)} differ")
        for key in differ:
            print(f"  {key}: {reference.get(key)} -> {found.get(key)}")
    print(f"{len(reference)} answers, {len(moving)} facts left out because they vary from run to run")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="default", help="which probes (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the builds and results in build/compare")
    options = parser.parse_args()
    scratch = TREE / "build" / "compare"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    status = compare(options.suite, scratch)
    if not options.keep:
        for path in [scratch, *(TREE / "build" / name_of(*how) for how in BUILDS)]:
            shutil.rmtree(path)
    return status


if __name__ == "__main__":
    sys.exit(main())
