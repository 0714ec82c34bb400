# SPDX-License-Identifier: MIT
"""Events: which one, and how it is observed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perfmodes import abi
from perfmodes.library import check, lib, sized, text_of


@dataclass(frozen=True)
class Event:
    """An event by its name, as perf(1) writes it ("cycles:u", "sched:sched_switch", "r1a8").

    `period` are events from sample to sample, `frequency` samples a second; with neither it is
    counted. `tid` is a thread's id, 0 the calling thread, or ALL_THREADS, SYSTEM, CGROUP.
    """
    name: str
    period: int = 0
    frequency: int = 0
    tid: int = abi.ALL_THREADS
    want: abi.Want = abi.Want(0)
    flags: abi.SpecFlags = abi.SpecFlags(0)
    filter: str | None = None

    def spec(self) -> abi.pm_event_spec:
        """As the library takes it. Raises Error for a name that is none."""
        made, diag = sized(abi.pm_event_spec), sized(abi.pm_diag)
        check(lib.pm_event_parse(self.name.encode(), diag, made), self.name, diag)
        made.period, made.frequency, made.tid = self.period, self.frequency, self.tid
        made.want |= self.want
        made.flags |= self.flags
        made.filter = self.filter.encode() if self.filter is not None else None
        return made


def specs(events: str | Event | Sequence[Event]) -> Any:
    """An array of specs; of a text the names in it, which blanks separate."""
    if isinstance(events, str):
        events = [Event(name) for name in events.split()]
    listed = [events] if isinstance(events, Event) else list(events)
    if not listed:
        raise ValueError("at least one event is needed")
    return (abi.pm_event_spec * len(listed))(*(event.spec() for event in listed))


def event_name(spec: abi.pm_event_spec) -> str:
    return text_of(lambda buffer, size: lib.pm_event_name(ctypes.byref(spec), buffer, size))
