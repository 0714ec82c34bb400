# SPDX-License-Identifier: MIT
"""The life of one row: fetched, booted, its result directory finished and reported on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernels import ROOT
from kernels.errors import Missing, Refused, RowError
from kernels.guest import initramfs, machine, snapshot
from kernels.guest.boot import Outcome
from kernels.guest.work import Work
from kernels.matrix import Row
from kernels.place.guests import Guests
from kernels.place.report import Kernel, Report, Seat, Wishes
from kernels.source import image
from kernels.source.fetch import Fetcher, sha256_of
from reports.text import Unusable, load_json


def _telling(text: str) -> str:
    """The line of a build's messages that says most."""
    lines = text.strip().splitlines() or ["no message"]
    return next((line for line in lines if re.search("rror|kernels: no ", line)), lines[-1])[:200]


def find_bundle(arch: str, build: bool, install: bool) -> Path:
    """build/<arch>/bundle, made afresh; make sets up the tool chain another machine needs."""
    bundle = ROOT / "build" / arch / "bundle"
    if build:
        words = ["-s", f"-j{os.cpu_count() or 1}", f"ARCH={arch}", "bundle"]
        words += [] if install else ["NO_INSTALL=1"]
        result = subprocess.run(
            ["make", "-C", str(ROOT), "--no-print-directory", *words],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if result.returncode:
            raise Missing(f"make ARCH={arch} bundle failed: {_telling(result.stderr)}")
    if not (bundle / "run.sh").exists():
        raise Missing(f"no bundle for {arch}: make ARCH={arch} bundle")
    return bundle


def _kernel(row: Row, fetcher: Fetcher) -> Kernel:
    if row.kernel:
        return _own_kernel(row, fetcher)
    deb = fetcher.kernel(row)
    facts = {
        "kernel_package": deb.package.name,
        "kernel_package_version": deb.package.version,
        "kernel_package_sha256": deb.package.sha256,
    }
    sha256 = deb.package.sha256
    path = image.kernel_file(deb.path, sha256, row.arch.unpack, fetcher.cache)
    if not row.dtb:
        return Kernel(path, facts)
    board = image.device_tree(deb.path, sha256, row.dtb, fetcher.cache)
    return Kernel(path, facts, ("-dtb", str(board)))


def _own_kernel(row: Row, fetcher: Fetcher) -> Kernel:
    path = Path(row.kernel)
    sha256 = sha256_of(path)
    facts = {"kernel_package": "none", "kernel_file_sha256": sha256}
    if path.suffix == ".deb":
        return Kernel(image.kernel_file(path, sha256, row.arch.unpack, fetcher.cache), facts)
    target = fetcher.cache / "images" / f"{sha256[:20]}-{row.arch.unpack or 'plain'}"
    make = lambda: image.bootable(path.read_bytes(), row.arch.unpack)  # noqa: E731
    return Kernel(image.write_once(target, make, 0o755), facts)


def _work(row: Row, wishes: Wishes, facts: dict[str, str]) -> Work:
    env = {"emulator": machine.emulator(row, wishes.kvm), "kernel_row": row.name, **facts}
    lines = [f"{key}={value}" for key, value in env.items()] + [
        f"limit={limit}" for limit in row.limits
    ]
    pairs = [word for line in lines for word in ("--env", line)]
    args = (*wishes.guest_args, "--no-install", "--quiet", *pairs)
    return Work(wishes.suite, args, wishes.levels)


@dataclass
class Runner:
    """Everything the rows of one run share."""

    results: Path
    fetcher: Fetcher
    wishes: Wishes
    bundles: dict[str, Path | str]
    stop: threading.Event = field(default_factory=threading.Event)
    on_state: Callable[[Row, str], None] = lambda row, state: None

    def run(self, row: Row) -> Report:
        """Never raises but for an interrupt: a row ends in a result or in a stated reason."""
        if self.wishes.timeout:
            row = replace(row, timeout=self.wishes.timeout)
        report = Report(row)
        try:
            self._run(report)
        except RowError as error:
            report.error = str(error)
        except OSError as error:
            report.error = f"{error.strerror or error} ({type(error).__name__})"
        return report

    def _run(self, report: Report) -> None:
        row = report.row
        bundle = self.bundles.get(row.arch.bundle, f"no bundle for {row.arch.bundle}")
        if isinstance(bundle, str):
            raise Missing(bundle)
        if row.arch.runner == "qemu":
            machine.program(row)
        self.on_state(row, "fetching")
        kernel = _kernel(row, self.fetcher)
        busybox = image.member(self.fetcher.busybox(row).path, image.BUSYBOX)
        initrd = initramfs.build(busybox, bundle, machine.channel_name(row))
        self._all(report, kernel, initrd, _work(row, self.wishes, kernel.facts))

    def _all(self, report: Report, kernel: Kernel, initrd: bytes, work: Work) -> None:
        """Its guests, then the finished directory, then what reports make of it."""
        row, part = report.row, self.results / f"{report.row.name}.part"
        seat = self._seat(row, kernel, initrd)
        guests = Guests(report, seat, work, self.wishes, part, self.stop, self.on_state)
        try:
            facts = guests.run()
        except KeyboardInterrupt:
            shutil.rmtree(part, ignore_errors=True)
            raise
        (part / "boot.json").write_text(json.dumps(facts, indent=1) + "\n")
        if self.wishes.keep:
            (part / "initrd").write_bytes(initrd + initramfs.work_archive(work.text()))
            shutil.copyfile(kernel.path, part / "kernel")
        shutil.rmtree(self.results / row.name, ignore_errors=True)
        part.rename(self.results / row.name)
        self._judge(report)

    def _seat(self, row: Row, kernel: Kernel, initrd: bytes) -> Seat:
        wired = replace(row, qemu_args=row.qemu_args + kernel.qemu_args)
        why = "asked to start cold" if self.wishes.cold else snapshot.cannot(row)
        if why:
            return Seat(wired, kernel, initrd, None, why)
        cache, kvm = self.fetcher.cache, self.wishes.kvm
        return Seat(wired, kernel, initrd, snapshot.place(wired, kernel.path, initrd, kvm, cache))

    def _judge(self, report: Report) -> None:
        """Verdicts are reports' business; here they are only counted."""
        folder = self.results / report.row.name
        if report.outcome.infra:
            report.error = (
                f"{report.outcome.ended}: {report.outcome.reason} ({report.attempts} attempts)"
            )
            return
        self.on_state(report.row, "reporting")
        judge(report, folder)


def runs_of(folder: Path) -> dict[str, Path]:
    """The result directories of a row: itself, or one for each level."""
    if (folder / "env").exists():
        return {"": folder}
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/env"))}


def _reported(run: Path) -> dict[str, Any]:
    """The result.json that `reports result` makes of a directory; its last words if it does not."""
    made = run / "result.json"
    made.unlink(missing_ok=True)  # of an earlier run: a traceback exits with 1 as well
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
    """`reports result` on each finished directory, then the counts it wrote down."""
    for name, run in (runs_of(folder) or {"": folder}).items():
        try:
            told = _reported(run)
        except Refused as error:
            why = report.outcome.reason and f"{report.outcome.ended}: {report.outcome.reason}; "
            report.error = f"{why}{error}"
            return
        for who, counts in told["summary"].items():
            report.verdicts[f"{name} {who}".strip()] = counts
        for who, count in Counter(entry["persona"] for entry in told["unexpected"]).items():
            report.unexpected[f"{name} {who}".strip()] = count


def _outcome(facts: dict[str, Any]) -> Outcome:
    """One guest of boot.json; an exception when it is not one."""
    times, cpu_times = (
        {str(stage): float(at) for stage, at in facts[key].items()} for key in ("times", "cpu_times")
    )
    ended, reason, stage, start = (str(facts[key]) for key in ("ended", "reason", "stage", "start"))
    wall, cpu = float(facts["wall"]), float(facts["cpu"])
    return Outcome(ended, reason, stage, wall, cpu, times, cpu_times, start)


def _told(row: Row, facts: dict[str, Any]) -> Report:
    """What boot.json says. A folder of results may come from anywhere: nothing is taken on trust."""
    guests = [{"of": str(one["of"]), **asdict(_outcome(one))} for one in facts["guests"]]
    return Report(
        row,
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


def resumable(results: Path, row: Row) -> Report | None:
    """The report of a row that an earlier run has finished; None where it is to be run again."""
    folder = results / row.name
    try:
        report = _told(row, load_json(folder / "boot.json"))
        if report.outcome.infra:
            return None
        judge(report, folder)
    except (Unusable, OSError, ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return None
    return report
