# SPDX-License-Identifier: MIT
"""What is said of a device that cannot be reached or used: what is wrong, and what to do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sshd import serving

from kernels import ROOT, cli
from kernels.device import fleet
from kernels.errors import Missing
from kernels.place import scratch
from kernels.place.adb import AdbLink
from kernels.place.bring import cause
from kernels.place.link import Answer, Lost
from kernels.place.remote import RemotePlace
from kernels.place.serial import SerialLink


@pytest.mark.server
def test_an_account_that_takes_no_key_of_ours(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server:
        (server.folder / "user").unlink()
        with pytest.raises(Lost) as error:
            server.link().execute("true")
    said = str(error.value)
    assert said.startswith("root@127.0.0.1: Permission denied (publickey") and said.endswith("; ssh-copy-id board")


@pytest.mark.server
def test_a_configuration_of_ssh_that_is_wrong(tmp_path: Path) -> None:
    """The line that is, not that ssh ends for it."""
    with serving(tmp_path / "server") as server:
        lines = server.config.read_text().count("\n")
        server.config.write_text(server.config.read_text() + "  Bogus yes\n")
        with pytest.raises(Lost, match=f"ssh_config: line {lines + 1}: Bad configuration option: bogus$"):
            server.link().execute("true")


@pytest.mark.server
def test_a_name_that_the_operator_gave_is_told_to_him(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path / "server") as server:
        words = ["device", "ssh:nosuchboard.invalid", "--ssh-config", str(server.config), "--health"]
        assert cli.main(words) == 3 and "resolve hostname nosuchboard.invalid: " in capsys.readouterr().out


def place_that_says(machine: str) -> RemotePlace:
    lines = f"lacks=\nmachine={machine}\nrelease=6.1\n".encode()
    link: Any = SimpleNamespace(names=[], where="a", execute=lambda *words, **more: Answer(0, lines, "sh: 9: cannot open x"))
    return RemotePlace("a", link, "ssh")


def test_a_machine_that_is_none() -> None:
    with pytest.raises(Missing, match="^uname -m says 'x86 64' there, which is no machine$"):
        place_that_says("x86 64").look()
    with pytest.raises(Missing, match="^uname -m says nothing "):
        place_that_says("").look()


def test_a_machine_for_which_there_are_no_bundles() -> None:
    """--health says it, too, and no build is tried."""
    place = place_that_says("sparc64")
    place.look()
    said = fleet.without_bundle(place.facts().machine)
    assert said.startswith("its machine is sparc64, and bundles are made for x86_64 aarch64 ") and "CROSS_COMPILE" in said
    assert fleet.Bundles(SimpleNamespace()).of("sparc64") == said  # type: ignore[arg-type]
    assert not fleet.without_bundle("armhf") and not fleet.without_bundle("x86_64")


TAR = """tar: bundle/bin/probes: Cannot write: No space left on device
tar: Exiting with failure status due to previous errors"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (TAR, "tar: bundle/bin/probes: Cannot write: No space left on device"),
        ("sh: can't create x: Read-only file system\ntar: short read\n", "sh: can't create x: Read-only file system"),
        ("tar: short read\n", "tar: short read"),
        ("", "status 2"),
    ],
)
def test_why_nothing_can_be_written(said: str, told: str) -> None:
    assert cause(Answer(2, b"", said)) == told


@pytest.mark.parametrize(
    ("said", "met", "told"),
    [
        ("error: device 'X' not found\n", "", "adb: device 'X' not found; `adb devices` lists those that are there"),
        ("error: device 'X' not found\n", "failed to connect to '10.0.0.9:5555': No route to host\n",
         "adb: failed to connect to '10.0.0.9:5555': No route to host"),
        ("error: device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\nTry 'adb kill-server' if that seems wrong.\n"
         "Otherwise check for a confirmation dialog on your device.\n", "",
         "adb: device unauthorized.; accept this machine in the dialog on its screen"),
        ("error: device offline\n", "", "adb: device offline; plug it in again, or `adb reconnect offline`"),
        ("error: insufficient permissions for device: user in plugdev group; are your udev rules wrong?\n"
         "See [http://developer.android.com/tools/device.html] for more information\n", "",
         "adb: insufficient permissions for device: user in plugdev group; are your udev rules wrong?; its USB device "
         "is not yours to open: see the udev rules of the package adb"),
        ("recovery\n", "", "adb: recovery"),
        ("", "", "adb: no such device"),
    ],
)  # fmt: skip
def test_what_adb_says_of_a_device_that_is_not_ready(said: str, met: str, told: str) -> None:
    assert AdbLink("X").why(said, met) == told


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"", "^the console is silent: is the device on, and its cable the one of "),
        (b"\x80\xf8\x00\xfe\xe0\x98\x06" * 20, "^only garbage comes from the console: is 115200 its speed"),
        (b"\r\n\x1b[1mU-Boot 2023.01\x1b[0m\r\n=> ", "^no answer at the console; last line: '.*=> '$"),
    ],
)
def test_a_console_without_a_shell(tmp_path: Path, sent: bytes, told: str) -> None:
    """A line at whose other end something else is, or nothing."""
    path = tmp_path / "line"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        near: list[socket.socket] = []

        def accept() -> None:
            near.append(server.accept()[0])
            near[0].sendall(sent)

        thread = threading.Thread(target=accept)
        thread.start()
        link = SerialLink(str(path), again=0.2)
        with pytest.raises(Lost, match=told):
            link.execute("true", limit=2)
        thread.join()
        link.close()
        near[0].close()


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_what_is_no_serial_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    path.touch() if kind == "file" else os.mkfifo(path)
    with pytest.raises(Lost, match="not a serial line$"):
        SerialLink(str(path)).execute("true", limit=2)
    assert kind == "pipe" or path.read_bytes() == b""


@pytest.mark.server
def test_a_long_name_of_the_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket's name has no more than 107 characters."""
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with serving(tmp_path / "server") as server, scratch.scratch():
        link = server.link()
        assert link.execute("echo well").body == b"well\n"
        link.close()


KILLED = "from kernels.place import scratch; import os, signal\nwith scratch.scratch(): scratch.made('ssh'); {end}"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files whose name is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="pm-short-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_the_next_command_removes_what_a_killed_one_has_left(short: Path) -> None:
    """Not what one that lives has made, nor what is only called so."""

    def command(end: str) -> subprocess.Popen[str]:
        argv, env = [sys.executable, "-c", KILLED.format(end=end)], {**os.environ, "TMPDIR": str(short)}
        return subprocess.Popen(argv, cwd=ROOT, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    alive = command("print(scratch.folder(), flush=True); input()")
    assert alive.stdout and alive.stdin
    kept = Path(alive.stdout.readline().strip())
    assert command("os.kill(os.getpid(), signal.SIGKILL)").wait() == -9
    (short / "pm-command-link").symlink_to("/etc")
    (short / "pm-command-file").touch()
    left = {path.name for path in short.glob("pm-command-*")}
    assert len(left) == 4
    with scratch.scratch():
        now = {path.name for path in short.glob("pm-command-*")}
        assert now & left == {kept.name, "pm-command-link", "pm-command-file"} and list(kept.glob("ssh-*"))
    alive.stdin.write("\n")
    alive.stdin.close()
    assert alive.wait() == 0 and not kept.exists()
