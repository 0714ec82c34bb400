# SPDX-License-Identifier: MIT
"""Programs that trace others, looked at by ptrace: what they are to trace is let go, as a thread has one tracer."""

from __future__ import annotations

import errno
import re
import shutil
import signal
from pathlib import Path

import pytest
from explaining import Explained, FAULTS, place_
from surroundings import refuse_perf

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_
PTRACE = ("--ptrace",)
BEGIN = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
TRACEME, CONT, ATTACH, DETACH, SEIZE, INTERRUPT, WALL = 0, 7, 16, 17, 0x4206, 0x4207, 0x40000000
def ask(*words):
    return ctypes.get_errno() if libc.ptrace(*words, *[0] * (4 - len(words))) else 0
def start(run):
    pid = os.fork()
    if pid == 0:
        run()
        os._exit(7)
    return pid
def stopped(pid):
    return int(os.WIFSTOPPED(os.waitpid(pid, WALL)[1]))
"""


def run_script(place: Path, script: str, **more: object) -> Explained:
    return Explained(place, "-c", BEGIN + script, program="/usr/bin/python3", options=PTRACE, **more)  # type: ignore[arg-type]


def test_a_child_that_is_traced_and_stops_itself_does_not_hang(place: Path) -> None:
    run = run_script(place, """
def child():
    ask(TRACEME)
    os.kill(os.getpid(), signal.SIGSTOP)
pid = start(child)
print(stopped(pid), ask(CONT, pid), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""")
    assert run.numbers() == [1, 0, 7] and run.done.returncode == 0
    assert "the program traces others: 1 thread was let go for that" in run.text and "wants no perf events" not in run.text


def test_a_process_is_attached_to_and_let_go_and_seized(place: Path) -> None:
    """Each has the program's own answers, and a process that it let go can be traced again."""
    run = run_script(place, """
pid = start(signal.pause)
print(ask(ATTACH, pid), stopped(pid), ask(DETACH, pid))
print(ask(SEIZE, pid), ask(INTERRUPT, pid), stopped(pid), ask(DETACH, pid), ask(ATTACH, os.getpid()))
os.kill(pid, signal.SIGKILL)
print(os.waitpid(pid, 0)[1])
""")
    assert run.numbers() == [0, 1, 0, 0, 0, 1, 0, errno.EPERM, signal.SIGKILL]
    assert "1 thread was let go" in run.text and "without --ptrace" in run.text


def test_two_that_attach_to_each_other_are_held_by_nobody_else(place: Path) -> None:
    """The kernel says who has whom: each has its answer, or has been stopped by the other before it was heard."""
    run = run_script(place, """
import select
to_second, said = os.pipe(), os.pipe()
def attach(other):
    os.write(said[1], b"%d %d\\n" % (os.getpid(), ask(ATTACH, other)))
    signal.pause()
def first():
    os.write(to_second[1], b"%d" % os.getpid())
    attach(second)
def is_stopped_by(pid, other):
    words = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    return words["State"].split()[0] == "t" and int(words["TracerPid"]) == other
second = start(lambda: attach(int(os.read(to_second[0], 20))))
pair = {start(first), second}
left = set(pair)
while left:
    if select.select([said[0]], [], [], 0.01)[0]:
        left -= {int(line.split()[0]) for line in os.read(said[0], 100).splitlines()}
    left = {pid for pid in left if not is_stopped_by(pid, *pair - {pid})}
for pid in pair:
    os.kill(pid, signal.SIGKILL)
print(*(os.waitpid(pid, 0)[1] for pid in pair))
""")
    assert run.numbers() == [signal.SIGKILL, signal.SIGKILL] and run.done.returncode == 0
    assert "let go for that" in run.text


def test_a_program_keeps_the_tracer_that_it_has(place: Path) -> None:
    """The first process: it asks its own parent to trace it, which is explain."""
    run = run_script(place, "print(ask(TRACEME))")
    assert run.numbers() == [errno.EPERM]
    assert "traces others, and may have met that it is traced itself" in run.text


def test_what_a_process_asks_that_was_let_go_is_not_known(place: Path) -> None:
    """And of the calls before, what they were."""
    asks = str(place / "asks")
    run = run_script(place, f"""
def child():
    ask(TRACEME)
    os.execv({asks!r}, ["asks", {FAULTS + ":u"!r}])
os.spawnv(os.P_WAIT, {asks!r}, ["asks", {FAULTS + ":u"!r}])
pid = start(child)
print(stopped(pid), ask(CONT, pid), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""", limit=lambda: refuse_perf(errno.EPERM))
    assert run.one()["calls"] == 1 and run.one()["errors"] == {"EPERM": 1}
    assert re.search("what it asked from then on is not known", run.text)


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
def test_strace_of_a_program_goes_as_without_us(place: Path) -> None:
    words = ("-f", "-e", "trace=perf_event_open", "-o", "/dev/stdout", "--", str(place / "asks"), FAULTS + ":u")
    run = Explained(place, *words, program=shutil.which("strace") or "", options=PTRACE)
    assert "perf_event_open({type=PERF_TYPE_SOFTWARE" in run.done.stdout and run.done.returncode == 3
