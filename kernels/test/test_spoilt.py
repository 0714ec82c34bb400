# SPDX-License-Identifier: MIT
"""A kernel that fails in a probe and goes on: what follows is asked of another machine."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fake_place import STEPS, Fake
from test_boot import UML, guest
from test_engine import run_all

from kernels.guest.boot import boot
from kernels.guest.trouble import Trouble
from kernels.guest.watch import Task
from kernels.place.channel import Channel
from kernels.place.outcome import Outcome
from kernels.place.place import Order
from kernels.place.report import Request
from kernels.place.runner import SPOILT
from kernels.place.steps import Step, answer

OOPS = "[    7.256664] CPU 0 Unable to handle kernel paging request at virtual address 000000fff3777004, epc == ffffffff86537118"


@pytest.mark.parametrize(
    "line",
    [
        OOPS,
        "[   41.1] BUG: kernel NULL pointer dereference, address: 0000000000000010",
        "[  100.2] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [probe:411]",
        "[  61.0] rcu: INFO: rcu_sched self-detected stall on CPU",
        "launch: a process of the probe cannot be killed (in the kernel?)",
    ],
)
def test_what_spoils_a_kernel(tmp_path: Path, line: str) -> None:
    """The probe that it came in answers; the pieces of a line come as they like."""
    channel = Channel(tmp_path)
    trouble = Trouble(channel)
    channel.take("root/a.b.ktap", b"")
    trouble.listen(f"before\n{line[:20]}".encode())
    assert not trouble.spoilt
    trouble.listen(f"{line[20:]}\r\nbehind".encode())
    assert trouble.spoilt.startswith("after root/a.b.ktap: ") and not trouble.answered
    first = trouble.spoilt
    channel.take("root/c.d.ktap", b"")
    trouble.listen(b"[   99.0] Oops: 0002 [#2] SMP\n")
    assert trouble.answered and trouble.spoilt == first


@pytest.mark.parametrize(
    "line",
    [
        "[    9.0] WARNING: CPU: 0 PID: 12 at kernel/events/core.c:123 perf_event_alloc+0x12/0x30",
        "[    9.0] perf: interrupt took too long (2501 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
        "[    9.0] INFO: task probe:411 blocked for more than 120 seconds.",
        "[    9.0] possible reasons are many",
    ],
)
def test_what_does_not(tmp_path: Path, line: str) -> None:
    channel = Channel(tmp_path)
    trouble = Trouble(channel)
    trouble.listen(f"{line}\n".encode())
    channel.take("root/a.b.ktap", b"")
    assert not trouble.spoilt and not trouble.answered


@pytest.mark.parametrize(("unspoilt", "ended"), [(True, "spoilt"), (False, "hang")])
def test_a_guest_is_given_up(tmp_path: Path, unspoilt: bool, ended: str) -> None:
    """Console and results are two lines: which of them is read first does not matter, as it goes on."""
    body = f"init; while :; do ktap; echo '{OOPS}' > $console; sleep 0.1; done"
    for limit in (300,) if unspoilt else (2, 20, 200):  # a busy machine may not let it come to its first complaint
        place = tmp_path / str(limit)
        place.mkdir()
        kernel, channel = guest(place, body), Channel(place / "out")
        channel.target.mkdir()
        row, task = replace(UML, timeout=limit), Task(b"work", unspoilt=unspoilt)
        outcome = boot(row, kernel, b"initrd", channel, place / "log", task)
        if outcome.complaints:
            break
    assert (outcome.ended, outcome.stage, outcome.infra) == (ended, "probes", False)
    assert set(outcome.complaints) == {f"after root/a.b.ktap: {OOPS[15:]}"}
    if unspoilt:
        assert outcome.reason == outcome.complaints[0] and channel.frames >= 3


def test_the_rest_is_asked_of_others(tmp_path: Path) -> None:
    place = Fake("a", ["spoilt", "spoilt", "good"])
    report = run_all(tmp_path, [place])["a"]
    assert place.ran == [(), STEPS[1:], STEPS[2:]]
    assert (report.outcome.ended, report.status, report.lost) == ("done", 0, [])
    assert [each["ended"] for each in report.guests] == ["spoilt", "spoilt", "done"]


def test_one_that_is_spoilt_by_its_last_probe_is_done(tmp_path: Path) -> None:
    place = Fake("a", ["spoilt", "dropped", "spoilt"])
    report = run_all(tmp_path, [place])["a"]
    assert place.ran == [(), STEPS[1:], STEPS[2:]]
    assert (report.outcome.ended, report.status) == ("done", 0)


class Failing(Fake):
    """A kernel that fails in each of its probes."""

    def run(self, order: Order, channel: Channel, stop: threading.Event) -> Outcome:
        self.script = ["spoilt" if order.unspoilt else "good"]
        return super().run(order, channel, stop)


def test_only_so_many_are_given_up(tmp_path: Path) -> None:
    more: tuple[Step, ...] = tuple(("user", f"e.f{number}") for number in range(60))
    place = Failing("a", more=more)
    report = run_all(tmp_path, [place])["a"]
    assert len(place.ran) == SPOILT + 1 and report.outcome.ended == "done" and not report.lost
    assert all((tmp_path / "results" / "a" / answer(step)).exists() for step in (*STEPS, *more))


def test_one_of_several_levels_serves_to_its_end(tmp_path: Path) -> None:
    place = Failing("a")
    run_all(tmp_path, [place], Request(Order("good", levels=("1", "2"), limit=1)))
    assert place.script == ["good"]
