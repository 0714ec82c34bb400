# SPDX-License-Identifier: MIT
"""What a process had of the processors, and what it waited for."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from kernels.guest import cpu_time


def test_a_process_waits_while_others_have_its_processor() -> None:
    """Three that never sleep, on one: each waits for two thirds of the time at least."""
    if not cpu_time.waited(os.getpid()):
        pytest.skip("this kernel does not say for how long a process waits")
    cpu = min(os.sched_getaffinity(0))
    loops = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) for _ in range(3)]

    def run_for(seconds: float) -> tuple[float, float]:
        """When all have had so many more seconds: what they waited for, and the time."""
        before = [cpu_time.spent(each.pid) for each in loops]
        while min(cpu_time.spent(each.pid) - had for each, had in zip(loops, before)) < seconds:
            time.sleep(0.02)
        return sum(cpu_time.waited(each.pid) for each in loops), time.monotonic()
    try:
        (first, began), (last, ended) = run_for(0.05), run_for(0.3)
    finally:
        for each in loops:
            each.kill()
            each.wait()
    assert 1 / 3 < (last - first) / 3 / (ended - began) < 2
