# SPDX-License-Identifier: MIT
"""Lets `reports result` judge a finished directory, and counts its verdicts."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernels import ROOT
from kernels.errors import Refused
from kernels.place.outcome import Outcome
from kernels.place.report import Report
from reports import complaints
from reports.text import Unusable, load_json

RECORD = "boot.json"


def runs_of(folder: Path) -> dict[str, Path]:
    """The result directories of a place: itself, or one for each level."""
    if (folder / "env").exists():
        return {"": folder}
    return {path.parent.name: path.parent for path in sorted(folder.glob("paranoid-*/env"))}


def _reported(run: Path) -> dict[str, Any]:
    """The result.json that `reports result` makes of a directory. Raises Refused with its error."""
    made = run / "result.json"
    made.unlink(missing_ok=True)  # a traceback exits with 1, too, and must not leave an old one
    argv = [sys.executable, "-m", "reports", "result", str(run), "--quiet"]
    done = subprocess.run(
        argv, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False
    )
    try:
        if done.returncode not in (0, 1):
            raise Unusable(f"exit status {done.returncode}")
        told: dict[str, Any] = load_json(made)
        return told
    except Unusable as error:
        raise Refused((done.stderr.strip() or str(error)).splitlines()[-1][:300]) from None


def judge(report: Report, folder: Path) -> None:
    """Run `reports result` on each result directory and add its counts to the report."""
    for name, run in (runs_of(folder) or {"": folder}).items():
        try:
            told = _reported(run)
        except Refused as error:
            why = report.outcome.reason and f"{report.outcome.ended}: {report.outcome.reason}; "
            report.error = f"{why}{error}"
            return
        _heard(report, told)
        # Of a job of a lab nobody here saw more than what it left.
        report.release = report.release or str(told["identity"].get("release", ""))
        report.wall = report.wall or float(told.get("seconds", 0))
        for who, counts in told["summary"].items():
            report.verdicts[f"{name} {who}".strip()] = counts
        for who, count in Counter(entry["persona"] for entry in told["unexpected"]).items():
            report.unexpected[f"{name} {who}".strip()] = count
    _overheard(report)


def _heard(report: Report, told: dict[str, Any]) -> None:
    """Add the complaints of the kernel that a result names."""
    for row in told.get("complaints", []):
        (report.faults if row["fault"] else report.late).append(complaints.told(row))


def _overheard(report: Report) -> None:
    """Add those that came on a console alone, as when the launcher could not read the log."""
    known = "\n".join([*report.faults, *report.late])
    for line in (line for guest in report.guests for line in guest.get("complaints", [])):
        one = complaints.of_message(line.partition(": ")[2])
        if one and one.message not in known:
            (report.faults if one.fault else report.late).append(line)


def _outcome(facts: dict[str, Any]) -> Outcome:
    """One run from boot.json. Raises an exception if the entry is malformed."""
    times, cpu_times = (
        {str(stage): float(at) for stage, at in facts[key].items()} for key in ("times", "cpu_times")
    )
    ended, reason, stage, start = (str(facts[key]) for key in ("ended", "reason", "stage", "start"))
    wall, cpu = float(facts["wall"]), float(facts["cpu"])
    heard = [str(line) for line in facts.get("complaints", [])]
    return Outcome(ended, reason, stage, wall, cpu, times, cpu_times, start, heard)


def _told(name: str, facts: dict[str, Any]) -> Report:
    """The report that boot.json describes. Results may come from anywhere, so nothing is
    trusted."""
    guests = [{"of": str(one["of"]), **asdict(_outcome(one))} for one in facts["guests"]]
    return Report(
        name,
        _outcome(facts),
        release=str(facts["release"]),
        attempts=int(facts["attempts"]),
        downs=[str(down) for down in facts["went_down"]],
        lost=[str(what) for what in facts["unanswered"]],
        guests=guests,
        wall=float(facts["total_wall"]),
        cpu=float(facts["total_cpu"]),
        resumed=True,
    )


def recorded(results: Path, name: str) -> Report | None:
    """The report that an earlier run left; None without one, or if it is damaged."""
    try:
        return _told(name, load_json(results / name / RECORD))
    except (Unusable, OSError, ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return None


def resumable(results: Path, name: str, whole: bool = False) -> Report | None:
    """The report of a place that an earlier run has finished; None if it must run again. With `whole`
    only one that answered everything has finished."""
    report = recorded(results, name)
    if report is None or report.outcome.infra or report.outcome.ended == "interrupted":
        return None
    if not runs_of(results / name):     # whose env is lost; nothing else says which kernel answered
        return None
    if whole and (report.outcome.ended != "done" or report.lost):
        return None
    try:
        judge(report, results / name)
    except (Unusable, OSError, ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return None
    return report
