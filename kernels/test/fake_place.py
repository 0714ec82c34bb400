# SPDX-License-Identifier: MIT
"""A place out of a script: it fails on purpose, in the ways places do."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kernels.errors import RowError
from kernels.place.channel import Channel
from kernels.place.outcome import Outcome
from kernels.place.place import Facts, Order
from kernels.place.steps import Step, answer

KTAP = (
    b"TAP version 13\n1..0\n"
    b"#:launch: exit=0 signal=0 ms=1 timeout=0 truncated=0 leftover=0 bytes=20\n"
)
STEPS: tuple[Step, ...] = (("root", "a.b"), ("root", "c.d"), ("user", "a.b"))
PLAN = "".join(f"{persona} {probe}\n" for persona, probe in STEPS)
FIRST = {"env": b"format=1\narch=x86_64\nrelease=6.1.0\n", "catalogue": b"id=a.b\n\nid=c.d\ndisturbs=CPUs\n",
         "plan": PLAN.encode()}  # fmt: skip



def heard_ktap(line: str) -> bytes:
    """An answer, and a line of the kernel's log that came with it."""
    return KTAP.replace(b"#:launch", f"#:kernel: 7 {line}\n#:launch".encode()).replace(
        b"leftover=0", b"leftover=0 kernel=1"
    )


def processes(name: str) -> Iterator[bytes]:
    """A file of every process in /proc. Processes of others may end meanwhile."""
    for path in Path("/proc").glob(f"[0-9]*/{name}"):
        try:
            yield path.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue


@dataclass
class Fake:
    """A place out of a script: a suite is a list of what happens, one entry a run."""

    name: str = "fake"
    script: list[str] = field(default_factory=list)
    ill: str = ""
    ran: list[tuple[Step, ...]] = field(default_factory=list)
    there: bool = False
    disturb: bool = False
    more: tuple[Step, ...] = ()

    def facts(self) -> Facts:
        return Facts(self.name, "x86_64", {"place": "fake"}, {"row": self.name}, ("nothing",), self.disturb)

    def health(self) -> str:
        return self.ill

    @contextmanager
    def put(self, bundle: Path) -> Iterator[None]:
        self.there = True
        try:
            yield
        finally:
            self.there = False

    def run(self, order: Order, channel: Channel, stop: threading.Event) -> Outcome:
        if not self.there:
            raise RowError("no bundle has been put here")
        channel.release, channel.probing = "6.1.0", True
        channel.log.write_bytes(b"a word\n")
        what = self.script[min(len(self.ran), len(self.script) - 1)] if self.script else order.suite
        self.ran.append(order.plan)
        if not order.plan:
            plan = "".join(f"{' '.join(step)}\n" for step in (*STEPS, *self.more))
            for name, data in {**FIRST, "plan": plan.encode()}.items():
                channel.take(name, data)
        steps = order.plan or (*STEPS, *self.more)
        return getattr(self, f"_{what}")(steps, channel, order.limit, stop)

    def get(self, channel: Channel) -> None:
        pass

    def _send(self, steps: tuple[Step, ...], channel: Channel) -> None:
        for step in steps:
            channel.take(answer(step), KTAP)

    def _good(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps, channel)
        return Outcome("done", stage="probes")

    def _dropped(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        return Outcome("dropped", "the connection was lost", "probes")

    def _spoilt(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        return Outcome("spoilt", "after root/a.b.ktap: kernel BUG at fs/a.c:1!", "probes")

    def _complains(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        heard = ["after root/a.b.ktap: Oops: 0002 [#1] SMP",
                 "after root/a.b.ktap: WARNING: suspicious RCU usage"]  # fmt: skip
        outcome = self._late(steps, channel)
        channel.take(answer(steps[0]), heard_ktap("oops: Oops: 0002 [#1] SMP"))
        outcome.complaints = heard
        return outcome

    def _late(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps, channel)
        slow = "slow interrupts: perf: interrupt took too long (2 > 1), lowering"
        channel.take(answer(steps[1]), heard_ktap(slow))
        return Outcome("done", stage="probes")

    def _dies(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1] if len(steps) == 3 else (), channel)
        return Outcome("died", "the emulator ended by itself: no such exception", "probes")

    def _panic(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1] if len(steps) == 3 else (), channel)
        return Outcome("panic", "oh dear", "probes")

    def _slow(
        self, steps: tuple[Step, ...], channel: Channel, limit: int, stop: threading.Event
    ) -> Outcome:
        self._send(steps[:1], channel)
        if stop.wait(limit or 60):
            raise KeyboardInterrupt
        return Outcome("hang", f"not done after {limit} s", "probes")

    def _quits(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        return Outcome("incomplete", "run.sh ended with status 3: no room", "probes")

    _short = _quits

    def _unsent(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:2], channel)
        return Outcome("incomplete", "run.sh ended with status 3", "probes")

    def _evil(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        for name in ("../evil", "/tmp/evil", "root/../../evil", ".hidden", "boot.json", "a/b/c/d"):
            channel.take(name, b"x")
        return Outcome("incomplete", "refused", "probes")

    def _flood(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        channel.feed(b"0123456789abcdef\n" * 20_000)
        return Outcome("flood", channel.flood, "probes")

    def _dead(self, *rest: object) -> Outcome:
        return Outcome("died", "no answer")

    def _full(self, *rest: object) -> Outcome:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
