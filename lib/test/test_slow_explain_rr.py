# SPDX-License-Identifier: MIT
"""rr(1), which traces by itself, in a guest whose PMU is synthetic and takes any event (kernels/pmu): it records beside
explain as it does alone, and what explain says of its events is what came of them. ROWS are in RR_ROWS.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil

import pytest
from guest_programs import ask, Parts, read_parts

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("make"),
              pytest.mark.skipif(not shutil.which("qemu-system-x86_64") or not shutil.which("rr"), reason="no QEMU, or no rr")]
ROWS = os.environ.get("RR_ROWS", "amd64-6.12-pmu").split()
# QEMU's processor is none that rr knows, and a PMU whose interrupts come late it takes for a bug: it has to be forced.
RECORD = "rr -F -A 'Intel Skylake' record -n true; echo rr ended with $?; rr dump latest-trace | grep -c global_time"
LINES = [f"alone rr root sh -c {shlex.quote(RECORD)}", f"explained rr root sh -c {shlex.quote(RECORD)}",
         "explained refused user rr -A 'Intel Skylake' record -n true", "alone refused user rr -A 'Intel Skylake' record -n true"]


@pytest.fixture(scope="module", name="found", params=ROWS)
def _found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Parts:
    place = tmp_path_factory.mktemp("rr")
    return read_parts(ask(request.param, place, ["rr"], LINES, pmu="lie=any_event,same_event"))


def test_it(found: Parts) -> None:
    for key, text in found.items():
        print("=====", *key, text, sep="\n")
