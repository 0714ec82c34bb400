# SPDX-License-Identifier: MIT
"""Who called: the program, or what it started, by its name."""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

import pytest
from explaining import Explained, FAULTS, as_root, paranoid, USER, place_
from surroundings import PERF

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_
ASKS = f"import ctypes; ctypes.CDLL(None).syscall({PERF.get(platform.machine(), 0)}, None, 0, -1, -1, 0)"
HOW = pytest.mark.parametrize("how", [(), ("--ptrace",)])


@HOW
def test_one_that_was_started_is_named(place: Path, how: tuple[str, ...]) -> None:
    run = Explained(place, "60", str(place / "asks"), FAULTS + ":u", program="timeout", options=how)
    assert run.errors == [0] and "asks, which timeout started, called perf_event_open 1 time" in run.text
    run = Explained(place, str(place / "asks"), FAULTS + ":u", program="env", options=how)
    assert run.errors == [0] and "asks, which env started, called perf_event_open 1 time" in run.text


@HOW
def test_two_that_were_started_are_named(place: Path, how: tuple[str, ...]) -> None:
    shutil.copy(place / "asks", place / "others")
    words = " && ".join(f"{{ {place / name} {FAULTS}:u || [ $? = 3 ]; }}" for name in ("asks", "others"))
    run = Explained(place, "-c", words, program="sh", options=how)
    assert run.errors == [0, 0] and "asks and others, which sh started, called perf_event_open 2 times" in run.text


@HOW
def test_the_program_is_named_alone_where_it_called(place: Path, how: tuple[str, ...]) -> None:
    link = place / "linked"
    link.unlink(missing_ok=True)
    link.symlink_to(place / "asks")
    for program, *words in ([str(place / "asks"), FAULTS + ":u", "exec", FAULTS + ":u"], [str(link), FAULTS + ":u"]):
        run = Explained(place, *words, program=program, options=how)
        assert run.text.split(" called ")[0].endswith(program) and "which" not in run.text.split(" called ")[0], run.text


def test_a_script_is_named_and_not_its_interpreter(place: Path) -> None:
    script = place / "script"
    script.write_text(f"#!/usr/bin/env {sys.executable}\n{ASKS}\n", encoding="utf-8")
    script.chmod(0o755)
    run = Explained(place, program=str(script))
    assert f"{script} called perf_event_open 1 time" in run.text


def test_what_never_called_is_the_program_and_what_it_started(place: Path) -> None:
    assert "timeout and what it started never called perf_event_open." in Explained(place, "60", "true", program="timeout").text
    assert "true never called perf_event_open." in Explained(place, program="/bin/true").text


def test_an_event_of_no_mode(place: Path) -> None:
    run = Explained(place, FAULTS + ":none")
    assert "count page-faults in no mode of its own thread" in run.text and "page-faults:" not in run.text


@as_root
def test_what_lies_behind_tracefs(place: Path) -> None:
    """Who reads tracefs at last meets the level, unless that lets all pass."""
    tracefs = Path("/sys/kernel/tracing")
    if not tracefs.is_dir() or tracefs.stat().st_mode & 0o007 or tracefs.stat().st_gid == 64321:
        pytest.skip("an ordinary user may read tracefs, or there is none")
    behind = f"when they are readable, kernel.perf_event_paranoid={paranoid()} still refuses whoever has no CAP_PERFMON"
    closed = "tracefs is mounted, but its files are not readable"
    run = Explained(place, str(tracefs / "tracing_on"), program="/bin/cat", before=tuple(USER))
    assert closed in run.text and (behind in run.text) == (paranoid() > -1)
    assert ("those of all that runs on a CPU 0 or less" in run.text) == (paranoid() > 0)
    perfmon = (*USER, "--inh-caps=+perfmon", "--ambient-caps=+perfmon")
    run = Explained(place, str(tracefs / "tracing_on"), program="/bin/cat", before=perfmon)
    assert closed in run.text and "still refuses" not in run.text
