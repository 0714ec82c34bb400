# SPDX-License-Identifier: MIT
"""Saved guests that have booted and wait for work, one for each way to start a guest.

The name of a snapshot is a hash of everything that makes up the guest: version and arguments of the
emulator, the kernel, and the initramfs with all probes. A guest that differs in one byte is another
guest. If a machine cannot be saved, the reason is kept in place of the snapshot, and the machine is
booted cold from then on. If a guest failed, which a busy machine does to it as well, that holds for
an hour.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernels.guest import machine
from kernels.guest.qmp import FAILED
from kernels.matrix import Row
from kernels.source.fetch import sha256_of

HOUR = 3600
ROOM = 2 << 30  # bytes of snapshots that are kept; the least recently used go first


@dataclass(frozen=True)
class Snapshot:
    """One saved guest, or the file name for it."""

    state: Path

    @property
    def exists(self) -> bool:
        return self.state.exists()

    @property
    def part(self) -> Path:
        return self.state.with_suffix(f".{os.getpid()}-{id(self):x}.part")

    @property
    def refused(self) -> str:
        """Why this guest is not saved, or empty."""
        for suffix, lasts in ((".no", math.inf), (".later", HOUR)):
            try:
                file = self.state.with_suffix(suffix)
                if time.time() - file.stat().st_mtime < lasts:
                    return file.read_text(encoding="utf-8")
            except FileNotFoundError:
                continue
        return ""

    def take(self) -> Path | None:
        """The state to start from, marked as used; None if there is none."""
        try:
            os.utime(self.state)
        except FileNotFoundError:
            return None
        return self.state

    def settle(self, saved: str) -> None:
        """Keep the snapshot if saving has ended with "done"; otherwise keep the reason."""
        if saved != "done":
            return self.refuse(saved, for_good=saved != FAILED)
        self.part.rename(self.state)
        return make_room(self.state.parent)

    def refuse(self, why: str, for_good: bool = False) -> None:
        """Boot cold from now on; for an hour unless the machine can never be saved."""
        self.part.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)
        suffix = ".no" if for_good else ".later"
        self.state.with_suffix(suffix).write_text(why, encoding="utf-8")


def make_room(folder: Path, room: int = ROOM) -> None:
    """Remove the least recently used until the rest fits."""
    for path, used, _ in _kept(folder, "*.part"):
        if time.time() - used > HOUR:
            path.unlink(missing_ok=True)  # left by a run that was killed
    for path, _, size in sorted(_kept(folder, "*.state"), key=lambda kept: kept[1], reverse=True):
        room -= size
        if room < 0:
            path.unlink(missing_ok=True)


def _kept(folder: Path, what: str) -> Iterator[tuple[Path, float, int]]:
    """Files with time of use and size. Other rows and runs may remove some meanwhile."""
    for path in folder.glob(what):
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        yield path, stat.st_mtime, stat.st_size


def cannot(row: Row) -> str:
    """Why the machine of a row cannot be saved at all, or empty."""
    if row.arch.runner != "qemu":
        return "a user-mode kernel is a process and has no state to save"
    if row.pvr:
        return "its processor version register is set at the start"
    if not row.results:
        return "work would have to come in by the console"
    return ""


def place(row: Row, kernel: Path, initrd: bytes, kvm: bool, cache: Path) -> Snapshot:
    """The snapshot of the guest that is started from these."""
    wires = machine.Wires(0, -1, 0)
    argv = machine.command(row, Path("kernel"), Path("initrd"), wires, Path("scratch"), kvm)
    digest = hashlib.sha256("\0".join([*argv, machine.qemu_version(row)]).encode())
    digest.update(sha256_of(kernel).encode())
    digest.update(hashlib.sha256(initrd).digest())
    folder = cache / "snapshots"
    folder.mkdir(parents=True, exist_ok=True)
    return Snapshot(folder / f"{row.name}-{digest.hexdigest()[:20]}.state")
