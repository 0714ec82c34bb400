# SPDX-License-Identifier: MIT
"""Runs perfmodes-sampler on workloads, and reads back its report and its outputs."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TREE = Path(__file__).resolve().parents[3]
PROGRAM = TREE / "build" / os.environ.get("ARCH", platform.machine()) / "perfmodes-sampler"
WORKLOAD = TREE / "build" / "test" / "sampler" / "workload"
OURS = "cmd:*workload*"     # by its name alone: of a process that has ended no more is known
NOBODY = 65534
PERIOD = 2_000_000      # ns of CPU time from sample to sample
LIMIT = 900             # s for anything, on a machine that is busy
#: How it ends when all was written; 4: over 5 % of the records were lost, which is up to the machine.
WHOLE = (0, 4)


def need_all() -> None:
    for program in (PROGRAM, WORKLOAD):
        if not program.exists():
            pytest.skip(f"not built: make {program.relative_to(TREE)} "
                        "(needs the packages libdw-dev and zlib1g-dev)")
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    if os.geteuid() != 0 and paranoid > 0:
        pytest.skip("not root: may not watch other processes")


@dataclass
class Workload:
    """A process that burns CPU time, and what it used in the end."""

    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def burn(self, seconds: float) -> None:
        """Waits until it has used that much CPU time more."""
        def used() -> int:
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])
        end = used() + int(seconds * os.sysconf("SC_CLK_TCK"))
        while used() < end:
            time.sleep(0.01)

    def cpu_ns(self) -> int:
        """Waits for its end."""
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = status
        return int((usage.ru_utime + usage.ru_stime) * 1e9)


def start(*arguments: str) -> Workload:
    process = subprocess.Popen([str(WORKLOAD), *arguments], stdout=subprocess.PIPE)
    assert process.stdout
    if arguments[0] != "reexec":
        assert process.stdout.readline() == b"ready\n"
    return Workload(process)


@dataclass
class Run:
    """What a run left behind."""

    status: int
    errors: str
    events: list[dict[str, Any]]
    folder: Path

    def all(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.events if line["event"] == event]

    def source(self, name: str = "cpu") -> dict[str, Any]:
        return next(line for line in self.all("summary of a source") if line["source"] == name)

    def state(self, pid: int) -> str:
        return str(next((line["state"] for line in self.all("summary of a process")
                         if line["pid"] == pid), "unknown"))

    def output(self, name: str) -> dict[str, Any]:
        return next(line for line in self.all("summary of an output")
                    if line["path"].endswith(name))

    def folded(self) -> dict[str, int]:
        """Weights by stack."""
        weights: dict[str, int] = {}
        for line in (self.folder / "folded").read_text(encoding="utf-8").splitlines():
            stack, weight = line.rsplit(" ", 1)
            weights[stack] = weights.get(stack, 0) + int(weight)
        return weights


class Service:
    """The service on one configuration."""

    def __init__(self, folder: Path, source: dict[str, Any], **top: Any) -> None:
        need_all()
        self.folder = folder
        outputs = [{"format": "folded", "path": str(folder / "folded")},
                   {"format": "perfetto", "path": str(folder / "perfetto")}]
        whole = {"name": "cpu", "event": "cpu-clock", "period": PERIOD, "stacks": "dwarf",
                 "stack_bytes": 4096, "targets": [OURS]} | source
        if "poll_ms" in whole:
            whole = {key: value for key, value in whole.items()
                     if key not in ("period", "stacks", "targets")}
            outputs = outputs[1:]
        config = {"sources": [whole], "outputs": outputs, "report": str(folder / "report")} | top
        self.config = folder / "config"
        self.config.write_text(json.dumps(config), encoding="ascii")
        self.process: subprocess.Popen[str] | None = None

    def start(self, *prefix: str) -> "Service":
        """Returns when the sources are started."""
        self.process = subprocess.Popen([*prefix, str(PROGRAM), str(self.config)], text=True,
                                        stderr=subprocess.PIPE)
        self.wait_for('"started"')
        return self

    def wait_for(self, text: str) -> None:
        """Until the report has a match of that expression, or the service has ended."""
        report = self.folder / "report"
        assert self.process
        end = time.monotonic() + LIMIT
        while not (report.exists() and re.search(text, report.read_text(encoding="utf-8"))):
            if self.process.poll() is not None:
                break
            assert time.monotonic() < end, f"the report never had {text}"
            time.sleep(0.01)

    def stop(self, number: int = signal.SIGINT) -> Run:
        assert self.process
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> Run:
        assert self.process
        _, errors = self.process.communicate(timeout=LIMIT)
        report = self.folder / "report"
        lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
        return Run(self.process.returncode, errors, [json.loads(line) for line in lines],
                   self.folder)


def accounted(run: Run, output: str = "folded") -> None:
    """Each sample that was read is in the output, or among those told not to be."""
    source, out = run.source(), run.output(output)
    assert source["samples"] == (out["written"] + out["unwritten"] + source["untold"] +
                                 source["purged"] + run.all("end")[0]["purged"]), run.events[-8:]
