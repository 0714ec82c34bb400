# SPDX-License-Identifier: MIT
"""Plans: which way to observe works here, why, and what it costs."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from perfmodes import abi
from perfmodes.event import Described, specs
from perfmodes.library import Handle, check, encoded, lib, sized, text_of
from perfmodes.profile import Profile


@dataclass(frozen=True)
class Cost:
    """Of the chosen strategy for the threads and CPUs there are now."""
    threads: int
    cpus: int
    descriptors: int
    rings: int
    locked_bytes: int
    opens: int


def options(allow: abi.Allow, forbid: Iterable[abi.Strategy], cpus: str | None,
            more: dict[str, int]) -> Any:
    """struct pm_session_opts; raises TypeError for a field that it does not have."""
    made = sized(abi.pm_session_opts)
    made.allow = allow
    for strategy in forbid:
        made.forbid |= 1 << strategy
    made.cpus = encoded(cpus) if cpus is not None else None
    known = {name for name, _ in abi.pm_session_opts._fields_} - {"size"}
    for name, value in more.items():
        if name not in known:
            raise TypeError(f"no session option '{name}'; there are {', '.join(sorted(known))}")
        setattr(made, name, value)
    return made


class Plan(Handle):
    """The first strategy whose needs hold. `more` are fields of struct pm_session_opts."""

    _destroy = lib.pm_plan_destroy

    def __init__(self, events: str | Described | Sequence[Described], *, allow: abi.Allow = abi.Allow.ALL,
                 forbid: Iterable[abi.Strategy] = (), cpus: str | None = None,
                 profile: Profile | None = None, **more: int) -> None:
        self.profile = profile
        self._specs = specs(events)
        self._options = options(allow, forbid, cpus, more)
        made, diag = ctypes.c_void_p(), sized(abi.pm_diag)
        if profile is not None:
            profile.hold()      # which has to outlive it
        try:
            with profile.alone() if profile is not None else contextlib.nullcontext() as known:
                check(lib.pm_plan_make(self._specs, len(self._specs), self._options, known, diag,
                                       ctypes.byref(made)), "pm_plan_make", diag)
        except BaseException:
            self._destroyed()
            raise
        super().__init__(made)

    def _destroyed(self) -> None:
        if self.profile is not None:
            self.profile.release()

    @property
    def events(self) -> int:
        """How many events it is for."""
        return len(self._specs)

    @property
    def strategy(self) -> abi.Strategy:
        """The chosen one; after an attach the one in use."""
        with self.held() as plan:
            return abi.Strategy(lib.pm_plan_strategy(plan))

    def explain(self) -> str:
        """A line for the choice, and one for each way that was passed over."""
        with self.held() as plan:
            return text_of(lambda buffer, size: int(lib.pm_plan_explain(plan, buffer, size)))

    def cost(self) -> Cost:
        cost = sized(abi.pm_cost)
        with self.held() as plan:
            check(lib.pm_plan_cost(plan, cost), "pm_plan_cost")
        return Cost(**{name: int(getattr(cost, name)) for name in Cost.__dataclass_fields__})
