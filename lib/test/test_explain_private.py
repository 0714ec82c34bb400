# SPDX-License-Identifier: MIT
"""A program full of secrets: its path, arguments, names, filters, addresses and what it planted are in no recording."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from explaining import as_root, place_

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_
SECRET = b"SECRET12"
PROGRAM = r"""
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static const char text[] = "/SECRET12/SECRET12";
static struct { struct perf_event_attr attr; char behind[256]; } asked;
static int ask(unsigned int type, unsigned long config, unsigned long one)
{
	memset(&asked, 0, sizeof(asked));
	asked.attr = (struct perf_event_attr){ .type = type, .config = config, .size = sizeof(asked.attr), .exclude_kernel = 1,
		.config1 = one, .disabled = 1 };
	return (int)syscall(__NR_perf_event_open, &asked, 0, -1, -1, 0UL);
}
int main(void)
{
	unsigned long word;
	int fd;

	memcpy(&word, "SECRET12", 8);
	prctl(PR_SET_NAME, "SECRET12");
	for (unsigned int type = 0; type < 4; type++) {
		ask(type, 1, word);
		ask(type, 1, (unsigned long)text);
	}
	for (unsigned int type = 5; type < 20; type++)
		ask(type, type == 5 ? 0 : 1, (unsigned long)text);
	ask(1, 9, 0);
	memcpy((char *)&asked + sizeof(asked.attr), text, 24);
	asked.attr.size = sizeof(asked.attr) + 24;
	syscall(__NR_perf_event_open, &asked, 0, -1, -1, 0UL);
	fd = ask(1, 9, 0);
	ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "comm == SECRET12");
	ioctl(fd, PERF_EVENT_IOC_SET_BPF, text);
	execl("/SECRET12/SECRET12", "SECRET12", "SECRET12", NULL);
	return 0;
}
"""


def recorded(place: Path, tmp_path: Path, *words: str) -> str:
    made = tmp_path / "made.json"
    subprocess.run([place / "explain", "--quiet", "--record", made, *words], timeout=300, check=False, capture_output=True,
                   env={**os.environ, "SECRET12": "SECRET12"}, cwd=tmp_path)
    return made.read_text(encoding="utf-8")


def test_nothing_of_a_program_full_of_secrets(place: Path, tmp_path: Path) -> None:
    schema = pytest.importorskip("reports.schema", reason="the tree is not in the path of Python")
    source, program = tmp_path / "SECRET12.c", tmp_path / "SECRET12"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["gcc", "-no-pie", "-o", program, source], check=True, timeout=120)
    text = recorded(place, tmp_path, str(program), "SECRET12")
    found = json.loads(text)
    schema.require("recording", found, "the recording")
    made = [call for call in found["calls"] if call["attr"]["type"] != "raw"]
    assert sum(call["calls"] for call in made) == 26
    names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    address = next(int(line.split()[0], 16) for line in names.splitlines() if line.endswith(" text"))
    numbers = [f"{value:x}" for value in (address, int.from_bytes(SECRET, "little"), int.from_bytes(SECRET, "big"))]
    known = {path.name for path in Path("/sys/bus/event_source/devices").iterdir()}
    for call in made:
        if call["attr"]["type"] not in known - {"uprobe", "kprobe"}:  # of a PMU config1 is a part of the event
            assert not [number for number in numbers if number in json.dumps(call)], call
    for private in ("SECRET12", os.uname().nodename + '"', str(tmp_path)):
        assert private not in text


@as_root
def test_a_probe_that_somebody_planted_is_not_named(place: Path, tmp_path: Path) -> None:
    """Whatever its group is called; done in a mount namespace of the test, and removed."""
    program = Path(shutil.copy(place / "asks", tmp_path / "asks"))
    script = f"""cd /sys/kernel/tracing && {{ [ -e events ] || mount -t tracefs none .; }} && cd /sys/kernel/tracing || exit 9
    echo 'p:secretgroup/secretevent {program}:0x1000' >>uprobe_events || exit 9
    id=$(cat events/secretgroup/secretevent/id)
    {place}/explain --quiet --record {tmp_path}/made.json {program} 2:$id:u 2:$(cat events/sched/sched_switch/id) >{tmp_path}/said
    echo '-:secretgroup/secretevent' >>uprobe_events"""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], timeout=120, check=False, capture_output=True)
    if done.returncode == 9 or not (tmp_path / "made.json").exists():
        pytest.skip("no tracefs here, or no uprobes")
    text = (tmp_path / "made.json").read_text(encoding="utf-8")
    planted, switch = json.loads(text)["calls"]
    assert planted["attr"]["tracepoint"] == "planted" and "secret" not in text
    assert switch["attr"]["tracepoint"] == "sched:sched_switch"
