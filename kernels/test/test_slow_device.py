# SPDX-License-Identifier: MIT
"""Guests in the place of devices: a real adbd on old kernels, and a board that has a console and
nothing else. Verdicts and reasons are those of a direct run of the same kernel."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sshd import need, own_network
from test_serial import Line

from kernels import cli, matrix
from kernels.errors import Missing
from kernels.lab import guest
from kernels.lab.device import Way, standing
from kernels.place.bundle import find_bundle

pytestmark = pytest.mark.slow
SUITE = "quick"
ASKED = pytest.mark.skipif(
    "PERFMODES_GUEST_DEVICES" not in os.environ, reason="minutes each: PERFMODES_GUEST_DEVICES=1 asks for it"
)
Verdicts = dict[tuple[str, str, str], Any]


def verdicts(folder: Path) -> Verdicts:
    personas = json.loads((folder / "result.json").read_text())["personas"]
    return {
        (who, probe, point): told["verdict"]
        for who, one in personas.items()
        for probe, body in one["probes"].items()
        for point, told in body["points"].items()
    }


def direct(row: str, folder: Path, *more: str) -> Verdicts:
    """By the channel of guests. 1: a verdict is unexpected, which is for others to judge."""
    words = ["--suite", SUITE, "--paranoid", "kernel", "--no-disturb", "--out", str(folder), *more, row]
    assert cli.main(["run", *words]) in (0, 1)
    return verdicts(folder / row)


def wrong(expected: Verdicts, folder: Path) -> dict[tuple[str, str, str], object]:
    """Points with another verdict than directly. The agent takes time from a guest with one CPU: a few
    tests may be ended by their time limit, which is unknown and says so."""
    personas = json.loads((folder / "result.json").read_text())["personas"]
    made, late = verdicts(folder), 0
    differ: dict[tuple[str, str, str], object] = {key: None for key in expected.keys() ^ made.keys()}
    for key in expected.keys() & made.keys():
        told = personas[key[0]]["probes"][key[1]]["points"][key[2]]
        if made[key] != expected[key]:
            timeout = made[key] == "unknown" and "timeout" in (told.get("reason") or "")
            late += timeout
            differ |= {} if timeout and late <= len(expected) // 100 else {key: told}
    return differ


def test_a_wrong_verdict_is_noticed(tmp_path: Path) -> None:
    """A rare time limit is no wrong verdict; any other difference is, and so is a missing point."""
    points = {"a": {"verdict": "yes"}, "b": {"verdict": "unknown", "reason": "Test terminated by timeout"}}
    told = {"personas": {"root": {"probes": {"x.y": {"points": points}}}}}
    (tmp_path / "result.json").write_text(json.dumps(told))
    a, b, c = (("root", "x.y", name) for name in "abc")
    assert list(wrong({a: "no", b: "unknown"}, tmp_path)) == [a]
    assert list(wrong({a: "yes", b: "yes"}, tmp_path)) == [b], "one of two is more than a few"
    assert list(wrong({a: "yes", b: "unknown", c: "yes"}, tmp_path)) == [c]


def asked(address: str, folder: Path, *more: str) -> int:
    return cli.main(["device", address, "--suite", SUITE, "--out", str(folder), *more])


def arrived(folder: Path) -> Path:
    (made,) = (path.parent for path in folder.glob("*/boot.json"))
    return made


@pytest.fixture
def alone() -> Iterator[None]:
    if os.geteuid():
        pytest.skip("a network of its own needs root")
    need("adb", "adb")
    with own_network():
        yield


@ASKED
@pytest.mark.parametrize("row", ["amd64-5.10", "arm64-5.10"])
def test_by_adb_as_directly(row: str, alone: None, tmp_path: Path) -> None:
    expected = direct(row, tmp_path / "direct")
    with standing(matrix.load().rows[row], Way(16555), print) as log:
        assert asked("adb:127.0.0.1:16555", tmp_path / "adb") in (0, 1)
        assert b"@@adbd 5.10." in log.read_bytes()
    assert len(expected) > 1000 and verdicts(arrived(tmp_path / "adb")) == expected


def test_a_daemon_that_does_not_start_is_told(tmp_path: Path) -> None:
    """No time to boot in: the error says what is missing and what the console said last."""
    with pytest.raises(Missing, match="no adbd within 0 s"):
        with standing(matrix.load().rows["amd64-5.10"], Way(16556), print, wait=0):
            raise AssertionError("not reached")


@contextmanager
def spoilt(console: Path, path: Path, rate: int, seed: int) -> Iterator[Line]:
    """A line between a guest's console and a socket of ours, which spoils one byte in `rate`."""
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.connect(str(console))
        line = Line(theirs.fileno(), path, rate)
        line.chance.seed(seed)
        thread = threading.Thread(target=line.serve)
        thread.start()
        try:
            assert line.ready.wait(300)
            yield line
        finally:
            line.ended.set()
            thread.join()
            path.unlink(missing_ok=True)


@ASKED
def test_a_console_and_nothing_else(tmp_path: Path) -> None:
    """A clean line first; then lines that drop, double and invent bytes: the same verdicts, or a
    clear error."""
    row, narrow = "amd64-5.10", ("--probe", "perm.*", "--probe", "attr.*")
    expected = direct(row, tmp_path / "direct", *narrow)
    console, address = tmp_path / "tty", tmp_path / "line"
    with standing(matrix.load().rows[row], Way(socket=console, bundle=True), print):
        narrow += ("--bundle", guest.BUNDLE)
        for number, rate in enumerate((0, 4000, 2000)):
            out = tmp_path / f"by-{rate}"
            with spoilt(console, address, rate, number) as line:
                status = asked(f"serial:{address}", out, *narrow)
            assert bool(line.spoiled) == bool(rate)
            assert status in (0, 1) if not rate else status in (0, 1, 3)
            if status != 3:
                assert not wrong(expected, arrived(out))


def alignments(bundle: Path) -> set[int]:
    """Of the segments of every program: the largest page that each can be loaded with."""
    programs = [path for path in (bundle / "bin").rglob("*") if path.is_file() and not path.is_symlink()]
    programs = [path for path in programs if path.read_bytes()[:4] == b"\x7fELF"]
    assert programs
    said = subprocess.run(["readelf", "-lW", *programs], capture_output=True, text=True, check=True).stdout
    return {int(line.split()[-1], 16) for line in said.splitlines() if line.split()[:1] == ["LOAD"]}


def test_pages_of_16_kib_on_arm64() -> None:
    """As Android has them beside 4 KiB. The linker's default on x86-64 shows that this can fail."""
    assert min(alignments(find_bundle("aarch64", True, True))) >= 16 << 10
    assert min(alignments(find_bundle("x86_64", True, True))) == 4 << 10
