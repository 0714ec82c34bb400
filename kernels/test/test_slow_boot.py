# SPDX-License-Identifier: MIT
"""A real kernel in a real emulator, a tiny script for run.sh. `pytest -m slow kernels/test`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels import matrix
from kernels.guest import initramfs, machine
from kernels.guest.boot import boot
from kernels.guest.watch import Task
from kernels.matrix import Row
from kernels.place import work
from kernels.place.channel import Channel
from kernels.place.outcome import Outcome
from kernels.place.place import Order
from kernels.source import fetch, image

TREE = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow
RUN = """#!/bin/sh
while [ "$1" != --tee ]; do shift; done
printf 'release=%s\\n' "$(uname -r)" > /tmp/env
# shellcheck disable=SC2046
set -- "$2" $(cksum < /tmp/env)
printf '@@file root/x.ktap %s %s\\n' "$3" "$2" >> "$1"
cat /tmp/env >> "$1"
echo >> "$1"
"""
END = "echo '@@end 1' >> \"$1\"\n"
ENDS = {
    "done": END,
    "panic": "echo c > /proc/sysrq-trigger\n",
    "shutdown": "poweroff -f\n",
    "hang": "exec sleep 1000\n",
    "flood": "while :; do echo 0123456789abcdef0123456789abcdef; done >> \"$1\"\n",
    "garbage": "cat /dev/urandom >> \"$1\"\n",
}


def prepared(name: str, how: str, folder: Path) -> tuple[Row, Path, bytes]:
    """A row of the list, its kernel, and an initramfs whose run.sh ends so."""
    row = replace(matrix.load().rows[name], timeout=240, stall=5 if how == "hang" else 40)
    fetcher = fetch.fetcher()
    deb = fetcher.kernel(row)
    kernel = image.kernel_file(deb.path, deb.package.sha256, row.arch.unpack, fetcher.cache)
    (folder / "bundle").mkdir()
    (folder / "bundle" / "run.sh").write_text(RUN + ENDS[how])
    (folder / "bundle" / "run.sh").chmod(0o755)
    busybox = image.member(fetcher.busybox(row).path, image.BUSYBOX)
    initrd = initramfs.build(busybox, folder / "bundle", machine.channel_name(row))
    return row, kernel, initrd


def go(name: str, how: str, folder: Path) -> tuple[Outcome, Channel]:
    row, kernel, initrd = prepared(name, how, folder)
    channel, task = Channel(folder / "out"), Task(work.text(Order("default", levels=("-1",))))
    return boot(row, kernel, initrd, channel, folder / "console.log", task), channel


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("amd64-5.10", "done"),
        ("amd64-5.10", "panic"),
        ("amd64-5.10", "shutdown"),
        ("amd64-5.10", "hang"),
        ("amd64-5.10", "flood"),
        ("amd64-5.10", "garbage"),
        ("amd64-newest", "done"),
        ("uml", "done"),
        ("uml", "panic"),
    ],
)
def test_a_guest_that_ends_so_is_reported_so(name: str, how: str, tmp_path: Path) -> None:
    if name.startswith("amd64"):
        machine.program(matrix.load().rows[name])
    outcome, channel = go(name, how, tmp_path)
    ended = "flood" if how == "garbage" else how
    assert (outcome.ended, outcome.stage) == (ended, "probes"), (
        outcome,
        (tmp_path / "console.log").read_text(),
    )
    assert (tmp_path / "out" / "root" / "x.ktap").read_text() == f"release={channel.release}\n"
