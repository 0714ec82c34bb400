# SPDX-License-Identifier: MIT
"""Devices night after night: hooks around a run, groups with limits, what is on record, quarantine."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_place import Fake
from test_device import written
from test_turns import Device as Place, arguments

from kernels import cli
from kernels.device import fleet, history, inventory
from kernels.device.fleet import Fleet, Groups
from kernels.device.inventory import Device
from kernels.errors import Usage
from kernels.place import engine
from kernels.place.outcome import Outcome
from kernels.place.owner import Owner
from kernels.place.report import Report

ENTRY = Device("board-1", "ssh", "board.example", owner=Owner(quarantine=3))
DONE = Report("board-1", Outcome("done", stage="probes"), release="6.1.0")


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command finds a bundle that only has the suite, and nothing judges what comes of it."""
    bundle = tmp_path / "bundle"
    (bundle / "suites").mkdir(parents=True)
    (bundle / "suites" / "default.txt").touch()
    monkeypatch.setattr(fleet, "bundles", lambda machines, *rest: dict.fromkeys([*machines], bundle))
    monkeypatch.setattr(engine, "judge", lambda report, folder: None)
    return bundle


def run(folder: Path, *places: Any, groups: Groups | None = None) -> tuple[list[Report], list[str]]:
    said: list[str] = []
    made = Fleet(arguments(), folder, lambda name, state: said.append(state), lambda report: None,
                 groups=groups or Groups())  # fmt: skip
    return made.run([*places]), said


def hook(tmp_path: Path, word: str, status: int = 0) -> tuple[str, ...]:
    return ("sh", "-c", f'echo "{word} $PERFMODES_DEVICE" >>{tmp_path}/hooks; echo no relay; exit {status}')


@pytest.mark.parametrize("script", ["good", "quits"])
def test_hooks_are_run_around_all_tries(found: Path, tmp_path: Path, script: str) -> None:
    place: Any = Place("a")
    place.script, place.owner = [script], Owner(
        before=hook(tmp_path, "on"), after=hook(tmp_path, "off"), power_cycle=hook(tmp_path, "cycle"), retries=1)
    run(tmp_path / "out", place)
    again = ["cycle a"] if script == "quits" else []
    assert (tmp_path / "hooks").read_text().splitlines() == ["on a", *again, "off a"]


def test_a_device_that_was_not_switched_on_is_not_asked(found: Path, tmp_path: Path) -> None:
    place: Any = Place("a")
    place.owner = Owner(before=hook(tmp_path, "on", 3), after=hook(tmp_path, "off"), retries=2)
    (report,), said = run(tmp_path / "out", place)
    assert report.error == "before: sh ended with 3: no relay" == said[0] and not place.ran
    assert (tmp_path / "hooks").read_text().splitlines() == ["on a", "off a"]


def test_an_interrupt_still_switches_off(found: Path, tmp_path: Path) -> None:
    place: Any = Place("a")
    place.script, place.owner = ["slow"], Owner(after=hook(tmp_path, "off"))
    fleet_of_one = Fleet(arguments(), tmp_path / "out", lambda name, state: None, lambda report: None)
    place.health = lambda: fleet_of_one.stop.set() or ""
    with pytest.raises(KeyboardInterrupt):
        fleet_of_one.run([place])
    assert (tmp_path / "hooks").read_text() == "off a\n"


def test_what_its_owner_declines_is_not_asked_again(found: Path, tmp_path: Path) -> None:
    """Neither is its power cycled, nor is it switched on in quiet hours."""
    cold, asleep = Place("cold"), Place("asleep")
    owner = Owner(retries=3, power_cycle=hook(tmp_path, "cycle"))
    cold.health = cold.declines = lambda: "its battery is at 3 %"  # type: ignore[method-assign]
    cold.owner, asleep.owner = owner, replace(owner, before=hook(tmp_path, "on"), quiet=("00:00-23:59", "23:59-00:00"))
    reports, _ = run(tmp_path / "out", cold, asleep)
    assert all(report.declined and report.status == 3 for report in reports) and not (tmp_path / "hooks").exists()


class Counted(Place):
    """How many of its kind are at work, and the most that were. It goes on once two are, and the others wait."""

    now, most, lock = 0, 0, threading.Lock()
    others: threading.Event
    both: threading.Event

    def _good(self, *rest: Any) -> Outcome:
        with Counted.lock:
            Counted.now += 1
            Counted.most = max(Counted.most, Counted.now)
            if Counted.now == 2:
                self.both.set()
        assert self.others.wait(900) and self.both.wait(900)
        with Counted.lock:
            Counted.now -= 1
        return Fake._good(self, *rest)


def test_a_group_has_no_more_at_work_than_its_limit(found: Path, tmp_path: Path) -> None:
    """Six on a hub for two; one that is on no hub does not wait for them."""
    Counted.now = Counted.most = 0
    waiting, Counted.others, Counted.both = set[str](), threading.Event(), threading.Event()
    places = [Counted(f"hub{number}") for number in range(6)]
    groups = Groups({"hub": 2, "shelf": 5}, {place.name: ("hub", "shelf", "unlimited") for place in places})

    def state(name: str, said: str) -> None:
        if said == "waiting: hub is at its limit":
            waiting.add(name)
        if len(waiting) == 4:
            Counted.others.set()

    args = arguments()
    args.jobs = 10
    made = Fleet(args, tmp_path / "out", state, lambda report: None, groups=groups).run([*places, Place("free")])  # type: ignore[list-item]
    assert Counted.most == 2 and len(made) == 7 and all(report.outcome.ended == "done" for report in made)


def test_a_limit_of_no_tag_is_told(tmp_path: Path) -> None:
    text = 'format = 1\n[limits]\nhbu = 2\n[[device]]\nname = "a"\ntransport = "ssh"\naddress = "a"\ntags = ["hub"]\n'
    with pytest.raises(Usage, match="limits: no device has the tag 'hbu'; did you mean hub"):
        inventory.load(written(tmp_path, text))
    assert inventory.load(written(tmp_path, text.replace("hbu", "hub"))).limits == {"hub": 2}


def test_quarantine_begins_and_ends(tmp_path: Path) -> None:
    """Three failures in a row begin it; what says nothing about the device does not count; a success ends it."""
    mute = Report("board-1", error="no connection for 180 s")
    for report in (mute, DONE, mute, mute, replace(mute, declined=True), replace(DONE, resumed=True)):
        history.add(ENTRY, report, tmp_path)
    assert history.quarantine(ENTRY) == ""
    history.add(ENTRY, Report("board-1", Outcome("hang", "not done after 900 s", "probes")), tmp_path)
    assert history.quarantine(ENTRY).startswith("in quarantine after 3 failed runs in a row, the last hang: not done after")
    other = replace(ENTRY, address="another.example")
    assert history.quarantine(other) == "" == history.quarantine(replace(ENTRY, owner=Owner()))
    history.add(ENTRY, DONE, tmp_path)
    assert history.quarantine(ENTRY) == "" and len(history.runs_of(ENTRY)) == 6


def test_a_record_that_is_damaged_ends_nothing(tmp_path: Path) -> None:
    history.add(ENTRY, DONE, tmp_path)
    path = history.file_of(ENTRY)
    good = json.loads(path.read_text())
    lines = ["", "{", "[]", "null", json.dumps({**good, "at": "noon"}), json.dumps({"name": "board-1"}), "\xff" * 9]
    path.write_text("\n".join([*lines, json.dumps(good), ""]), encoding="latin-1")
    assert [run.release for run in history.runs_of(ENTRY)] == ["6.1.0"]
    path.unlink()
    path.mkdir()
    history.add(ENTRY, DONE, tmp_path)
    assert history.runs_of(ENTRY) == []


def test_a_record_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "LONG", 4000)
    monkeypatch.setattr(history, "KEPT", 10)
    for number in range(60):
        history.add(ENTRY, replace(DONE, wall=float(number)), tmp_path)
    assert history.file_of(ENTRY).stat().st_size < 5000 and history.runs_of(ENTRY)[-1].wall == 59.0


def test_the_last_thousand_runs_are_on_record(tmp_path: Path) -> None:
    """As README.md says, where the file has more that are as short as runs may be."""
    history.add(ENTRY, DONE, tmp_path)
    told = json.loads(history.file_of(ENTRY).read_text())
    lines = (json.dumps({**told, "wall": float(number)}) for number in range(1500))
    history.file_of(ENTRY).write_text("\n".join(lines) + "\n")
    assert [run.wall for run in history.runs_of(ENTRY)] == [float(number) for number in range(500, 1500)]


INVENTORY = """format = 1
[[device]]
name = "board-1"
transport = "ssh"
address = "board.example"
tags = ["shelf"]
[device.owner]
quarantine_after = 3
[[device]]
name = "board-2"
transport = "ssh"
address = "127.0.0.1:9"
tags = ["shelf"]
"""


def test_the_report_of_the_morning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["device", "--inventory", str(written(tmp_path, INVENTORY)), "--report"]
    assert cli.main(words) == 0 and "not run" in capsys.readouterr().out
    (tmp_path / "board-1").mkdir()
    (tmp_path / "board-1" / "boot.json").write_text('{"heat_c": [41, 77, 50], "link_lost": 4}')
    history.add(ENTRY, DONE, tmp_path)
    for _ in range(3):
        history.add(ENTRY, Report("board-1", error="no \x1b[2Jconnection"), tmp_path / "none")
    assert cli.main([*words, "--days", "2"]) == 1
    said = capsys.readouterr().out
    (line,) = [line for line in said.splitlines() if line.startswith("board-1 ")]
    assert line.split()[1:4] == ["4", "1", "no"] and line.endswith("77 °C")
    assert "its connection was lost 4 times" in said
    assert "board-1: in quarantine after 3 failed runs" in said and "3 times: no result: no" in said and "\x1b" not in said
    assert cli.main(["device", "board-2", *words[1:]]) == 0


def test_a_device_in_quarantine_is_left_alone_until_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its tag it is not even contacted; it is in the metrics and no failure of the JUnit file."""
    for _ in range(3):
        history.add(ENTRY, Report("board-1", error="no connection"), tmp_path)
    text = INVENTORY.replace("board.example", "127.0.0.1:9")
    listed, out = written(tmp_path, text), tmp_path / "out"
    entry = replace(ENTRY, address="127.0.0.1:9")
    history.file_of(ENTRY).rename(history.file_of(entry))
    words = ["--inventory", str(listed), "--out", str(out), "--metrics", str(tmp_path / "perfmodes.prom"),
             "--junit", str(tmp_path / "junit.xml"), "--no-install"]  # fmt: skip
    assert cli.main(["device", "shelf", *words]) == 3
    said = capsys.readouterr().out
    assert "board-1              not run: in quarantine after 3 failed runs in a row" in said
    assert "2 devices, 1 without a result, 1 unavailable" in said
    assert "<skipped" in (tmp_path / "junit.xml").read_text()
    metrics = (tmp_path / "perfmodes.prom").read_text().splitlines()
    assert {'perfmodes_device_quarantined{device="board-1"} 1', 'perfmodes_device_quarantined{device="board-2"} 0',
            'perfmodes_device_runs{device="board-2",ended="no result"} 1',
            'perfmodes_device_failed_in_a_row{device="board-1"} 3'} <= {*metrics}  # fmt: skip
    assert cli.main(["device", "board-1", *words]) == 3 and "no result: " in capsys.readouterr().out
    assert len(history.runs_of(entry)) == 4
