# SPDX-License-Identifier: MIT
"""One boot, watched: what comes over console, results line and monitor, and when it is enough."""

from __future__ import annotations

import fcntl
import os
import re
import selectors
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kernels.channel import Channel
from kernels.errors import Missing
from kernels.machine import Wires, command
from kernels.matrix import Row
from kernels.qmp import Qmp

CONSOLE_LIMIT = 4 << 20
GRACE = 5.0
CHUNK = 1 << 16
PANIC = re.compile(rb"Kernel panic - not syncing: *([^\r\n]{0,200})")


@dataclass
class Outcome:
    """How a boot ended. Only `done` means the results are whole.

    done        end marker seen, every announced file here
    incomplete  run.sh came back without an end marker, or files were refused
    shutdown    the guest powered off by itself before the end marker
    panic       the guest panicked or reset itself
    hang        nothing more came within the time allowed
    flood       console or results line went over its bound and was cut off
    died        the emulator itself ended or never started
    """

    ended: str = ""
    reason: str = ""
    stage: str = "boot"
    wall: float = 0.0
    cpu: float = 0.0
    times: dict[str, float] = field(default_factory=dict)

    @property
    def infra(self) -> bool:
        """The machinery failed before any probe was done: no statement about the kernel."""
        return self.ended not in ("done", "flood") and self.stage != "probes"


class Guest:
    """A running emulator and the three lines to it."""

    def __init__(self, row: Row, channel: Channel, console: Path, stop: threading.Event) -> None:
        self.row, self.channel, self.stop = row, channel, stop
        self.console = open(console, "wb")
        self.console_bytes, self.tail = 0, b""
        self.outcome = Outcome()
        self.qmp: Qmp | None = None
        self.selector = selectors.DefaultSelector()
        self.began = self.last_sign = time.monotonic()
        self.process: subprocess.Popen[bytes] | None = None

    # -- lines ---------------------------------------------------------------------------------

    def on_console(self, data: bytes) -> None:
        if self.console_bytes < CONSOLE_LIMIT:
            self.console.write(data[: CONSOLE_LIMIT - self.console_bytes])
        self.console_bytes += len(data)
        self.tail = (self.tail + data)[-CHUNK:]
        if not self.row.results_tty:
            self.on_results(data)

    def on_results(self, data: bytes) -> None:
        before = self.channel.frames, self.channel.started
        self.channel.feed(data)
        if before != (self.channel.frames, self.channel.started):
            self.last_sign = time.monotonic()
        if self.channel.started:
            self._mark("init")
        if any(name.endswith(".ktap") for name in self.channel.files):
            self._mark("probes")
        if self.channel.announced is not None:
            self.outcome.times.setdefault("end", self._now())

    def _mark(self, stage: str) -> None:
        if stage not in self.outcome.times:
            self.outcome.times[stage] = self._now()
            self.outcome.stage = stage

    def _now(self) -> float:
        return round(time.monotonic() - self.began, 2)

    # -- the loop ------------------------------------------------------------------------------

    def watch(self) -> None:
        """Until one of the ends is reached; then what is still in the pipes is read."""
        while not self._ended():
            self._pump(0.2)
        self._kill()
        while self.selector.get_map() and self._pump(0.1):
            pass
        if self.outcome.ended in ("shutdown", "died", "hang") and self.channel.complete:
            self._end("done", "")

    def _pump(self, timeout: float) -> bool:
        ready = self.selector.select(timeout)
        for key, _ in ready:
            try:
                data = os.read(key.fd, CHUNK)
            except OSError:
                data = b""
            if data:
                key.data(data)
            else:
                self.selector.unregister(key.fileobj)
        return bool(ready)

    def _end(self, ended: str, reason: str) -> bool:
        self.outcome.ended, self.outcome.reason = ended, reason
        return True

    def _ended(self) -> bool:
        channel = self.channel
        if self.stop.is_set():
            raise KeyboardInterrupt
        if channel.flood or self.console_bytes > CONSOLE_LIMIT:
            return self._end(
                "flood", channel.flood or f"more than {CONSOLE_LIMIT} bytes on the console"
            )
        if channel.exit_status is not None:
            return self._finished(channel.exit_status)
        if "end" in self.outcome.times and self._now() - self.outcome.times["end"] > GRACE:
            return self._finished(0)
        return self._guest_ended() or self._too_late()

    def _finished(self, status: int) -> bool:
        channel = self.channel
        if channel.complete:
            return self._end("done", "")
        if channel.announced is None:
            return self._end("incomplete", f"run.sh ended with status {status} and no end marker")
        refused = f"; refused: {channel.refused[0]}" if channel.refused else ""
        return self._end(
            "incomplete", f"{channel.frames} of {channel.announced} files arrived{refused}"
        )

    def _guest_ended(self) -> bool:
        """The monitor's word, or the emulator's death."""
        gone = self.process is not None and _exited(self.process)
        if not gone and not (self.qmp and self.qmp.ended):
            return False
        self._drain()
        word = self.qmp.ended if self.qmp else ""
        panic = PANIC.search(self.tail)
        if panic or word in ("panic", "reset"):
            said = (
                panic[1].decode("ascii", "backslashreplace")
                if panic
                else "reset without a panic message"
            )
            return self._end("panic", said)
        if word == "shutdown" or (self.row.arch.runner == "uml" and self.channel.started):
            return self._end("shutdown", "the guest powered off before its end marker")
        return self._end("died", f"the emulator ended by itself: {word or self._last_line()}")

    def _drain(self) -> None:
        for _ in range(200):
            if not self.selector.get_map() or not self._pump(0.05):
                return

    def _last_line(self) -> str:
        lines = self.tail.decode("ascii", "backslashreplace").split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "no output")

    def _too_late(self) -> bool:
        row, now = self.row, self._now()
        if self.outcome.stage == "boot" and now > row.boot_timeout:
            return self._end("hang", f"init did not speak within {row.boot_timeout} s")
        if now > row.timeout:
            return self._end("hang", f"not done after {row.timeout} s")
        if self.outcome.stage != "boot" and time.monotonic() - self.last_sign > row.stall:
            last = next(reversed(self.channel.files), "none")
            return self._end("hang", f"no file for {row.stall} s, last one: {last}")
        return False

    def _kill(self) -> None:
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    # -- its life ------------------------------------------------------------------------------

    def close(self) -> None:
        """Kill, reap, and book the processor time."""
        self._kill()
        if self.process is not None and self.process.returncode is None:
            _, status, usage = os.wait4(self.process.pid, 0)
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.outcome.cpu = round(usage.ru_utime + usage.ru_stime, 2)
        self.outcome.wall = self._now()
        self.selector.close()
        self.console.close()


def _exited(process: subprocess.Popen[bytes]) -> bool:
    """Has it ended? It is left to be reaped with its processor time."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _widen(pipe: int) -> None:
    """A virtio console drops what its full pipe does not take: make that a megabyte, if we may."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass


@contextmanager
def _pipes() -> Iterator[tuple[list[int], list[int], socket.socket, socket.socket]]:
    """Two pipes and a socket pair: (our ends), (the guest's ends), our monitor, its monitor."""
    ours, theirs = zip(os.pipe(), os.pipe())
    _widen(theirs[1])
    mine, other = socket.socketpair()
    try:
        yield list(ours), list(theirs), mine, other
    finally:
        for fd in (*ours, *theirs):
            try:
                os.close(fd)
            except OSError:
                pass
        mine.close()
        other.close()


def _place(memory: int) -> str | None:
    """Memory for a guest's memory file, where there is enough of it; else the usual place."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    enough = room.f_bavail * room.f_frsize > (memory + 64) << 20
    return "/dev/shm" if enough and os.access("/dev/shm", os.W_OK) else None


def _anonymous(console: Path, *places: str) -> None:
    """This machine's folders have no business in a result."""
    text = console.read_bytes()
    for place in places:
        text = text.replace(place.encode(), b"")
    console.write_bytes(text)


def _start(guest: Guest, argv: list[str], wires: Wires, scratch: str) -> None:
    passed = tuple(fd for fd in (wires.console, wires.results, wires.qmp) if fd >= 0)
    try:
        guest.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=wires.console,
            stderr=wires.console,
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


def boot(
    row: Row,
    kernel: Path,
    initrd: bytes,
    channel: Channel,
    console: Path,
    *,
    kvm: bool = False,
    stop: threading.Event | None = None,
) -> Outcome:
    """Boot `kernel` with `initrd`; files arrive below channel.target, the console in `console`."""
    guest = Guest(row, channel, console, stop or threading.Event())
    with tempfile.TemporaryDirectory(
        prefix="pm-guest-", dir=_place(row.memory)
    ) as scratch, _pipes() as (ours, theirs, mine, other):
        image = Path(scratch) / "initrd"
        image.write_bytes(initrd)
        wires = Wires(theirs[0], theirs[1], other.fileno() if row.arch.runner == "qemu" else -1)
        try:
            _start(guest, command(row, kernel, image, wires, Path(scratch), kvm), wires, scratch)
            guest.selector.register(ours[0], selectors.EVENT_READ, guest.on_console)
            guest.selector.register(ours[1], selectors.EVENT_READ, guest.on_results)
            if wires.qmp >= 0:
                guest.qmp = Qmp(mine)
                guest.selector.register(mine, selectors.EVENT_READ, guest.qmp.feed)
            for fd in theirs:
                os.close(fd)
            other.close()
            guest.watch()
        finally:
            guest.close()
            _anonymous(console, scratch, str(kernel.parent))
            guest.outcome.reason = guest.outcome.reason.replace(scratch, "").replace(
                str(kernel.parent), ""
            )
    return guest.outcome
