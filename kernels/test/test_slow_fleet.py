# SPDX-License-Identifier: MIT
"""A fleet: devices with processes, a disk and an sshd of their own. Every fifth meets a fault, drawn at
random, in a state of its run that is drawn, too.

PERFMODES_FLEET is how many there are (10), PERFMODES_FLEET_JOBS how many at a time (8). What a device costs is printed
(pytest -s), and how long the healthy ones took beside a run without faults just before.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from faulty import STATES, Command, Machine
from sshd import need, need_mounts, own_network, wait_until
from test_faults import DONE, FAULTS, expected, strike

pytestmark = pytest.mark.slow
COUNT = int(os.environ.get("PERFMODES_FLEET", "10"))
SLOW = 60.0  # seconds until a device hangs: a hundred of them share the CPUs of this machine
JOBS = os.environ.get("PERFMODES_FLEET_JOBS", "8")
ALONE = """#!/bin/sh
mkdir {folder}/busy || echo "$$" >>{folder}/both
until [ ! -e {folder}/hold ]; do sleep 0.1; done
rmdir {folder}/busy
"""


@dataclass
class Fleet:
    """Machines by name, and an inventory of them. `bad` are those that will meet a fault, with the state in
    which it comes and what it is."""

    folder: Path
    bad: dict[str, tuple[str, str]] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)

    @property
    def inventory(self) -> Path:
        return self.folder / "devices.toml"

    def add(self, name: str) -> None:
        state, fault = self.bad.get(name, ("", ""))
        small = 20 if fault == "disk full" else 0
        made = Machine(self.folder / name, port=2222 + len(self.machines), state=state, small=small)
        made.config.write_text(made.config.read_text().replace("Host board", f"Host {name}"))
        self.machines[name] = made.start()
        with open(self.inventory, "a") as listed:
            listed.write(f'[[device]]\nname = "{name}"\ntransport = "ssh"\naddress = "{name}"\nssh_config = "{made.config}"\n'
                         f'[device.owner]\npatience = {SLOW:.0f}\nfolder = "{made.scratch}"\n')  # fmt: skip

    def spoil(self, name: str, command: subprocess.Popen[str], out: Path) -> None:
        """Wait until a machine stands still in its state, and an answer has come if that is late, and strike."""
        machine, (state, fault) = self.machines[name], self.bad[name]
        late = state in ("follow", "fetch", "remove")
        wait_until(lambda: command.poll() is not None or machine.is_held() and (
            not late or answers(out, name) + answers(out, f"{name}.part")), 3600)
        if command.poll() is None:
            strike(machine, fault, command)


def drawn(chance: random.Random) -> dict[str, tuple[str, str]]:
    """Every fifth, with a fault that the device has and not the command."""
    faults = [fault for fault in FAULTS if not fault.endswith("here")]
    return {f"d{number}": (chance.choice([*STATES]), chance.choice(faults)) for number in range(4, COUNT, 5)}


@contextmanager
def standing(folder: Path, bad: dict[str, tuple[str, str]]) -> Iterator[Fleet]:
    if os.geteuid():
        pytest.skip("machines of their own need root")
    need("ssh-keygen", "openssh-client")
    need_mounts()
    folder.mkdir(parents=True)
    (folder / "devices.toml").write_text("format = 1\n")
    with own_network(), ExitStack() as stack:
        made = Fleet(folder, bad)
        for number in range(COUNT):
            made.add(f"d{number}")
            stack.callback(made.machines[f"d{number}"].kill)
        yield made


@dataclass
class Watched:
    """A command that asks a fleet: what it said, and when each device ended."""

    process: subprocess.Popen[str]
    began: float = field(default_factory=time.monotonic)
    lines: list[str] = field(default_factory=list)
    ended: dict[str, float] = field(default_factory=dict)
    cpu: float = 0.0
    memory: int = 0

    def read(self) -> None:
        """To its end. The time and memory are those of the command and of what it has started."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            if ": done;" in line or "no result" in line or " s wall" in line:
                self.ended.setdefault(line.split()[0].rstrip(":"), time.monotonic() - self.began)
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu, self.memory = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024

    def last(self, names: set[str]) -> float:
        return max(self.ended[name] for name in names)


def asking(command: Command, fleet: Fleet, out: Path, *more: str) -> Watched:
    suite = out.parent / "waits.txt"
    suite.touch()
    words = ("all", "--inventory", str(fleet.inventory), "--suite", str(suite), "--out", str(out), "--jobs", JOBS)
    return Watched(command.start(*words, *more))


def answers(out: Path, name: str) -> int:
    return len([*(out / name).glob("*/*.ktap")])


def boot(out: Path, name: str) -> str:
    """How its run ended, if it began."""
    record = out / name / "boot.json"
    return str(json.loads(record.read_text())["ended"]) if record.exists() else "none"


def test_faults_of_some_are_not_felt_by_others(bundle: Path, tmp_path: Path) -> None:
    (bundle / "suites").mkdir()
    bad = drawn(random.Random(7))
    every = {f"d{number}" for number in range(COUNT)}
    with tempfile.TemporaryDirectory(prefix="pm-here-") as home, standing(tmp_path / "fleet", bad) as fleet:
        command = Command(Path(home), bundle, SLOW)
        alone = asking(command, fleet, tmp_path / "well")
        alone.read()
        assert alone.process.returncode == 0, "".join(alone.lines)
        for name in bad:
            (fleet.folder / name / "go").unlink(missing_ok=True)
            fleet.machines[name].hold()
        beside = asking(command, fleet, tmp_path / "out")
        threads = [threading.Thread(target=fleet.spoil, args=(name, beside.process, tmp_path / "out")) for name in bad]
        for thread in threads:
            thread.start()
        beside.read()
        for thread in threads:
            thread.join()
        said = "".join(beside.lines)
        for name in every - bad.keys():
            log = (tmp_path / "out" / "logs" / f"{name}.log").read_text()
            assert boot(tmp_path / "out", name) == "done" and answers(tmp_path / "out", name) == 3, (name, log, said)
        for name, (state, fault) in bad.items():
            count = expected(state, fault)[2] if state != "fetch" else DONE[2]
            assert answers(tmp_path / "out", name) == count, (name, state, fault, said)
        assert beside.ended.keys() >= every and {path.stem for path in (tmp_path / "out" / "logs").iterdir()} == every
        for name in bad:
            fleet.machines[name].back()
        again = asking(command, fleet, tmp_path / "out", "--resume")
        again.read()
        assert again.process.returncode == 0, "".join(again.lines)
        assert all(answers(tmp_path / "out", name) == 3 for name in every)
        # Of these all was answered before, so that nothing was to be asked there.
        unswept = [name for name, at in bad.items() if at in (("remove", "device gone"), ("remove", "hang"))]
        if unswept:
            assert command.run(*unswept, "--inventory", str(fleet.inventory), "--clean")[0] == 0
        wait_until(lambda: not any(machine.left() for machine in fleet.machines.values()))
        assert command.left() == []
    healthy = every - bad.keys()
    print(f"\n{COUNT} devices, {len(bad)} with faults: {beside.cpu / COUNT * 1000:.0f} ms of CPU each, {beside.memory} MB; the "
          f"healthy ones in {beside.last(healthy):.1f} s, {beside.last(healthy) / alone.last(healthy):.2f} times what they took "
          f"without faults; all in {max(beside.ended.values()):.1f} s")


def told(folder: Path) -> int:
    """How many devices an operator was told to wait for."""
    logs = [path.read_text() for path in folder.glob("out-*/logs/*.log")]
    return len([log for log in logs if "in use by another run" in log])


def test_two_operators_ask_the_same_devices_at_once(bundle: Path, tmp_path: Path) -> None:
    """Each has a home of its own, so that only the devices' own locks are between them: never two runs at a
    device, and both get every answer."""
    (bundle / "suites").mkdir()
    with ExitStack() as stack:
        homes = [stack.enter_context(tempfile.TemporaryDirectory(prefix="pm-here-")) for _ in range(2)]
        fleet = stack.enter_context(standing(tmp_path / "fleet", {}))
        for machine in fleet.machines.values():
            machine._tool("wait_here", ALONE, "")
            machine.hold()
        runs = [asking(Command(Path(home), bundle, SLOW), fleet, tmp_path / f"out-{at}") for at, home in enumerate(homes)]
        threads = [threading.Thread(target=run.read) for run in runs]
        for thread in threads:
            thread.start()
        wait_until(lambda: told(tmp_path) or any(run.process.poll() is not None for run in runs), 3600)
        for machine in fleet.machines.values():
            (machine.folder / "hold").unlink()
        for thread in threads:
            thread.join()
        for at, run in enumerate(runs):
            assert run.process.returncode == 0, "".join(run.lines)
            assert all(answers(tmp_path / f"out-{at}", name) == 3 for name in fleet.machines)
        assert not [*fleet.folder.glob("*/both")], "two runs at one device"
    assert told(tmp_path)
    print(f"\n{COUNT} devices twice: {max(max(run.ended.values()) for run in runs):.1f} s, {told(tmp_path)} waited for the other")
