# SPDX-License-Identifier: MIT
"""The service without privileges, with the example broker beside it that has them, and without."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from service import (LIMIT, NOBODY, PROGRAM, WHOLE, Service, accounted, need_all,  # noqa: E402
                     start)

pytestmark = pytest.mark.xdist_group("sampler")  # a service sees the workload of another

BROKER = PROGRAM.parent / "examples" / "perfmodes-broker"
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
             "--inh-caps=-all")


@pytest.fixture(name="folder")
def fixture_folder() -> Iterator[Path]:
    """One that nobody may write to: those of pytest are root's alone."""
    if os.geteuid() != 0:
        pytest.skip("not root: there is nobody who may more than this user")
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii")) < 1:
        pytest.skip("perf_event_paranoid is below 1: nobody is refused anything")
    need_all()
    if not BROKER.exists():
        pytest.skip("not built: make examples")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        yield Path(name)


def listens(place: Path) -> bool:
    """The socket's name is there a moment before somebody does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        return line.connect_ex(str(place)) == 0


@pytest.fixture(name="broker")
def fixture_broker(folder: Path) -> Iterator[Path]:
    place = folder / "broker"
    with subprocess.Popen([str(BROKER), str(place), "--system", "--kernel"]) as broker:
        end = time.monotonic() + LIMIT
        while not listens(place):
            assert broker.poll() is None and time.monotonic() < end, "nobody listens"
            time.sleep(0.01)
        place.chmod(0o777)
        yield place
        broker.terminate()


def watch(folder: Path, broker: Path) -> Service:
    source = {"event": "page-faults", "period": 1, "stacks": "none", "read_ms": 20,
              "ring_pages": 32, "turn_records": 1_000_000, "turn_us": 1_000_000}
    return Service(folder, source, broker=str(broker)).start(*AS_NOBODY)


@pytest.mark.perf
def test_the_work_of_root_is_told_to_nobody(folder: Path, broker: Path) -> None:
    faults = 1000
    service = watch(folder, broker)
    workload = start("touch", str(faults))
    workload.cpu_ns()
    run = service.stop()
    assert run.status in WHOLE, run.errors
    how = run.all("started")[0]["how"]
    assert "by events on each CPU" in how and "broker: opened" in how, how
    source = run.source()
    assert source["brokered"] > 0
    weights = sum(weight for stack, weight in run.folded().items() if "workload" in stack)
    assert weights + source["lost"] >= faults * 0.999
    accounted(run)


def test_a_broker_that_is_not_there(folder: Path) -> None:
    """It is told, and what the privilege allows is done without it: here that is nothing."""
    workload = start("spin", "600000")      # who has ended before it is looked for refuses nothing
    try:
        run = watch(folder, folder / "nothing").wait()
    finally:
        workload.process.kill()
        workload.cpu_ns()
    assert "cannot be reached" in run.errors
    assert run.all("no broker")[0]["path"] == str(folder / "nothing")
    assert run.status == 1 and "no way to watch" in run.errors
