# SPDX-License-Identifier: MIT
"""Many devices with one command: none waits for another's state, one lock each, and all are in the JUnit
file however the command ends."""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from fake_place import Fake
from sshd import wait_until

from kernels import options
from kernels.device import fleet, hooks, options as device_options
from kernels.device.command import Told
from kernels.device.fleet import Fleet, Turns
from kernels.device.lock import locked
from kernels.place.channel import Channel
from kernels.place.follow import Follow, Piece, Reader
from kernels.place.link import Lost, patiently
from kernels.place.outcome import Outcome
from kernels.place.owner import Owner
from kernels.place.private import Private
from kernels.place.report import Report


class Device(Fake):
    """Healthy, or mute until somebody says so."""

    kind = "fake"

    def __init__(self, name: str, mute: threading.Event | None = None) -> None:
        super().__init__(name, ["good"])
        self.private, self.address, self.mute = Private(), f"fake:{name}", mute
        self.link: Any = self
        self.stop, self.owner = threading.Event(), Owner()

    def forget(self) -> None:
        pass

    def close(self) -> None:
        pass

    def declines(self) -> str:
        return ""

    def health(self) -> str:
        return "mute" if self.mute and self.mute.wait() else ""


def arguments() -> argparse.Namespace:
    return options.parser(device_options.add).parse_args(["device", "all", "--jobs", "2", "--no-build", "--no-install"])


def test_healthy_devices_do_not_wait_for_mute_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More mute ones than runs at a time and than CPUs; they stay so until the last healthy one is done."""
    bundle = tmp_path / "bundle"
    (bundle / "suites").mkdir(parents=True)
    (bundle / "suites" / "default.txt").touch()
    monkeypatch.setattr(fleet, "bundles", lambda machines, *rest: dict.fromkeys([*machines], bundle))
    mute = threading.Event()
    places: list[Any] = [Device(f"mute{number}", mute) for number in range(40)] + [Device(f"well{n}") for n in range(5)]
    left = {place.name for place in places if not place.mute}

    def ended(report: Report) -> None:
        left.discard(report.name)
        if not left:
            mute.set()

    made = Fleet(arguments(), tmp_path / "out", lambda name, said: None, ended, turns=Turns(1000.0)).run(places)
    assert {report.name for report in made if not report.error} == {f"well{n}" for n in range(5)}
    assert {report.error for report in made if report.error} == {"mute"} and len(made) == 45


class Away(Device):
    """Its link is lost until another device is done."""

    others: threading.Event

    def _good(self, *rest: Any) -> Outcome:
        tried: list[int] = []

        def call() -> bool:
            tried.append(1)
            if not self.others.is_set():
                raise Lost("no route")
            return True

        assert patiently(call, 900.0, 0.01, threading.Event())[1] >= 1
        return super()._good(*rest)


def test_a_device_that_is_waited_for_leaves_its_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two such would have both slots; the third is done before their links are back."""
    bundle = tmp_path / "bundle"
    (bundle / "suites").mkdir(parents=True)
    (bundle / "suites" / "default.txt").touch()
    monkeypatch.setattr(fleet, "bundles", lambda machines, *rest: dict.fromkeys([*machines], bundle))
    Away.others = threading.Event()
    places: list[Any] = [Away("away0"), Away("away1"), Device("well")]
    began = threading.Event()
    places[2].health = lambda: "" if began.wait(900) else "they never began"
    busy: set[str] = set()

    def state(name: str, said: str) -> None:
        busy.update([name] if said == "starting" else [])
        if {"away0", "away1"} <= busy:
            began.set()

    def ended(report: Report) -> None:
        if report.name == "well":
            Away.others.set()

    made = Fleet(arguments(), tmp_path / "out", state, ended, turns=Turns(1000.0)).run(places)
    assert [report.outcome.ended for report in made] == ["done"] * 3 and made[0].name == "well"


def test_a_device_that_failed_is_asked_again_after_its_power_was_cycled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner's program is run here, with the device's name; its words are told, and what is answered stays."""
    bundle, said = tmp_path / "bundle", list[str]()
    (bundle / "suites").mkdir(parents=True)
    (bundle / "suites" / "default.txt").touch()
    monkeypatch.setattr(fleet, "bundles", lambda machines, *rest: dict.fromkeys([*machines], bundle))
    hook = ("sh", "-c", f'echo "$PERFMODES_DEVICE" >>{tmp_path}/cycled')
    place: Any = Device("a")
    place.script, place.owner = ["dead", "dead", "good"], Owner(retries=3, power_cycle=hook)
    out = tmp_path / "out"
    made = Fleet(arguments(), out, lambda name, state: said.append(state), lambda report: None).run([place])
    assert [report.outcome.ended for report in made] == ["done"] and (tmp_path / "cycled").read_text() == "a\n"
    assert any(state.startswith("again, 1 of 3, after ") for state in said) and "sh ended with 0" in said
    assert len(list((out / "a").glob("*/*.ktap"))) == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [(("sh", "-c", "echo no relay; exit 3"), "sh ended with 3: no relay"), (("/nowhere/relay",), "relay cannot be run: No such file or directory")],
)
def test_a_hook_that_fails_is_told(words: tuple[str, ...], told: str) -> None:
    assert hooks.run(words, "a", threading.Event()) == told


def test_an_interrupt_ends_a_hook_and_what_it_started(tmp_path: Path) -> None:
    stop = threading.Event()
    words = ("sh", "-c", f"sleep 100 & echo $! >{tmp_path}/pid; wait")
    heard = threading.Thread(target=lambda: (wait_until((tmp_path / "pid").exists), stop.set()))
    heard.start()
    with pytest.raises(KeyboardInterrupt):
        hooks.run(words, "a", stop)
    heard.join()
    pid = (tmp_path / "pid").read_text().strip()
    state = Path(f"/proc/{pid}/stat")
    wait_until(lambda: not pid or not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z")


def test_a_device_has_one_lock_among_commands(tmp_path: Path) -> None:
    """Whoever comes second waits until the first, another process, has ended, even by SIGKILL."""
    code = "import sys, threading; from kernels.device.lock import locked\nwith locked('ssh:a:22', threading.Event()): print('has', flush=True); sys.stdin.read()"
    first = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             cwd=Path(fleet.__file__).parents[2])  # fmt: skip
    assert first.stdout and first.stdout.readline() == b"has\n"
    waits: list[int] = []

    def waiting() -> None:
        waits.append(1)
        first.kill()

    with locked("ssh:b:22", threading.Event()), locked("ssh:a:22", threading.Event(), waiting):
        assert waits
    first.wait()
    stop = threading.Event()
    with locked("ssh:a:22", stop):
        stop.set()
        with pytest.raises(KeyboardInterrupt), locked("ssh:a:22", stop):
            pass


def test_where_no_lock_can_be_made_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    with locked("ssh:a:22", threading.Event()), locked("ssh:a:22", threading.Event()):
        pass


def test_junit_is_written_as_results_come(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"

    def cases() -> dict[str, list[str]]:
        return {case.get("name", ""): [one.tag for one in case] for case in ElementTree.parse(file).iter("testcase")}

    with pytest.raises(KeyboardInterrupt), (told := Told(file, ["a", "b", "c"])):
        assert cases() == {}
        told.add(Report("b", Outcome("done", stage="probes")))
        assert cases() == {"b": []}
        told.add(Report("a", error="no connection"))
        assert cases() == {"b": [], "a": ["error"]}
        raise KeyboardInterrupt
    assert cases() == {"a": ["error"], "b": [], "c": ["error"]}


def piece(asked: float, came: float, uptime: float, state: str = "running") -> Piece:
    return Piece("boot", f"{uptime:.2f}", "-", "-", state, 0, b"", asked, came)


@pytest.mark.parametrize(
    ("first", "last", "ended"),
    [
        ((0.0, 11.7, 100.1), (17.2, 17.3, 117.25), "done"),  # 17.2 s there, 5.6 between the answers
        ((0.0, 0.1, 100.0), (5.0, 20.0, 105.0), "done"),  # the last one was long on its way
        ((0.0, 0.1, 100.0), (5.0, 5.1, 117.2), "clock"),
        ((0.0, 0.1, 100.0), (20.0, 20.1, 101.0), "clock"),
    ],
)
def test_an_answer_that_was_long_on_its_way_is_no_wrong_clock(
    tmp_path: Path, first: tuple[float, float, float], last: tuple[float, float, float], ended: str
) -> None:
    channel = Channel(tmp_path)
    reader: Any = Reader(None, "/x")  # type: ignore[arg-type]
    follow = Follow(reader, channel, threading.Event(), 10, 100)
    follow._began = follow._sign = 0.0
    channel.feed(b"@@end 0\n")
    follow._note(piece(*first))
    follow._note(piece(*last, "over"))
    assert follow._state(piece(*last, "over"))
    assert follow.outcome.ended == ended, follow.outcome


def test_the_operator_reads_his_own_words() -> None:
    private = Private(["root@kitchen.example:22", "kitchen.example"])
    private.add(["R58N123ABC"])
    made = private.text("ssh: connect to kitchen.example: refused by R58N123ABC")
    assert made == "ssh: connect to <withheld>: refused by <withheld>"
    assert private.spoken(f"died: {made} (2 attempts)") == (
        "died: ssh: connect to kitchen.example: refused by <withheld> (2 attempts)"
    )
