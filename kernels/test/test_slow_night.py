# SPDX-License-Identifier: MIT
"""Nights of a shelf: twelve guests that are reached by their consoles, a power board that the hooks of the
inventory switch, and cuts of power in mid run at random. One outlet is dead."""

from __future__ import annotations

import random
import socket
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from test_slow_device import ASKED, direct, wrong

from kernels import cli, matrix
from kernels.errors import RowError
from kernels.lab import guest
from kernels.lab.device import Way, standing

pytestmark = pytest.mark.slow
ROW, DEAD = "amd64-5.10", "board-12"
NARROW = ("--suite", "quick", "--probe", "attr.*", "--persona", "user")
BOARDS = [f"board-{number}" for number in range(1, 13)]
NIGHTS, CUTS = 3, 4

RELAY = """#!/usr/bin/python3
import os, socket, sys
with socket.socket(socket.AF_UNIX) as board:
    board.connect({path!r})
    board.sendall(f"{{sys.argv[1]}} {{os.environ['PERFMODES_DEVICE']}}".encode())
    said = board.recv(200).decode()
print(said)
sys.exit(said != "ok")
"""

INVENTORY = """format = 1
[limits]
shelf = 4
[defaults]
patience = 60
retries = 3
quarantine_after = 2
before = ["{relay}", "on"]
after = ["{relay}", "off"]
power_cycle = ["{relay}", "cycle"]
"""

ENTRY = """
[[device]]
name = "{name}"
transport = "serial"
address = "{folder}/{name}"
bundle = "{bundle}"
tags = ["shelf"]
"""


@dataclass
class PowerBoard:
    """Switches guests. `uses` counts what the hooks asked for, by word and device."""

    folder: Path
    guests: dict[str, ExitStack] = field(default_factory=dict)
    uses: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def on(self, name: str) -> None:
        stack = ExitStack()
        stack.enter_context(standing(matrix.load().rows[ROW], Way(socket=self.folder / name, bundle=True), print))
        with self.lock:
            self.guests[name] = stack

    def off(self, name: str) -> None:
        with self.lock:
            stack = self.guests.pop(name, None)
        if stack:
            stack.close()

    def ask(self, word: str, name: str) -> str:
        """What an outlet says. The dead one takes each word and does nothing."""
        self.uses.append((word, name))
        if name == DEAD:
            return "ok"
        try:
            if word in ("off", "cycle"):
                self.off(name)
            if word in ("on", "cycle"):
                self.on(name)
        except RowError as error:
            return str(error)
        return "ok"

    def _answer(self, asks: socket.socket) -> None:
        with asks:
            word, _, name = asks.recv(200).decode().partition(" ")
            asks.sendall(self.ask(word, name).encode()[:200])

    def serve(self, server: socket.socket) -> None:
        """One word after the other, in a thread that stays: a guest ends with the thread that started it."""
        while True:
            try:
                asks, _ = server.accept()
            except OSError:
                return
            self._answer(asks)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[PowerBoard]:
    made = PowerBoard(tmp_path)
    relay = tmp_path / "relay"
    relay.write_text(RELAY.format(path=str(tmp_path / "power")))
    relay.chmod(0o755)
    text = INVENTORY.format(relay=relay)
    text += "".join(ENTRY.format(name=name, folder=tmp_path, bundle=guest.BUNDLE) for name in BOARDS)
    (tmp_path / "devices.toml").write_text(text)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "power"))
        server.listen(20)
        thread = threading.Thread(target=made.serve, args=(server,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for name in BOARDS:
                made.off(name)


def cut(board: PowerBoard, out: Path, name: str, after: int, over: threading.Event) -> bool:
    """Take the power of a device when so many of its answers have arrived. False: the night ended before."""
    while not over.wait(0.05):
        if len([*out.glob(f"{name}*/user/*.ktap")]) >= after and name in board.guests:
            board.off(name)
            return True
    return False


def night(board: PowerBoard, out: Path, chosen: dict[str, int]) -> tuple[int, set[str]]:
    """The exit status of a run of the shelf, and whose power was cut."""
    over, cuts = threading.Event(), set[str]()

    def saboteur(name: str, after: int) -> None:
        if cut(board, out, name, after, over):
            cuts.add(name)

    threads = [threading.Thread(target=saboteur, args=one) for one in chosen.items()]
    for thread in threads:
        thread.start()
    listed = ["--inventory", str(board.folder / "devices.toml"), "--junit", str(out.with_suffix(".xml"))]
    try:
        status = cli.main(["device", "shelf", *NARROW, *listed, "--out", str(out), "--no-install"])
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return status, cuts


@ASKED
def test_nights_without_a_person(
    board: PowerBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    expected, chance = direct(ROW, tmp_path / "direct", *NARROW[2:]), random.Random(5)
    alive = [name for name in BOARDS if name != DEAD]
    for number in range(1, NIGHTS + 1):
        chosen = {name: chance.randrange(1, 20) for name in chance.sample(alive, CUTS)}
        board.uses.clear()
        out = tmp_path / f"night-{number}"
        status, cuts = night(board, out, chosen)
        assert cuts == {*chosen}, "each cut came in mid run"
        assert status == (3 if number < 3 else 0), "a device without a result, until it is left alone"
        assert {name for word, name in board.uses if word == "cycle" and name != DEAD} == cuts
        for name in alive:
            assert not wrong(expected, out / name), name
        assert not (out / DEAD / "result.json").exists()
        cases = {case.get("name"): case for case in ElementTree.parse(out.with_suffix(".xml")).iter("testcase")}
        assert cases.keys() == {*BOARDS}
        assert [name for name in BOARDS if len(cases[name])] == [DEAD]
        assert (cases[DEAD].find("skipped") is not None) is (number > 2), "in quarantine after two nights"
        assert (("on", DEAD) in board.uses) is (number < 3), "it is left alone"
        assert not board.guests, "each is switched off"
    capsys.readouterr()
    assert cli.main(["device", "--inventory", str(tmp_path / "devices.toml"), "--report"]) == 1
    said = capsys.readouterr().out
    lines = {line.split()[0]: line.split() for line in said.splitlines() if line.startswith("board-") and ":" not in line.split()[0]}
    assert lines.keys() == {*BOARDS}
    assert all(lines[name][1:4] == [str(NIGHTS), str(NIGHTS), "done"] for name in alive), said
    assert f"{DEAD}: in quarantine after 2 failed runs" in said
