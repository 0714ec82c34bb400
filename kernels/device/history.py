# SPDX-License-Identifier: MIT
"""What became of each device, run after run: a file each, below ~/.local/state/perfmodes/history."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from kernels.device.inventory import Device
from kernels.place.claim import state_folder
from kernels.place.judge import RECORD
from kernels.place.report import Report
from reports import text
from reports.text import Unusable, load_json

KEPT = 1000  # runs of a device
LONG = 1 << 20  # bytes of a file that is made shorter


@dataclass(frozen=True)
class Run:
    """One run at a device. `heat` is the most, in degrees Celsius; -1000 where none is known."""

    name: str
    at: float
    ended: str
    reason: str = ""
    release: str = ""
    wall: float = 0.0
    attempts: int = 0
    status: int = 0
    heat: int = -1000
    lost: int = 0

    @property
    def well(self) -> bool:
        return self.ended == "done"


def file_of(device: Device) -> Path:
    """Another device of the same name has another file."""
    key = f"{device.name} {device.transport}:{device.address}"
    return state_folder() / "history" / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.jsonl"


def add(device: Device, report: Report, results: Path) -> None:
    """Note how a run ended, unless nothing was asked of the device. A note that cannot be made ends nothing."""
    if report.resumed or report.unavailable or report.declined:
        return
    told = _told(results / device.name)
    heats = told.get("heat_c")
    ended = "no result" if report.error else report.outcome.ended
    run = Run(
        device.name, round(time.time(), 1), ended, text.clean(report.error or report.outcome.reason, 300),
        text.clean(report.release, 80), report.wall, report.attempts, report.status,
        max((heat for heat in heats if isinstance(heat, int)), default=-1000) if isinstance(heats, list) else -1000,
        lost if isinstance(lost := told.get("link_lost", 0), int) else 0,
    )  # fmt: skip
    path = file_of(device)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "a") as file:
            file.write(json.dumps(asdict(run)) + "\n")
        if path.stat().st_size > LONG:
            text.write_whole(path, "".join(json.dumps(asdict(one)) + "\n" for one in read(path)[-KEPT // 2 :]))
    except OSError:
        pass


def _told(folder: Path) -> dict[str, Any]:
    try:
        told = load_json(folder / RECORD)
    except (Unusable, OSError):
        return {}
    return told if isinstance(told, dict) else {}


def read(path: Path) -> list[Run]:
    """The runs of a device, oldest first; a line that is damaged is left out."""
    try:
        lines = text.read_bounded(path, 2 * LONG)[0].decode("utf-8", "replace").splitlines()
    except (Unusable, OSError):
        return []
    return [run for run in map(_run, lines[-KEPT:]) if run]


def _run(line: str) -> Run | None:
    try:
        told = json.loads(line)
        made = Run(**{field.name: told[field.name] for field in fields(Run)})
    except (ValueError, TypeError, KeyError):
        return None
    kinds = {"str": str, "float": (int, float), "int": int}
    fits = all(isinstance(getattr(made, field.name), kinds[str(field.type)]) for field in fields(Run))  # type: ignore[arg-type]
    return made if fits else None


def runs_of(device: Device) -> list[Run]:
    return read(file_of(device))


def in_vain(runs: list[Run]) -> int:
    """How many of the last runs in a row did not end as they should."""
    count = 0
    for run in reversed(runs):
        if run.well:
            break
        count += 1
    return count


def quarantine(device: Device) -> str:
    """Why a device is left alone; empty if it is not."""
    runs, after = runs_of(device), device.owner.quarantine
    failed = in_vain(runs)
    if not after or failed < after:
        return ""
    last = f"{runs[-1].ended}: {runs[-1].reason}" if runs[-1].reason else runs[-1].ended
    return f"in quarantine after {failed} failed runs in a row, the last {last}; named by itself it is asked"


def metrics(devices: list[Device]) -> Iterator[str]:
    """Lines for node_exporter's textfile collector."""
    about = {
        "runs": "runs of a device that are on record, by how they ended",
        "last_run_timestamp_seconds": "when a run of it ended last",
        "last_done_timestamp_seconds": "when a run of it ended with all answers last",
        "failed_in_a_row": "its last runs that did not end with all answers",
        "quarantined": "1 if it is left alone",
        "heat_celsius": "the most that was measured in its last run",
    }
    lines: dict[str, list[str]] = {key: [] for key in about}
    for device in devices:
        runs, who = runs_of(device), f'device="{device.name}"'
        done = [run for run in runs if run.well]
        for ended in sorted({run.ended for run in runs}):
            count = sum(run.ended == ended for run in runs)
            lines["runs"].append(f'{{{who},ended="{_label(ended)}"}} {count}')
        if runs:
            lines["last_run_timestamp_seconds"].append(f"{{{who}}} {runs[-1].at:.0f}")
        if done:
            lines["last_done_timestamp_seconds"].append(f"{{{who}}} {done[-1].at:.0f}")
        if runs and runs[-1].heat > -1000:
            lines["heat_celsius"].append(f"{{{who}}} {runs[-1].heat}")
        lines["failed_in_a_row"].append(f"{{{who}}} {in_vain(runs)}")
        lines["quarantined"].append(f"{{{who}}} {int(bool(quarantine(device)))}")
    for key, said in about.items():
        yield f"# HELP perfmodes_device_{key} {said}\n# TYPE perfmodes_device_{key} gauge\n"
        yield from (f"perfmodes_device_{key}{line}\n" for line in lines[key])


def _label(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
