# SPDX-License-Identifier: MIT
"""Places of labgrid, with a labgrid-client that answers as it is told: taken, refused, gone, damaged."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_place import STEPS
from sshd import Server, serving
from test_device import built

from kernels import cli
from kernels.errors import Missing, Usage
from kernels.lab import labgrid, shelf
from kernels.lab.labgrid import asked
from kernels.lab.place import jobs_of
from kernels.lab.shelf import LabgridPlace
from kernels.place.report import Report, Request
from kernels.place.serial import SerialLink
from kernels.place.ssh import SshLink
from kernels.place.steps import answer

CLIENT = """#!/bin/sh
echo "$*" >>{folder}/asked
[ -z "$LG_PLACE$LG_ENV" ] || {{ echo "of the user's environment" >&2; exit 9; }}
case " $* " in
*" places "*) cat {folder}/places ;;
*" reserve "*) word=reserve ;;
*" wait "*) word=wait ;;
*" acquire "*) word=acquire ;;
*" show "*) word=show ;;
*" release "*) word=release ;;
*" cancel-reservation "*) word=cancel ;;
esac
[ -z "$word" ] || . {folder}/$word
"""
PLACES = """Place 'board-7':
  tags: arch=amd64, kind=board
  acquired: {by}
  reservation: None
Place 'other':
  tags: kind=other
  acquired: None
"""
SHOW = """Place 'board-7':
  acquired: vm/root
Acquired resource 'NetworkService' (shelf/board/NetworkService/NetworkService):
  {'acquired': 'board-7',
   'avail': True,
   'cls': 'NetworkService',
   'params': {'address': '127.0.0.1',
              'extra': {'proxy': 'vm', 'proxy_required': False},
              'port': 2222,
              'username': 'root'}}
"""
SAYS = {
    "reserve": "echo \"Reservation 'TOKEN1':\"; echo '  state: waiting'",
    "wait": "echo 'state: waiting'; echo 'state: allocated'",
    "acquire": "echo 'acquired place board-7'; touch {folder}/held",
    "show": "cat {folder}/shown",
    "release": "rm -f {folder}/held; echo released",
    "cancel": "",
}


@pytest.fixture
def shelf_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a scripted coordinator; a file for each thing that it says."""
    folder = tmp_path / "lg"
    folder.mkdir()
    for word, script in SAYS.items():
        (folder / word).write_text(script.format(folder=folder))
    (folder / "places").write_text(PLACES.format(by="None"))
    (folder / "shown").write_text(SHOW)
    tool = folder / "labgrid-client"
    tool.write_text(CLIENT.format(folder=folder))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("LG_PLACE", "of-the-user")
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    return folder


def calls(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []


@pytest.mark.parametrize(
    "address", ["", "/", "a b/c", "lab/kind=", "kind=x,", "Kind=x", "-p", "lab/-x", "a=b=c", "kind=$(x)", "x\ny"]
)
def test_no_address(address: str) -> None:
    with pytest.raises(Usage):
        asked(address)


def test_addresses() -> None:
    assert asked("board-7").tags == ("name=board-7",) and asked("board-7").place == ["board-7"]
    both = asked("lab.example:20408/arch=arm64,kind=board")
    assert both == labgrid.Asked("lab.example:20408", ("arch=arm64", "kind=board")) and not both.place


def test_a_place_is_held_and_released(shelf_of: Path) -> None:
    heard: list[str] = []
    with labgrid.held("lab:20408/kind=board", heard.append, threading.Event()) as (name, found):
        assert name == "board-7" and (shelf_of / "held").exists()
        assert found[0]["cls"] == "NetworkService" and found[0]["params"]["port"] == 2222
    assert calls(shelf_of) == [
        "-x lab:20408 -v places", "-x lab:20408 reserve kind=board", "-x lab:20408 wait TOKEN1",
        "-x lab:20408 -p +TOKEN1 acquire", "-x lab:20408 -p +TOKEN1 show", "-x lab:20408 -p +TOKEN1 release",
        "-x lab:20408 cancel-reservation TOKEN1",
    ]  # fmt: skip
    assert heard == ["reserving", "acquiring", "acquired board-7", "released"]


@pytest.mark.parametrize(
    ("word", "script", "said"),
    [
        ("places", None, "no place has name=board-7; the coordinator's places: none"),
        ("reserve", "echo 'Could not connect to coordinator' >&2; exit 1", "Could not connect"),
        ("reserve", "head -c 3000 /dev/zero | tr '\\0' x", "no reservation"),
        ("wait", "echo 'state: expired'", "is expired"),
        ("wait", "printf '\\033[2J'", "is unknown"),
        ("wait", "echo 'no such reservation' >&2; exit 1", "no such reservation"),
        ("acquire", "echo 'Match has no matching remote resource' >&2; exit 1", "no matching remote resource"),
        ("acquire", "echo 'hello'; touch {folder}/held", "no place"),
        ("show", "echo \"Acquired resource 'x' (y):\"; echo \"  {'cls': __import__('os')}\"", "cannot be read"),
        ("show", "echo \"Acquired resource 'x' (y):\"; echo '  [1'", "cannot be read"),
    ],
)
def test_a_coordinator_that_fails(shelf_of: Path, word: str, script: str | None, said: str) -> None:
    """An error that says what it is, and nothing stays acquired or reserved."""
    (shelf_of / word).write_text((script or "").replace("{folder}", str(shelf_of)))
    with pytest.raises(Missing, match=said):
        with labgrid.held("board-7", lambda said: None, threading.Event()):
            pass
    words = " ".join(calls(shelf_of))
    assert not (shelf_of / "held").exists()
    assert ("cancel-reservation TOKEN1" in words) == (word not in ("places", "reserve"))
    assert ("release" in words) == (word in ("acquire", "show"))


def test_released_after_a_failure_and_an_interrupt(shelf_of: Path) -> None:
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            with labgrid.held("board-7", lambda said: None, threading.Event()):
                assert (shelf_of / "held").exists()
                raise error
        assert not (shelf_of / "held").exists() and calls(shelf_of)[-1] == "cancel-reservation TOKEN1"


def test_a_release_that_fails_is_told(shelf_of: Path) -> None:
    heard: list[str] = []
    (shelf_of / "release").write_text(f"echo 'no coordinator' >&2; exit 1 # {shelf_of}")
    with pytest.raises(Missing, match="board-7 is still acquired: .*no coordinator; .*-p board-7 release"):
        with labgrid.held("board-7", heard.append, threading.Event()):
            pass
    assert "still acquired" in heard[-1] and sum("release" in call for call in calls(shelf_of)) == labgrid.AGAIN
    (shelf_of / "release").write_text("echo 'place board-7 is not acquired' >&2; exit 1")
    with labgrid.held("board-7", heard.append, threading.Event()):
        pass
    assert heard[-1] == "released", "somebody else released it: nothing is left to do"
    (shelf_of / "release").write_text("case $2 in +*) echo 'matches nothing' >&2; exit 1 ;; esac")
    with labgrid.held("board-7", heard.append, threading.Event()):
        pass
    assert "-p board-7 release" in calls(shelf_of), "the reservation is gone, the name is not"


def test_a_place_in_use_is_waited_for(shelf_of: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shelf_of / "places").write_text(PLACES.format(by="vm/jane"))
    (shelf_of / "wait").write_text(f"[ -e {shelf_of}/free ] || exec sleep 60; echo 'state: allocated'")
    heard: list[str] = []

    def hear(said: str) -> None:
        heard.append(said)
        if len(heard) > 2:
            (shelf_of / "free").touch()

    monkeypatch.setattr(labgrid, "SLICE", 1.0)
    with labgrid.held("kind=board", hear, threading.Event()):
        pass
    assert heard[0] == "waiting for board-7, in use by somebody"
    assert heard[1].startswith("waiting for board-7, in use by somebody, 0 min")


def place(folder: Path) -> LabgridPlace:
    @contextmanager
    def none(machine: str) -> Iterator[dict[str, Path | str]]:
        yield {machine: "no bundle is made here"}

    return LabgridPlace("shelf", "board-7", none)


def test_an_interrupt_while_it_waits(shelf_of: Path, tmp_path: Path) -> None:
    (shelf_of / "wait").write_text("exec sleep 60")
    heard: list[Report] = []
    with pytest.raises(KeyboardInterrupt):
        with jobs_of([place(tmp_path)], Request(), tmp_path, lambda name, said: None, heard.append):
            while not any(call.startswith("wait") for call in calls(shelf_of)):
                threading.Event().wait(0.02)
            raise KeyboardInterrupt
    assert calls(shelf_of)[-1] == "cancel-reservation TOKEN1" and not heard
    assert not any("acquire" in call for call in calls(shelf_of))


def resource(cls: str, **params: Any) -> dict[str, Any]:
    return {"cls": cls, "avail": True, "params": params}


def test_the_ways_to_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LG_PROXY", raising=False)
    of = place(tmp_path)
    console = resource("NetworkSerialPort", host="10.0.0.2", port=4001, speed=57600)
    ssh = resource("NetworkService", address="10.0.0.1", username="me", port=2022)
    link = of._link([console, ssh])
    assert isinstance(link, SshLink) and link.target == "me@10.0.0.1:2022" and not link.jump
    line = of._link([console])
    assert isinstance(line, SerialLink) and line.address == "tcp:10.0.0.2:4001@57600"
    behind = {"extra": {"proxy": "exporter", "proxy_required": True}}
    jumps = of._link([resource("NetworkService", address="fe80::1", username="me", **behind)])
    assert isinstance(jumps, SshLink) and jumps.target == "me@[fe80::1]:22" and jumps.jump == "exporter"
    assert shelf.jump_to({"extra": {"proxy": "exporter", "proxy_required": False}}) == ""


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "neither NetworkService nor NetworkSerialPort; it has nothing"),
        ([resource("NetworkPowerPort", host="x")], "it has NetworkPowerPort"),
        ([resource("NetworkService", address="-oProxyCommand=x")], "no usable address"),
        ([resource("NetworkSerialPort", host="x", port="22; reboot")], "no usable address"),
        ([{**resource("NetworkService", address="x"), "avail": False}], "not available"),
        ([resource("NetworkSerialPort", host="x", port=1, extra={"proxy": "p", "proxy_required": True})], "by way of p"),
        ([resource("NetworkService", address="x", extra={"proxy": "-x y", "proxy_required": True})], "not .USER@.HOST"),
    ],
)
def test_no_way_to_a_place(tmp_path: Path, found: list[dict[str, Any]], said: str) -> None:
    with pytest.raises((Missing, Usage), match=said):
        place(tmp_path)._link(found)


def test_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install the package labgrid-client" in place(tmp_path).health()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "sshd") as server:
        yield server


@pytest.mark.server
def test_a_place_of_the_inventory_is_a_device(
    shelf_of: Path, server: Server, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", f"{shelf_of}:{os.environ['PATH']}")
    built(bundle, monkeypatch)
    (shelf_of / "shown").write_text(SHOW.replace("2222", str(server.port)))
    (tmp_path / "devices.toml").write_text(
        'format = 1\n[[device]]\nname = "a"\ntransport = "labgrid"\naddress = "kind=board"\ntags = ["shelf"]\n'
        f'ssh_config = "{server.config}"\n[[device]]\nname = "b"\ntransport = "labgrid"\naddress = "nowhere"\n'
    )
    words = ["device", "--inventory", str(tmp_path / "devices.toml"), "--no-build", "--no-install"]
    assert cli.main([*words, "all", "--suite", "quick", "--out", str(tmp_path / "out")]) == 3, "b has no place"
    assert not (shelf_of / "held").exists() and not (tmp_path / "out" / "b").exists()
    for step in STEPS:
        assert (tmp_path / "out" / "a" / answer(step)).read_bytes() == (bundle / "ktap").read_bytes()
    assert '"scheduler": "labgrid"' in (tmp_path / "out" / "a" / "boot.json").read_text()
    assert "acquired board-7" in (tmp_path / "out" / "logs" / "a.log").read_text()
    assert cli.main([*words, "--hazards", "shelf", "--out", str(tmp_path / "more")]) == 3, "not allowed"
    assert not (shelf_of / "held").exists()
