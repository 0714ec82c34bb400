# SPDX-License-Identifier: MIT
"""Complaints of the kernel: which lines are some, whose they are, and where they are told."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from reports import complaints, expect, ktap, result, screen

HEARD = {
    "BUG: kernel NULL pointer dereference, address: 0000000000000108": ("oops", True),
    "BUG: unable to handle kernel NULL pointer dereference at 0000000000000010": ("oops", True),
    "BUG: Unable to handle kernel data access on read at 0x00000010": ("oops", True),
    "Unable to handle kernel paging request at virtual address ffff8000ffff0000": ("oops", True),
    "Internal error: Oops: 0000000096000004 [#1] SMP": ("oops", True),
    "Oops: 0002 [#1] SMP PTI": ("oops", True),
    "Oops: general protection fault, probably for non-canonical address 0xdead: 0000": ("oops", True),
    "general protection fault: 0000 [#1] SMP": ("oops", True),
    "divide error: 0000 [#1] SMP": ("oops", True),
    "kernel BUG at kernel/events/core.c:1234!": ("bug", True),
    "BUG: scheduling while atomic: group.size_limi/71/0x00000002": ("bug", True),
    "BUG: sleeping function called from invalid context at mm/slab.h:1": ("bug", True),
    "BUG: KASAN: use-after-free in perf_event_release+0x1/0x2": ("bug", True),
    "WARNING: CPU: 1 PID: 99 at kernel/events/core.c:2345 event_sched_out+0x30/0x90": ("warning", True),
    "WARNING: kernel/events/core.c:2345 at event_sched_out+0x30/0x90, CPU#1: x/99": ("warning", True),
    "WARNING: at kernel/events/core.c:123 perf_swevent+0x1/0x2()": ("warning", True),
    "WARNING: possible circular locking dependency detected": ("lockdep", True),
    "INFO: possible recursive locking detected": ("lockdep", True),
    "WARNING: inconsistent lock state": ("lockdep", True),
    "WARNING: suspicious RCU usage": ("lockdep", True),
    "rcu: INFO: rcu_preempt self-detected stall on CPU": ("rcu stall", False),
    "INFO: rcu_sched self-detected stall on CPU { 0}  (t=5250 jiffies g=1 c=0 q=1)": ("rcu stall", False),
    "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:": ("rcu stall", False),
    "rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 1-... }": ("rcu stall", False),
    "rcu: rcu_sched kthread starved for 2501 jiffies! g5 f0x0": ("rcu stall", False),
    "INFO: task launch:77 blocked for more than 120 seconds.": ("hung task", False),
    "watchdog: BUG: soft lockup - CPU#0 stuck for 23s! [launch:77]": ("soft lockup", False),
    "NMI watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [x:1]": ("soft lockup", False),
    "BUG: soft lockup - CPU#0 stuck for 22s! [x:1]": ("soft lockup", False),
    "BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 40s!": (
        "workqueue lockup", False),
    "perf: interrupt took too long (2516 > 2500), lowering kernel.perf_event_max_sample_rate to "
    "79000": ("slow interrupts", False),
    "perf interrupt took too long (2508 > 2500), lowering kernel.perf_event_max_sample_rate to "
    "50000": ("slow interrupts", False),
    "Uhhuh. NMI received for unknown reason 30 on CPU 1.": ("nmi", True),
    "Kernel panic - not syncing: Attempted to kill init!": ("panic", True),
}

SILENT = (
    "",
    "debug: unable to handle this",
    "Debugging BUG: none",
    "systemd[1]: WARNING: the clock is wrong",
    "a probe wrote: Oops: 0000 [#1]",
    "WARNING: this firmware is old",
    "warning: `launch' uses 32-bit capabilities",
    "perf: AMD IBS detected (0x000003ff)",
    "INFO: lockdep is turned off.",
    "INFO: task manager ready",
    "rcu: Hierarchical RCU implementation.",
    "rcu: RCU calculated value of scheduler-enlistment delay is 25 jiffies.",
    "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
    "clocksource: Switched to clocksource tsc",
    "reboot: Power down",
    "Call Trace:",
    "RIP: 0010:event_sched_out+0x30/0x90",
)


@pytest.mark.parametrize("line", HEARD)
@pytest.mark.parametrize("stamp", ["", "[    3.141592] ", "[ 1234.5][  T77] ", "<4>[    0.1] "])
def test_each_kind_is_heard_with_and_without_a_time_stamp(line: str, stamp: str) -> None:
    one = complaints.of_message(stamp + line)
    assert one and (one.kind, one.fault) == HEARD[line] and one.message == line


def test_a_quick_look_misses_none() -> None:
    assert all(complaints.possible(line.encode()) for line in HEARD)
    assert not complaints.possible(b"0123456789abcdef\nreboot: Power down\n")


@pytest.mark.parametrize("line", SILENT)
def test_other_lines_are_none(line: str) -> None:
    assert complaints.of_message(line) is None


def test_the_place_joins_its_report() -> None:
    lines = ["RIP: 0010:earlier+0x1/0x2", "BUG: kernel NULL pointer dereference, address: 0",
             "RIP: 0010:perf_event_ctx_lock_nested+0x30/0x90"]
    (one,) = complaints.found(list(enumerate(lines)))
    assert one.sequence == 1 and one.message == f"{lines[1]}; {lines[2]}"


FOOTER = "#:launch: exit=0 signal=0 ms=1 timeout=0 truncated=0 leftover=0 kernel={} bytes={}\n"
SAID = "TAP version 13\n1..1\nok 1 x.y\n"
LINE = "#:kernel: 77 oops: Oops: 0002 [#1] SMP\n"


@pytest.mark.parametrize("said, kernel, heard", [
    (SAID + LINE, 1, [(77, "Oops: 0002 [#1] SMP")]),
    (SAID + LINE * 2, 2, [(77, "Oops: 0002 [#1] SMP")] * 2),
    (SAID + LINE, 0, []),           # the probe wrote it
    (SAID + LINE, -1, []),
    (SAID + LINE, 2, []),           # not all of them are such lines
    (SAID, 1, []),
    (SAID, 999, []),
])
def test_only_what_the_footer_counts_is_the_kernels(
        said: str, kernel: int, heard: list[Any]) -> None:
    out = ktap.parse((said + FOOTER.format(kernel, len(SAID))).encode())
    assert out.kernel == heard and out.top.results[0].ok
    assert not out.warnings or not heard


def _ran(folder: Path) -> dict[str, Any]:
    """A result directory with a message that two of three probes heard."""
    (folder / "root").mkdir(parents=True)
    (folder / "env").write_text("format=1\nsuite=default\narch=x86_64\nrelease=6.1.0\n")
    (folder / "catalogue").write_text("")
    said = {"a.beside": LINE, "b.other": "", "group.large": LINE}
    (folder / "plan").write_text("".join(f"root {probe}\n" for probe in said))
    for probe, line in said.items():
        footer = FOOTER.format(1 if line else 0, len(SAID))
        (folder / f"root/{probe}.ktap").write_text(SAID + line + footer)
    return result.build(folder, expect.Expectations())


def test_a_message_is_told_once_with_all_who_ran(tmp_path: Path) -> None:
    made = _ran(tmp_path / "run")
    assert made["complaints"] == [{"kind": "oops", "fault": True, "message": "Oops: 0002 [#1] SMP",
                                   "during": ["root a.beside", "root group.large"]}]
    said = io.StringIO()
    screen.show(made, tmp_path / "run", Console(width=100, file=said), unicode=False)
    assert "The kernel complained: 1 oops" in said.getvalue()
    assert "a.beside (root) or 1 beside it: Oops: 0002 [#1] SMP" in said.getvalue()


def test_without_one_nothing_is_said() -> None:
    assert complaints.section([], 80, "x") is None
    assert complaints.merged([], []) == []


def test_a_flood_is_bounded_and_said() -> None:
    warnings: list[str] = []
    heard = [("root x.y", complaints.Complaint("bug", f"BUG: {n}", True, n)) for n in range(60)]
    assert len(complaints.merged(heard, warnings)) == complaints.LIMIT
    assert warnings == ["the kernel complained 60 times; 50 are kept"]
