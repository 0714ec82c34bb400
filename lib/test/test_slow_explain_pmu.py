# SPDX-License-Identifier: MIT
"""Events that are accepted and get no counter, in guests whose PMU has four: what explain says of them.

ROWS are in PMU_ROWS. The machine of these guests has one PMU, synthetic (kernels/pmu).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_gates_in_guests import in_a_guest, Told, TREE

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("make"),
              pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="no QEMU")]
ROWS = os.environ.get("PMU_ROWS", "amd64-6.12-pmu").split()
EXPLAIN = """explained() {	# LABEL WORDS...
	label=$1
	shift
	"$here/bin/explain" --json /tmp/told "$here/asks" keep "$@" >/dev/null 2>/tmp/text
	echo "@doctor $label"
	cat /tmp/told
	echo "@end"
	tr '\\n' ' ' </tmp/text | tr -s ' ' | sed "s/^/@text $label /; s/$/\\n/"
}
"""
WORK = "times=300 work"


def explained(place: Path, row: str, asked: dict[str, str], pmu: str = "") -> tuple[dict[str, Told], dict[str, str]]:
    """label -> what is told as JSON, and as text."""
    subprocess.run(["gcc", "-static", "-pthread", "-o", place / "asks", TREE / "lib/test/explain/asks.c"], check=True, timeout=300)
    script = EXPLAIN + "".join(f"explained {label} {words}\n" for label, words in asked.items())
    told = in_a_guest(place, row, script, more={"asks": place / "asks"}, pmu=pmu)
    log = (place / "out" / row / "console.log").read_text(encoding="utf-8", errors="replace")
    texts = dict(line.removeprefix("@text ").split(" ", 1) for line in log.splitlines() if line.startswith("@text "))
    return told, texts


@pytest.mark.parametrize("row", ROWS)
def test_more_events_than_counters(row: str, tmp_path: Path) -> None:
    """Nine share four, as five that are pinned cannot; four of these are not spoken of, and a group of five is refused."""
    asked = {"nine": f"times=9 0:1:u {WORK}", "four": f"times=4 0:1:u {WORK}", "pinned": f"times=5 0:1:u:pinned {WORK}",
             "group": f"0:1:u times=4 0:1:u:member {WORK}"}
    told, text = explained(tmp_path, row, asked)
    print(*text.items(), sep="\n")
    nine, four, pinned = (told[label]["asked"][0] for label in ("nine", "four", "pinned"))
    assert nine["part_time"] == 9 and nine["silent"] and nine["never_ran"] == 0 and nine["sum"] > 0
    assert "for less than half of the time (9 of 9)" in text["nine"] and "ask for fewer at once" in text["nine"]
    assert four["part_time"] == four["never_ran"] == four["in_error"] == 0 and not four["silent"]
    assert pinned["in_error"] == 1 and pinned["looked"] == 4 and "in error state" in text["pinned"]
    group = told["group"]["asked"]
    assert sum(shape["errors"].get("EINVAL", 0) for shape in group) == 1
    assert "more events than the PMU has counters" in text["group"] and "read(2) of them gives 0 bytes" in text["pinned"]


@pytest.mark.parametrize("row", ROWS)
def test_counters_that_others_hold(row: str, tmp_path: Path) -> None:
    """An event, and a group of four that was accepted, never run: their 0 is told to be no count."""
    asked = {"one": f"0:1:u {WORK}", "group": f"0:1:u times=3 0:1:u:member {WORK}", "pinned": f"0:1:u:pinned {WORK}",
             "software": f"1:2:u {WORK}"}
    told, text = explained(tmp_path, row, asked, pmu="taken=4")
    print(*text.items(), sep="\n")
    one, software = told["one"]["asked"][0], told["software"]["asked"][0]
    assert one["never_ran"] == 1 and one["sum"] == 0 and one["silent"]
    assert "never on a counter (1 of 1)" in text["one"] and "their 0 is no count" in text["one"]
    assert sum(shape["never_ran"] for shape in told["group"]["asked"]) == 4
    assert told["pinned"]["asked"][0]["in_error"] == 1
    assert software["never_ran"] == 0 and not software["silent"] and software["sum"] > 0
