# SPDX-License-Identifier: MIT
"""Watching other processes: events of them, their samples, what becomes of them. Over libperfmodes-sampler.

    with Sampler("cpu-clock/freq=99/", ["pid:42"], on_sample=print) as sampler:
        while sampler.poll(1.0) >= 0:
            ...

Times are ns of the clock that explain() names, sizes bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from perfmodes import abi
from perfmodes.abi import ProcessChange, SamplerEventFlags, SamplerFlags, SideKind, TargetBy, Want
from perfmodes.event import Described, event_list
from perfmodes.library import SLICE, Delivering, Error, array, check, encoded, milliseconds, part, sized, text_of
from perfmodes.profile import Profile
from perfmodes.records import Process, Sampled, Side, process_of, sampled_of, side_of
from perfmodes.session import Value

__all__ = ["Process", "ProcessChange", "Sampled", "Sampler", "SamplerEvent", "SamplerEventFlags",
           "SamplerFlags", "Side", "SideKind", "Target", "TargetBy", "Want"]

lib = _lib = part("sampler", abi.SAMPLER_FUNCTIONS)


@dataclass(frozen=True)
class Target:
    """What a sampler looks at. `number` is a pid or uid, `text` a pattern, an expression or a path."""
    by: TargetBy
    number: int = 0
    text: str | None = None
    exclude: bool = False

    @classmethod
    def parse(cls, text: str) -> Target:
        """Of "any", "pid:42", "cmd:PATTERN", "regex:EXPRESSION", "cgroup:/PATH", "uid:1000", "kernel"; with
        "!" in front it excludes. Raises Error."""
        made, diag, given = sized(abi.pm_target), sized(abi.pm_diag), encoded(text)
        check(_lib.pm_target_parse(given, diag, made), text, diag)
        return cls(TargetBy(made.by), made.number, os.fsdecode(made.text) if made.text else None, made.exclude)

    def target(self) -> abi.pm_target:
        """As the library takes it."""
        made: abi.pm_target = sized(abi.pm_target)
        made.by, made.number, made.exclude = self.by, self.number, self.exclude
        made.text = encoded(self.text) if self.text is not None else None
        return made


@dataclass(frozen=True)
class SamplerEvent:
    """An event of a sampler: a leader, by which samples are taken where it has a period or a frequency, or
    one of its group. `leader` is 1 + the index of its leader, 0: it leads; `precise` as attr.precise_ip."""
    event: Described
    leader: int = 0
    flags: SamplerEventFlags = SamplerEventFlags(0)
    precise: int = 0


def _events(given: str | Sequence[SamplerEvent | Described]) -> list[SamplerEvent]:
    """Of a text those of event_list(), whose groups it has."""
    if isinstance(given, str):
        return [SamplerEvent(one, one.leader) for one in event_list(given)]
    return [one if isinstance(one, SamplerEvent) else SamplerEvent(one) for one in given]


def _listed(events: list[SamplerEvent]) -> tuple[Any, list[Any]]:
    """An array of struct pm_sampler_event, and the specs that it points to."""
    made = (abi.pm_sampler_event * max(len(events), 1))()
    specs = [one.event.spec() for one in events]
    for to, one, spec in zip(made, events, specs):
        to.size, to.spec = ctypes.sizeof(to), ctypes.pointer(spec)
        to.leader, to.flags, to.precise = one.leader, one.flags, one.precise
    return made, specs


def _options(flags: SamplerFlags, want: Want, side: SideKind, cpus: str | None, more: dict[str, int]) -> Any:
    """struct pm_sampler_opts; raises TypeError for a field that it does not have."""
    made = sized(abi.pm_sampler_opts)
    made.flags, made.want, made.side = flags, want, side
    made.cpus = encoded(cpus) if cpus is not None else None
    known = {name for name, _ in abi.pm_sampler_opts._fields_} - {"size"}
    for name, value in more.items():
        if name not in known:
            raise TypeError(f"no option of a sampler '{name}'; there are {', '.join(sorted(known))}")
        setattr(made, name, value)
    return made


class Sampler(Delivering):
    """Watches processes that targets describe: texts as of Target.parse, or Targets; none: every process.

    `events` are a text as perf(1) takes it ("{cycles/freq=99/,instructions}"), or SamplerEvents and Events,
    whose tid does not count; of what a text tells of an event beside its spec the groups count alone: the
    modifiers S and W and the terms name, call-graph and stack-size are for event_list(). `more` are fields
    of struct pm_sampler_opts. Entering starts, leaving stops it.

    on_sample(Sampled), on_side(Side), on_process(Process, ProcessChange, time), on_lost(cpu, count) are
    called by start, poll and stop. What they raise, these raise. They may call close: then nothing more
    is delivered, and the sampler is gone when that call returns. Any other call of theirs, and one of
    another thread meanwhile, raises Error (EBUSY). In a forked process start, poll, stop, rate and read
    raise Error (ECHILD), and close ends the copy alone.
    """

    _destroy = _lib.pm_sampler_destroy

    def __init__(self, events: str | Sequence[SamplerEvent | Described], targets: Sequence[str | Target] = (), *,
                 flags: SamplerFlags = SamplerFlags(0), want: Want = Want(0), side: SideKind = SideKind(0),
                 cpus: str | None = None, on_sample: Callable[[Sampled], object] | None = None,
                 on_side: Callable[[Side], object] | None = None,
                 on_process: Callable[[Process, ProcessChange, int], object] | None = None,
                 on_lost: Callable[[int, int], object] | None = None, profile: Profile | None = None,
                 **more: int) -> None:
        self._one, self.profile = threading.Lock(), profile
        listed = _events(events)
        self._count = len(listed)
        these, specs = _listed(listed)
        meant = [Target.parse(one) if isinstance(one, str) else one for one in targets]
        aims = (abi.pm_target * max(len(meant), 1))(*(one.target() for one in meant))
        opts, diag, made = _options(flags, want, side, cpus, more), sized(abi.pm_diag), ctypes.c_void_p()
        self._listener = sized(abi.pm_sampler_listener)
        self._listen("sample", on_sample, lambda one: (sampled_of(one.contents),))
        self._listen("side", on_side, lambda one: (side_of(one.contents),))
        self._listen("process", on_process,
                     lambda one, change, time: (process_of(one.contents), ProcessChange(change), time))
        self._listen("lost", on_lost, lambda *them: them)
        known = profile.hold() if profile is not None else None     # which has to outlive it
        try:
            check(_lib.pm_sampler_open(these, self._count, aims, len(meant), opts, known, self._listener, None,
                                       diag, ctypes.byref(made)), "pm_sampler_open", diag)
        except BaseException:
            self._destroyed()
            raise
        del specs
        super().__init__(made)

    def _destroyed(self) -> None:
        if self.profile is not None:
            self.profile.release()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[Any]:
        if self._pid != os.getpid():    # whoever had it did not come along
            self._one, self._pid = threading.Lock(), os.getpid()
        one = self._one
        if not one.acquire(blocking=False):
            raise Error(errno.EBUSY, "Sampler is in use: by another thread, or by the call whose callback this is")
        try:
            with self.held() as sampler:
                yield sampler
        finally:
            one.release()

    def _call(self, function: Callable[..., int], *arguments: Any, diag: abi.pm_diag | None = None) -> int:
        """The result of a function of the library; raises what a callback raised meanwhile."""
        with self._alone() as sampler:
            result = function(sampler, *arguments, *([diag] if diag is not None else []))
        self._raise_failure()
        return check(result, function.__name__, diag)

    def start(self) -> None:
        """Enables the events and tells the processes that there are."""
        self._call(_lib.pm_sampler_start, diag=sized(abi.pm_diag))

    def poll(self, seconds: float | None = 0.0) -> int:
        """Waits for records (None: until there are some, or it is closed) and delivers them. Returns how
        many; 0 also after a wake-up that brought nothing to deliver."""
        if seconds is not None:
            return self._call(_lib.pm_sampler_poll, milliseconds(seconds))
        count = self._call(_lib.pm_sampler_poll, SLICE)
        while count == 0 and not self._closed:
            count = self._call(_lib.pm_sampler_poll, SLICE)
        return count

    def stop(self) -> int:
        """Disables the events and delivers what is left. Returns how many records."""
        return self._call(_lib.pm_sampler_stop)

    def rate(self, event: int, *, period: int = 0, frequency: int = 0) -> None:
        """Another rate of an event that samples are taken by: whichever it was asked for."""
        self._call(_lib.pm_sampler_rate, event, period, frequency)

    def fileno(self) -> int:
        """For select, poll and event loops: readable when poll has something to do."""
        return self._call(_lib.pm_sampler_fd)

    def read(self) -> list[Value]:
        """The sums of all events since the start. Raises Error: ENOTSUP by CPU with targets."""
        values = array(abi.pm_value, self._count)
        count = self._call(_lib.pm_sampler_read, values, self._count)
        return [Value(one.value, one.enabled, one.running) for one in values[:count]]

    def processes(self) -> list[Process]:
        """Every process known now."""
        found: list[Process] = []

        def each(one: Any, _: object) -> int:
            found.append(process_of(one.contents))
            return 0

        kind: Any = abi.SAMPLER_FUNCTIONS["pm_sampler_each"][1][1]
        self._call(_lib.pm_sampler_each, kind(each), None)
        return found

    def explain(self) -> str:
        """The way and why not the others; the clock; a line for each event."""
        with self._alone() as sampler:
            return text_of(lambda buffer, size: int(_lib.pm_sampler_explain(sampler, buffer, size)))

    def stats(self) -> dict[str, int]:
        """What it did since it was opened: the fields of struct pm_sampler_stats."""
        stats = sized(abi.pm_sampler_stats)
        self._call(_lib.pm_sampler_stats, stats)
        return {name: int(getattr(stats, name)) for name, _ in abi.pm_sampler_stats._fields_ if name != "size"}

    def __enter__(self) -> Sampler:
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
        except Error as error:
            if exception[0] is None and error.errno not in (errno.ENOTCONN, errno.ECHILD):
                raise
        finally:
            self.close()
