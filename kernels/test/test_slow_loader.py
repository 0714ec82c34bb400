# SPDX-License-Identifier: MIT
"""A board that boots by U-Boot, whose console has the kernel's messages in between and spoils bytes. A key
that comes while U-Boot counts down would leave it at U-Boot's prompt."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sshd import wait_until
from test_slow_device import ASKED, Verdicts, arrived, asked, direct, spoilt, wrong

from kernels import matrix
from kernels.errors import Missing
from kernels.lab import guest
from kernels.lab.device import Way, standing
from kernels.place.link import Lost
from kernels.place.serial import SerialLink

pytestmark = pytest.mark.slow
ROW = "arm64-6.1"
LOADER = Path("/usr/lib/u-boot/qemu_arm64/u-boot.bin")
NARROW = ("--suite", "quick", "--probe", "attr.*", "--persona", "user")
CHATTER = "(while :; do echo a message >/dev/kmsg; sleep 1; done) >/dev/null 2>&1 &"
RESTART = """(until [ "$(ls /tmp/perfmodes.*/run/out/user 2>/dev/null | wc -l)" -gt 9 ]; do sleep 1; done
echo b >/proc/sysrq-trigger) >/dev/null 2>&1 &"""


@pytest.fixture
def expected(tmp_path: Path) -> Verdicts:
    return direct(ROW, tmp_path / "direct", *NARROW[2:])


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Path]:
    if not LOADER.exists():
        pytest.skip("no U-Boot: .ci/install kernels-all")
    row = matrix.load().rows[ROW]
    row = replace(row, append=f"{row.append} ignore_loglevel")
    with standing(row, Way(socket=tmp_path / "tty", bundle=True, loader=LOADER), print):
        yield tmp_path / "tty"


def begun(link: SerialLink, script: str) -> None:
    """Have the board begin it."""

    def said() -> bool:
        try:
            return link.execute(script, limit=60).status == 0
        except Lost:
            return False

    wait_until(said)
    link.close()


@ASKED
def test_a_key_stops_it(console: Path) -> None:
    """What is to be avoided: the prompt of U-Boot, which is told as that."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(console))
        line.settimeout(300)
        line.sendall(b"\n" * 100)
        heard = b""
        while b"\n=> " not in heard:
            heard += line.recv(4096)
    with pytest.raises(Missing, match="a boot loader asks for commands at the console"):
        SerialLink(str(console)).execute("true", limit=60)


@ASKED
def test_it_boots_and_restarts_in_mid_run(expected: Verdicts, console: Path, tmp_path: Path) -> None:
    """It is asked as soon as it is switched on, and restarts once ten answers are there."""
    listed = tmp_path / "devices.toml"
    listed.write_text(f'''format = 1
[[device]]
name = "board"
transport = "serial"
address = "{tmp_path / 'line'}"
bundle = "{guest.BUNDLE}"
[device.owner]
patience = 900
before = ["true"]
''')
    for number, script in enumerate(("true", CHATTER, RESTART)):
        with spoilt(console, tmp_path / "line", 4000 if number else 0, number):
            if number:
                begun(SerialLink(str(tmp_path / "line")), script)
            out = tmp_path / f"out-{number}"
            assert asked("board", out, *NARROW[2:], "--inventory", str(listed)) in (0, 1)
        assert not wrong(expected, arrived(out))
        told = json.loads((arrived(out) / "boot.json").read_text())
        assert (told["guests"][0]["ended"] == "shutdown") == (script == RESTART), told
        assert told["guests"][-1]["ended"] == "done"
