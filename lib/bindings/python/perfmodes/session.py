# SPDX-License-Identifier: MIT
"""Sessions: events attached to threads, whose samples and counts arrive here."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from perfmodes import abi
from perfmodes.event import Described
from perfmodes.library import SLICE, Delivering, Error, array, check, lib, milliseconds, sized
from perfmodes.plan import Plan

_NO_CPU = 0xffffffff
_UNKNOWN = ctypes.c_size_t(-1).value


class Branch(NamedTuple):
    """A branch that the CPU has taken; `flags` as the kernel's struct perf_branch_entry has them."""
    source: int
    target: int
    flags: int


class Member(NamedTuple):
    """What an event (None: unknown) of the group of a sample had counted by then, and how many samples of
    it the kernel dropped."""
    event: int | None
    value: int
    lost: int


@dataclass(frozen=True)
class Sample:
    """One sample; what is not known is 0, a CPU that is not known None, what was not wanted empty.

    `event` is the index of the event; `time` ns of the clock that Plan.explain() names; `period` the events,
    or ns, that it stands for; `callchain` has the kernel's context marks; `branches` are the newest first;
    `group` has the values of all, the first event's first, and for how many ns these were to count and did.
    """
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
    branches: tuple[Branch, ...]
    group: tuple[Member, ...]
    group_enabled: int
    group_running: int


@dataclass(frozen=True)
class Value:
    """The sum of one event; running / enabled, in ns, is the share of time that it was on the PMU. Both
    are 0 where that is not known."""
    value: int
    enabled: int
    running: int


@dataclass(frozen=True)
class Part(Value):
    """A part of an event's sum: of one thread (-1: all) on one CPU (-1: any)."""
    event: int
    tid: int
    cpu: int


def _members(first: Any, count: int) -> Iterator[Member]:
    """The first one tells the size of each."""
    for i in range(count):
        one = abi.pm_member.from_address(ctypes.addressof(first.contents) + i * first.contents.size)
        yield Member(one.event if one.event != _UNKNOWN else None, one.value, one.lost)


def _sample(observed: Any) -> Sample:
    count, size = observed.callchain_count, observed.raw_size
    branches = observed.branches[:observed.branch_count] if observed.branch_count else ()
    return Sample(
        observed.event, observed.pid, observed.tid,
        None if observed.cpu == _NO_CPU else observed.cpu, observed.time, observed.ip,
        observed.address, observed.period, tuple(observed.callchain[:count]) if count else (),
        ctypes.string_at(observed.raw, size) if observed.raw else b"",
        tuple(Branch(getattr(one, "from"), one.to, one.flags) for one in branches),
        tuple(_members(observed.group, observed.group_count)), observed.group_enabled,
        observed.group_running)


def _value(one: Any) -> Value:
    return Value(one.value, one.enabled, one.running)


class Session(Delivering):
    """Attaches when it is entered, detaches when it is left. Takes a Plan, or what makes one. Events are
    sampled that have a period or a frequency, by Event or by name; the others are counted alone.

    on_sample(Sample), on_task(tid, parent, time), on_lost(count), on_other(bytes) are called by
    poll, run, attach, read and detach. What they raise, these raise, and run ends. They may call interrupt,
    read, read_parts, stats and close; a session that is closed ends run, delivers no more, and is gone when
    that call returns. Any other call of theirs, and one of another thread meanwhile but for interrupt and
    close, raises Error (EBUSY). In a forked process poll, run, read, read_parts and fileno raise Error
    (ECHILD), and close ends the copy alone.

    on_task: `parent` is -1 for a thread that has ended. on_other: whole records, header first, of kinds that
    the option `side` (SideKind) asks for. Other options are those of Plan.
    """

    _destroy = lib.pm_session_destroy

    def __init__(self, what: Plan | str | Described | Sequence[Described], *,
                 on_sample: Callable[[Sample], object] | None = None,
                 on_task: Callable[[int, int, int], object] | None = None,
                 on_lost: Callable[[int], object] | None = None,
                 on_other: Callable[[bytes], object] | None = None, **options: Any) -> None:
        if isinstance(what, Plan) and options:
            raise TypeError(f"{', '.join(options)}: options are the plan's, which is made already")
        self._own_plan = not isinstance(what, Plan)
        self.plan = what if isinstance(what, Plan) else Plan(what, **options)
        self._one, self._busy = threading.RLock(), False
        self._run: tuple[int, threading.Event] | None = None    # which thread runs, and when it no longer does
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

    @contextlib.contextmanager
    def _alone(self, within: bool = False) -> Iterator[Any]:
        """The pointer, for one call; `within`: also of a callback."""
        if self._pid != os.getpid():    # whoever had it did not come along
            self._one, self._busy, self._run, self._pid = threading.RLock(), False, None, os.getpid()
        one = self._one
        if not one.acquire(blocking=False):
            raise Error(errno.EBUSY, "Session is in use by another thread")
        try:
            busy = self._busy
            if busy and not within:
                raise Error(errno.EBUSY, "Session is in use by the call whose callback this is")
            with self.held() as session:
                self._busy = True
                try:
                    yield session
                finally:
                    self._busy = busy
        finally:
            one.release()

    def _call(self, function: Callable[..., int], *arguments: Any,
              diag: abi.pm_diag | None = None, within: bool = False) -> int:
        """The result of a function of the library; raises what a callback raised meanwhile."""
        with self._alone(within) as session:
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
        """Waits for records (None: until there are some, or it is closed) and delivers them. Returns how
        many. Raises Error: ECANCELED once after interrupt, ENOTCONN when it is not attached."""
        if seconds is not None:
            return self._call(lib.pm_session_poll, milliseconds(seconds))
        count = self._call(lib.pm_session_poll, SLICE)
        while count == 0 and not self._closed:
            count = self._call(lib.pm_session_poll, SLICE)
        return count

    def run(self) -> None:
        """Polls until interrupt is called, from any thread or callback; then delivers what is left."""
        result, ended = 0, threading.Event()
        try:
            with self._alone() as session:
                self._run = threading.get_ident(), ended
                # In slices, between which Python handles signals.
                while result >= 0 and self._failure is None and not self._closed:
                    result = lib.pm_session_poll(session, SLICE)
                if result == -errno.ECANCELED:
                    lib.pm_session_poll(session, 0)
        finally:
            if self._run is not None and self._run[1] is ended:
                self._run = None
            ended.set()
        self._raise_failure()
        if result != -errno.ECANCELED:
            check(result, "run")

    def fileno(self) -> int:
        """For select, poll and event loops: readable when poll has something to do."""
        return self._call(lib.pm_session_fd)

    def interrupt(self) -> None:
        """Ends run, or the next poll, from any thread or callback. Waits until run has returned, unless it is
        called from within."""
        with self.held() as session:
            self._stop(session)

    def _stop(self, session: Any) -> None:
        run = self._run
        lib.pm_session_interrupt(session)
        if run is not None and run[0] != threading.get_ident() and self._pid == os.getpid():
            run[1].wait()   # in a fork nobody would end it

    def read(self) -> list[Value]:
        """The sums of all events, in their order. Raises Error: ENOTSUP when the strategy has none."""
        values = array(abi.pm_value, self.plan.events)
        count = self._call(lib.pm_session_read, values, self.plan.events, within=True)
        return [_value(values[i]) for i in range(count)]

    def read_parts(self) -> list[Part]:
        """The sums by thread and CPU, in no order; by CPU with Want.CPU."""
        room = self._call(lib.pm_session_read_parts, None, 0, within=True)
        parts = array(abi.pm_part, room)
        count = self._call(lib.pm_session_read_parts, parts, room, within=True)
        return [Part(one.value, one.enabled, one.running, one.event, one.tid, one.cpu)
                for one in parts[:min(count, room)]]

    def stats(self) -> dict[str, int]:
        """What it did since the attach: the fields of struct pm_stats."""
        stats = sized(abi.pm_stats)
        self._call(lib.pm_session_stats, stats, within=True)
        return {name: int(getattr(stats, name)) for name, _ in abi.pm_stats._fields_
                if name != "size"}

    def close(self) -> None:
        """Detaches. Within a callback, or beside a call in another thread: when that returns."""
        if not self._closed and self._pointer:
            with self.held() as session:
                self._closed = True
                self._stop(session)
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
