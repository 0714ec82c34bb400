# SPDX-License-Identifier: MIT
"""A result directory out of the log of a job."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.lab import ingest
from kernels.place.channel import Channel
from kernels.place.judge import RECORD, judge
from kernels.place.outcome import Outcome
from kernels.place.private import Private
from kernels.place.report import Report
from reports.text import require_file


def taken_in(log: Path, out: Path, private: Private) -> Report:
    """Unpack and judge what a job has left in its log. `out` is made, and has to be empty."""
    require_file(log)
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise Usage(f"{out} is not empty")
    channel = Channel(out)
    channel.clean = private.clean
    try:
        ingest.unpack(ingest.collect(log), channel)
    except OSError as error:
        raise Missing(f"{log}: {error.strerror}") from None
    channel.log.touch()
    report = Report(out.name, Outcome("done", stage="probes"), attempts=1)
    record = {
        "format": 1, "place": "lava", **asdict(report.outcome), "release": "", "attempts": 1,
        "guests": [], "went_down": [], "unanswered": [], "total_wall": 0.0, "total_cpu": 0.0,
        "files": channel.frames, "refused": channel.refused,
        "names_kept": private.keep, "withheld": dict(+private.withheld),
    }  # fmt: skip
    (out / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    judge(report, out)
    return report
