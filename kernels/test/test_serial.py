# SPDX-License-Identifier: MIT
"""Places behind a console: a shell on a terminal, and a line that drops, doubles and invents bytes."""

from __future__ import annotations

import hashlib
import os
import pty
import random
import select
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fake_place import FIRST, KTAP, STEPS

from kernels.errors import Missing, Usage
from kernels.place import line, loader
from kernels.place.channel import Channel
from kernels.place.follow import Pace
from kernels.place.link import Lost
from kernels.place.loader import Loader
from kernels.place.owner import Owner
from kernels.place.place import Order
from kernels.place.remote import RemotePlace
from kernels.place.serial import SerialLink
from kernels.place.steps import answer

ALL = sorted([*FIRST, *map(answer, STEPS)])


@dataclass
class Line:
    """Carries bytes between a console and a socket, and spoils one in `rate` of them."""

    console: int
    path: Path
    rate: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(11))
    spoiled: int = 0
    ready: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    tcp: bool = False
    port: int = 0

    def serve(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) if self.tcp else socket.socket(socket.AF_UNIX) as server:
            if self.tcp:
                self.port = server.getsockname()[1]
            else:
                server.bind(str(self.path))
            server.listen(1)
            server.settimeout(0.2)
            self.ready.set()
            while not self.ended.is_set():
                try:
                    line, _ = server.accept()
                except TimeoutError:
                    continue
                with line:
                    self._carry(line)

    def _carry(self, line: socket.socket) -> None:
        while not self.ended.is_set():
            for ready in select.select([line.fileno(), self.console], [], [], 0.2)[0]:
                other = self.console if ready == line.fileno() else line.fileno()
                try:
                    data = os.read(ready, 4096)
                    if not data:
                        return
                    os.write(other, self.spoil(data))
                except OSError:
                    return

    def spoil(self, data: bytes) -> bytes:
        made = bytearray()
        for byte in data:
            if not self.rate or self.chance.randrange(self.rate):
                made.append(byte)
                continue
            self.spoiled += 1
            made += self.chance.choice([b"", bytes([byte, byte]), bytes([byte]) + b"\xff\x00[  1.0] oops: x\r\n"])
        return bytes(made)


@dataclass
class Board:
    """A shell on a terminal of its own, reached by a line."""

    line: Line
    shell: subprocess.Popen[bytes]

    def place(self, folder: Path | str = "", patience: int = 30) -> RemotePlace:
        owner = Owner(folder=str(folder), patience=patience)
        link = SerialLink(str(self.line.path), again=0.5)
        return RemotePlace("console", link, "serial", owner, Pace(0.1, 1, 60))


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        ["sh", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "PS1": "board# ", "ENV": ""},
    )  # fmt: skip
    os.close(theirs)
    line = Line(ours, tmp_path / "line")
    thread = threading.Thread(target=line.serve)
    thread.start()
    assert line.ready.wait(300)
    try:
        yield Board(line, shell)
    finally:
        line.ended.set()
        thread.join()
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
        os.close(ours)


@pytest.mark.parametrize("address", ["", "tty", "/dev/ttyS0@1", "/dev/ttyS0@x", "tcp:host", "tcp:-x:1", "tcp:h:1@x"])
def test_no_address(address: str) -> None:
    with pytest.raises(Usage, match="not /PATH"):
        SerialLink(address)


def test_a_console_server() -> None:
    assert SerialLink("tcp:[::1]:4001@300").names == ["::1"]
    with pytest.raises(Lost, match="tcp:127.0.0.1:1: "):
        SerialLink("tcp:127.0.0.1:1").execute("true", limit=20)


def test_a_script_by_a_console_server(board: Board, tmp_path: Path) -> None:
    """The line is one of TCP."""
    other = Line(board.line.console, tmp_path / "none", tcp=True)
    board.line.ended.set()
    thread = threading.Thread(target=other.serve)
    thread.start()
    try:
        assert other.ready.wait(300)
        link = SerialLink(f"tcp:127.0.0.1:{other.port}@115200", again=0.5)
        said = link.execute("cat; exit 7", b"in\n\0\1\377", limit=120)
        assert (said.status, said.body) == (7, b"in\n\0\1\377")
        link.close()
    finally:
        other.ended.set()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0, 2500])
def test_a_script_an_answer(board: Board, rate: int) -> None:
    board.line.rate = rate
    link = board.place().link
    said = link.execute("cat; printf 'a\\r\\n\\0\\377'; echo oh >&2; exit 7", b"in\n\0\1", limit=120)
    assert (said.status, said.body, said.why) == (7, b"in\n\0\1a\r\n\0\377", "oh")
    count = link.execute("echo x >>/tmp/.pm-$$; wc -l </tmp/.pm-$$; rm /tmp/.pm-$$", limit=120)
    assert count.body.strip() == b"1", "no command is carried out twice"
    big = bytes(random.Random(1).randrange(256) for _ in range(2000))
    assert link.execute("cat", big, limit=200).body == big
    assert bool(board.line.spoiled) == bool(rate)
    link.close()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0, 3000, 600])
def test_a_whole_run_by_a_bad_line(board: Board, bundle: Path, tmp_path: Path, rate: int) -> None:
    """The same bytes as by a good one."""
    board.line.rate = rate
    base, out = tmp_path / "base", tmp_path / "out"
    base.mkdir()
    out.mkdir()
    place, channel = board.place(base), Channel(out)
    place.look()
    with place.put(bundle):
        outcome = place.run(Order("gaps", limit=200), channel, threading.Event())
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome
    assert all((out / answer(step)).read_bytes() == KTAP for step in STEPS)
    assert not list(base.iterdir()) and bool(board.line.spoiled) == bool(rate)


@pytest.mark.slow
def test_a_line_that_dies_in_mid_run(board: Board, bundle: Path, tmp_path: Path) -> None:
    """So many bytes are spoiled that nothing comes through: no answer, and never a wrong one."""
    place, channel = board.place(patience=2), Channel(tmp_path / "out")
    place.pace = Pace(0.1, 1, 8)
    (tmp_path / "out").mkdir()
    place.look()

    def worse(name: str) -> None:
        if name == answer(STEPS[0]):
            board.line.rate = 8

    channel.on_file = worse
    with place.put(bundle):
        outcome = place.run(Order("gaps", limit=60), channel, threading.Event())
        board.line.rate = 0
    assert outcome.ended == "dropped" and (tmp_path / "out" / answer(STEPS[0])).read_bytes() == KTAP


@pytest.mark.slow
def test_a_board_that_has_the_bundle(board: Board, bundle: Path, tmp_path: Path) -> None:
    """It is used where it is and left there; one that is not the same is refused, with its name."""
    base, out, there = tmp_path / "base", tmp_path / "out", tmp_path / "there"
    base.mkdir()
    out.mkdir()
    files = sorted(path for path in bundle.rglob("*") if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(bundle)}\n" for path in files]
    (bundle / "MANIFEST").write_text("".join(sums))
    shutil.copytree(bundle, there, symlinks=True)
    place, channel = board.place(base), Channel(out)
    place.there = str(there)
    place.look()
    with place.put(bundle):
        outcome = place.run(Order("gaps", limit=200), channel, threading.Event())
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome
    assert not list(base.iterdir()) and (there / "run.sh").exists()
    with open(there / files[-1].relative_to(bundle), "ab") as file:
        file.write(b"#")
    with pytest.raises(Missing, match="there on the device is not the bundle that is here"):
        with place.put(bundle):
            raise AssertionError("not reached")
    assert not list(base.iterdir())


def test_a_line_has_one_user() -> None:
    """Two would take each other's bytes."""
    ends = pty.openpty()
    first, second = line.Line(os.ttyname(ends[1])), line.Line(os.ttyname(ends[1]))
    first.open()
    with pytest.raises(OSError, match="in use by another program"):
        second.open()
    first.close()
    second.open()
    second.close()
    for end in ends:
        os.close(end)


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(loader.time, "monotonic", lambda: self.now)

    def held(self, made: Loader, seconds: float) -> bool:
        """Is nothing typed in all of these seconds from now on?"""
        kept = []
        for _ in range(round(seconds * 10)):
            kept.append(made.holds())
            self.now += 0.1
        return all(kept)


def test_nothing_is_typed_while_a_boot_loader_counts_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """From its first line, cut in two here, until three seconds after a prompt."""
    clock, made = Clock(monkeypatch), Loader()
    assert not made.holds(), "a console at which a shell waits"
    made.heard(b"messages\r\n\r\nU-B")
    assert not made.holds()
    made.heard(b"oot 2023.01\r\n")
    assert clock.held(made, 2)
    for number in range(5, 0, -1):
        made.heard(b"Hit any key to stop autoboot: %d" % number if number == 5 else b"\b\b%d" % number)
        assert clock.held(made, 1)
    made.heard(b"\r\nStarting kernel ...\r\n\r\n")
    assert clock.held(made, 15)
    made.heard(b"board# ")
    assert clock.held(made, 2.9) and not clock.held(made, 0.4)
    made.heard(b"[    1.0] a message of the kernel\r\n")
    assert not made.holds()


def test_a_board_that_boots_and_shows_no_prompt_is_typed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, made = Clock(monkeypatch), Loader()
    made.heard(b"U-Boot\r\nStarting kernel ...\r\n")
    assert clock.held(made, loader.BETWEEN - 0.2)
    clock.now += 0.4
    assert not made.holds()


def test_a_board_that_boots_for_ever_is_typed_to_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two minutes after the last word of a boot loader."""
    clock, made = Clock(monkeypatch), Loader()
    made.heard(b"reboot: Restarting system")
    for _ in range(119):
        made.heard(b"T ")
        assert clock.held(made, 1)
    clock.now += 1.1
    made.heard(b"T ")
    assert not made.holds()


def test_one_that_was_switched_on_may_be_silent_first(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, made = Clock(monkeypatch), Loader()
    made.listen(loader.FIRST)
    assert clock.held(made, 9)
    made.heard(b"DDR version 1.2")
    assert clock.held(made, 2.9)
    clock.now += 0.2
    assert not made.holds()


@pytest.mark.parametrize("said", ["Unknown command '@q' - try 'help'", "error: script/function.c:119:can't find command `@q'."])
def test_the_prompt_of_a_boot_loader_is_told(board: Board, tmp_path: Path, said: str) -> None:
    """A shell that answers as one."""
    (tmp_path / "said").write_text(f"{said}\r\n")
    os.write(board.line.console, f"while read -r l; do cat {tmp_path}/said; done\n".encode())
    with pytest.raises(Missing, match="a boot loader asks for commands at the console"):
        board.place().link.execute("true", limit=300)
