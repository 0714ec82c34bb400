# SPDX-License-Identifier: MIT
"""rr(1), which traces by itself, in a guest whose PMU is synthetic and takes any event (kernels/pmu): beside explain it
records the same calls as it does alone, or is ended before it has recorded one. ROWS are in RR_ROWS.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil

import pytest
from guest_programs import ask, Parts, read_parts

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("make"),
              pytest.mark.skipif(not shutil.which("qemu-system-x86_64") or not shutil.which("rr"), reason="no QEMU, or no rr")]
ROWS = os.environ.get("RR_ROWS", "amd64-6.12-pmu").split()
# QEMU's processor is none that rr knows, and a PMU whose interrupts come late it takes for a bug: it has to be forced.
RECORD = "rr --resource-path=/usr -F -A 'Intel Skylake' record -n true"
DUMP = 'rr dump latest-trace >dump; echo "dump ended with $?"; grep -o "event:[^)]*)" dump'
LINES = [f"alone alone root sh -c {shlex.quote(f'{RECORD}; echo rr ended with $?; {DUMP}')}",
         f"explained rr root {RECORD}", f"as root /bin/sh -c {shlex.quote(DUMP)}", "give dump rr root /tmp/told",
         f"explained shell root sh -c {shlex.quote(f'{RECORD}; echo went on')}",
         "find /tmp/made -size +0 >/tmp/told", "give files shell root /tmp/told",
         f"clean; as root $here/bin/explain --ptrace --json /tmp/made/told sh -c {shlex.quote(f'{RECORD}; echo rr ended with $?; {DUMP}')}",
         "give text asked root /tmp/told; give told asked root /tmp/made/told",
         "explained refused root rr -A 'Intel Skylake' record -n true", "alone refused root rr -A 'Intel Skylake' record -n true"]


@pytest.fixture(scope="module", name="found", params=ROWS)
def _found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Parts:
    place = tmp_path_factory.mktemp("rr")
    return read_parts(ask(request.param, place, ["rr"], LINES, pmu="lie=any_event,same_event"))


def recorded(text: str) -> list[str]:
    """The calls of the recording; when else it was interrupted differs from run to run."""
    assert "dump ended with 0" in text, text
    return [event for event in re.findall(r"event:.*", text) if "SYSCALL" in event]


def skip_where_rr_cannot(found: Parts) -> None:
    """rr 5.6.0 ends in an assertion on 7.3, whose vvar pages it cannot read."""
    if "rr ended with 0" not in found["says", "alone", "root"]:
        pytest.skip("rr itself records nothing on this kernel")


def test_rr_records_as_it_does_alone(found: Parts) -> None:
    skip_where_rr_cannot(found)
    alone, beside = recorded(found["says", "alone", "root"]), recorded(found["dump", "rr", "root"])
    print(found["text", "rr", "root"], *beside, sep="\n")
    assert alone == beside and len(alone) > 20 and any("openat" in event for event in alone)
    told = json.loads(found["told", "rr", "root"])
    assert sum(shape["opened"] for shape in told["asked"]) >= 5 and told["exit"] == 0 and not told["gates"]
    assert all(shape["opened"] == shape["calls"] for shape in told["asked"]) and any(shape["target"] == "child" for shape in told["asked"])
    assert "rr traces by a filter of its own" in " ".join(found["text", "rr", "root"].split())


def test_rr_in_a_script_is_ended_before_it_records(found: Parts) -> None:
    text = " ".join(found["text", "shell", "root"].split())
    print(text)
    assert "sh cannot be looked at in this way, and was ended before harm was done: rr was about to set a filter" in text
    assert "wakes its tracer, rr (SECCOMP_RET_TRACE)" in text and "went on" not in text and "exit=3" in text
    files = found["files", "shell", "root"].split()
    assert "/tmp/made/app.c" in files and not [file for file in files if file.endswith(("/events", "/tasks"))], files


def test_rr_in_a_script_records_by_ptrace(found: Parts) -> None:
    skip_where_rr_cannot(found)
    text = found["text", "asked", "root"]
    assert recorded(text) == recorded(found["says", "alone", "root"]) and "rr ended with 0" in text
    assert sum(shape["opened"] for shape in json.loads(found["told", "asked", "root"])["asked"]) >= 5


def test_rr_gives_up_as_it_does_alone(found: Parts) -> None:
    """Not forced, it takes this PMU for broken: its events opened, and nothing is said to be refused."""
    ends = [re.search(r"exit=(\d+ signal=\d+)", found[kind, "refused", "root"]) for kind in ("says", "text")]
    assert ends[0] and ends[1] and ends[0][1] == ends[1][1]
    assert all("FATAL" in found[kind, "refused", "root"] for kind in ("says", "text"))
    assert not json.loads(found["told", "refused", "root"])["gates"] and "never called" not in found["text", "refused", "root"]
