# SPDX-License-Identifier: MIT
"""Who may not count the kernel is asked for user mode alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TREE, needs_root, result_of, run_suite, verdicts

from reports import lint

WITHOUT_KERNEL = "tracepoint.count.system_call_user_only"
WORKS = ("tracepoint.redirected.samples", "inherit.types.tracepoint", "group.mix.tracepoint_sibling",
         "clock.sideband.tracepoint", "tracepoint.clocks.monotonic.stamps", "tracepoint.clocks.settable",
         "tracepoint.count.system_call", "tracepoint.samples.every_hit", "tracepoint.filter.range")


@needs_root
@pytest.mark.perf
def test_what_works_for_user_mode_is_not_blocked(tmp_path: Path) -> None:
    if Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii").strip() != "2":
        pytest.skip("level 2 alone shuts the kernel and leaves user mode")
    globs = [word for point in (WITHOUT_KERNEL, *WORKS) for word in ("--probe", ".".join(point.split(".")[:2]))]
    run_suite(tmp_path / "run", "--persona", "root,user", *globs)
    root, user = (verdicts(result_of(tmp_path / "run"), who) for who in ("root", "user"))
    if user[WITHOUT_KERNEL] != "yes":
        pytest.skip(f"hits of system calls without the kernel: {user[WITHOUT_KERNEL]}")
    assert {point: user[point] for point in WORKS} == {point: root[point] for point in WORKS}


@needs_root
@pytest.mark.perf
def test_nothing_is_blocked_by_the_kernel_unsaid(tmp_path: Path) -> None:
    run_suite(tmp_path / "run", "--suite", "default", "--persona", "user")
    assert not list(lint.result_notes(tmp_path / "run", TREE))
