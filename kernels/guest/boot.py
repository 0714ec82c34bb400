# SPDX-License-Identifier: MIT
"""One boot: start the emulator, watch it, end it, reap it. It leaves nothing behind."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
import threading
from pathlib import Path

from kernels.errors import Missing
from kernels.guest import pvr
from kernels.guest.initramfs import work_archive
from kernels.guest.lines import Lines
from kernels.guest.machine import command
from kernels.guest.qmp import Qmp
from kernels.guest.watch import Guest, Task
from kernels.matrix import Row
from kernels.place.channel import Channel
from kernels.place.outcome import Outcome


def _place(memory: int) -> str | None:
    """/dev/shm if it has room for a guest's memory file, otherwise the default."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    enough = room.f_bavail * room.f_frsize > (memory + 64) << 20
    return "/dev/shm" if enough and os.access("/dev/shm", os.W_OK) else None


def _anonymous(console: Path, *places: str) -> None:
    """Remove the names of this machine's folders, which must not get into a result."""
    text = console.read_bytes()
    for place in places:
        text = text.replace(place.encode(), b"")
    console.write_bytes(text)


def _start(guest: Guest, argv: list[str], lines: Lines, scratch: str) -> None:
    wires = lines.wires
    passed = tuple(fd for fd in (wires.console, wires.results, wires.qmp) if fd >= 0)
    uml = guest.row.arch.runner == "uml"
    try:
        guest.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL if uml else lines.guest_work,
            stdout=lines.guest_console if uml else lines.guest_results,
            stderr=lines.guest_console,
            pass_fds=passed,
            start_new_session=True,
            env={
                "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
                "TMPDIR": scratch,
                "HOME": scratch,
            },
        )
    except FileNotFoundError:
        raise Missing("no setpriv: apt-get install util-linux") from None


def _listen(guest: Guest, lines: Lines) -> None:
    guest.selector.register(lines.console, selectors.EVENT_READ, guest.on_console)
    guest.line = lines.work
    if lines.wires.qmp >= 0:
        guest.results = lines.results
        guest.qmp = Qmp(lines.monitor)
        guest.selector.register(lines.monitor, selectors.EVENT_READ, guest.qmp.feed)
    else:
        guest.selector.register(lines.results, selectors.EVENT_READ, guest.on_results)
    lines.leave()


def boot(
    row: Row,
    kernel: Path,
    initrd: bytes,
    channel: Channel,
    console: Path,
    task: Task,
    *,
    kvm: bool = False,
    stop: threading.Event | None = None,
) -> Outcome:
    """Boot `kernel` with `initrd`. Files arrive below channel.target, console output in
    `console`."""
    guest = Guest(row, channel, console, task, stop or threading.Event())
    state = task.begin()
    guest.outcome.start = "snapshot" if state else "cold"
    with tempfile.TemporaryDirectory(prefix="pm-guest-", dir=_place(row.memory)) as scratch:
        place, lines = Path(scratch), Lines(row, Path(scratch))
        image = place / "initrd"
        try:
            image.write_bytes(initrd if task.snapshot else initrd + work_archive(task.work))
            argv = command(row, kernel, image, lines.wires, place, kvm, state)
            _start(guest, argv, lines, scratch)
            _listen(guest, lines)
            if row.pvr:
                pvr.set_and_start(place, row.pvr)
            guest.watch()
        finally:
            guest.close()
            lines.close()
            _anonymous(console, scratch, str(kernel.parent))
            guest.outcome.reason = guest.outcome.reason.replace(scratch, "").replace(
                str(kernel.parent), ""
            )
    return guest.outcome
