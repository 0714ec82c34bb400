# SPDX-License-Identifier: MIT
"""Counts of all that is watched, stacks of some of it; and the clock that stamps samples."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import perfetto
from service import PROGRAM, WORKLOAD, Run, Service, Workload, accounted, need_all, start

pytestmark = [pytest.mark.xdist_group("sampler"), pytest.mark.perf]
NOT_IN_SCOPE = 4


def followed(service: Service, workloads: list[Any], seconds: float) -> tuple[Run, perfetto.Decoded]:
    for workload in workloads:
        workload.burn(seconds)
    run = service.stop()
    for workload in workloads:
        workload.process.kill()
        workload.cpu_ns()
    assert run.status in (0, 4), run.errors
    return run, perfetto.decode(service.folder / "perfetto", perfetto.compiled(service.folder))


def outcomes(decoded: perfetto.Decoded) -> dict[int, Counter[str]]:
    """By process: how many samples have a stack, how many are told to be out of scope, or something else."""
    found: dict[int, Counter[str]] = {}
    for sample in decoded.samples:
        body = sample.packet.perf_sample
        if body.pid:
            kind = "stack" if sample.stack else "out" if body.sample_skipped_reason == NOT_IN_SCOPE else "else"
            found.setdefault(body.pid, Counter())[kind] += 1
    return found


def test_stacks_of_those_that_are_named(tmp_path: Path) -> None:
    """The others are counted with their processes, and told to be out of scope."""
    inside, outside = start("spin", "600000"), start("spin", "600000")
    service = Service(tmp_path, {"stack_targets": [f"pid:{inside.pid}"]}).start()
    run, decoded = followed(service, [inside, outside], 0.5)
    told = outcomes(decoded)
    assert told[inside.pid]["stack"] > 20 and not told[inside.pid]["out"]
    assert set(told[outside.pid]) == {"out"} and told[outside.pid]["out"] > 20
    assert run.source()["unscoped"] == told[outside.pid]["out"] and not decoded.untold
    accounted(run)


def test_stacks_of_some_that_come_first(tmp_path: Path) -> None:
    """One is left out, one is named, and of two others the one that is sampled first has stacks, too, with all
    processes of its program."""
    need_all()
    workloads = {}
    for name in ("workload-left", "workload-named", "workload-one", "workload-two"):
        shutil.copy(WORKLOAD, tmp_path / name)
        for number in range(2):
            process = subprocess.Popen([str(tmp_path / name), "spin", "600000"], stdout=subprocess.PIPE)
            workloads[name, number] = Workload(process)
    ours = f"cmd:{tmp_path}/workload-"
    service = Service(tmp_path, {"stack_targets": [f"{ours}named*", f"!{ours}left*"], "stack_programs": 1,
                                 "targets": [f"{ours}*"]}).start()
    _, decoded = followed(service, list(workloads.values()), 0.3)
    told = outcomes(decoded)
    kinds = {key: set(told[workload.pid]) - {"else"} for key, workload in workloads.items()}
    for number in range(2):
        assert kinds["workload-named", number] == {"stack"} and kinds["workload-left", number] == {"out"}, kinds
    others = [kinds[name, number] for name in ("workload-one", "workload-two") for number in range(2)]
    assert others in ([{"stack"}, {"stack"}, {"out"}, {"out"}], [{"out"}, {"out"}, {"stack"}, {"stack"}]), kinds


@pytest.mark.parametrize(("name", "clock", "builtin", "perf"), [
    ("monotonic_raw", time.CLOCK_MONOTONIC_RAW, 5, 3), ("boottime", time.CLOCK_BOOTTIME, 6, 4),
    ("realtime", time.CLOCK_REALTIME, 1, 1)])
def test_the_clock_of_samples(tmp_path: Path, name: str, clock: int, builtin: int, perf: int) -> None:
    workload = start("spin", "600000")
    begin = time.clock_gettime_ns(clock)
    service = Service(tmp_path, {"clock": name, "event": "task-clock"}).start()
    _, decoded = followed(service, [workload], 0.3)
    times = [sample.packet.timestamp for sample in decoded.samples]
    assert len(times) > 20 and begin < min(times) and max(times) < time.clock_gettime_ns(clock)
    head = decoded.packets[0]
    assert head.trace_packet_defaults.timestamp_clock_id == builtin
    assert head.trace_packet_defaults.perf_sample_defaults.timebase.timestamp_clock == perf
    assert builtin in {one.clock_id for one in head.clock_snapshot.clocks}


def test_a_clock_that_an_event_cannot_have(tmp_path: Path) -> None:
    service = Service(tmp_path, {"clock": "boottime", "event": "cycles"})
    done = subprocess.run([str(PROGRAM), str(service.config)], capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 1 and "monotonic or monotonic_raw" in done.stderr


@pytest.mark.parametrize(("keys", "wanted"), [
    ({"shards": 2, "shard": 1}, lambda pids, cpus: all(pid % 2 == 1 for pid in pids)),
    ({"cpus": "0"}, lambda pids, cpus: cpus == {0}),
    ({"first": 2}, lambda pids, cpus: len(pids) == 2)], ids=["shard", "cpus", "first"])
def test_only_some_processes_or_cpus(tmp_path: Path, keys: dict[str, Any], wanted: Any) -> None:
    """Of four that run on all CPUs."""
    workloads = [start("spin", "600000") for _ in range(4)]
    service = Service(tmp_path, keys | {"stacks": "none"}).start()
    _, decoded = followed(service, workloads, 0.3)
    samples = [sample.packet.perf_sample for sample in decoded.samples]
    assert wanted({sample.pid for sample in samples}, {sample.cpu for sample in samples})
    assert samples or "shards" in keys      # pids may all be even
