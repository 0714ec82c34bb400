# SPDX-License-Identifier: MIT
"""What was accepted and gives nothing, held against what the program did: why, and no other reason."""

from __future__ import annotations

import errno
import os
import platform
from pathlib import Path

import pytest
from explaining import Explained, FAULTS, place_

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_a_thread_that_never_was_on_the_cpu_of_its_event(place: Path) -> None:
    """No counter was missing."""
    run = Explained(place, "-c", "0", str(place / "asks"), "keep", FAULTS + ":u:there", "work", program="taskset")
    assert run.errors == [0] and run.one()["silent"] and run.one()["sum"] == 0
    assert run.one()["never_there"] == 1 and run.one()["never_ran"] == run.one()["part_time"] == 0
    assert "no thread ran on that CPU" in run.text and "others hold them" not in run.text


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_a_thread_that_was_there(place: Path) -> None:
    run = Explained(place, "-c", "1", str(place / "asks"), "keep", FAULTS + ":u:there", "work", program="taskset")
    assert not run.one()["silent"] and run.one()["sum"] >= 64 and run.one()["never_there"] == 0


def test_samples_without_a_ring(place: Path) -> None:
    bare = Explained(place, "keep", FAULTS + ":u:sample:bare", "work")
    assert bare.errors == [0] and bare.one()["silent"] and bare.one()["rings"] == 0
    assert f"no ring was mapped, counted {bare.one()['sum']}" in bare.text and bare.one()["sum"] >= 64
    assert "only their counts can be read" in bare.text
    ring = Explained(place, "keep", FAULTS + ":u:each:wakeup=1", "work")
    assert not ring.one()["silent"] and ring.one()["rings"] == 1 and "no ring" not in ring.text


PERIODS = """import ctypes, struct
for period in range(1, 301):  # a dummy event of user mode, disabled
    ctypes.CDLL(None).syscall({number}, struct.pack("IIQQQQQ16x", 1, 64, 9, period, 0, 0, 0x21), 0, -1, -1, 0)"""
OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "s390x": 331}


@pytest.mark.skipif(platform.machine() not in OPEN, reason="the number of the call is not known")
def test_hundreds_of_kinds_are_a_screen(place: Path) -> None:
    script = PERIODS.replace("{number}", str(OPEN[platform.machine()]))
    run = Explained(place, "-c", script, program="/usr/bin/python3")
    assert len(run.told["asked"]) == 300 and 40 < len(run.done.stderr.splitlines()) < 60
    assert "and 260 more kinds of calls: --json FILE tells all" in run.text


def test_records_that_were_lost(place: Path) -> None:
    """1,280 samples of 24 bytes do not fit into a page; 64 do."""
    run = Explained(place, "keep", FAULTS + ":u:each", "times=20", "work")
    if run.errors == [errno.EINVAL]:
        pytest.skip("this kernel counts no lost records")
    assert run.one()["silent"] and run.one()["lost"] >= 1280 - 4096 // 24 and "records were lost" in run.text
    few = Explained(place, "keep", FAULTS + ":u:each:wakeup=1", "work")
    assert few.one()["lost"] == 0 and not few.one()["silent"] and "lost" not in few.text


def test_a_period_that_is_not_reached(place: Path) -> None:
    """64 faults and some, of a million: not one sample; with a frequency the kernel chooses the period."""
    run = Explained(place, "keep", FAULTS + ":u:sample", "work")
    assert run.one()["never_sampled"] == 1 and run.one()["silent"] and "took no sample" in run.text
    run = Explained(place, "keep", FAULTS + ":u:freq=1:wakeup=1", "work")
    assert run.one()["never_sampled"] == run.one()["never_woken"] == 0


WAKES = ["pages=8:wakeup=1", "pages=8:wakeup=1000", "pages=8", "pages=1", "pages=8:mark=1", "pages=8:mark=1200", "pages=8:mark=20000",
         "pages=1:mark=20000", "pages=1:mark=20000:wakeup=1", "pages=8:freq=5000:wakeup=1", "pages=8:freq=5000:wakeup=100000"]


@pytest.mark.parametrize("options", [(), ("--ptrace",)])
@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("words", WAKES)
def test_a_reader_that_poll_does_not_wake(place: Path, words: str, times: int, options: tuple[str, ...]) -> None:
    """What poll(2) says in the program itself is what is told of it, for each way to be woken and one more."""
    run = Explained(place, "keep", f"{FAULTS}:u:each:{words}", f"times={times}", "work", "poll", options=options)
    if run.errors[0] == errno.EINVAL:
        pytest.skip("this kernel counts no lost records")
    opened, woken = run.numbers()
    assert opened == 0 and woken in (0, 1)
    if "freq" in words and woken == run.one()["never_woken"] == 0:
        return      # the kernel chose a period that was not reached: an empty ring, of which nothing is told
    assert run.one()["never_woken"] == 1 - woken and ("never woke its reader (1 of 1)" in run.text) == (woken == 0)
    assert not woken or "poll(2) of it never returned" not in run.text


@pytest.mark.parametrize("words", ["each:pages=8:mark=20000", "each:pages=8", "each:pages=8:blind"])
def test_a_ring_that_was_read_unwoken(place: Path, words: str) -> None:
    """Programs look at their rings by the clock, too; and what is mapped to be read alone has no mark of what was read."""
    run = Explained(place, "keep", f"{FAULTS}:u:{words}", "work", "poll", *([] if "blind" in words else ["read"]))
    if run.errors[0] == errno.EINVAL:
        pytest.skip("this kernel counts no lost records")
    assert run.numbers() == [0, 0] and run.one()["never_woken"] == 0 and not run.one()["silent"]


@pytest.mark.parametrize("wakeup, never", [(1, False), (50, False), (1000, True)])
def test_who_reads_a_ring_is_never_woken(place: Path, wakeup: int, never: bool) -> None:
    """64 samples of 24 bytes and some fill no half of eight pages."""
    run = Explained(place, "keep", FAULTS + f":u:each:pages=8:wakeup={wakeup}", "work")
    if run.errors == [errno.EINVAL]:
        pytest.skip("this kernel counts no lost records")
    assert run.one()["never_woken"] == never == run.one()["silent"] and ("never woke its reader (1 of 1)" in run.text) == never


def test_a_ring_that_is_half_full_wakes_its_reader(place: Path) -> None:
    """640 samples of 24 bytes, of a ring of one page."""
    run = Explained(place, "keep", FAULTS + ":u:each:wakeup=1000", "times=10", "work")
    if run.errors == [errno.EINVAL]:
        pytest.skip("this kernel counts no lost records")
    assert run.one()["never_woken"] == 0
