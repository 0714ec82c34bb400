# SPDX-License-Identifier: MIT
"""--report: what became of devices in the last days, for whoever comes in the morning."""

from __future__ import annotations

import time

from rich.console import Console
from rich.text import Text

from kernels.device import history
from kernels.device.history import Run
from kernels.device.inventory import Device
from reports import overview, table, text, wordlist

HEADS = {"device": "cut", "runs": "right", "done": "right", "last": "left", "when": "left", "last done": "left",
         "heat": "right"}  # fmt: skip
SHOWN = 3  # failures of a device that are told


def report(devices: list[Device], days: int, out: Console, now: float) -> int:
    """Print it. 1 if a device failed last, or is in quarantine."""
    since = now - days * 86400
    runs = {device.name: [run for run in history.runs_of(device) if run.at >= since] for device in devices}
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    out.print(f"the last {text.count(days, 'day')}, until {until}", markup=False, highlight=False)
    table.listing(HEADS, [_line(device, runs[device.name]) for device in devices], out)
    looked_at = False
    for device in devices:
        alone, bad = history.quarantine(device), [run for run in runs[device.name] if not run.well]
        looked_at |= bool(alone) or bool(bad and bad[-1] is runs[device.name][-1])
        lost = sum(run.lost for run in runs[device.name])
        if lost:
            overview.hanging(out, Text(f"{device.name}: "), f"its connection was lost {text.count(lost, 'time')}")
        if alone:
            overview.hanging(out, Text(f"{device.name}: "), alone)
        for ended, (count, last) in list(_kinds(bad).items())[:SHOWN]:
            often = f", {text.count(count, 'time')}" if count > 1 else ""
            overview.hanging(out, Text(f"{device.name}: "), f"{_when(last.at)}{often}: {ended}: {last.reason}")
    return int(looked_at)


def _line(device: Device, runs: list[Run]) -> list[Text]:
    done = [run for run in runs if run.well]
    hottest = max((run.heat for run in runs), default=-1000)
    last = Text(runs[-1].ended, wordlist.STYLES["yes" if runs[-1].well else "broken"]) if runs else Text("not run")
    return [
        Text(device.name), Text(str(len(runs))), Text(str(len(done))), last,
        Text(_when(runs[-1].at) if runs else ""), Text(_when(done[-1].at) if done else ""),
        Text(f"{hottest} °C" if hottest > -1000 else ""),
    ]  # fmt: skip


def _kinds(bad: list[Run]) -> dict[str, tuple[int, Run]]:
    """Failures by how they ended: how many, and the last. The newest come first."""
    made: dict[str, tuple[int, Run]] = {}
    for run in reversed(bad):
        count, last = made.get(run.ended, (0, run))
        made[run.ended] = (count + 1, last)
    return made


def _when(at: float) -> str:
    return time.strftime("%m-%d %H:%M", time.localtime(at))
