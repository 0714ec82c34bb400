# SPDX-License-Identifier: MIT
"""The verbs for labs: write a job, submit it, take results out of a log."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.lab import lava
from kernels.lab.result import taken_in
from kernels.place.private import Private
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
    private = Private(keep=args.keep_names)
    if args.kind == "ingest":
        return told(taken_in(args.log, args.out, private))
    with tempfile.TemporaryDirectory(prefix="pm-lab-") as folder:
        number = lava.submitted(made_job(args), args.identity, Path(folder))
        log = Path(folder, "logs.yaml")
        say = lambda state: print(state, file=sys.stderr)  # noqa: E731
        log.write_text(lava.log_of(args.identity, number, say, threading.Event()), encoding="utf-8")
        return told(taken_in(log, args.out, private))


def told(report: Report) -> int:
    print(show.full(report))
    return report.status
