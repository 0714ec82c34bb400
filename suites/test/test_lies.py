# SPDX-License-Identifier: MIT
"""Records and counts with one false field, and calls that do something else: the point that asks notices.

A probe is linked with falsify/lies between it and its calls. Without a lie the same point says yes, or the
case is skipped: this machine cannot ask the question. `make falsify` finds such a point for every lie; here
are those that a probe was once blind to.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ALONE, needs_mounts

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

TREE = Path(__file__).resolve().parents[2]
FIELDS = TREE / "suites/falsify/lies/fields.def"

LIES = [
    ("sample.callchain.last", "sample/callchain", "depth"),
    ("sample.callchain.last", "sample/callchain", "other_task"),
    ("sample.callchain_nr.half", "sample/callchain_cut", "max_stack"),
    ("sample.callchain.last", "sample/order", "everything"),
    ("sample.callchain.last", "strategy/callchain", "callchain"),
    ("sample.phys_addr.more", "sample/page", "phys_addr"),
    ("sample.data_page_size.double", "sample/page", "data_page_size"),
    ("sample.code_page_size.double", "sample/page", "code_page_size"),
    ("sample.regs_user.first", "sample/registers", "user"),
    ("count.value.more", "sample/read", "value"),
    ("count.time_enabled.thousandth", "sample/read", "times"),
    ("count.sibling_value.more", "sample/read", "group"),
    ("misc.mmap.data.clear", "record/mmap_data", "data_marked"),
    ("misc.mmap.data.set", "record/mmap_data", "data_marked"),
    ("mmap2.min.more", "record/mmap2", "file"),
    ("mmap2.filename.cut", "record/mmap2", "file"),
    ("bpf_event.id.more", "record/bpf", "load"),
    ("ksymbol.addr.more", "record/bpf", "ksymbol"),
    ("ksymbol.len.more", "record/bpf", "ksymbol"),
    ("ksymbol.name.cut", "record/bpf", "ksymbol"),
    ("namespaces.entries.first", "record/namespaces", "inodes"),
    ("switch_cpu_wide.next_prev_pid.more", "record/switch_cpu_wide", "cpu_wide"),
    ("misc.switch.preempt.set", "record/preemption", "preempt"),
    ("misc.switch.preempt.clear", "record/preemption", "preempt"),
    ("count.value.more", "record/inherit_stat", "exact"),
    ("exit.ppid.more", "record/exit", "exit_watched"),
    ("ring.addr_aligned", "sample/identity", "addr.alone"),
    ("ring.stack_middle", "sample/stack", "content"),
    ("ring.regs_middle", "sample/registers", "interrupted"),
    ("ring.mmap_exec", "record/mmap2", "protection"),
    ("ring.sideband_mode", "record/mmap2", "file"),
    ("ring.switch_swapped", "record/switch_cpu_wide", "cpu_wide"),
    ("ring.lost_repeats", "ring/lost", "needs_space"),
    ("ring.lost_8bit", "ring/lost", "needs_space"),
    ("ring.data_page_of_code", "sample/page", "huge_data_page"),
    ("open.freq_twice", "sw/clock_sampling", "cpu.samples"),
    ("open.sig_data_32", "signal/sigtrap", "software.fields_are_right"),
    ("ioctl.refresh_three", "signal/refresh", "member"),
    ("ioctl.filter_or", "tracepoint/filter", "range"),
    ("ioctl.filter_unequal", "tracepoint/filter", "equal"),
]


def members(text: str) -> set[str]:
    """The members of a struct of pm_sys.h, unions and structs in it by their path."""
    found: set[str] = set()
    for body, name in re.findall(r"struct \{([^{}]*)\} (\w+);", text):
        parts = [part.split()[-1].strip("*") for part in re.split("[;,]", body) if part.strip()]
        found |= {f"{name}.{part}" for part in parts}
    return found


def test_every_field_of_every_record_is_lied_about() -> None:
    header = re.sub(r"/\*.*?\*/", "", (TREE / "lib/pm_sys.h").read_text(encoding="utf-8"), flags=re.DOTALL)
    record = header[header.index("struct pm_record {"):]
    told = set(re.findall(r", (\w+\.\w+), ALWAYS", FIELDS.read_text(encoding="utf-8")))
    # Counts have a list of their own; nothing fills the other two.
    left_out = {"read.counts", "aux_output_hw_id.pid", "aux_output_hw_id.tid"}
    wanted = members(record[:record.index("\n};")])
    assert len(wanted) > 50 and wanted - told == left_out


def test_every_field_of_a_sample_is_lied_about() -> None:
    known = set(re.findall(r"FIELD\(\d+, (\w+),", (TREE / "lib/abi.def").read_text(encoding="utf-8")))
    told = set(re.findall(r"FIELD\(SAMPLE, \w+, [\w.]+, (\w+),", FIELDS.read_text(encoding="utf-8")))
    assert len(told) > 20 and known - told == {"READ"}, "counts have a list of their own"


@pytest.fixture(scope="module")
def programs() -> Path:
    """The probes of the table, built with the lies in them."""
    probes = sorted({probe for _, probe, _ in LIES} | {"ring/size", "breakpoint/access"})
    subprocess.run(["make", "-s", *(f"build/{os.uname().machine}/falsify/probes/{probe}" for probe in probes)],
                   cwd=TREE, check=True)
    return TREE / "build" / os.uname().machine / "falsify/probes"


def result(program: Path, point: str, lie: str) -> str:
    """The result line of a point."""
    done = subprocess.run([program], env={**os.environ, "PERFMODES_LIE": lie}, capture_output=True, text=True,
                          timeout=300, check=False)
    return next(line for line in done.stdout.splitlines()
                if line.startswith(("ok ", "not ok ")) and f".{point}" in line)


@pytest.mark.parametrize(("lie", "probe", "point"), LIES)
def test_a_false_field_is_noticed(programs: Path, lie: str, probe: str, point: str) -> None:
    true = result(programs / probe, point, "")
    if not true.startswith("ok ") or "SKIP" in true:
        pytest.skip(f"cannot be asked here: {true}")
    false = result(programs / probe, point, lie)
    assert false.startswith("not ok ") or "# SKIP no:" in false


@needs_mounts
@pytest.mark.parametrize("damon_stat", ["Y", "N"])
def test_page_faults_that_nobody_caused_are_held_against_no_kernel(programs: Path, damon_stat: str) -> None:
    """A machine that takes the program's code away: what it spoils is unknown. Who may do so is named."""
    script = ('mount -t tmpfs none /sys/module && mkdir -p /sys/module/damon_stat/parameters && '
              'echo "$1" >/sys/module/damon_stat/parameters/enabled && exec "$2"')
    done = subprocess.run([*ALONE, "--mount", "--propagation", "private", "sh", "-c", script, "sh", damon_stat, programs / "ring/size"],
                          env={**os.environ, "PERFMODES_LIE": "machine.reclaims"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    told = re.findall("page faults came that nobody had caused(.*?): ", done.stdout)
    assert told and all(("damon_stat.enabled=N" in who) == (damon_stat == "Y") for who in told), done.stdout
    assert "observed=" not in done.stdout


@pytest.mark.parametrize(("probe", "lie", "again"), [("breakpoint/access", "count.value.more", True),
                                                     ("sample/read", "count.value.more", False)])
def test_what_another_program_may_have_spoilt_is_asked_again(programs: Path, probe: str, lie: str, again: bool) -> None:
    """Any program may take a debug register and give it back; no other count is shared so."""
    said = [subprocess.run([programs / probe], env={**os.environ, "PERFMODES_LIE": told}, capture_output=True, text=True,
                           timeout=300, check=False).stdout for told in ("", lie)]
    if again and "\nok 1 access.w.counts\n" not in said[0]:
        pytest.skip("no breakpoint counts here")
    assert "observed=" in said[1] and ("\n# ask again: " in said[1]) is again
