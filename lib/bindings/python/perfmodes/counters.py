# SPDX-License-Identifier: MIT
"""Counters of one thread."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from perfmodes import abi
from perfmodes.event import Described, Event, specs
from perfmodes.library import Handle, array, check, lib, sized
from perfmodes.profile import Profile
from perfmodes.session import Value


def _events(names: Sequence[str | Described]) -> list[Described]:
    return [Event(name, tid=0) if isinstance(name, str) else name for name in names]


class Counters(Handle):
    """Events, by name or as Event, counted together on one thread: by default the calling one.

    Counts while it is entered.
    """

    _destroy = lib.pm_counters_destroy

    def __init__(self, events: Sequence[str | Described], *, profile: Profile | None = None,
                 flags: abi.CountersFlags = abi.CountersFlags.MAY_USER_ONLY) -> None:
        listed = specs(_events(events))
        self._count = len(listed)
        made, diag = ctypes.c_void_p(), sized(abi.pm_diag)
        known = profile.pointer if profile is not None else None
        #: whether only user mode is counted, because the kernel may not be observed
        self.user_only = check(lib.pm_counters_open(listed, self._count, flags, known, diag,
                                                    ctypes.byref(made)), "counters", diag) == 1
        super().__init__(made)

    def _done(self, result: int) -> int:
        diag = sized(abi.pm_diag)
        if result < 0:
            lib.pm_counters_diagnose(self.pointer, result, diag)
        return check(result, "counters", diag)

    def start(self) -> None:
        self._done(lib.pm_counters_start(self.pointer))

    def stop(self) -> None:
        """The values stay."""
        self._done(lib.pm_counters_stop(self.pointer))

    def reset(self) -> None:
        self._done(lib.pm_counters_reset(self.pointer))

    def read(self) -> list[Value]:
        """The values since they were opened or reset, in the order of the events."""
        values = array(abi.pm_value, self._count)
        count = self._done(lib.pm_counters_read(self.pointer, values, self._count))
        return [Value(one.value, one.enabled, one.running) for one in values[:count]]

    def __enter__(self) -> Counters:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self.close()
