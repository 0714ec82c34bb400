# SPDX-License-Identifier: MIT
"""A device that stands still in the middle of a state of a run, so that a fault can come then; and the
command that meets it, in a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sshd import Server, children

from kernels import ROOT

BOOT = "/proc/sys/kernel/random/boot_id"
MIB = 1 << 20

# A program that the agent starts in a state and hardly in another, and a word of its arguments.
STATES = {
    "look": ("id", "-u"),
    "bring": ("tar", "-xf"),
    "run": ("setsid", "supervise"),
    "follow": ("wait_here", ""),  # a probe of the tiny bundle
    "fetch": ("find", "-type"),
    "remove": ("rm", "-rf /"),
}
HELD = """#!/bin/sh
case "$*" in *'{word}'*) [ ! -e {folder}/hold ] || ! mkdir {folder}/at 2>/dev/null || until [ -e {folder}/go ]; do
	sleep 0.05; done ;; esac
exec {real} "$@"
"""
DATE = """#!/bin/sh
[ ! -e {folder}/jumped ] || set -- -d '1 year' "$@"
exec {real} "$@"
"""
COMMAND = """
import sys
from pathlib import Path
from kernels import cli
from kernels.device import command, fleet
from kernels.place.follow import Pace
for where in (command, fleet):
    where.bundles = lambda machines, *rest: dict.fromkeys(machines, Path(sys.argv[1]))
command.PACE = Pace(0.1, 1, float(sys.argv[2]))
sys.exit(cli.main(["device", *sys.argv[3:]]))
"""


@dataclass
class Machine(Server):
    """A server with processes and a boot id of its own. With `small`, its disk is one of so many MiB that is
    empty after a restart."""

    small: int = 0
    state: str = ""
    tools: Path = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tools = self.folder / "tools"
        self.tools.mkdir(exist_ok=True)
        (self.folder / "boot_id").write_text("00000000-first\n")
        disk = f"mount -t tmpfs -o size={self.small}m none {self.scratch} &&" if self.small else ""
        script = f'mount -t proc proc /proc && mount --bind {self.folder}/boot_id {BOOT} && {disk} exec "$@"'
        self.inside = ("unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", script, "sh")
        self._tool("wait_here", "#!/bin/sh\n", "")
        if self.state:
            self._tool(STATES[self.state][0], HELD, STATES[self.state][1])
        self._tool("date", DATE, "")

    def _tool(self, name: str, text: str, word: str) -> None:
        made = self.tools / name
        made.write_text(text.format(folder=self.folder, word=word, real=shutil.which(name) or "true"))
        made.chmod(0o755)

    @property
    def variables(self) -> str:
        return f"{super().variables} PATH={self.tools}:{os.environ['PATH']}"

    @property
    def processes(self) -> list[int]:
        """The first is the server itself, which is the first of its machine."""
        return children(self.process.pid) if self.process else []

    @property
    def shells(self) -> list[int]:
        """What runs there and is not the server."""
        return [pid for pid in self.processes[1:] if name_of(pid) not in ("sshd", "")]

    @property
    def disk(self) -> Path:
        """Where bundles go, as it is seen there."""
        return Path(f"/proc/{self.processes[0]}/root{self.scratch}")

    def hold(self) -> None:
        (self.folder / "hold").touch()

    def is_held(self) -> bool:
        return (self.folder / "at").exists()

    def go(self) -> None:
        (self.folder / "go").touch()

    # The faults. Each is over when back() has returned.

    def cut(self) -> None:
        """The network drops every connection; what runs there does not."""
        send(signal.SIGKILL, [pid for pid in self.processes[1:] if name_of(pid) == "sshd"])

    def gone(self) -> None:
        self.kill()

    def reboot(self) -> None:
        self.kill()
        (self.folder / "boot_id").write_text(f"{time.monotonic_ns():08}-again\n")
        self.start()

    def hang(self) -> None:
        send(signal.SIGSTOP, self.processes)

    def fill(self) -> None:
        """Whatever was left to be written on."""
        with open(self.disk / "full", "wb", 0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def kill_shells(self) -> None:
        send(signal.SIGKILL, self.shells)

    def jump(self) -> None:
        (self.folder / "jumped").touch()

    def back(self) -> None:
        """The device is well again."""
        (self.folder / "hold").unlink(missing_ok=True)
        self.go()
        if not self.processes:
            (self.folder / "boot_id").write_text(f"{time.monotonic_ns():08}-again\n")
            self.start()
        send(signal.SIGCONT, self.processes)
        (self.disk / "full").unlink(missing_ok=True)

    def left(self) -> list[str]:
        """Folders of ours there, and processes that are not the server's."""
        return [path.name for path in self.disk.iterdir() if path.name != "full"] + [name_of(pid) for pid in self.shells]


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def send(number: int, pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


@dataclass
class Command:
    """`run.sh device` with a tiny bundle. All that it makes here is below `home`. After `limit` seconds
    without an answer a device hangs."""

    home: Path
    bundle: Path
    limit: float = 8.0

    def __post_init__(self) -> None:
        for name in ("tmp", "state"):
            (self.home / name).mkdir(parents=True, exist_ok=True)

    def start(self, *words: str) -> subprocess.Popen[str]:
        env = {**os.environ, "TMPDIR": str(self.home / "tmp"), "XDG_STATE_HOME": str(self.home / "state")}
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(self.bundle), str(self.limit), *words], cwd=ROOT, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def run(self, *words: str) -> tuple[int, str]:
        process = self.start(*words)
        said = process.communicate(timeout=300)[0]
        return process.returncode, said

    def left(self) -> list[str]:
        """Files of it here, and processes that know them."""
        return [path.name for path in (self.home / "tmp").iterdir()] + [*self._processes()]

    def _processes(self) -> Iterator[str]:
        mine = str(self.home / "tmp").encode()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                known = mine in (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
            except OSError:
                continue
            if known:
                yield name_of(int(path.name))
