# SPDX-License-Identifier: MIT
"""Events: which one, and how it is observed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from perfmodes import abi
from perfmodes.library import array, check, encoded, lib, sized, text_of


@dataclass(frozen=True)
class Event:
    """An event by its name, as perf(1) writes it ("cycles:u", "sched:sched_switch", "r1a8").

    `period` are events from sample to sample, `frequency` samples a second; with neither, and none in
    the name ("cycles/freq=99/"), it is counted. `tid` is a thread's id, 0 the calling thread, or
    ALL_THREADS, SYSTEM, CGROUP.
    """
    name: str
    period: int = 0
    frequency: int = 0
    tid: int = abi.ALL_THREADS
    want: abi.Want = abi.Want(0)
    flags: abi.SpecFlags = abi.SpecFlags(0)
    filter: str | None = None

    def _parse(self, made: abi.pm_event_spec, diag: abi.pm_diag) -> int:
        return int(lib.pm_event_parse(encoded(self.name), diag, made))

    def spec(self) -> abi.pm_event_spec:
        """As the library takes it. Raises Error for a name that is none."""
        made: abi.pm_event_spec = sized(abi.pm_event_spec)
        diag = sized(abi.pm_diag)
        check(self._parse(made, diag), self.name, diag)
        if self.period or self.frequency:   # else what the name says
            made.period, made.frequency = self.period, self.frequency
        made.tid = self.tid
        made.want |= self.want
        made.flags |= self.flags
        made.filter = encoded(self.filter) if self.filter is not None else None
        return made


class Described(Protocol):
    """What tells which event is meant: an Event, or one of event_list()."""

    def spec(self) -> abi.pm_event_spec:
        """As the library takes it."""


def specs(events: str | Described | Sequence[Described]) -> Any:
    """An array of specs; of a text the names in it, which blanks separate."""
    listed: list[Described]
    if isinstance(events, str):
        listed = [Event(name) for name in events.split()]
    elif isinstance(events, Sequence):
        listed = list(cast("Sequence[Described]", events))
    else:
        listed = [events]
    if not listed:
        raise ValueError("at least one event is needed")
    return (abi.pm_event_spec * len(listed))(*(event.spec() for event in listed))


def event_name(spec: abi.pm_event_spec) -> str:
    """The name that the library gives it, with its modes."""
    return text_of(lambda buffer, size: int(lib.pm_event_name(ctypes.byref(spec), buffer, size)))


@dataclass(frozen=True)
class Listed:
    """An event of a list, to be observed as an Event is.

    `leader` is 1 + the index of its group's first in the list, 0 when it leads or is alone; `stacks`
    and `stack_bytes` are what the terms call-graph and stack-size say, `term_name` what name says.
    """
    name: str
    leader: int
    flags: abi.ListedFlags
    stacks: abi.ListedStacks
    stack_bytes: int
    term_name: str
    tid: int
    _spec: abi.pm_event_spec

    def spec(self) -> abi.pm_event_spec:
        """A copy of it, as the library takes it."""
        made = abi.pm_event_spec.from_buffer_copy(self._spec)
        made.size, made.tid = ctypes.sizeof(made), self.tid
        return made


def event_list(text: str, *, tid: int = abi.ALL_THREADS) -> list[Listed]:
    """The events of a text as perf(1) takes it behind -e: names, groups in braces, patterns of
    tracepoints, with commas between them. `tid` as of Event. Raises Error, which names the word."""
    room, count = 0, 32
    while count > room:     # patterns may stand for many
        room = count
        made, listed = array(abi.pm_event_spec, room), array(abi.pm_event_listed, room)
        diag = sized(abi.pm_diag)
        count = check(lib.pm_event_list(encoded(text), diag, made, listed, room), text, diag)
    for spec in made[:count]:
        spec.size = ctypes.sizeof(spec)
    return [Listed(event_name(spec), one.leader, abi.ListedFlags(one.flags),
                   abi.ListedStacks(one.stacks), one.stack_bytes,
                   one.name.decode(errors="backslashreplace"), tid, spec)
            for spec, one in zip(made[:count], listed[:count])]
