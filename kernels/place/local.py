# SPDX-License-Identifier: MIT
"""This machine as a place: run.sh of a copy of the bundle, in a temporary folder."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.errors import RowError
from kernels.place.channel import Channel, printable
from kernels.place.outcome import Outcome
from kernels.place.place import Facts, Order

CHUNK = 1 << 16
LIMIT = 3600
GRACE = 5.0  # seconds for run.sh to put back what it changed


class LocalPlace:
    """Probes that disturb or may crash the machine are not allowed here."""

    def __init__(self, name: str = "local") -> None:
        self.name = name
        self._folder: Path | None = None
        self._run: _Run | None = None

    def facts(self) -> Facts:
        return Facts(self.name, platform.machine(), record={"place": "local"})

    def health(self) -> str:
        folder = self._folder or Path(tempfile.gettempdir())
        return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} is not writable"

    @contextmanager
    def put(self, bundle: Path) -> Iterator[None]:
        with tempfile.TemporaryDirectory(prefix="pm-local-") as folder:
            shutil.copytree(bundle, Path(folder) / "bundle", symlinks=True)
            self._folder = Path(folder)
            try:
                yield
            finally:
                self._folder = self._run = None

    def run(self, order: Order, channel: Channel, stop: threading.Event) -> Outcome:
        if not self._folder:
            raise RowError("no bundle has been put here")
        if order.levels:
            raise RowError("perf_event_paranoid is not changed here")
        channel.release = channel.release or platform.release()
        self._run = _Run(Path(tempfile.mkdtemp(dir=self._folder)), channel)
        return self._run.whole(self._folder / "bundle" / "run.sh", order, stop)

    def get(self, channel: Channel) -> None:
        """Take the files that run.sh has finished but not sent."""
        out = self._run.out if self._run else None
        for path in sorted(out.rglob("*")) if out and out.is_dir() else []:
            name = str(path.relative_to(out))
            if path.is_file() and not path.is_symlink() and name not in channel.files:
                if path.suffix != ".part":
                    channel.take(name, path.read_bytes()[: channel.limits.file + 1])


class _Run:
    """One run.sh with its folder and its stream of finished files."""

    def __init__(self, folder: Path, channel: Channel) -> None:
        self.out, self.stream, self.temporary = folder / "out", folder / "stream", folder / "tmp"
        self.temporary.mkdir()
        self.stream.touch()
        self.channel = channel
        self.outcome = Outcome(stage="init")
        self.began = time.monotonic()

    def whole(self, program: Path, order: Order, stop: threading.Event) -> Outcome:
        with open(self.channel.log, "wb") as log, open(self.stream, "rb", buffering=0) as stream:
            process = subprocess.Popen(
                [str(program), *self._words(order)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.temporary)},
            )
            try:
                limit = order.limit or LIMIT
                while not self._over(process, stream.read(CHUNK), limit, stop):
                    pass
            finally:
                self._end(process)
            while self._feed(stream.read(CHUNK)):
                pass
        if not self.outcome.ended:
            self._finished(process.returncode)
        self.outcome.wall = self._now()
        return self.outcome

    def _words(self, order: Order) -> list[str]:
        """Arguments for run.sh. A plan is resumed, as if a run had been interrupted right before
        it."""
        first = ["--suite", order.suite]
        if order.plan:
            first = ["--resume"]
            self.out.mkdir()
            plan = "".join(f"{persona} {probe}\n" for persona, probe in order.plan)
            (self.out / "plan").write_text(plan)
            (self.out / "env").write_text(f"suite={order.suite}\n")
            (self.out / "catalogue").touch()
        return [*first, *order.args, "--out", str(self.out), "--tee", str(self.stream)]

    def _now(self) -> float:
        return round(time.monotonic() - self.began, 2)

    def _feed(self, data: bytes | None) -> bool:
        self.channel.feed(data or b"")
        if self.channel.probing and self.outcome.stage != "probes":
            self.outcome.stage = "probes"
            self.outcome.times["probes"] = self._now()
        return bool(data)

    def _over(
        self,
        process: subprocess.Popen[bytes],
        data: bytes | None,
        limit: int,
        stop: threading.Event,
    ) -> bool:
        """True if the run has ended or has to be ended. Waits a moment if nothing is new."""
        fed = self._feed(data)
        if stop.is_set():
            raise KeyboardInterrupt
        if self.channel.flood:
            self.outcome.ended, self.outcome.reason = "flood", self.channel.flood
        elif self._now() > limit:
            self.outcome.ended, self.outcome.reason = "hang", f"not done after {limit} s"
        elif not fed:
            return self._exited(process)
        return bool(self.outcome.ended)

    def _exited(self, process: subprocess.Popen[bytes], seconds: float = 0.05) -> bool:
        """Has run.sh ended? It is not reaped yet, so that its process id stays its own."""
        until = time.monotonic() + seconds
        while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Let run.sh restore what it changed, then kill what is left of its session."""
        if not self._exited(process, 0):
            os.killpg(process.pid, signal.SIGTERM)
            self._exited(process, GRACE)
        os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.outcome.cpu = round(usage.ru_utime + usage.ru_stime, 2)

    def _finished(self, status: int) -> None:
        channel = self.channel
        if status == 0 and channel.complete:
            self.outcome.ended = "done"
            return
        said = printable(channel.log.read_bytes()[-2000:]).strip().splitlines()
        why = said[-1][:200] if said else "no message"
        if channel.refused:
            why = f"refused: {channel.refused[0]}"
        self.outcome.ended = "incomplete"
        self.outcome.reason = f"run.sh ended with status {status}: {why}"
