# SPDX-License-Identifier: MIT
"""The verbs for labs: write a job, submit it, take results out of a log."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path

from kernels.errors import Missing, Refused, Usage
from kernels.lab import ingest
from kernels.place.channel import Channel, printable
from kernels.place.judge import RECORD, judge
from kernels.place.outcome import Outcome
from kernels.place.report import Report
from kernels.show import summary as show

def made_job(args: argparse.Namespace) -> str:
    try:
        from kernels.lab import job  # needs python3-yaml, and is the only one that does
    except ModuleNotFoundError as error:
        raise Missing(f"no Python module {error.name!r}; install the package python3-yaml") from None
    words = [word for glob in args.probe for word in ("--probe", glob)]
    words += ["--persona", args.persona] if args.persona else []
    test = job.test_action(args.suite, args.bundle, tuple(words), args.minutes)
    if args.base:
        base = job.of_base(args.base)
        return job.text({**base, "actions": [*base["actions"], test]})
    if args.device_type != job.QEMU:
        raise Usage("--base JOB: how such a device is booted is known to its lab")
    actions = job.for_qemu(args.kernel, args.ramdisk, args.append)
    return job.text(job.job(args.device_type, actions, test, args.suite, args.minutes))


def run(args: argparse.Namespace) -> int:
    if args.kind == "job":
        print(made_job(args), end="")
        return 0
    if args.kind == "ingest":
        return take_in(args.log, args.out)
    with tempfile.TemporaryDirectory(prefix="pm-lab-") as folder:
        log = Path(folder, "logs.yaml")
        log.write_text(submitted(made_job(args), args.identity, Path(folder)), encoding="utf-8")
        return take_in(log, args.out)


def _lavacli(identity: str, *words: str, limit: float = 300) -> str:
    if not shutil.which("lavacli"):
        raise Missing("no program lavacli; install the package lavacli")
    argv = ["lavacli", "-i", identity, *words]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"lavacli {words[1]}: no answer within {limit:.0f} s") from None
    if done.returncode:
        said = printable(done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise Missing(f"lavacli {words[1]}: {said[-1][:300]}")
    return done.stdout.decode("utf-8", "backslashreplace")


def submitted(text: str, identity: str, folder: Path) -> str:
    """Submit a job, wait for its end, return its log."""
    file = folder / "job.yaml"
    file.write_text(text, encoding="utf-8")
    number = _lavacli(identity, "jobs", "submit", str(file)).strip()
    if not re.fullmatch(r"\d{1,12}(\.\d{1,4})?", number):
        raise Refused(f"lavacli jobs submit says {number[:100]!r}, not a job number")
    _lavacli(identity, "jobs", "wait", number, limit=24 * 3600)
    return _lavacli(identity, "jobs", "logs", "--raw", number)


def take_in(log: Path, out: Path) -> int:
    """result.json of what a job has left in its log."""
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise Usage(f"{out} is not empty")
    channel = Channel(out)
    try:
        ingest.unpack(ingest.collect(log), channel)
    except OSError as error:
        raise Missing(f"{log}: {error.strerror}") from None
    channel.log.touch()
    report = Report(out.name, Outcome("done", stage="probes"))
    record = {"format": 1, "place": "lava", **asdict(report.outcome), "files": channel.frames,
              "refused": channel.refused}  # fmt: skip
    (out / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    judge(report, out)
    print(show.full(report))
    return report.status
