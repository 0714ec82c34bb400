# SPDX-License-Identifier: MIT
"""Sessions: events attached to threads, whose samples and counts arrive here."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from perfmodes import abi
from perfmodes.event import Described
from perfmodes.library import Delivering, Error, array, check, lib, sized
from perfmodes.plan import Plan

_NO_CPU = 0xffffffff


@dataclass(frozen=True)
class Sample:
    """One sample; what is not known is 0, a CPU that is not known None."""
    event: int
    pid: int
    tid: int
    cpu: int | None
    time: int
    ip: int
    address: int
    period: int
    callchain: tuple[int, ...]
    raw: bytes


@dataclass(frozen=True)
class Value:
    """The sum of one event; running / enabled is the share of time that it was on the PMU."""
    value: int
    enabled: int
    running: int


@dataclass(frozen=True)
class Part(Value):
    """A part of an event's sum: of one thread (-1: all) on one CPU (-1: any)."""
    event: int
    tid: int
    cpu: int


def _sample(observed: Any) -> Sample:
    count, size = observed.callchain_count, observed.raw_size
    return Sample(
        observed.event, observed.pid, observed.tid,
        None if observed.cpu == _NO_CPU else observed.cpu, observed.time, observed.ip,
        observed.address, observed.period, tuple(observed.callchain[:count]) if count else (),
        ctypes.string_at(observed.raw, size) if observed.raw else b"")


def _value(one: Any) -> Value:
    return Value(one.value, one.enabled, one.running)


class Session(Delivering):
    """Attaches when it is entered, detaches when it is left. Takes a Plan, or what makes one.

    on_sample(Sample), on_task(tid, parent, time), on_lost(count), on_other(bytes) are called by
    poll, run, attach, read and detach. What they raise, these raise. They may call interrupt, read and
    close; a session that is closed ends run, delivers no more, and is gone when that call returns.
    """

    _destroy = lib.pm_session_destroy

    def __init__(self, what: Plan | str | Described | Sequence[Described], *,
                 on_sample: Callable[[Sample], object] | None = None,
                 on_task: Callable[[int, int, int], object] | None = None,
                 on_lost: Callable[[int], object] | None = None,
                 on_other: Callable[[bytes], object] | None = None, **options: Any) -> None:
        self._own_plan = not isinstance(what, Plan)
        self.plan = what if isinstance(what, Plan) else Plan(what, **options)
        self._listener = sized(abi.pm_listener)
        self._listen("sample", on_sample, lambda one: (_sample(one.contents),))
        self._listen("task", on_task, lambda *them: them)
        self._listen("lost", on_lost, lambda count: (count,))
        self._listen("other", on_other, lambda at, size: (ctypes.string_at(at, size),))
        made = lib.pm_session_create(self.plan.hold(), self._listener, None)
        if not made:
            self._destroyed()
            raise MemoryError
        super().__init__(made)

    def _call(self, function: Callable[..., int], *arguments: Any,
              diag: abi.pm_diag | None = None) -> int:
        """The result of a function of the library; raises what a callback raised meanwhile."""
        with self.held() as session:
            result = function(session, *arguments, *([diag] if diag is not None else []))
        self._raise_failure()
        if result == -errno.ECANCELED and self._closed:     # by its own callback
            return 0
        return check(result, function.__name__.removeprefix("pm_session_"), diag)

    def attach(self) -> abi.Strategy:
        """All events or none; proven. Returns the strategy in use."""
        return abi.Strategy(self._call(lib.pm_session_attach, diag=sized(abi.pm_diag)))

    def detach(self) -> None:
        """Delivers what is left; the statistics stay."""
        self._call(lib.pm_session_detach)

    def poll(self, seconds: float | None = 0.0) -> int:
        """Waits for records (None: without limit) and delivers them. Returns how many."""
        return self._call(lib.pm_session_poll,
                          -1 if seconds is None else max(0, int(seconds * 1000)))

    def run(self) -> None:
        """Polls until interrupt is called, from any thread."""
        self._call(lib.pm_session_run)

    def fileno(self) -> int:
        """For select, poll and event loops: readable when poll has something to do."""
        return self._call(lib.pm_session_fd)

    def interrupt(self) -> None:
        with self.held() as session:
            lib.pm_session_interrupt(session)

    def read(self) -> list[Value]:
        """The sums of all events."""
        values = array(abi.pm_value, self.plan.events)
        count = self._call(lib.pm_session_read, values, self.plan.events)
        return [_value(values[i]) for i in range(count)]

    def read_parts(self) -> list[Part]:
        """The sums by thread and CPU."""
        room = self._call(lib.pm_session_read_parts, None, 0)
        parts = array(abi.pm_part, room)
        count = self._call(lib.pm_session_read_parts, parts, room)
        return [Part(one.value, one.enabled, one.running, one.event, one.tid, one.cpu)
                for one in parts[:min(count, room)]]

    def stats(self) -> dict[str, int]:
        """What it did since the attach: the fields of struct pm_stats."""
        stats = sized(abi.pm_stats)
        self._call(lib.pm_session_stats, stats)
        return {name: int(getattr(stats, name)) for name, _ in abi.pm_stats._fields_
                if name != "size"}

    def close(self) -> None:
        """Detaches. Within a callback, or beside a call in another thread: when that returns."""
        if not self._closed and self._pointer:
            self.interrupt()
        super().close()

    def _destroyed(self) -> None:
        self.plan.release()
        if self._own_plan:
            self.plan.close()

    def __enter__(self) -> Session:
        try:
            self.attach()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            if not self._closed:
                self.detach()
        except Error:
            if exception[0] is None:
                raise
        finally:
            self.close()
