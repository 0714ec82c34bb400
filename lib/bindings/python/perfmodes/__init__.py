# SPDX-License-Identifier: MIT
"""What works of perf_event_open(2) on this kernel, and the way to use it: libperfmodes.

    with perfmodes.Session(perfmodes.Event("page-faults", period=1), on_sample=print) as session:
        work()
        print(session.plan.explain(), session.read(), session.stats())

Objects that hold kernel resources are context managers. What fails raises Error, an OSError whose
text is the library's diagnosis: the call, the errno, who decided, what to change. Enumerations and
their meaning are those of perfmodes.h: PM_ALLOW_TIMERS is Allow.TIMERS.
"""

from __future__ import annotations

from perfmodes.abi import (ALL_THREADS, CGROUP, SYSTEM, Allow, Cause, CountersFlags, EventType,
                           Rank, SpecFlags, Strategy, Verdict, Want)
from perfmodes.counters import Counters
from perfmodes.event import Event, event_name
from perfmodes.library import Error
from perfmodes.plan import Cost, Plan
from perfmodes.profile import Fact, Profile
from perfmodes.session import Part, Sample, Session, Value

__all__ = ["ALL_THREADS", "CGROUP", "SYSTEM", "Allow", "Cause", "Cost", "Counters",
           "CountersFlags", "Error", "Event", "EventType", "Fact", "Part", "Plan", "Profile",
           "Rank", "Sample", "Session", "SpecFlags", "Strategy", "Value", "Verdict", "Want",
           "event_name"]
