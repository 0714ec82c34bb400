# SPDX-License-Identifier: MIT
"""A newer QEMU than the one installed, unpacked privately from another suite.

It comes through the same signed indexes as kernels do, and is never installed. Its libraries are this
system's, so the suite has to be one built for this release, as backports are.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace

from kernels.errors import Missing
from kernels.matrix import Row
from kernels.source.fetch import Fetcher
from kernels.source.unpacked import unpacked

SHARED = ("qemu-system-common", "qemu-system-data")


def _architecture() -> str:
    try:
        argv = ["dpkg", "--print-architecture"]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        raise Missing("no dpkg: another QEMU comes as a Debian package") from None


def _trouble(program: str) -> str:
    """Why it does not start here; a library that this system lacks, as a rule."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return said[0] if done.returncode else ""


def private(row: Row, fetcher: Fetcher) -> Row:
    """The row with the QEMU it names; the row itself if it names none."""
    if not row.emulator:
        return row
    suite, package = row.emulator
    names = (package, *SHARED)
    debs = [fetcher.tool(name, (suite,), _architecture()) for name in names]
    root = unpacked(debs, fetcher.cache / "emulators")
    program = root / "usr/bin" / row.arch.qemu
    if why := _trouble(str(program)):
        raise Missing(f"{package} of {suite} does not start here: {why}")
    firmware = ("-L", str(root / "usr/share/qemu"))
    return replace(
        row, arch=replace(row.arch, qemu=str(program)), qemu_args=row.qemu_args + firmware
    )
