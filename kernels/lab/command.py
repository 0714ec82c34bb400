# SPDX-License-Identifier: MIT
"""The verbs for labs: write a job, submit it, take results out of a log."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType

from kernels.errors import Missing, Usage
from kernels.lab import device, guest, lava
from kernels.lab.result import taken_in
from kernels.matrix import Matrix, Row
from kernels.place.private import Private
from kernels.place.report import Report
from kernels.show import summary as show


def jobs() -> ModuleType:
    """kernels.lab.job, the only module that needs python3-yaml."""
    try:
        from kernels.lab import job
    except ModuleNotFoundError as error:
        raise Missing(f"no Python module {error.name!r}; install the package python3-yaml") from None
    return job


def arguments(args: argparse.Namespace) -> tuple[str, ...]:
    """For run.sh."""
    words = [word for glob in args.probe for word in ("--probe", glob)]
    return (*words, *(["--persona", args.persona] if args.persona else []))


def job_of_guest(args: argparse.Namespace, listed: Matrix) -> int:
    """The files that a row boots from, and job.yaml beside them."""
    job = jobs()
    row = one_row(args.row, listed)
    say = lambda text: print(text, file=sys.stderr)  # noqa: E731
    folder = args.out.resolve()
    boot = guest.written(row, folder, not args.no_build, not args.no_install, say)
    test = job.test_action(args.suite, guest.BUNDLE, arguments(args), args.minutes)
    actions = job.for_qemu(boot.kernel.as_uri(), boot.ramdisk.as_uri(), boot.append)
    made = job.job(job.QEMU, actions, test, args.suite, args.minutes)
    (folder / "job.yaml").write_text(job.text(made), encoding="utf-8")
    print(f"{folder}/job.yaml boots {folder}/kernel and ramdisk.cpio.gz")
    return 0


def stand_in(args: argparse.Namespace, listed: Matrix) -> int:
    """A guest in the place of a device, while a command runs."""
    socket = args.serial.absolute() if args.serial else None
    way = device.Way(args.adb, socket, args.bundle)
    say = lambda text: print(text, file=sys.stderr)  # noqa: E731
    return device.run(one_row(args.row, listed), way, args.command, say)


def one_row(name: str, listed: Matrix) -> Row:
    rows = listed.pick([name], [])
    if len(rows) != 1:
        raise Usage(f"{name}: one row of the matrix, not {len(rows)}")
    return rows[0]


def made_job(args: argparse.Namespace) -> str:
    job, words = jobs(), arguments(args)
    test = job.test_action(args.suite, args.bundle, words, args.minutes)
    if args.base:
        return str(job.text(job.of_lab(args.base, test, args.minutes, args.suite, args.device_type)))
    if args.device_type != job.QEMU:
        raise Usage("--base JOB: how such a device is booted is known to its lab")
    actions = job.for_qemu(args.kernel, args.ramdisk, args.append)
    made = job.job(args.device_type, actions, test, args.suite, args.minutes)
    return str(job.text(made))


def run(args: argparse.Namespace, listed: Matrix) -> int:
    if args.kind == "guest":
        return job_of_guest(args, listed)
    if args.kind == "device":
        return stand_in(args, listed)
    if args.kind == "job":
        print(made_job(args), end="")
        return 0
    private = Private(keep=args.keep_names)
    if args.kind == "ingest":
        return told(taken_in(args.log, args.out, private))
    with tempfile.TemporaryDirectory(prefix="pm-lab-") as folder:
        say = lambda state: print(state, file=sys.stderr)  # noqa: E731
        number = args.job or lava.submitted(made_job(args), args.identity, Path(folder))
        say(f"job {number} {lava.address(args.identity, number)}; --job {number} takes it up again")
        log = Path(folder, "logs.yaml")
        log.write_text(lava.log_of(args.identity, number, say, threading.Event()), encoding="utf-8")
        return told(taken_in(log, args.out, private))


def told(report: Report) -> int:
    print(show.full(report))
    return report.status
