# SPDX-License-Identifier: MIT
"""Files that a program looks for before it asks for events: what was not to be had is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from explaining import Explained, FAULTS, USER, as_root, place_

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_
HASTY = """
import ctypes, os
os.setpriority(os.PRIO_PROCESS, 0, -20)
open_, path = ctypes.CDLL(None).open, ctypes.create_string_buffer(99)
for name in (b"/dev/cpu/9/a", b"/dev/cpu/9/b", b"/dev/cpu/9/c"):
    path.value = name
    open_(path, 0)
    path.value = bytes(98)
"""


@as_root
def test_what_it_may_have_looked_at_before_it_asked_nothing(place: Path) -> None:
    tracefs = Path("/sys/kernel/tracing")
    if not tracefs.is_dir() or tracefs.stat().st_mode & 0o007 or tracefs.stat().st_gid == 64321:
        pytest.skip("an ordinary user may read tracefs, or there is none")
    run = Explained(place, str(tracefs / "tracing_on"), program="/bin/cat", before=tuple(USER))
    assert run.told["remarks"]["files"] == [{"path": f"{tracefs}/tracing_on", "error": "EACCES"}]
    assert "for tracepoints: tracefs is mounted, but its files are not readable" in run.text and "mount -o remount" in run.text
    assert "tracefs" not in Explained(place, FAULTS + ":u", before=tuple(USER)).text


@pytest.mark.parametrize("options", [(), ("--ptrace",)])
@pytest.mark.parametrize("words, missing", [
    (("/sys/kernel/tracing/events/never/was/id",), ["/sys/kernel/tracing/events/never/was/id"]),
    (("/sys/bus/event_source/devices/never_was/events/one",), ["/sys/bus/event_source/devices/never_was"]),
    (("/sys/bus/event_source/devices/software/cpumask", "/sys/bus/event_source/devices/software/events/one.unit"), []),
    (("/lib/modules/never/build", "/dev/cpu/9/a", "/dev/cpu/9/b", "/dev/cpu/9/c"), ["/dev/cpu/9/a", "/dev/cpu/9/b", "/dev/cpu/9/c"]),
    (("/sys/devices/never/a", "/dev/cpu/never/a"), ["/dev/cpu/never/a"]),
    (("/lib/modules/never/modules.dep",), ["/lib/modules/never/modules.dep"]),
    (("/lib/modules/never/build/include", "/sys/devices/a"), ["/lib/modules/never/build/include", "/sys/devices/a"]),
    (("/sys/devices/never/type", "/sys/bus/event_source/devices/software/type"), []),
    (("/sys/devices/system/never", "/nonexistent"), None),
    (("/sys/devices/never/\33[31m",), ["/sys/devices/never/?[31m"])])
def test_files_that_a_program_looked_for(place: Path, words: tuple[str, ...], missing: list[str] | None,
                                         options: tuple[str, ...]) -> None:
    """cat opens each: the last three that were not there are named, one that was found elsewhere is not."""
    run = Explained(place, *words, program="/bin/cat", options=options)
    assert [file["path"] for file in run.told["remarks"]["files"]] == (missing or [])
    assert {file["error"] for file in run.told["remarks"]["files"]} <= {"ENOENT"}
    assert ("may have given up for a file" in run.text) == bool(missing) and "\33" not in run.done.stderr.split("called")[-1]
    assert ("looked for no file" in run.text) == (missing is None)
    assert ("headers of the running kernel" in run.text) == any("/build" in path for path in missing or [])
    assert ("modprobe msr" in run.text) == any("/dev/cpu" in path for path in missing or [])
    assert ("that it looked for were there" in run.text) == (missing == [])


def test_files_are_of_the_time_before_the_first_call(place: Path) -> None:
    words = f"cat /sys/devices/before; {place}/asks {FAULTS}:u; cat /sys/devices/behind"
    run = Explained(place, "-c", words, program="/bin/sh")
    assert [file["path"] for file in run.told["remarks"]["files"]] == ["/sys/devices/before"]
    assert "may have given up" not in run.text and run.one()["calls"] == 1


@pytest.mark.parametrize("words", ["open(d + 'type')", "os.stat(d + 'type')", "os.access(d + 'type', 0)", "os.chdir(d)"])
def test_ways_to_look_for_a_file(place: Path, words: str) -> None:
    run = Explained(place, "-c", f"import os; d = '/sys/bus/event_source/devices/never_was/'; {words}", program="/usr/bin/python3")
    assert [file["path"].rstrip("/") for file in run.told["remarks"]["files"]] == ["/sys/bus/event_source/devices/never_was"]


@pytest.mark.parametrize("words", ["os.stat('never', dir_fd=d)", "os.open('never', 0, dir_fd=d)", "os.access('never', 0, dir_fd=d)"])
def test_what_walks_through_folders_is_let_pass(place: Path, words: str) -> None:
    """A file below a descriptor is not handed over: find and the like name each of theirs so."""
    run = Explained(place, "-c", f"import os; d = os.open('/sys/bus/event_source/devices', 0); {words}", program="/usr/bin/python3")
    assert run.told["remarks"]["files"] == []


@as_root
def test_a_path_that_is_gone_at_once(place: Path) -> None:
    """The program has the processor before explain has, whenever it may run, and overwrites each path behind its call."""
    cpu = str(min(os.sched_getaffinity(0)))
    for _ in range(10):
        run = Explained(place, "-c", HASTY, program="/usr/bin/python3", before=("taskset", "-c", cpu))
        assert [file["path"] for file in run.told["remarks"]["files"]] == ["/dev/cpu/9/a", "/dev/cpu/9/b", "/dev/cpu/9/c"]
