# SPDX-License-Identifier: MIT
"""Counters of one thread."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from perfmodes import abi
from perfmodes.event import Described, Event, specs
from perfmodes.library import Error, Handle, array, check, lib, sized
from perfmodes.profile import Profile
from perfmodes.session import Value


def _events(names: str | Sequence[str | Described]) -> list[Described]:
    if isinstance(names, str):
        names = names.split()
    return [Event(name, tid=0) if isinstance(name, str) else name for name in names]


class Counters(Handle):
    """Events counted together on one thread: names, or a text of them that blanks separate, on the calling
    one; an Event, or one of event_list(), on that of its tid, which is the same of all: by default
    ALL_THREADS, the calling one and all that come later, where there is no other yet.

    Counts while it is entered. One thread at a time uses it: the others wait. In a forked process it reads
    what the same thread counts, and starts and stops that for both.
    """

    _destroy = lib.pm_counters_destroy

    def __init__(self, events: str | Sequence[str | Described], *, profile: Profile | None = None,
                 flags: abi.CountersFlags = abi.CountersFlags.MAY_USER_ONLY) -> None:
        listed = specs(_events(events))
        self._count = len(listed)
        made, diag = ctypes.c_void_p(), sized(abi.pm_diag)
        with profile.alone() if profile is not None else contextlib.nullcontext() as known:
            #: whether only user mode is counted, because the kernel may not be observed
            self.user_only = check(lib.pm_counters_open(listed, self._count, flags, known, diag,
                                                        ctypes.byref(made)), "counters", diag) == 1
        super().__init__(made)

    def _call(self, function: Callable[..., int], *arguments: Any) -> int:
        diag = sized(abi.pm_diag)
        with self.alone() as counters:
            result = function(counters, *arguments)
            if result < 0:
                lib.pm_counters_diagnose(counters, result, diag)
        return check(result, "counters", diag)

    def start(self) -> None:
        self._call(lib.pm_counters_start)

    def stop(self) -> None:
        """The values stay."""
        self._call(lib.pm_counters_stop)

    def reset(self) -> None:
        """Values and times count from 0 from now on."""
        self._call(lib.pm_counters_reset)

    def read(self) -> list[Value]:
        """The values since they were opened or reset, in the order of the events."""
        values = array(abi.pm_value, self._count)
        count = self._call(lib.pm_counters_read, values, self._count)
        return [Value(one.value, one.enabled, one.running) for one in values[:count]]

    def read_one(self, index: int) -> Value:
        """The value of one event, without a system call where the CPU and the kernel allow it. Raises
        IndexError beyond the last."""
        value = sized(abi.pm_value)
        if not 0 <= index < self._count:
            raise IndexError(f"no event {index}")
        self._call(lib.pm_counters_read_one, index, value)
        return Value(value.value, value.enabled, value.running)

    def stats(self) -> dict[str, int]:
        """How the values were read: the fields of struct pm_counters_stats."""
        stats = sized(abi.pm_counters_stats)
        self._call(lib.pm_counters_stats, stats)
        return {name: int(getattr(stats, name)) for name, _ in abi.pm_counters_stats._fields_ if name != "size"}

    def __enter__(self) -> Counters:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            if not self._closed:
                self.stop()
        except Error:
            if exception[0] is None:
                raise
        finally:
            self.close()
