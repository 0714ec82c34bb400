# SPDX-License-Identifier: MIT
"""The guardrail of CPU time: the rate gives way before stacks do, and what is sampled keeps its weight. Where other
programs leave the sampler little of a CPU it takes no more than the limit: what needs more of one is slow, and
config_test asks the same of a moved clock."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import perfetto
from service import OURS, Service, accounted, start

pytestmark = pytest.mark.xdist_group("sampler")
FAULTS = """#define _GNU_SOURCE
#include <sys/mman.h>
int main(void) {
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (;;) { *page = 1; madvise(page, 4096, MADV_DONTNEED); }
}
"""


def cpu_of(pid: int) -> float:
    """Seconds, with the microseconds that schedstat has."""
    return sum(int(path.read_text(encoding="ascii").split()[0])
               for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def share(service: Service, workload: Any, seconds: float) -> float:
    """Percent of a CPU that the service takes while the workload uses so much."""
    assert service.process
    begun, used = time.monotonic(), cpu_of(service.process.pid)
    workload.burn(seconds)
    return 100 * (cpu_of(service.process.pid) - used) / (time.monotonic() - begun)


def watch_spin(tmp_path: Path, targets: list[str] | None, **top: Any) -> tuple[Service, Any]:
    workload = start("spin", "600000")
    source = {"frequency": 4999, "event": "cpu-clock", "stacks": "dwarf", "stack_bytes": 16384,
              "targets": targets or [f"pid:{workload.pid}"]}
    service = Service(tmp_path, source, **top)
    service.config.write_text(service.config.read_text(encoding="ascii").replace('"period": 2000000, ', ""),
                              encoding="ascii")
    return service.start(), workload


@pytest.mark.perf
@pytest.mark.slow
@pytest.mark.parametrize(("targets", "limit"), [([OURS], 3), (None, 1)], ids=["by CPU", "by thread"])
def test_the_rate_is_lowered_before_stacks_are_shed(tmp_path: Path, targets: list[str] | None, limit: int) -> None:
    """At 4,999 samples a second it takes more than the limit; it ends near that. By CPU it also looks after all
    other processes, whose births cost what they cost."""
    service, workload = watch_spin(tmp_path, targets, cpu_percent=limit, window_ms=500)
    before = share(service, workload, 0.4)
    service.wait_for(r'"event": *"slower"')
    workload.burn(4)                    # windows in which it settles
    after = share(service, workload, 4)
    run = service.stop()
    workload.process.kill()
    used = workload.cpu_ns()
    assert run.status in (0, 4), run.errors
    accounted(run)
    assert before > 1.5 * limit and after < 1.5 * limit, (before, after)
    rates = [line["frequency"] for line in run.all("rate")]
    assert rates and rates[0] < 4999
    assert all(line["halvings"] == 12 for line in run.all("shed")), "stacks are shed where no rate is left alone"
    assert 0.75 * used < sum(run.folded().values()) < 1.1 * used, "samples weigh more as they become fewer"
    decoded = perfetto.decode(tmp_path / "perfetto", perfetto.compiled(tmp_path))
    told = [packet.trace_packet_defaults.perf_sample_defaults.timebase.frequency
            for packet in decoded.packets if packet.HasField("trace_packet_defaults")]
    assert told[0] == 4999 and told[1:] == rates[:len(told) - 1] and len(told) > 1
    assert not decoded.untold


@pytest.mark.perf
@pytest.mark.slow
def test_the_rate_is_raised_where_there_is_room(tmp_path: Path) -> None:
    """A workload that is stopped costs nothing: windows later the rate is what was asked for."""
    service, workload = watch_spin(tmp_path, None, cpu_percent=1, window_ms=200)
    service.wait_for(r'"event": *"slower"')
    workload.process.send_signal(signal.SIGSTOP)
    service.wait_for(r'"event": *"rate"[^\n]*"frequency": *4999')
    run = service.stop()
    workload.process.kill()
    workload.cpu_ns()
    assert run.status in (0, 4), run.errors
    rates = [line["frequency"] for line in run.all("rate")]
    assert min(rates) < 4999 == rates[-1] and run.all("faster"), rates


@pytest.mark.perf
def test_stacks_are_shed_where_no_rate_can_be_lowered(tmp_path: Path) -> None:
    """Each page fault is a sample: stacks are left out, and each is told."""
    workload = tmp_path / "workload"
    (tmp_path / "faults.c").write_text(FAULTS, encoding="ascii")
    subprocess.run(["gcc", "-O1", "-o", workload, tmp_path / "faults.c"], check=True, timeout=120)
    service = Service(tmp_path, {"event": "page-faults", "period": 1}, cpu_percent=1, window_ms=100).start()
    with subprocess.Popen([workload]) as process:
        service.wait_for(r'"shed": *[1-9]')
        process.kill()
    run = service.stop() if service.process and service.process.poll() is None else service.wait()
    assert run.status in (0, 3, 4), run.errors
    sheds = run.all("shed")
    assert sheds and all(line["why"] == "cpu" and line["cpu_percent"] >= 1 for line in sheds)
    assert run.source()["shed"] > 0 and len(run.all("rate is fixed")) == 1 and not run.all("rate")
    accounted(run)
    trace = perfetto.decode(tmp_path / "perfetto", perfetto.compiled(tmp_path))
    told = [sample for sample in trace.samples
            if sample.packet.perf_sample.sample_skipped_reason == 3]
    missing = run.source()["purged"] + run.all("end")[0]["purged"] + run.source()["untold"]
    assert abs(len(told) - run.source()["shed"] - run.source()["dropped"]) <= missing
