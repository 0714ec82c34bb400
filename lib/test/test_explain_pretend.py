# SPDX-License-Identifier: MIT
"""Refused events are answered with ones that count nothing, and the program goes on."""

from __future__ import annotations

import errno
import json
import os
import platform
import resource
import subprocess
import tempfile
from pathlib import Path

import pytest
from explaining import ARCH, Explained, FAULTS, SWITCHES, USER, place_
from surroundings import lower, refuse_perf

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_
NO_PMU = "77:1:u"       # no PMU has that type: ENOENT

pretends = pytest.mark.skipif(ARCH != "x86_64" or platform.machine() != ARCH, reason="calls are not made again here")


@pretends
@pytest.mark.parametrize("who", [(), tuple(USER)])
def test_a_refused_event_is_pretended(place: Path, tmp_path: Path, who: tuple[str, ...]) -> None:
    """The program goes on as if it opened, with a group and a ring; what opens is the real one."""
    if who and os.geteuid() != 0:
        pytest.skip("sets user ids")
    words = ("keep", NO_PMU + ":ask", "77:2:u:member:ask", FAULTS + ":u:ask", "work", SWITCHES + ":u:sample")
    alone = subprocess.run([*who, place / "asks", *words], capture_output=True, text=True, timeout=120, check=False)
    assert [int(line) for line in alone.stdout.split()][:2] == [errno.ENOENT, errno.ENOENT]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as made:
        os.chmod(made.name, 0o666)
        run = Explained(place, *words, before=who, options=("--pretend", "--record", made.name))
        recording = json.load(made)
    assert run.errors == [0] * 19 and run.done.returncode == 3
    leader, member, faults, switches = run.told["asked"]
    assert leader["errors"] == {"ENOENT": 1} and leader["pretended"] == leader["rings"] == 1 and leader["opened"] == 0
    assert (member["errors"], member["unseen"], member["pretended"]) == ({}, 1, 1)
    assert (faults["opened"], faults["pretended"]) == (1, 0) and faults["sum"] >= 64
    assert switches["opened"] == switches["rings"] == 1 and leader["looked"] == member["looked"] == 0
    assert "what the program told is not true" in run.text and "1 of a pretended group" in run.text
    schema = pytest.importorskip("reports.schema", reason="the tree is not in the path of Python")
    schema.require("recording", recording, "the recording")
    assert [call.get("pretended", 0) for call in recording["calls"]] == [1, 1, 0, 0]


@pretends
def test_without_being_asked_nothing_is_pretended(place: Path) -> None:
    run = Explained(place, NO_PMU)
    assert run.errors == [errno.ENOENT] and run.one()["pretended"] == 0 and "not true" not in run.text


@pretends
def test_what_is_wrong_or_full_is_not_pretended(place: Path) -> None:
    """A limit of descriptors holds, and a thousand threads are told apart."""
    run = Explained(place, "times=500", "keep", NO_PMU, options=("--pretend",), limit=lower(resource.RLIMIT_NOFILE, 400))
    refused = 500 - run.errors.count(0)
    assert 100 < refused < 400 and run.one()["pretended"] == 500 - refused
    run = Explained(place, "threads=200", "times=10", NO_PMU, options=("--pretend",))
    assert run.one()["pretended"] == run.one()["errors"]["ENOENT"] == 2000 and run.done.returncode == 3


@pretends
def test_where_nothing_can_be_pretended(place: Path) -> None:
    run = Explained(place, NO_PMU, options=("--pretend", "--ptrace"))
    assert run.done.returncode == 2 and run.done.stdout == "" and "--ptrace does without them" in run.text
    run = Explained(place, NO_PMU, options=("--pretend",), limit=lambda: refuse_perf(errno.EPERM))
    assert run.done.returncode == 2 and "a filter around it" in run.text
