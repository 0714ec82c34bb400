# SPDX-License-Identifier: MIT
"""What works of perf_event_open(2) on this kernel, and the way to use it: libperfmodes.

    with perfmodes.Session(perfmodes.Event("page-faults", period=1), on_sample=print) as session:
        work()
        print(session.plan.explain(), session.read(), session.stats())

Objects that hold kernel resources are context managers. What fails raises Error, an OSError whose
text is the library's diagnosis: the call, the errno, who decided, what to change. Enumerations and
their meaning are those of perfmodes.h: PM_ALLOW_TIMERS is Allow.TIMERS; perfmodes.abi has all of them.

What has no method is called as in C: functions of perfmodes.library.lib, or `lib` of a module below,
structures of perfmodes.abi, and `pointer` of an object. So are profiles changed and merged, fields of
tracepoints read (of Sample.raw), clocks converted, records put into the order of time, brokers served, stacks
folded and written for pprof.

Modules of their own, each over an optional library: perfmodes.sampler (other processes),
perfmodes.stacks (their stacks, symbols of addresses), perfmodes.topology (counts by hardware thread),
perfmodes.pfm (events by names of libpfm4). Where it is not there, the import raises ImportError.
"""

from __future__ import annotations

from perfmodes.abi import (ALL_THREADS, CGROUP, SYSTEM, Allow, Cause, CountersFlags, EventType,
                           ListedFlags, ListedStacks, Rank, SideKind, SpecFlags, Strategy, Verdict, Want)
from perfmodes.counters import Counters
from perfmodes.event import Event, Listed, event_list, event_name
from perfmodes.library import Error
from perfmodes.plan import Cost, Plan
from perfmodes.profile import Fact, Profile
from perfmodes.session import Branch, Member, Part, Sample, Session, Value

__all__ = ["ALL_THREADS", "CGROUP", "SYSTEM", "Allow", "Branch", "Cause", "Cost", "Counters",
           "CountersFlags", "Error", "Event", "EventType", "Fact", "Listed", "ListedFlags",
           "ListedStacks", "Member", "Part", "Plan", "Profile", "Rank", "Sample", "Session", "SideKind",
           "SpecFlags", "Strategy", "Value", "Verdict", "Want", "event_list", "event_name"]
