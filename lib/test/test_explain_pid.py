# SPDX-License-Identifier: MIT
"""A process that runs already is looked at, and is let go as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from explaining import CLOCK, FAULTS, SWITCHES, USER, as_root, place_

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_


class Followed:
    """A program that runs already, before it goes on: explain looks at it once it says so."""

    def __init__(self, place: Path, *words: str, before: tuple[str, ...] = ()) -> None:
        self.target = subprocess.Popen([place / "asks", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.until("waits")
        self.folder = tempfile.TemporaryDirectory()
        self.json = Path(self.folder.name, "told.json")
        Path(self.folder.name).chmod(0o777)
        self.explain = subprocess.Popen([*before, place / "explain", "--json", self.json, "--pid", str(self.target.pid)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self.explain.stderr
        self.first = self.explain.stderr.readline()

    def __enter__(self) -> "Followed":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.explain, self.target:
            process.kill()
            process.communicate()
        self.folder.cleanup()

    def until(self, line: str) -> None:
        assert self.target.stdout
        while (seen := self.target.stdout.readline()) != line + "\n":
            assert seen, f"it ended before it said {line}"

    def go_on(self) -> None:
        assert self.target.stdin
        self.target.stdin.write("x")
        self.target.stdin.flush()

    def end(self, number: int = 0) -> Any:
        if number:
            self.explain.send_signal(number)
        self.text = " ".join(self.explain.communicate(timeout=120)[1].split())
        return json.loads(self.json.read_text(encoding="utf-8"))

    def states(self) -> set[str]:
        """Of all threads of both."""
        return {(task / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
                for process in (self.target, self.explain) for task in Path("/proc", str(process.pid), "task").iterdir()}

    def tracers(self) -> set[str]:
        return {line for task in Path("/proc", str(self.target.pid), "task").iterdir()
                for line in (task / "status").read_text(encoding="utf-8").splitlines() if line.startswith("TracerPid")}


def test_a_process_that_runs_already(place: Path) -> None:
    """It asked once before we looked; its threads, those it starts, and what its child executes are seen."""
    words = ("keep", FAULTS + ":u", "busy=8", "wait", FAULTS + ":u", SWITCHES + ":u", "threads=5", CLOCK + ":u", "exec",
             FAULTS + ":u:sample")
    with Followed(place, *words) as run:
        assert "looking at asks" in run.first
        run.go_on()
        assert run.target.wait(timeout=120) == 3
        told = run.end()
        assert [(shape["event"], shape["calls"], shape["opened"]) for shape in told["asked"]] == [
            ("page-faults:u", 1, 1), ("context-switches:u", 1, 1), ("task-clock:u", 5, 5), ("page-faults:u", 1, 1)]
        assert told["open_before"] == 1 and told["pid"] == run.target.pid and run.explain.returncode == 0
        assert "1 event was open already" in run.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_process_that_is_let_go(place: Path, number: int) -> None:
    """Its threads wait in four ways: none of their calls ends otherwise than alone, and nobody traces them."""
    with Followed(place, "busy=12", "wait", FAULTS + ":u", "wait", SWITCHES + ":u") as run:
        assert run.tracers() == {f"TracerPid:\t{tracer(run.target.pid)}"} and tracer(run.target.pid)
        run.go_on()
        run.until("0")
        if number == signal.SIGKILL:
            run.explain.kill()
            run.explain.wait(timeout=120)
        else:
            assert [shape["event"] for shape in run.end(number)["asked"]] == ["page-faults:u"]
            assert run.explain.returncode == 0
        assert run.tracers() == {"TracerPid:\t0"}
        run.go_on()
        assert run.target.wait(timeout=120) == 3


def tracer(pid: int) -> int:
    status = Path("/proc", str(pid), "status").read_text(encoding="utf-8")
    return int(status.split("TracerPid:")[1].split()[0])


def test_a_stopped_process_stays_stopped(place: Path) -> None:
    """Also while it is looked at: what it waits for comes, and it does not go on."""
    with Followed(place, "wait", FAULTS + ":u", "wait") as run:
        run.target.send_signal(signal.SIGSTOP)
        assert os.waitpid(run.target.pid, os.WUNTRACED)[1] >> 8 == signal.SIGSTOP
        run.go_on()
        while run.states() - {"S", "t"}:
            pass
        assert "t" in run.states()
        assert run.end(signal.SIGINT)["asked"] == []
        assert "has not called perf_event_open. note that is while it was looked at" in run.text and "wants no perf" not in run.text
        assert "State:\tT (stopped)" in Path("/proc", str(run.target.pid), "status").read_text(encoding="utf-8")
        run.target.send_signal(signal.SIGCONT)
        run.go_on()
        assert run.target.wait(timeout=120) == 3


def test_signals_on_their_way_arrive(place: Path) -> None:
    """As many as were sent, while the look begins and ends again and again. Real-time signals are queued."""
    script = ("import os, signal\nread, write = os.pipe()\nos.set_blocking(write, False)\n"
              "signal.set_wakeup_fd(write)\nsignal.signal(signal.SIGRTMIN, lambda *_: None)\nprint('ready', flush=True)\n"
              "input()\nprint(len(os.read(read, 1 << 20)))")
    with subprocess.Popen(["/usr/bin/python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout and run.stdin and run.stdout.readline() == "ready\n"
        sent = 0
        for _ in range(20):
            with subprocess.Popen([place / "explain", "--pid", str(run.pid)], stderr=subprocess.PIPE, text=True) as look:
                assert look.stderr and "looking at" in look.stderr.readline()
                for at in range(1000):
                    os.kill(run.pid, signal.SIGRTMIN)
                    sent += 1
                    if at == 20:
                        look.send_signal(signal.SIGINT)
                    if look.poll() is not None:
                        break
        run.stdin.write("\n")
        run.stdin.flush()
        assert run.stdout.readline() == f"{sent}\n" and run.wait(timeout=120) == 0


@as_root
def test_a_process_that_cannot_be_followed(place: Path) -> None:
    def refused(pid: object, *before: str) -> str:
        done = subprocess.run([*before, place / "explain", "--pid", str(pid)], capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode in (2, 3) and done.stdout == ""
        return " ".join(done.stderr.split())

    with Followed(place, "wait") as run:
        assert f"process {run.explain.pid} traces asks already" in refused(run.target.pid)
        run.end(signal.SIGINT)
        assert "run this as root" in refused(run.target.pid, *USER)
        run.go_on()
        assert run.target.wait(timeout=120) == 3
    assert "there is no process" in refused(run.target.pid)
    kernel = [pid for pid in ("2",) if Path("/proc", pid, "comm").read_text(encoding="utf-8").strip() == "kthreadd"]
    assert not kernel or "a thread of the kernel" in refused(kernel[0])
    assert "no number" in refused("12x") and "no number" in refused(2 ** 40)
