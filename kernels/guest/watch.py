# SPDX-License-Identifier: MIT
"""Watch one guest: read console, results line and monitor, and decide when the run is over."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from kernels.guest import cpu_time
from kernels.guest.qmp import Qmp
from kernels.guest.snapshot import Snapshot
from kernels.guest.trouble import Trouble
from kernels.matrix import Row
from kernels.place.channel import Channel, printable
from kernels.place.clock import wrong_clock
from kernels.place.outcome import Outcome

CONSOLE_LIMIT = 4 << 20
GRACE = 5.0
AWAKE = 1.0  # seconds after which an emulator that counts instructions is woken
ANSWER = 60.0  # seconds between handing over the work and the guest's first word
SAVING = 240.0  # seconds that saving a guest may take
CHUNK = 1 << 16
FATAL = re.compile(rb"qemu[^\r\n]{0,60}: fatal: ([^\r\n]+)")
PANIC = re.compile(rb"Kernel panic - not syncing: *([^\r\n]{0,200})")


@dataclass
class Task:
    """The work of a guest, and the snapshot if it starts from one or is to be saved. `unspoilt` is that of Order."""

    work: bytes = b""
    snapshot: Snapshot | None = None
    step: str = ""
    unspoilt: bool = False

    def begin(self) -> Path | None:
        """The state to start from, if there is one."""
        self.step = "wait" if self.snapshot else ""
        return self.snapshot.take() if self.snapshot else None


class Guest:
    """A running emulator and the lines to it."""

    def __init__(
        self, row: Row, channel: Channel, console: Path, task: Task, stop: threading.Event
    ) -> None:
        self.row, self.channel, self.task, self.stop = row, channel, task, stop
        self.console = open(console, "wb")
        self.console_bytes, self.tail = 0, b""
        self.outcome = Outcome()
        self.trouble = Trouble(channel, self.outcome.complaints)
        self.qmp: Qmp | None = None
        self.results = -1  # a file to poll; a pipe is in the selector instead
        self.line = -1
        self.selector = selectors.DefaultSelector()
        self.began = self.woken = time.monotonic()
        self.last_sign = 0.0
        self.marks: dict[str, float] = {}
        self.process: subprocess.Popen[bytes] | None = None

    # -- input ---------------------------------------------------------------------------------

    def on_console(self, data: bytes) -> None:
        if self.console_bytes < CONSOLE_LIMIT:
            self.console.write(data[: CONSOLE_LIMIT - self.console_bytes])
        self.console_bytes += len(data)
        self.tail = (self.tail + data)[-CHUNK:]
        if self.channel.probing:
            self.trouble.listen(data)
        if not self.row.results_tty:
            self.on_results(data)

    def on_results(self, data: bytes) -> None:
        before = self.channel.frames, self.channel.started
        self.channel.feed(data)
        if before != (self.channel.frames, self.channel.started):
            self.last_sign = self._had()
        if self.channel.started:
            self._mark("init")
        if self.channel.probing:
            self._mark("probes")
        if self.channel.announced is not None:
            self.outcome.times.setdefault("end", self._now())
        else:
            self.outcome.times.pop("end", None)

    def _mark(self, stage: str) -> None:
        if stage not in self.outcome.times:
            self.outcome.times[stage], self.marks[stage] = self._now(), self._had()
            self.outcome.cpu_times[stage] = cpu_time.spent(self._pid())
            self.outcome.stage = stage

    def _now(self) -> float:
        return round(time.monotonic() - self.began, 2)

    def _pid(self) -> int:
        return self.process.pid if self.process else 0

    def _had(self) -> float:
        """Seconds of the guest's own: those in which its emulator waited for a processor of this machine are no
        sign of a hang, and are left out; but three quarters of the time at most, so that each run ends."""
        now = self._now()
        return now - min(cpu_time.waited(self._pid()), 0.75 * now)

    # -- the loop ------------------------------------------------------------------------------

    def watch(self) -> None:
        """Run until the guest ends or has to be ended, then read what is left in the pipes."""
        while not self._ended():
            self._pump(0.05 if self.results >= 0 else 0.2)
            self._hand_over()
            self._wake()
        self._kill()
        while self.selector.get_map() and self._pump(0.1):
            pass
        while self._tail():
            pass
        if self.outcome.ended in ("shutdown", "died", "hang") and self.channel.complete:
            self._whole()

    def _wake(self) -> None:
        """QEMU 7.2 with -icount sleeps for ever when its last CPU fell idle at the wrong moment, with
        a timer of the guest due: its main loop looks at the clock when something wakes it."""
        if self.qmp and "-icount" in self.row.qemu_args and time.monotonic() > self.woken + AWAKE:
            self.woken = time.monotonic()
            self.qmp.wake()

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
        return self._tail() or bool(ready)

    def _tail(self) -> bool:
        """Read what is new in the file of results."""
        data = os.read(self.results, CHUNK) if self.results >= 0 else b""
        if data:
            self.on_results(data)
        return bool(data)

    def _hand_over(self) -> None:
        """Save a waiting guest that has no snapshot yet, then give it its work."""
        task, qmp = self.task, self.qmp
        if not task.step or not qmp or not task.snapshot:
            return
        resumed = self.outcome.start == "snapshot"
        if task.step == "wait" and (qmp.running if resumed else self.channel.ready):
            self._mark("ready")
            task.step = "go" if resumed else "save"
            if not resumed:
                qmp.save(task.snapshot.part)
        elif task.step == "save" and qmp.saved:
            task.snapshot.settle(qmp.saved)
            qmp.go_on()
            task.step = "go"
        elif task.step == "go" and qmp.running:
            task.work = task.work[_write(self.line, task.work) :]
            task.step = "go" if task.work else ""
            self.outcome.times["given"], self.marks["given"] = self._now(), self._had()

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
        if self.task.unspoilt and self.trouble.answered:
            return self._end("spoilt", self.trouble.spoilt)
        return self._guest_ended() or self._too_late()

    def _whole(self) -> bool:
        """Everything that was announced has arrived; it counts only if the clock was right."""
        wrong = "" if "-icount" in self.row.qemu_args else wrong_clock(self.channel.clocks)
        return self._end("clock" if wrong else "done", wrong)

    def _finished(self, status: int) -> bool:
        channel = self.channel
        if channel.complete:
            return self._whole()
        if channel.announced is None:
            return self._end("incomplete", f"run.sh ended with status {status} and no end marker")
        refused = f"; refused: {channel.refused[0]}" if channel.refused else ""
        return self._end(
            "incomplete", f"{channel.frames} of {channel.announced} files arrived{refused}"
        )

    def _guest_ended(self) -> bool:
        """Has the guest or the emulator ended?"""
        gone = self.process is not None and _exited(self.process)
        if not gone and not (self.qmp and self.qmp.ended):
            return False
        self._drain()
        word = self.qmp.ended if self.qmp else ""
        panic = PANIC.search(self.tail)
        if panic or word in ("panic", "reset"):
            said = printable(panic[1]) if panic else "reset without a panic message"
            return self._end("panic", said)
        if word == "shutdown" or (self.row.arch.runner == "uml" and self.channel.started):
            return self._end("shutdown", "the guest powered off before its end marker")
        return self._end("died", f"the emulator ended by itself: {word or self._last_line()}")

    def _drain(self) -> None:
        for _ in range(200):
            if not self.selector.get_map() or not self._pump(0.05):
                return

    def _last_line(self) -> str:
        """What the emulator said last; before the registers that it lists at a fatal error."""
        fatal = FATAL.findall(self.tail)
        if fatal:
            return printable(fatal[-1])[:200]
        lines = printable(self.tail.replace(b"\r", b"")).split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "no output")

    def _too_late(self) -> bool:
        row, stage, had = self.row, self.outcome.stage, self._had()
        if stage == "boot" and had > row.boot_timeout:
            return self._end("hang", f"init did not speak within {row.boot_timeout} s")
        if stage == "ready" and "given" not in self.marks and had > self.marks["ready"] + SAVING:
            return self._end("hang", f"it was not saved in {SAVING:.0f} s")
        if stage == "ready" and had > self.marks.get("given", had) + ANSWER:
            return self._end("hang", f"init said nothing for {ANSWER:.0f} s after it had its work")
        if had > row.timeout:
            return self._end("hang", f"not done after {row.timeout} s")
        if stage != "boot" and had - self.last_sign > row.stall:
            last = next(reversed(self.channel.files), "none")
            return self._end("hang", f"no file for {row.stall} s, last one: {last}")
        return False

    def _kill(self) -> None:
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    # -- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Kill and reap the emulator, and record its CPU time."""
        self._kill()
        if self.process is not None and self.process.returncode is None:
            _, status, usage = os.wait4(self.process.pid, 0)
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.outcome.cpu = round(usage.ru_utime + usage.ru_stime, 2)
        self.outcome.wall = self._now()
        self.selector.close()
        self.console.close()


def _write(line: int, data: bytes) -> int:
    """Write what the line takes now; nothing if the guest is gone, which is noticed elsewhere."""
    try:
        return os.write(line, data)
    except (BlockingIOError, BrokenPipeError):
        return 0


def _exited(process: subprocess.Popen[bytes]) -> bool:
    """Has the process ended? It is not reaped here, so that close() gets its CPU time."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
