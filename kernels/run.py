# SPDX-License-Identifier: MIT
"""The life of one row: fetched, booted, its result directory finished and reported on."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernels import image, machine
from kernels.boot import Outcome, boot
from kernels.channel import Channel
from kernels.errors import Missing, RowError
from kernels.fetch import Fetcher, sha256_of
from kernels.matrix import Row

ROOT = Path(__file__).resolve().parent.parent
ATTEMPTS = 2
TAIL = 2000


@dataclass(frozen=True)
class Wishes:
    """What the user asked for, the same for every row."""

    suite: str = "default"
    guest_args: tuple[str, ...] = ()
    paranoid: str = "2"
    timeout: int = 0
    keep: bool = False
    kvm: bool = False
    build: bool = True


@dataclass
class Report:
    """What became of a row; `error` says why there is no result."""

    row: Row
    outcome: Outcome = field(default_factory=Outcome)
    error: str = ""
    release: str = ""
    attempts: int = 0
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)
    unexpected: bool = False
    resumed: bool = False

    @property
    def status(self) -> int:
        """0 fine, 1 something to look at, 3 could not run."""
        if self.row.unavailable:
            return 0
        if self.error or self.outcome.infra:
            return 3
        return 1 if self.unexpected or self.outcome.ended != "done" else 0


@dataclass(frozen=True)
class Kernel:
    path: Path
    facts: dict[str, str]
    qemu_args: tuple[str, ...] = ()


def _telling(text: str) -> str:
    """The line of a build's messages that says most."""
    lines = text.strip().splitlines() or ["no message"]
    return next((line for line in lines if re.search("rror|kernels: no ", line)), lines[-1])[:200]


def find_bundle(arch: str, build: bool, install: bool) -> Path:
    """build/<arch>/bundle, made afresh; make sets up the tool chain another machine needs."""
    bundle = ROOT / "build" / arch / "bundle"
    if build:
        words = ["-s", f"ARCH={arch}", *([] if install else ["NO_INSTALL=1"]), "bundle"]
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


def _guest_args(row: Row, wishes: Wishes, facts: dict[str, str]) -> tuple[str, ...]:
    env = {"emulator": machine.emulator(row, wishes.kvm), "kernel_row": row.name, **facts}
    lines = [f"{key}={value}" for key, value in env.items()] + [
        f"limit={limit}" for limit in row.limits
    ]
    pairs = [word for line in lines for word in ("--env", line)]
    return (
        "--suite",
        wishes.suite,
        *wishes.guest_args,
        "--out",
        "/results/run",
        "--no-install",
        "--quiet",
        *pairs,
    )


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
        job = image.Job(
            _guest_args(row, self.wishes, kernel.facts),
            machine.channel_name(row),
            self.wishes.paranoid,
        )
        initrd = image.initramfs(busybox, bundle, job)
        for report.attempts in range(1, ATTEMPTS + 1):
            self._attempt(report, kernel, initrd)
            if not report.outcome.infra:
                break
        self._judge(report)

    def _attempt(self, report: Report, kernel: Kernel, initrd: bytes) -> None:
        row, part = report.row, self.results / f"{report.row.name}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        channel = Channel(part)
        channel.on_file = lambda name: self.on_state(row, f"{len(channel.files)} files, {name}")
        self.on_state(row, "booting")
        try:
            report.outcome = boot(
                replace(row, qemu_args=row.qemu_args + kernel.qemu_args),
                kernel.path,
                initrd,
                channel,
                part / "console.log",
                kvm=self.wishes.kvm,
                stop=self.stop,
            )
        except KeyboardInterrupt:
            shutil.rmtree(part, ignore_errors=True)
            raise
        report.release = channel.release
        (part / "boot.json").write_text(
            json.dumps(self._facts(report, channel, kernel, part), indent=1) + "\n"
        )
        if self.wishes.keep:
            (part / "initrd").write_bytes(initrd)
            shutil.copyfile(kernel.path, part / "kernel")
        shutil.rmtree(self.results / row.name, ignore_errors=True)
        part.rename(self.results / row.name)

    def _facts(
        self, report: Report, channel: Channel, kernel: Kernel, part: Path
    ) -> dict[str, Any]:
        row = report.row
        facts = {
            "format": 1,
            "row": row.name,
            "arch": row.arch.name,
            "release": report.release,
            **asdict(report.outcome),
            "infra": report.outcome.infra,
            "attempts": report.attempts,
            "emulator": machine.emulator(row, self.wishes.kvm),
            "qemu_version": machine.qemu_version(row),
            **kernel.facts,
            "limits": list(row.limits),
            "files": channel.frames,
            "noise_bytes": channel.noise,
            "refused": channel.refused,
        }
        if report.outcome.ended != "done":
            facts["console_tail"] = console_tail(part / "console.log")
        return facts

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


def console_tail(path: Path) -> str:
    """The last of what the guest said, printable."""
    text = path.read_bytes()[-TAIL:].decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def judge(report: Report, folder: Path) -> None:
    """`reports result` on a finished directory, then the counts it wrote down."""
    argv = [sys.executable, "-m", "reports", "result", str(folder), "--quiet"]
    result = subprocess.run(
        argv, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False
    )
    if result.returncode not in (0, 1):
        said = (result.stderr.strip() or f"exit status {result.returncode}").splitlines()[-1]
        why = report.outcome.reason and f"{report.outcome.ended}: {report.outcome.reason}; "
        report.error = f"{why}{said[:300]}"
        return
    report.unexpected = result.returncode == 1
    report.verdicts = json.loads((folder / "result.json").read_text())["summary"]


def resumable(results: Path, row: Row) -> Report | None:
    """The report of a row that an earlier run has finished."""
    folder = results / row.name
    try:
        facts = json.loads((folder / "boot.json").read_text())
        outcome = Outcome(
            **{key: facts[key] for key in ("ended", "reason", "stage", "wall", "cpu", "times")}
        )
    except (OSError, ValueError, KeyError):
        return None
    if outcome.infra:
        return None
    report = Report(
        row,
        outcome,
        release=facts.get("release", ""),
        attempts=facts.get("attempts", 1),
        resumed=True,
    )
    judge(report, folder)
    return report
