# SPDX-License-Identifier: MIT
"""A link by the system's adb, to the one device of a serial number.

A server that runs already is used as it is, since it holds the USB devices; without one we start a
server on a port of our own, for all devices of this process, and end it after the last. Devices
from before Android 7 have a shell without exit status and with the line ends of a terminal (no
shell_v2): there, input comes as a file and pieces of files as text.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.place import scratch
from kernels.place.link import Answer, Lost, Talk, as_input, framed, last_line, new_word, unframed

SERIAL = re.compile(r"[A-Za-z0-9][\w.:-]{0,99}")
ADDRESS = re.compile(r"[\w.-]+:\d{1,5}")
USUAL_PORT = 5037
ADVICE = {
    "unauthorized": "accept this machine in the dialog on its screen",
    "offline": "plug it in again, or `adb reconnect offline`",
    "not found": "`adb devices` lists those that are there",
    "no permissions": "its USB device is not yours to open: see the udev rules of the package adb",
    "insufficient permissions": "its USB device is not yours to open: see the udev rules of the package adb",
}  # fmt: skip
LONG = 2000  # a service of an old device has 4096 bytes for its name, the whole command
BASES = ("/data/local/tmp", "/tmp")

# The links that use the server which we started, and its port. It is one for all of them: two servers
# would take the USB devices away from each other.
_users: dict[int, int] = {}
_server = threading.Lock()


@dataclass
class AdbLink:
    """`old` takes every device for one without shell_v2."""

    serial: str
    old: bool = False
    piece: int = 1 << 17
    slice: int = 4 << 20
    clean: bool = True
    _env: dict[str, str] = field(default_factory=dict)
    _known: bool = False
    _ours: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not SERIAL.fullmatch(self.serial):
            raise Usage(f"not the serial number of a device: {self.serial!r}")

    @property
    def names(self) -> list[str]:
        return [self.serial, self.serial.partition(":")[0]]

    @property
    def where(self) -> str:
        return self.serial

    def execute(
        self, script: str, data: Path | bytes = b"", limit: float = 60, stop: threading.Event | None = None
    ) -> Answer:
        try:
            until = time.monotonic() + limit
            self._ready(min(limit, 15))
            run = self._old if self.old else self._new
            return run(script, data, max(until - time.monotonic(), 1), stop)
        except Lost:
            self._known = False
            raise

    def send(
        self, file: Path | bytes, script: str, limit: float = 600, stop: threading.Event | None = None
    ) -> Answer:
        return self.execute(script, file, limit, stop)

    # -- the two kinds of shell ------------------------------------------------------------------

    def _new(
        self, script: str, data: Path | bytes, limit: float, stop: threading.Event | None
    ) -> Answer:
        word = new_word()
        command = f"sh -c {shlex.quote(framed(script, word))}"
        if len(script) > LONG and not data:
            command, data = "sh", framed(script, word).encode()
        return self._told(["shell", "-T", command], word, data, limit, stop)

    def _old(
        self, script: str, data: Path | bytes, limit: float, stop: threading.Event | None
    ) -> Answer:
        word, until = new_word(), time.monotonic() + limit
        if not data and len(script) <= LONG:
            return self._told(["shell", "-x", framed(script, word)], word, b"", limit, stop)
        base = self._base(limit)
        names = [f"{base}/.{word}.sh", f"{base}/.{word}.in"]
        with as_input(data) as source:
            for name, content in zip(names, (script.encode(), source.read()), strict=True):
                self._push(content, name, until)
        run = f"sh {names[0]} <{names[1]}; s=$?; rm -f {' '.join(names)}; exit $s"
        left = max(until - time.monotonic(), 1)
        return self._told(["shell", "-x", framed(run, word)], word, b"", left, stop)

    def _base(self, limit: float) -> str:
        word = new_word()
        script = f"for d in {' '.join(BASES)}; do [ ! -d $d ] || {{ echo $d; break; }}; done"
        body = self._told(["shell", "-x", framed(script, word)], word, b"", limit, None).body
        base = body.decode("ascii", "replace").strip()
        if base not in BASES:
            raise Missing(f"none of {' '.join(BASES)} is there")
        return base

    def _push(self, content: bytes, name: str, until: float) -> None:
        with tempfile.NamedTemporaryFile(prefix="pm-adb-", dir=scratch.folder()) as file:
            file.write(content)
            file.flush()
            argv = [*self._adb(), "push", file.name, name]
            _, said, status = Talk(argv, max(until - time.monotonic(), 1), None).run(b"", self._env)
        if status:
            why = Answer(status, b"", said).why
            if re.search("No space left|[Rr]ead-only|[Pp]ermission denied", said):
                raise Missing(why)
            raise Lost(why)

    def _told(
        self, words: list[str], word: str, data: Path | bytes, limit: float, stop: threading.Event | None
    ) -> Answer:
        output, said, _ = Talk([*self._adb(), *words], limit, stop, word).run(data, self._env)
        return unframed(output, word, said)

    # -- server and connection -------------------------------------------------------------------

    def _adb(self) -> list[str]:
        return ["adb", "-s", self.serial]

    def _quickly(self, *words: str, limit: float = 15) -> subprocess.CompletedProcess[str]:
        """A command of adb that talks to its server. Its output goes to a file: a server that it
        starts would hold a pipe open."""
        with as_input(b"") as output:
            try:
                done = subprocess.run(
                    words, env=self._env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    timeout=limit, check=False, start_new_session=True,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                raise Lost(f"adb: no answer within {limit:.0f} s") from None
            output.seek(0)
            told = output.read(1 << 16).decode("utf-8", "backslashreplace")
        return subprocess.CompletedProcess(words, done.returncode, told, "")

    def _ready(self, limit: float) -> None:
        """Have a server, a connection, and knowledge of the device's shell."""
        if self._known:
            return
        with self._lock:
            self._environment()
            self._quickly("adb", "start-server", limit=limit)
            met = self._quickly("adb", "connect", self.serial, limit=limit).stdout if ADDRESS.fullmatch(self.serial) else ""
            asked = self._quickly(*self._adb(), "get-state", limit=limit)
            if asked.returncode or asked.stdout.split()[-1:] != ["device"]:
                raise Lost(self.why(asked.stdout, met))
            features = self._quickly(*self._adb(), "features", limit=limit).stdout.split()
            self.old = self.old or "shell_v2" not in features
            self.clean, self._known = not self.old, True

    def why(self, said: str, met: str) -> str:
        """What adb says of a device that is not ready, and what to do. `met` is what it said of a connection."""
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        told = next((line for line in lines if line.startswith("error:")), lines[-1] if lines else "no such device")[:200]
        if "not found" in told and "failed" in met:
            return f"adb: {last_line(met)}"
        for word, advice in ADVICE.items():
            if word in told:
                return f"adb: {told.removeprefix('error: ')}; {advice}"
        return f"adb: {told.removeprefix('error: ')}"

    def _environment(self) -> None:
        if not shutil.which("adb"):
            raise Missing("no program adb; install the package adb")
        if self._env:
            return
        self._env = dict(os.environ)
        told = {"ANDROID_ADB_SERVER_PORT", "ADB_SERVER_SOCKET"} & self._env.keys()
        with _server:
            if not told and (_users or not _listening(USUAL_PORT)):
                port = next(iter(_users.values()), 0) or _free_port()
                _users[id(self)] = port
                self._env["ANDROID_ADB_SERVER_PORT"] = str(port)
                self._ours = True

    def restarted(self) -> None:
        self.close()

    def close(self) -> None:
        try:
            if self._ours:
                self._ours = False
                with _server:
                    _users.pop(id(self), None)
                    if not _users:
                        self._quickly("adb", "kill-server", limit=10)
            elif self._known and ADDRESS.fullmatch(self.serial):
                self._quickly("adb", "disconnect", self.serial, limit=10)
        except (Lost, OSError):
            pass
        self._env, self._known = {}, False


def _listening(port: int) -> bool:
    with socket.socket() as line:
        line.settimeout(1)
        return line.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    """A port that nobody listens on, out of those that adb takes for emulators."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])
