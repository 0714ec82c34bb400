# SPDX-License-Identifier: MIT
"""What a guest in the place of a device is made of; test_slow_device.py starts some."""

from __future__ import annotations

import lzma
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from debs import make_deb

from kernels import cli
from kernels.errors import Missing, Refused, Usage
from kernels.lab.device import Way, _last, _wait
from kernels.place.bring import agent_call
from kernels.source import adbd, modules

KERNEL = "lib/modules/9.9.9/kernel"


def module(*depends: str) -> bytes:
    return b"\x7fELF..license=GPL\0depends=" + ",".join(depends).encode() + b"\0name=x\0"


def test_modules_come_after_those_they_need(tmp_path: Path) -> None:
    deb = make_deb(tmp_path, {
        f"{KERNEL}/drivers/net/virtio_net.ko": module("net-failover", "virtio"),
        f"{KERNEL}/drivers/net/net-failover.ko.xz": lzma.compress(module("failover")),
        f"{KERNEL}/net/core/failover.ko": module(),
        f"{KERNEL}/drivers/other.ko": module("virtio_net"),
        "lib/modules/9.9.9/modules.builtin": b"kernel/drivers/virtio/virtio.ko\n",
    })  # fmt: skip
    found = modules.modules(deb, ["virtio_net", "virtio"])
    assert [name for name, _ in found] == ["failover", "net_failover", "virtio_net"]
    assert dict(found)["net_failover"] == module("failover")
    with pytest.raises(Missing, match="no module virtio_pci"):
        modules.modules(deb, ["virtio_pci"])


def test_a_damaged_module_is_refused(tmp_path: Path) -> None:
    deb = make_deb(tmp_path, {f"{KERNEL}/drivers/net/virtio_net.ko.xz": b"\xfd7zXZ\0 but no more"})
    with pytest.raises(Refused, match="virtio_net"):
        modules.modules(deb, ["virtio_net"])


def test_the_daemon_and_what_its_linker_looks_at(tmp_path: Path) -> None:
    names = (adbd.PROGRAM, "lib/t/libc.so.6", "usr/lib/t/android/libbase.so.0", "usr/lib/t/libz.so.1.2",
             "usr/lib/t/gconv/EUC.so", "usr/share/doc/x.so")  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "lib/ld-t.so.1").symlink_to("/nowhere/on/this/machine")
    assert sorted(adbd.chosen(tmp_path)) == [
        "bin/adbd", "lib/ld-t.so.1", "lib/t/libc.so.6", "usr/lib/t/android/libbase.so.0", "usr/lib/t/libz.so.1.2",
    ]  # fmt: skip
    (tmp_path / adbd.PROGRAM).unlink()
    with pytest.raises(Refused, match="no usr/lib"):
        adbd.chosen(tmp_path)


def test_one_way_in_and_none_out(tmp_path: Path) -> None:
    by_adb, console = Way(16555), Way(socket=tmp_path / "console")
    assert by_adb.address == "adb:127.0.0.1:16555" and console.address == f"serial:{tmp_path}/console"
    assert "restrict=on,hostfwd=tcp:127.0.0.1:16555-:5555" in " ".join(by_adb.lines(tmp_path / "log"))
    assert not any("net" in word for word in console.lines(tmp_path / "log"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["amd64-5.10"], "one way"),
        (["--adb", "16555", "--serial", "/tmp/x", "amd64-5.10"], "one way"),
        (["--adb", "80", "amd64-5.10"], "a port from 1024"),
        (["--adb", "65536", "amd64-5.10"], "a port from 1024"),
        (["--serial", "/etc/passwd", "amd64-5.10"], "a new file"),
        (["--serial", "/tmp/" + "x" * 100, "amd64-5.10"], "a new file"),
        (["--adb", "16555", "uml"], "packaged kernel in QEMU"),
        (["--adb", "16555", "amd64-*"], "one row"),
    ],
)
def test_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lab", "device", *words]) == 2 and said in capsys.readouterr().err


def test_a_port_is_not_both() -> None:
    with pytest.raises(Usage, match="one way"):
        Way()


def test_the_last_line_has_no_escapes(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"first\n\x1b[31mlast\xff\n")
    assert _last(tmp_path / "log") == "?[31mlast\ufffd"


def test_a_shell_that_has_no_path_of_its_own(tmp_path: Path) -> None:
    """Debian's static busybox calls its shell `sh`: a script that begins with #!sh cannot be run."""
    busybox = shutil.which("busybox")
    if not busybox:
        pytest.skip("no busybox: package busybox-static")
    tools, base = tmp_path / "bin", tmp_path / "base"
    tools.mkdir()
    base.mkdir()
    subprocess.run([busybox, "--install", "-s", str(tools)], check=True)
    env = {"PATH": str(tools), "TMPDIR": str(base)}
    ask = [busybox, "sh", "-c", agent_call("folder", 1, base)]
    done = subprocess.run(ask, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith(f"{base}/perfmodes."), done.stdout


def test_a_stand_in_is_waited_for_until_its_limit(tmp_path: Path) -> None:
    log, said = tmp_path / "log", tmp_path / "qemu"
    log.write_text("booting\n")

    class Guest:
        """It makes its socket when it is looked at for the second time."""

        looks = 0

        def poll(self) -> None:
            self.looks += 1
            if self.looks == 2:
                (tmp_path / "socket").touch()

    guest: Any = Guest()
    _wait(guest, Way(socket=tmp_path / "socket"), log, said, 1000)
    with pytest.raises(Missing, match="no adbd within -1 s; last line at the console: booting"):
        _wait(guest, Way(port=5555), log, said, -1)
