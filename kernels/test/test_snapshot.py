# SPDX-License-Identifier: MIT
"""Saved guests: what makes two alike, what is kept, what is given up, and the words to QEMU."""

from __future__ import annotations

import json
import os
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels import matrix
from kernels.guest import machine, place, snapshot
from kernels.guest.qmp import Qmp
from kernels.guest.setup import Kernel, Setup
from kernels.guest.snapshot import Snapshot
from kernels.matrix import Row
from kernels.place.channel import Channel
from kernels.place.outcome import Outcome
from kernels.place.place import Order
from kernels.source.fetch import Fetcher
from kernels.source.mirror import Mirror

LISTED = matrix.load()


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Row:
    monkeypatch.setattr(machine, "program", lambda row: "/usr/bin/qemu")
    monkeypatch.setattr(machine, "qemu_version", lambda row: "7.2")
    return LISTED.rows["amd64-5.10"]


def test_what_is_not_the_same_is_not_resumed(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, other = tmp_path / "kernel", tmp_path / "other"
    kernel.write_bytes(b"k")
    other.write_bytes(b"o")

    def name(**changed: object) -> str:
        given = {"row": row, "kernel": kernel, "initrd": b"i", "kvm": False, **changed}
        return snapshot.place(**given, cache=tmp_path).state.name

    assert name() == name() and name().startswith("amd64-5.10-")
    changes = [{"kernel": other}, {"initrd": b"j"}, {"row": replace(row, memory=1024)},
               {"row": replace(row, append="x")}, {"kvm": True}]  # fmt: skip
    assert len({name(), *(name(**change) for change in changes)}) == 1 + len(changes)
    before = name()
    monkeypatch.setattr(machine, "qemu_version", lambda row: "10.0")
    assert name() != before


def test_a_saved_guest_appears_whole(tmp_path: Path) -> None:
    saved = Snapshot(tmp_path / "a.state")
    saved.part.write_bytes(b"state")
    assert not saved.exists
    saved.settle("done")
    assert saved.exists and not saved.part.exists()
    taken = saved.take()
    assert taken and taken.read_bytes() == b"state"
    taken.unlink()
    assert saved.take() is None, "another run made room"


def test_one_that_fails_leaves_its_reason_and_is_not_tried_again(tmp_path: Path) -> None:
    saved = Snapshot(tmp_path / "a.state")
    setup = Setup(LISTED.rows["uml"], Kernel(tmp_path, {}), b"", saved)
    assert setup.snapshot is saved and setup.why == ""
    saved.part.write_bytes(b"half")
    saved.settle("State blocked by device")
    assert not saved.exists and not saved.part.exists()
    assert setup.snapshot is None and setup.why == "State blocked by device"


def test_a_failure_of_a_busy_machine_is_forgotten(tmp_path: Path) -> None:
    saved = Snapshot(tmp_path / "a.state")
    saved.part.write_bytes(b"half")
    saved.settle("migration failed")
    assert saved.refused == "migration failed"
    saved.refuse("a guest of it ended so: hang: it was not saved in 240 s")
    assert "not saved" in saved.refused
    late = tmp_path / "a.later"
    os.utime(late, (late.stat().st_mtime - snapshot.HOUR - 1,) * 2)
    assert saved.refused == ""
    saved.settle("State blocked by device")
    os.utime(tmp_path / "a.no", (1000, 1000))
    assert saved.refused == "State blocked by device", "that does not change"


@pytest.mark.parametrize(
    ("stage", "ended", "kept"),
    [("probes", "done", True), ("probes", "panic", True), ("probes", "hang", False), ("ready", "hang", False)],
)
def test_a_guest_that_hung_is_no_witness_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, ended: str, kept: bool
) -> None:
    """With -icount what comes from one snapshot does the same each time: the next guest is booted."""
    saved = Snapshot(tmp_path / "a.state")
    saved.state.write_bytes(b"state")
    begun: list[Snapshot | None] = []

    def boot(*words: Any, **_more: Any) -> Outcome:
        begun.append(words[5].snapshot)
        return Outcome(ended, "no file for 600 s", stage, start="snapshot")

    monkeypatch.setattr(place, "boot", boot)
    guests = place.GuestPlace(LISTED.rows["ppc64el-power8"], Fetcher(Mirror("", "", ""), tmp_path))
    guests.setup = Setup(guests.row, Kernel(tmp_path / "kernel", {}), b"", saved)
    for _ in range(2):
        plan = (("root", "attach.churn"),)
        guests.run(Order("full", plan=plan), Channel(tmp_path / "out"), threading.Event())
    assert begun == [saved, saved if kept else None] and saved.exists == kept


def test_only_so_much_is_kept(tmp_path: Path) -> None:
    for age, name in enumerate(["new", "used", "old", "older"]):
        (tmp_path / f"{name}.state").write_bytes(bytes(100))
        os.utime(tmp_path / f"{name}.state", (1000 - age, 1000 - age))
    (tmp_path / "used.no").write_text("why")
    (tmp_path / "x.1-2.part").write_bytes(b"half")
    os.utime(tmp_path / "x.1-2.part", (1000, 1000))
    snapshot.make_room(tmp_path, 250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.state", "used.no", "used.state"]


def test_what_another_run_has_just_taken_away_is_no_failure(tmp_path: Path) -> None:
    """Listed, and gone when it is looked at: what a dangling link looks like all the time."""
    (tmp_path / "a.state").symlink_to("gone")
    (tmp_path / "a.1-2.part").symlink_to("gone")
    (tmp_path / "b.state").write_bytes(bytes(100))
    snapshot.make_room(tmp_path, 50)
    assert not (tmp_path / "b.state").exists()


def test_where_nothing_can_be_saved_the_reason_is_stated() -> None:
    assert "no state to save" in snapshot.cannot(LISTED.rows["uml"])
    assert snapshot.cannot(LISTED.rows["amd64-5.10"]) == ""
    assert "by the console" in snapshot.cannot(replace(LISTED.rows["amd64-5.10"], results=()))


def test_a_resumed_guest_has_the_same_command_line(row: Row) -> None:
    words = (row, Path("/k"), Path("/i"), machine.Wires(5, -1, 7), Path("/s"), False)
    cold, warm = machine.command(*words), machine.command(*words, Path("/a b/state"))
    assert warm == [*cold, "-incoming", "exec:cat '/a b/state'"]
    assert any(word.startswith("--fsize=") for word in cold)
    assert machine.TOKEN in cold[cold.index("-append") + 1].split()


def talk(*events: dict[str, object]) -> tuple[Qmp, list[dict[str, object]]]:
    """What a monitor knows after these, and all it said."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        qmp = Qmp(ours)
        qmp.feed(b'{"QMP": {}}\n')
        qmp.save(Path("/a b/state"))
        for event in events:
            qmp.feed(json.dumps(event).encode() + b"\n")
        return qmp, [json.loads(line) for line in theirs.recv(1 << 16).splitlines()]


def test_the_words_that_save_a_guest() -> None:
    completed = {"event": "MIGRATION", "data": {"status": "completed"}}
    qmp, said = talk({"event": "MIGRATION", "data": {"status": "active"}}, {"event": "STOP"}, completed)
    assert [line["execute"] for line in said] == [
        "qmp_capabilities", "migrate-set-capabilities", "query-status", "migrate-set-parameters",
        "migrate",
    ]  # fmt: skip
    assert said[-1]["arguments"] == {"uri": "exec:cat > '/a b/state'"}
    assert (qmp.saved, qmp.running, qmp.ended) == ("done", False, "")


@pytest.mark.parametrize(
    ("event", "saved", "running"),
    [
        ({"event": "MIGRATION", "data": {"status": "failed"}}, "migration failed", False),
        ({"id": "migrate", "error": {"desc": "State blocked"}}, "State blocked", False),
        ({"id": "query-status", "return": {"running": True, "status": "running"}}, "", True),
        ({"id": "query-status", "return": {"running": False, "status": "inmigrate"}}, "", False),
        ({"event": "RESUME"}, "", True),
        ({"event": "MIGRATION", "data": "completed"}, "", False),
        ({"id": "query-status", "return": []}, "", False),
    ],
)
def test_what_the_monitor_answers(event: dict[str, object], saved: str, running: bool) -> None:
    qmp, _ = talk(event)
    assert (qmp.saved, qmp.running) == (saved, running)
