# SPDX-License-Identifier: MIT
"""A guest in the place of a device: a kernel of the matrix that is reached by adb, or by its console
and nothing else. It runs while a command does, and ends with it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.guest import cpio, initramfs, machine, setup
from kernels.matrix import Row
from kernels.place.bundle import find_bundle
from kernels.source import adbd, emulator, fetch, image, modules

PROMPT = "board#"
START = Path(__file__).with_name("start-adbd")
NETWORK = ("virtio_pci", "virtio_net")
UP = b"@@adbd "
Say = Callable[[str], None]


@dataclass(frozen=True)
class Way:
    """How the guest is reached: by adb at a port of loopback, or by a socket for its console."""

    port: int = 0
    socket: Path | None = None
    bundle: bool = False  # it has the bundle at guest.BUNDLE
    loader: Path | None = None  # a boot loader in place of the emulator's own, as U-Boot; it can restart then

    def __post_init__(self) -> None:
        if bool(self.port) == bool(self.socket):
            raise Usage("--adb PORT or --serial SOCKET: a device is reached one way")
        if not 0 <= self.port < 65536 or (self.port and self.port < 1024):
            raise Usage(f"--adb {self.port}: a port from 1024 to 65535")
        if self.socket and (self.socket.exists() or len(str(self.socket)) > 100):
            raise Usage(f"--serial {self.socket}: a new file with a path of at most 100 characters")

    @property
    def address(self) -> str:
        return f"serial:{self.socket}" if self.socket else f"adb:127.0.0.1:{self.port}"

    def lines(self, log: Path) -> list[str]:
        """QEMU's arguments. The guest gets no network but the one port, and no way to write here."""
        if self.socket:
            return ["-chardev", f"socket,id=console,path={self.socket},server=on,wait=off", "-serial",
                    "chardev:console"]  # fmt: skip
        forward = f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:5555"
        return ["-chardev", f"file,id=console,path={log}", "-serial", "chardev:console",
                "-netdev", forward, "-device", "virtio-net-pci,netdev=net,romfile="]  # fmt: skip


def with_adbd(row: Row, fetcher: fetch.Fetcher) -> list[cpio.Entry]:
    """What the initramfs gets besides."""
    deb = fetcher.kernel(row)
    loaded = modules.modules(deb.path, NETWORK)
    return [
        cpio.file("job/start", START.read_bytes()),
        *(cpio.file(f"job/modules/{at:02}-{name}.ko", data) for at, (name, data) in enumerate(loaded)),
        *(cpio.found(path, name) for name, path in adbd.files(row.arch.apt, fetcher).items()),
    ]


@contextmanager
def standing(row: Row, way: Way, say: Say, wait: float = 240) -> Iterator[Path]:
    """While this lasts, the guest runs; its log is the file that is yielded. Raises RowError."""
    if row.unavailable or row.pmu or row.dtb or row.kernel or row.arch.runner != "qemu":
        raise Usage(f"{row.name}: only a packaged kernel in QEMU that needs nothing besides an initramfs")
    fetcher = fetch.fetcher("", False, say)
    row, kernel = emulator.private(row, fetcher), setup.find_kernel(row, fetcher)
    busybox = image.member(fetcher.busybox(row).path, image.BUSYBOX)
    more = with_adbd(row, fetcher) if way.port else []
    with tempfile.TemporaryDirectory(prefix="pm-device-") as name:
        initrd, log = Path(name, "initrd"), Path(name, "log")
        bundle = find_bundle(row.arch.bundle, False, False) if way.bundle else None
        initrd.write_bytes(initramfs.build(busybox, bundle, row.arch.console, prompt=PROMPT, more=more))
        log.touch()
        argv = [*machine.board(row, False), *way.lines(log), *machine.booted(row, kernel.path, initrd)]
        if way.loader:
            argv = [word for word in argv if word != "-no-reboot"] + ["-bios", str(way.loader)]
        guard = ["setpriv", "--pdeathsig", "KILL", "--", "prlimit", f"--fsize={machine.FILE_LIMIT}", "--"]
        with open(Path(name, "qemu"), "wb") as said, _started([*guard, *argv], said.fileno()) as guest:
            say(f"{row.name} starts; it is {way.address}")
            _wait(guest, way, log, Path(name, "qemu"), wait)
            yield log
        if way.socket:
            way.socket.unlink(missing_ok=True)


@contextmanager
def _started(argv: list[str], said: int) -> Iterator[subprocess.Popen[bytes]]:
    try:
        guest = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
        )  # fmt: skip
    except FileNotFoundError as error:
        raise Missing(f"no {error.filename}: apt-get install util-linux") from None
    try:
        yield guest
    finally:
        guest.kill()
        guest.wait()


def _wait(guest: subprocess.Popen[bytes], way: Way, log: Path, said: Path, limit: float) -> None:
    """Until adbd listens or the socket is there; what is behind the socket is the other side's matter."""
    until = time.monotonic() + limit
    while not (way.socket.exists() if way.socket else UP in log.read_bytes()):
        if guest.poll() is not None:
            raise Missing(f"the emulator ended: {_last(said)}")
        if time.monotonic() > until:
            raise Missing(f"no adbd within {limit:.0f} s; last line at the console: {_last(log)}")
        time.sleep(0.2)


def _last(file: Path) -> str:
    lines = file.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["nothing"]
    return "".join(char if char.isprintable() else "?" for char in lines[-1])[:200]


def run(row: Row, way: Way, command: list[str], say: Say) -> int:
    """Run a command while the guest is there, and return its exit status. Without one, wait for Ctrl-C."""
    with standing(row, way, say):
        if command:
            try:
                return subprocess.run(command, check=False).returncode
            except OSError as error:
                raise Usage(f"{command[0]}: {error.strerror}") from None
        say(f"./run.sh device {way.address}; Ctrl-C ends it")
        while True:
            time.sleep(3600)
