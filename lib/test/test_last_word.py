# SPDX-License-Identifier: MIT
"""The doctor ends with a sentence, whatever it is started in: never with a signal and no word."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from surroundings import KILL, KILL_THREAD, PERF, PRCTL, TRAP, install_filter, refuse_perf

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
known = pytest.mark.skipif(platform.machine() not in PERF, reason="the number is not known here")


@pytest.fixture(scope="module", name="place")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As it lies on a device: run.sh beside bin/."""
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", "doctor"], cwd=TREE,
                   check=True, capture_output=True, timeout=300)
    place = tmp_path_factory.mktemp("device")
    shutil.copy(TREE / "run.sh", place)
    (place / "bin").mkdir()
    shutil.copy(TREE / "build" / ARCH / "doctor", place / "bin" / "doctor")
    return place


def run(*command: str | Path, answer: int, call: int, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(command), capture_output=True, text=True, timeout=300, check=False, cwd=cwd,
                          preexec_fn=lambda: install_filter(answer, call))


@known
@pytest.mark.parametrize("answer", [KILL, KILL_THREAD, TRAP])
@pytest.mark.parametrize("command", [["bin/doctor"], ["./run.sh", "doctor"]])
def test_a_filter_that_ends_the_process(place: Path, answer: int, command: list[str]) -> None:
    """As systemd's SystemCallFilter= does by default."""
    done = run(*command, answer=answer, call=PERF[platform.machine()], cwd=place)
    assert done.returncode == 0, done
    first = " ".join(done.stdout.split("\n\n")[0].split())
    assert first.startswith("Perf events do not work here: a system call filter ends a process that "
                            "calls perf_event_open (SIGSYS); ")
    assert "SystemCallFilter=" in done.stdout and "SystemCallErrorNumber=EPERM" in done.stdout
    assert not list(place.glob("core*"))


@known
def test_what_works_beside_it_is_told(place: Path) -> None:
    done = run("bin/doctor", "--json", answer=KILL, call=PERF[platform.machine()], cwd=place)
    told = json.loads(done.stdout)
    held = int(re.findall(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)[0], 16)
    assert told["caller"]["privileged"] is bool(held & (1 << 38 | 1 << 21))      # CAP_PERFMON, CAP_SYS_ADMIN
    wishes = {wish["wish"]: wish for wish in told["wishes"]}
    assert {wish["refusals"][0]["errno"] for wish in wishes.values()} == {"SIGSYS"}
    assert {wish["refusals"][0]["cause"] for wish in wishes.values()} == {"filter"}
    assert wishes["own-time"]["used"].startswith("getrusage") and wishes["rings"]["verdict"] == "refused"


@known
def test_a_filter_that_answers_is_not_said_to_end_anything(place: Path) -> None:
    done = subprocess.run(["bin/doctor"], capture_output=True, text=True, timeout=300, check=True, cwd=place,
                          preexec_fn=lambda: refuse_perf(1))
    assert "SIGSYS" not in done.stdout + done.stderr


@known
def test_another_call_that_ends_it(place: Path) -> None:
    call = PRCTL[platform.machine()]
    done = run("bin/doctor", "own-time", answer=KILL, call=call, cwd=place)
    assert done.returncode == 3 and "system call filter" in done.stderr and "SIGSYS" in done.stderr
    done = run("bin/doctor", "own-time", answer=TRAP, call=call, cwd=place)
    assert done.returncode == 0 and f"traps call {call} (SIGSYS)" in done.stderr and "own-time" in done.stdout


def test_check_exits_by_the_result(place: Path) -> None:
    """0: as asked; 1: in another way; 4: not at all. Without it each answer is a success."""
    def status(filtered: bool, *words: str) -> int:
        return subprocess.run(["bin/doctor", *words], capture_output=True, timeout=300, check=False, cwd=place,
                              preexec_fn=(lambda: refuse_perf(1)) if filtered else None).returncode

    if platform.machine() in PERF:
        assert (status(True, "--check", "own-time"), status(True, "own-time")) == (1, 0)
        assert (status(True, "--check", "rings"), status(True, "rings")) == (4, 0)
        assert status(True, "--check", "own-time", "rings") == 4
    told = json.loads(subprocess.run(["bin/doctor", "--json"], capture_output=True, text=True, timeout=300,
                                     check=True, cwd=place).stdout)
    expected = {"works": 0, "instead": 1, "refused": 4}
    for wish in told["wishes"]:
        assert status(False, "--check", "--json", wish["wish"]) == expected[wish["verdict"]]


def test_an_empty_environment(place: Path) -> None:
    for command in (["bin/doctor"], ["./run.sh", "doctor"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=place, env={})
        assert done.returncode == 0 and done.stdout.startswith("Perf events "), done
