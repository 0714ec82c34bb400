# SPDX-License-Identifier: MIT
"""Programs that record others by a filter that wakes them (SECCOMP_RET_TRACE), as rr does. A notification is stronger
than that answer: they work as they do alone, or are ended with the reason before they miss a call."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from explaining import Explained, FAULTS, place_, TREE

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_
WAYS = [(), ("prctl",), ("file",), ("file", "late")]


@pytest.fixture(scope="module", name="records")
def _records(place: Path) -> Path:
    subprocess.run(["gcc", "-O1", "-o", place / "records", TREE / "lib/test/explain/records.c"], check=True, timeout=300)
    return place / "records"


def alone(program: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 4 and sum(map(int, done.stdout.split())) >= 3, done
    return done.returncode, done.stdout


def is_refused(run: Explained, program: str, tracer: str) -> None:
    assert run.done.returncode == 3 and run.done.stdout == "" and run.told == {}
    assert f"{program} cannot be looked at in this way, and was ended before harm was done" in run.text
    assert f"wakes {tracer} (SECCOMP_RET_TRACE)" in run.text and f"perfmodes-explain --ptrace -- {program} ..." in run.text


@pytest.mark.parametrize("words", WAYS)
def test_a_recorder_is_ended_before_it_misses_a_call(place: Path, records: Path, words: tuple[str, ...]) -> None:
    is_refused(Explained(place, *words, program=str(records)), str(records), "a tracer" if "late" in words else "its tracer, records")


@pytest.mark.parametrize("words", WAYS)
def test_a_recorder_misses_nothing_beside_ptrace(place: Path, records: Path, words: tuple[str, ...]) -> None:
    run = Explained(place, *words, program=str(records), options=("--ptrace",))
    assert (run.done.returncode, run.done.stdout) == alone(records, *words)
    assert run.one()["target"] == "child" and run.one()["opened"] == 1 and "1 thread was let go for that" in run.text


def test_rr_is_looked_at_by_ptrace_unasked(place: Path, records: Path) -> None:
    """By its name: what else of that name there is, is slow for it, and right."""
    (place / "named").mkdir(exist_ok=True)
    named = Path(shutil.copy(records, place / "named/rr"))
    run = Explained(place, program=str(named))
    assert (run.done.returncode, run.done.stdout) == alone(named) and run.one()["opened"] == 1
    assert "looked at by ptrace(2), which makes all system calls slow: rr traces by a filter of its own" in run.text
    run = Explained(place, program=str(named), options=("--pretend",))
    assert run.done.returncode == 2 and run.done.stdout == "" and "rr traces by a filter of its own" in run.text


def test_a_tracer_of_other_calls_is_left_alone(place: Path, records: Path) -> None:
    """Its filter and ours have no call in common: both see theirs."""
    run = Explained(place, "pid", program=str(records))
    assert (run.done.returncode, run.done.stdout) == alone(records, "pid")
    assert sum(shape["calls"] for shape in run.told["asked"]) == 2 and not run.told["remarks"]["ptrace"]


def test_a_filter_that_wakes_nobody_is_refused(place: Path) -> None:
    """Without a tracer the answer is ENOSYS, behind our filter it would be an event."""
    is_refused(Explained(place, "filter:trace", FAULTS + ":u"), str(place / "asks"), "a tracer")
    run = Explained(place, "filter:trace", FAULTS + ":u", options=("--ptrace",))
    assert run.one()["errors"] == {"ENOSYS": 1}
    for how in ("log", "trap"):
        assert "SECCOMP_RET_TRACE" not in Explained(place, f"filter:{how}", FAULTS + ":u").text


@pytest.mark.parametrize("words", WAYS)
def test_a_recorder_that_a_process_starts_that_ran_already(place: Path, records: Path, words: tuple[str, ...]) -> None:
    """--pid is ptrace, too."""
    script = f"read line; {records} {' '.join(words)}; exit $?"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process, \
            subprocess.Popen([place / "explain", "--pid", str(process.pid)], stderr=subprocess.PIPE, text=True) as explain:
        assert explain.stderr and "looking at" in explain.stderr.readline()
        said = process.communicate("go on\n", timeout=120)[0]
        assert (process.returncode, said) == alone(records, *words)
        assert "1 opened, 0 refused" in " ".join(explain.communicate(timeout=120)[1].split())


def test_all_that_belongs_to_the_program_ends(place: Path, records: Path, tmp_path: Path) -> None:
    """Its parent does not go on as if it had worked, and nobody is left who holds a line to us (communicate ends)."""
    (tmp_path / "script").write_text(f"sleep 600 & (sleep 600; :) & {records}; echo went on; sleep 600", encoding="utf-8")
    begin = time.monotonic()
    is_refused(Explained(place, str(tmp_path / "script"), program="sh"), "sh", "its tracer, records")
    assert time.monotonic() - begin < 500


def test_what_goes_on_behind_the_program_is_not_waited_for(place: Path) -> None:
    """By ptrace as otherwise; it is let go, and goes on."""
    words = ("-c", 'mkfifo "$0/line"; (read word <"$0/line"; echo "$word" >"$0/said") >/dev/null 2>&1 & exit 7', str(place))
    for options in ((), ("--ptrace",)):
        for name in ("line", "said"):
            (place / name).unlink(missing_ok=True)
        run = Explained(place, *words, program="sh", options=options)
        assert run.done.returncode == 7 and not (place / "said").exists()
        (place / "line").write_text("on\n", encoding="utf-8")
        while not ((place / "said").exists() and (place / "said").read_text(encoding="utf-8")):
            time.sleep(0.01)
        assert (place / "said").read_text(encoding="utf-8") == "on\n"


@pytest.mark.skipif("--seccomp-bpf" not in os.popen("strace --help 2>&1").read(), reason="no strace, or an old one")
def test_a_tracer_of_explain_itself(place: Path, tmp_path: Path) -> None:
    """strace with a filter would miss the program's opens, so it is refused; without one it sees them, and with one alone, too."""
    def opens(*words: str) -> tuple[int, int, str]:
        command = ["strace", "-f", "-e", "trace=perf_event_open", "-o", str(tmp_path / "log"), *words, str(place / "asks"), FAULTS + ":u"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return (tmp_path / "log").read_text(encoding="utf-8").count("PERF_COUNT_SW_PAGE_FAULTS"), done.returncode, done.stderr
    refused = opens("--seccomp-bpf", str(place / "explain"))
    assert refused[:2] == (0, 2) and "strace traces this program and what it starts by a filter of system calls" in refused[2]
    assert opens("--seccomp-bpf")[:2] == (1, 3) and opens()[:2] == (1, 3)
    seen = opens(str(place / "explain"))
    assert seen[0] >= 1 and seen[1] == 3 and "1 not seen" in seen[2] and "another program traces these threads" in seen[2]


ATTACH = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
DETACH, SEIZE, INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000
line = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(line[1], b".")
    while True:
        os.access("/sys/bus/event_source/devices/no_such_pmu", 0)
os.read(line[0], 1)
failed = 0
for _ in range(300):
    if libc.ptrace(SEIZE, pid, None, None):
        failed += 1
        continue
    libc.ptrace(INTERRUPT, pid, None, None)
    os.waitpid(pid, WALL)
    libc.ptrace(DETACH, pid, None, None)
os.kill(pid, signal.SIGKILL)
print(failed)
"""


def test_a_tracer_gets_a_thread_that_is_looked_at(place: Path) -> None:
    """Each of its calls is looked at, for which it has us as its tracer for a moment: another waits until that is over."""
    run = Explained(place, "-c", ATTACH, program="/usr/bin/python3")
    assert run.numbers() == [0] and run.done.returncode == 0
