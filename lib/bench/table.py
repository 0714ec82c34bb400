#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts the numbers of one run of `make bench` into READMEs, and finds READMEs that say others.

    table.py [--take RUN] [--write]

RUN (build/bench/run.json) is shortened and kept as lib/bench/measured.json, which is committed, in
place of what the same programs measured before; everything between the lines `<!-- bench NAME -->`
and `<!-- /bench -->` of a README is made of that. Without --write no README is changed.
Exit: 0, 1 when a README says something else, 2 without a run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from bench import OURS, short

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "lib/bench/measured.json"
READMES = (ROOT / "README.md", ROOT / "lib/bench/README.md")
BLOCK = re.compile(r"(<!-- bench (\w+) -->\n).*?(?=<!-- /bench -->)", re.DOTALL)
KEPT = ("program", "case", "subject", "unit", "rounds", "median", "least", "most", "ratio",
        "ratio_least", "ratio_most")

# What the table shows: a pattern of cases, and one of the subjects that stand beside ours, if any.
SHOWN = [row.split("; ") if "; " in row else [row, ""] for row in r"""
read a ring; libperf
decode, deliver; libperf
live, CPU time of the reader; perf record
attach, CPU time, .* x 1 events; system calls, (enabled at open|and a thread.*)
attach, wall time, .* x 1 events; system calls, enabled at open
attach again, (CPU|wall) time, .* x 1 events; system calls, enabled at open
make a plan, CPU time, .*; .*
read a (counter, page-faults|group.*); read\(2\), (value and times|same group)|PAPI.*
know .* facts.*; 63 attr bits asked of the kernel|jansson.*
stop, .*; perf record.*
reader after its leader's end; .*
default suite, (wall|CPU) time; .*
default suite in a guest.*
doctor, wall time
""".split("\n")[1:-1]]

Run = dict[str, Any]
Row = dict[str, Any]


def find(run: Run, case: str, subject: str) -> list[Row]:
    return [row for row in run["rows"] if re.fullmatch(case, row["case"])
            and re.match(subject, row["subject"])]


def ratio(value: float) -> str:
    if value < 0.01:
        return "<0.01"
    return f"{value:.2f}" if value < 100 else short(value)


def line(ours: Row, other: Row | None) -> str:
    """A row of the table; ours alone where nothing stands beside it."""
    start = f"| {ours['case']} | {short(ours['median'])} {ours['unit']} | "
    if other is None or "ratio" not in other:
        return start + f"| {ours['rounds']} rounds, {short(ours['least'])}-{short(ours['most'])} |"
    return start + (f"{other['subject']}: {short(other['median'])} | "
                    f"**{ratio(other['ratio'])}** "
                    f"({ratio(other['ratio_least'])}-{ratio(other['ratio_most'])}) |")


def where(run: Run) -> str:
    here = run["machine"]
    loads = [load for pair in run["load"].values() for load in pair]
    return (f"Linux {here['kernel']}, {here['cpu']}, {here['cpus']} CPUs, load "
            f"{min(loads):g}-{max(loads):g} while it was measured.")


def render_table(run: Run) -> str:
    lines = [where(run), "", "| what | perfmodes | beside it | median ratio (least-most) |",
             "|---|---|---|---|"]
    for case, subjects in SHOWN:
        for ours in find(run, case, f"{OURS}$"):
            others = [row for row in find(run, re.escape(ours["case"]), subjects)
                      if subjects and row["subject"] != OURS]
            lines += [line(ours, other) for other in others or [None]]
    return "\n".join(lines) + "\n"


def render_suite(run: Run) -> str:
    """The sentence in the front README."""
    suite = find(run, "default suite, wall time", OURS)
    doctor = find(run, "doctor, wall time", OURS)
    personas = find(run, "default suite, personas", OURS)
    if not (suite and doctor and personas):
        return ""
    return (f"On {run['machine']['cpus']} CPUs a run as {short(personas[0]['median'])} personas "
            f"takes {short(round(suite[0]['median'], 1))} seconds,\n"
            f"the doctor {short(round(doctor[0]['median'], 1))}.\n")


RENDER = {"table": render_table, "suite": render_suite}


def renew(text: str, run: Run) -> str:
    return BLOCK.sub(lambda found: found.group(1) + RENDER[found.group(2)](run), text)


def shorten(row: Row) -> Row:
    return {key: float(f"{row[key]:.4g}") if isinstance(row[key], float) else row[key]
            for key in KEPT if key in row}


def of_others(run: Run) -> Run:
    """What was measured before, on the same machine, by programs that did not run again."""
    empty: Run = {"load": {}, "rows": []}
    if not MEASURED.exists():
        return empty
    before: Run = json.loads(MEASURED.read_text(encoding="utf-8"))
    if any(before["machine"][key] != run["machine"][key] for key in ("kernel", "cpu", "cpus")):
        return empty
    return {"load": {name: load for name, load in before["load"].items()
                     if name not in run["load"]},
            "rows": [row for row in before["rows"] if row["program"] not in run["load"]]}


def take(path: Path) -> None:
    run = json.loads(path.read_text(encoding="utf-8"))
    others = of_others(run)
    load = {**others["load"], **run["load"]}
    rows = others["rows"] + [shorten(row) for row in run["rows"]]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    MEASURED.write_text(f'{{"machine": {json.dumps(run["machine"])},\n "load": '
                        f'{json.dumps(load)},\n "rows": [\n{lines}\n ]}}\n', encoding="utf-8")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--take", type=Path, help="a run that becomes the measured one")
    arguments.add_argument("--write", action="store_true", help="change the READMEs")
    given = arguments.parse_args()
    try:
        if given.take:
            take(given.take)
        run = json.loads(MEASURED.read_text(encoding="utf-8"))
    except OSError as problem:
        print(f"table.py: {problem}; first run make bench", file=sys.stderr)
        return 2
    stale = 0
    for path in READMES:
        text = path.read_text(encoding="utf-8")
        renewed = renew(text, run)
        if renewed == text:
            continue
        if given.write:
            path.write_text(renewed, encoding="utf-8")
        else:
            print(f"{path.relative_to(ROOT)}: other numbers than lib/bench/measured.json: "
                  "make bench-table", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
