# SPDX-License-Identifier: MIT
"""Real ssh servers for tests: on loopback, in a network of their own, with keys made for them."""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from kernels.place.follow import Pace
from kernels.place.owner import Owner
from kernels.place.remote import RemotePlace
from kernels.place.ssh import SshLink

NEWNET = 0x40000000
SECURE = "/run/sshd"


S = TypeVar("S", bound="Server")


@contextmanager
def own_network() -> Iterator[None]:
    """A network in which there is nothing but loopback, for this thread and what it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as before:
        if libc.unshare(NEWNET):
            pytest.skip(f"no network of its own: {os.strerror(ctypes.get_errno())}")
        try:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            yield
        finally:
            libc.setns(before.fileno(), NEWNET)


def need(program: str, package: str) -> str:
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if not found:
        pytest.skip(f"no {program}: package {package}")
    return str(found)


def need_mounts() -> None:
    """In a plain chroot / is no mount point, and some containers lack CAP_SYS_ADMIN."""
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no mounts of its own: {done.stderr.strip()}")


def answers(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def wait_until(what: object, seconds: float = 300.0) -> None:
    until = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < until, "not in time"
        time.sleep(0.02)


@dataclass
class Server:
    """An sshd or dropbear. `command` is what every login runs in place of what it asked for;
    `inside` are words in front of the server, as unshare with its options."""

    folder: Path
    kind: str = "sshd"
    port: int = 2222
    command: str = ""
    inside: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    config: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.config = self.folder / "ssh_config"
        for key in ("host", "user"):
            if not (self.folder / key).exists():
                words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / key)]
                subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        self.config.write_text(
            f"Host *\n  IdentityFile {self.folder}/user\n  IdentitiesOnly yes\n  UserKnownHostsFile "
            f"{self.folder}/known\n  StrictHostKeyChecking accept-new\nHost board\n  HostName "
            f"127.0.0.1\n  Port {self.port}\n  User root\n"
        )

    def _argv(self) -> list[str]:
        if self.kind == "dropbear":
            key = self.folder / "dropbear"
            if not key.exists():
                maker = need("dropbearkey", "dropbear-bin")
                subprocess.run([maker, "-t", "ed25519", "-f", str(key)], check=True, capture_output=True)
            return [need("dropbear", "dropbear-bin"), "-F", "-E", "-e", "-r", str(key), "-s",
                    "-p", f"127.0.0.1:{self.port}", "-P", str(self.folder / "pid")]  # fmt: skip
        Path(SECURE).mkdir(mode=0o755, exist_ok=True)
        options = {
            "Port": self.port, "ListenAddress": "127.0.0.1", "HostKey": self.folder / "host",
            "AuthorizedKeysFile": self.folder / "user.pub", "UsePAM": "no", "StrictModes": "no",
            "PidFile": "none", "PasswordAuthentication": "no", "MaxStartups": "100", "MaxSessions": "100",
            "UseDNS": "no", "SetEnv": self.variables,
        }  # fmt: skip
        if self.command:
            options["ForceCommand"] = self.command
        words = [f"-o{key}={value}" for key, value in options.items()]
        return [need("sshd", "openssh-server"), "-D", "-e", "-f", "/dev/null", *words, *self.more]

    @property
    def variables(self) -> str:
        """What every login has in its environment: no folder where runs of other tests are. A shell that is killed
        while it reads what root has at home may leave a lock there."""
        return f"TMPDIR={self.scratch} HOME={self.folder}"

    @property
    def scratch(self) -> Path:
        """Where bundles go."""
        made = self.folder / "tmp"
        made.mkdir(exist_ok=True)
        return made

    def clear(self) -> None:
        """End what was left running when the server was taken away."""
        for path in self.scratch.glob("perfmodes.*/run/pid"):
            try:
                os.killpg(int(path.read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                pass

    def start(self) -> Server:
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.inside, *self._argv()], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env={**os.environ, "TMPDIR": str(self.scratch)},
            )  # fmt: skip
        wait_until(lambda: answers(self.port))
        return self

    def kill(self) -> None:
        """Kill the server and the processes of every connection, but not what they detached."""
        if self.process is None:    # it was not started, for a reason that is told
            return
        for pid in [*children(self.process.pid), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def link(self, host: str = "board") -> SshLink:
        return SshLink(host, self.config)

    def place(self, owner: Owner = Owner(patience=600), name: str = "board") -> RemotePlace:
        made = RemotePlace(name, self.link(), "ssh", owner, Pace(0.1, 1, 300))
        made.look()
        return made


@contextmanager
def a_device(kind: str) -> Iterator[RemotePlace]:
    """A place behind a server of that kind."""
    with tempfile.TemporaryDirectory(prefix="pm-sshd-") as folder:
        with serving(Path(folder), kind=kind) as server:
            place = server.place()
            try:
                yield place
            finally:
                place.link.close()


class Cut:
    """A way to a server, through a port of this thread's network: it cuts the first `times` connections that
    have carried more than `most` bytes, once nearly all of them have arrived. Slow enough for both ends to keep up."""

    def __init__(self, port: int, to: int, most: int, times: int) -> None:
        self.to, self.most, self.times, self.cuts, self.sent = to, most, times, 0, 0
        self.reached: Callable[[], None] = lambda: None
        self.arrived: Callable[[], float] = lambda: float("inf")  # bytes of the bundle that the server has
        self._listening = socket.create_server(("127.0.0.1", port))

    def __enter__(self) -> Cut:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *how: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                near = self._listening.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        carried, before = 0, self.arrived()
        with near, socket.create_connection(("127.0.0.1", self.to)) as far:
            while True:
                for line in select.select([near, far], [], [])[0]:
                    data = line.recv(1 << 15)
                    if not data:
                        return
                    (far if line is near else near).sendall(data)
                    if line is near:
                        carried, self.sent = carried + len(data), self.sent + len(data)
                        time.sleep(len(data) / (1 << 20))  # a megabyte a second
                if carried > self.most:
                    self.reached()
                    if self.cuts < self.times:
                        wait_until(lambda: self.arrived() >= before + carried - (1 << 19))
                        self.cuts += 1
                        return


def children(pid: int) -> list[int]:
    """The server's processes for each connection: those that still bear its name."""
    found: list[int] = []
    try:
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        below = [int(word) for task in tasks for word in task.read_text().split()]
    except OSError:
        return []
    for child in below:
        found += [child, *children(child)]
    return found


@contextmanager
def serving(folder: Path, type: type[S] = Server, **more: object) -> Iterator[S]:
    """A running server in a network of its own."""
    if os.geteuid():
        pytest.skip("a network of its own needs root")
    need("ssh-keygen", "openssh-client")
    with own_network():
        folder.mkdir(parents=True, exist_ok=True)
        server = type(folder, **more)
        if server.kind == "dropbear":
            server.inside = (*server.inside, *with_home(folder))
        if "-m" in server.inside:
            need_mounts()
        try:
            yield server.start()
        finally:
            server.kill()
            if "-p" not in server.inside:  # with processes of its own, they have ended with it
                server.clear()


def with_home(folder: Path) -> tuple[str, ...]:
    """dropbear looks for keys in the home of the user alone: root gets another one."""
    home = folder / "home" / ".ssh"
    home.mkdir(parents=True, exist_ok=True)
    for path in (home.parent, home):
        path.chmod(0o700)
    shutil.copyfile(folder / "user.pub", home / "authorized_keys")
    mount = f'mount --bind {home.parent} "$(getent passwd root | cut -d: -f6)" && exec "$@"'
    return ("unshare", "-m", "sh", "-c", mount, "sh")
