#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Show that every point of the catalogue can come out other than yes.

Runs each probe with each fault that `launch --fault list` knows: a kernel that answers errors, or
answers success and does nothing. A point that says yes to every lie checks nothing. Points that
only a refused perf_event_open could shake are listed too: the blanket faults prove little.

usage: suites/falsify.py [--probe GLOB] [--markdown FILE]      (or: make falsify)
Exit: 0 every point was seen to fail, 1 some never did, 3 could not run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
BUILD = TREE / "build" / platform.machine()
SCRATCH = TREE / "build" / "falsify"

Shaken = dict[str, dict[str, str]]	# point -> fault -> verdict, where it was not yes


def faults() -> list[str]:
    done = subprocess.run([BUILD / "launch", "--fault", "list"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def run(fault: str, probe: str) -> dict:
    """The result of one run under a fault; '' is the kernel as it is."""
    out = SCRATCH / (fault or "none")
    personas = "user" if fault and os.geteuid() else "root" if fault else "root,perfmon,user"
    command = [TREE / "run.sh", "--no-install", "--no-build", "--quiet", "--out", out, "--probe", probe,
               "--persona", personas, *(["--fault", fault] if fault else [])]
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
    try:
        return json.loads((out / "result.json").read_text())
    except OSError as error:
        sys.exit(f"falsify: no result under fault '{fault}': {error}")


def verdicts(result: dict) -> Iterator[tuple[str, str]]:
    for body in result["personas"].values():
        for probe, outcome in body["probes"].items():
            for point, answer in outcome["points"].items():
                yield f"{probe}.{point}", answer["verdict"]


def shake(probe: str) -> Shaken:
    shaken: Shaken = defaultdict(dict)
    names = ["", *faults()]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, result in zip(names, pool.map(lambda fault: run(fault, probe), names)):
            for point, verdict in verdicts(result):
                shaken[point]
                if verdict != "yes":
                    shaken[point].setdefault(name or "as it is", verdict)
            print(f"falsify: {name or 'no fault'} done", file=sys.stderr)
    return shaken


def table(shaken: Shaken) -> Iterator[str]:
    yield "| point | seen as | under |"
    yield "|---|---|---|"
    for point, seen in sorted(shaken.items()):
        telling = {k: v for k, v in seen.items() if not k.startswith("open-")} or seen
        for verdict in sorted(set(telling.values())):
            yield f"| {point} | {verdict} | {', '.join(k for k, v in telling.items() if v == verdict)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", default="[!m]*", help="which probes, as a glob over ids")
    parser.add_argument("--markdown", type=Path, help="write the list of how each point failed there")
    options = parser.parse_args()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    shaken = shake(options.probe)
    never = sorted(point for point, seen in shaken.items() if not seen)
    weak = sorted(point for point, seen in shaken.items() if seen and all(k.startswith("open-") for k in seen))
    if options.markdown:
        options.markdown.write_text("\n".join(table(shaken)) + "\n")
    for point in weak:
        print(f"weak   {point}: shaken only by a refused perf_event_open")
    for point in never:
        print(f"never  {point}: said yes to every lie")
    print(f"{len(shaken)} points: {len(shaken) - len(never) - len(weak)} shaken by a telling lie, "
          f"{len(weak)} only by a refused open, {len(never)} never")
    return 1 if never else 0


if __name__ == "__main__":
    sys.exit(main())
