# SPDX-License-Identifier: MIT
"""Programs with a filter of system calls of their own: what it does to their events, and nothing that it does not."""

from __future__ import annotations

import errno
import signal
from pathlib import Path

import pytest
from explaining import Explained, FAULTS, place_

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_
ONE = FAULTS + ":u"


@pytest.mark.parametrize("how", ["trap", "kill"])
def test_a_call_that_ends_the_program_did_not_open(place: Path, how: str) -> None:
    run = Explained(place, ONE, "filter:" + how, ONE, options=("--ptrace",))
    assert run.done.returncode == -signal.SIGSYS and run.errors == [0]
    assert (run.one()["calls"], run.one()["opened"], run.one()["unseen"]) == (2, 1, 1)
    assert "1 calls were ended or trapped" in run.text and "another program traces" not in run.text


@pytest.mark.parametrize("how", ["trap", "kill"])
def test_a_filter_is_told_of_a_program_that_it_ended(place: Path, how: str) -> None:
    """Which is gone before its filter could be read behind the call that sets it."""
    run = Explained(place, ONE, "filter:" + how, ONE)
    assert run.done.returncode == -signal.SIGSYS and run.one()["calls"] == run.one()["opened"] == 1
    assert "set itself ends or traps perf_event_open" in run.text


@pytest.mark.parametrize("options", [(), ("--ptrace",)])
def test_a_filter_that_lets_the_call_pass_is_none(place: Path, options: tuple[str, ...]) -> None:
    run = Explained(place, ONE, "filter:log", ONE, options=options)
    assert run.errors == [0, 0] and run.one()["opened"] == 2 and "set itself" not in run.text


def test_a_listener_of_its_own_is_refused(place: Path) -> None:
    """The kernel has one in a chain of filters."""
    run = Explained(place, ONE, "listener", ONE)
    assert run.errors == [0, errno.EBUSY, 0] and run.one()["opened"] == 2
    assert "wanted a listener of its own" in run.text and "filter that the program set" not in run.text


def test_a_listener_of_its_own_answers(place: Path) -> None:
    run = Explained(place, ONE, "listener", ONE, options=("--ptrace",))
    assert run.errors == [0, 0, errno.EPERM] and run.one()["errors"] == {"EPERM": 1}
    gate = run.gate(run.one())
    assert "listener of system calls that the program set itself" in gate["gate"]
    assert gate["behind"] == "without that filter: it opens" and "security module" not in run.text
