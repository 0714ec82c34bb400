#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs benchmarks and tells medians, spreads and ratios.

    bench.py [--json DIR] [--rounds N] PROGRAM...

Each program prints measurements (see bench.h); a subject is compared with `perfmodes` round by
round, which is fair where the machine changes its speed. A PROGRAM may have arguments in its word.
DIR gets a file for each program and run.json, all of it, which table.py makes tables of. Nothing
here passes or fails: times are for people to look at. Exit: 0, or 2 when a program could not run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

OURS = "perfmodes"
Cases = dict[str, dict[str, list[float]]]


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def short(value: float) -> str:
    """Three digits, without an exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def parse(text: str, cases: Cases, units: dict[str, str]) -> None:
    """Adds the measurements of one program's output."""
    for line in text.splitlines():
        case, subject, unit, value = line.split("\t")
        cases.setdefault(case, {}).setdefault(subject, []).append(float(value))
        units[case] = unit


def ratios(ours: list[float], theirs: list[float]) -> list[float]:
    return [a / b for a, b in zip(ours, theirs) if b > 0]


def summarise(cases: Cases, units: dict[str, str]) -> list[dict[str, Any]]:
    """One row a case and subject."""
    rows: list[dict[str, Any]] = []
    for case, subjects in cases.items():
        for subject, values in subjects.items():
            low, middle, high = quartiles(values)
            row: dict[str, Any] = {
                "case": case, "subject": subject, "unit": units[case], "rounds": len(values),
                "median": middle, "quartiles": [low, high], "least": min(values),
                "most": max(values)}
            paired = ratios(subjects.get(OURS, []), values)
            if subject != OURS and paired:
                low, middle, high = quartiles(paired)
                row["ratio"] = middle
                row["ratio_quartiles"] = [low, high]
                row["ratio_least"], row["ratio_most"] = min(paired), max(paired)
            rows.append(row)
    return rows


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = ["| case | subject | median | quartiles | unit | perfmodes / subject (least-most) |",
             "|---|---|---:|---|---|---|"]
    for row in rows:
        low, high = row["quartiles"]
        ratio = ""
        if "ratio" in row:
            least, most = row["ratio_least"], row["ratio_most"]
            ratio = f"**{short(row['ratio'])}** ({short(least)}-{short(most)})"
        lines.append(f"| {row['case']} | {row['subject']} | {short(row['median'])} | "
                     f"{short(low)}-{short(high)} | {row['unit']} | {ratio} |")
    return "\n".join(lines)


def first_line(path: str, start: str) -> str:
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(start):
                return line.split(":", 1)[-1].strip()
    except OSError:
        pass
    return "unknown"


def machine() -> dict[str, object]:
    return {"kernel": platform.release(), "machine": platform.machine(),
            "cpu": first_line("/proc/cpuinfo", "model name"), "cpus": os.cpu_count(),
            "perf_event_paranoid": first_line("/proc/sys/kernel/perf_event_paranoid", ""),
            "load": round(os.getloadavg()[0], 2)}


def run(program: str, rounds: int | None) -> str:
    command = program.split() + ([str(rounds)] if rounds else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        print(f"{program}: {problem}", file=sys.stderr)
        raise SystemExit(2) from problem
    if done.returncode != 0:
        print(f"{program}: exit {done.returncode}: {done.stderr.strip()}", file=sys.stderr)
        raise SystemExit(2)
    if done.stderr:
        print(done.stderr.strip(), file=sys.stderr)
    return done.stdout


def measure(programs: list[str], rounds: int | None) -> dict[str, Any]:
    """What run.json holds: the machine, the rows, and of each program the load it met."""
    rows: list[dict[str, Any]] = []
    loads: dict[str, list[float]] = {}
    here = machine()
    for program in programs:
        cases: Cases = {}
        units: dict[str, str] = {}
        before = os.getloadavg()[0]
        parse(run(program, rounds), cases, units)
        name = Path(program.split()[0]).stem
        loads[name] = [round(before, 2), round(os.getloadavg()[0], 2)]
        rows += [{"program": name, **row} for row in summarise(cases, units)]
    return {"machine": here, "load": loads, "rows": rows}


def write(directory: Path, result: dict[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, load in result["load"].items():
        part = {"machine": result["machine"], "load": {name: load},
                "rows": [row for row in result["rows"] if row["program"] == name]}
        (directory / f"{name}.json").write_text(json.dumps(part, indent=1) + "\n",
                                                encoding="utf-8")
    (directory / "run.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", type=Path, help="the directory that gets all of it, too")
    arguments.add_argument("--rounds", type=int)
    arguments.add_argument("programs", nargs="+")
    given = arguments.parse_args()
    result = measure(given.programs, given.rounds)
    print("; ".join(f"{key} {value}" for key, value in result["machine"].items()),
          markdown(result["rows"]), sep="\n\n")
    if given.json:
        write(given.json, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
